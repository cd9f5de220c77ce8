"""Simulate a robot offline, in a closed loop or falling freely, faster than real time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["SimulationResult", "simulate"]

Control = Callable[[float, Array, Array], Array]


@dataclass(frozen=True, slots=True, eq=False)
class SimulationResult:
    """A recorded run; row k is the state at ``t[k]`` and the effort applied from then on.

    Attributes:
        t: (N,) time, s.
        q: (N, nq) configuration.
        v: (N, nv) velocity.
        a: (N, nv) acceleration just after ``t[k]``.
        tau: (N, nv) motor effort held from ``t[k]`` to ``t[k+1]``; the last row repeats the one before.
        kinetic_energy, potential_energy: (N,) J.
        wrenches: (N, len(joint_names), 6) true joint wrenches [moment; force], or ``None`` if not asked for.
        model: the robot.
    """

    t: Array
    q: Array
    v: Array
    a: Array
    tau: Array
    kinetic_energy: Array
    potential_energy: Array
    wrenches: Array | None
    model: RobotModel

    @property
    def energy(self) -> Array:
        """(N,) total mechanical energy, J."""
        return self.kinetic_energy + self.potential_energy


def simulate(
    model: RobotModel,
    control: Control | None = None,
    q: Array | None = None,
    v: Array | None = None,
    duration: float = 1.0,
    dt: float = 1e-3,
    *,
    integrator: Any = "rk4",
    record_wrenches: bool = False,
    external: Mapping[str, Array] | Callable[[float], Mapping[str, Array]] | None = None,
    **plant_options: Any,
) -> SimulationResult:
    """Run ``duration`` seconds and record every step.

    Args:
        model: the robot.
        control: ``callable(t, q, v) -> (nv,)`` efforts, called once per ``dt`` and held; ``None`` leaves the motors
            without effort.
        q, v: initial state; the model's initial configuration and rest if not given.
        duration, dt: s; the number of steps is ``round(duration / dt)``.
        integrator: see :class:`~robot_dynamics_ros.simulation.plant.Plant`.
        record_wrenches: also record every joint's wrench.
        external: link name → (6,) wrench [moment; force] in the link's frame, or a function of time giving that.
        plant_options: everything else :class:`~robot_dynamics_ros.simulation.plant.Plant` takes.

    Raises:
        ArgumentError: an argument of the wrong shape, or a control law returning one.
        SimulationError: the simulation diverges.
    """
    raise NotImplementedError
