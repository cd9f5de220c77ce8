"""Profiles of arms: the habits of a driver, as one value that controller, simulator, identification
and commissioning read alike.

A profile is a YAML file, ``config/arms/<vendor>_<arm>.yaml``.  Every fact in it has a source.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from robot_dynamics_ros.errors import ArgumentError, check_name, optional_package
from robot_dynamics_ros.model.measured_effort import EFFORT_MEANINGS, MeasuredEffort
from robot_dynamics_ros.resources import share_directory
from robot_dynamics_ros.yaml_text import load_yaml

FACTS = (
    "gravity",
    "coriolis",
    "friction",
    "measured",
    "armature",
    "limits",
    "rate",
    "command",
    "silence",
    "stamps",
    "velocity",
    "brakes",
    "pendant",
)
"""What ``sources`` has an entry for."""


@dataclass(frozen=True, slots=True)
class VendorDescription:
    """The vendor's robot description.

    Attributes:
        repository: address of the repository.
        package: ROS package in it.
        file: URDF or xacro file, from the package's folder.
        arguments: xacro arguments, without those that name a hardware.
        hardware: file with the ``<ros2_control>`` element, ``package/path``; ``""``: it is in
            ``file``.
        hardware_arguments: xacro arguments that put the real hardware into that element.
    """

    repository: str
    package: str
    file: str
    arguments: Mapping[str, str] = field(default_factory=dict)
    hardware: str = ""
    hardware_arguments: Mapping[str, str] = field(default_factory=dict)

    def xacro_arguments(self, *, with_hardware: bool) -> dict[str, str]:
        """Those of the description, and those of the hardware where it is asked for."""
        return {**self.arguments, **(self.hardware_arguments if with_hardware else {})}


@dataclass(frozen=True, slots=True)
class VendorDriver:
    """The vendor's driver.

    Attributes:
        repository: address of the repository.
        checked: version or commit that the facts were read in.
        interface: ``"ros2_control"``: efforts by a command interface; ``"vendor_api"``: efforts by
            the vendor's library only, a node has to pass them on; ``"none"``: no efforts.
        command_interface: name of the joints' command interface that takes efforts; ``""``: none.
        controller: ros2_control controller that passes efforts on; ``""``: none.
        rate: Hz, of states and commands.
        delay: s from a measurement to its joint state and from a command to its effort, together;
            one cycle of the driver where nothing else is known.
        on_silence: what the arm does when the controller's commands stop and the driver runs on: it
            goes on with the last effort (``"hold"``), with ``"zero"`` effort, or it comes to a
            ``"stop"`` by drive and brakes.
        silence_timeout: s without a command after which it does so; ``None`` for ``"hold"``.
        stamps: whether the ``"computer"`` or the ``"robot"`` stamps the states.
        velocity_time_constant: s, of the low-pass filter on measured velocities; 0: none is known.
        brakes: whether the joints have holding brakes.
        pendant: what has to be set on the pendant or in the vendor's program.
        nearest: where ``interface`` is not ``"ros2_control"``: the nearest way to command efforts.
    """

    repository: str
    checked: str
    interface: str
    rate: float
    on_silence: str
    pendant: str
    silence_timeout: float | None = None
    command_interface: str = ""
    controller: str = ""
    delay: float = 0.0
    stamps: str = "computer"
    velocity_time_constant: float = 0.0
    brakes: bool = True
    nearest: str = ""


_COMPENSATES = {
    ("robot", "robot"): ("gravity_and_coriolis", "robot_with_coriolis"),
    ("robot", "controller"): ("gravity", "robot"),
    ("controller", "controller"): ("nothing", "controller"),
}


@dataclass(frozen=True, slots=True)
class EffortHabits:
    """Who compensates what, and what measured efforts mean.

    Attributes:
        gravity, coriolis: who supplies the effort against gravity, and against Coriolis and
            centrifugal effects: ``"robot"`` or ``"controller"``.
        friction: who compensates friction: ``"robot"``, ``"controller"`` or ``"both"``: the robot a
            part of it.
        measured: meaning of ``effort`` in joint states, one of
            :data:`~robot_dynamics_ros.model.measured_effort.EFFORT_MEANINGS`.
        switchable: how any of this can be changed at the robot; ``""``: not at all.
    """

    gravity: str
    coriolis: str
    measured: str
    friction: str = "controller"
    switchable: str = ""

    @property
    def robot_compensates(self) -> str:
        """The effort that the robot adds to commands, as ``driver.compensates`` of the
        simulator.
        """
        return _COMPENSATES[self.gravity, self.coriolis][0]

    @property
    def gravity_compensated_by(self) -> str:
        """The controller's parameter."""
        return _COMPENSATES[self.gravity, self.coriolis][1]

    @property
    def safe_command(self) -> str:
        """The controller's parameter: ``"zero"`` where the robot holds itself."""
        if self.gravity == "robot":
            return "zero"
        return "gravity"


