"""Results of the steps of commissioning: findings with a number, a certainty and the line to
change.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from robot_dynamics_ros.arrays import plain
from robot_dynamics_ros.errors import ArgumentError, UnknownNameError
from robot_dynamics_ros.model.description import Array

ANNOUNCED: Mapping[str, str] = {
    "listen": (
        "Nothing is sent. First let the arm stand; then move each joint some tenths of a radian, "
        "by hand or by its planner."
    ),
    "weigh": (
        "Nothing is sent. Lead the arm to poses, by hand or by its planner, and let it rest in "
        "each."
    ),
    "float": (
        "Where its weight acts little, each joint is pushed by at most 0.06 rad, then the arm "
        "carries its own weight."
    ),
    "twitch": "One joint after the other moves, at most 0.06 rad, no faster than 6 % of its limit.",
    "tune": "Each joint, then all, step by 0.03 rad, no faster than 40 % of the limit.",
    "move": (
        "The arm makes a tour, slow at first, then at full speed. Look that nothing is in the way."
    ),
}
"""Step → what it does, in sentences for the person who permits it."""
STEPS = tuple(ANNOUNCED)
"""Steps of commissioning, in their order."""

PLACES = ("parameters", "description", "driver", "arm")
"""Where a change is made: parameter file, URDF, settings of the driver, or the arm itself."""


@dataclass(frozen=True)
class Kind:
    """A kind of mistake.

    Attributes:
        title: its plain name.
        unit: of its number; ``""`` for a factor.
        certainty: of a finding, if nothing else is said.
        place, line: of its change; ``{}`` stands for the first joint.
    """

    title: str
    unit: str = ""
    certainty: float = 0.9
    place: str = ""
    line: str = ""


_EFFORT = "N m or N"
_WAY = "rad or m"
_MASSES = "mounting, masses or a payload; or signs and unit of commands"
KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "rate": Kind(
            "joint states come at another rate", "Hz", 0.99, "driver", "rate of joint states"
        ),
        "jitter": Kind(
            "joint states come irregularly", "s", 0.9, "driver", "network or load of the computer"
        ),
        "clock": Kind(
            "stamps are from another clock",
            "s",
            0.99,
            "driver",
            "stamps by the clock of this computer, or synchronized clocks",
        ),
        "missing_field": Kind(
            "positions, velocities or efforts are missing",
            "",
            0.95,
            "driver",
            "fields of joint states",
        ),
        "names": Kind(
            "names of joints differ from the description", "", 1.0, "driver", "names of joints"
        ),
        "position_unit": Kind(
            "positions are in another unit", "", 0.95, "driver", "unit of positions"
        ),
        "velocity_unit": Kind(
            "velocities are in another unit", "", 0.98, "driver", "unit of velocities"
        ),
        "velocity_sign": Kind(
            "velocities have the opposite sign", "", 0.99, "driver", "sign of the velocity of {}"
        ),
        "velocity_filter": Kind(
            "velocities are filtered", "Hz", 0.95, "driver", "filter of velocities, above 20 Hz"
        ),
        "frozen_joint": Kind(
            "the position of a joint is frozen", _WAY, 0.9, "driver", "encoder of {}"
        ),
        "frozen_effort": Kind("the effort of a joint is frozen", "", 0.9, "driver", "effort of {}"),
        "other_publisher": Kind("somebody else publishes", "", 0.9, "driver", "one publisher"),
        "effort_sign": Kind(
            "efforts have the opposite sign", "", 0.9, "parameters", "measured_effort_factor"
        ),
        "position_sign": Kind(
            "positions have the opposite sign", "", 0.9, "description", "joint[{}]/axis"
        ),
        "joints_exchanged": Kind("two joints are exchanged", "", 0.9, "parameters", "joints"),
        "effort_unit": Kind(
            "efforts are in another unit", "", 0.9, "parameters", "measured_effort_factor"
        ),
        "gravity_compensated_by_driver": Kind(
            "the driver compensates gravity", "", 0.95, "parameters", "gravity_compensated_by"
        ),
        "mounting": Kind(
            "the arm is mounted in another direction",
            "rad",
            0.9,
            "description",
            "gravity, or origin of the joint that holds the base",
        ),
        "zero_offset": Kind("the zero of a joint is off", _WAY, 0.9, "driver", "zero of {}"),
        "payload": Kind(
            "a payload is not in the description", "kg", 0.9, "parameters", "payload.mass"
        ),
        "link_mass": Kind(
            "a link has another mass", "", 0.9, "description", "link[{}]/inertial/mass"
        ),
        "friction": Kind(
            "friction is larger than in the description",
            _EFFORT,
            0.95,
            "description",
            "joint[{}]/dynamics/friction",
        ),
        "wrong_robot": Kind(
            "the description is of another robot", "", 0.9, "description", "robot_description_file"
        ),
        "brake": Kind(
            "a joint is not held", _WAY, 0.97, "arm", "brake or holding controller of {}"
        ),
        "held_joint": Kind("something else holds a joint", "", 0.9, "arm", "brake of {}"),
        "unexplained": Kind("efforts differ from the description by no single cause"),
        "drift": Kind(
            "the arm drifts with its gravity compensated", "", 0.8, "description", _MASSES
        ),
        "command_sign": Kind(
            "commands have the opposite sign", "", 0.95, "driver", "sign of the commands of {}"
        ),
        "command_unit": Kind(
            "commands are in another unit", "", 0.9, "driver", "unit of the commands of {}"
        ),
        "commands_exchanged": Kind(
            "the commands of two joints are exchanged", "", 0.9, "parameters", "joints"
        ),
        "no_motion": Kind(
            "a joint does not follow its command",
            _EFFORT,
            0.8,
            "arm",
            "brake, encoder or drive of {}",
        ),
        "delay": Kind("commands act late", "s", 0.95, "parameters", "robot_delay"),
        "play": Kind("a joint has play", _WAY, 0.9, "arm", "gear or coupling of {}"),
        "inertia": Kind(
            "a joint's inertia differs from the description", "", 0.9, "parameters", "armature.{}"
        ),
        "gains": Kind(
            "gains do not fit the arm", "rad/s", 0.8, "parameters", "robustness.bandwidth"
        ),
        "margin": Kind(
            "the loop is close to unstable", "rad/s", 0.8, "parameters", "robustness.bandwidth"
        ),
        "tracking": Kind(
            "the arm does not follow its trajectory", _WAY, 0.9, "parameters", "velocity_scale"
        ),
        "effort_limit": Kind("efforts reach their limits", "", 0.9, "parameters", "velocity_scale"),
        "unexplained_effort": Kind(
            "efforts on the way are not explained",
            "",
            0.7,
            "description",
            "friction, rotor or payload",
        ),
    }
)
"""All kinds of findings."""


@dataclass(frozen=True)
class Change:
    """The line to change.

    Attributes:
        place: one of ``"parameters"``, ``"description"``, ``"driver"``, ``"arm"``.
        key: parameter, or element of the URDF as a path: ``joint[joint2]/axis``; elsewhere the
            thing itself.
        value: the new value; ``None`` where a person has to find it.
    """

    place: str
    key: str
    value: float | str | tuple[float | str, ...] | None = None

    def __post_init__(self) -> None:
        if self.place not in PLACES:
            raise UnknownNameError("place of a change", self.place, PLACES)

    def __str__(self) -> str:
        value = self.value
        if isinstance(value, tuple):
            inside = ", ".join(x if isinstance(x, str) else f"{x:.5g}" for x in value)
            value = f"[{inside}]"
        elif isinstance(value, float):
            value = f"{value:.5g}"
        if value is None:
            return self.key
        return f"{self.key}: {value}"


@dataclass(frozen=True)
class Finding:
    """A mistake.

    Attributes:
        kind: out of :data:`KINDS`.
        joints: that it concerns; empty: the whole arm.
        sentence: what is wrong, with the number.
        number: its size, in ``unit``; NaN if it has none.
        unit: ``""`` for a factor.
        certainty: probability from 0 to 1, against all other explanations that were compared.
        change: the line to change; ``None`` if none would do.
    """

    kind: str
    joints: tuple[str, ...]
    sentence: str
    number: float = math.nan
    unit: str = ""
    certainty: float = 1.0
    change: Change | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UnknownNameError("kind of finding", self.kind, KINDS)
        if not 0.0 <= self.certainty <= 1.0:
            raise ArgumentError(
                "must be from 0 to 1", where="certainty of a finding", got=self.certainty
            )

    def __str__(self) -> str:
        return f"{self.sentence} ({self.certainty:.0%} sure)" + (
            f" → {self.change}" if self.change else ""
        )

    def to_json(self) -> dict[str, object]:
        """Its attributes, with the title of its kind, and the change as place and line."""
        change = None
        if self.change is not None:
            change = {"place": self.change.place, "line": str(self.change)}
        return {
            "kind": self.kind,
            "title": KINDS[self.kind].title,
            "joints": self.joints,
            "sentence": self.sentence,
            "number": self.number,
            "unit": self.unit,
            "certainty": self.certainty,
            "change": change,
        }


def mistake(
    kind: str,
    joints: str | Iterable[str],
    sentence: str,
    number: float = math.nan,
    value: float | str | tuple[float | str, ...] | None = None,
    *,
    certainty: float = math.nan,
    line: str = "",
) -> Finding:
    """The finding of a kind, with what its row of :data:`KINDS` says; ``line`` and ``certainty``
    where they differ from it.
    """
    row = KINDS[kind]
    names = (joints,) if isinstance(joints, str) else tuple(joints)
    if row.place:
        change = Change(row.place, (line or row.line).format(*names[:1] or ("all joints",)), value)
    else:
        change = None
    if math.isnan(certainty):
        sure = row.certainty
    else:
        sure = certainty
    return Finding(kind, names, sentence, float(number), row.unit, sure, change)


def sorted_by_certainty(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The most certain first."""
    return tuple(sorted(findings, key=lambda finding: -finding.certainty))


