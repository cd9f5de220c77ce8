// Settings of the controller, and what a payload makes of the robot's numbers.
//
// All arrays are in the order of `joint_names` (robot.hpp). SI units, radians; times are seconds here.

#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "@package@/robot.hpp"

namespace @package@
{

using Time = std::int64_t;  ///< ns of the clock that the controller's update is called with

enum class Law
{
  computed_torque,       ///< M (a_d + Kd ed + Kp e + Ki z) + C v + g + F
  pd_gravity,            ///< Kp e + Kd ed + Ki z + g + F
  feedforward_pd,        ///< inverse dynamics at the reference + F + Kp e + Kd ed + Ki z
  joint_impedance,       ///< K e + D ed + M a_d + C v + g + F
  gravity_compensation,  ///< g - D v + F(v); follows no reference
};
enum class FrictionAt { none, reference, measured };
enum class SafeCommand { zero, gravity };
enum class Acceleration { commanded, reference, measured_effort, differentiated };
enum class Reaction { none, hold, gravity };

/// Whether a law drives the arm to its reference.
inline bool tracks(Law law) { return law != Law::gravity_compensation; }

/// A body held by the robot.
struct Payload
{
  int link = -1;                    ///< row of `payload_links`, -1: none
  double mass = 0.0;                ///< kg
  std::array<double, 3> com{};      ///< m, in the link's frame
  std::array<double, 6> inertia{};  ///< xx xy xz yy yz zz about its centre of mass, link axes, kg m^2
};

/// How far the arm may be from its reference; 0: not watched.
struct Tolerances
{
  Vector path_position{}, path_velocity{}, goal_position{}, goal_velocity{};
  double goal_time = 0.0;  ///< s by which a goal may be late, 0: however long it takes
};

/// Everything that parameters decide.
struct Settings
{
  // may change while the controller runs
  Law law = Law::computed_torque;
  FrictionAt friction = FrictionAt::reference;
  Vector p = filled(100.0), i{}, d = filled(20.0);
  Payload payload;
  Tolerances tolerances;

  // hold for one configuration
  std::array<bool, N> commanded = all_joints();
  bool allow_partial = false;
  bool allow_nonzero_end_velocity = false;
  int robot_holds = 0;  // 1: the robot adds gravity itself, 2: gravity and Coriolis effects
  SafeCommand safe_command = SafeCommand::zero;
  bool add_trajectory_effort = false;
  double state_timeout = 0.1, stream_timeout = 0.2, wrench_timeout = 0.2, blend_time = 0.2;
  double max_step = 0.05;
  double max_state_jump = 0.1;  ///< rad or m that a state may be off from where its speed can have brought it, 0: any
  Vector effort_limit = filled(INFINITE), effort_rate = filled(INFINITE);
  double effort_scale = 1.0, velocity_scale = 1.0, position_margin = 0.05;
  Acceleration acceleration = Acceleration::commanded;
  double differentiation_cutoff = 30.0;
  double observer_gain = 50.0;  ///< 1/s, 0: external efforts are not estimated
  Vector collision = filled(INFINITE);
  double collision_delay = 0.0;
  Reaction collision_reaction = Reaction::none;
};

/// A number with six significant digits, for a sentence.
std::string text_of(double x);

/// What is wrong with settings, as a sentence; empty if nothing is.
std::string problem_with(const Settings & settings);

/// The robot's numbers with a payload that `problem_with` finds nothing wrong with.
Parameters carrying(const Payload & payload);

/// Row of `payload_links` of a link, -1 if it cannot carry one.
int payload_link(const std::string & name);

/// Seconds as nanoseconds.
Time nanoseconds(double seconds);

}  // namespace @package@
