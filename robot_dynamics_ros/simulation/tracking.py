"""A controller that knows one robot leads another one along a motion: rehearsals, and experiments
for batches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from robot_dynamics_ros.control.controller import JointController
from robot_dynamics_ros.control.kernels import check_controllable
from robot_dynamics_ros.control.laws import LAWS as ALL_LAWS
from robot_dynamics_ros.control.laws import gain_fields
from robot_dynamics_ros.control.laws.base import Law
from robot_dynamics_ros.control.laws.task_space import CartesianImpedance
from robot_dynamics_ros.control.options import ControllerOptions
from robot_dynamics_ros.control.reference.planning import PlannedMotion
from robot_dynamics_ros.control.robustness import Robustness
from robot_dynamics_ros.dynamics import mass_matrix
from robot_dynamics_ros.errors import ArgumentError, SimulationError
from robot_dynamics_ros.friction.compensation import Friction
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.simulation.integrators.methods import DEFAULT_INTEGRATOR, DEFAULT_STEP
from robot_dynamics_ros.simulation.simulate import SimulationResult, simulate

TRACKING_LAWS = tuple(
    name for name, law in ALL_LAWS.items() if law.tracks and law is not CartesianImpedance
)
"""Names of the laws that follow a motion of all joints."""
END_ERROR = "error at the end [mrad, mm]"
"""Name of the figure that tells how far a robot is from its goal when the motion ends."""


def tracking_law(
    model: RobotModel,
    name: str,
    q: Array,
    frequency: float | None = None,
) -> Law | None:
    """A law of :data:`TRACKING_LAWS`; ``None``, the controller's default, for computed torque
    without a frequency.

    Args:
        q: (nq,) where the inertia is taken that scales the gains of laws whose error has its own.
        frequency: natural frequency of the error, damped critically, rad/s; 15 if not given.
    """
    if name not in TRACKING_LAWS:
        raise ArgumentError(f"expected one of {', '.join(TRACKING_LAWS)}", where="law", got=name)
    if name == "computed_torque" and frequency is None:
        return None
    kind = ALL_LAWS[name]
    w = 15.0 if frequency is None else frequency
    inertia = 1.0 if kind.inverts_dynamics else np.diag(mass_matrix(model, q))
    gains = {"p": w * w * inertia, "d": 2.0 * w * inertia}
    settings: dict[str, Any] = {
        f: gains[parameter] for parameter, f in gain_fields(kind).items() if parameter in gains
    }
    settings["friction"] = Friction.of(model)
    return kind(**settings)


def follow(
    drawn: RobotModel,
    robot: RobotModel,
    motion: PlannedMotion,
    *,
    law: Law | None = None,
    dt: float = DEFAULT_STEP,
    duration: float | None = None,
    integrator: str = DEFAULT_INTEGRATOR,
    robustness: Robustness | None = None,
    record_accelerations: bool = True,
    progress: Callable[[float], None] | None = None,
) -> tuple[SimulationResult, JointController]:
    """A simulated robot, led along a motion by the controller of the node, in lockstep.

    Returns the run and the controller, which tells what it met.

    Args:
        drawn: the robot that the controller knows, on a fixed base; robot: the one that is
            simulated.
        law: as of :func:`tracking_law`.
        dt: control period and step of the plant, s.
        duration: s; the motion's if not given.
        robustness: the controller's settings of computed torque; its defaults if not given.
        record_accelerations: as of :func:`~robot_dynamics_ros.simulation.simulate.simulate`.
        progress: called now and then with the share that is done.
    """
    check_controllable(drawn)
    start = motion.waypoints[0]
    options = ControllerOptions(robustness=robustness)
    controller = JointController(drawn, law, options=options)
    controller.want_wrenches = False
    controller.activate(0, start, np.zeros(drawn.nv))
    controller.accept_trajectory(motion.trajectory(), 0)

    def control(t: float, q: Array, v: Array) -> Array:
        # the state at activation was the first
        return controller.control(t + dt, q, v)

    length = motion.duration if duration is None else duration
    run = simulate(
        robot,
        control,
        q0=start,
        duration=length,
        dt=dt,
        integrator=integrator,
        record_accelerations=record_accelerations,
        progress=progress,
    )
    return run, controller


def tracking_figures(
    drawn: RobotModel,
    motion: PlannedMotion,
    options: Mapping[str, Any],
    robot: RobotModel,
    number: int,
) -> Mapping[str, float]:
    """Rms and largest position error of a run, error at the end, largest effort as a share of the
    limit.

    With the first three arguments bound it is an experiment of a batch, of ``robot`` and a run's
    number; ``options``: of :func:`follow`.

    Raises:
        SimulationError: the run diverges, or the controller ends in a fault on the way.
    """
    run, controller = follow(drawn, robot, motion, record_accelerations=False, **options)
    if controller.fault:
        raise SimulationError(
            controller.fault,
            where="controller",
            remedy="Check the motion against the limits, and the law's gains.",
        )
    error = motion.at(run.t) - run.q
    return {
        "rms error [mrad, mm]": 1e3 * float(np.sqrt((error**2).mean())),
        "largest error [mrad, mm]": 1e3 * float(np.abs(error).max()),
        END_ERROR: 1e3 * float(np.abs(error[-1]).max()),
        "largest effort / limit": float(np.max(np.abs(run.tau) / drawn.effort_limit)),
    }
