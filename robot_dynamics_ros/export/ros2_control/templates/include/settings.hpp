// What parameters decide, and what is wrong with it.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "@package@/@prefix@_cycle.h"
#include "@package@/robot.hpp"

namespace @package@
{

using Task = @prefix@_task_memory;
using TaskLaw = @prefix@_task_law_memory;
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

/// Cartesian impedance of the tool's link.
struct Cartesian
{
  std::array<double, 36> stiffness{}, damping{};  ///< matrices by rows, [rotation; translation]
  bool damping_given = false, in_tool_axes = false;
  double damping_ratio = 0.7;

  bool operator==(const Cartesian & o) const
  {
    return stiffness == o.stiffness && damping == o.damping && damping_given == o.damping_given &&
           in_tool_axes == o.in_tool_axes && damping_ratio == o.damping_ratio;
  }
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
  Cartesian cartesian;
};

/// Everything that parameters decide. What routines read stands in their memories, as these are before the first state.
struct Settings : Changeable
{
  Settings()
  {
    std::fill_n(collision.threshold, N, INFINITE);
    std::copy(std::begin(@prefix@_task_law_initial.stiffness), std::end(@prefix@_task_law_initial.stiffness), cartesian.stiffness.begin());
  }

  @prefix@_cycle_memory cycle = @prefix@_cycle_initial;
  @prefix@_observer_memory observer = @prefix@_observer_initial;
  @prefix@_collision_memory collision{};
  @prefix@_tracks_memory tracks = @prefix@_tracks_initial;
  Task task = @prefix@_task_initial;
  std::array<double, 2> largest_wrench{};  ///< moment and force that the tool exerts, N m and N
  bool has_tool = false;  ///< whether targets of the tool are listened to
  Vector effort_limit = filled(INFINITE);
  double effort_scale = 1.0, velocity_scale = 1.0, position_margin = 0.05, rotor_share = 0.4, rejected_effort = 0.4;
  double wrench_timeout = 0.2;  ///< s
  bool allow_partial = false, allow_nonzero_end_velocity = false, upsample = true;
  Reaction collision_reaction = Reaction::none;
};

/// A (6, 6) matrix from its diagonal or its rows. @throws std::invalid_argument for another number of values.
inline std::array<double, 36> matrix_of(const std::vector<double> & values, const std::string & name)
{
  std::array<double, 36> matrix{};
  if (!std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); })) {
    throw std::invalid_argument(name + " must be finite");
  }
  if (values.size() == matrix.size()) {
    std::copy(values.begin(), values.end(), matrix.begin());
  } else if (values.size() == 6) {
    for (std::size_t k = 0; k < 6; ++k) {
      matrix[7 * k] = values[k];
    }
  } else if (!values.empty()) {
    throw std::invalid_argument(name + " has " + std::to_string(values.size()) + " values: give 6, or a matrix as 36");
  }
  return matrix;
}

