#include "@package@/guards.hpp"

#include <algorithm>
#include <cmath>

namespace @package@
{

namespace
{

constexpr double STOP_TIME = 0.25, PLAIN_DECELERATION = 5.0;
constexpr double ZONE_RATE = 10.0;     // 1/s, allowed speed towards a limit over the distance to it
constexpr double BRAKING_RATE = 50.0;  // 1/s, how hard an excess of speed is braked
constexpr double LAST = 0.01;          // share of the soft zone in which no friction is allowed for
constexpr double FADE = 0.1;           // share of overspeed over which the allowance for friction fades out

double sign(double x) { return x > 0.0 ? 1.0 : (x < 0.0 ? -1.0 : 0.0); }

/// Effort that friction may take on the way up to `fastest`.
double allowance(double v, double fastest, std::size_t i, double creep)
{
  const double over = std::max(v - fastest, 0.0) / std::max(FADE * fastest, 1e-9);
  const double share = std::clamp(std::min(1.0 - over, (fastest - creep) / std::max(creep, 1e-9)), 0.0, 1.0);
  return share * (joint_friction[i] + joint_damping[i] * std::max(v, 0.0));
}

}  // namespace

Guards::Guards(const Settings & s, Counts & counts) : counts_(counts)
{
  for (std::size_t i = 0; i < N; ++i) {
    effort_limit[i] = std::min(limits::effort[i], s.effort_limit[i]);
    if (s.effort_scale < 1.0) {
      effort_limit[i] *= s.effort_scale;
    }
    effort_rate_[i] = s.effort_rate[i];
    velocity_limit_[i] = limits::velocity[i] * s.velocity_scale;
    const bool usable = std::isfinite(velocity_limit_[i]) && velocity_limit_[i] > 0.0;
    deceleration_[i] = usable ? velocity_limit_[i] / STOP_TIME : PLAIN_DECELERATION;
    lower_[i] = s.commanded[i] ? limits::lower[i] : -INFINITE;
    upper_[i] = s.commanded[i] ? limits::upper[i] : INFINITE;
    if (!s.commanded[i]) {
      velocity_limit_[i] = INFINITE;
    }
    margin_[i] = std::min(s.position_margin, 0.25 * (upper_[i] - lower_[i]));
    reach_[i] = 0.75 / deceleration_[i];
    const bool low = std::isfinite(lower_[i]), high = std::isfinite(upper_[i]);
    centre_[i] = low && high ? 0.5 * (lower_[i] + upper_[i]) : 0.0;
    half_[i] = low && high ? 0.5 * (upper_[i] - lower_[i]) - margin_[i] : (low != high ? -INFINITE : INFINITE);
    creep_[i] = LAST * ZONE_RATE * margin_[i];
  }
}

bool Guards::begin(const Vector & tau)
{
  double sum = 0.0;
  for (const double x : tau) {
    sum += x * x;
  }
  if (!std::isfinite(sum)) {
    counts_.add(Cause::non_finite_effort);
    return false;
  }
  cut = false;
  asked_ = tau;
  return true;
}

bool Guards::near_limits(const Vector & q, const Vector & v)
{
  bool any = false;
  for (std::size_t i = 0; i < N; ++i) {
    const double fast = 0.95 * velocity_limit_[i];
    near_[i] = v[i] * v[i] > fast * fast || v[i] * v[i] * reach_[i] + std::abs(q[i] - centre_[i]) > half_[i];
    any = any || near_[i];
  }
  return any;
}

double Guards::approach(double distance, double limit, std::size_t i) const
{
  const double within = ZONE_RATE * margin_[i];
  const double braking = std::sqrt(within * within + 2.0 * deceleration_[i] * std::max(distance - margin_[i], 0.0));
  return std::clamp(distance < margin_[i] ? ZONE_RATE * distance : braking, -limit, limit);
}

void Guards::limit_motion(Vector & tau, const Vector & q, const Vector & v, const Vector & bias, const Vector & inertia)
{
  for (std::size_t i = 0; i < N; ++i) {
    if (!near_[i]) {
      continue;
    }
    const double limit = velocity_limit_[i];
    const double slowest = -approach(q[i] - lower_[i], limit, i), fastest = approach(upper_[i] - q[i], limit, i);
    const double high = bias[i] + inertia[i] * BRAKING_RATE * (fastest - v[i]) + allowance(v[i], fastest, i, creep_[i]);
    const double low = bias[i] + inertia[i] * BRAKING_RATE * (slowest - v[i]) - allowance(-v[i], -slowest, i, creep_[i]);
    const double slack = 1e-6 * (1.0 + std::abs(bias[i]));  // rounding is no hit
    if (tau[i] < low - slack || tau[i] > high + slack) {
      cut = true;
      counts_.add(slowest > -limit || fastest < limit ? Cause::position_zone : Cause::velocity_limit);
      tau[i] = std::min(std::max(tau[i], low), high);
    }
  }
}

void Guards::limit_effort(Vector & tau, const Vector & previous, double dt)
{
  for (std::size_t i = 0; i < N; ++i) {
    if (const double step = effort_rate_[i] * dt; dt > 0.0 && std::abs(tau[i] - previous[i]) > step) {
      cut = true;
      counts_.add(Cause::effort_rate);
      tau[i] = std::clamp(tau[i], previous[i] - step, previous[i] + step);
    }
    if (std::abs(tau[i]) > effort_limit[i]) {
      cut = true;
      counts_.add(Cause::effort_limit);
      tau[i] = std::clamp(tau[i], -effort_limit[i], effort_limit[i]);
    }
  }
}

void Guards::finish(const Vector & tau)
{
  for (std::size_t i = 0; i < N; ++i) {
    saturated[i] = cut ? sign(asked_[i] - tau[i]) : 0.0;
  }
}

}  // namespace @package@
