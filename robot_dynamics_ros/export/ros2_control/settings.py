"""How parameters become settings in C++: one table of parameter, conversion and place."""

from __future__ import annotations

_CONVERSIONS = {
    "number": "number({0})",
    "limit": "or_infinite(number({0}))",
    "nanoseconds": "nanoseconds(number({0}))",
    "flag": "get({0}).as_bool()",
    "integer": "get({0}).as_int()",
    "link": "index_of(PAYLOAD_LINKS, get({0}).as_string())",
}
_TABLE = """
state_publish_rate                         number                       publish_rate
joint_wrenches.rate_divisor                integer                      wrench_divisor
law                                        choice:LAW_NAMES             law
friction_compensation                      choice:FRICTIONAT_NAMES      friction
collision_reaction                         choice:REACTION_NAMES        collision_reaction
payload.link                               link                         payload.link
payload.mass                               number                       payload.body[0]
constraints.goal_time                      number                       tolerances.goal_time
effort_scale                               number                       effort_scale
velocity_scale                             number                       velocity_scale
position_margin                            number                       position_margin
robustness.rotor_share                     number                       rotor_share
robustness.rejected_effort                 number                       rejected_effort
wrench_timeout                             number                       wrench_timeout
allow_partial_joints_goal                  flag                         allow_partial
allow_nonzero_velocity_at_trajectory_end   flag                         allow_nonzero_end_velocity
robustness.enabled                         flag                         cycle.rejects[0]
robustness.bandwidth                       number                       cycle.bandwidth[0]
robot_delay                                number                       cycle.actuator_delay[0]
gravity_compensated_by                     choice:GRAVITY_COMPENSATORS  cycle.robot_holds[0]
safe_command                               choice:SAFE_COMMANDS         cycle.safe_holds[0]
trajectory_effort                          choice:TRAJECTORY_EFFORTS    cycle.takes_efforts[0]
state_timeout                              nanoseconds                  cycle.timeout[0]
blend_time                                 nanoseconds                  cycle.blend_duration[0]
max_state_jump                             limit                        cycle.largest_jump[0]
joint_wrenches.acceleration_source         choice:WRENCH_SOURCES        cycle.wrench_source[0]
joint_wrenches.differentiation_cutoff      number                       cycle.wrench_cutoff[0]
cmd_timeout                                nanoseconds                  tracks.stream_timeout[0]
max_step                                   number                       tracks.max_step[0]
collision_delay                            number                       collision.delay[0]
gains.*.p                                  number                       p[j]
gains.*.i                                  number                       i[j]
gains.*.d                                  number                       d[j]
constraints.*.trajectory                   number                       tolerances.path[j]
constraints.*.goal                         number                       tolerances.goal[j]
constraints.stopped_velocity_tolerance     number                       tolerances.goal[N + j]
limits.*.effort                            limit                        effort_limit[j]
limits.*.effort_rate                       limit                        cycle.effort_rate[j]
collision.*                                limit                        collision.threshold[j]
"""
"""``*`` stands for a joint's name, ``j`` for its number."""


def settings_reader(*, of_joints: bool) -> str:
    """Statements of ``settings_of`` in the package's ``settings.hpp``: those of each joint, or the others."""
    lines = []
    for row in filter(None, _TABLE.split("\n")):
        parameter, conversion, place = row.split(None, 2)
        if ("j]" in place) is of_joints:
            words = [f'"{word}"' for word in parameter.split("*")]
            name = " + name + ".join(words).removesuffix(' + ""')
            kind, _, choices = conversion.partition(":")
            value = _CONVERSIONS[kind].format(name) if kind in _CONVERSIONS else f"choice({name}, {choices})"
            lines.append(f"  set(s.{place}, {value});")
    return "\n".join(("    " * of_joints) + line for line in lines)
