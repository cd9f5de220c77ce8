#include "@package@/motion.hpp"

#include <algorithm>
#include <cmath>

namespace @package@
{

namespace
{

constexpr double REST_SPEED = 1.2e-7;      // a speed at the last point that still counts as rest
constexpr double POSITION_SLACK = 1e-6;    // rad or m beyond a limit that is rounding
constexpr double FASTEST_SHARE = 10.0;     // of the velocity limit; more cannot be meant
constexpr double FASTEST = 1e4, SHARPEST = 1e7, STRONGEST = 1e7;

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

void check_repeats(const std::vector<std::string> & names)
{
  for (std::size_t j = 0; j < names.size(); ++j) {
    if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(j), names[j]) !=
        names.begin() + static_cast<std::ptrdiff_t>(j)) {
      throw Rejected(Code::invalid_joints, "joint '" + names[j] + "' is named twice");
    }
  }
}

/// Which joint each column is.
void find_columns(const std::vector<std::string> & names, const Settings & settings, Motion & motion)
{
  motion.column.fill(-1);
  for (std::size_t j = 0; j < names.size(); ++j) {
    const auto found = std::find_if(joint_names.begin(), joint_names.end(), [&](const char * x) { return names[j] == x; });
    const auto i = static_cast<std::size_t>(found - joint_names.begin());
    if (found == joint_names.end() || !settings.commanded[i]) {
      throw Rejected(Code::invalid_joints, "joint '" + names[j] + "' is none of the controller's");
    }
    motion.column[i] = static_cast<int>(j);
    motion.joints.push_back(i);
  }
  for (std::size_t i = 0; i < N && !settings.allow_partial; ++i) {
    if (settings.commanded[i] && motion.column[i] < 0) {
      throw Rejected(
        Code::invalid_joints, std::string("joint '") + joint_names[i] + "' is missing: name all joints, or set "
                                                                        "allow_partial_joints_goal");
    }
  }
}

void check_values(const Motion & m, Time begin, Time now)
{
  for (std::size_t k = 0; k < m.points(); ++k) {
    for (std::size_t j = 0; j < m.joints.size(); ++j) {
      const std::size_t i = m.joints[j], at = m.at(k, j);
      const double fastest = fastest_meant(i);
      const std::string joint = std::string(" for joint '") + joint_names[i] + "'";
      if (std::abs(m.velocities[at]) > fastest) {
        throw Rejected(Code::invalid_goal, point_name(k, "velocities") + joint + " cannot be meant");
      }
      if (std::abs(m.accelerations[at]) > SHARPEST) {
        throw Rejected(Code::invalid_goal, point_name(k, "accelerations") + joint + " cannot be meant");
      }
      if (m.with_effort && std::abs(m.efforts[at]) > STRONGEST) {
        throw Rejected(Code::invalid_goal, point_name(k, "effort") + joint + " cannot be meant");
      }
      const bool due = begin + m.times[k] > now || k + 1 == m.points();
      const double q = m.positions[at];
      if (due && !continuous[i] && (q < limits::lower[i] - POSITION_SLACK || q > limits::upper[i] + POSITION_SLACK)) {
        throw Rejected(
          Code::invalid_goal, point_name(k, "positions") + joint + " is " + text_of(q) + ", its limits are " +
                                text_of(limits::lower[i]) + " to " + text_of(limits::upper[i]));
      }
    }
  }
}

/// Refuse a way between two points that no joint covers in the time given for it.
void check_pace(const Motion & m, Time begin, Time now, double max_step)
{
  for (std::size_t k = 1; k < m.points(); ++k) {
    if (begin + m.times[k - 1] <= now) {
      continue;
    }
    const double T = static_cast<double>(m.times[k] - m.times[k - 1]) * 1e-9;
    for (std::size_t j = 0; j < m.joints.size(); ++j) {
      const double way = std::abs(m.positions[m.at(k, j)] - m.positions[m.at(k - 1, j)]);
      if (way > max_step && way > fastest_meant(m.joints[j]) * T) {
        throw Rejected(
          Code::invalid_goal, point_name(k, "time_from_start") + ": joint '" + joint_names[m.joints[j]] +
                                "' would have to move by " + text_of(way) + " in " + text_of(T) + " s");
      }
    }
  }
}

