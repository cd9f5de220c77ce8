// Checks of the controller's settings.

#pragma once

#include <sstream>
#include <string>

#include "@package@/parameters.hpp"
#include "@package@/words.hpp"

namespace @package@
{

/// A number with six significant digits, for a sentence.
inline std::string text_of(double x)
{
  std::ostringstream text;
  text << x;
  return text.str();
}

/// What is wrong with settings, as a sentence; empty if nothing is.
inline std::string problem_with(const Settings & s)
{
  for (std::size_t i = 0; i < N; ++i) {
    if (s.law == Law::computed_torque && s.i[i] > 0.0 && s.i[i] >= s.p[i] * s.d[i]) {
      return std::string("gains i of joint '") + joint_names[i] + "' must be less than p times d, or the joint is unstable";
    }
    if (s.observer_gain == 0.0 && std::isfinite(s.collision[i])) {
      return "observer_gain is 0 although collisions are watched for";
    }
  }
  const auto & body = s.payload.body;
  if (body[0] > 0.0 && s.payload.link >= PAYLOAD_LINKS.size()) {
    return "payload.link must be one of: " + std::string(PAYLOAD_LINK_NAMES);
  }
  if (body[0] > 0.0 && !std::all_of(&body[1], &body[4], [](double x) { return std::isfinite(x); })) {
    return "payload.com must be finite";
  }
  return body[0] > 0.0 && !@prefix@_cycle_possible_inertia(&body[4]) ? "payload.inertia is one that no rigid body has" : "";
}

/// The robot's numbers with a payload that `problem_with` finds nothing wrong with.
inline Parameters carrying(const Payload & payload)
{
  Parameters numbers = @prefix@_default_parameters;
  if (payload.body[0] > 0.0 && payload.link < payload_links.size()) {
    const PayloadLink & link = payload_links[payload.link];
    @prefix@_attach(reinterpret_cast<double *>(&numbers) + link.first, link.placement.data(), payload.body.data());
  }
  return numbers;
}

}  // namespace @package@
