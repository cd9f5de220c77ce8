// What other threads want of the control cycle: requests, trajectories, and the goals of the action.

#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <mutex>

#include "@package@/outputs.hpp"
#include "control_msgs/action/follow_joint_trajectory.hpp"
#include "rclcpp_action/rclcpp_action.hpp"
#include "realtime_tools/lock_free_queue.hpp"

namespace @package@
{

using Action = control_msgs::action::FollowJointTrajectory;
using GoalHandle = rclcpp_action::ServerGoalHandle<Action>;

/// Other threads put requests in, and delete them later; the cycle takes them out, and waits for nobody.
class Requests
{
public:
  using Request = std::function<void(Core &, Time)>;

  /// False: too many wait.
  bool push(Request request)
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const unsigned long taken = taken_; deleted_ != taken; ++deleted_) {
      requests_.pop_front();
    }
    requests_.push_back(std::move(request));
    const bool pushed = queue_.push(&requests_.back());
    if (!pushed) {
      requests_.pop_back();
    }
    return pushed;
  }

  /// Do what is wanted; to be called in the cycle.
  void take(Core & core, Time t)
  {
    for (Request * request = nullptr; queue_.pop(request); ++taken_) {
      (*request)(core, t);
    }
  }

  /// Forget all; the cycle must not run.
  void clear()
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (Request * request = nullptr; queue_.pop(request);) {
    }
    requests_.clear();
    deleted_ = taken_;
  }

private:
  std::deque<Request> requests_;  // the oldest may have been taken
  realtime_tools::LockFreeSPSCQueue<Request *, 64> queue_;
  std::mutex mutex_;  // of those who put requests in
  std::atomic<unsigned long> taken_{0};
  unsigned long deleted_ = 0;
};

/// A tolerance as an action goal asks for it: 0 keeps the default, -1 lifts it, more sets it.
/// @throws Rejected for any other value.
inline double resolved(double asked, double by_default)
{
  if (asked != -1.0 && !(std::isfinite(asked) && asked >= 0.0)) {
    throw Rejected(Code::invalid_goal, "a tolerance is " + text_of(asked));
  }
  return asked == 0.0 ? by_default : std::max(asked, 0.0);
}

/// The tolerances of a goal. @throws Rejected for a value or a name that is wrong.
inline Tolerances tolerances_of(const Action::Goal & goal, const Tolerances & by_default)
{
  Tolerances t = by_default;
  for (const auto & [rows, requests] : {std::pair(&t.path, &goal.path_tolerance), std::pair(&t.goal, &goal.goal_tolerance)}) {
    for (const auto & asked : *requests) {
      const std::size_t i = index_of(joint_names, asked.name);
      if (i == N) {
        throw Rejected(Code::invalid_goal, "a tolerance names the unknown joint '" + asked.name + "'");
      }
      (*rows)[i] = resolved(asked.position, (*rows)[i]);
      (*rows)[N + i] = resolved(asked.velocity, (*rows)[N + i]);
    }
  }
  t.goal_time = resolved(1e-9 * static_cast<double>(time_of(goal.goal_time_tolerance)), t.goal_time);
  return t;
}

/// Keeps each trajectory until the core has released it, and its goal until it has ended. Not for the cycle.
class Goals
{
public:
  Goals(const rclcpp::Logger & logger, Requests & requests) : logger_(logger), requests_(requests) {}

  /// Have the core follow a trajectory, the goal's if there is one.
  void follow(std::unique_ptr<Motion> motion, const std::shared_ptr<GoalHandle> & handle = nullptr)
  {
    motion->id = next_++;
    const Motion * const followed = motion.get();
    entries_[followed->id] = {std::move(motion), handle};
    if (!requests_.push([followed](Core & core, Time t) { core.adopt(followed, t); })) {
      finish({followed->id, Status::rejected, Reason::busy});
    }
  }

  void finish(const Event & event)
  {
    const bool rejected = event.status == Status::rejected;
    const std::string text = text_of(event);
    if (event.status == Status::aborted || rejected) {
      RCLCPP_WARN(logger_, "trajectory %s: %s", rejected ? "refused" : "aborted", text.c_str());
    }
    const auto entry = entries_.find(event.id);
    if (entry == entries_.end() || event.status == Status::active) {
      return;
    }
    if (const auto handle = std::exchange(entry->second.second, nullptr); handle && handle->is_active()) {
      const auto result = std::make_shared<Action::Result>();
      result->error_code = static_cast<std::int32_t>(code_of(event.reason));
      result->error_string = text;
      if (event.status == Status::succeeded) {
        handle->succeed(result);
      } else if (handle->is_canceling()) {
        handle->canceled(result);
      } else {
        handle->abort(result);
      }
    }
    if (rejected || event.status == Status::released) {
      entries_.erase(entry);
    }
  }

  void publish_feedback(const @prefix@_cycle_memory & cycle, Time now)
  {
    const auto feedback = std::make_shared<Action::Feedback>();
    feedback->header.stamp = stamp_of(now);
    feedback->joint_names = all_joint_names();
    describe(cycle, feedback->desired, feedback->actual, feedback->error);
    for (const auto & [id, entry] : entries_) {
      if (const auto & handle = entry.second; handle && handle->is_active()) {
        handle->publish_feedback(feedback);
      }
    }
  }

private:
  rclcpp::Logger logger_;
  Requests & requests_;
  std::map<unsigned long, std::pair<std::unique_ptr<Motion>, std::shared_ptr<GoalHandle>>> entries_;
  unsigned long next_ = 1;
};

}  // namespace @package@