void make_segments(Motion & m)
{
  const std::size_t k = m.joints.size();
  m.segments.resize((m.points() - 1) * k);
  for (std::size_t p = 0; p + 1 < m.points(); ++p) {
    const double T = static_cast<double>(m.times[p + 1] - m.times[p]) * 1e-9;
    const int degree = std::min(m.degree[p], m.degree[p + 1]);
    for (std::size_t j = 0; j < k; ++j) {
      const std::size_t a = m.at(p, j), b = m.at(p + 1, j);
      Polynomial & piece = m.segments[a];
      if (degree == 5) {
        piece = quintic(
          m.positions[a], m.velocities[a], m.accelerations[a], m.positions[b], m.velocities[b], m.accelerations[b], T);
      } else if (degree == 3) {
        piece = cubic(m.positions[a], m.velocities[a], m.positions[b], m.velocities[b], T);
      } else {
        piece = linear(m.positions[a], m.positions[b], T);
      }
      piece.e0 = m.efforts[a];
      piece.e1 = (m.efforts[b] - m.efforts[a]) / T;
    }
  }
}

}  // namespace

double fastest_meant(std::size_t joint)
{
  return std::isfinite(limits::velocity[joint]) ? FASTEST_SHARE * limits::velocity[joint] : FASTEST;
}

Polynomial constant(double q)
{
  Polynomial p;
  p.c[0] = q;
  return p;
}

Polynomial extrapolation(double q, double v, double a)
{
  Polynomial p;
  p.c = {q, v, 0.5 * a, 0.0, 0.0, 0.0};
  return p;
}

Polynomial linear(double q0, double q1, double T)
{
  Polynomial p;
  p.c = {q0, (q1 - q0) / T, 0.0, 0.0, 0.0, 0.0};
  return p;
}

Polynomial cubic(double q0, double v0, double q1, double v1, double T)
{
  const double d = (q1 - q0) / T;
  Polynomial p;
  p.c = {q0, v0, (3.0 * d - 2.0 * v0 - v1) / T, (v0 + v1 - 2.0 * d) / (T * T), 0.0, 0.0};
  return p;
}

Polynomial quintic(double q0, double v0, double a0, double q1, double v1, double a1, double T)
{
  const double d = (q1 - q0) / T, T2 = T * T;
  Polynomial p;
  p.c = {
    q0,
    v0,
    0.5 * a0,
    (20.0 * d - 12.0 * v0 - 8.0 * v1 + T * (a1 - 3.0 * a0)) / (2.0 * T2),
    (-30.0 * d + 16.0 * v0 + 14.0 * v1 + T * (3.0 * a0 - 2.0 * a1)) / (2.0 * T2 * T),
    (12.0 * d - 6.0 * (v0 + v1) + T * (a1 - a0)) / (2.0 * T2 * T2)};
  return p;
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
  check_repeats(names);
  const std::size_t k = names.size();
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
    const std::vector<double> none(k, 0.0);
    const auto append = [](std::vector<double> & to, const std::vector<double> & from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    append(m.positions, point.positions);
    append(m.velocities, with_velocity ? point.velocities : none);
    append(m.accelerations, with_acceleration ? point.accelerations : none);
    append(m.efforts, with_effort ? point.effort : none);
  }
  for (std::size_t j = 0; j < k && !single && !settings.allow_nonzero_end_velocity; ++j) {
    if (std::abs(m.velocities[(m.points() - 1) * k + j]) > REST_SPEED) {
      throw Rejected(
        Code::invalid_goal, "joint '" + names[j] + "' still moves at the last point: end at rest, or set "
                                                   "allow_nonzero_velocity_at_trajectory_end");
    }
  }
  find_columns(names, settings, m);
  check_values(m, stamp != 0 ? stamp : now, now);
  check_pace(m, stamp != 0 ? stamp : now, now, settings.max_step);
  make_segments(m);
  return motion;
}

}  // namespace @package@
