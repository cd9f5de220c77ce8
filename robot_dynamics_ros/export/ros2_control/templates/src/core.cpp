#include "@package@/core.hpp"

#include <algorithm>

namespace @package@
{

namespace
{

constexpr double PI = 3.14159265358979323846264338327950288;
constexpr double LAST = 0.01;  // share of the soft zone in which no friction is allowed for

template <typename Numbers>
bool finite(const Numbers & x)
{
  return std::all_of(x.begin(), x.end(), [](double value) { return std::isfinite(value); });
}

template <typename From, typename To>
void copy(const From & from, To * to)
{
  std::copy(from.begin(), from.end(), to);
}

}  // namespace

Core::Core(const Settings & settings)
: reference(settings), settings_(settings), robot_{carrying(settings.payload), @prefix@_default_parameters, {}}
{
  cycle.context = &robot_;
  load(settings, cycle);
  load(settings, collision);
  copy(settings.commanded, cycle.commanded);
  observer.rubs[0] = settings.friction != FrictionAt::none;
  std::fill_n(observer.gain, N, settings.observer_gain);
  load_limits();
  load_law();
  wrenches_changed();
}

// -- what a cycle works on ------------------------------------------------------------------------------------------

/// Limits beside those of the description, and for the joints that are commanded.
void Core::load_limits()
{
  const Settings & s = settings_;
  std::copy_n(reference.memory.deceleration, N, cycle.deceleration);
  for (std::size_t i = 0; i < N; ++i) {
    cycle.effort_limit[i] = std::min(cycle.effort_limit[i], s.effort_limit[i]) * std::min(s.effort_scale, 1.0);
    cycle.velocity_limit[i] = s.commanded[i] ? cycle.velocity_limit[i] * s.velocity_scale : INFINITE;
    cycle.lower[i] = s.commanded[i] ? cycle.lower[i] : -INFINITE;
    cycle.upper[i] = s.commanded[i] ? cycle.upper[i] : INFINITE;
    cycle.margin[i] = std::min(s.position_margin, 0.25 * (cycle.upper[i] - cycle.lower[i]));
    cycle.creep[i] = LAST * cycle.zone_rate[0] * cycle.margin[i];
    cycle.assumed_rotor[i] *= s.rotor_share;
    cycle.largest_rejected[i] *= s.rejected_effort;
    cycle.trust[i] = s.robust ? s.friction_trust : 0.0;
  }
}

void Core::load_law()
{
  const Settings & s = settings_;
  const @prefix@_law & law = @prefix@_laws[static_cast<std::size_t>(s.law)][static_cast<std::size_t>(s.friction)];
  cycle.law_before = law.before;
  cycle.law_after = law.after;
  cycle.uses_gravity[0] = law.uses_gravity;
  cycle.uses_inertia[0] = law.uses_inertia;
  cycle.uses_motion[0] = law.uses_motion;
  cycle.uses_motion_of_reference[0] = law.uses_motion_of_reference;
  cycle.tracks[0] = law.tracks;
  cycle.integrates[0] = law.i >= 0 && s.i != Vector{};
  for (const auto & [row, gain] : {std::pair(law.p, &s.p), std::pair(law.i, &s.i), std::pair(law.d, &s.d)}) {
    if (row >= 0) {
      copy(*gain, cycle.gains + static_cast<std::size_t>(row) * N);
    }
  }
  for (std::size_t i = 0; i < N; ++i) {
    cycle.integral_bound[i] = s.i[i] > 0.0 ? INFINITE : 0.0;
  }
  const bool robust = s.robust && law.inverts != 0;
  if (cycle.robust[0] != robust) {
    cycle.steady[0] = 0;
    std::fill_n(cycle.trust, N, s.robust ? s.friction_trust : 0.0);
  }
  cycle.robust[0] = robust;
  reference_changed();
}

void Core::load_reference(Time t)
{
  const Tracks & r = reference.memory;
  reference.begin_due(t);
  cycle.adds_feedforward[0] = settings_.trajectory_effort == TrajectoryEffort::add && r.with_effort[0] != 0;
  if (cycle.tracks[0] != 0 && chained_now_ && load_chained(t)) {
    set_mode(Mode::stream);
    return;
  }
  const Tolerances & tolerances = reference.tolerances();
  cycle.knot[0] = t;
  cycle.due[0] = reference.load(t);
  std::copy_n(r.now, 6 * N, cycle.piece);
  std::copy_n(r.now + 6 * N, 2 * N, cycle.piece_effort);
  cycle.goal_open[0] = r.open[0];
  cycle.goal_end[0] = r.goal_end[0];
  cycle.goal_time[0] = nanoseconds(tolerances.goal_time);
  copy(tolerances.path, cycle.path_tolerance);
  copy(tolerances.goal, cycle.goal_tolerance);
  if (cycle.tracks[0] == 0) {
    set_mode(Mode::free);
  } else if (r.streaming[0] != 0 && reference.moving(t)) {
    set_mode(Mode::stream);
  } else {
    set_mode(reference.has_goal() ? Mode::trajectory : Mode::hold);
  }
}

/// The reference that another controller gave for this cycle, if it is near and within the limits.
bool Core::load_chained(Time t)
{
  reference.load(t);  // where the arm is held if the given reference is refused
  const double * const near = chained_good_ ? chained_last_.data() : reference.memory.now;
  const auto verdict = @prefix@_tracks_judge_chained(&reference.memory, cycle.commanded, chained_.data(), near);
  if (verdict != 0) {
    counts.add(Cause::reference_refused, verdict == 1 ? 1 : 0);
    if (chained_good_) {
      reference.stop_from(t, near, near + N, Status::canceled, Reason::held);
    }
    chained_good_ = false;
    return false;
  }
  chained_last_ = chained_;
  std::fill(std::begin(cycle.piece), std::end(cycle.piece), 0.0);
  std::fill(std::begin(cycle.piece_effort), std::end(cycle.piece_effort), 0.0);
  copy(chained_, cycle.piece);
  for (std::size_t i = 0; i < N; ++i) {
    cycle.piece[2 * N + i] *= 0.5;
    if (!settings_.commanded[i]) {
      chained_last_[i] = cycle.q[i];
      chained_last_[N + i] = cycle.v[i];
    }
  }
  cycle.knot[0] = t;
  cycle.due[0] = t + 1;
  cycle.goal_open[0] = 0;
  chained_good_ = true;
  return true;
}

void Core::wrenches_changed()
{
  cycle.wrench_due[0] = std::numeric_limits<Time>::max();
  for (const Time until : loaded_until_) {
    cycle.wrench_due[0] = until != 0 ? std::min<Time>(cycle.wrench_due[0], until + 1) : cycle.wrench_due[0];
  }
  cycle.pushed[0] = cycle.wrench_due[0] != std::numeric_limits<Time>::max();
}

void Core::expire_wrenches(Time t)
{
  for (std::size_t k = 0; k < LOADED; ++k) {
    if (loaded_until_[k] != 0 && t > loaded_until_[k]) {
      loaded_until_[k] = 0;
      std::fill_n(robot_.loads + 6 * k, 6, 0.0);
      counts.add(Cause::external_wrench_expired);
    }
  }
  wrenches_changed();
  start_blend();
}

void Core::set_mode(Mode wanted)
{
  mode = wanted;
  cycle.safe[0] = wanted == Mode::safe;
}

// -- life cycle -----------------------------------------------------------------------------------------------------

bool Core::activate(Time t, const Vector & q, const Vector & v)
{
  if (!finite(q) || !finite(v)) {
    return false;
  }
  fault = false;
  cycle.stale[0] = 0;
  cycle.started[0] = 1;
  cycle.last[0] = t - 1;
  cycle.time[0] = t;
  loaded_until_.fill(0);
  std::fill(std::begin(robot_.loads), std::end(robot_.loads), 0.0);
  wrenches_changed();
  copy(q, cycle.arrived);
  copy(v, cycle.arrived + N);
  restart(Reason::restarted);
  return true;
}

void Core::stop(Time t, Status status, Reason reason)
{
  reference.stop_from(t, cycle.q, cycle.v, status, reason);
  chained_good_ = false;
  reference_changed();
}

/// Hold where the newest state is.
void Core::restart(Reason why)
{
  @prefix@_cycle_begin_afresh(&cycle);
  stop(cycle.time[0], Status::aborted, why);
  differentiates_ = false;
  collision.flag[0] = 0;
  collision.above[0] = 0.0;
  std::fill_n(observer.effort, N, 0.0);
  observer.started[0] = 0;
  set_mode(cycle.tracks[0] != 0 ? Mode::hold : Mode::free);
}

const double * Core::deactivate()
{
  if (mode != Mode::inactive) {
    stop(cycle.last[0], Status::aborted, Reason::deactivated);
    set_mode(Mode::inactive);
  }
  return safe_command();
}

const double * Core::safe_command()
{
  @prefix@_cycle_find_safe_command(&cycle);
  return cycle.safe_effort;
}

std::int64_t Core::send_safe()
{
  set_mode(Mode::safe);
  safe_command();
  std::copy_n(cycle.safe_effort, N, cycle.command);
  std::copy_n(cycle.safe_effort, N, cycle.effort);
  return DROPPED;
}

// -- the cycle ------------------------------------------------------------------------------------------------------

bool Core::update(Time t, const Vector & q, const Vector & v, const Vector * measured)
{
  if (mode == Mode::inactive) {
    chained_now_ = false;
    std::copy_n(safe_command(), N, cycle.command);
    return false;
  }
  cycle.time[0] = t;
  copy(q, cycle.arrived);
  copy(v, cycle.arrived + N);
  if (chained_now_) {
    reference_changed();
  }
  std::int64_t verdict = @PREFIX@_DONE, step = @PREFIX@_ARRIVE;
  do {
    verdict = @prefix@_cycle_cycle(&cycle, step);
    step = verdict != @PREFIX@_DONE ? act(verdict) : step;
  } while (verdict != @PREFIX@_DONE && step != DROPPED);
  chained_now_ = false;
  if (step == DROPPED) {
    return false;
  }
  for (std::size_t k = 0; k < 4; ++k) {  // the first causes are the limits
    counts.add(static_cast<Cause>(k), static_cast<unsigned long>(cycle.hits[k]));
  }
  const double * const efforts = measured != nullptr && finite(*measured) ? measured->data() : nullptr;
  if (settings_.observer_gain > 0.0 && (efforts != nullptr || cycle.fresh[0] == 0)) {
    observe(efforts != nullptr ? efforts : cycle.previous);
  }
  if (want_wrenches) {
    compute_wrenches(efforts);
  } else {
    differentiates_ = false;
  }
  cycle.fresh[0] = 0;
  return true;
}

/// Do what a verdict asks for; the step at which the cycle goes on, or DROPPED.
std::int64_t Core::act(std::int64_t verdict)
{
  if (const int cause = COUNTED[static_cast<std::size_t>(verdict)]; cause >= 0) {
    counts.add(static_cast<Cause>(cause));
  }
  switch (verdict) {
    case @PREFIX@_REFERENCE_DUE:
      load_reference(cycle.time[0]);
      return @PREFIX@_FOLLOW;
    case @PREFIX@_WRENCH_DUE:
      expire_wrenches(cycle.time[0]);
      return @PREFIX@_FOLLOW;
    case @PREFIX@_GOAL_REACHED:
      reference.end_goal(Status::succeeded, Reason::none);
      reference_changed();  // the mode may be another one now
      return @PREFIX@_FOLLOW;
    case @PREFIX@_PATH_VIOLATED:
    case @PREFIX@_GOAL_LATE:
      violated(verdict == @PREFIX@_GOAL_LATE);
      return @PREFIX@_FOLLOW;
    case @PREFIX@_FIRST:
    case @PREFIX@_BACKWARDS:
    case @PREFIX@_RECOVERED:
    case @PREFIX@_RESUMED:
      if (fault) {
        return send_safe();
      }
      restart(verdict == @PREFIX@_RESUMED ? Reason::stale : Reason::restarted);
      return @PREFIX@_TAKE;
    case @PREFIX@_NOT_FINITE:
    case @PREFIX@_JUMP:
    case @PREFIX@_STILL:
    case @PREFIX@_LATE:
      return DROPPED;
    case @PREFIX@_CONTRADICTED:
      return fail(Reason::velocity_sign);
    case @PREFIX@_TOO_FAST:
      return fail(Reason::overspeed);
    case @PREFIX@_LOST:
      return fail(Reason::lost);
    default:
      return fail(Reason::fault);
  }
}

/// A tolerance of the path is violated, or, late, one of the goal: its goal ends, and the arm stops.
void Core::violated(bool late)
{
  const Time t = cycle.time[0];
  const auto at = static_cast<std::size_t>(cycle.bad_field[0]) * N + static_cast<std::size_t>(cycle.bad_joint[0]);
  Tracks & r = reference.memory;
  r.bad_joint[0] = cycle.bad_joint[0];
  r.bad_field[0] = cycle.bad_field[0];
  r.bad_value[0] = std::abs(cycle.error[at]);
  r.bad_value[1] = (late ? cycle.goal_tolerance : cycle.path_tolerance)[at];
  r.bad_value[2] = late ? 1e-9 * static_cast<double>(t - cycle.goal_end[0]) : 0.0;
  reference.end_goal(Status::aborted, late ? Reason::goal_tolerance : Reason::path_tolerance);
  stop(t, Status::canceled, Reason::none);
  start_blend();
}

/// Stop for good: the safe command from now on.
std::int64_t Core::fail(Reason why)
{
  counts.add(Cause::fault);
  fault = true;
  fault_reason = why;
  stop(cycle.last[0], Status::aborted, why);
  return send_safe();
}

void Core::watch(Time t)
{
  chained_now_ = false;
  if (mode != Mode::inactive && cycle.started[0] && t - cycle.last[0] > cycle.timeout[0]) {
    cycle.stale[0] = 1;
    if (mode != Mode::safe) {
      counts.add(Cause::stale_state);
      stop(cycle.last[0], Status::aborted, Reason::stale);
    }
    send_safe();
  }
}

// -- wrenches and estimates -----------------------------------------------------------------------------------------

/// @param measured finite measured efforts, or nullptr.
void Core::compute_wrenches(const double * measured)
{
  const Acceleration source = settings_.acceleration;
  const bool idle = std::find(std::begin(cycle.commanded), std::end(cycle.commanded), 0) != std::end(cycle.commanded);
  const bool altered = idle || cycle.adds_feedforward[0] || cycle.blending[0] || cycle.cut[0] || cycle.robust[0];
  const double dt = cycle.dt[0];
  Vector a{};
  if (source == Acceleration::differentiated) {
    const double lag = 1.0 / (2.0 * PI * settings_.differentiation_cutoff), share = dt / (dt + lag);
    for (std::size_t i = 0; i < N; ++i) {
      if (!differentiates_) {
        acceleration_[i] = 0.0;
      } else if (dt > 0.0) {
        acceleration_[i] += share * ((cycle.v[i] - velocity_before_[i]) / dt - acceleration_[i]);
      }
      velocity_before_[i] = cycle.v[i];
    }
    differentiates_ = true;
    a = acceleration_;
  } else if (source == Acceleration::reference) {
    std::copy_n(cycle.reference + 2 * N, N, a.begin());
  } else if (source == Acceleration::commanded && settings_.law == Law::computed_torque && !altered && !cycle.pushed[0]) {
    std::copy_n(cycle.a, N, a.begin());
  } else {
    Vector net{};
    std::copy_n(source == Acceleration::model && measured != nullptr ? measured : cycle.effort, N, net.begin());
    std::copy_n(cycle.v, N, observer.v);
    @prefix@_observer_without_friction(&observer, net.data());
    @prefix@_forward_dynamics(&robot_.numbers, cycle.q, cycle.v, net.data(), robot_.loads, a.data());
  }
  @prefix@_joint_wrenches(&robot_.numbers, cycle.q, cycle.v, a.data(), robot_.loads, cycle.wrenches);
}

void Core::observe(const double * applied)
{
  @prefix@_generalized_momentum(&robot_.numbers, cycle.q, cycle.v, observer.momentum, observer.known);
  std::copy_n(cycle.v, N, observer.v);
  std::copy_n(applied, N, observer.tau);
  @prefix@_observer_observe(&observer, cycle.dt);
  if (@prefix@_collision_watch(&collision, observer.effort, cycle.dt[0])) {
    counts.add(Cause::collision);
    collide();
  }
}

void Core::collide()
{
  if (settings_.collision_reaction == Reaction::none || cycle.tracks[0] == 0) {
    return;
  }
  stop(cycle.time[0], Status::aborted, Reason::collision);
  if (settings_.collision_reaction == Reaction::gravity) {
    settings_.law = Law::gravity_compensation;
    settings_.d.fill(0.0);
    std::fill_n(cycle.z, N, 0.0);
    load_law();
    set_mode(Mode::free);
  }
  start_blend();
}

// -- changes between two cycles -------------------------------------------------------------------------------------

void Core::change(const Settings & wanted, const Parameters & loaded)
{
  const Settings before = settings_;
  const auto tracked = cycle.tracks[0], integrated = cycle.integrates[0];
  settings_.take(wanted);
  load_law();
  if (wanted.law != before.law) {
    std::fill_n(cycle.z, N, 0.0);
    if (cycle.tracks[0] != tracked && mode != Mode::inactive && mode != Mode::safe) {
      stop(cycle.last[0], Status::canceled, Reason::law_changed);
      set_mode(cycle.tracks[0] != 0 ? Mode::hold : Mode::free);
    }
  } else if (integrated != 0) {  // Ki z goes on where it was
    for (std::size_t i = 0; i < N; ++i) {
      cycle.z[i] *= wanted.i[i] > 0.0 ? before.i[i] / wanted.i[i] : 0.0;
    }
  }
  const bool other_payload = before.payload.link != wanted.payload.link || before.payload.body != wanted.payload.body;
  if (other_payload) {
    robot_.numbers = loaded;
    observer.started[0] = 0;  // momentum is another one now; the estimate goes on
  }
  if (
    other_payload || before.law != wanted.law || before.friction != wanted.friction || before.p != wanted.p ||
    before.i != wanted.i || before.d != wanted.d) {
    start_blend();
  }
}

/// What is followed is another motion, if it was taken.
bool Core::follow(Mode wanted, bool taken)
{
  if (taken) {
    set_mode(wanted);
    reference_changed();
  }
  return taken;
}

bool Core::adopt(Motion * motion, Time t)
{
  return follow(Mode::trajectory, reference.admits(*motion, follows()) && reference.adopt(motion, t));
}

bool Core::stream(const Motion & point, Time t)
{
  return follow(Mode::stream, reference.admits(point, follows()) && reference.stream(point, t));
}

void Core::hold(Time t)
{
  const bool tracks = cycle.tracks[0] != 0;
  if (tracks) {
    reference.begin_due(t);
    reference.load(t);
  }
  const double * const from = reference.memory.now;
  reference.stop_from(t, tracks ? from : cycle.q, tracks ? from + N : cycle.v, Status::canceled, Reason::held);
  reference_changed();
}

void Core::set_external_wrench(std::size_t link, const std::array<double, 6> & wrench, Time t)
{
  if (link < LOADED && finite(wrench)) {
    if (loaded_until_[link] == 0) {
      start_blend();
    }
    copy(wrench, robot_.loads + 6 * link);
    loaded_until_[link] = t + nanoseconds(settings_.wrench_timeout);
    wrenches_changed();
  }
}

void Core::chain(const std::array<double, 3 * N> & given)
{
  chained_ = given;
  std::replace_if(chained_.begin() + N, chained_.end(), [](double x) { return !std::isfinite(x); }, 0.0);
  chained_now_ = true;
}

}  // namespace @package@
