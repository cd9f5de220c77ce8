#include "@package@/core.hpp"

#include <algorithm>
#include <cmath>

namespace @package@
{

namespace
{

constexpr double PI = 3.14159265358979323846264338327950288;
constexpr double LIMIT_SLACK = 1e-6, SHARPEST = 1e7;

bool finite(const Vector & x)
{
  double sum = 0.0;
  for (const double value : x) {
    sum += value * value;
  }
  return std::isfinite(sum);
}

/// The short way round of an angle.
double wrapped(double x)
{
  double r = std::fmod(x + PI, 2.0 * PI);
  if (r < 0.0) {
    r += 2.0 * PI;
  }
  return r - PI;
}

bool any_gain(const Vector & gain)
{
  return std::any_of(gain.begin(), gain.end(), [](double x) { return x != 0.0; });
}

bool same(const Payload & a, const Payload & b)
{
  return a.link == b.link && a.mass == b.mass && a.com == b.com && a.inertia == b.inertia;
}

bool integrating(const Settings & s)
{
  const bool has = s.law == Law::computed_torque || s.law == Law::pd_gravity || s.law == Law::feedforward_pd;
  return has && any_gain(s.i);
}

}  // namespace

Core::Core(const Settings & settings)
: reference(settings),
  settings_(settings),
  guards_(settings, counts),
  numbers_(carrying(settings.payload)),
  unloaded_(default_parameters()),
  timeout_(nanoseconds(settings.state_timeout)),
  blend_duration_(nanoseconds(settings.blend_time)),
  integrates_(integrating(settings))
{
  for (const bool x : settings.commanded) {
    idle_ = idle_ || !x;
  }
}

// -- life cycle -----------------------------------------------------------------------------------------------------

bool Core::activate(Time t, const Vector & measured_q, const Vector & measured_v)
{
  if (!finite(measured_q) || !finite(measured_v)) {
    return false;
  }
  fault = stale_ = false;
  arrived_ = true;
  last_ = t - 1;
  loaded_.fill(false);
  loads_.fill(0.0);
  restart(t, measured_q, measured_v, Reason::restarted);
  return true;
}

void Core::restart(Time t, const Vector & measured_q, const Vector & measured_v, Reason why)
{
  q = measured_q;
  v = measured_v;
  z_.fill(0.0);
  reference.stop_from(t, q, v, Status::aborted, Code::invalid_goal, why);
  chained_good_ = false;
  blend_pending_ = blend_active_ = false;
  differentiates_ = observer_started_ = collision = false;
  derivative_.fill(0.0);
  external.fill(0.0);
  above_ = 0.0;
  guards_.saturated.fill(0.0);
  fresh_start_ = true;
  mode = tracks(settings_.law) ? Mode::hold : Mode::free;
}

const Vector & Core::deactivate()
{
  if (mode != Mode::inactive) {
    reference.stop_from(last_, q, v, Status::aborted, Code::invalid_goal, Reason::deactivated);
    mode = Mode::inactive;
  }
  return safe_command();
}

const Vector & Core::safe_command()
{
  safe_.fill(0.0);
  if (settings_.safe_command == SafeCommand::gravity) {
    gravity_forces(numbers_, q, safe_);
    for (std::size_t i = 0; i < N; ++i) {
      safe_[i] = std::clamp(safe_[i], -guards_.effort_limit[i], guards_.effort_limit[i]);
    }
    if (settings_.gravity_by_robot) {
      gravity_forces(unloaded_, q, gravity_);
      for (std::size_t i = 0; i < N; ++i) {
        safe_[i] -= gravity_[i];
      }
    }
    for (std::size_t i = 0; i < N; ++i) {
      safe_[i] = settings_.commanded[i] && std::isfinite(safe_[i]) ? safe_[i] : 0.0;
    }
  }
  return safe_;
}

// -- the cycle ------------------------------------------------------------------------------------------------------

Core::Arrival Core::arrive(Time t)
{
  const bool was_stale = stale_, was_there = arrived_;
  const Time last = last_;
  if (was_there && t <= last && last - t <= timeout_) {
    return t == last ? Arrival::still : Arrival::late;
  }
  last_ = t;
  arrived_ = true;
  stale_ = false;
  if (!was_there) {
    return Arrival::first;
  }
  if (t < last) {
    return Arrival::backwards;
  }
  return was_stale || t - last > timeout_ ? Arrival::recovered : Arrival::normal;
}

/// Whether the arm cannot have come to this position from the last state: velocities are believed twice over.
bool Core::has_jumped(Time t, const Vector & measured_q, const Vector & measured_v) const
{
  if (settings_.max_state_jump <= 0.0 || mode == Mode::safe || t <= last_ || t - last_ > timeout_) {
    return false;
  }
  const double dt = static_cast<double>(t - last_) / 1e9;
  for (std::size_t i = 0; i < N; ++i) {
    const double way = continuous[i] ? wrapped(measured_q[i] - q[i]) : measured_q[i] - q[i];
    const double speed = std::max(std::abs(measured_v[i]), std::abs(v[i]));
    if (std::abs(way) > 2.0 * speed * dt + settings_.max_state_jump) {
      return true;
    }
  }
  return false;
}

const Vector & Core::update(Time t, const Vector & measured_q, const Vector & measured_v, const Vector * measured)
{
  current = false;
  if (mode == Mode::inactive) {
    chained_now_ = false;
    return safe_command();
  }
  if (!finite(measured_q) || !finite(measured_v)) {
    counts.add(Cause::non_finite_state);
    chained_now_ = false;
    return command;
  }
  if (has_jumped(t, measured_q, measured_v)) {
    counts.add(Cause::state_jump);
    chained_now_ = false;
    return command;
  }
  const Time before = last_;
  const Arrival arrival = arrive(t);
  if (arrival != Arrival::normal) {
    if (arrival == Arrival::still || arrival == Arrival::late) {
      counts.add(arrival == Arrival::still ? Cause::time_still : Cause::time_late);
      chained_now_ = false;
      return command;
    }
    if (arrival == Arrival::backwards) {
      counts.add(Cause::time_backwards);
    }
    if (!fault) {
      restart(t, measured_q, measured_v, Reason::restarted);
    }
  }
  if (fault) {
    return send_safe();
  }
  if (mode == Mode::safe) {
    restart(t, measured_q, measured_v, Reason::stale);
  }
  const double dt = fresh_start_ ? 0.0 : static_cast<double>(t - before) / 1e9;
  q = measured_q;
  v = measured_v;
  follow(t);
  chained_now_ = false;
  if (integrates_) {
    integrate(dt);
  }
  const bool loaded = any_external();
  wrenches_current_ = law(effort) && !loaded;
  return finish(t, dt, measured != nullptr && finite(*measured) ? measured : nullptr);
}

const Vector & Core::watch(Time t)
{
  current = false;
  chained_now_ = false;
  if (mode == Mode::inactive) {
    return safe_command();
  }
  if (arrived_ && t - last_ > timeout_) {
    stale_ = true;
    if (mode != Mode::safe) {
      counts.add(Cause::stale_state);
      reference.stop_from(last_, q, v, Status::aborted, Code::invalid_goal, Reason::stale);
    }
    return send_safe();
  }
  return command;
}

const Vector & Core::send_safe()
{
  mode = Mode::safe;
  command = effort = safe_command();
  return command;
}

const Vector & Core::fail()
{
  fault = true;
  counts.add(Cause::fault);
  reference.stop_from(last_, q, v, Status::aborted, Code::invalid_goal, Reason::fault);
  return send_safe();
}

void Core::follow(Time t)
{
  if (!tracks(settings_.law)) {
    q_d = q;
    v_d = v;
    a_d.fill(0.0);
    e.fill(0.0);
    ed.fill(0.0);
    mode = Mode::free;
    return;
  }
  reference.begin_due(t);
  if (chained_now_ && sample_chained(t)) {
    mode = Mode::stream;
    return;
  }
  sample(t);
  if (!reference.monitor(t, e, ed)) {
    counts.add(Cause::tolerance_violated);
    reference.stop_from(t, q, v, Status::canceled, Code::successful, Reason::none);
    start_blend();
    sample(t);
  }
  if (reference.streaming() && reference.moving(t)) {
    mode = Mode::stream;
  } else {
    mode = reference.has_goal() ? Mode::trajectory : Mode::hold;
  }
}

void Core::sample(Time t)
{
  reference.sample(t, q_d, v_d, a_d, feedforward_);
  for (std::size_t i = 0; i < N; ++i) {
    if (!settings_.commanded[i]) {
      q_d[i] = q[i];
      v_d[i] = v[i];
      a_d[i] = feedforward_[i] = 0.0;
    }
    e[i] = continuous[i] ? wrapped(q_d[i] - q[i]) : q_d[i] - q[i];
    ed[i] = v_d[i] - v[i];
  }
}

bool Core::sample_chained(Time t)
{
  sample(t);  // where the arm is held if the given reference is refused
  const Vector & near = chained_good_ ? chained_last_q_ : q_d;
  bool good = true;
  for (std::size_t i = 0; i < N && good; ++i) {
    if (!settings_.commanded[i]) {
      continue;
    }
    const double jump = continuous[i] ? wrapped(chained_q_[i] - near[i]) : chained_q_[i] - near[i];
    const double fastest = fastest_meant(i);
    const bool inside = continuous[i] || (chained_q_[i] >= limits::lower[i] - LIMIT_SLACK &&
                                          chained_q_[i] <= limits::upper[i] + LIMIT_SLACK);
    good = std::abs(jump) <= settings_.max_step && inside && std::abs(chained_v_[i]) <= fastest &&
           std::abs(chained_a_[i]) <= SHARPEST;  // false for a position that is not finite
  }
  if (!good) {
    bool asked_to_hold = true;
    for (std::size_t i = 0; i < N; ++i) {
      asked_to_hold = asked_to_hold && (!settings_.commanded[i] || std::isnan(chained_q_[i]));
    }
    if (!asked_to_hold) {
      counts.add(Cause::reference_refused);
    }
    if (chained_good_) {
      reference.stop_from(t, chained_last_q_, chained_last_v_, Status::canceled, Code::successful, Reason::held);
      chained_good_ = false;
    }
    return false;
  }
  for (std::size_t i = 0; i < N; ++i) {
    if (settings_.commanded[i]) {
      q_d[i] = chained_q_[i];
      v_d[i] = chained_v_[i];
      a_d[i] = chained_a_[i];
      e[i] = continuous[i] ? wrapped(q_d[i] - q[i]) : q_d[i] - q[i];
      ed[i] = v_d[i] - v[i];
    }
  }
  feedforward_.fill(0.0);
  chained_last_q_ = q_d;
  chained_last_v_ = v_d;
  chained_good_ = true;
  return true;
}

void Core::integrate(double dt)
{
  for (std::size_t i = 0; i < N; ++i) {
    if (!(settings_.i[i] > 0.0)) {
      z_[i] = 0.0;
    } else if (guards_.saturated[i] * e[i] <= 0.0) {  // a joint whose command was cut winds no further that way
      z_[i] += e[i] * dt;
    }
  }
}

Vector Core::friction_effort(const Vector & speed) const
{
  Vector out{};
  for (std::size_t i = 0; i < N; ++i) {
    const CompensatedFriction & f = compensated_friction[i];
    double level = f.coulomb;
    if (f.breakaway != f.coulomb) {
      const double ratio = speed[i] / f.stribeck_speed;
      level += (f.breakaway - f.coulomb) * std::exp(-ratio * ratio);
    }
    out[i] = f.viscous * speed[i] + level * std::tanh(speed[i] / f.smoothing) + f.offset;
  }
  return out;
}

/// The efforts of the law; true if they give the acceleration `a_` at the measured state.
bool Core::law(Vector & tau)
{
  const Settings & s = settings_;
  const bool friction = s.friction != FrictionAt::none;
  const bool at_measured = s.law == Law::gravity_compensation ||
                           (s.friction == FrictionAt::measured && s.law != Law::feedforward_pd);
  const Vector F = friction ? friction_effort(at_measured ? v : v_d) : Vector{};
  bool through = false;
  switch (s.law) {
    case Law::computed_torque:
      for (std::size_t i = 0; i < N; ++i) {
        a_[i] = a_d[i] + s.d[i] * ed[i] + s.p[i] * e[i] + s.i[i] * z_[i];
      }
      inverse_dynamics(numbers_, q, v, a_, Loads{}, tau);
      through = true;
      break;
    case Law::joint_impedance:
      a_ = a_d;
      inverse_dynamics(numbers_, q, v, a_, Loads{}, tau);
      for (std::size_t i = 0; i < N; ++i) {
        tau[i] += s.p[i] * e[i] + s.d[i] * ed[i];
      }
      break;
    case Law::feedforward_pd:
      inverse_dynamics(numbers_, q_d, v_d, a_d, Loads{}, tau);
      for (std::size_t i = 0; i < N; ++i) {
        tau[i] += s.p[i] * e[i] + s.d[i] * ed[i] + s.i[i] * z_[i];
      }
      break;
    case Law::pd_gravity:
      gravity_forces(numbers_, q, tau);
      for (std::size_t i = 0; i < N; ++i) {
        tau[i] += s.p[i] * e[i] + s.d[i] * ed[i] + s.i[i] * z_[i];
      }
      break;
    case Law::gravity_compensation:
      gravity_forces(numbers_, q, tau);
      for (std::size_t i = 0; i < N; ++i) {
        tau[i] -= s.d[i] * v[i];
      }
      break;
  }
  for (std::size_t i = 0; i < N; ++i) {
    tau[i] += F[i];
  }
  return through;
}

void Core::blend(Time t, Vector & tau)
{
  if (!blend_active_) {
    return;
  }
  if (blend_pending_) {
    for (std::size_t i = 0; i < N; ++i) {
      blend_offset_[i] = previous_[i] - tau[i];
    }
    blend_start_ = t;
    blend_pending_ = false;
  }
  const double x = static_cast<double>(t - blend_start_) / static_cast<double>(blend_duration_);
  if (x >= 1.0 || x < 0.0) {
    blend_active_ = false;
    return;
  }
  const double share = 0.5 + 0.5 * std::cos(PI * x);
  for (std::size_t i = 0; i < N; ++i) {
    tau[i] += share * blend_offset_[i];
  }
}

const Vector & Core::finish(Time t, double dt, const Vector * measured)
{
  Vector & tau = effort;
  bool altered = idle_;
  if (settings_.add_trajectory_effort && reference.with_effort()) {
    for (std::size_t i = 0; i < N; ++i) {
      tau[i] += feedforward_[i];
    }
    altered = true;
  }
  if (any_external()) {
    for (std::size_t k = 0; k < LOADED; ++k) {
      if (loaded_[k] && t - loaded_since_[k] > nanoseconds(settings_.wrench_timeout)) {
        loaded_[k] = false;
        std::fill_n(loads_.begin() + static_cast<std::ptrdiff_t>(6 * k), 6, 0.0);
        counts.add(Cause::external_wrench_expired);
        start_blend();
      }
    }
    const Vector supplied = efforts_of_external();
    for (std::size_t i = 0; i < N; ++i) {
      tau[i] -= supplied[i];
    }
  }
  const auto silence_idle = [this](Vector & x) {
    for (std::size_t i = 0; i < N; ++i) {
      x[i] = settings_.commanded[i] ? x[i] : 0.0;
    }
  };
  silence_idle(tau);
  blend(t, tau);
  if (!guards_.begin(tau)) {
    return fail();
  }
  if (guards_.near_limits(q, v)) {
    bias_forces(numbers_, q, v, Loads{}, bias_);
    mass_matrix(numbers_, q, inertia_);
    Vector diagonal{};
    for (std::size_t i = 0; i < N; ++i) {
      diagonal[i] = inertia_[i * N + i];
    }
    guards_.limit_motion(tau, q, v, bias_, diagonal);
    silence_idle(tau);
  }
  guards_.limit_effort(tau, fresh_start_ ? tau : previous_, dt);
  guards_.finish(tau);
  command = tau;
  if (settings_.gravity_by_robot) {
    gravity_forces(unloaded_, q, gravity_);
    for (std::size_t i = 0; i < N; ++i) {
      command[i] -= gravity_[i];
    }
    silence_idle(command);
  }
  if (!finite(command)) {
    return fail();
  }
  if (settings_.observer_gain > 0.0 && !(fresh_start_ && measured == nullptr)) {
    observe(dt, measured != nullptr ? *measured : previous_, t);
  }
  if (want_wrenches) {
    compute_wrenches(altered || blend_active_ || guards_.cut, measured, dt);
  } else {
    differentiates_ = false;
  }
  previous_ = tau;
  fresh_start_ = false;
  current = true;
  return command;
}

// -- wrenches and estimates -----------------------------------------------------------------------------------------

bool Core::any_external() const
{
  return std::any_of(loaded_.begin(), loaded_.end(), [](bool x) { return x; });
}

Vector Core::efforts_of_external() const
{
  Vector without{}, with{};
  bias_forces(numbers_, q, Vector{}, Loads{}, without);
  bias_forces(numbers_, q, Vector{}, loads_, with);
  for (std::size_t i = 0; i < N; ++i) {
    without[i] -= with[i];
  }
  return without;
}

void Core::compute_wrenches(bool altered, const Vector * measured, double dt)
{
  const Acceleration source = settings_.acceleration;
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
  } else if (source == Acceleration::commanded && wrenches_current_ && !altered && !any_external()) {
    a = a_;
  } else {
    Vector net = source == Acceleration::measured_effort && measured != nullptr ? *measured : effort;
    if (settings_.friction != FrictionAt::none) {
      const Vector F = friction_effort(v);
      for (std::size_t i = 0; i < N; ++i) {
        net[i] -= F[i];
      }
    }
    forward_dynamics(numbers_, q, v, net, loads_, a);
  }
  joint_wrenches(numbers_, q, v, a, loads_, wrenches);
}

