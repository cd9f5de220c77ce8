"""References outside a controller: requests make a new one, the old one stays as it was."""

import numpy as np

from robot_dynamics_ros.control.options import ControllerOptions
from robot_dynamics_ros.control.reference.goal import Reason, Tolerances
from robot_dynamics_ros.control.reference.reference import JointTable, ReferenceGenerator
from robot_dynamics_ros.control.reference.tracks import CANCELED
from robot_dynamics_ros.control.reference.trajectory import NANOSECONDS, TrajectoryPoint

FREE = JointTable(
    ("a", "b", "c"), np.ones(3, bool), np.zeros(3, bool), np.full(3, -np.inf), np.full(3, np.inf)
)


class Reference:
    """A reference that does not change; joints brake with ``deceleration``."""

    def __init__(self, table, deceleration, **options):
        chosen = ControllerOptions(
            allow_nonzero_velocity_at_trajectory_end=True,
            **{"max_step": 1e9, "stream_timeout": 0.1, "positions_upsampling": "none"} | options,
        )
        self.table = table
        self.generator = ReferenceGenerator(table, chosen, deceleration)

    def copy(self, table=None, deceleration=None, **options):
        """The same, with other settings from now on."""
        old = self.generator
        new = Reference(
            table or self.table,
            old.memory["deceleration"] if deceleration is None else deceleration,
            **options,
        )
        made = new.generator
        settings = {
            name: made.memory[name].copy()
            for name in ("lower", "upper", "continuous", "velocity_limit")
        }
        settings |= {
            name: made.memory[name].copy()
            for name in ("max_step", "stream_timeout", "deceleration")
        }
        made.memory.block[:] = old.memory.block
        for name, value in settings.items():
            made.memory[name][:] = value
        made._motions = dict(old._motions)
        made._goals = dict(old._goals)
        made._number = old._number
        return new

    def sample(self, t):
        return self.generator.sample(t)

    def at(self, t):
        """(8, n) polynomials of position and effort at ``t``, counted from then."""
        ahead = self.copy().generator
        ahead.begin(t)
        return ahead.load(t)[0].copy()

    def arriving(self, before, t):
        """(3, n) position, velocity, acceleration at ``t`` of the polynomials that are followed at
        ``before``.
        """
        c = self.at(before)[:6]
        x = (t - before) / NANOSECONDS
        p = np.polynomial.polynomial
        return np.array([p.polyval(x, p.polyder(c, k) if k else c) for k in range(3)])


def stop_from(t, q, v, deceleration, lower=None, upper=None):
    """Decelerate from (q, v) at ``t``, then hold."""
    n = len(q)
    table = JointTable(
        tuple("abcdefghi"[:n]),
        np.ones(n, bool),
        np.zeros(n, bool),
        np.full(n, -np.inf) if lower is None else lower,
        np.full(n, np.inf) if upper is None else upper,
    )
    reference = Reference(table, deceleration)
    reference.generator.stop_from(t, q, v, CANCELED, Reason.NONE)
    return reference


def standing(t, q, table=FREE):
    """Hold at ``q`` from ``t`` on."""
    reference = Reference(table, np.ones(len(q)))
    reference.generator.stop_from(t, np.array(q), np.zeros(len(q)), CANCELED, Reason.NONE)
    return reference


def splice(current, trajectory, now, table=FREE, *, allow_partial=False, max_step=1e9):
    """Another reference that follows the trajectory, its start, and the time of the last point."""
    new = current.copy(table, allow_partial_joints_goal=allow_partial, max_step=max_step)
    made = new.generator
    goal = made.adopt(made.prepare(trajectory, now), now, Tolerances.uniform(len(table.names)))
    return new, goal.start, goal.end


def stream(current, trajectory, now, table, timeout, deceleration, *, max_step=1e9):
    """Another reference that follows the only point of the trajectory as a set-point; ``timeout``
    in s.
    """
    new = current.copy(
        table,
        deceleration,
        allow_partial_joints_goal=True,
        max_step=max_step,
        stream_timeout=timeout,
    )
    t = trajectory
    point = TrajectoryPoint(
        int(t.times[0]),
        *(
            x[0].tolist() if t.degree[0] >= least else ()
            for x, least in ((t.positions, 1), (t.velocities, 3), (t.accelerations, 5))
        ),
    )
    new.generator.stream(t.joint_names, point, now)
    return new
