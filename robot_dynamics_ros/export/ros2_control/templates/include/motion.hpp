// Trajectories, checked and made ready outside the control cycle; and where the arm should be: what each joint follows of them,
// the goals that belong to it, and what ends them.
//
// The routines are C, generated from those in Python (@prefix@_cycle.h, @prefix@_tracks_...). `Reference` runs in the
// control cycle and allocates nothing. It takes `Motion`s that others own; an event says when one is no longer needed.

#pragma once

#include <memory>
#include <vector>

#include "@package@/settings.hpp"

namespace @package@
{

using Tracks = @prefix@_tracks_memory;

constexpr std::array<const char *, 5> FIELDS = {"positions", "velocities", "accelerations", "effort", "time_from_start"};
constexpr double REST_SPEED = 1.2e-7;  // a speed at the last point that still counts as rest

/// A trajectory that the controller will not follow; what() says why.
class Rejected : public std::runtime_error
{
public:
  Rejected(Code why, const std::string & text) : std::runtime_error(text), code(why) {}
  Code code;
};

[[noreturn]] inline void refuse(std::size_t point, const char * field, const std::string & why)
{
  throw Rejected(Code::invalid_goal, "points[" + std::to_string(point) + "]." + field + ": " + why);
}

/// One point, as in trajectory_msgs/JointTrajectoryPoint; an empty field is one that is not given.
struct Point
{
  Time time_from_start = 0;
  std::array<std::vector<double>, 4> fields;  ///< positions, velocities, accelerations, effort
};

/// A checked trajectory of k joints through m points.
struct Motion
{
  unsigned long id = 0;           ///< names it in events
  Time stamp = 0;                 ///< when it starts, 0: when it is adopted
  std::array<Time, N> column{};   ///< the column of each joint, -1: not named
  std::vector<Time> times;        ///< (m) since the start
  std::vector<Time> degree;       ///< (m) 1: position, 3: and velocity, 5: and acceleration
  std::vector<double> fields;     ///< (4, m, k) by rows: positions, velocities, accelerations, efforts
  std::vector<double> segments;   ///< (m - 1, k, 8) by rows, from each point to the next
  bool with_effort = false;
  bool flows = false;             ///< its positions come alone, and get velocities when it is followed
  Tolerances tolerances;

  /// Tell the routines about it, under this slot.
  void describe(Tracks & tracks, Time slot) const
  {
    tracks.points[slot] = static_cast<Time>(times.size());
    tracks.width[slot] = static_cast<Time>(fields.size() / (4 * times.size()));
    tracks.efforts_given[slot] = with_effort;
    std::copy(column.begin(), column.end(), tracks.column + slot * static_cast<Time>(N));
  }

  void make_segments(Tracks & tracks, Time slot)
  {
    @prefix@_tracks_make_segments(&tracks, slot, times.data(), degree.data(), fields.data(), segments.data());
  }

  /// @throws Rejected for points that do not fit the names, and what is not finite.
  void read(const std::vector<std::string> & names, const std::vector<Point> & points)
  {
    const std::size_t count = points.size(), k = names.size();
    fields.resize(4 * count * k);
    for (std::size_t p = 0; p < count; ++p) {
      const Point & point = points[p];
      if (point.time_from_start < 0 || (p > 0 && point.time_from_start <= times.back())) {
        refuse(p, "time_from_start", "times must be positive and increasing");
      }
      for (std::size_t f = 0; f < 4; ++f) {
        const auto & values = point.fields[f];
        if (!values.empty() && values.size() != k) {
          refuse(p, FIELDS[f], std::to_string(values.size()) + " values for " + std::to_string(k) + " joints");
        }
        const auto bad = std::find_if(values.begin(), values.end(), [](double x) { return !std::isfinite(x); });
        if (bad != values.end()) {
          refuse(p, FIELDS[f], "the value of joint '" + names[static_cast<std::size_t>(bad - values.begin())] + "' is not finite");
        }
        std::copy(values.begin(), values.end(), &fields[(f * count + p) * k]);
      }
      if (point.fields[0].empty()) {
        refuse(p, "positions", "positions are needed");
      }
      times.push_back(point.time_from_start);
      degree.push_back(point.fields[1].empty() ? 1 : point.fields[2].empty() ? 3 : 5);
      with_effort = with_effort || !point.fields[3].empty();
    }
  }

