// Where the arm should be: what each joint follows, the goals that belong to it, and what ends them.
//
// The routines are C, generated from those in Python (@prefix@_cycle.h, @prefix@_tracks_...). Everything here runs in the
// control cycle and allocates nothing. Trajectories come in as `Motion`s made outside, and go out again through `take_back`
// when no joint needs them any more.

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
std::string text_of(const Event & event);

/// The references of all joints.
class Reference
{
public:
  explicit Reference(const Settings & settings) : memory(tracks_of(settings)) {}

  /// Decelerate from (q, v) at t and hold where that ends; open goals end with `status`.
  void stop_from(Time t, const double * q, const double * v, Status status, Reason reason);

  /// Whether motions are followed now; if not, an event says so.
  bool admits(const Motion & motion, bool follows);

  /// Follow a motion from its stamp on. False (with an event that says why): it is not taken, and still the caller's.
  bool adopt(Motion * motion, Time now);

  /// Follow one set-point of `motion` (one point), go on with its velocity, stop if no other follows in time. The motion
  /// stays the caller's.
  bool stream(const Motion & point, Time now);

  /// The polynomials that the joints follow at t, in powers of the time since t: (8, N) in `memory.now`, the last two of the
  /// effort. @returns when one of them is over, or a motion begins.
  Time load(Time t);

  /// Let motions begin whose time has come.
  void begin_due(Time t) { begin_due(memory, t); }

  bool moving(Time t) const { return t < memory.end[0] || has_goal(); }
  bool has_goal() const { return memory.open[0] != 0 || memory.waiting[0] > 0; }
  const Tolerances & tolerances() const;  ///< of the active goal
  void end_goal(Status status, Reason reason);

  bool take(Event & event);  ///< the next event, if there is one
  Motion * take_back();      ///< a motion to be deleted outside the control cycle, or nullptr

  Tracks memory;

private:
  static constexpr std::size_t SLOTS = sizeof(Tracks::state) / sizeof(Time);

  bool tell(const Motion & motion, Time reason);
  Time read(Tracks & tracks, Time t);
  void begin_due(Tracks & tracks, Time t);

  Tracks ahead_{};
  std::array<Motion *, SLOTS> motions_{};
  std::size_t told_ = 0;
};

}  // namespace @package@
