// A trajectory, checked and made ready outside the control cycle.

#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "@package@/settings.hpp"

namespace @package@
{

/// error_code of control_msgs/action/FollowJointTrajectory.
enum class Code : int
{
  successful = 0,
  invalid_goal = -1,
  invalid_joints = -2,
  old_header_timestamp = -3,
  path_tolerance_violated = -4,
  goal_tolerance_violated = -5,
};

/// A trajectory that the controller will not follow; what() says why.
class Rejected : public std::runtime_error
{
public:
  Rejected(Code why, const std::string & text) : std::runtime_error(text), code(why) {}
  Code code;
};

/// One point, as in trajectory_msgs/JointTrajectoryPoint; an empty field is one that is not given.
struct Point
{
  Time time_from_start = 0;
  std::vector<double> positions, velocities, accelerations, effort;
};

/// A polynomial piece of one joint: 1, x ... x^5 in s since its start, and a feed-forward effort e0 + e1 x.
struct Polynomial
{
  std::array<double, 6> c{};
  double e0 = 0.0, e1 = 0.0;
};

Polynomial constant(double q);
Polynomial extrapolation(double q, double v, double a);
Polynomial linear(double q0, double q1, double T);
Polynomial cubic(double q0, double v0, double q1, double v1, double T);
Polynomial quintic(double q0, double v0, double a0, double q1, double v1, double a1, double T);

/// A checked trajectory of k joints through m points.
struct Motion
{
  unsigned long id = 0;            ///< names its goal in events
  Time stamp = 0;                  ///< when it starts, 0: when it is adopted
  std::vector<std::size_t> joints; ///< the joint of each column
  std::array<int, N> column{};     ///< the column of each joint, -1: not named
  std::vector<Time> times;         ///< (m) since the start
  std::vector<int> degree;         ///< (m) 1: position, 3: and velocity, 5: and acceleration
  std::vector<double> positions, velocities, accelerations, efforts;  ///< (m, k) by rows
  bool with_effort = false;
  std::vector<Polynomial> segments;  ///< (m - 1, k) by rows, from each point to the next
  Tolerances tolerances;
  int uses = 0;  ///< kept by the control cycle

  std::size_t points() const { return times.size(); }
  std::size_t at(std::size_t point, std::size_t col) const { return point * joints.size() + col; }
};

/// Largest velocity of a joint that is taken for meant, rad/s or m/s.
double fastest_meant(std::size_t joint);

/// Check a trajectory and compute its segments.
///
/// @param names joint names, in any order.
/// @param points at least one.
/// @param stamp when it starts, 0: when it is adopted.
/// @param now the time of the last cycle, for points that are due in the past.
/// @param single a streamed set-point: velocity at the end is allowed.
/// @throws Rejected with the reason.
std::unique_ptr<Motion> make_motion(
  const std::vector<std::string> & names, const std::vector<Point> & points, Time stamp, Time now,
  const Settings & settings, bool single = false);

}  // namespace @package@
