// What parameters decide, and what is wrong with it.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <string>

#include "@package@/@prefix@_cycle.h"
#include "@package@/robot.hpp"

namespace @package@
{

using Time = std::int64_t;  ///< ns of the clock that the controller's update is called with

/// Seconds as nanoseconds.
inline Time nanoseconds(double seconds) { return static_cast<Time>(std::llround(seconds * 1e9)); }

/// A number with six significant digits, for a sentence.
inline std::string text_of(double x)
{
  std::ostringstream text;
  text << x;
  return text.str();
}

/// The same for every joint.
inline Vector filled(double x)
{
  Vector out;
  out.fill(x);
  return out;
}

/// Where a list has a name; its size if it has not.
template <typename Names, typename Name>
std::size_t index_of(const Names & names, const Name & name)
{
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), std::string(name)) - names.begin());
}

/// A body held by the robot.
struct Payload
{
  std::size_t link = PAYLOAD_LINKS.size();  ///< row of `PAYLOAD_LINKS`; their number: none
  std::array<double, 10> body{};  ///< mass; centre of mass in the link's frame; xx xy xz yy yz zz about it, link axes
};

/// How far the arm may be from its reference, rows of position and velocity; 0: not watched.
struct Tolerances
{
  std::array<double, 2 * N> path{}, goal{};
  double goal_time = 0.0;  ///< s by which a goal may be late, 0: however long it takes
};

/// What may change while the controller runs. SI units; arrays in the order of joint_names.
struct Changeable
{
  Law law = Law::computed_torque;
  FrictionAt friction = FrictionAt::reference;
  Vector p = filled(100.0), i = {}, d = filled(20.0);
  double publish_rate = 50.0;
  Time wrench_divisor = 1;
  Payload payload;
  Tolerances tolerances;
};

/// Everything that parameters decide. What routines read stands in their memories, as these are before the first state.
struct Settings : Changeable
{
  Settings() { std::fill_n(collision.threshold, N, INFINITE); }

  @prefix@_cycle_memory cycle = @prefix@_cycle_initial;
  @prefix@_observer_memory observer = @prefix@_observer_initial;
  @prefix@_collision_memory collision{};
  @prefix@_tracks_memory tracks = @prefix@_tracks_initial;
  Vector effort_limit = filled(INFINITE);
  double effort_scale = 1.0, velocity_scale = 1.0, position_margin = 0.05, rotor_share = 0.4, rejected_effort = 0.4;
  double wrench_timeout = 0.2;  ///< s
  bool allow_partial = false, allow_nonzero_end_velocity = false;
  Reaction collision_reaction = Reaction::none;
};

