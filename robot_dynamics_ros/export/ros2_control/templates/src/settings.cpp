#include "@package@/settings.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace @package@
{

namespace
{

std::string per_joint(const char * what, std::size_t i, const char * rule)
{
  return std::string(what) + " of joint '" + joint_names[i] + "' must be " + rule;
}

/// Whether a rigid body can have this inertia: principal moments not negative, none above the sum of the others.
///
/// With s half the trace, s 1 - I is the second moment of mass, which must be positive semi-definite.
bool of_a_body(const std::array<double, 6> & m)
{
  const double s = 0.5 * (m[0] + m[3] + m[5]);
  const double a = s - m[0], b = -m[1], c = -m[2], d = s - m[3], e = -m[4], f = s - m[5];
  const double slack = 1e-9 * (1e-12 + s);
  const double minors[] = {a, d, f};
  const double pairs[] = {a * d - b * b, a * f - c * c, d * f - e * e};
  const double det = a * (d * f - e * e) - b * (b * f - c * e) + c * (b * e - c * d);
  return std::all_of(std::begin(minors), std::end(minors), [=](double x) { return x >= -slack; }) &&
         std::all_of(std::begin(pairs), std::end(pairs), [=](double x) { return x >= -slack * (s + slack); }) &&
         det >= -slack * (s + slack) * (s + slack);
}

}  // namespace

Time nanoseconds(double seconds) { return static_cast<Time>(std::llround(seconds * 1e9)); }

int payload_link(const std::string & name)
{
  const std::size_t k = index_of(PAYLOAD_LINKS, name);
  return k < PAYLOAD_LINKS.size() ? static_cast<int>(k) : -1;
}

std::string text_of(double x)
{
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", x);
  return text.data();
}

std::string problem_with(const Settings & s)
{
  for (std::size_t i = 0; i < N; ++i) {
    if (s.law == Law::computed_torque && s.i[i] > 0.0 && s.i[i] >= s.p[i] * s.d[i]) {
      return per_joint("gains i", i, "less than p times d, or the joint is unstable");
    }
    if (!(s.collision[i] >= 0.0)) {
      return per_joint("collision", i, "not negative");
    }
  }
  if (std::none_of(s.commanded.begin(), s.commanded.end(), [](bool x) { return x; })) {
    return "joints must name at least one joint";
  }
  const bool watched = std::any_of(s.collision.begin(), s.collision.end(), [](double x) { return std::isfinite(x); });
  if (watched && s.observer_gain == 0.0) {
    return "observer_gain is 0 although collisions are watched for";
  }
  if (s.payload.mass > 0.0) {
    if (s.payload.link < 0 || static_cast<std::size_t>(s.payload.link) >= payload_links.size()) {
      return "payload.link must be one of: " + std::string(PAYLOAD_LINK_NAMES);
    }
    for (const double x : s.payload.com) {
      if (!std::isfinite(x)) {
        return "payload.com must be finite";
      }
    }
    if (!of_a_body(s.payload.inertia)) {
      return "payload.inertia is one that no rigid body has";
    }
  }
  return {};
}

Parameters carrying(const Payload & payload)
{
  Parameters numbers = default_parameters();
  if (payload.mass <= 0.0 || payload.link < 0) {
    return numbers;
  }
  const PayloadLink & link = payload_links[static_cast<std::size_t>(payload.link)];
  const LoadedBody & body = loaded_bodies[static_cast<std::size_t>(link.body)];
  const auto & R = link.rotation;
  std::array<double, 3> c2{}, d{};
  for (std::size_t r = 0; r < 3; ++r) {
    c2[r] = link.position[r];
    for (std::size_t k = 0; k < 3; ++k) {
      c2[r] += R[3 * r + k] * payload.com[k];
    }
  }
  // R I R^T, row by row
  const auto & m = payload.inertia;
  const double I[9] = {m[0], m[1], m[2], m[1], m[3], m[4], m[2], m[4], m[5]};
  double RI[9] = {}, rotated[9] = {};
  for (std::size_t r = 0; r < 3; ++r) {
    for (std::size_t c = 0; c < 3; ++c) {
      for (std::size_t k = 0; k < 3; ++k) {
        RI[3 * r + c] += R[3 * r + k] * I[3 * k + c];
      }
    }
  }
  for (std::size_t r = 0; r < 3; ++r) {
    for (std::size_t c = 0; c < 3; ++c) {
      for (std::size_t k = 0; k < 3; ++k) {
        rotated[3 * r + c] += RI[3 * r + k] * R[3 * c + k];
      }
    }
  }
  const double m1 = numbers.*body.mass, m2 = payload.mass, total = m1 + m2, reduced = m1 * m2 / total;
  double squared = 0.0;
  for (std::size_t k = 0; k < 3; ++k) {
    const double c1 = numbers.*body.com[k];
    d[k] = c2[k] - c1;
    squared += d[k] * d[k];
    numbers.*body.com[k] = (m1 * c1 + m2 * c2[k]) / total;
  }
  numbers.*body.mass = total;
  // parallel axes: both bodies about the common centre of mass
  static constexpr std::size_t rows[6] = {0, 0, 0, 1, 1, 2}, columns[6] = {0, 1, 2, 1, 2, 2};
  for (std::size_t k = 0; k < 6; ++k) {
    const std::size_t r = rows[k], c = columns[k];
    numbers.*body.inertia[k] += rotated[3 * r + c] + reduced * ((r == c ? squared : 0.0) - d[r] * d[c]);
  }
  return numbers;
}

}  // namespace @package@