@dataclass(frozen=True, eq=False)
class StepReport:
    """The result of one step.

    Attributes:
        step: out of :data:`STEPS`.
        findings: the most certain first; empty: nothing is wrong as far as this step can see.
        numbers: name of a quantity → (nv,) values in the order of the model's joints, or one value.
        enough: whether the step has seen enough; otherwise ``findings`` may change with further
            poses.
        next_pose: (nv,) configuration that would tell most next, rad or m; ``None``: none is
            needed.
        notes: sentences that accuse nobody.
    """

    step: str
    findings: tuple[Finding, ...] = ()
    numbers: Mapping[str, Array | float] = field(default_factory=dict)
    enough: bool = True
    next_pose: Array | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.step not in STEPS:
            raise UnknownNameError("step of commissioning", self.step, STEPS)

    @property
    def healthy(self) -> bool:
        """Whether nothing is wrong and the step has seen enough to say so."""
        return self.enough and not self.findings

    @property
    def verdict(self) -> str:
        """``"good"``, ``"not finished"``, or how many mistakes were found."""
        if self.findings:
            return f"{len(self.findings)} found"
        return "good" if self.enough else "not finished"

    def __str__(self) -> str:
        return "; ".join([*map(str, self.findings), *self.notes]) or self.verdict

    def of_kind(self, *kinds: str) -> tuple[Finding, ...]:
        """Findings of these kinds."""
        return tuple(finding for finding in self.findings if finding.kind in kinds)

    def to_json(self) -> dict[str, object]:
        """Lists, dictionaries, words and numbers only; what is not finite becomes ``None``."""
        document = {
            "step": self.step,
            "findings": [finding.to_json() for finding in self.findings],
            "numbers": self.numbers,
            "enough": self.enough,
            "next_pose": self.next_pose,
            "notes": self.notes,
        }
        return {key: plain(value) for key, value in document.items()}
