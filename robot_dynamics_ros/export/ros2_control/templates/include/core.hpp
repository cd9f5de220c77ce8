// The controller without ROS: state in, efforts out, once a cycle. The cycle and its reactions are C, generated from those in
// Python (@prefix@_cycle.c); what it works on is loaded here, and goals are ended here.
//
// Nothing here allocates, locks, throws or logs. Nothing is safe to be called from several threads: the ROS layer queues
// what other threads want and calls from the cycle.

#pragma once

#include "@package@/tool.hpp"

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
  : Shown{settings.cycle, settings.collision, {}}, observer(settings.observer), reference(settings.tracks, settings.upsample), task(settings.task),
    settings_(settings), robot_{carrying(settings.payload), @prefix@_default_parameters}
  {
    cycle.context = &robot_;
    @prefix@_cycle_narrow_limits(
      &cycle, settings.effort_limit.data(), settings.effort_scale, settings.velocity_scale, settings.position_margin);
    @prefix@_cycle_scale_rejection(&cycle, settings.rotor_share, settings.rejected_effort);
    std::copy_n(cycle.deceleration, N, reference.memory.deceleration);
    task.context = task_law_.context = &robot_;
    @prefix@_task_limit_tool(
      &task, cycle.lower, cycle.upper, cycle.margin, cycle.velocity_limit, cycle.deceleration, cycle.commanded);
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
        note_surprise();
        return false;
      }
    }
    note_surprise();
    if (cycle.fresh[0] != 0) {  // the motion is a new one
      @prefix@_collision_lower(&collision);
      @prefix@_observer_forget(&observer);
    }
    for (std::size_t k = 0; k < 4; ++k) {  // the first causes are the limits
      counts[k] += static_cast<unsigned long>(cycle.hits[k]);
    }
    std::copy_n(task.hits, TOOL_CAUSES, &counts[static_cast<std::size_t>(Cause::tool_position_limit)]);
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
    if (resists_wrenches()) {
      @prefix@_task_release_wrench(&task);
    }
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
      before.i != wanted.i || before.d != wanted.d || !(before.cartesian == wanted.cartesian)) {
      @prefix@_cycle_start_blend(&cycle);
    }
  }

  /// Follow a trajectory, which must stay until an event says that it is refused or released. Whether it is followed.
  bool adopt(Motion * motion, Time t)
  {
    return follow(*motion, Mode::trajectory, t, [&]() { return reference.adopt(motion, t); });
  }

  /// Follow one streamed set-point, which is needed no longer then.
  bool stream(const Motion & point, Time t)
  {
    return follow(point, Mode::stream, t, [&]() { return reference.stream(point, t); });
  }

  /// Come to a stop and stay. Open goals are cancelled.
  void hold(Time t)
  {
    Tracks & r = reference.memory;
    if (leave_tool(t)) {
      end_task();
    }
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

  /// Move the tool to a pose, position and quaternion x, y, z, w, straight from where its reference is.
  /// @param in_link given in the frame of its link, where the reference has it now; else in that of the world.
  /// @param stamp when it was meant, 0: now. @returns whether it is taken over; if not, the reason is counted.
  bool target_pose(const std::array<double, 7> & pose, bool in_link, Time stamp, Time t)
  {
    if (!take_target(stamp, t)) {
      return false;
    }
    give(pose, {}, in_link);
    @prefix@_task_take_pose(&task, stamp > 0 ? stamp : t);
    return true;
  }

  /// Move the tool by a twist [angular; linear] of its own point, until the next, or a time is over; else as `target_pose`.
  bool target_twist(const std::array<double, 6> & twist, bool in_link, Time stamp, Time t)
  {
    if (!take_target(stamp, t)) {
      return false;
    }
    give({0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0}, twist, in_link);
    @prefix@_task_take_twist(&task, t, stamp > 0 ? stamp : t);
    return true;
  }

  /// Press with a wrench [moment; force] about the tool's own point, until the next, or a time is over; else as `target_pose`.
  bool target_wrench(const std::array<double, 6> & wrench, bool in_link, Time stamp, Time t)
  {
    Time refusal = @PREFIX@_WRENCH_RESISTED;
    if (!resists_wrenches()) {
      refusal = @prefix@_task_judge_stamp(&task, t, stamp, 0);
    }
    if (refused(refusal)) {
      return false;
    }
    begin_task(t);
    std::copy(wrench.begin(), wrench.end(), task.given_wrench);
    @prefix@_task_take_wrench(&task, t, in_link);
    return true;
  }

  /// Move the tool on a path; its arrays are work space.
  bool target_path(ToolPath & path, Time t)
  {
    if (refused(0)) {
      return false;
    }
    begin_task(t);
    for (std::size_t k = 1; path.in_link && k < path.times.size(); ++k) {
      std::array<double, 7> pose;
      std::array<double, 6> twist;
      std::copy_n(&path.poses[7 * k], 7, pose.begin());
      std::copy_n(&path.twists[6 * k], 6, twist.begin());
      give(pose, twist, true);
      std::copy_n(task.given_pose, 7, &path.poses[7 * k]);
      std::copy_n(task.given_twist, 6, &path.twists[6 * k]);
    }
    const Time far = @prefix@_task_follow_points(
      &task, t, static_cast<Time>(path.times.size()) - 1, path.with_twists, path.times.data(), path.poses.data(),
      path.twists.data(), segments_.data());
    count(Cause::path_turns_too_far, far != 0 ? 1 : 0);
    return far == 0;
  }

  /// Where the tool is, and its error: `task.seen_pose`, `task.seen_twist`, `task.seen_error`.
  void see_tool() { @prefix@_task_see_tool(&task, cycle.q, cycle.v, cycle.reference); }

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
  Task task;  ///< the tool's reference

private:
  static constexpr Time NOT_FOLLOWING = static_cast<Time>(Reason::not_following);

  // -- what a cycle works on ----------------------------------------------------------------------------------------

  void load_law()
  {
    const Settings & s = settings_;
    const double * const gains[] = {s.p.data(), s.i.data(), s.d.data()};
    @prefix@_use_law(&cycle, static_cast<int>(s.law), static_cast<int>(s.friction), gains);
    load_impedance(task_law_, s.cartesian);
    std::copy(s.p.begin(), s.p.end(), task_law_.posture_stiffness);
    std::copy(s.d.begin(), s.d.end(), task_law_.posture_damping);
    task_law_.rubs[0] = s.friction != FrictionAt::none;
    task_law_.friction_at_reference[0] = s.friction == FrictionAt::reference;
  }

  void load_reference(Time t)
  {
    Tracks & r = reference.memory;
    if (chained_ != nullptr && leave_tool(t)) {
      end_task();
    }
    if (task_active_) {
      if (follows_tool()) {
        const Time exerts = task.exerts[0];
        follow_tool(t, cycle.q);
        const bool rests = task.kind[0] == @PREFIX@_HOLD_POSE;
        @prefix@_cycle_take_piece(
          &cycle, task.piece, t + 1, static_cast<Time>(rests ? Mode::hold : Mode::stream), exerts, 0, 0, 0);
        return;
      }
      end_task();  // a stop ends it, whoever asked for it
    }
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
  template <typename Begin>
  bool follow(const Motion & motion, Mode wanted, Time t, const Begin & begin)
  {
    Time reason = NOT_FOLLOWING;
    if (follows()) {
      const bool left = leave_tool(t);
      reason = begin();
      if (left && reason == 0) {
        end_task();
      } else if (left) {
        stops_before_task_ = reference.memory.stops[0];
      }
    }
    if (reason != 0) {
      @prefix@_tracks_add_event(&reference.memory, static_cast<Time>(motion.id), static_cast<Time>(Status::rejected), reason);
    } else {
      cycle.mode[0] = static_cast<Time>(wanted);
      reference_changed();
    }
    return reason == 0;
  }

  // -- the tool -----------------------------------------------------------------------------------------------------

  /// Whether the law makes up for what it does not know of: it would take a wrench that the tool is to exert for a disturbance.
  bool resists_wrenches() const { return cycle.robust[0] != 0 || cycle.integrates[0] != 0 || cycle.tracks[0] == 0; }

  /// Whether the joints follow the tool's reference, and nothing has stopped them since.
  bool follows_tool() const { return task_active_ && reference.memory.stops[0] == stops_before_task_; }

  /// Count why a target is refused, if it is.
  bool refused(Time refusal)
  {
    if (!follows()) {
      refusal = @PREFIX@_NOT_FOLLOWED;
    }
    if (refusal != 0) {
      ++counts[static_cast<std::size_t>(Cause::target_late) + static_cast<std::size_t>(refusal - 1)];
    }
    return refusal != 0;
  }

  bool take_target(Time stamp, Time t)
  {
    const bool taken = !refused(@prefix@_task_judge_stamp(&task, t, stamp, task_active_));
    if (taken) {
      begin_task(t);
    }
    return taken;
  }

  void give(const std::array<double, 7> & pose, const std::array<double, 6> & twist, bool in_link)
  {
    std::copy(pose.begin(), pose.end(), task.given_pose);
    std::copy(twist.begin(), twist.end(), task.given_twist);
    if (in_link) {
      @prefix@_task_given_in_link(&task);
    }
  }

  /// The joints follow the tool's reference from now on, if they do not yet; open goals are preempted.
  void begin_task(Time t)
  {
    Tracks & r = reference.memory;
    if (!follows_tool()) {
      reference.begin_due(r, t);
      reference.load(r, t);
      std::copy_n(r.now, N, task.position);
      std::copy_n(r.now + N, N, task.velocity);
      std::copy_n(r.now, N, task.posture);
      @prefix@_tracks_stop_all(&r, t, static_cast<Time>(Status::preempted), 0);
      @prefix@_task_begin_task(&task, t);
      task_active_ = true;
      stops_before_task_ = r.stops[0];
    }
    reference_changed();
  }

  void follow_tool(Time t, const double * q)
  {
    std::copy_n(q, N, task.measured);
    @prefix@_task_follow_task(&task, t, segments_.data());
  }

  /// The joints follow their own reference again, from where the tool's has led them. Whether they followed that.
  bool leave_tool(Time t)
  {
    if (!follows_tool()) {
      return false;
    }
    follow_tool(t, task.position);
    std::copy_n(task.piece, 2 * N, reference.memory.now);
    @prefix@_tracks_stop_all(&reference.memory, t, static_cast<Time>(Status::preempted), 0);
    reference_changed();
    return true;
  }

  /// A wrench that the tool exerts fades out.
  void end_task()
  {
    task_active_ = false;
    if (task.exerts[0] != 0) {
      @prefix@_cycle_start_blend(&cycle);
    }
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
    } else if (verdict == @PREFIX@_OWN_LAW) {
      @prefix@_task_law_evaluate_task_law(&task_law_, cycle.q, cycle.v, cycle.reference, cycle.error, cycle.effort);
    } else if (verdict == @PREFIX@_WRENCH_DUE) {
      const auto expired = @prefix@_cycle_expire_wrenches(&cycle, cycle.time[0]);
      count(Cause::external_wrench_expired, static_cast<unsigned long>(expired));
      for (std::size_t k = 0; k < 6 * LOADED; ++k) {
        cycle.external[k] *= cycle.wrench_until[k / 6] > 0 ? 1.0 : 0.0;
      }
    }
    end_goals();
  }

  /// Count the newest surprise, if it is a new one: what handed joints over to the plain law.
  void note_surprise()
  {
    if (cycle.surprises[0] != surprises_) {
      surprises_ = cycle.surprises[0];
      ++counts[static_cast<std::size_t>(SURPRISED[static_cast<std::size_t>(cycle.surprise[0])])];
    }
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
  TaskLaw task_law_ = @prefix@_task_law_initial;
  std::array<double, MOST_PATH_POINTS * SEGMENT> segments_{};  // of the tool's path
  bool task_active_ = false;
  Time stops_before_task_ = -1;
  const Rows * chained_ = nullptr;
  Time surprises_ = 0;  // that are counted
};

}  // namespace @package@
