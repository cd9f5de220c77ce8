// The controller without ROS: state in, efforts out, once a cycle. The cycle and its reactions are C, generated from those in
// Python (@prefix@_cycle.c); what it works on is loaded here, and goals are ended here.
//
// Nothing here allocates, locks, throws or logs. Nothing is safe to be called from several threads: the ROS layer queues
// what other threads want and calls from the cycle.

#pragma once

#include "@package@/motion.hpp"

namespace @package@
{

inline bool finite(const Vector & x) { return std::all_of(x.begin(), x.end(), [](double y) { return std::isfinite(y); }); }

using Rows = std::array<double, 3 * N>;  ///< positions, velocities, accelerations

/// What the last cycle worked with; the next one overwrites it.
struct Shown
{
  @prefix@_cycle_memory cycle = @prefix@_cycle_initial;  ///< state, reference, errors, effort, command, wrenches: see its declaration
  @prefix@_collision_memory collision{};
  std::array<unsigned long, CAUSE_NAMES.size()> counts{};  ///< how often each cause was met

  Mode mode() const { return static_cast<Mode>(cycle.mode[0]); }
  Reason fault() const { return static_cast<Reason>(cycle.fault[0]); }  ///< that stands, or none
};

/// One robot's controller.
class Core : public Shown
{
public:
  explicit Core(const Settings & settings)
  : Shown{settings.cycle, settings.collision, {}}, observer(settings.observer), reference(settings.tracks),
    settings_(settings), robot_{carrying(settings.payload), @prefix@_default_parameters}
  {
    cycle.context = &robot_;
    @prefix@_cycle_narrow_limits(
      &cycle, settings.effort_limit.data(), settings.effort_scale, settings.velocity_scale, settings.position_margin);
    @prefix@_cycle_scale_rejection(&cycle, settings.rotor_share, settings.rejected_effort);
    std::copy_n(cycle.deceleration, N, reference.memory.deceleration);
    point_.times = {0};
    point_.degree = {5};
    point_.fields.resize(4 * N);
    for (std::size_t i = 0; i < N; ++i) {
      point_.column[i] = cycle.commanded[i] != 0 ? static_cast<Time>(i) : -1;
    }
    load_law();
  }

  /// Hold where the arm is from now on; a moving arm is brought to a stop. False: the state is not finite.
  bool activate(Time t, const Vector & q, const Vector & v)
  {
    if (!finite(q) || !finite(v)) {
      return false;
    }
    cycle.time[0] = t;
    std::copy_n(q.data(), N, cycle.arrived);
    std::copy_n(v.data(), N, cycle.arrived + N);
    @prefix@_cycle_activate(&cycle);
    end_goals();
    return true;
  }

  /// Stop; the safe command to write last. Open goals are aborted.
  const double * deactivate()
  {
    @prefix@_cycle_deactivate(&cycle);
    end_goals();
    return cycle.safe_effort;
  }

  const double * safe_command()
  {
    @prefix@_cycle_find_safe_command(&cycle);
    return cycle.safe_effort;
  }

  /// One cycle for a state of time t: the efforts to command, always finite and within the limits, are `cycle.command`.
  ///
  /// A state that is not finite, or whose time repeats or is a little late, is counted and leaves the command as it was;
  /// one that is much older, or comes after a gap, makes the controller hold where the arm is.
  /// @param measured measured efforts, or nullptr: the command of the cycle before takes their place.
  /// @param chained the reference of this cycle from another controller, or nullptr.
  /// @returns whether this was a cycle, not a state that was dropped.
  bool update(Time t, const Vector & q, const Vector & v, const Vector * measured, const Rows * chained = nullptr)
  {
    if (mode() == Mode::inactive) {
      std::copy_n(safe_command(), N, cycle.command);
      return false;
    }
    cycle.time[0] = t;
    std::copy_n(q.data(), N, cycle.arrived);
    std::copy_n(v.data(), N, cycle.arrived + N);
    chained_ = chained;
    if (chained != nullptr) {
      reference_changed();
    }
    std::int64_t step = @PREFIX@_ARRIVE;
    for (std::int64_t verdict; (verdict = @prefix@_cycle_cycle(&cycle, step)) != @PREFIX@_DONE; step = cycle.next[0]) {
      attend_to(verdict);
      if (cycle.next[0] == @PREFIX@_DROPPED) {
        return false;
      }
    }
    if (cycle.fresh[0] != 0) {  // the motion is a new one
      @prefix@_collision_lower(&collision);
      @prefix@_observer_forget(&observer);
    }
    for (std::size_t k = 0; k < 4; ++k) {  // the first causes are the limits
      counts[k] += static_cast<unsigned long>(cycle.hits[k]);
    }
    const double * const efforts = measured != nullptr && finite(*measured) ? measured->data() : nullptr;
    if (observer.gain[0] > 0.0 && (efforts != nullptr || cycle.fresh[0] == 0)) {
      observe(efforts != nullptr ? efforts : cycle.previous);
    }
    @prefix@_cycle_compute_wrenches(&cycle, efforts, efforts != nullptr);
    return true;
  }