void Core::observe(double dt, const Vector & applied, Time t)
{
  const double K = settings_.observer_gain;
  generalized_momentum(numbers_, q, v, momentum_, known_);
  if (settings_.friction != FrictionAt::none) {
    const Vector F = friction_effort(v);
    for (std::size_t i = 0; i < N; ++i) {
      known_[i] -= F[i];
    }
  }
  for (std::size_t i = 0; i < N; ++i) {
    if (!observer_started_) {
      sum_[i] = momentum_[i] - external[i] / K;
    } else if (dt > 0.0) {
      sum_[i] += dt * (applied[i] + 0.5 * (known_[i] + known_before_[i]));
      external[i] = (momentum_[i] - sum_[i]) * K / (1.0 + K * dt);
      sum_[i] += dt * external[i];
    }
  }
  observer_started_ = true;
  known_before_ = known_;
  if (watch_for_collision(dt)) {
    counts.add(Cause::collision);
    if (settings_.collision_reaction == Reaction::hold && tracks(settings_.law)) {
      reference.stop_from(t, q, v, Status::aborted, Code::invalid_goal, Reason::collision);
      chained_good_ = false;
      start_blend();
    } else if (settings_.collision_reaction == Reaction::gravity && tracks(settings_.law)) {
      reference.stop_from(t, q, v, Status::aborted, Code::invalid_goal, Reason::collision);
      settings_.law = Law::gravity_compensation;
      settings_.d.fill(0.0);
      integrates_ = false;
      z_.fill(0.0);
      mode = Mode::free;
      start_blend();
    }
  }
}

