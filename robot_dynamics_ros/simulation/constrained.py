"""A simulated robot with closed loops: time stepping that satisfies the constraints.

The step is Moreau's midpoint rule with loops, of
:mod:`~robot_dynamics_ros.simulation.integrators.timestepping`.
"""

from __future__ import annotations

from dataclasses import fields
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics.constraints import Constraints
from robot_dynamics_ros.errors import ArgumentError, ConstraintError, UnknownNameError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.simulation.effects.limits import CompliantStops
from robot_dynamics_ros.simulation.plant import Plant
from robot_dynamics_ros.simulation.plant_options import PlantOptions


class ConstrainedPlant(Plant):
    """A simulated robot with closed loops: a :class:`~robot_dynamics_ros.simulation.plant.Plant` by
    Moreau's midpoint step.

    >>> import robot_dynamics_ros as rd
    >>> arm = rd.limb(3, lengths=[1.0, 2.0, 2.5], plane="vertical")
    >>> pin = rd.point_constraint("closure", "tip", point_b=(-2.0, 0.0, 0.0))
    >>> loop = rd.Constraints(arm, [pin])
    >>> plant = rd.ConstrainedPlant(loop, 1e-3, q0=loop.consistent_state([0.1, 1.2, 1.5])[0])
    >>> for _ in range(100):
    ...     plant.step([0.0, 0.0, 0.0])
    >>> bool(abs(loop.residual(plant.q)).max() < 1e-10)
    True

    Args:
        constraints: the loops, with their robot.
        dt: s that a step takes.
        options: as for :class:`~robot_dynamics_ros.simulation.plant.Plant`, but for ``integrator``.
            ``stops`` are not :class:`~robot_dynamics_ros.simulation.effects.limits.RigidStops` with
            a rebound, ``limiter`` clamps efforts alone, and ``q0``, ``v0`` are corrected to satisfy
            the constraints if they are near them.

    Attributes:
        constraints: those given.

    Raises:
        ConstraintError: the loops cannot be closed near ``q0``.
    """

    constraints: Constraints

    def __init__(
        self,
        constraints: Constraints,
        dt: float = 1e-3,
        **options: object,
    ) -> None:
        if not isinstance(constraints, Constraints):
            raise ArgumentError("expected Constraints", where="constraints", got=constraints)
        if "integrator" in options:
            names = [f.name for f in fields(PlantOptions) if f.name != "integrator"]
            raise UnknownNameError("option", "integrator", names, where="ConstrainedPlant")
        stops = options.get("stops", "rigid")
        if stops not in ("rigid", None) and not isinstance(stops, CompliantStops):
            raise ArgumentError(
                "expected 'rigid', CompliantStops or None", where="stops", got=stops
            )
        super().__init__(constraints.model, dt, constraints=constraints, **options)

    @cached_property
    def _loops(self) -> Constraints:
        """The constraints of the robot with its rotors."""
        given = self.constraints
        if given.model is self.model:
            return given
        return given.of(self.model)

    def _command_limits(self) -> dict[str, Array]:
        nowhere = np.full(self.model.nv, np.inf)
        return {
            **super()._command_limits(),
            "limit_lower": -nowhere,
            "limit_upper": nowhere,
            "velocity_limit": nowhere,
        }

    # -- state -------------------------------------------------------------------------------------

    def _start_of(
        self,
        q: ArrayLike | None,
        v: ArrayLike | None,
        t: float,
    ) -> tuple[Array, Array, float]:
        q, v, t = super()._start_of(q, v, t)
        try:
            q, v = self._loops.project(q, v)
        except ConstraintError:
            q, v = self._loops.consistent_state(q, v)
        return q, v, t

    def prepare(self) -> None:
        super().prepare()
        self._loops.wrenches(self._q, self._motion()[1])

    # -- what the state and the command cause ------------------------------------------------------

    def _motion(self) -> tuple[Array, Array]:
        """Acceleration and reactions now."""
        return self._loops.forward_dynamics(self._q, self._v, self._effort())

    @property
    def stop_and_friction_effort(self) -> Array:
        """(nv,) mean effort of dry friction and stops over the last step, N m or N."""
        return self.system.memory["resting"].copy()

    def acceleration(self) -> Array:
        return self._motion()[0]

    def reactions(self) -> Array:
        """(nc,) λ of the constraints now."""
        return self._motion()[1]

    def constraint_wrenches(self) -> dict[str, tuple[Array, Array]]:
        """Wrenches of each constraint on its links now; see :meth:`Constraints.wrenches`."""
        return self._loops.wrenches(self._q, self.reactions())

    def _inverse_dynamics(self) -> tuple[Array, Array]:
        a, reactions = self._motion()
        return self.system.inverse_dynamics(
            self._q, self._v, a, self._loops.as_external(self._q, reactions)
        )