  /// To be called when a cycle has no state: brings the safe command if the last good one is older than the timeout.
  void watch(Time t)
  {
    const bool safe = mode() == Mode::safe;
    if (@prefix@_cycle_watch_state(&cycle, t) && !safe) {
      count(Cause::stale_state);
    }
    end_goals();
  }

  // -- to be called before `update` ---------------------------------------------------------------------------------

  /// Other law, gains, payload or tolerances; the effort does not jump. `wanted` must have no `problem_with`.
  /// @param loaded the robot's numbers for its payload, from `carrying`.
  void change(const Changeable & wanted, const Parameters & loaded)
  {
    const Changeable before = settings_;
    const auto tracked = cycle.tracks[0];
    static_cast<Changeable &>(settings_) = wanted;
    load_law();
    if (wanted.law != before.law) {
      @prefix@_cycle_change_law(&cycle, tracked);
      end_goals();
    }
    const bool other_payload = before.payload.link != wanted.payload.link || before.payload.body != wanted.payload.body;
    if (other_payload) {
      robot_.numbers = loaded;
      observer.started[0] = 0;  // momentum is another one now; the estimate goes on
    }
    if (
      other_payload || before.law != wanted.law || before.friction != wanted.friction || before.p != wanted.p ||
      before.i != wanted.i || before.d != wanted.d) {
      @prefix@_cycle_start_blend(&cycle);
    }
  }

  /// Follow a trajectory, which must stay until an event says that it is refused or released. Whether it is followed.
  bool adopt(const Motion * motion, Time t)
  {
    return follow(*motion, Mode::trajectory, follows() ? reference.adopt(motion, t) : NOT_FOLLOWING);
  }

  /// Follow one streamed set-point, which is needed no longer then.
  bool stream(const Motion & point, Time t)
  {
    return follow(point, Mode::stream, follows() ? reference.stream(point, t) : NOT_FOLLOWING);
  }

  /// Come to a stop and stay. Open goals are cancelled.
  void hold(Time t)
  {
    Tracks & r = reference.memory;
    if (cycle.tracks[0] != 0) {
      reference.begin_due(r, t);
      reference.load(r, t);
    } else {
      std::copy_n(cycle.q, N, r.now);
      std::copy_n(cycle.v, N, r.now + N);
    }
    @prefix@_tracks_stop_all(&r, t, static_cast<Time>(Status::canceled), static_cast<Time>(Reason::held));
    reference_changed();
  }

  /// A known wrench [moment; force] on `external_links[link]`, about its origin, in its frame, finite; forgotten after a time.
  void set_external_wrench(std::size_t link, const std::array<double, 6> & wrench, Time t)
  {
    std::copy_n(wrench.data(), 6, cycle.external + 6 * link);
    @prefix@_cycle_know_wrench(&cycle, static_cast<Time>(link), t + nanoseconds(settings_.wrench_timeout) + 1);
  }

  bool follows() const { return mode() != Mode::inactive && mode() != Mode::safe && cycle.tracks[0] != 0; }
  void count(Cause cause, unsigned long n = 1) { counts[static_cast<std::size_t>(cause)] += n; }
  bool differentiates() const { return cycle.wrench_source[0] == @differentiated@; }  ///< which takes every cycle
  const Settings & settings() const { return settings_; }

  @prefix@_observer_memory observer;  ///< `effort`: estimated, that the model does not explain
  Reference reference;

private:
  static constexpr Time NOT_FOLLOWING = static_cast<Time>(Reason::not_following);

  // -- what a cycle works on ----------------------------------------------------------------------------------------

  void load_law()
  {
    const Settings & s = settings_;
    const double * const gains[] = {s.p.data(), s.i.data(), s.d.data()};
    @prefix@_use_law(&cycle, static_cast<int>(s.law), static_cast<int>(s.friction), gains);
  }