@dataclass(frozen=True, slots=True)
class JointFacts:
    """One commanded joint; ``None``: not published, the description's value holds.

    Attributes:
        name: as in the description with the profile's arguments.
        effort: largest effort the driver takes, N m or N.
        effort_rate: largest change of effort, N m/s or N/s.
        armature: inertia of rotor and gear as felt at the joint, kg m² or kg.
        coulomb, viscous: friction, N m or N, and N m s/rad or N s/m.
        measured_factor: effort for each unit that the driver publishes: N m/A where it publishes
            currents, −1 where the sensor counts the other way.
        start: position from which to rehearse, rad or m.
    """

    name: str
    effort: float | None = None
    effort_rate: float | None = None
    armature: float | None = None
    coulomb: float | None = None
    viscous: float | None = None
    measured_factor: float | None = None
    start: float | None = None


@dataclass(frozen=True, slots=True)
class ArmProfile:
    """An arm as its driver presents it.

    Attributes:
        name: of the file, ``"franka_fr3"``.
        title: as people call the arm.
        vendor: its maker.
        description: the vendor's description.
        driver: the vendor's driver.
        efforts: who compensates what, and what measured efforts mean.
        joints: the commanded joints, in the order of commands.
        elsewhere: joints that something else commands, grippers above all; they are known as load
            only.
        sources: fact → where it was read.
    """

    name: str
    title: str
    vendor: str
    description: VendorDescription
    driver: VendorDriver
    efforts: EffortHabits
    joints: tuple[JointFacts, ...]
    sources: Mapping[str, str]
    elsewhere: tuple[str, ...] = ()

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the commanded joints."""
        return tuple(joint.name for joint in self.joints)

    @property
    def commands_efforts(self) -> bool:
        """Whether the arm takes efforts at all."""
        return self.driver.interface != "none"

    @property
    def measured(self) -> str:
        """The meaning of measured efforts; currents tell nothing while no torque constant is
        known.
        """
        meaning = self.efforts.measured
        if meaning == "current" and not self.known("measured_factor"):
            return "none"
        return meaning

    def measured_effort(self, joint_names: Sequence[str]) -> MeasuredEffort:
        """The meaning with its factors, in the order of these joints."""
        factors = self.known("measured_factor")
        return MeasuredEffort(
            self.measured, np.array([factors[name] for name in joint_names]) if factors else None
        )

    def known(self, fact: str) -> dict[str, float]:
        """Joint name → value of a field of :class:`JointFacts`, for joints where it is known."""
        return {
            joint.name: value
            for joint in self.joints
            if (value := getattr(joint, fact)) is not None
        }


_PROFILE_CHOICES = {
    "interface": ("ros2_control", "vendor_api", "none"),
    "on_silence": ("hold", "zero", "stop"),
    "stamps": ("computer", "robot"),
    "gravity": ("robot", "controller"),
    "coriolis": ("robot", "controller"),
    "friction": ("robot", "controller", "both"),
    "measured": EFFORT_MEANINGS,
}
_RECORDS: dict[str, type] = {
    kind.__name__: kind for kind in (VendorDescription, VendorDriver, EffortHabits)
}


def arm_names() -> tuple[str, ...]:
    """Names of the profiles that ship with the package, sorted.

    >>> "franka_fr3" in arm_names()
    True
    """
    return tuple(
        sorted(path.stem for path in (share_directory() / "config" / "arms").glob("*.yaml"))
    )


def load_arm_profile(arm: str) -> ArmProfile:
    """The profile of an arm.

    Args:
        arm: a name of :func:`arm_names`, or the path of a YAML file of the same form.

    Raises:
        UnknownNameError: there is no such profile, or an entry that no profile has.
        ArgumentError: the file is unreadable, an entry is missing, or a value is of the wrong type
            or out of range.
        BackendError: PyYAML is not installed.

    >>> load_arm_profile("franka_fr3").efforts.gravity
    'robot'
    """
    path = Path(arm)
    if path.suffix not in (".yaml", ".yml"):
        check_name("arm", arm, arm_names())
        path = share_directory() / "config" / "arms" / f"{arm}.yaml"
    profile: ArmProfile = _record(ArmProfile, _read(path), str(path), name=path.stem)
    _check(profile, str(path))
    return profile


def _read(path: Path) -> Mapping[str, object]:
    yaml = optional_package("yaml", "profiles of arms need", "load_arm_profile", "pyyaml")
    try:
        text = path.read_text(encoding="utf-8")
        document = load_yaml(text, "profiles of arms need", "load_arm_profile")
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ArgumentError(
            f"cannot be read: {error}", where=str(path), remedy="Check the path and the file."
        ) from None
    if not isinstance(document, dict):
        raise ArgumentError(
            "is no profile of an arm",
            where=str(path),
            remedy="Begin with `title:`, `vendor:`, `driver:`.",
        )
    return document


_Rule: TypeAlias = tuple[bool, str, str]
"""Whether it is broken, the problem, the remedy."""


def _rules_of_joints(profile: ArmProfile) -> Iterator[_Rule]:
    """Rules on sources, joints and efforts."""
    for fact in FACTS:
        yield (
            fact not in profile.sources,
            f"sources has no entry {fact!r}",
            "Say where it was read, or that it is not published.",
        )
    yield not profile.joints, "joints is empty", "Name the commanded joints in their order."
    for name in profile.elsewhere:
        yield (
            name in profile.joint_names,
            f"joint {name!r} is in joints and in elsewhere",
            "Name it in one of them.",
        )
    constants = profile.known("measured_factor")
    for name in profile.joint_names:
        yield (
            bool(constants) and name not in constants,
            f"joint {name!r} has no measured_factor, and others have one",
            "Give all of them or none.",
        )
    yield (
        (profile.efforts.gravity, profile.efforts.coriolis) == ("controller", "robot"),
        "efforts: the robot compensates Coriolis effects and not gravity",
        "Set gravity to robot.",
    )


def _rules_of_driver(profile: ArmProfile) -> Iterator[_Rule]:
    driver = profile.driver
    by_ros2_control = driver.interface == "ros2_control"
    yield (
        by_ros2_control and not (driver.command_interface and driver.controller),
        "interface is ros2_control without command_interface or controller",
        "Name both.",
    )
    yield (
        not by_ros2_control and not driver.nearest,
        f"interface is {driver.interface} without nearest",
        "Name the nearest way to command efforts.",
    )
    yield driver.rate <= 0.0, "driver.rate is zero", "Give a positive number."
    yield (
        driver.silence_timeout == 0.0,
        "driver.silence_timeout is zero",
        "Give a positive number.",
    )
    yield (
        (driver.silence_timeout is None) != (driver.on_silence == "hold"),
        f"on_silence is {driver.on_silence!r} with silence_timeout {driver.silence_timeout}: "
        "'hold' is for ever, anything else comes after silence_timeout",
        "Set silence_timeout, or on_silence to hold.",
    )


def _check(profile: ArmProfile, where: str) -> None:
    """Rules that concern more than one entry."""
    for fact in profile.sources:
        check_name("fact", fact, FACTS, where=f"{where}, sources")
    for broken, problem, remedy in (*_rules_of_joints(profile), *_rules_of_driver(profile)):
        if broken:
            raise ArgumentError(problem, where=where, remedy=remedy)


def _record(kind: type, values: object, where: str, **preset: str) -> Any:
    """A dataclass from a table: every entry typed and in its choices."""
    table = _table(values, where)
    found = dict[str, Any](preset)
    entries = [entry for entry in fields(kind) if entry.name not in preset]
    for entry in entries:
        if entry.name in table:
            found[entry.name] = _value(entry.name, str(entry.type), table[entry.name], where)
        elif entry.default is MISSING and entry.default_factory is MISSING:
            raise ArgumentError(
                f"{entry.name} is missing", where=where, remedy=f"Add `{entry.name}:`."
            )
    valid = [entry.name for entry in entries]
    for key in table:
        check_name("entry", key, valid, where=where)
    return kind(**found)


def _value(key: str, annotation: str, value: Any, where: str) -> Any:
    """A value that YAML read, checked, as the type that its field's annotation names."""
    inside = f"{where}, {key}"
    if annotation in _RECORDS:
        return _record(_RECORDS[annotation], value, inside)
    if annotation == "tuple[JointFacts, ...]":
        joints = _table(value, inside).items()
        return tuple(
            _record(JointFacts, facts or {}, f"{inside}, {name}", name=name)
            for name, facts in joints
        )
    if annotation == "tuple[str, ...]":
        if not isinstance(value or [], list) or not all(
            isinstance(item, str) for item in value or []
        ):
            raise ArgumentError(
                f"{key} is no list of names", where=where, got=value, remedy="Write [a, b]."
            )
        return tuple(value or [])
    if annotation.startswith("Mapping"):
        return MappingProxyType(
            {name: _typed(name, x, str, inside) for name, x in _table(value, inside).items()}
        )
    if value is None and annotation.endswith("None"):
        return None
    if annotation.startswith("float"):
        if isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        signed = key in ("start", "measured_factor")
        if not isinstance(value, float) or not math.isfinite(value) or (value < 0.0 and not signed):
            raise ArgumentError(
                f"{key} is {value!r}",
                where=where,
                remedy="Give a finite number that is not negative.",
            )
        return value
    value = _typed(key, value, bool if annotation == "bool" else str, where)
    if key in _PROFILE_CHOICES:
        check_name(key, value, _PROFILE_CHOICES[key], where=where)
    return value


def _table(values: object, where: str) -> dict[str, Any]:
    if not isinstance(values, dict) or not all(isinstance(key, str) for key in values):
        raise ArgumentError(
            "is no table of names and values",
            where=where,
            got=values,
            remedy="Write `name: value`.",
        )
    return values


def _typed(key: str, value: object, kind: type, where: str) -> object:
    if not isinstance(value, kind):
        if kind is bool:
            expected = "true or false"
        else:
            expected = "text, in quotes where it is a number"
        raise ArgumentError(f"{key} is {value!r}", where=where, remedy=f"Give {expected}.")
    return value.strip() if isinstance(value, str) else value
