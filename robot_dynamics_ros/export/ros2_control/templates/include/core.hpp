// The controller without ROS: state in, efforts out, once a cycle.
//
// The cycle itself is C, generated from the one in Python (@prefix@_cycle.c). This is what is around it: what a cycle works
// on is loaded here, and what it says (a goal is reached, the state has jumped, ...) is acted on here.
//
// Nothing in `update`, `watch` and the functions named "in the cycle" allocates, locks, throws or logs. Nothing here is
// safe to be called from several threads: the ROS layer queues what other threads want and calls from the cycle.

#pragma once

#include "@package@/reference.hpp"

namespace @package@
{

/// How often each cause was met.
class Counts
{
public:
  void add(Cause cause, unsigned long n = 1) { counts_[static_cast<std::size_t>(cause)] += n; }
  unsigned long operator[](Cause cause) const { return counts_[static_cast<std::size_t>(cause)]; }

private:
  std::array<unsigned long, CAUSE_NAMES.size()> counts_{};
};

/// What the last cycle worked with.
struct Shown
{
  @prefix@_cycle_memory cycle = @prefix@_cycle_initial;  ///< state, reference, errors, effort, command, wrenches: see its declaration
  Mode mode = Mode::inactive;
  bool fault = false;
  Reason fault_reason = Reason::none;  ///< of the last fault
  Counts counts;
};

/// One robot's controller. The members from `mode` on are to be read after each cycle; they are overwritten by the next.
class Core : public Shown
{
public:
  explicit Core(const Settings & settings);

  /// Hold where the arm is from now on; a moving arm is brought to a stop. False: the state is not finite.
  bool activate(Time t, const Vector & q, const Vector & v);

  /// Stop; the safe command to write last. Open goals are aborted.
  const double * deactivate();

  /// One cycle for a state of time t: the efforts to command, always finite and within the limits, are `cycle.command`.
  ///
  /// A state that is not finite, or whose time repeats or is a little late, is counted and leaves the command as it was;
  /// one that is much older, or comes after a gap, makes the controller hold where the arm is.
  /// @param measured measured efforts, or nullptr: the command of the cycle before takes their place.
  /// @returns whether this was a cycle, not a state that was dropped.
  bool update(Time t, const Vector & q, const Vector & v, const Vector * measured);

  /// To be called when a cycle has no state: brings the safe command if the last good one is older than the timeout.
  void watch(Time t);

  // -- in the cycle, before `update` ------------------------------------------------------------------------------

  /// Other law, gains, payload or tolerances; the effort does not jump. `settings` must have no `problem_with`.
  /// @param loaded the robot's numbers for its payload, from `carrying`.
  void change(const Settings & settings, const Parameters & loaded);

  /// Follow a trajectory. False: it is not taken, an event says why, and it is still the caller's.
  bool adopt(Motion * motion, Time t);

  /// Follow one streamed set-point; it stays the caller's.
  bool stream(const Motion & point, Time t);

  /// Come to a stop and stay. Open goals are cancelled.
  void hold(Time t);

  /// A known wrench [moment; force] on `external_links[link]`, about its origin, in its frame; forgotten after a time.
  void set_external_wrench(std::size_t link, const std::array<double, 6> & wrench, Time t);

  /// Take the reference of the next `update` from another controller: rows of positions, velocities, accelerations.
  /// Positions that are not finite mean hold; velocities and accelerations that are not finite are zero. A jump of more
  /// than max_step, or a value beyond the limits, is refused: the arm stops and waits for a reference that is near.
  void chain(const std::array<double, 3 * N> & given);

  // -- what the last cycle worked with -----------------------------------------------------------------------------

  @prefix@_observer_memory observer = @prefix@_observer_initial;  ///< `effort`: estimated, that the model does not explain
  @prefix@_collision_memory collision{};
  bool want_wrenches = true;
  Reference reference;

  bool follows() const { return mode != Mode::inactive && mode != Mode::safe && cycle.tracks[0] != 0; }
  const Settings & settings() const { return settings_; }
  const double * safe_command();

private:
  static constexpr std::int64_t DROPPED = -1;

  void load_limits();
  void load_law();
  void load_reference(Time t);
  bool load_chained(Time t);
  void reference_changed() { cycle.due[0] = std::numeric_limits<Time>::min(); }
  void start_blend() { cycle.blending[0] = settings_.blend_time > 0.0; }
  void set_mode(Mode wanted);
  bool follow(Mode wanted, bool taken);
  void stop(Time t, Status status, Reason reason);
  void violated(bool late);
  std::int64_t act(std::int64_t verdict);
  std::int64_t fail(Reason why);
  std::int64_t send_safe();
  void restart(Reason why);
  void observe(const double * applied);
  void collide();
  void compute_wrenches(const double * measured);
  void expire_wrenches(Time t);
  void wrenches_changed();

  Settings settings_;
  @prefix@_robot robot_;
  bool chained_now_ = false, chained_good_ = false;
  std::array<double, 3 * N> chained_{}, chained_last_{};
  std::array<Time, LOADED> loaded_until_{};         // 0: no known wrench
  Vector acceleration_{}, velocity_before_{};       // differentiator of the velocity
  bool differentiates_ = false;
};

}  // namespace @package@
