"""A motion run offline: the controller of the node and the plant of the simulator, in lockstep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from robot_dynamics_ros.control.cycle.limits import GuardSettings
from robot_dynamics_ros.control.reference.goal import Reason
from robot_dynamics_ros.control.reference.planning import Motion
from robot_dynamics_ros.control.robustness import Robustness
from robot_dynamics_ros.errors import SimulationError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.simulation.integrators.methods import DEFAULT_INTEGRATOR, DEFAULT_STEP
from robot_dynamics_ros.simulation.simulate import SimulationResult
from robot_dynamics_ros.simulation.tracking import follow

SETTLING = 3.0  # s after the motion, as the demonstration with nodes waits


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """Result of a rehearsal.

    Attributes:
        run: the recorded simulation.
        reference: (N, n) where the joints should have been.
        tolerance: rad or m.
        counts: what the guards of the controller met, and how often.
        remark: settings of the controller besides its defaults; ``""``: none.
    """

    run: SimulationResult
    reference: Array
    tolerance: float
    counts: Counter[str]
    remark: str = ""

    @property
    def error(self) -> Array:
        """(N, n) reference minus position."""
        return self.reference - self.run.q

    @property
    def goal_error(self) -> Array:
        """(n,) distance from the goal at the end."""
        return np.abs(self.error[-1])

    @property
    def arrived(self) -> bool:
        """Whether every joint is within the tolerance at the end, and stands."""
        return bool((self.goal_error <= self.tolerance).all() and np.abs(self.run.v[-1]).max(initial=0.0) < 0.05)

    def reason(self) -> str:
        """Why the robot has not arrived, and what to do about it; ``""`` if it has."""
        if self.arrived:
            return ""
        model, run = self.run.model, self.run
        i = int(np.argmax(self.goal_error))
        name = model.joint_names[i]
        if self.counts.get("overspeed"):
            return Reason.OVERSPEED.words
        used = np.abs(run.tau[:, i]).max() / model.effort_limit[i]
        if used > 0.99:
            return f"{name}: the effort limit of {model.effort_limit[i]:g} is reached; give more --duration"
        goal = self.reference[-1, i]
        if min(goal - model.lower[i], model.upper[i] - goal) < GuardSettings().position_margin:
            return f"{name}: the goal is at the position limit, where the guards brake; allow it with --tolerance"
        friction, rejected = model.friction[i], Robustness().rejected_effort * model.effort_limit[i]
        if friction > rejected:
            return f"{name}: friction of {friction:g} holds it, and feedback overcomes {rejected:g}: see robustness.rejected_effort"
        if self.counts.get("velocity_limit"):
            return f"{name}: the velocity limit of {model.velocity_limit[i]:g} brakes it; give more --duration"
        return (
            f"{name}: {self.goal_error[i]:.2g} from the goal; allow it with --tolerance, or give the law more stiffness"
        )


def rehearse(
    model: RobotModel,
    motion: Motion,
    *,
    law: str = "computed_torque",
    dt: float = DEFAULT_STEP,
    tolerance: float = 0.01,
    duration: float | None = None,
    integrator: str = DEFAULT_INTEGRATOR,
    progress: Callable[[float], None] | None = None,
) -> Rehearsal:
    """Follow ``motion`` from where it starts.

    A robot without rotors that is lost with those that the controller assumes follows it once more without them.

    Args:
        model: a robot on a fixed base.
        motion: the reference.
        law: one of :data:`~robot_dynamics_ros.simulation.tracking.LAWS`.
        dt: control period and step of the plant, s.
        tolerance: rad or m.
        duration: s; the motion's and :data:`SETTLING` if not given.
        integrator: of the plant.
        progress: called now and then with the share that is done.

    Raises:
        ArgumentError: a motion that the controller refuses.
        SimulationError: the simulation diverges.
    """
    length = motion.duration + SETTLING if duration is None else duration

    def attempt(robustness: Robustness | None, remark: str = "") -> Rehearsal:
        run, counts = follow(
            model, model, motion, law=law, dt=dt, duration=length, integrator=integrator, robustness=robustness,
            progress=progress,
        )  # fmt: skip
        return Rehearsal(run, motion.at(run.t), tolerance, counts, remark)

    may_be_rotors = law == "computed_torque" and not model.armature.any()
    try:
        done = attempt(None)
        if not (may_be_rotors and done.counts.get("fault")):
            return done
    except SimulationError:
        if not may_be_rotors:
            raise
    return attempt(Robustness(rotor_share=0.0), "the description has no rotors: with robustness.rotor_share 0")