/// The tool's frame in that of its link. @throws std::invalid_argument for what is not six finite numbers, or none.
inline void place_tool(Task & task, const std::vector<double> & offset)
{
  const bool finite = std::all_of(offset.begin(), offset.end(), [](double x) { return std::isfinite(x); });
  if ((offset.size() != 6 && !offset.empty()) || !finite) {
    throw std::invalid_argument("task.offset must be six finite numbers: x, y, z, roll, pitch, yaw");
  }
  if (offset.empty()) {
    return;
  }
  std::copy_n(offset.begin(), 3, task.point);
  const double cr = std::cos(0.5 * offset[3]), sr = std::sin(0.5 * offset[3]);
  const double cp = std::cos(0.5 * offset[4]), sp = std::sin(0.5 * offset[4]);
  const double cy = std::cos(0.5 * offset[5]), sy = std::sin(0.5 * offset[5]);
  task.turn[0] = sr * cp * cy - cr * sp * sy;
  task.turn[1] = cr * sp * cy + sr * cp * sy;
  task.turn[2] = cr * cp * sy - sr * sp * cy;
  task.turn[3] = cr * cp * cy + sr * sp * sy;
  if (task.turn[3] < 0.0) {
    std::for_each(std::begin(task.turn), std::end(task.turn), [](double & x) { x = -x; });
  }
}

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
  const auto set = [](auto & to, const auto & value) { to = static_cast<std::decay_t<decltype(to)>>(value); };
  Settings s;
  set(s.publish_rate, number("state_publish_rate"));
  set(s.wrench_divisor, get("joint_wrenches.rate_divisor").as_int());
  set(s.law, choice("law", LAW_NAMES));
  set(s.friction, choice("friction_compensation", FRICTIONAT_NAMES));
  set(s.collision_reaction, choice("collision_reaction", REACTION_NAMES));
  set(s.payload.link, index_of(PAYLOAD_LINKS, get("payload.link").as_string()));
  set(s.payload.body[0], number("payload.mass"));
  set(s.tolerances.goal_time, number("constraints.goal_time"));
  set(s.effort_scale, number("effort_scale"));
  set(s.velocity_scale, number("velocity_scale"));
  set(s.position_margin, number("position_margin"));
  set(s.rotor_share, number("robustness.rotor_share"));
  set(s.rejected_effort, number("robustness.rejected_effort"));
  set(s.wrench_timeout, number("wrench_timeout"));
  set(s.allow_partial, get("allow_partial_joints_goal").as_bool());
  set(s.allow_nonzero_end_velocity, get("allow_nonzero_velocity_at_trajectory_end").as_bool());
  set(s.upsample, get("positions_upsampling").as_string() == "spline");
  set(s.cycle.rejects[0], get("robustness.enabled").as_bool());
  set(s.cycle.bandwidth[0], number("robustness.bandwidth"));
  set(s.cycle.actuator_delay[0], number("robot_delay"));
  set(s.cycle.robot_holds[0], choice("gravity_compensated_by", GRAVITY_COMPENSATORS));
  set(s.cycle.safe_holds[0], choice("safe_command", SAFE_COMMANDS));
  set(s.cycle.takes_efforts[0], choice("trajectory_effort", TRAJECTORY_EFFORTS));
  set(s.cycle.timeout[0], nanoseconds(number("state_timeout")));
  set(s.cycle.blend_duration[0], nanoseconds(number("blend_time")));
  set(s.cycle.largest_jump[0], or_infinite(number("max_state_jump")));
  set(s.cycle.wrench_source[0], choice("joint_wrenches.acceleration_source", WRENCH_SOURCES));
  set(s.cycle.wrench_cutoff[0], number("joint_wrenches.differentiation_cutoff"));
  const auto pair = [&](double * to, const std::string & name) {
    const auto values = get(name).as_double_array();
    if (values.size() != 2 || !(values[0] > 0.0) || !(values[1] > 0.0) || !std::isfinite(values[0] + values[1])) {
      throw std::invalid_argument(name + " must be two finite positive numbers");
    }
    std::copy_n(values.begin(), 2, to);
  };
  const auto linked = [&](const std::string & name) {
    const std::string link = get(name).as_string();
    if (!link.empty() && link != TOOL_LINK) {
      throw std::invalid_argument(name + " must be '" + TOOL_LINK + "', for which this package was exported");
    }
    return !link.empty();
  };
  const bool held = linked("cartesian.link"), moved = linked("task.link");
  s.has_tool = held || moved;
  place_tool(s.task, get("task.offset").as_double_array());
  pair(s.task.largest_speed, "task.speed");
  pair(s.task.largest_acceleration, "task.acceleration");
  pair(s.task.largest_jerk, "task.jerk");
  pair(s.largest_wrench.data(), "task.wrench");
  set(s.task.posture_rate[0], number("task.posture_rate"));
  set(s.task.twist_timeout[0], nanoseconds(number("cmd_timeout")));
  set(s.task.wrench_timeout[0], nanoseconds(number("wrench_timeout")));
  s.cartesian.stiffness = matrix_of(get("cartesian.stiffness").as_double_array(), "cartesian.stiffness");
  s.cartesian.damping = matrix_of(get("cartesian.damping").as_double_array(), "cartesian.damping");
  s.cartesian.damping_given = !get("cartesian.damping").as_double_array().empty();
  s.cartesian.in_tool_axes = get("cartesian.axes").as_string() == "tool";
  s.cartesian.damping_ratio = number("cartesian.damping_ratio");
  set(s.tracks.stream_timeout[0], nanoseconds(number("cmd_timeout")));
  set(s.tracks.max_step[0], number("max_step"));
  set(s.collision.delay[0], number("collision_delay"));
  const auto com = get("payload.com").as_double_array(), inertia = get("payload.inertia").as_double_array();
  std::copy_n(com.begin(), std::min<std::size_t>(com.size(), 3), &s.payload.body[1]);
  std::copy_n(inertia.begin(), std::min<std::size_t>(inertia.size(), 6), &s.payload.body[4]);
  std::fill_n(s.observer.gain, N, number("observer_gain"));
  s.observer.rubs[0] = s.friction != FrictionAt::none;
  s.p = s.d = filled(0.0);  // of joints that are not commanded
  const auto joints = get("joints").as_string_array();
  for (std::size_t j = 0; j < N; ++j) {
    const std::string name = joint_names[j];
    s.cycle.commanded[j] = index_of(joints, name) < joints.size();
    if (s.cycle.commanded[j] != 0) {
      set(s.p[j], number("gains." + name + ".p"));
      set(s.i[j], number("gains." + name + ".i"));
      set(s.d[j], number("gains." + name + ".d"));
      set(s.tolerances.path[j], number("constraints." + name + ".trajectory"));
      set(s.tolerances.goal[j], number("constraints." + name + ".goal"));
      set(s.tolerances.goal[N + j], number("constraints.stopped_velocity_tolerance"));
      set(s.effort_limit[j], or_infinite(number("limits." + name + ".effort")));
      set(s.cycle.effort_rate[j], or_infinite(number("limits." + name + ".effort_rate")));
      set(s.collision.threshold[j], or_infinite(number("collision." + name)));
    }
  }
  return s;
}

