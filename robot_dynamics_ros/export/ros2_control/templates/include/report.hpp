// What the controller logs and reports of its state.

#pragma once

#include "@package@/core.hpp"
#include "diagnostic_updater/diagnostic_updater.hpp"
#include "rclcpp_lifecycle/lifecycle_node.hpp"

namespace @package@
{

constexpr int LOG_PERIOD = 5000;  // ms between two messages of one kind

/// What the cycle tells other threads from time to time.
struct Snapshot
{
  Shown shown;
  bool collision = false;
  unsigned long write_failures = 0, read_failures = 0;
};

/// Logs what has changed, and makes the diagnostics. Not for the cycle.
class Report
{
public:
  explicit Report(const std::shared_ptr<rclcpp_lifecycle::LifecycleNode> & node) : node_(*node), updater_(node)
  {
    updater_.setHardwareID("@robot@");
    updater_.add("control", this, &Report::diagnose);
  }

  void update(const Snapshot & snapshot)
  {
    const Shown & s = snapshot.shown;
    const auto logger = node_.get_logger();
    auto & clock = *node_.get_clock();
    const bool safe = s.mode == Mode::safe, changed = safe != (newest_.shown.mode == Mode::safe);
    const auto refused = static_cast<std::size_t>(Cause::reference_refused);
    refusing_ = s.counts[refused] > newest_.shown.counts[refused];
    newest_ = snapshot;
    if (changed && safe) {
      RCLCPP_ERROR_THROTTLE(
        logger, clock, LOG_PERIOD, "safe command: %s",
        s.fault ? text_of(s.fault_reason) : "no good joint state in time");
    } else if (changed) {
      RCLCPP_INFO_THROTTLE(logger, clock, LOG_PERIOD, "recovered: holding");
    }
    // a controller before this one goes on as if it were followed: somebody has to say that it is not
    if (refusing_) {
      RCLCPP_WARN_THROTTLE(
        logger, clock, LOG_PERIOD,
        "chained references are refused: a position is beyond a limit, or a step is larger than max_step. The arm holds "
        "until a reference is near its position [reference_refused, %lu so far]",
        s.counts[refused]);
    }
    if (changed) {
      updater_.force_update();
    }
  }

private:
  void diagnose(diagnostic_updater::DiagnosticStatusWrapper & status)
  {
    using Level = diagnostic_msgs::msg::DiagnosticStatus;
    const Shown & s = newest_.shown;
    const bool warn = newest_.collision || refusing_;
    status.summary(s.mode == Mode::safe ? Level::ERROR : warn ? Level::WARN : Level::OK, name_of(s.mode));
    status.add("mode", name_of(s.mode));
    for (std::size_t k = 0; k < s.counts.size(); ++k) {
      if (s.counts[k] > 0) {
        status.add(CAUSE_NAMES[k], s.counts[k]);
      }
    }
    status.add("state_not_read", newest_.read_failures);
    status.add("command_not_written", newest_.write_failures);
  }

  rclcpp_lifecycle::LifecycleNode & node_;
  diagnostic_updater::Updater updater_;
  Snapshot newest_;
  bool refusing_ = false;
};

}  // namespace @package@
