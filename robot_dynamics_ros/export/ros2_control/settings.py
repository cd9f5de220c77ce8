"""Settings of the exported controller: one table, from which their C++ struct, its reader and its use are written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from robot_dynamics_ros.export.ros2_control.cycle_in_c import FRICTION, LAW_NAMES


@dataclass(frozen=True)
class Setting:
    """One member of the struct.

    Attributes:
        member: its name.
        kind: its C++ type; ``Vector``: a number of each joint.
        default: in C++.
        value: how it is read from the parameters, in C++.
        element: of a vector, which one joint ``j`` has.
        use: the entry of a memory that it becomes, as ``memory.name``; ``ns``: in nanoseconds.
        live: whether it may change while the controller runs.
    """

    member: str
    kind: str
    default: str
    value: str
    element: str = "j"
    use: str = ""
    live: bool = False


def _number(member: str, default: str, parameter: str, use: str = "", *, live: bool = False) -> Setting:
    return Setting(member, "double", default, f'number(get, "{parameter}")', use=use, live=live)


def _flag(member: str, parameter: str, default: str = "false", use: str = "") -> Setting:
    return Setting(member, "bool", default, f'get("{parameter}").as_bool()', use=use)


def _choice(member: str, parameter: str, kind: str, use: str = "", *, live: bool = False) -> Setting:
    default = "reference" if kind == "FrictionAt" else CHOICES[kind][0]
    value = f'chosen<{kind}>({json.dumps(CHOICES[kind])}, get("{parameter}").as_string())'
    return Setting(member, kind, f"{kind}::{default}", value.translate({91: "{", 93: "}"}), use=use, live=live)


def _joint(member: str, parameter: str, default: str, use: str = "", *, live: bool = False) -> Setting:
    """A number of each commanded joint; ``*`` stands for its name.  By default infinite: 0 stands for no limit."""
    before, _, after = parameter.partition("*")
    value = f'number(get, "{before}" + name' + (f' + "{after}")' if after else ")")
    value = f"or_infinite({value})" if "INFINITE" in default else value
    return Setting(member, "Vector", default, value, use=use, live=live)


CHOICES: Mapping[str, tuple[str, ...]] = {
    "Law": tuple(row[0] for row in LAW_NAMES.values()),
    "FrictionAt": FRICTION,
    "RobotHolds": ("controller", "robot", "robot_with_coriolis"),
    "SafeCommand": ("zero", "gravity"),
    "TrajectoryEffort": ("ignore", "add"),
    "Acceleration": ("commanded", "reference", "model", "differentiated"),
    "Reaction": ("none", "hold", "gravity"),
}
"""Enumeration → its words, as parameters have them; the first is the default, that of friction excepted."""

SETTINGS = (
    _choice("law", "law", "Law", live=True),
    _flag("robust", "robustness.enabled", "true", "cycle.rejects"),
    _number("bandwidth", "35.0", "robustness.bandwidth", "cycle.bandwidth"),
    _number("rotor_share", "0.4", "robustness.rotor_share"),
    _number("rejected_effort", "0.4", "robustness.rejected_effort"),
    _number("friction_trust", "0.0", "robustness.friction_trust", "cycle.first_trust"),
    _number("robot_delay", "0.0", "robot_delay", "cycle.actuator_delay"),
    _choice("friction", "friction_compensation", "FrictionAt", live=True),
    _joint("p", "gains.*.p", "filled(100.0)", live=True),
    _joint("i", "gains.*.i", "{}", live=True),
    _joint("d", "gains.*.d", "filled(20.0)", live=True),
    _joint("tolerances.path", "constraints.*.trajectory", ""),
    _joint("tolerances.goal", "constraints.*.goal", ""),
    Setting("tolerances.goal", "Vector", "", 'number(get, "constraints.stopped_velocity_tolerance")', "N + j"),
    _number("tolerances.goal_time", "", "constraints.goal_time"),
    _flag("allow_partial", "allow_partial_joints_goal"),
    _flag("allow_nonzero_end_velocity", "allow_nonzero_velocity_at_trajectory_end"),
    _choice("robot_holds", "gravity_compensated_by", "RobotHolds", "cycle.robot_holds"),
    _choice("safe_command", "safe_command", "SafeCommand", "cycle.safe_holds"),
    _choice("trajectory_effort", "trajectory_effort", "TrajectoryEffort", "cycle.takes_efforts"),
    _number("state_timeout", "0.1", "state_timeout", "cycle.timeout ns"),
    _number("stream_timeout", "0.2", "cmd_timeout", "tracks.stream_timeout ns"),
    _number("wrench_timeout", "0.2", "wrench_timeout"),
    _number("blend_time", "0.2", "blend_time", "cycle.blend_duration ns"),
    _number("max_step", "0.05", "max_step", "tracks.max_step"),
    Setting("max_state_jump", "double", "0.1", 'or_infinite(number(get, "max_state_jump"))', use="cycle.largest_jump"),
    _joint("effort_limit", "limits.*.effort", "filled(INFINITE)"),
    _joint("effort_rate", "limits.*.effort_rate", "filled(INFINITE)", "cycle.effort_rate"),
    _number("effort_scale", "1.0", "effort_scale"),
    _number("velocity_scale", "1.0", "velocity_scale"),
    _number("position_margin", "0.05", "position_margin"),
    _choice("acceleration", "joint_wrenches.acceleration_source", "Acceleration", "cycle.wrench_source"),
    _number("differentiation_cutoff", "30.0", "joint_wrenches.differentiation_cutoff", "cycle.wrench_cutoff"),
    _number("observer_gain", "50.0", "observer_gain"),
    _joint("collision", "collision.*", "filled(INFINITE)", "collision.threshold"),
    _number("publish_rate", "50.0", "state_publish_rate", live=True),
    Setting("wrench_divisor", "Time", "1", 'get("joint_wrenches.rate_divisor").as_int()', live=True),
    _number("collision_delay", "0.0", "collision_delay", "collision.delay"),
    _choice("collision_reaction", "collision_reaction", "Reaction"),
)

_TYPES = """\
using Time = std::int64_t;  ///< ns of the clock that the controller's update is called with

