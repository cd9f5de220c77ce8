"""The wrench that the tool exerts: it follows what is asked for without a step, and asks the joints
for Jᵀ W.
"""

from __future__ import annotations

from robot_dynamics_ros.control.cycle.halves import halves_in_world
from robot_dynamics_ros.control.reference.task.memory import TaskMemory
from robot_dynamics_ros.dynamics.engine.routines import row

# s: time constant of each of the two lags between what is asked for and what is exerted; with two
# of them the rate of the effort has no step either
WRENCH_LAG_S = 0.04
# N m or N: a wrench that fades out is gone below this
NO_WRENCH = 1e-3


def release_wrench(p: TaskMemory) -> None:
    """Ask for no wrench any more: it fades out."""
    for k in range(6):
        p.wrench_asked[k] = 0.0


def exert(p: TaskMemory, t: int, duration: float) -> None:
    """The efforts of the wrench at ``t``, ns, in ``piece``, ``duration`` s after those before.

    J is that of the measured positions: an arm that yields is not where its reference is.
    """
    if p.exerts[0] == 0:
        return
    if t >= p.wrench_until[0]:
        release_wrench(p)
    p.link_pose(p.measured, p.link)
    p.link_jacobian(p.measured, p.point, p.jacobian)
    share = max(duration, 0.0) / (WRENCH_LAG_S + max(duration, 0.0))
    left = 0.0
    for k in range(6):
        asked = p.wrench_asked[k]
        between = p.wrench_between[k] + share * (asked - p.wrench_between[k])
        now = p.wrench[k] + share * (between - p.wrench[k])
        p.wrench_between[k] = between
        p.wrench[k] = now
        left = max(left, abs(asked), abs(between), abs(now))
    if left < NO_WRENCH:
        forget_wrench(p)
    halves_in_world(
        p.wrench_in_link[0],
        row(p.link, 0),
        row(p.link, 1),
        row(p.link, 2),
        p.wrench,
        p.wrench_in_world,
    )
    for i in range(p.n):
        effort = 0.0
        for k in range(6):
            effort = effort + p.jacobian[k, i] * p.wrench_in_world[k]
        p.piece[6, i] = effort


def forget_wrench(p: TaskMemory) -> None:
    """No wrench is exerted, from now on."""
    p.exerts[0] = 0
    release_wrench(p)
    for k in range(6):
        p.wrench_between[k] = 0.0
        p.wrench[k] = 0.0
