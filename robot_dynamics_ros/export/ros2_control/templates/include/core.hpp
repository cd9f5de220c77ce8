// The controller without ROS: state in, efforts out, once a cycle.
//
// The cycle itself is C, generated from the one in Python (@prefix@_cycle.c). This is what is around it: what a cycle works
// on is loaded here, and what it says (a goal is reached, the state has jumped, ...) is acted on here.
//
// Nothing in `update`, `watch` and the functions named "in the cycle" allocates, locks, throws or logs. Nothing here is
// safe to be called from several threads: the ROS layer queues what other threads want and calls from the cycle.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "@package@/@prefix@_cycle.h"
#include "@package@/motion.hpp"
#include "@package@/reference.hpp"
#include "@package@/settings.hpp"

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
  Vector q{}, v{};           ///< measured
  Vector q_d{}, v_d{}, a_d{};
  Vector e{}, ed{};          ///< desired minus measured, the short way round for continuous joints
  Vector effort{};           ///< asked of the joints, gravity included whoever supplies it
  Vector command{};          ///< what is sent
  Mode mode = Mode::inactive;
  bool fault = false, collision = false;
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
  const Vector & deactivate();

  /// One cycle for a state of time t: the efforts to command, always finite and within the limits.
  ///
  /// A state that is not finite, or whose time repeats or is a little late, is counted and leaves the command as it was;
  /// one that is much older, or comes after a gap, makes the controller hold where the arm is.
  /// @param measured measured efforts, or nullptr: the command of the cycle before takes their place.
  const Vector & update(Time t, const Vector & q, const Vector & v, const Vector * measured);

  /// To be called when a cycle has no state: the safe command if the last good one is older than the timeout, or a fault
  /// stands; else the last command.
  const Vector & watch(Time t);

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

  /// Take the reference of the next `update` from another controller. Positions that are not finite mean hold;
  /// velocities and accelerations that are not finite are zero. A jump of more than max_step, or a value beyond the
  /// limits, is refused: the arm stops and waits for a reference that is near.
  void chain(const Vector & q, const Vector & v, const Vector & a);

  // -- what the last cycle worked with -----------------------------------------------------------------------------

  bool current = false;  ///< whether the last `update` was a cycle, not a state that was dropped
  Wrenches wrenches{};  ///< [moment; force] of each joint: parent side on child link, at its origin, in the child's axes
  Vector external{};  ///< estimated efforts that the model does not explain
  bool want_wrenches = true;
  Reference reference;

  bool follows() const { return mode != Mode::inactive && mode != Mode::safe && m_.tracks[0] != 0; }
  const Settings & settings() const { return settings_; }
  const Vector & safe_command();

private:
  static constexpr std::int64_t DROPPED = -1;

  void load_limits();
  void load_law();
  void load_reference(Time t);
  bool load_chained(Time t);
  void load_goal();
  void reference_changed() { m_.due[0] = std::numeric_limits<Time>::min(); }
  void start_blend() { m_.blending[0] = settings_.blend_time > 0.0; }
  void set_mode(Mode wanted);
  void stop(Time t, Status status, Reason reason);
  std::int64_t act(std::int64_t verdict);
  std::int64_t fail(Reason why);
  void restart(Reason why);
  void estimate(const Vector * measured);
  bool ready_for(const Motion & motion);
  void observe(const Vector & applied);
  void collide();
  bool watch_for_collision();
  void compute_wrenches(bool altered, const Vector * measured);
  void expire_wrenches(Time t);
  void wrenches_changed();
  void show();
  const Vector & send_safe();

  Settings settings_;
  @prefix@_cycle_memory m_{};  ///< what the generated cycle works on
  @prefix@_observer_memory observer_{};
  @prefix@_robot robot_;
  Vector safe_{}, gravity_{};
  // chained reference
  bool chained_now_ = false, chained_good_ = false;
  Vector chained_q_{}, chained_v_{}, chained_a_{}, chained_last_q_{}, chained_last_v_{};
  // external wrenches
  std::array<bool, LOADED> loaded_{};
  std::array<Time, LOADED> loaded_since_{};
  // differentiator of the velocity
  Vector derivative_{}, derivative_before_{};
  bool differentiates_ = false;
  double above_ = 0.0;
};

}  // namespace @package@