/// Seconds as nanoseconds.
inline Time nanoseconds(double seconds) { return static_cast<Time>(std::llround(seconds * 1e9)); }

/// A body held by the robot.
struct Payload
{
  std::size_t link = PAYLOAD_LINKS.size();  ///< row of `payload_links`; their number: none
  std::array<double, 10> body{};  ///< mass; centre of mass in the link's frame; xx xy xz yy yz zz about it, link axes
};

/// How far the arm may be from its reference, rows of position and velocity; 0: not watched.
struct Tolerances
{
  std::array<double, 2 * N> path{}, goal{};
  double goal_time = 0.0;  ///< s by which a goal may be late, 0: however long it takes
};

/// The choice that a word stands for; words are checked before.
template <typename Choice>
Choice chosen(std::initializer_list<const char *> words, const std::string & word)
{
  const auto at = std::find(words.begin(), words.end(), word);
  return static_cast<Choice>(at != words.end() ? at - words.begin() : 0);
}

/// A parameter that must be finite; its bounds are checked where it is declared.
template <typename Get>
double number(const Get & get, const std::string & name)
{
  const double x = get(name).as_double();
  if (!std::isfinite(x)) {
    throw std::invalid_argument(name + " must be finite");
  }
  return x;
}

inline double or_infinite(double x) { return x > 0.0 ? x : INFINITE; }
"""


def settings_header(package: str, prefix: str) -> str:
    """``parameters.hpp``: enumerations, the struct, its reader, and its use.

    Args:
        package: of the C++ namespace and the include path.
        prefix: of the names in C.
    """
    includes = ("algorithm", "array", "cmath", "cstdint", "initializer_list", "stdexcept", "string")
    members = [x for x in SETTINGS if "." not in x.member]
    live = [x.member for x in SETTINGS if x.live] + ["payload", "tolerances"]
    return "\n".join(
        [
            "// What parameters decide: generated by robot_dynamics_ros.",
            "",
            "#pragma once",
            "",
            *(f"#include <{name}>" for name in includes),
            "",
            f'#include "{package}/robot.hpp"',
            f'#include "{package}/{prefix}_cycle.h"',
            "",
            f"namespace {package}",
            "{",
            "",
            *(f"enum class {kind} {{ {', '.join(words)} }};" for kind, words in CHOICES.items()),
            "",
            _TYPES,
            "/// Everything that parameters decide. SI units; times in s, arrays in the order of joint_names.",
            "struct Settings",
            "{",
            *(f"  {x.kind} {x.member} = {x.default};" for x in members),
            "  Payload payload;",
            "  Tolerances tolerances;",
            "  std::array<bool, N> commanded = filled(true);",
            "",
            "  /// Take what may change while the controller runs.",
            "  void take(const Settings & other)",
            "  {",
            *(f"    {member} = other.{member};" for member in live),
            "  }",
            "};",
            "",
            *_reader(),
            "",
            *(
                line
                for memory in ("cycle", "tracks", "collision")
                for line in _use(f"{prefix}_{memory}_memory", memory)
            ),
            f"}}  // namespace {package}",
            "",
        ]
    )


def _reader() -> list[str]:
    lines = ["/// The settings that parameters mean; `get(name)` is a parameter.", "template <typename Get>"]
    lines += ["Settings settings_of(const Get & get)", "{", "  Settings s;"]
    lines += [f"  s.{x.member} = {x.value};" for x in SETTINGS if x.kind != "Vector"]
    lines += ['  s.payload.link = index_of(PAYLOAD_LINKS, get("payload.link").as_string());']
    lines += ['  s.payload.body[0] = number(get, "payload.mass");']
    for word, first, count in (("com", 1, 3), ("inertia", 4, 6)):
        lines += [f'  const auto {word} = get("payload.{word}").as_double_array();']
        lines += [
            f"  std::copy_n({word}.begin(), std::min<std::size_t>({word}.size(), {count}), &s.payload.body[{first}]);"
        ]
    lines += ['  const auto joints = get("joints").as_string_array();', "  for (std::size_t j = 0; j < N; ++j) {"]
    lines += ["    const std::string name = joint_names[j];"]
    lines += ["    s.commanded[j] = std::find(joints.begin(), joints.end(), name) != joints.end();"]
    for x in SETTINGS:
        if x.kind == "Vector":
            idle = "INFINITE" if "INFINITE" in x.default else "0.0"
            lines += [f"    s.{x.member}[{x.element}] = s.commanded[j] ? {x.value} : {idle};"]
    return [*lines, "  }", "  return s;", "}"]


def _use(kind: str, memory: str) -> list[str]:
    """The function that puts settings into one memory."""
    lines = [
        f"/// Put settings into the memory of the {memory}.",
        f"inline void load(const Settings & s, {kind} & m)",
        "{",
    ]
    for x in SETTINGS:
        where, _, name = x.use.partition(".")
        name, _, unit = name.partition(" ")
        if where == memory and x.kind == "Vector":
            lines += [f"  std::copy(s.{x.member}.begin(), s.{x.member}.end(), m.{name});"]
        elif where == memory:
            value = f"static_cast<Time>(s.{x.member})" if x.kind in CHOICES else f"s.{x.member}"
            lines += [f"  m.{name}[0] = {f'nanoseconds({value})' if unit else value};"]
    return [*lines, "}", ""]
