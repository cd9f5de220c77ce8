// Where the arm should be: what each joint follows, the goals that belong to it, and what ends them.
//
// The routines are C, generated from those in Python (@prefix@_cycle.h, @prefix@_tracks_...). Everything here runs in the
// control cycle and allocates nothing. Trajectories come in as `Motion`s that others own; an event says when one is no
// longer needed.

#pragma once

#include "@package@/motion.hpp"

namespace @package@
{

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
  explicit Reference(const Tracks & start) : memory(start) {}

  /// Follow a motion from its stamp on. @returns the reason not to, 0: it is followed.
  Time adopt(const Motion * motion, Time now)
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
      std::copy_n(ahead_.now, N, memory.now);
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
    return @prefix@_tracks_stream(&memory, now, motion.times[0], motion.degree[0], motion.fields.data());
  }

  /// The polynomials that the joints follow at t, in powers of the time since t: (8, N) in `tracks.now`, the last two of the
  /// effort. @returns when one of them is over, or a motion begins.
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
    if (told_ < static_cast<std::size_t>(memory.events[0])) {
      const Time * const row = memory.event + 5 * told_;
      const double * const values = memory.event_value + 3 * told_++;
      event = {static_cast<unsigned long>(row[0]), static_cast<Status>(row[1]), static_cast<Reason>(row[2]),
               static_cast<std::size_t>(row[3]), row[4] == 1, values[0], values[1], values[2]};
      return true;
    }
    memory.events[0] = 0;
    told_ = 0;
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
  Tracks ahead_{};
  std::array<const Motion *, sizeof(Tracks::state) / sizeof(Time)> motions_{};
  std::size_t told_ = 0;
};

}  // namespace @package@
