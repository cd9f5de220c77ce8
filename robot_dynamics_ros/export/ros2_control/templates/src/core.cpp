#include "@package@/core.hpp"

#include <algorithm>
#include <cmath>

namespace @package@
{

namespace
{

constexpr double PI = 3.14159265358979323846264338327950288;
constexpr double LIMIT_SLACK = 1e-6, SHARPEST = 1e7;
constexpr double ZONE_RATE = 10.0;     // 1/s, allowed speed towards a limit over the distance to it
constexpr double BRAKING_RATE = 50.0;  // 1/s, how hard an excess of speed is braked
constexpr double LAST = 0.01;          // share of the soft zone in which no friction is allowed for
constexpr Time NEVER = std::numeric_limits<Time>::max();

bool finite(const Vector & x)
{
  return std::all_of(x.begin(), x.end(), [](double value) { return std::isfinite(value); });
}

bool same(const Payload & a, const Payload & b)
{
  return a.link == b.link && a.mass == b.mass && a.com == b.com && a.inertia == b.inertia;
}

bool integrating(const Settings & s)
{
  return @prefix@_laws[static_cast<std::size_t>(s.law)][0].i >= 0 &&
         std::any_of(s.i.begin(), s.i.end(), [](double x) { return x != 0.0; });
}

void copy(const Vector & from, double * to, std::size_t row = 0)
{
  std::copy(from.begin(), from.end(), to + row * N);
}

void copy_to(Vector & to, const double * from, std::size_t row = 0)
{
  std::copy_n(from + row * N, N, to.begin());
}

}  // namespace

Core::Core(const Settings & settings)
: reference(settings),
  settings_(settings),
  robot_{carrying(settings.payload), default_parameters(), {}}
{
  m_.context = &robot_;
  m_.timeout[0] = nanoseconds(settings.state_timeout);
  m_.largest_jump[0] = settings.max_state_jump > 0.0 ? settings.max_state_jump : INFINITE;
  m_.blend_duration[0] = nanoseconds(settings.blend_time);
  m_.robot_holds[0] = static_cast<int>(settings.robot_holds);
  std::copy(settings.commanded.begin(), settings.commanded.end(), m_.commanded);
  std::copy(continuous.begin(), continuous.end(), m_.continuous);
  observer_.rubs[0] = settings.friction != FrictionAt::none;
  for (std::size_t i = 0; i < N; ++i) {
    observer_.gain[i] = settings.observer_gain;
    const auto & f = compensated_friction[i];
    std::copy(f.begin(), f.end(), observer_.friction + f.size() * i);
  }
  load_limits();
  load_law();
  wrenches_changed();
}

// -- what a cycle works on ------------------------------------------------------------------------------------------

void Core::load_limits()
{
  const Settings & s = settings_;
  m_.zone_rate[0] = ZONE_RATE;
  m_.braking_rate[0] = BRAKING_RATE;
  std::copy_n(reference.memory.deceleration, N, m_.deceleration);
  copy(joint_friction, m_.dry);
  copy(joint_damping, m_.viscous);
  copy(s.effort_rate, m_.effort_rate);
  for (std::size_t i = 0; i < N; ++i) {
    m_.effort_limit[i] = std::min(limits::effort[i], s.effort_limit[i]) * (s.effort_scale < 1.0 ? s.effort_scale : 1.0);
    m_.velocity_limit[i] = s.commanded[i] ? limits::velocity[i] * s.velocity_scale : INFINITE;
    m_.lower[i] = s.commanded[i] ? limits::lower[i] : -INFINITE;
    m_.upper[i] = s.commanded[i] ? limits::upper[i] : INFINITE;
    m_.margin[i] = std::min(s.position_margin, 0.25 * (m_.upper[i] - m_.lower[i]));
    m_.creep[i] = LAST * ZONE_RATE * m_.margin[i];
    m_.rated_speed[i] = limits::velocity[i] > 0.0 ? limits::velocity[i] : INFINITE;
  }
}

void Core::load_law()
{
  const Settings & s = settings_;
  const @prefix@_law & law = @prefix@_laws[static_cast<std::size_t>(s.law)][static_cast<std::size_t>(s.friction)];
  m_.law_before = law.before;
  m_.law_after = law.after;
  m_.uses_gravity[0] = law.uses_gravity;
  m_.uses_inertia[0] = law.uses_inertia;
  m_.uses_motion[0] = law.uses_motion;
  m_.uses_motion_of_reference[0] = law.uses_motion_of_reference;
  m_.tracks[0] = law.tracks;
  m_.integrates[0] = integrating(s);
  for (const auto & [at, gain] : {std::pair(law.p, &s.p), std::pair(law.i, &s.i), std::pair(law.d, &s.d)}) {
    if (at >= 0) {
      copy(*gain, m_.gains, static_cast<std::size_t>(at));
    }
  }
  for (std::size_t i = 0; i < N; ++i) {
    m_.integral_bound[i] = s.i[i] > 0.0 ? INFINITE : 0.0;
  }
  const bool robust = s.robust && law.inverts != 0;
  if (m_.robust[0] != robust) {
    m_.steady[0] = 0;
    for (std::size_t i = 0; i < N; ++i) {
      m_.trust[i] = s.robust ? s.friction_trust : 0.0;
    }
  }
  m_.robust[0] = robust;
  m_.bandwidth[0] = s.bandwidth;
  m_.actuator_delay[0] = s.robot_delay;
  copy(joint_effort_size, m_.effort_size);
  copy(joint_scale, m_.scale);
  copy(joint_largest_rotor, m_.largest_rotor);
  for (std::size_t i = 0; i < N; ++i) {
    m_.assumed_rotor[i] = s.rotor_share * joint_unknown_rotor[i];
    m_.largest_rejected[i] = s.rejected_effort * joint_effort_size[i];
  }
  reference_changed();
}

void Core::load_reference(Time t)
{
  reference.begin_due(t);
  m_.adds_feedforward[0] = settings_.add_trajectory_effort && reference.memory.with_effort[0] != 0;
  if (m_.tracks[0] != 0 && chained_now_ && load_chained(t)) {
    set_mode(Mode::stream);
    return;
  }
  m_.knot[0] = t;
  m_.due[0] = reference.load(t);
  std::copy_n(reference.memory.now, 6 * N, m_.piece);
  std::copy_n(reference.memory.now + 6 * N, 2 * N, m_.piece_effort);
  load_goal();
  if (!m_.tracks[0] != 0) {
    set_mode(Mode::free);
  } else if (reference.memory.streaming[0] != 0 && reference.moving(t)) {
    set_mode(Mode::stream);
  } else {
    set_mode(reference.has_goal() ? Mode::trajectory : Mode::hold);
  }
}

void Core::load_goal()
{
  const Tolerances & tolerances = reference.tolerances();
  m_.goal_open[0] = reference.memory.open[0];
  m_.goal_end[0] = reference.memory.goal_end[0];
  m_.goal_time[0] = nanoseconds(tolerances.goal_time);
  copy(tolerances.path_position, m_.path_tolerance);
  copy(tolerances.path_velocity, m_.path_tolerance, 1);
  copy(tolerances.goal_position, m_.goal_tolerance);
  copy(tolerances.goal_velocity, m_.goal_tolerance, 1);
}

/// The reference that another controller gave for this cycle, if it is near and within the limits.
bool Core::load_chained(Time t)
{
  reference.load(t);  // where the arm is held if the given reference is refused
  const auto short_way = [](std::size_t i, double way) { return continuous[i] ? std::remainder(way, 2.0 * PI) : way; };
  bool good = true, asked_to_hold = true;
  for (std::size_t i = 0; i < N; ++i) {
    if (settings_.commanded[i]) {
      const double near = chained_good_ ? chained_last_q_[i] : reference.memory.now[i];
      const bool inside = continuous[i] || (chained_q_[i] >= limits::lower[i] - LIMIT_SLACK &&
                                            chained_q_[i] <= limits::upper[i] + LIMIT_SLACK);
      good = good && std::abs(short_way(i, chained_q_[i] - near)) <= settings_.max_step && inside &&
             std::abs(chained_v_[i]) <= @prefix@_tracks_fastest_meant(&reference.memory, static_cast<Time>(i)) && std::abs(chained_a_[i]) <= SHARPEST;
      asked_to_hold = asked_to_hold && std::isnan(chained_q_[i]);
    }
  }
  if (!good) {
    if (!asked_to_hold) {
      counts.add(Cause::reference_refused);
    }
    if (chained_good_) {
      reference.stop_from(t, chained_last_q_, chained_last_v_, Status::canceled, Reason::held);
      chained_good_ = false;
    }
    return false;
  }
  std::fill_n(m_.piece, 6 * N, 0.0);
  std::fill_n(m_.piece_effort, 2 * N, 0.0);
  copy(chained_q_, m_.piece);
  copy(chained_v_, m_.piece, 1);
  for (std::size_t i = 0; i < N; ++i) {
    m_.piece[2 * N + i] = 0.5 * chained_a_[i];
  }
  m_.knot[0] = t;
  m_.due[0] = t + 1;
  m_.goal_open[0] = 0;
  chained_last_q_ = chained_q_;
  chained_last_v_ = chained_v_;
  for (std::size_t i = 0; i < N; ++i) {
    if (!settings_.commanded[i]) {
      chained_last_q_[i] = m_.q[i];
      chained_last_v_[i] = m_.v[i];
    }
  }
  chained_good_ = true;
  return true;
}

void Core::wrenches_changed()
{
  m_.pushed[0] = std::any_of(loaded_.begin(), loaded_.end(), [](bool x) { return x; });
  m_.wrench_due[0] = NEVER;
  for (std::size_t k = 0; k < LOADED; ++k) {
    if (loaded_[k]) {
      m_.wrench_due[0] = std::min<Time>(m_.wrench_due[0], loaded_since_[k] + nanoseconds(settings_.wrench_timeout) + 1);
    }
  }
}

void Core::expire_wrenches(Time t)
{
  for (std::size_t k = 0; k < LOADED; ++k) {
    if (loaded_[k] && t - loaded_since_[k] > nanoseconds(settings_.wrench_timeout)) {
      loaded_[k] = false;
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
  m_.safe[0] = wanted == Mode::safe;
}

/// What a cycle has left in its memory, for those who read it.
void Core::show()
{
  copy_to(q, m_.q);
  copy_to(v, m_.v);
  copy_to(q_d, m_.reference);
  copy_to(v_d, m_.reference, 1);
  copy_to(a_d, m_.reference, 2);
  copy_to(e, m_.error);
  copy_to(ed, m_.error, 1);
  copy_to(effort, m_.effort);
  copy_to(command, m_.command);
}

// -- life cycle -----------------------------------------------------------------------------------------------------

bool Core::activate(Time t, const Vector & measured_q, const Vector & measured_v)
{
  if (!finite(measured_q) || !finite(measured_v)) {
    return false;
  }
  fault = false;
  m_.stale[0] = 0;
  m_.started[0] = 1;
  m_.last[0] = t - 1;
  m_.time[0] = t;
  loaded_.fill(false);
  std::fill(std::begin(robot_.loads), std::end(robot_.loads), 0.0);
  wrenches_changed();
  copy(measured_q, m_.arrived);
  copy(measured_v, m_.arrived, 1);
  restart(Reason::restarted);
  return true;
}

void Core::stop(Time t, Status status, Reason reason)
{
  copy_to(q, m_.q);
  copy_to(v, m_.v);
  reference.stop_from(t, q, v, status, reason);
  chained_good_ = false;
  reference_changed();
}

/// Hold where the newest state is.
void Core::restart(Reason why)
{
  std::copy_n(m_.arrived, N, m_.q);
  std::copy_n(m_.arrived + N, N, m_.v);
  stop(m_.time[0], Status::aborted, why);
  std::fill_n(m_.z, N, 0.0);
  std::fill_n(m_.saturated, N, 0.0);
  std::fill_n(m_.agreement, N, 0.0);
  std::fill_n(m_.travel, N, 0.0);
  std::fill_n(m_.fast, N, 0);
  m_.blending[0] = 0;
  m_.fresh[0] = 1;
  differentiates_ = collision = false;
  derivative_.fill(0.0);
  external.fill(0.0);
  std::fill_n(observer_.effort, N, 0.0);
  observer_.started[0] = 0;
  above_ = 0.0;
  set_mode(m_.tracks[0] != 0 ? Mode::hold : Mode::free);
}

const Vector & Core::deactivate()
{
  if (mode != Mode::inactive) {
    stop(m_.last[0], Status::aborted, Reason::deactivated);
    set_mode(Mode::inactive);
  }
  return safe_command();
}

const Vector & Core::safe_command()
{
  safe_.fill(0.0);
  if (settings_.safe_command == SafeCommand::gravity) {
    @prefix@_gravity_forces(&robot_.numbers, q.data(), safe_.data());
    if (settings_.robot_holds != RobotHolds::controller) {
      @prefix@_gravity_forces(&robot_.unloaded, q.data(), gravity_.data());
    }
    for (std::size_t i = 0; i < N; ++i) {
      safe_[i] = std::clamp(safe_[i], -m_.effort_limit[i], m_.effort_limit[i]) - gravity_[i];
      safe_[i] = settings_.commanded[i] && std::isfinite(safe_[i]) ? safe_[i] : 0.0;
    }
  }
  return safe_;
}

const Vector & Core::send_safe()
{
  set_mode(Mode::safe);
  command = effort = safe_command();
  copy(command, m_.command);
  copy(effort, m_.effort);
  return command;
}

// -- the cycle ------------------------------------------------------------------------------------------------------

const Vector & Core::update(Time t, const Vector & measured_q, const Vector & measured_v, const Vector * measured)
{
  current = false;
  if (mode == Mode::inactive) {
    chained_now_ = false;
    return safe_command();
  }
  m_.time[0] = t;
  copy(measured_q, m_.arrived);
  copy(measured_v, m_.arrived, 1);
  if (chained_now_) {
    reference_changed();
  }
  std::int64_t verdict = @prefix@_cycle_cycle(&m_, @PREFIX@_ARRIVE);
  while (verdict != @PREFIX@_DONE) {
    const std::int64_t step = act(verdict);
    if (step == DROPPED) {
      chained_now_ = false;
      return command;
    }
    verdict = @prefix@_cycle_cycle(&m_, step);
  }
  chained_now_ = false;
  current = true;
  show();
  static constexpr Cause causes[] = {Cause::position_zone, Cause::velocity_limit, Cause::effort_rate, Cause::effort_limit};
  for (std::size_t k = 0; k < 4; ++k) {
    counts.add(causes[k], static_cast<unsigned long>(m_.hits[k]));
  }
  estimate(measured != nullptr && finite(*measured) ? measured : nullptr);
  m_.fresh[0] = 0;
  return command;
}

/// Do what a verdict asks for; the step at which the cycle goes on, or DROPPED.
std::int64_t Core::act(std::int64_t verdict)
{
  const Time t = m_.time[0];
  if (const int cause = COUNTED[static_cast<std::size_t>(verdict)]; cause >= 0) {
    counts.add(static_cast<Cause>(cause));
  }
  switch (verdict) {
    case @PREFIX@_REFERENCE_DUE:
      load_reference(t);
      return @PREFIX@_FOLLOW;
    case @PREFIX@_WRENCH_DUE:
      expire_wrenches(t);
      return @PREFIX@_FOLLOW;
    case @PREFIX@_NOT_FINITE:
    case @PREFIX@_JUMP:
    case @PREFIX@_STILL:
    case @PREFIX@_LATE:
      return DROPPED;
    case @PREFIX@_CONTRADICTED:
      return fail(Reason::velocity_sign);
    case @PREFIX@_TOO_FAST:
      return fail(Reason::overspeed);
    case @PREFIX@_GOAL_REACHED:
      @prefix@_tracks_end_goal(&reference.memory, static_cast<Time>(Status::succeeded), 0);
      load_goal();
      m_.due[0] = std::min<Time>(m_.due[0], t);  // the mode may be another one now
      return @PREFIX@_FOLLOW;
    case @PREFIX@_PATH_VIOLATED:
    case @PREFIX@_GOAL_LATE: {
      const bool late = verdict == @PREFIX@_GOAL_LATE;
      const auto at = static_cast<std::size_t>(m_.bad_field[0]) * N + static_cast<std::size_t>(m_.bad_joint[0]);
      Tracks & r = reference.memory;
      r.bad_joint[0] = m_.bad_joint[0];
      r.bad_field[0] = m_.bad_field[0];
      r.bad_value[0] = std::abs(m_.error[at]);
      r.bad_value[1] = (late ? m_.goal_tolerance : m_.path_tolerance)[at];
      r.bad_value[2] = late ? 1e-9 * static_cast<double>(t - m_.goal_end[0]) : 0.0;
      @prefix@_tracks_end_goal(
        &r, static_cast<Time>(Status::aborted), static_cast<Time>(late ? Reason::goal_tolerance : Reason::path_tolerance));
      stop(t, Status::canceled, Reason::none);
      start_blend();
      return @PREFIX@_FOLLOW;
    }
    case @PREFIX@_FIRST:
    case @PREFIX@_BACKWARDS:
    case @PREFIX@_RECOVERED:
    case @PREFIX@_RESUMED:
      if (fault) {
        send_safe();
        return DROPPED;
      }
      restart(verdict == @PREFIX@_RESUMED ? Reason::stale : Reason::restarted);
      return @PREFIX@_TAKE;
    default:
      return fail(Reason::fault);
  }
}

/// Stop for good: the safe command from now on.
std::int64_t Core::fail(Reason why)
{
  counts.add(Cause::fault);
  fault = true;
  fault_reason = why;
  stop(m_.last[0], Status::aborted, why);
  send_safe();
  return DROPPED;
}

const Vector & Core::watch(Time t)
{
  current = false;
  chained_now_ = false;
  if (mode == Mode::inactive) {
    return safe_command();
  }
  if (m_.started[0] && t - m_.last[0] > m_.timeout[0]) {
    m_.stale[0] = 1;
    if (mode != Mode::safe) {
      counts.add(Cause::stale_state);
      stop(m_.last[0], Status::aborted, Reason::stale);
    }
    return send_safe();
  }
  return command;
}

// -- wrenches and estimates -----------------------------------------------------------------------------------------

/// What is known besides the command.
/// @param measured finite measured efforts, or nullptr.
void Core::estimate(const Vector * measured)
{
  if (settings_.observer_gain > 0.0 && !(m_.fresh[0] && measured == nullptr)) {
    Vector applied{};
    copy_to(applied, m_.previous);
    observe(measured != nullptr ? *measured : applied);
  }
  if (want_wrenches) {
    const bool idle = std::any_of(settings_.commanded.begin(), settings_.commanded.end(), [](bool x) { return !x; });
    compute_wrenches(idle || m_.adds_feedforward[0] || m_.blending[0] || m_.cut[0] || m_.robust[0], measured);
  } else {
    differentiates_ = false;
  }
}

void Core::compute_wrenches(bool altered, const Vector * measured)
{
  const Acceleration source = settings_.acceleration;
  const double dt = m_.dt[0];
  Vector a{};
  if (source == Acceleration::differentiated) {
    if (!differentiates_) {
      derivative_.fill(0.0);
    } else if (dt > 0.0) {
      const double lag = 1.0 / (2.0 * PI * settings_.differentiation_cutoff), share = dt / (dt + lag);
      for (std::size_t i = 0; i < N; ++i) {
        derivative_[i] += share * ((v[i] - derivative_before_[i]) / dt - derivative_[i]);
      }
    }
    derivative_before_ = v;
    differentiates_ = true;
    a = derivative_;
  } else if (source == Acceleration::reference) {
    a = a_d;
  } else if (
    source == Acceleration::commanded && settings_.law == Law::computed_torque && !altered && !m_.pushed[0]) {
    copy_to(a, m_.a);
  } else {
    Vector net = source == Acceleration::measured_effort && measured != nullptr ? *measured : effort;
    copy(v, observer_.v);
    @prefix@_observer_without_friction(&observer_, net.data());
    @prefix@_forward_dynamics(&robot_.numbers, q.data(), v.data(), net.data(), robot_.loads, a.data());
  }
  @prefix@_joint_wrenches(&robot_.numbers, q.data(), v.data(), a.data(), robot_.loads, wrenches.data());
}

void Core::observe(const Vector & applied)
{
  @prefix@_generalized_momentum(&robot_.numbers, m_.q, m_.v, observer_.momentum, observer_.known);
  copy(v, observer_.v);
  copy(applied, observer_.tau);
  @prefix@_observer_observe(&observer_, m_.dt);
  copy_to(external, observer_.effort);
  if (watch_for_collision()) {
    counts.add(Cause::collision);
    collide();
  }
}

void Core::collide()
{
  const Reaction reaction = settings_.collision_reaction;
  if (reaction == Reaction::none || !m_.tracks[0] != 0) {
    return;
  }
  stop(m_.time[0], Status::aborted, Reason::collision);
  if (reaction == Reaction::gravity) {
    settings_.law = Law::gravity_compensation;
    settings_.d.fill(0.0);
    std::fill_n(m_.z, N, 0.0);
    load_law();
    set_mode(Mode::free);
  }
  start_blend();
}

/// True in the cycle in which the flag rises.
bool Core::watch_for_collision()
{
  double worst = 0.0;
  for (std::size_t i = 0; i < N; ++i) {
    if (settings_.collision[i] > 0.0) {
      worst = std::max(worst, std::abs(external[i]) / settings_.collision[i]);
    }
  }
  if (collision) {
    collision = worst > 0.5;
    above_ = 0.0;
    return false;
  }
  above_ = worst > 1.0 ? above_ + m_.dt[0] : 0.0;
  collision = worst > 1.0 && above_ >= settings_.collision_delay;
  return collision;
}

// -- changes between two cycles -------------------------------------------------------------------------------------

void Core::change(const Settings & wanted, const Parameters & loaded)
{
  const Settings before = settings_;
  settings_.law = wanted.law;
  settings_.friction = wanted.friction;
  settings_.p = wanted.p;
  settings_.i = wanted.i;
  settings_.d = wanted.d;
  settings_.payload = wanted.payload;
  settings_.tolerances = wanted.tolerances;
  const auto tracked = m_.tracks[0];
  load_law();
  if (wanted.law != before.law) {
    std::fill_n(m_.z, N, 0.0);
    if (m_.tracks[0] != tracked && mode != Mode::inactive && mode != Mode::safe) {
      stop(m_.last[0], Status::canceled, Reason::law_changed);
      set_mode(m_.tracks[0] != 0 ? Mode::hold : Mode::free);
    }
  } else if (integrating(before)) {  // Ki z goes on where it was
    for (std::size_t i = 0; i < N; ++i) {
      m_.z[i] *= wanted.i[i] > 0.0 ? before.i[i] / wanted.i[i] : 0.0;
    }
  }
  const bool same_payload = same(before.payload, wanted.payload);
  if (!same_payload) {
    robot_.numbers = loaded;
    observer_.started[0] = 0;  // momentum is another one now; the estimate goes on
  }
  if (
    !same_payload || before.law != wanted.law || before.friction != wanted.friction || before.p != wanted.p ||
    before.i != wanted.i || before.d != wanted.d) {
    start_blend();
  }
}

bool Core::ready_for(const Motion & motion)
{
  if (follows()) {
    return true;
  }
  reference.tell(motion.id, Status::rejected, Reason::not_following);
  return false;
}

bool Core::adopt(Motion * motion, Time t)
{
  if (!ready_for(*motion) || !reference.adopt(motion, t)) {
    return false;
  }
  set_mode(Mode::trajectory);
  reference_changed();
  return true;
}

bool Core::stream(const Motion & point, Time t)
{
  if (!ready_for(point) || !reference.stream(point, t)) {
    return false;
  }
  set_mode(Mode::stream);
  reference_changed();
  return true;
}

void Core::hold(Time t)
{
  Vector from_q = q, from_v = v;
  if (m_.tracks[0] != 0) {
    reference.begin_due(t);
    reference.load(t);
    copy_to(from_q, reference.memory.now);
    copy_to(from_v, reference.memory.now, 1);
  }
  reference.stop_from(t, from_q, from_v, Status::canceled, Reason::held);
  reference_changed();
}

void Core::set_external_wrench(std::size_t link, const std::array<double, 6> & wrench, Time t)
{
  if (link >= LOADED || !std::all_of(wrench.begin(), wrench.end(), [](double x) { return std::isfinite(x); })) {
    return;
  }
  if (!loaded_[link]) {
    start_blend();
  }
  std::copy(wrench.begin(), wrench.end(), robot_.loads + 6 * link);
  loaded_[link] = true;
  loaded_since_[link] = t;
  wrenches_changed();
}

void Core::chain(const Vector & given_q, const Vector & given_v, const Vector & given_a)
{
  chained_q_ = given_q;
  for (std::size_t i = 0; i < N; ++i) {
    chained_v_[i] = std::isfinite(given_v[i]) ? given_v[i] : 0.0;
    chained_a_[i] = std::isfinite(given_a[i]) ? given_a[i] : 0.0;
  }
  chained_now_ = true;
}

}  // namespace @package@
