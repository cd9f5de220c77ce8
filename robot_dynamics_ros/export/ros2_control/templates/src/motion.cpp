#include "@package@/motion.hpp"

namespace @package@
{

namespace
{

constexpr double REST_SPEED = 1.2e-7;  // a speed at the last point that still counts as rest

[[noreturn]] void refuse(std::size_t k, const char * field, const std::string & why)
{
  throw Rejected(Code::invalid_goal, "points[" + std::to_string(k) + "]." + field + ": " + why);
}

/// Which joint each column is.
void find_columns(const std::vector<std::string> & names, const Settings & settings, Motion & motion)
{
  const auto check = [](bool good, const std::string & joint, const char * why) {
    if (!good) {
      throw Rejected(Code::invalid_joints, "joint '" + joint + "' " + why);
    }
  };
  motion.column.fill(-1);
  for (std::size_t j = 0; j < names.size(); ++j) {
    const std::size_t i = index_of(joint_names, names[j]);
    check(i < N && settings.commanded[i], names[j], "is none of the controller's");
    check(motion.column[i] < 0, names[j], "is named twice");
    motion.column[i] = static_cast<Time>(j);
  }
  for (std::size_t i = 0; i < N; ++i) {
    const bool complete = settings.allow_partial || !settings.commanded[i] || motion.column[i] >= 0;
    check(complete, joint_names[i], "is missing: name all joints, or set allow_partial_joints_goal");
  }
}

void check(Tracks & tracks, const Motion & m, Time now)
{
  static const char * const fields[] = {"", "velocities", "accelerations", "effort", "positions", "time_from_start"};
  const Time begin = m.stamp != 0 ? m.stamp : now;
  const auto problem =
    @prefix@_tracks_check_points(&tracks, 0, begin, std::max(now, begin), m.times.data(), m.fields.data());
  if (problem != 0) {
    refuse(
      static_cast<std::size_t>(tracks.bad_point[0]), fields[problem],
      std::string("joint '") + joint_names[tracks.bad_joint[0]] + "' would have to " +
        (problem == 5 ? "move by " : "reach ") + text_of(tracks.bad_value[0]) +
        (problem == 5 ? " in s " : ", the most that is accepted is ") + text_of(tracks.bad_value[1]));
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
  Tracks tracks = @prefix@_tracks_initial;
  load(settings, tracks);
  for (std::size_t i = 0; i < N; ++i) {
    const bool limited = std::isfinite(tracks.velocity_limit[i]) && tracks.velocity_limit[i] > 0.0;
    tracks.deceleration[i] *= limited ? settings.velocity_scale : 1.0;
  }
  return tracks;
}

std::unique_ptr<Motion> make_motion(
  const std::vector<std::string> & names, const std::vector<Point> & points, Time stamp, Time now,
  const Settings & settings, bool single)
{
  if (points.empty() || names.empty()) {
    throw Rejected(
      points.empty() ? Code::invalid_goal : Code::invalid_joints,
      points.empty() ? "the trajectory is empty" : "the trajectory has points and no joint names");
  }
  auto motion = std::make_unique<Motion>();
  Motion & m = *motion;
  m.stamp = stamp;
  m.tolerances = settings.tolerances;
  const std::size_t count = points.size(), k = names.size(), last = (2 * count - 1) * k;  // of the velocities
  m.fields.resize(4 * count * k);
  for (std::size_t p = 0; p < count; ++p) {
    const Point & point = points[p];
    if (point.time_from_start < 0 || (p > 0 && point.time_from_start <= m.times.back())) {
      refuse(p, "time_from_start", "times must be positive and increasing");
    }
    std::size_t f = 0;
    for (const auto & [field, x] : {
           std::pair("positions", &point.positions), std::pair("velocities", &point.velocities),
           std::pair("accelerations", &point.accelerations), std::pair("effort", &point.effort)}) {
      if (!x->empty() && x->size() != k) {
        refuse(p, field, std::to_string(x->size()) + " values for " + std::to_string(k) + " joints");
      }
      for (std::size_t j = 0; j < x->size(); ++j) {
        if (!std::isfinite((*x)[j])) {
          refuse(p, field, "the value of joint '" + names[j] + "' is not finite");
        }
        m.fields[(f * count + p) * k + j] = (*x)[j];
      }
      ++f;
    }
    if (point.positions.empty()) {
      refuse(p, "positions", "positions are needed");
    }
    m.times.push_back(point.time_from_start);
    m.degree.push_back(point.velocities.empty() ? 1 : point.accelerations.empty() ? 3 : 5);
    m.with_effort = m.with_effort || !point.effort.empty();
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
