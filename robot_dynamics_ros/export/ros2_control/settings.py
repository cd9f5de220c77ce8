"""Settings of the exported controller: one table, from which their C++ struct and its reader are written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from robot_dynamics_ros.export.ros2_control.cycle_in_c import FRICTION, LAW_NAMES

__all__ = ["settings_header"]


@dataclass(frozen=True)
class Setting:
    """One member of the struct.

    Attributes:
        member: its name.
        kind: its C++ type.
        default: in C++.
        value: how it is read from the parameters, in C++.
    """

    member: str
    kind: str
    default: str
    value: str


def _number(member: str, default: str, parameter: str) -> Setting:
    return Setting(member, "double", default, f'number(get, "{parameter}")')


def _flag(member: str, parameter: str) -> Setting:
    return Setting(member, "bool", "false", f'get("{parameter}").as_bool()')


def _is(member: str, parameter: str, word: str) -> Setting:
    return Setting(member, "bool", "false", f'get("{parameter}").as_string() == "{word}"')


def _choice(member: str, parameter: str, kind: str, default: str) -> Setting:
    return Setting(member, kind, f"{kind}::{default}", f'{_reader(kind)}(get("{parameter}").as_string())')


def _joint(member: str, parameter: str, default: str, *, infinite: bool = False) -> Setting:
    """A number of each commanded joint; ``*`` stands for its name.  ``infinite``: 0 stands for no limit."""
    before, after = parameter.split("*")
    value = f'number(get, "{before}" + name' + (f' + "{after}")' if after else ")")
    return Setting(member, "Vector", default, f"or_infinite({value})" if infinite else value)


def _reader(kind: str) -> str:
    return f"{kind[0].lower()}{kind[1:]}_of"


CHOICES: Mapping[str, Mapping[str, str]] = {
    "Law": {row[0]: row[0] for row in LAW_NAMES.values()},
    "FrictionAt": {word: word for word in FRICTION},
    "RobotHolds": {word: word for word in ("controller", "robot", "robot_with_coriolis")},
    "SafeCommand": {"zero": "zero", "gravity": "gravity"},
    "Acceleration": {
        "commanded": "commanded",
        "reference": "reference",
        "model": "measured_effort",
        "differentiated": "differentiated",
    },
    "Reaction": {"none": "none", "hold": "hold", "gravity": "gravity"},
}
"""Enumeration → word of a parameter → enumerator, in the order of both."""

SETTINGS = (
    _choice("law", "law", "Law", "computed_torque"),
    Setting("robust", "bool", "true", 'get("robustness.enabled").as_bool()'),
    _number("bandwidth", "35.0", "robustness.bandwidth"),
    _number("rotor_share", "0.4", "robustness.rotor_share"),
    _number("rejected_effort", "0.4", "robustness.rejected_effort"),
    _number("friction_trust", "0.0", "robustness.friction_trust"),
    _number("robot_delay", "0.0", "robot_delay"),
    _choice("friction", "friction_compensation", "FrictionAt", "reference"),
    _joint("p", "gains.*.p", "filled(100.0)"),
    _joint("i", "gains.*.i", "{}"),
    _joint("d", "gains.*.d", "filled(20.0)"),
    _joint("tolerances.path_position", "constraints.*.trajectory", ""),
    _joint("tolerances.goal_position", "constraints.*.goal", ""),
    Setting("tolerances.goal_velocity", "Vector", "", 'number(get, "constraints.stopped_velocity_tolerance")'),
    _number("tolerances.goal_time", "", "constraints.goal_time"),
    _number("payload.mass", "", "payload.mass"),
    _flag("allow_partial", "allow_partial_joints_goal"),
    _flag("allow_nonzero_end_velocity", "allow_nonzero_velocity_at_trajectory_end"),
    _choice("robot_holds", "gravity_compensated_by", "RobotHolds", "controller"),
    _choice("safe_command", "safe_command", "SafeCommand", "zero"),
    _is("add_trajectory_effort", "trajectory_effort", "add"),
    _number("state_timeout", "0.1", "state_timeout"),
    _number("stream_timeout", "0.2", "cmd_timeout"),
    _number("wrench_timeout", "0.2", "wrench_timeout"),
    _number("blend_time", "0.2", "blend_time"),
    _number("max_step", "0.05", "max_step"),
    _number("max_state_jump", "0.1", "max_state_jump"),
    _joint("effort_limit", "limits.*.effort", "filled(INFINITE)", infinite=True),
    _joint("effort_rate", "limits.*.effort_rate", "filled(INFINITE)", infinite=True),
    _number("effort_scale", "1.0", "effort_scale"),
    _number("velocity_scale", "1.0", "velocity_scale"),
    _number("position_margin", "0.05", "position_margin"),
    _choice("acceleration", "joint_wrenches.acceleration_source", "Acceleration", "commanded"),
    _number("differentiation_cutoff", "30.0", "joint_wrenches.differentiation_cutoff"),
    _number("observer_gain", "50.0", "observer_gain"),
    _joint("collision", "collision.*", "filled(INFINITE)", infinite=True),
    _number("collision_delay", "0.0", "collision_delay"),
    _choice("collision_reaction", "collision_reaction", "Reaction", "none"),
)


def settings_header(package: str) -> str:
    """``parameters.hpp``: enumerations, the struct, and its reader."""
    plain = [x for x in SETTINGS if x.kind != "Vector"]
    per_joint = [x for x in SETTINGS if x.kind == "Vector"]
    out = ["// What parameters decide: generated by robot_dynamics_ros.", "", "#pragma once", ""]
    out += [f"#include <{name}>" for name in ("algorithm", "array", "cmath", "stdexcept", "string", "utility")]
    out += ["", f'#include "{package}/payload.hpp"', "", f"namespace {package}", "{", ""]
    for kind, words in CHOICES.items():
        pairs = ", ".join(f'{{"{word}", {kind}::{name}}}' for word, name in words.items())
        out += [
            f"enum class {kind} {{ {', '.join(words.values())} }};",
            "",
            f"inline {kind} {_reader(kind)}(const std::string & word)",
            "{",
            f"  for (const auto & x : {{{pairs.replace('{', f'std::pair<const char *, {kind}>{{', 1)}}}) {{".replace(
                ", {", f", std::pair<const char *, {kind}>{{"
            ),
            "    if (word == x.first) {",
            "      return x.second;",
            "    }",
            "  }",
            f"  return {kind}::{next(iter(words.values()))};  // words are checked before",
            "}",
            "",
        ]
    out += [
        "/// Everything that parameters decide. SI units; times in s, arrays in the order of joint_names.",
        "struct Settings",
        "{",
    ]
    out += [f"  {x.kind} {x.member} = {x.default};" for x in SETTINGS if "." not in x.member]
    out += [
        "  Payload payload;",
        "  Tolerances tolerances;",
        "  std::array<bool, N> commanded = all_joints();",
        "};",
        "",
    ]
    out += [
        "/// A parameter that must be finite; its bounds are checked where it is declared.",
        "template <typename Get>",
    ]
    out += ["double number(const Get & get, const std::string & name)", "{"]
    out += ["  const double x = get(name).as_double();", "  if (!std::isfinite(x)) {"]
    out += ['    throw std::invalid_argument(name + " must be finite");', "  }", "  return x;", "}", ""]
    out += ["/// The settings that parameters mean; `get(name)` is a parameter.", "template <typename Get>"]
    out += ["Settings settings_of(const Get & get)", "{"]
    out += ["  const auto or_infinite = [](double x) { return x > 0.0 ? x : INFINITE; };", "  Settings s;"]
    out += [f"  s.{x.member} = {x.value};" for x in plain]
    out += ['  s.payload.link = payload_link(get("payload.link").as_string());']
    for word in ("com", "inertia"):
        out += [
            f'  const auto {word} = get("payload.{word}").as_double_array();',
            f"  std::copy_n({word}.begin(), std::min({word}.size(), s.payload.{word}.size()), s.payload.{word}.begin());",
        ]
    out += ['  const auto joints = get("joints").as_string_array();', "  for (std::size_t j = 0; j < N; ++j) {"]
    out += ["    const std::string name = joint_names[j];"]
    out += ["    s.commanded[j] = std::find(joints.begin(), joints.end(), name) != joints.end();"]
    out += [f"    s.{x.member}[j] = s.commanded[j] ? {x.value} : {_idle(x)};" for x in per_joint]
    out += ["  }", "  return s;", "}", ""]
    return "\n".join([*out, f"}}  // namespace {package}", ""])


def _idle(setting: Setting) -> str:
    """The value for joints that are not commanded."""
    return "INFINITE" if "INFINITE" in setting.default else "0.0"
