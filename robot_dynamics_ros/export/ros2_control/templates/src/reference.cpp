#include "@package@/reference.hpp"

#include <algorithm>
#include <cstdio>

namespace @package@
{

std::string text_of(const Event & event)
{
  std::string text = text_of(event.reason);
  if (event.reason == Reason::path_tolerance || event.reason == Reason::goal_tolerance || event.reason == Reason::step) {
    text += std::string(event.velocity ? ": velocity" : ": position") + " error of joint '" + joint_names[event.joint] +
            "' is " + text_of(event.error) + ", " + text_of(event.tolerance) + " is allowed";
  }
  if (event.reason == Reason::goal_tolerance) {
    char more[64] = "";
    std::snprintf(more, sizeof more, ", %.3f s after it was due", event.late);
    text += more;
  }
  return text;
}

Time Reference::read(Tracks & tracks, Time t)
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

Time Reference::load(Time t)
{
  const Time due = read(memory, t);
  return memory.waiting[0] > 0 ? std::min<Time>(due, memory.start[memory.queue[0]]) : due;
}

void Reference::begin_due(Tracks & tracks, Time t)
{
  while (tracks.waiting[0] > 0 && tracks.start[tracks.queue[0]] <= t) {
    const Motion & m = *motions_[static_cast<std::size_t>(tracks.queue[0])];
    read(tracks, tracks.start[tracks.queue[0]]);
    @prefix@_tracks_begin_next(&tracks, m.times.data(), m.degree.data(), m.fields.data());
  }
}

void Reference::stop_from(Time t, const double * q, const double * v, Status status, Reason reason)
{
  for (std::size_t i = 0; i < N; ++i) {  // which may be in `memory.now` already
    memory.now[i] = q[i];
    memory.now[N + i] = v[i];
  }
  @prefix@_tracks_stop_all(&memory, t, static_cast<Time>(status), static_cast<Time>(reason));
}

void Reference::end_goal(Status status, Reason reason)
{
  @prefix@_tracks_end_goal(&memory, static_cast<Time>(status), static_cast<Time>(reason));
}

/// Refuse a motion for a reason, unless it is none. @returns whether it is none.
bool Reference::tell(const Motion & motion, Time reason)
{
  if (reason != 0) {
    @prefix@_tracks_tell(&memory, static_cast<Time>(motion.id), static_cast<Time>(Status::rejected), reason);
  }
  return reason == 0;
}

bool Reference::admits(const Motion & motion, bool follows)
{
  return tell(motion, static_cast<Time>(follows ? Reason::none : Reason::not_following));
}

bool Reference::adopt(Motion * motion, Time now)
{
  begin_due(now);
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
    read(ahead_, start);
    std::copy_n(ahead_.now, N, memory.now);
    reason = @prefix@_tracks_accept(&memory, slot, motion->times.data(), motion->fields.data());
  }
  if (!tell(*motion, reason)) {
    return false;
  }
  motions_[static_cast<std::size_t>(slot)] = motion;
  begin_due(now);
  return true;
}

bool Reference::stream(const Motion & m, Time now)
{
  begin_due(now);
  m.describe(memory, 0);
  read(memory, now);
  return tell(m, @prefix@_tracks_stream(&memory, now, m.times[0], m.degree[0], m.fields.data()));
}

const Tolerances & Reference::tolerances() const
{
  static const Tolerances none;
  for (std::size_t slot = 0; slot < SLOTS; ++slot) {
    if (memory.state[slot] != 0 && memory.goal[slot] == memory.active[0] && motions_[slot] != nullptr) {
      return motions_[slot]->tolerances;
    }
  }
  return none;
}

bool Reference::take(Event & event)
{
  if (told_ == static_cast<std::size_t>(memory.events[0])) {
    memory.events[0] = 0;
    told_ = 0;
    return false;
  }
  const Time * const row = memory.event + 5 * told_;
  const double * const values = memory.event_value + 3 * told_++;
  event = {static_cast<unsigned long>(row[0]), static_cast<Status>(row[1]), static_cast<Reason>(row[2]),
           static_cast<std::size_t>(row[3]), row[4] == 1, values[0], values[1], values[2]};
  return true;
}

Motion * Reference::take_back()
{
  const auto slot = std::find(std::begin(memory.state), std::end(memory.state), 2);
  if (slot == std::end(memory.state)) {
    return nullptr;
  }
  *slot = 0;
  return motions_[static_cast<std::size_t>(slot - memory.state)];
}

}  // namespace @package@
