#include "@package@/motion.hpp"

#include <algorithm>
#include <cmath>

namespace @package@
{

namespace
{

constexpr double REST_SPEED = 1.2e-7;  // a speed at the last point that still counts as rest
constexpr double STOP_TIME = 0.25, PLAIN_DECELERATION = 5.0;  // s from the velocity limit to rest; without such a limit
std::string point_name(std::size_t k, const char * field) { return "points[" + std::to_string(k) + "]." + field; }

/// Whether a field is given; checks its length and that its values are finite.
bool given(const std::vector<double> & values, std::size_t k, const char * field, const std::vector<std::string> & names)
{
  if (values.empty()) {
    return false;
  }
  if (values.size() != names.size()) {
    throw Rejected(
      Code::invalid_goal, point_name(k, field) + ": " + std::to_string(values.size()) + " values for " +
                            std::to_string(names.size()) + " joints");
  }
  for (std::size_t j = 0; j < values.size(); ++j) {
    if (!std::isfinite(values[j])) {
      throw Rejected(Code::invalid_goal, point_name(k, field) + ": the value of joint '" + names[j] + "' is not finite");
    }
  }
  return true;
}

/// Which joint each column is.
void find_columns(const std::vector<std::string> & names, const Settings & settings, Motion & motion)
{
  motion.column.fill(-1);
  for (std::size_t j = 0; j < names.size(); ++j) {
    const std::size_t i = index_of(joint_names, names[j]);
    if (i == N || !settings.commanded[i]) {
      throw Rejected(Code::invalid_joints, "joint '" + names[j] + "' is none of the controller's");
    }
    if (motion.column[i] >= 0) {
      throw Rejected(Code::invalid_joints, "joint '" + names[j] + "' is named twice");
    }
    motion.column[i] = static_cast<Time>(j);
  }
  for (std::size_t i = 0; i < N && !settings.allow_partial; ++i) {
    if (settings.commanded[i] && motion.column[i] < 0) {
      throw Rejected(
        Code::invalid_joints, std::string("joint '") + joint_names[i] + "' is missing: name all joints, or set "
                                                                        "allow_partial_joints_goal");
    }
  }
}

void check(Tracks & tracks, const Motion & m, Time now)
{
  static const char * const fields[] = {"", "velocities", "accelerations", "effort", "positions", "time_from_start"};
  const Time begin = m.stamp != 0 ? m.stamp : now;
  const auto problem = @prefix@_tracks_check_points(
    &tracks, 0, begin, std::max(now, begin), m.times.data(), m.fields.data());
  if (problem != 0) {
    throw Rejected(
      Code::invalid_goal, point_name(static_cast<std::size_t>(tracks.bad_point[0]), fields[problem]) + ": joint '" +
                            joint_names[tracks.bad_joint[0]] + "' would have to " + (problem == 5 ? "move by " : "reach ") +
                            text_of(tracks.bad_value[0]) + (problem == 5 ? " in s " : ", the most that is accepted is ") +
                            text_of(tracks.bad_value[1]));
  }
}

}  // namespace

void Motion::describe(Tracks & tracks, Time slot) const
{
  tracks.points[slot] = static_cast<Time>(times.size());
  tracks.width[slot] = static_cast<Time>(fields.size() / (4 * times.size()));
  tracks.efforts_given[slot] = with_effort;
  std::copy(column.begin(), column.end(), tracks.column + slot * static_cast<Time>(N));
}

Tracks tracks_of(const Settings & settings)
{
  Tracks tracks{};
  tracks.max_step[0] = settings.max_step;
  tracks.stream_timeout[0] = nanoseconds(settings.stream_timeout);
  for (std::size_t i = 0; i < N; ++i) {
    tracks.continuous[i] = continuous[i];
    tracks.lower[i] = limits::lower[i];
    tracks.upper[i] = limits::upper[i];
    tracks.velocity_limit[i] = limits::velocity[i];
    tracks.slot[i] = -1;
    const double limit = limits::velocity[i] * settings.velocity_scale;
    tracks.deceleration[i] = std::isfinite(limit) && limit > 0.0 ? limit / STOP_TIME : PLAIN_DECELERATION;
  }
  return tracks;
}

std::unique_ptr<Motion> make_motion(
  const std::vector<std::string> & names, const std::vector<Point> & points, Time stamp, Time now,
  const Settings & settings, bool single)
{
  if (points.empty()) {
    throw Rejected(Code::invalid_goal, "the trajectory is empty");
  }
  if (names.empty()) {
    throw Rejected(Code::invalid_joints, "the trajectory has points and no joint names");
  }
  auto motion = std::make_unique<Motion>();
  Motion & m = *motion;
  m.stamp = stamp;
  m.tolerances = settings.tolerances;
  const std::size_t k = names.size(), last = (2 * points.size() - 1) * k;  // of the velocities
  m.fields.resize(4 * points.size() * k);
  for (std::size_t p = 0; p < points.size(); ++p) {
    const Point & point = points[p];
    if (point.time_from_start < 0 || (p > 0 && point.time_from_start <= m.times.back())) {
      throw Rejected(Code::invalid_goal, point_name(p, "time_from_start") + ": times must be positive and increasing");
    }
    if (!given(point.positions, p, "positions", names)) {
      throw Rejected(Code::invalid_goal, point_name(p, "positions") + ": positions are needed");
    }
    const bool with_velocity = given(point.velocities, p, "velocities", names);
    const bool with_acceleration = given(point.accelerations, p, "accelerations", names);
    const bool with_effort = given(point.effort, p, "effort", names);
    m.times.push_back(point.time_from_start);
    m.degree.push_back(with_velocity ? (with_acceleration ? 5 : 3) : 1);
    m.with_effort = m.with_effort || with_effort;
    std::size_t f = 0;
    for (const auto * x : {&point.positions, &point.velocities, &point.accelerations, &point.effort}) {
      std::copy(x->begin(), x->end(), m.fields.begin() + static_cast<std::ptrdiff_t>((f++ * points.size() + p) * k));
    }
  }
  for (std::size_t j = 0; j < k && !single && !settings.allow_nonzero_end_velocity; ++j) {
    if (std::abs(m.fields[last + j]) > REST_SPEED) {
      throw Rejected(
        Code::invalid_goal, "joint '" + names[j] + "' still moves at the last point: end at rest, or set "
                                                   "allow_nonzero_velocity_at_trajectory_end");
    }
  }
  find_columns(names, settings, m);
  Tracks tracks = tracks_of(settings);
  m.describe(tracks, 0);
  check(tracks, m, now);
  m.segments.resize(2 * m.fields.size());
  @prefix@_tracks_make_segments(&tracks, 0, m.times.data(), m.degree.data(), m.fields.data(), m.segments.data());
  return motion;
}

}  // namespace @package@
