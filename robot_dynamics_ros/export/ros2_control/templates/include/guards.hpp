// The last stage before an effort leaves: motion near limits, then rate, then size of the effort.

#pragma once

#include <array>
#include <cstddef>

#include "@package@/settings.hpp"

namespace @package@
{

/// Causes that are counted.
enum class Cause : std::size_t
{
  non_finite_state,
  time_still,
  time_late,
  time_backwards,
  stale_state,
  fault,
  non_finite_effort,
  position_zone,
  velocity_limit,
  effort_rate,
  effort_limit,
  tolerance_violated,
  external_wrench_expired,
  collision,
  reference_refused,
  state_jump,
  COUNT,
};

constexpr std::array<const char *, static_cast<std::size_t>(Cause::COUNT)> CAUSE_NAMES = {
  "non_finite_state", "time_still",        "time_late",    "time_backwards",     "stale_state",
  "fault",            "non_finite_effort", "position_zone", "velocity_limit",     "effort_rate",
  "effort_limit",     "tolerance_violated", "external_wrench_expired", "collision", "reference_refused",
  "state_jump",
};

/// How often each cause was met.
class Counts
{
public:
  void add(Cause cause, unsigned long n = 1) { counts_[static_cast<std::size_t>(cause)] += n; }
  unsigned long operator[](Cause cause) const { return counts_[static_cast<std::size_t>(cause)]; }

private:
  std::array<unsigned long, static_cast<std::size_t>(Cause::COUNT)> counts_{};
};

/// The limits of one configuration.
class Guards
{
public:
  Guards(const Settings & settings, Counts & counts);

  /// Note what the law asks for; false if any of it is not finite.
  bool begin(const Vector & tau);

  /// Whether a joint is in a soft zone, about to brake for one, or above 95 % of its velocity limit.
  bool near_limits(const Vector & q, const Vector & v);

  /// Keep joints near a limit from being driven on towards it.
  ///
  /// The effort is bounded around the one that keeps the velocity, `bias` = C v + g, by inertia x rate x (allowed - present
  /// velocity), plus what the joint's friction takes.
  /// @param inertia diagonal of the mass matrix.
  void limit_motion(Vector & tau, const Vector & q, const Vector & v, const Vector & bias, const Vector & inertia);

  /// Limit the change since `previous`, dt s ago, then the size.
  void limit_effort(Vector & tau, const Vector & previous, double dt);

  /// Note what is let through, for anti-windup.
  void finish(const Vector & tau);

  Vector effort_limit;
  Vector saturated{};  ///< sign of the last command's excess over what was let through
  bool cut = false;    ///< whether anything was cut since begin()

private:
  double approach(double distance, double limit, std::size_t i) const;

  Counts & counts_;
  Vector effort_rate_, velocity_limit_, lower_, upper_, margin_, deceleration_, centre_, half_, reach_, creep_;
  Vector asked_{};
  std::array<bool, N> near_{};
};

}  // namespace @package@