/// The settings that parameters mean; `get(name)` is a parameter, whose bounds are checked where it is declared.
/// @throws std::invalid_argument for a number that is not finite.
template <typename Get>
Settings settings_of(const Get & get)
{
  const auto number = [&](const std::string & name) {
    const double x = get(name).as_double();
    return std::isfinite(x) ? x : throw std::invalid_argument(name + " must be finite");
  };
  const auto or_infinite = [](double x) { return x > 0.0 ? x : INFINITE; };
  const auto choice = [&](const std::string & name, const auto & words) {
    return index_of(words, get(name).as_string()) % words.size();
  };
  Settings s;
  s.law = static_cast<Law>(choice("law", LAW_NAMES));
  s.friction = static_cast<FrictionAt>(choice("friction_compensation", FRICTIONAT_NAMES));
  s.publish_rate = number("state_publish_rate");
  s.wrench_divisor = get("joint_wrenches.rate_divisor").as_int();
  s.payload.link = index_of(PAYLOAD_LINKS, get("payload.link").as_string());
  s.payload.body[0] = number("payload.mass");
  const auto com = get("payload.com").as_double_array(), inertia = get("payload.inertia").as_double_array();
  std::copy_n(com.begin(), std::min<std::size_t>(com.size(), 3), &s.payload.body[1]);
  std::copy_n(inertia.begin(), std::min<std::size_t>(inertia.size(), 6), &s.payload.body[4]);
  s.tolerances.goal_time = number("constraints.goal_time");
  s.effort_scale = number("effort_scale");
  s.velocity_scale = number("velocity_scale");
  s.position_margin = number("position_margin");
  s.rotor_share = number("robustness.rotor_share");
  s.rejected_effort = number("robustness.rejected_effort");
  s.wrench_timeout = number("wrench_timeout");
  s.allow_partial = get("allow_partial_joints_goal").as_bool();
  s.allow_nonzero_end_velocity = get("allow_nonzero_velocity_at_trajectory_end").as_bool();
  s.collision_reaction = static_cast<Reaction>(choice("collision_reaction", REACTION_NAMES));
  s.cycle.rejects[0] = get("robustness.enabled").as_bool();
  s.cycle.bandwidth[0] = number("robustness.bandwidth");
  s.cycle.first_trust[0] = number("robustness.friction_trust");
  s.cycle.actuator_delay[0] = number("robot_delay");
  s.cycle.robot_holds[0] = static_cast<Time>(choice("gravity_compensated_by", GRAVITY_COMPENSATORS));
  s.cycle.safe_holds[0] = get("safe_command").as_string() == "gravity";
  s.cycle.takes_efforts[0] = get("trajectory_effort").as_string() == "add";
  s.cycle.timeout[0] = nanoseconds(number("state_timeout"));
  s.cycle.blend_duration[0] = nanoseconds(number("blend_time"));
  s.cycle.largest_jump[0] = or_infinite(number("max_state_jump"));
  s.cycle.wrench_source[0] = static_cast<Time>(choice("joint_wrenches.acceleration_source", WRENCH_SOURCES));
  s.cycle.wrench_cutoff[0] = number("joint_wrenches.differentiation_cutoff");
  s.tracks.stream_timeout[0] = nanoseconds(number("cmd_timeout"));
  s.tracks.max_step[0] = number("max_step");
  s.collision.delay[0] = number("collision_delay");
  s.observer.rubs[0] = s.friction != FrictionAt::none;
  const auto joints = get("joints").as_string_array();
  for (std::size_t j = 0; j < N; ++j) {
    const std::string name = joint_names[j];
    s.observer.gain[j] = number("observer_gain");
    s.cycle.commanded[j] = index_of(joints, name) < joints.size();
    if (s.cycle.commanded[j] == 0) {
      s.p[j] = s.d[j] = 0.0;
      continue;
    }
    s.p[j] = number("gains." + name + ".p");
    s.i[j] = number("gains." + name + ".i");
    s.d[j] = number("gains." + name + ".d");
    s.tolerances.path[j] = number("constraints." + name + ".trajectory");
    s.tolerances.goal[j] = number("constraints." + name + ".goal");
    s.tolerances.goal[N + j] = number("constraints.stopped_velocity_tolerance");
    s.effort_limit[j] = or_infinite(number("limits." + name + ".effort"));
    s.cycle.effort_rate[j] = or_infinite(number("limits." + name + ".effort_rate"));
    s.collision.threshold[j] = or_infinite(number("collision." + name));
  }
  return s;
}

/// What is wrong with settings, as a sentence; empty if nothing is.
inline std::string problem_with(const Settings & s)
{
  for (std::size_t i = 0; i < N; ++i) {
    if (s.law == Law::computed_torque && s.i[i] > 0.0 && s.i[i] >= s.p[i] * s.d[i]) {
      return std::string("gains i of joint '") + joint_names[i] + "' must be less than p times d, or the joint is unstable";
    }
    if (s.observer.gain[i] == 0.0 && std::isfinite(s.collision.threshold[i])) {
      return "observer_gain is 0 although collisions are watched for";
    }
  }
  const auto & body = s.payload.body;
  if (body[0] > 0.0 && s.payload.link >= PAYLOAD_LINKS.size()) {
    return "payload.link must be one of: @payload_links@";
  }
  if (body[0] > 0.0 && !std::all_of(&body[1], &body[4], [](double x) { return std::isfinite(x); })) {
    return "payload.com must be finite";
  }
  return body[0] > 0.0 && !@prefix@_cycle_possible_inertia(&body[4]) ? "payload.inertia is one that no rigid body has" : "";
}

/// The robot's numbers with a payload that `problem_with` finds nothing wrong with.
inline Parameters carrying(const Payload & payload)
{
  Parameters numbers = @prefix@_default_parameters;
  if (payload.body[0] > 0.0 && payload.link < PAYLOAD_LINKS.size()) {
    double * const body = reinterpret_cast<double *>(&numbers) + PAYLOAD_PLACES[payload.link];
    @prefix@_attach(body, PAYLOAD_FRAMES[payload.link].data(), payload.body.data());
  }
  return numbers;
}

}  // namespace @package@
