// What the controller tells: the topics that the control cycle publishes on, the log, the diagnostics; and what other threads
// want of the cycle: requests, trajectories, and the goals of the action.

#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <mutex>

#include "@package@/core.hpp"
#include "control_msgs/action/follow_joint_trajectory.hpp"
#include "control_msgs/msg/joint_trajectory_controller_state.hpp"
#include "diagnostic_updater/diagnostic_updater.hpp"
#include "geometry_msgs/msg/pose_stamped.hpp"
#include "geometry_msgs/msg/twist_stamped.hpp"
#include "geometry_msgs/msg/wrench_stamped.hpp"
#include "rclcpp/rclcpp.hpp"
#include "rclcpp_action/rclcpp_action.hpp"
#include "rclcpp_lifecycle/lifecycle_node.hpp"
#include "realtime_tools/lock_free_queue.hpp"
#include "realtime_tools/realtime_publisher.hpp"
#include "sensor_msgs/msg/joint_state.hpp"

namespace @package@
{

using Action = control_msgs::action::FollowJointTrajectory;
using GoalHandle = rclcpp_action::ServerGoalHandle<Action>;

constexpr Time SECOND = 1000000000;
constexpr int LOG_PERIOD = 5000;  // ms between two messages of one kind

/// A stamp or a duration, ns.
template <typename Stamp>
Time time_of(const Stamp & stamp) { return static_cast<Time>(stamp.sec) * SECOND + static_cast<Time>(stamp.nanosec); }

inline builtin_interfaces::msg::Time stamp_of(Time t)
{
  builtin_interfaces::msg::Time stamp;
  stamp.sec = static_cast<std::int32_t>(t / SECOND);
  stamp.nanosec = static_cast<std::uint32_t>(t % SECOND);
  return stamp;
}

inline std::vector<std::string> all_joint_names() { return {joint_names.begin(), joint_names.end()}; }

/// One number a joint; an array that has its size already keeps its memory.
inline void assign(std::vector<double> & to, const double * from) { to.assign(from, from + N); }

/// Where the arm should be, is, and how far that is.
template <typename Points>
void describe(const @prefix@_cycle_memory & cycle, Points & desired, Points & actual, Points & error)
{
  assign(desired.positions, cycle.reference);
  assign(desired.velocities, cycle.reference + N);
  assign(desired.accelerations, cycle.reference + 2 * N);
  assign(actual.positions, cycle.q);
  assign(actual.velocities, cycle.v);
  assign(error.positions, cycle.error);
  assign(error.velocities, cycle.error + N);
}

/// One topic.
template <typename Message>
struct Topic
{
  Topic(rclcpp_lifecycle::LifecycleNode & node, const std::string & name)
  : realtime(node.create_publisher<Message>(name, rclcpp::SystemDefaultsQoS())) {}

  void publish(const builtin_interfaces::msg::Time & stamp)
  {
    message.header.stamp = stamp;
    static_cast<void>(realtime.try_publish(message));
  }

  realtime_tools::RealtimePublisher<Message> realtime;
  Message message;  ///< filled in the cycle; its strings and arrays have their size from the start
};

/// Of the tool: where it is, how it moves, and how far it is from where the reference has it.
class ToolTopics
{
public:
  explicit ToolTopics(rclcpp_lifecycle::LifecycleNode & node)
  : pose_(node, "~/pose"), twist_(node, "~/twist"), error_(node, "~/task_error")
  {
    pose_.message.header.frame_id = twist_.message.header.frame_id = error_.message.header.frame_id = ROOT_LINK;
  }

  /// After `core.see_tool()`.
  void publish(const Core & core, const builtin_interfaces::msg::Time & stamp)
  {
    auto & position = pose_.message.pose.position;
    auto & turn = pose_.message.pose.orientation;
    const double * from = core.task.seen_pose;
    for (double * const to : {&position.x, &position.y, &position.z, &turn.x, &turn.y, &turn.z, &turn.w}) {
      *to = *from++;
    }
    fill(twist_.message.twist, core.task.seen_twist);
    fill(error_.message.twist, core.task.seen_error);
    pose_.publish(stamp);
    twist_.publish(stamp);
    error_.publish(stamp);
  }

private:
  static void fill(geometry_msgs::msg::Twist & twist, const double * from)
  {
    for (auto * const part : {&twist.angular, &twist.linear}) {
      part->x = *from++;
      part->y = *from++;
      part->z = *from++;
    }
  }

