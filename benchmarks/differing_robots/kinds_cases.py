"""The kinds of difference between a robot and its description that the suite of kinds tries.

Each kind changes a few things of one usual robot: the vendor's description, masses and friction and
rotors that it does not mention, states and efforts in time at 500 Hz.  ``Kind`` says what can be
changed; :data:`KINDS` is the list.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["KINDS", "Kind", "kinds_of"]

Span = tuple[float, float]
"""A smallest and a largest number, to draw between."""


@dataclass(frozen=True)
class Kind:
    """One kind of robot, of driver, or of surprise.  Times in s, angles in rad, forces in N.

    Attributes:
        group: what the kinds are listed under.
        exact: the description is the robot: nothing below ``masses`` to ``viscous`` counts.
        drawn: everything as ``differences.draw`` draws it.
        masses: largest relative error of a link's mass.
        rotors: inertia of the rotors, as a share of the usual 0.1 kg m² √(limit / 100 N m).
        heavy_rotors: the rotors have this share of the inertia that they move, if that is more.
        dry: dry friction, as a share of the effort limit; breakaway: friction at rest over it.
        viscous: N m s/rad, as a share of the effort limit.
        soft_friction: friction as MuJoCo has it by default: it creeps.
        drift: friction goes from the first to the second factor in the course of the run.
        claimed_friction: friction that the description claims, as a share of the effort limit.
        tilt: of the base.
        cable: stiffness of a spring across each joint, as a share of the effort limit.
        gravity: the robot adds this share of its gravity by itself.
        payload: as a share of the nominal one; nobody mentions it.
        payload_at: from when on it is there: "start", "picked" up or "dropped" at rest.
        rate: Hz of the states.
        late_commands, late_states: periods, then seconds, between a state and the law, or a command
            and the effort.
        jitter: largest further delay of a state, drawn anew for each.
        stamped_late: a state carries the time of its arrival, not of its measurement.
        lost, doubled: shares of the states that do not arrive, or arrive twice.
        repeated: share of states that are the one before under a new stamp.
        bits: of the encoders, a turn; 0: exact positions.
        differenced: velocities are differences of the encoder's positions.
        velocity_filter: Hz, of the first order; 0: none.
        lag: time constant of the effort.
        effort_levels: of the effort between 0 and the limit; 0: any.
        saturation: the effort that a joint gives at most, as a share of the effort limit.
        windup: what springs in the gears wind up by at the effort limit; 0: stiff gears.
        backlash: of the gears.
        at_motor: encoders are at the motor; else at the link.
        torque_loop: gain of a torque controller in each joint, on the torque behind the spring.
        torque_rate: N m/s that the torque controller lets the command change by, per N m of limit.
        arms: names of the arms that this kind is for; empty: all.
        motion: "move", "two_points" (positions alone), "fast" (at the speed limits), or "stretched"
            (ends with the arm stretched out).
        moves: to and fro, one after the other.
        event: what happens: "", "push", "wall", "stop", "brake", "reset", "table", "slow_states",
            or "falling".
        event_at: in the "motion" or at "rest".
        force: of a push.
    """

    group: str
    exact: bool = False
    drawn: bool = False
    masses: float = 0.1
    rotors: Span = (0.5, 1.5)
    heavy_rotors: Span = (0.0, 0.0)
    dry: Span = (0.02, 0.05)
    breakaway: float = 1.0
    viscous: Span = (0.0, 0.0)
    soft_friction: bool = False
    drift: Span = (1.0, 1.0)
    claimed_friction: float = 0.0
    tilt: float = 0.0
    cable: float = 0.0
    gravity: float = 0.0
    payload: float = 0.0
    payload_at: str = "start"
    rate: int = 500
    late_commands: tuple[float, float] = (0.0, 0.0)
    late_states: tuple[float, float] = (0.0, 0.0)
    jitter: float = 0.0
    stamped_late: bool = True
    lost: float = 0.0
    doubled: float = 0.0
    repeated: float = 0.0
    bits: int = 0
    differenced: bool = False
    velocity_filter: float = 0.0
    lag: float = 0.0
    effort_levels: int = 0
    saturation: float = 1.0
    windup: Span = (0.0, 0.0)
    backlash: float = 0.0
    at_motor: bool = False
    torque_loop: float = 0.0
    torque_rate: float = 0.0
    arms: tuple[str, ...] = ()
    motion: str = "move"
    moves: int = 1
    event: str = ""
    event_at: str = "motion"
    force: float = 0.0

    @property
    def geared(self) -> bool:
        """Whether the gears give way, so that motors and links move apart."""
        return self.windup[1] > 0.0 or self.backlash > 0.0


ONE_PERIOD = (1.0, 0.0)
NONE = (0.0, 0.0)
SPRING = (0.005, 0.0125)
STIFF_SPRING = (0.001, 0.002)

KINDS: dict[str, Kind] = {
    # what the robot is made of
    "usual": Kind("robot"),
    "drawn": Kind("robot", drawn=True),
    "masses_30": Kind("robot", masses=0.3),
    "soft_friction": Kind("robot", soft_friction=True),
    "breakaway": Kind("robot", breakaway=1.5),
    "viscous": Kind("robot", viscous=(0.01, 0.03)),
    "much_friction": Kind("robot", dry=(0.08, 0.12)),
    "drifting_friction": Kind("robot", drift=(0.6, 2.0), moves=4),
    "claimed_friction": Kind("robot", dry=NONE, claimed_friction=0.03),
    "tilted_base": Kind("robot", tilt=0.087),
    "cable": Kind("robot", cable=0.1),
    "payload_half": Kind("robot", payload=0.5),
    "payload_picked": Kind("robot", payload=0.5, payload_at="picked"),
    "payload_dropped": Kind("robot", payload=0.5, payload_at="dropped"),
    "gravity_90": Kind("robot", gravity=0.9),
    "gravity_110": Kind("robot", gravity=1.1),
    "finger": Kind("robot", arms=("panda_finger",)),
    # descriptions simulated as they are
    "exact": Kind("exact", exact=True),
    "exact_late_1": Kind("exact", exact=True, late_commands=ONE_PERIOD),
    "exact_late_2": Kind("exact", exact=True, late_commands=(2.0, 0.0)),
    "exact_250": Kind("exact", exact=True, rate=250),
    "exact_1000": Kind("exact", exact=True, rate=1000),
    "exact_1000_late_2": Kind("exact", exact=True, rate=1000, late_commands=(2.0, 0.0)),
    "rotorless": Kind("exact", rotors=NONE),
    "rotorless_late": Kind("exact", rotors=NONE, late_commands=ONE_PERIOD),
    "rotorless_little_friction": Kind("exact", rotors=NONE, dry=(0.002, 0.005)),
    "half_rotors": Kind("exact", rotors=(0.5, 0.5)),
    # states and commands
    "late_1": Kind("timing", late_commands=ONE_PERIOD),
    "late_commands_10ms": Kind("timing", late_commands=(0.0, 0.01)),
    "late_states_5ms": Kind("timing", late_states=(0.0, 0.002), jitter=0.003),
    "late_states_20ms": Kind(
        "timing", late_states=(0.0, 0.01), jitter=0.01, lost=0.2, doubled=0.2, stamped_late=False
    ),
    "jitter": Kind("timing", jitter=0.0006),
    "lost_fifth": Kind("timing", lost=0.2),
    "doubled_fifth": Kind("timing", doubled=0.2),
    "repeated_fiftieth": Kind("timing", repeated=0.02),
    "rate_100_late": Kind("timing", rate=100, late_commands=ONE_PERIOD),
    "rate_100": Kind("timing", rate=100),
    "rate_250_late": Kind("timing", rate=250, late_commands=ONE_PERIOD),
    "rate_1000": Kind("timing", rate=1000),
    "rate_1000_late_2": Kind("timing", rate=1000, late_commands=(2.0, 0.0)),
    "slow_states": Kind("timing", event="slow_states"),
    # sensors
    "differenced_12": Kind("sensors", bits=12, differenced=True),
    "differenced_14": Kind("sensors", bits=14, differenced=True),
    "differenced_17": Kind("sensors", bits=17, differenced=True),
    "differenced_19": Kind("sensors", bits=19, differenced=True),
    "filtered_14": Kind("sensors", bits=14, differenced=True, velocity_filter=40.0),
    "filtered_20hz": Kind("sensors", bits=19, velocity_filter=20.0),
    # efforts
    "lag_5ms": Kind("efforts", lag=0.005),
    "lag_20ms": Kind("efforts", lag=0.02),
    "quantized": Kind("efforts", effort_levels=128),
    "saturated": Kind("efforts", saturation=0.6),
    "franka_loop": Kind(
        "efforts", rate=1000, windup=STIFF_SPRING, torque_loop=4.0, lag=0.001, torque_rate=11.5
    ),
    "iiwa_loop": Kind(
        "efforts", windup=(0.002, 0.005), torque_loop=2.0, lag=0.002, late_commands=ONE_PERIOD
    ),
    "gen3_loop": Kind(
        "efforts",
        rate=1000,
        lag=0.005,
        dry=(0.05, 0.08),
        effort_levels=512,
        late_commands=ONE_PERIOD,
    ),
    # gears
    "spring_motor": Kind("gears", windup=SPRING, at_motor=True, rotors=(0.3, 1.0)),
    "spring_link": Kind("gears", windup=SPRING, rotors=(0.3, 1.0)),
    "spring_motor_heavy": Kind("gears", windup=SPRING, at_motor=True, heavy_rotors=(0.3, 1.0)),
    "spring_link_heavy": Kind("gears", windup=SPRING, heavy_rotors=(0.3, 1.0)),
    "backlash_motor": Kind("gears", windup=STIFF_SPRING, backlash=0.005, at_motor=True),
    "backlash_link": Kind("gears", windup=STIFF_SPRING, backlash=0.005),
    "backlash_1_link": Kind("gears", windup=STIFF_SPRING, backlash=0.001),
    "geared_arm": Kind(
        "gears",
        windup=SPRING,
        at_motor=True,
        heavy_rotors=(0.3, 1.0),
        lag=0.005,
        late_commands=ONE_PERIOD,
        bits=17,
        differenced=True,
    ),
    # motions
    "full_speed": Kind("motion", motion="fast"),
    "two_points": Kind("motion", motion="two_points"),
    "stretched": Kind("motion", motion="stretched"),
    # surprises
    "push_25_rest": Kind("surprise", event="push", event_at="rest", force=25.0),
    "push_50_rest": Kind("surprise", event="push", event_at="rest", force=50.0),
    "push_100_rest": Kind("surprise", event="push", event_at="rest", force=100.0),
    "push_25_motion": Kind("surprise", event="push", force=25.0),
    "push_50_motion": Kind("surprise", event="push", force=50.0),
    "push_100_motion": Kind("surprise", event="push", force=100.0),
    "vanishing_wall": Kind("surprise", event="wall"),
    "unknown_stop": Kind("surprise", event="stop"),
    "late_brake": Kind("surprise", event="brake"),
    "table": Kind("surprise", event="table"),
    "reset": Kind("surprise", event="reset", event_at="rest"),
    "falling": Kind("surprise", event="falling"),
}
"""Name → kind."""


def kinds_of(words: str) -> dict[str, Kind]:
    """The kinds that ``words`` names, by commas: names, groups, or "all".

    Raises:
        ValueError: a word that is neither.
    """
    out: dict[str, Kind] = {}
    for word in words.split(","):
        found = {name: kind for name, kind in KINDS.items() if word in ("all", name, kind.group)}
        if not found:
            groups = sorted({kind.group for kind in KINDS.values()})
            raise ValueError(f"no kind {word!r}: name groups {groups} or kinds {list(KINDS)}")
        out |= found
    return out