/// Put the impedance into the memory of the law.
inline void load_impedance(TaskLaw & law, const Cartesian & c)
{
  std::copy(c.stiffness.begin(), c.stiffness.end(), law.stiffness);
  std::copy(c.damping.begin(), c.damping.end(), law.damped);
  law.damping_given[0] = c.damping_given;
  law.in_tool_axes[0] = c.in_tool_axes;
  std::fill_n(law.ratio, 6, c.damping_ratio);
  @prefix@_task_law_take_stiffness(&law);
}

/// Whether a (6, 6) matrix by rows is symmetric, and has no negative eigenvalue.
inline bool semidefinite(const std::array<double, 36> & matrix)
{
  constexpr double ROUNDING = 1e-9;  // as a share of the largest entry
  TaskLaw law = @prefix@_task_law_initial;
  Cartesian springs;
  springs.stiffness = matrix;
  load_impedance(law, springs);
  double largest = 0.0;
  for (const double x : matrix) {
    largest = std::max(largest, std::abs(x));
  }
  bool good = true;
  for (std::size_t k = 0; k < 6; ++k) {
    good = good && law.S[7 * k] >= -6.0 * ROUNDING * largest;  // its eigenvalues are left there
    for (std::size_t m = 0; m < k; ++m) {
      good = good && std::abs(matrix[6 * k + m] - matrix[6 * m + k]) <= ROUNDING * largest;
    }
  }
  return good;
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
  for (const auto & [name, matrix] : {std::pair("stiffness", &s.cartesian.stiffness), {"damping", &s.cartesian.damping}}) {
    if (!semidefinite(*matrix)) {
      return std::string("cartesian.") + name + " must be symmetric, without negative eigenvalues";
    }
  }
  const auto & body = s.payload.body;
  const bool finite = std::all_of(&body[1], &body[4], [](double x) { return std::isfinite(x); });
  return body[0] <= 0.0 ? ""
         : s.payload.link >= PAYLOAD_LINKS.size() ? "payload.link must be one of: @payload_links@"
         : !finite ? "payload.com must be finite"
         : !@prefix@_cycle_possible_inertia(&body[4]) ? "payload.inertia is one that no rigid body has" : "";
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
