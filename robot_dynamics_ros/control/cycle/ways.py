"""Ways between two states, and how far two of them agree."""

from __future__ import annotations

from math import floor, tau

from robot_dynamics_ros.control.cycle.memory import CycleMemory

# Time over which ways and velocities are compared, s
WINDOW = 0.2
# Way, rad or m, that a joint must go in that time before its velocity is judged: noise and digits
# of encoders are less
LEAST_WAY = 0.05
# Agreement of way and velocity, 2 w s / (w² + s²), where one of the two is in degrees: w = 57.3 s
DEGREES = 0.0349


def short_way(p: CycleMemory, i: int, way: float) -> float:
    """A way of joint ``i`` between two states; without whole turns where the joint is
    continuous.
    """
    if p.continuous[i] == 1:
        return way - whole_turns(way)
    return way


def whole_turns(way: float) -> float:
    """The whole turns in an angle, rad; what is left of it is half a turn at most."""
    return tau * floor(way / tau + 0.5)


def differs_as_degrees(agreement: float) -> bool:
    """Whether of way and velocity one is in degrees, the other one in radians; their factor may be
    wrong by 30 %.
    """
    return abs(agreement - DEGREES) < 0.3 * DEGREES