  void load_reference(Time t)
  {
    Tracks & r = reference.memory;
    reference.begin_due(r, t);
    if (cycle.tracks[0] != 0 && chained_ != nullptr) {
      load_chained(t);
    }
    const Tolerances & tolerances = reference.tolerances();
    const Time due = reference.load(r, t), next_mode = @prefix@_tracks_mode_at(&r, t);
    const auto with_effort = r.with_effort[0] * cycle.takes_efforts[0];
    @prefix@_cycle_take_piece(&cycle, r.now, due, next_mode, with_effort, r.open[0], r.active[0],
                              r.goal_end[0]);
    cycle.goal_time[0] = nanoseconds(tolerances.goal_time);
    std::copy_n(tolerances.path.data(), 2 * N, cycle.path_tolerance);
    std::copy_n(tolerances.goal.data(), 2 * N, cycle.goal_tolerance);
  }

  /// Follow the reference that another controller gave for this cycle. Positions that are no numbers mean hold; velocities
  /// and accelerations that are not finite are zero. What is far, or beyond the limits, is refused: the arm stops and waits.
  void load_chained(Time t)
  {
    auto & fields = point_.fields;
    std::copy_n(chained_->data(), 3 * N, fields.data());
    std::replace_if(&fields[N], &fields[3 * N], [](double x) { return !std::isfinite(x); }, 0.0);
    point_.describe(reference.memory, 0);
    if (
      @prefix@_tracks_check_points(&reference.memory, 0, t, t, point_.times.data(), fields.data()) != 0 ||
      reference.stream(point_, t) != 0) {
      const bool empty = std::all_of(&fields[0], &fields[N], [](double q) { return std::isnan(q); });
      count(Cause::reference_refused, empty ? 0 : 1);
      if (reference.memory.streaming[0] != 0) {
        hold(t);
      }
    }
  }

  void reference_changed() { cycle.due[0] = std::numeric_limits<Time>::min(); }

  /// What is followed is another motion, unless there is a reason not to, which an event tells.
  bool follow(const Motion & motion, Mode wanted, Time reason)
  {
    if (reason != 0) {
      @prefix@_tracks_tell(&reference.memory, static_cast<Time>(motion.id), static_cast<Time>(Status::rejected), reason);
    } else {
      cycle.mode[0] = static_cast<Time>(wanted);
      reference_changed();
    }
    return reason == 0;
  }

  // -- reactions ----------------------------------------------------------------------------------------------------

  /// Count a verdict, and do what needs more than the cycle's memory.
  void attend_to(std::int64_t verdict)
  {
    if (const int cause = COUNTED[static_cast<std::size_t>(verdict)]; cause >= 0) {
      ++counts[static_cast<std::size_t>(cause)];
    }
    if (verdict >= @PREFIX@_FAULTS) {
      count(Cause::fault);
    }
    if (verdict == @PREFIX@_REFERENCE_DUE) {
      load_reference(cycle.time[0]);
    } else if (verdict == @PREFIX@_WRENCH_DUE) {
      const auto expired = @prefix@_cycle_expire_wrenches(&cycle, cycle.time[0]);
      count(Cause::external_wrench_expired, static_cast<unsigned long>(expired));
      for (std::size_t k = 0; k < 6 * LOADED; ++k) {
        cycle.external[k] *= cycle.wrench_until[k / 6] > 0 ? 1.0 : 0.0;
      }
    }
    end_goals();
  }

  /// End goals as the cycle's memory says.
  void end_goals()
  {
    @prefix@_tracks_end_goals(
      &reference.memory, cycle.ended, cycle.stopped, cycle.bad_joint, cycle.bad_field, cycle.bad_value, cycle.last[0],
      cycle.q, cycle.v);
  }

  // -- estimates ----------------------------------------------------------------------------------------------------

  void observe(const double * applied)
  {
    @prefix@_generalized_momentum(&robot_.numbers, cycle.q, cycle.v, observer.momentum, observer.known);
    std::copy_n(cycle.v, N, observer.v);
    std::copy_n(applied, N, observer.tau);
    @prefix@_observer_observe(&observer, cycle.dt[0]);
    const bool collides = @prefix@_collision_watch(&collision, observer.effort, cycle.dt[0]);
    count(Cause::collision, collides ? 1 : 0);
    if (!collides || settings_.collision_reaction == Reaction::none || cycle.tracks[0] == 0) {
      return;
    }
    @prefix@_cycle_collide(&cycle);
    end_goals();
    if (settings_.collision_reaction == Reaction::gravity) {
      Changeable giving_way = settings_;
      giving_way.law = Law::gravity_compensation;
      giving_way.d.fill(0.0);
      change(giving_way, robot_.numbers);
    }
  }

  Settings settings_;
  @prefix@_robot robot_;
  Motion point_;  // of another controller
  const Rows * chained_ = nullptr;
};

}  // namespace @package@
