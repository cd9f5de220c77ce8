"""Modes of operation of a controller."""

import enum


class Mode(enum.Enum):
    """Mode of operation of the controller."""

    INACTIVE = "inactive"
    HOLD = "hold"
    TRAJECTORY = "trajectory"
    STREAM = "stream"
    FREE = "free"  # a law without reference, e.g. gravity compensation
    SAFE = "safe"  # the safe command is out: state stale, or a fault


MODES = tuple(Mode)
INACTIVE, HOLD, TRAJECTORY, STREAM, FREE, SAFE = range(len(MODES))
"""Their numbers, in the memory of a cycle."""