  /// Which joint each column is.
  /// @throws Rejected for names that are not the controller's, or missing.
  void find_columns(const std::vector<std::string> & names, const Settings & settings)
  {
    const auto check = [](bool good, const std::string & joint, const char * why) {
      if (!good) {
        throw Rejected(Code::invalid_joints, "joint '" + joint + "' " + why);
      }
    };
    column.fill(-1);
    for (std::size_t j = 0; j < names.size(); ++j) {
      const std::size_t i = index_of(joint_names, names[j]);
      check(i < N && settings.cycle.commanded[i] != 0, names[j], "is none of the controller's");
      check(column[i] < 0, names[j], "is named twice");
      column[i] = static_cast<Time>(j);
    }
    for (std::size_t i = 0; i < N; ++i) {
      const bool complete = settings.allow_partial || settings.cycle.commanded[i] == 0 || column[i] >= 0;
      check(complete, joint_names[i], "is missing: name all joints, or set allow_partial_joints_goal");
    }
  }

  /// @throws Rejected for what is beyond the limits, or cannot be meant.
  void check(Tracks & tracks, Time now) const
  {
    const Time begin = stamp != 0 ? stamp : now;
    const auto problem =
      @prefix@_tracks_check_points(&tracks, 0, begin, std::max(now, begin), times.data(), fields.data());
    if (const bool far = problem == 5; problem != 0) {
      refuse(
        static_cast<std::size_t>(tracks.bad_point[0]), FIELDS[static_cast<std::size_t>(problem - 1)],
        std::string("joint '") + joint_names[tracks.bad_joint[0]] + "' would have to " +
          (far ? "move by " : "reach ") + text_of(tracks.bad_value[0]) +
          (far ? " in s " : ", the most that is accepted is ") + text_of(tracks.bad_value[1]));
    }
  }
};

/// Check a trajectory of joints in any order that starts at `stamp`, 0: when it is adopted, and compute its segments.
/// @param now the time of the last cycle, for points that are due in the past.
/// @param single a streamed set-point: velocity at the end is allowed.
/// @throws Rejected with the reason.
inline std::unique_ptr<Motion> make_motion(
  const std::vector<std::string> & names, const std::vector<Point> & points, Time stamp, Time now,
  const Settings & settings, bool single = false)
{
  if (points.empty() || names.empty()) {
    throw Rejected(
      points.empty() ? Code::invalid_goal : Code::invalid_joints,
      points.empty() ? "the trajectory is empty" : "the trajectory has points and no joint names");
  }
  auto motion = std::make_unique<Motion>();
  motion->stamp = stamp;
  motion->tolerances = settings.tolerances;
  motion->read(names, points);
  const auto & last = points.back().fields[1];
  const auto moves = std::find_if(last.begin(), last.end(), [](double v) { return std::abs(v) > REST_SPEED; });
  if (moves != last.end() && !single && !settings.allow_nonzero_end_velocity) {
    throw Rejected(
      Code::invalid_goal, "joint '" + names[static_cast<std::size_t>(moves - last.begin())] +
                            "' still moves at the last point: end at rest, or set allow_nonzero_velocity_at_trajectory_end");
  }
  motion->find_columns(names, settings);
  Tracks tracks = settings.tracks;
  motion->describe(tracks, 0);
  motion->check(tracks, now);
  motion->segments.resize(2 * motion->fields.size());
  const auto alone = [](Time degree) { return degree == 1; };
  motion->flows = settings.upsample && points.size() > 1 && std::all_of(motion->degree.begin(), motion->degree.end(), alone);
  if (!motion->flows) {
    motion->make_segments(tracks, 0);
  }
  return motion;
}

/// What became of a goal.
struct Event
{
  unsigned long id = 0;
  Status status = Status::active;
  Reason reason = Reason::none;
  std::size_t joint = 0;
  bool velocity = false;  ///< whether `error` is one of velocity
  double error = 0.0, tolerance = 0.0, late = 0.0;
};

/// A sentence about an event; not for the control cycle.
inline std::string text_of(const Event & event)
{
  std::string text = text_of(event.reason);
  if (event.reason == Reason::path_tolerance || event.reason == Reason::goal_tolerance || event.reason == Reason::step) {
    text += std::string(event.velocity ? ": velocity" : ": position") + " error of joint '" + joint_names[event.joint] +
            "' is " + text_of(event.error) + ", " + text_of(event.tolerance) + " is allowed";
  }
  if (event.reason == Reason::unmoved) {
    text += std::string(": joint '") + joint_names[event.joint] + "' gets no effort until it is seen to move";
  }
  if (event.reason == Reason::goal_tolerance) {
    text += ", " + text_of(std::round(1e3 * event.late) / 1e3) + " s after it was due";
  }
  return text;
}

/// The references of all joints.
class Reference
{
public:
  Reference(const Tracks & start, bool upsample) : memory(start), upsample_(upsample) {}