  Topic<geometry_msgs::msg::PoseStamped> pose_;
  Topic<geometry_msgs::msg::TwistStamped> twist_, error_;
};

/// All of them. Nothing here but the constructor allocates.
class Topics
{
public:
  Topics(rclcpp_lifecycle::LifecycleNode & node, const Core & core)
  : reference_(node, "~/reference"), error_(node, "~/error"), external_efforts_(node, "~/external_efforts"),
    state_(node, "~/controller_state")
  {
    for (std::size_t j = 0; j < N; ++j) {
      wrenches_.emplace_back(node, std::string("~/joint_wrenches/") + TOPIC_NAMES[j]);
      wrenches_[j].message.header.frame_id = child_links[j];
    }
    for (auto * topic : {&reference_, &error_, &external_efforts_}) {
      topic->message.name = all_joint_names();
    }
    state_.message.joint_names = all_joint_names();
    state_.message.speed_scaling_factor = 1.0;
    if (core.settings().has_tool) {
      tool_ = std::make_unique<ToolTopics>(node);
    }
    fill(core);
  }

  void publish(Core & core, const builtin_interfaces::msg::Time & stamp)
  {
    if (tool_) {
      core.see_tool();
      tool_->publish(core, stamp);
    }
    fill(core);
    reference_.publish(stamp);
    error_.publish(stamp);
    state_.publish(stamp);
    if (core.observer.gain[0] > 0.0) {
      external_efforts_.publish(stamp);
    }
  }

  void publish_wrenches(const Core & core, const builtin_interfaces::msg::Time & stamp)
  {
    const double * row = core.cycle.wrenches;
    for (auto & topic : wrenches_) {
      for (auto * const vector : {&topic.message.wrench.torque, &topic.message.wrench.force}) {
        vector->x = *row++;
        vector->y = *row++;
        vector->z = *row++;
      }
      topic.publish(stamp);
    }
  }

private:
  void fill(const Core & core)
  {
    const auto & cycle = core.cycle;
    assign(reference_.message.position, cycle.reference);
    assign(reference_.message.velocity, cycle.reference + N);
    assign(reference_.message.effort, cycle.effort);
    assign(error_.message.position, cycle.error);
    assign(error_.message.velocity, cycle.error + N);
    assign(external_efforts_.message.effort, core.observer.effort);
    auto & state = state_.message;
    describe(cycle, state.reference, state.feedback, state.error);
    assign(state.output.effort, cycle.command);
  }

  std::unique_ptr<ToolTopics> tool_;
  std::deque<Topic<geometry_msgs::msg::WrenchStamped>> wrenches_;
  Topic<sensor_msgs::msg::JointState> reference_, error_, external_efforts_;
  Topic<control_msgs::msg::JointTrajectoryControllerState> state_;
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

  void update(const Shown & s)
  {
    const auto logger = node_.get_logger();
    auto & clock = *node_.get_clock();
    const bool safe = s.mode() == Mode::safe, changed = safe != (newest_.mode() == Mode::safe);
    const auto refused = static_cast<std::size_t>(Cause::reference_refused);
    const auto of_targets = static_cast<std::size_t>(Cause::target_late);
    for (std::size_t k = 0; k < TARGET_WORDS.size(); ++k) {
      if (s.counts[of_targets + k] > newest_.counts[of_targets + k]) {
        RCLCPP_WARN_THROTTLE(
          logger, clock, LOG_PERIOD, "target of the tool refused: %s [%s, %lu so far]", TARGET_WORDS[k],
          CAUSE_NAMES[of_targets + k], s.counts[of_targets + k]);
      }
    }
    refusing_ = s.counts[refused] > newest_.counts[refused];
    newest_ = s;
    if (changed && safe) {
      RCLCPP_ERROR_THROTTLE(
        logger, clock, LOG_PERIOD, "safe command: %s",
        s.fault() != Reason::none ? text_of(s.fault()) : "no good joint state in time");
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
    const Shown & s = newest_;
    const bool warn = s.collision.flag[0] != 0 || refusing_;
    status.summary(s.mode() == Mode::safe ? Level::ERROR : warn ? Level::WARN : Level::OK, name_of(s.mode()));
    status.add("mode", name_of(s.mode()));
    for (std::size_t k = 0; k < s.counts.size(); ++k) {
      if (s.counts[k] > 0) {
        status.add(CAUSE_NAMES[k], s.counts[k]);
      }
    }
  }

  rclcpp_lifecycle::LifecycleNode & node_;
  diagnostic_updater::Updater updater_;
  Shown newest_;
  bool refusing_ = false;
};

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
    Motion * const followed = motion.get();
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
