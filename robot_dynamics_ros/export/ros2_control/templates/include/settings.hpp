// Checks of the controller's settings.

#pragma once

#include <string>

#include "@package@/parameters.hpp"
#include "@package@/words.hpp"

namespace @package@
{

/// A number with six significant digits, for a sentence.
std::string text_of(double x);

/// What is wrong with settings, as a sentence; empty if nothing is.
std::string problem_with(const Settings & settings);

/// The robot's numbers with a payload that `problem_with` finds nothing wrong with.
Parameters carrying(const Payload & payload);

}  // namespace @package@
