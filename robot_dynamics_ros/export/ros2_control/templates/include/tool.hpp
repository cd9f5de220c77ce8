// Targets of the tool, checked outside the control cycle.

#pragma once

#include "@package@/motion.hpp"

namespace @package@
{

/// Whether a frame is that of the tool's link; else it is the world's. @throws Rejected for another one.
inline bool in_link(const std::string & frame)
{
  if (frame != TOOL_LINK && !frame.empty() && frame != "world" && frame != ROOT_LINK) {
    throw Rejected(
      Code::invalid_goal, "header.frame_id is '" + frame + "': give poses in the world, '" + ROOT_LINK +
                            "' or empty, or in '" + TOOL_LINK + "'");
  }
  return frame == TOOL_LINK;
}

/// @throws Rejected for a number that is not finite, or larger than anybody means.
template <std::size_t COUNT>
void check_numbers(const std::array<double, COUNT> & values, std::size_t first, std::size_t count, double largest, const char * what)
{
  for (std::size_t k = first; k < first + count; ++k) {
    if (!(std::abs(values[k]) <= largest)) {
      throw Rejected(
        Code::invalid_goal, std::string(what) + " has the value " + text_of(values[k]) + ", the most that is accepted is " +
                              text_of(largest));
    }
  }
}

/// A pose with a quaternion of length 1. @throws Rejected for what is none.
inline std::array<double, 7> checked_pose(std::array<double, 7> pose)
{
  check_numbers(pose, 0, 3, FARTHEST_TARGET, "position");
  check_numbers(pose, 3, 4, 1.0 + QUATERNION_SLACK, "orientation");
  double square = 0.0;
  for (std::size_t k = 3; k < 7; ++k) {
    square += pose[k] * pose[k];
  }
  const double length = std::sqrt(square);
  if (std::abs(length - 1.0) > QUATERNION_SLACK) {
    throw Rejected(Code::invalid_goal, "orientation: the quaternion has the length " + text_of(length));
  }
  for (std::size_t k = 3; k < 7; ++k) {
    pose[k] /= length;
  }
  return pose;
}

inline std::array<double, 6> checked_twist(const std::array<double, 6> & twist)
{
  check_numbers(twist, 0, 6, FASTEST_TWIST, "twist");
  return twist;
}

/// @param largest moment and force, N m and N.
inline std::array<double, 6> checked_wrench(const std::array<double, 6> & wrench, const std::array<double, 2> & largest)
{
  for (std::size_t part = 0; part < 2; ++part) {
    const double * const w = &wrench[3 * part];
    const double size = std::sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]);
    if (!(size <= largest[part])) {
      throw Rejected(
        Code::invalid_goal, std::string(part == 0 ? "a moment" : "a force") + " of " + text_of(size) +
                              " is asked for, task.wrench allows " + text_of(largest[part]));
    }
  }
  return wrench;
}

/// Poses at times. The first row of each array belongs to the routine that makes segments of them.
struct ToolPath
{
  bool in_link = false, with_twists = false;
  std::vector<double> times{0.0};                      ///< s
  std::vector<double> poses = std::vector<double>(7);  ///< position and quaternion, row after row
  std::vector<double> twists = std::vector<double>(6); ///< [angular; linear]

  /// One more point. @throws Rejected for a time that does not increase, or a pose that is none.
  void add(double time, const std::array<double, 7> & pose, const std::array<double, 6> & twist)
  {
    const std::size_t k = times.size() - 1;
    if (k == MOST_PATH_POINTS) {
      throw Rejected(Code::invalid_goal, "more than " + std::to_string(MOST_PATH_POINTS) + " points: send fewer");
    }
    if (!(time >= 0.0) || (k > 0 && !(time > times.back()))) {
      refuse(k, "time_from_start", "times must be positive and increasing");
    }
    const auto checked = checked_pose(pose);
    const auto moves = checked_twist(twist);
    times.push_back(time);
    poses.insert(poses.end(), checked.begin(), checked.end());
    twists.insert(twists.end(), moves.begin(), moves.end());
  }
};

}  // namespace @package@
