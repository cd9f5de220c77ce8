"""A motion run offline, the node's controller and the simulator's plant in lockstep: on one robot,
or on many.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import numpy as np

from robot_dynamics_ros.control.cycle.limits import GuardSettings
from robot_dynamics_ros.control.reference.planning import (
    PlannedMotion,
    bearable_start,
    plan_motion,
    standing_joints,
)
from robot_dynamics_ros.control.robustness import Robustness
from robot_dynamics_ros.errors import RobotDynamicsError, SimulationError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.library import robot_names, robot_path
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.model.urdf import load_urdf
from robot_dynamics_ros.simulation.integrators.methods import DEFAULT_INTEGRATOR, DEFAULT_STEP
from robot_dynamics_ros.simulation.simulate import SimulationResult
from robot_dynamics_ros.simulation.tracking import follow, tracking_law

# s after the motion, as the demonstration with nodes waits
SETTLING = 3.0
# Largest share of a joint's travel by which it may leave its path and still have followed it: a
# soft law lags by a tenth, a joint that stood still is off by half of its travel or more
PATH_SHARE_OF_TRAVEL = 0.25
# Every joint may be off its path by this many times the tolerance at the goal, however short its
# travel.
PATH_TOLERANCES = 10.0
# s: 250 Hz, as slow as arms are led
_PERIOD = 4e-3
REHEARSAL_HEAD = ("robot", "joints", "seconds", "largest error", "left", "outcome")


@dataclass(eq=False)
class Rehearsal:
    """Result of a rehearsal: the run, (N, n) where the joints should have been, what the guards of
    the controller met, why it stopped for good (``""``: it did not), and its settings besides the
    defaults.

    ``duration``: s of the motion; ``error``: (N, n) reference minus position; ``goal_error``: (n,)
    distance from the goal at the end; ``path_error``: (n,) the largest distance from the path;
    ``arrived``: the whole motion has been run, every joint has followed its path, is within the
    tolerance of the goal (rad or m) at the end, and stands.
    """

    run: SimulationResult
    reference: Array
    tolerance: float
    counts: Counter[str]
    fault: str
    remark: str = ""
    duration: float = 0.0

    def __post_init__(self) -> None:
        self.error = self.reference - self.run.q
        self.goal_error = np.abs(self.error[-1])
        self.path_error = np.abs(self.error).max(axis=0, initial=0.0)
        near = self.goal_error <= self.tolerance
        still = np.abs(self.run.v[-1]).max(initial=0.0) < 0.05
        self.complete = bool(self.run.t[-1] - self.run.t[0] >= self.duration * (1.0 - 1e-9))
        self.followed = self.path_error <= path_bound(self.reference, self.tolerance)
        self.arrived = bool(near.all() and still and self.complete and self.followed.all())

    def reason(self) -> str:
        """Why the robot has not arrived, and what to do about it; ``""`` if it has."""
        if self.arrived:
            return ""
        model = self.run.model
        run = self.run
        if not self.complete:
            return (
                f"cut short: the motion takes {self.duration:.3g} s, and the run ends after "
                f"{run.t[-1] - run.t[0]:.3g} s; give more --duration"
            )
        i = int(np.argmax(self.goal_error))
        name = model.joint_names[i]
        unit, speed, effort = model.joint(name).type.units
        at_limit = np.abs(run.tau[:, i]).max() > 0.99 * model.effort_limit[i]
        if at_limit and not self.counts.get("overspeed"):
            return (
                f"{name}: the effort limit of {model.effort_limit[i]:g} {effort} is reached; give "
                "more --duration"
            )
        if self.fault:
            return self.fault
        goal = self.reference[-1, i]
        if min(goal - model.lower[i], model.upper[i] - goal) < GuardSettings().position_margin:
            return (
                f"{name}: the goal is at the position limit, where the guards brake; allow it "
                "with --tolerance"
            )
        friction = model.friction[i]
        rejected = Robustness().rejected_effort * model.effort_limit[i]
        if friction > rejected:
            return (
                f"{name}: friction of {friction:g} {effort} holds it, and feedback overcomes "
                f"{rejected:g} {effort}: see robustness.rejected_effort"
            )
        if self.counts.get("velocity_limit"):
            return (
                f"{name}: the velocity limit of {model.velocity_limit[i]:g} {speed} brakes it; "
                "give more --duration"
            )
        if self.goal_error[i] <= self.tolerance and not self.followed.all():
            k = int(np.argmax(np.where(self.followed, 0.0, self.path_error)))
            name = model.joint_names[k]
            unit = model.joint(name).type.units[0]
            return f"{name}: it has left its path by {self.path_error[k]:.2g} {unit} on the way"
        return (
            f"{name}: {self.goal_error[i]:.2g} {unit} from the goal; allow it with --tolerance, "
            "or give the law more stiffness"
        )


def path_bound(reference: Array, tolerance: float) -> Array:
    """(n,) the largest distance from its path at which a joint still counts as following it.

    Args:
        reference: (N, n) where the joints should have been, rad or m.
        tolerance: of the goal, rad or m.
    """
    travel = np.ptp(reference, axis=0)
    bound: Array = np.maximum(PATH_SHARE_OF_TRAVEL * travel, PATH_TOLERANCES * tolerance)
    return bound


def rehearse(
    model: RobotModel,
    motion: PlannedMotion,
    *,
    law: str = "computed_torque",
    dt: float = DEFAULT_STEP,
    tolerance: float = 0.01,
    duration: float | None = None,
    integrator: str = DEFAULT_INTEGRATOR,
    progress: Callable[[float], None] | None = None,
) -> Rehearsal:
    """Follow ``motion`` from where it starts.

    A robot without rotors that is lost with those that the controller assumes follows it once more
    without them.

    Args:
        law: one of :data:`~robot_dynamics_ros.simulation.tracking.TRACKING_LAWS`.
        tolerance: of the goal, rad or m.
        duration: s; if not given, the motion's and :data:`SETTLING` for the arm to come to rest.
        dt, integrator, progress: as of :func:`~robot_dynamics_ros.simulation.tracking.follow`.
    """
    if duration is None:
        length = motion.duration + SETTLING
    else:
        length = duration

    def attempt(robustness: Robustness | None, remark: str = "") -> Rehearsal:
        run, controller = follow(
            model,
            model,
            motion,
            law=tracking_law(model, law, motion.waypoints[0]),
            dt=dt,
            duration=length,
            integrator=integrator,
            robustness=robustness,
            progress=progress,
        )
        return Rehearsal(
            run,
            motion.at(run.t),
            tolerance,
            controller.counts,
            controller.fault,
            remark,
            motion.duration,
        )

    may_be_rotors = law == "computed_torque" and not model.armature.any()
    try:
        done = attempt(None)
        if not (may_be_rotors and done.fault):
            return done
    except SimulationError:
        if not may_be_rotors:
            raise
    return attempt(
        Robustness(rotor_share=0.0), "the description has no rotors: with robustness.rotor_share 0"
    )


def all_robots() -> list[tuple[str, Path]]:
    """Name and file of the robots that ship with the package, and of example-robot-data where that
    is installed.
    """
    robots = [(name, robot_path(name)) for name in robot_names()]
    try:
        files = metadata.files("example-robot-data") or []
    except metadata.PackageNotFoundError:
        files = []
    paths = sorted({Path(str(file.locate())).resolve() for file in files if file.suffix == ".urdf"})
    return [
        *robots,
        *((path.stem, path) for path in sorted(paths, key=lambda path: (path.name, str(path)))),
    ]


def try_robots(
    robots: Iterable[tuple[str, Path]],
    *,
    inertia_check: str,
    duration: float,
    tolerance: float,
    seed: int,
    progress: Callable[[str], None],
) -> list[dict[str, object]]:
    """One row a robot, with the keys of :data:`REHEARSAL_HEAD` and ``arrived``."""
    rows = []
    for name, path in robots:
        progress(name)
        row: dict[str, object] = {**dict.fromkeys(REHEARSAL_HEAD), "robot": name}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                row |= _try(load_urdf(path, inertia_check=inertia_check), duration, tolerance, seed)
        except RobotDynamicsError as error:
            outcome = str(error).splitlines()[0].rstrip(".")
            if error.setting:
                outcome += (
                    f"; goes on with --{error.setting[0].replace('_', '-')} {error.setting[1]}"
                )
            row |= {"arrived": False, "outcome": outcome}
        rows.append(row)
    return rows


def by_reason(standing: Mapping[str, str]) -> dict[str, list[str]]:
    """Reason → the joints that stand for it."""
    names_by_reason: dict[str, list[str]] = {}
    for name, why in standing.items():
        names_by_reason.setdefault(why, []).append(name)
    return names_by_reason


def _try(
    model: RobotModel,
    duration: float,
    tolerance: float,
    seed: int,
) -> dict[str, object]:
    several = [name for name in model.joint_names if model.joint(name).type.nv != 1]
    if several or not model.nv:
        if several:
            outcome = f"joint {several[0]} has several degrees of freedom"
        else:
            outcome = "nothing moves"
        return {"joints": model.nv, "arrived": None, "outcome": f"not tried: {outcome}"}
    start, moved = bearable_start(model, model.initial_configuration())
    motion = plan_motion(model, start, duration=duration, seed=seed)
    done = rehearse(model, motion, dt=_PERIOD, tolerance=tolerance)
    remarks = [
        text for text in (f"starts elsewhere: {moved}" if moved else "", done.remark) if text
    ]
    remarks += [
        f"{', '.join(names)} stood: {why}"
        for why, names in by_reason(standing_joints(model, motion)).items()
    ]
    return {
        "joints": model.nv,
        "seconds": round(motion.duration, 2),
        "largest error": float(np.abs(done.error).max()),
        "left": float(done.goal_error.max()),
        "arrived": done.arrived,
        "outcome": "; ".join(
            ["arrived" if done.arrived else f"NOT ARRIVED: {done.reason()}", *remarks]
        ),
    }
