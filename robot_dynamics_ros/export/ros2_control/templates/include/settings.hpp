// Checks of the controller's settings, and their units.

#pragma once

#include <cstdint>
#include <string>

#include "@package@/parameters.hpp"
#include "@package@/words.hpp"

namespace @package@
{

using Time = std::int64_t;  ///< ns of the clock that the controller's update is called with

/// A number with six significant digits, for a sentence.
std::string text_of(double x);

/// What is wrong with settings, as a sentence; empty if nothing is.
std::string problem_with(const Settings & settings);

/// Seconds as nanoseconds.
Time nanoseconds(double seconds);

}  // namespace @package@
