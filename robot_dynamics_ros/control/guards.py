"""The last stage before an effort leaves: limits on effort, its rate, position and velocity, and finiteness."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["GuardSettings"]


@dataclass(frozen=True, slots=True)
class GuardSettings:
    """Limits beside those of the URDF.

    Attributes:
        effort_limit: (n,) or one number, N m or N; the smaller of it and the URDF's counts.
        effort_scale: factor on the effort limits (derating), 0 to 1.
        effort_rate: (n,) or one number, N m/s or N/s; infinite: not limited.
        position_margin: rad or m; the soft zone inside each position limit, in which the allowed speed towards the
            limit falls to zero.
        zone_rate: 1/s; the allowed speed towards a limit is this times the distance to it.
        velocity_scale: factor on the URDF's velocity limits.
        braking_rate: 1/s; how hard an excess of speed is braked: an effort of inertia × rate × excess.
        max_deceleration: (n,) or one number, rad/s² or m/s², of a stop; ``None``: from the velocity limit in 0.25 s.
    """

    effort_limit: object = None
    effort_scale: float = 1.0
    effort_rate: object = None
    position_margin: float = 0.05
    zone_rate: float = 10.0
    velocity_scale: float = 1.0
    braking_rate: float = 50.0
    max_deceleration: object = None