/// True in the cycle in which the flag rises.
bool Core::watch_for_collision(double dt)
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
  above_ = worst > 1.0 ? above_ + dt : 0.0;
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
  const bool was_integrating = integrates_;
  integrates_ = integrating(settings_);
  if (wanted.law != before.law) {
    z_.fill(0.0);
    if (tracks(wanted.law) != tracks(before.law) && mode != Mode::inactive && mode != Mode::safe) {
      reference.stop_from(last_, q, v, Status::canceled, Code::successful, Reason::law_changed);
      chained_good_ = false;
      mode = tracks(wanted.law) ? Mode::hold : Mode::free;
    }
  } else if (was_integrating) {  // Ki z goes on where it was
    for (std::size_t i = 0; i < N; ++i) {
      z_[i] *= wanted.i[i] > 0.0 ? before.i[i] / wanted.i[i] : 0.0;
    }
  }
  const bool same_payload = same(before.payload, wanted.payload);
  if (!same_payload) {
    numbers_ = loaded;
    observer_started_ = false;  // momentum is another one now; the estimate goes on
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
  Event event;
  event.id = motion.id;
  event.status = Status::rejected;
  event.code = Code::invalid_goal;
  event.reason = Reason::not_following;
  reference.lost_events += reference.events.push(event) ? 0 : 1;
  return false;
}

bool Core::adopt(Motion * motion, Time t)
{
  if (!ready_for(*motion) || !reference.adopt(motion, t)) {
    return false;
  }
  mode = Mode::trajectory;
  return true;
}

bool Core::stream(const Motion & point, Time t)
{
  if (!ready_for(point) || !reference.stream(point, t)) {
    return false;
  }
  mode = Mode::stream;
  return true;
}

void Core::hold(Time t)
{
  Vector from_q = q, from_v = v, a{}, tau{};
  if (tracks(settings_.law)) {
    reference.begin_due(t);
    reference.sample(t, from_q, from_v, a, tau);
  }
  reference.stop_from(t, from_q, from_v, Status::canceled, Code::successful, Reason::held);
}

void Core::set_external_wrench(std::size_t link, const std::array<double, 6> & wrench, Time t)
{
  if (link >= LOADED) {
    return;
  }
  for (const double x : wrench) {
    if (!std::isfinite(x)) {
      return;
    }
  }
  if (!loaded_[link]) {
    start_blend();
  }
  std::copy(wrench.begin(), wrench.end(), loads_.begin() + static_cast<std::ptrdiff_t>(6 * link));
  loaded_[link] = true;
  loaded_since_[link] = t;
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
