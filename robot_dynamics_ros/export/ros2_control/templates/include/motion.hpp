// A trajectory, checked and made ready outside the control cycle.

#pragma once

#include <memory>
#include <vector>

#include "@package@/settings.hpp"

namespace @package@
{

using Tracks = @prefix@_tracks_memory;

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

/// A checked trajectory of k joints through m points.
struct Motion
{
  unsigned long id = 0;           ///< names its goal in events
  Time stamp = 0;                 ///< when it starts, 0: when it is adopted
  std::array<Time, N> column{};   ///< the column of each joint, -1: not named
  std::vector<Time> times;        ///< (m) since the start
  std::vector<Time> degree;       ///< (m) 1: position, 3: and velocity, 5: and acceleration
  std::vector<double> fields;     ///< (4, m, k) by rows: positions, velocities, accelerations, efforts
  std::vector<double> segments;   ///< (m - 1, k, 8) by rows, from each point to the next
  bool with_effort = false;
  Tolerances tolerances;

  /// Tell the routines about it, under this slot.
  void describe(Tracks & tracks, Time slot) const;
};

/// Limits and settings for the routines, nothing followed yet.
Tracks tracks_of(const Settings & settings);

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
