// What a robot holds, and how far it may be from its reference.

#pragma once

#include <array>
#include <string>

#include "@package@/robot.hpp"

namespace @package@
{

/// A body held by the robot.
struct Payload
{
  int link = -1;                    ///< row of `payload_links`, -1: none
  double mass = 0.0;                ///< kg
  std::array<double, 3> com{};      ///< m, in the link's frame
  std::array<double, 6> inertia{};  ///< xx xy xz yy yz zz about its centre of mass, link axes, kg m^2
};

/// How far the arm may be from its reference; 0: not watched.
struct Tolerances
{
  Vector path_position{}, path_velocity{}, goal_position{}, goal_velocity{};
  double goal_time = 0.0;  ///< s by which a goal may be late, 0: however long it takes
};

/// Row of `payload_links` of a link, -1 if it cannot carry one.
int payload_link(const std::string & name);

/// The robot's numbers with a payload that `problem_with` finds nothing wrong with.
Parameters carrying(const Payload & payload);

}  // namespace @package@
