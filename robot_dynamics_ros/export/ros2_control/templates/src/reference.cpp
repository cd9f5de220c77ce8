#include "@package@/reference.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace @package@
{

namespace
{

constexpr double STOP_TIME = 0.25;          // s from the velocity limit to rest
constexpr double PLAIN_DECELERATION = 5.0;  // where there is no velocity limit
constexpr double HARDEST = 10.0;            // how much harder a joint may brake before its position limit
constexpr double LONGEST = 1e6;             // s
constexpr double TWO_PI = 6.283185307179586476925286766559;

double seconds(Time t) { return static_cast<double>(t) / 1e9; }

double turns_to(double from, double to) { return std::nearbyint((from - to) / TWO_PI) * TWO_PI; }

}  // namespace

const char * text_of(Reason reason)
{
  static const char * const reasons[] = {
    "",
    "path tolerance violated",
    "goal not reached in time",
    "replaced by a newer trajectory",
    "replaced by a streamed set-point",
    "hold was asked for",
    "the controller was started afresh, or time jumped",
    "the joint state was stale",
    "the controller was deactivated",
    "the control law gave an effort that is not finite",
    "collision",
    "the law was changed",
    "all points were due in the past: set the stamp to zero or to the future, and check that the clocks agree",
    "the first point is too far away for the time given: give it a later time_from_start",
    "too many trajectories are waiting",
    "the controller follows no trajectory now: it is inactive, chained, without a state, or its law follows no reference",
    "a joint moves against its velocity: the driver's velocities have the wrong sign, or belong to another joint",
    "a joint moves far above its velocity limit",
  };
  return reasons[static_cast<std::size_t>(reason)];
}

std::string text_of(const Event & event)
{
  std::string text = text_of(event.reason);
  char more[200] = "";
  if (event.reason == Reason::path_tolerance || event.reason == Reason::goal_tolerance || event.reason == Reason::step) {
    std::snprintf(
      more, sizeof more, ": %s error of joint '%s' is %.6g, %.6g is allowed", event.velocity ? "velocity" : "position",
      joint_names[event.joint], event.error, event.tolerance);
    text += more;
  }
  if (event.reason == Reason::goal_tolerance) {
    std::snprintf(more, sizeof more, ", %.3f s after it was due", event.late);
    text += more;
  }
  return text;
}

Reference::Reference(const Settings & settings)
: max_step_(settings.max_step), stream_timeout_(nanoseconds(settings.stream_timeout))
{
  for (std::size_t i = 0; i < N; ++i) {
    const double limit = limits::velocity[i] * settings.velocity_scale;
    deceleration[i] = std::isfinite(limit) && limit > 0.0 ? limit / STOP_TIME : PLAIN_DECELERATION;
  }
}

/// The polynomial that a joint follows at t, and when that is over.
Reference::Piece Reference::active(const Track & track, Time t, Time & end)
{
  const Piece & last = track.own[track.count - 1];
  end = std::numeric_limits<Time>::max();
  if (t >= last.begin) {
    return last;
  }
  if (track.motion != nullptr) {
    const auto & times = track.motion->times;
    const auto from = times.begin() + static_cast<std::ptrdiff_t>(track.first);
    const Time since = t - track.begin;
    if (since >= *from) {
      const auto point = static_cast<std::size_t>(std::upper_bound(from, times.end(), since) - times.begin()) - 1;
      Piece piece{track.begin + times[point], track.motion->segments[track.motion->at(point, track.column)]};
      piece.p.c[0] += track.turns;
      end = track.begin + times[point + 1];
      return piece;
    }
    end = track.begin + *from;
  }
  std::size_t k = track.count - 1;
  while (k > 0 && t < track.own[k].begin) {
    --k;
  }
  if (k + 1 < track.count) {
    end = std::min(end, track.own[k + 1].begin);
  }
  return track.own[k];
}

Time Reference::load(Time t, double * piece, double * effort) const
{
  Time due = waiting_count_ > 0 ? waiting_[0].start : std::numeric_limits<Time>::max();
  for (std::size_t i = 0; i < N; ++i) {
    Time end = 0;
    const Piece now = active(tracks_[i], t, end);
    due = std::min(due, end);
    const double x = std::max(0.0, seconds(t - now.begin));
    std::array<double, 6> c = now.p.c;
    for (std::size_t k = 0; k < 5; ++k) {  // Horner's scheme, again and again: the polynomial about x
      for (std::size_t m = 5; m-- > k;) {
        c[m] += x * c[m + 1];
      }
    }
    for (std::size_t k = 0; k < 6; ++k) {
      piece[k * N + i] = c[k];
    }
    effort[i] = now.p.e0 + x * now.p.e1;
    effort[N + i] = now.p.e1;
  }
  return due;
}

Reference::Sample Reference::at(const Track & track, Time t)
{
  Time end = 0;
  const Piece now = active(track, t, end);
  const auto & c = now.p.c;
  const double x = std::max(0.0, seconds(t - now.begin));
  return {
    c[0] + x * (c[1] + x * (c[2] + x * (c[3] + x * (c[4] + x * c[5])))),
    c[1] + x * (2.0 * c[2] + x * (3.0 * c[3] + x * (4.0 * c[4] + x * 5.0 * c[5]))),
    2.0 * c[2] + x * (6.0 * c[3] + x * (12.0 * c[4] + x * 20.0 * c[5])),
    now.p.e0 + x * now.p.e1,
  };
}

void Reference::stop(Track & track, Time t, std::size_t i, double q, double v, std::size_t piece) const
{
  double a = deceleration[i];
  const double room = v > 0.0 ? limits::upper[i] - q : q - limits::lower[i];
  if (v != 0.0 && 0.5 * v * v > a * room) {
    const double needed = room > 0.0 ? 0.5 * v * v / room : INFINITE;
    a = std::min(needed, HARDEST * a);
  }
  const double duration = std::min(std::abs(v) / a, LONGEST);
  const Time rest = t + static_cast<Time>(std::llround(duration * 1e9));
  if (rest > t) {
    track.own[piece++] = {t, extrapolation(q, v, v > 0.0 ? -a : a)};
  }
  track.own[piece++] = {rest, constant(q + 0.5 * v * duration)};
  track.count = piece;
}

void Reference::release_use(Motion * motion)
{
  if (motion != nullptr && --motion->uses == 0) {
    --alive_;
    released.push(motion);  // cannot be full: never more than ALIVE are in use or waiting for deletion
  }
}

void Reference::leave(Track & track)
{
  release_use(track.motion);
  track.motion = nullptr;
}

/// @param all whether every joint follows something new; else what was to end later still does.
void Reference::find_end(bool all)
{
  end_ = all ? tracks_[0].own[tracks_[0].count - 1].begin : end_;
  for (const Track & track : tracks_) {
    end_ = std::max(end_, track.own[track.count - 1].begin);
  }
}

void Reference::tell(unsigned long id, Status status, Code code, Reason reason)
{
  Event event;
  event.id = id;
  event.status = status;
  event.code = code;
  event.reason = reason;
  lost_events += events.push(event) ? 0 : 1;
}

void Reference::drop(std::size_t k)
{
  release_use(waiting_[k].motion);
  for (std::size_t j = k + 1; j < waiting_count_; ++j) {
    waiting_[j - 1] = waiting_[j];
  }
  --waiting_count_;
}

void Reference::close(Status status, Code code, Reason reason)
{
  if (active_.open) {
    tell(active_.id, status, code, reason);
    active_.open = false;
  }
  for (std::size_t k = 0; k < waiting_count_; ++k) {
    if (waiting_[k].goal) {
      tell(waiting_[k].motion->id, status, code, reason);
      waiting_[k].goal = false;
    }
  }
  streaming_ = false;
}

void Reference::stop_from(Time t, const Vector & q, const Vector & v, Status status, Code code, Reason reason)
{
  close(status, code, reason);
  while (waiting_count_ > 0) {
    drop(waiting_count_ - 1);
  }
  for (std::size_t i = 0; i < N; ++i) {
    leave(tracks_[i]);
    stop(tracks_[i], t, i, q[i], v[i], 0);
  }
  with_effort_ = false;
  find_end(true);
}

/// Whether a joint at `from` can be sent to a point of its motion within a time; an event says so if not.
bool Reference::near_enough(const Motion & m, std::size_t point, std::size_t column, double from, Time within)
{
  const std::size_t i = m.joints[column];
  const double target = m.positions[m.at(point, column)];
  const double way = std::abs(target + (continuous[i] ? turns_to(from, target) : 0.0) - from);
  const double reach = within > 0 ? std::max(max_step_, fastest_meant(i) * seconds(within)) : max_step_;
  if (way <= reach) {
    return true;
  }
  Event event;
  event.id = m.id;
  event.status = Status::rejected;
  event.code = Code::invalid_goal;
  event.reason = Reason::step;
  event.joint = i;
  event.error = way;
  event.tolerance = reach;
  lost_events += events.push(event) ? 0 : 1;
  return false;
}

bool Reference::adopt(Motion * motion, Time now)
{
  begin_due(now);
  Waiting w;
  w.motion = motion;
  w.begin = motion->stamp != 0 ? motion->stamp : now;
  w.start = std::max(now, w.begin);
  const auto & times = motion->times;
  const auto left = std::upper_bound(times.begin(), times.end(), w.start - w.begin);
  w.first = static_cast<std::size_t>(left - times.begin());
  if (alive_ + released.size() >= ALIVE || waiting_count_ == WAITING) {
    tell(motion->id, Status::rejected, Code::invalid_goal, Reason::busy);
    return false;
  }
  if (left == times.end()) {
    if (w.begin + times.back() < w.start) {
      tell(motion->id, Status::rejected, Code::old_header_timestamp, Reason::too_late);
      return false;
    }
    --w.first;  // due at once
  }
  for (std::size_t j = 0; j < motion->joints.size(); ++j) {
    const std::size_t i = motion->joints[j];
    if (!near_enough(*motion, w.first, j, at(tracks_[i], w.start).q, w.begin + times[w.first] - w.start)) {
      return false;
    }
  }
  for (std::size_t i = 0; i < N; ++i) {
    w.joints[i] = motion->column[i] >= 0;
  }
  ++alive_;
  motion->uses = 1;
  with_effort_ = with_effort_ || motion->with_effort;
  for (std::size_t k = waiting_count_; k-- > 0;) {
    Waiting & other = waiting_[k];
    if (other.start < w.start) {
      continue;
    }
    if (other.goal) {
      tell(other.motion->id, Status::preempted, Code::successful, Reason::replaced);
      other.goal = false;
    }
    bool left_over = false;
    for (std::size_t i = 0; i < N; ++i) {
      other.joints[i] = other.joints[i] && !w.joints[i];
      left_over = left_over || other.joints[i];
    }
    if (!left_over) {
      drop(k);
    }
  }
  std::size_t place = waiting_count_++;
  while (place > 0 && waiting_[place - 1].start > w.start) {
    waiting_[place] = waiting_[place - 1];
    --place;
  }
  waiting_[place] = w;
  begin_due(now);
  return true;
}

void Reference::begin_due(Time t)
{
  while (waiting_count_ > 0 && waiting_[0].start <= t) {
    const Waiting w = waiting_[0];
    if (w.goal) {
      if (active_.open) {
        tell(active_.id, Status::preempted, Code::successful, Reason::replaced);
      }
      active_.open = true;
      active_.id = w.motion->id;
      active_.end = std::max(w.start, w.begin + w.motion->times.back());
      active_.tolerances = w.motion->tolerances;
      streaming_ = false;
      tell(active_.id, Status::active);
    }
    install(w);
    drop(0);
  }
}

void Reference::install(const Waiting & w)
{
  Motion & m = *w.motion;
  const Time due = w.begin + m.times[w.first];
  const double T = seconds(due - w.start);
  for (std::size_t i = 0; i < N; ++i) {
    if (!w.joints[i]) {
      continue;
    }
    Track & track = tracks_[i];
    const auto column = static_cast<std::size_t>(m.column[i]);
    const std::size_t point = m.at(w.first, column), last = m.at(m.points() - 1, column);
    const Sample s = at(track, w.start);
    const double turns = continuous[i] ? turns_to(s.q, m.positions[point]) : 0.0;
    const double q1 = m.positions[point] + turns, v1 = m.velocities[point], a1 = m.accelerations[point];
    Piece lead{w.start, {}};
    if (due <= w.start) {
      lead.p = constant(q1);
      lead.p.e0 = m.efforts[point];
    } else {
      switch (m.degree[w.first]) {
        case 5:
          lead.p = quintic(s.q, s.v, s.a, q1, v1, a1, T);
          break;
        case 3:
          lead.p = cubic(s.q, s.v, q1, v1, T);
          break;
        default:
          // a joint that moves already would have its velocity jump at the start of a straight line
          lead.p = s.v != 0.0 ? cubic(s.q, s.v, q1, (q1 - s.q) / T, T) : linear(s.q, q1, T);
      }
      if (m.with_effort) {
        lead.p.e0 = s.effort;
        lead.p.e1 = (m.efforts[point] - s.effort) / T;
      }
    }
    ++m.uses;
    leave(track);
    track.motion = &m;
    track.column = column;
    track.first = w.first;
    track.begin = w.begin;
    track.turns = turns;
    track.own[0] = lead;
    track.count = 1;
    if (due > w.start) {
      track.own[1] = {w.begin + m.times.back(), constant(m.positions[last] + turns)};
      track.own[1].p.e0 = m.efforts[last];
      track.count = 2;
    }
  }
  find_end(std::all_of(w.joints.begin(), w.joints.end(), [](bool x) { return x; }));
}

bool Reference::stream(const Motion & m, Time now)
{
  begin_due(now);
  const Time due = now + m.times[0], halt = std::max(due, now + stream_timeout_);
  std::array<Sample, N> from{};
  Vector turns{};
  for (std::size_t j = 0; j < m.joints.size(); ++j) {
    const std::size_t i = m.joints[j];
    from[i] = at(tracks_[i], now);
    turns[i] = continuous[i] ? turns_to(from[i].q, m.positions[j]) : 0.0;
    if (!near_enough(m, 0, j, from[i].q, due - now)) {
      return false;
    }
  }
  close(Status::preempted, Code::successful, Reason::streamed);
  for (std::size_t k = waiting_count_; k-- > 0;) {
    bool left_over = false;
    for (std::size_t i = 0; i < N; ++i) {
      waiting_[k].joints[i] = waiting_[k].joints[i] && m.column[i] < 0;
      left_over = left_over || waiting_[k].joints[i];
    }
    if (!left_over) {
      drop(k);
    }
  }
  for (std::size_t j = 0; j < m.joints.size(); ++j) {
    const std::size_t i = m.joints[j];
    const Sample & s = from[i];
    const double q = m.positions[j] + turns[i], v = m.velocities[j], a = m.accelerations[j];
    Track & track = tracks_[i];
    leave(track);
    std::size_t piece = 0;
    if (due > now) {
      const double T = seconds(due - now);
      Piece & lead = track.own[piece++];
      lead.begin = now;
      lead.p = m.degree[0] == 5   ? quintic(s.q, s.v, s.a, q, v, a, T)
               : m.degree[0] == 3 ? cubic(s.q, s.v, q, v, T)
               : s.v != 0.0       ? cubic(s.q, s.v, q, (q - s.q) / T, T)
                                  : linear(s.q, q, T);
      if (m.with_effort) {
        lead.p.e0 = s.effort;
        lead.p.e1 = (m.efforts[j] - s.effort) / T;
      }
    }
    const std::size_t held = piece;
    if (halt > due) {
      track.own[piece++] = {due, extrapolation(q, v, a)};
    }
    const double x = seconds(halt - due);
    stop(track, halt, i, q + x * (v + 0.5 * x * a), v + x * a, piece);
    for (std::size_t k = held; k < track.count && m.with_effort; ++k) {
      track.own[k].p.e0 = m.efforts[j];
    }
  }
  find_end(m.joints.size() == N);
  with_effort_ = with_effort_ || m.with_effort;
  streaming_ = true;
  return true;
}

void Reference::reached()
{
  tell(active_.id, Status::succeeded);
  active_.open = false;
}

void Reference::violated(Time t, bool late, std::size_t joint, bool velocity, double error, double tolerance)
{
  Event event;
  event.id = active_.id;
  event.status = Status::aborted;
  event.code = late ? Code::goal_tolerance_violated : Code::path_tolerance_violated;
  event.reason = late ? Reason::goal_tolerance : Reason::path_tolerance;
  event.late = late ? seconds(t - active_.end) : 0.0;
  event.joint = joint;
  event.velocity = velocity;
  event.error = error;
  event.tolerance = tolerance;
  lost_events += events.push(event) ? 0 : 1;
  active_.open = false;
}

}  // namespace @package@