  /// Follow a motion from its stamp on. @returns the reason not to, 0: it is followed.
  Time adopt(Motion * motion, Time now)
  {
    begin_due(memory, now);
    auto reason = static_cast<Time>(Reason::busy);
    const Time slot = @prefix@_tracks_free_slot(&memory);
    if (slot >= 0) {
      motion->describe(memory, slot);
      memory.goal[slot] = static_cast<Time>(motion->id);
      reason = @prefix@_tracks_offer(&memory, slot, now, motion->stamp, motion->times.data());
    }
    if (reason == 0) {  // from what may have begun by then
      const Time start = memory.start[slot];
      ahead_ = memory;
      begin_due(ahead_, start);
      load(ahead_, start);
      std::copy_n(ahead_.now, 2 * N, memory.now);
      if (motion->flows) {
        @prefix@_tracks_flow(
          &memory, slot, motion->times.data(), motion->degree.data(), motion->fields.data(), motion->segments.data());
        motion->make_segments(memory, slot);
      }
      reason = @prefix@_tracks_accept(&memory, slot, motion->times.data(), motion->fields.data());
    }
    if (reason == 0) {
      motions_[static_cast<std::size_t>(slot)] = motion;
      begin_due(memory, now);
    }
    return reason;
  }

  /// Follow one set-point of `motion` (one point), go on with its velocity, stop if no other follows in time.
  /// @returns as `adopt`.
  Time stream(const Motion & motion, Time now)
  {
    begin_due(memory, now);
    motion.describe(memory, 0);
    load(memory, now);
    Time due = motion.times[0], degree = motion.degree[0];
    std::copy(motion.fields.begin(), motion.fields.end(), point_.begin());
    if (upsample_) {
      due = @prefix@_tracks_complete_point(&memory, now, due, &degree, point_.data());
    }
    return @prefix@_tracks_stream(&memory, now, due, degree, point_.data());
  }

  /// Fill `tracks.now` with the polynomials of the joints at t. @returns when one of them is over, or a motion begins.
  Time load(Tracks & tracks, Time t)
  {
    Time due = std::numeric_limits<Time>::max();
    for (std::size_t i = 0; i < N; ++i) {
      const Motion * const m = tracks.slot[i] < 0 ? nullptr : motions_[static_cast<std::size_t>(tracks.slot[i])];
      const Time * const times = m != nullptr ? m->times.data() : nullptr;
      const double * const segments = m != nullptr ? m->segments.data() : nullptr;
      due = std::min<Time>(due, @prefix@_tracks_read_joint(&tracks, static_cast<Time>(i), t, times, segments));
    }
    return due;
  }

  /// Let motions begin whose time has come.
  void begin_due(Tracks & tracks, Time t)
  {
    while (tracks.waiting[0] > 0 && tracks.start[tracks.queue[0]] <= t) {
      const Motion & m = *motions_[static_cast<std::size_t>(tracks.queue[0])];
      load(tracks, tracks.start[tracks.queue[0]]);
      @prefix@_tracks_begin_next(&tracks, m.times.data(), m.degree.data(), m.fields.data());
    }
  }

  /// Tolerances of the active goal.
  const Tolerances & tolerances() const
  {
    static const Tolerances none;
    return memory.open[0] != 0 ? motions_[static_cast<std::size_t>(memory.active_slot[0])]->tolerances : none;
  }

  /// The next event, if there is one.
  bool take(Event & event)
  {
    if (handed_out_ < static_cast<std::size_t>(memory.events[0])) {
      const Time * const row = memory.event + 5 * handed_out_;
      const double * const values = memory.event_value + 3 * handed_out_++;
      event = {static_cast<unsigned long>(row[0]), static_cast<Status>(row[1]), static_cast<Reason>(row[2]),
               static_cast<std::size_t>(row[3]), row[4] == 1, values[0], values[1], values[2]};
      return true;
    }
    memory.events[0] = 0;
    handed_out_ = 0;
    const auto slot = std::find(std::begin(memory.state), std::end(memory.state), 2);
    if (slot == std::end(memory.state)) {
      return false;
    }
    *slot = 0;
    event = {static_cast<unsigned long>(memory.goal[slot - memory.state]), Status::released};
    return true;
  }

  Tracks memory;

private:
  bool upsample_;
  std::array<double, 4 * N> point_{};  // a set-point, with what a stream adds
  Tracks ahead_{};
  std::array<const Motion *, sizeof(Tracks::state) / sizeof(Time)> motions_{};
  std::size_t handed_out_ = 0;
};

}  // namespace @package@
