// The ros2_control layer: interfaces, topics, services and parameters around the core.
//
// Other threads put requests into a queue; the cycle takes them out, calls the core, and gives them back through another
// queue to be deleted outside. The cycle itself allocates nothing, waits for nothing and logs nothing.

#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>

#include "@package@/@package@_parameters.hpp"
#include "@package@/core.hpp"
#include "control_msgs/action/follow_joint_trajectory.hpp"
#include "control_msgs/msg/joint_trajectory_controller_state.hpp"
#include "controller_interface/chainable_controller_interface.hpp"
#include "diagnostic_msgs/msg/diagnostic_array.hpp"
#include "geometry_msgs/msg/wrench_stamped.hpp"
#include "rclcpp/rclcpp.hpp"
#include "rclcpp_action/rclcpp_action.hpp"
#include "rclcpp_lifecycle/state.hpp"
#include "realtime_tools/lock_free_queue.hpp"
#include "realtime_tools/realtime_publisher.hpp"
#include "sensor_msgs/msg/joint_state.hpp"
#include "std_srvs/srv/trigger.hpp"
#include "trajectory_msgs/msg/joint_trajectory.hpp"
#include "trajectory_msgs/msg/joint_trajectory_point.hpp"

namespace @package@
{

class ComputedTorqueController : public controller_interface::ChainableControllerInterface
{
public:
  using CallbackReturn = controller_interface::CallbackReturn;

  ~ComputedTorqueController() override;

  CallbackReturn on_init() override;
  CallbackReturn on_configure(const rclcpp_lifecycle::State & previous) override;
  CallbackReturn on_activate(const rclcpp_lifecycle::State & previous) override;
  CallbackReturn on_deactivate(const rclcpp_lifecycle::State & previous) override;
  CallbackReturn on_error(const rclcpp_lifecycle::State & previous) override { return on_cleanup(previous); }
  CallbackReturn on_cleanup(const rclcpp_lifecycle::State &) override
  {
    release();
    return CallbackReturn::SUCCESS;
  }

  controller_interface::InterfaceConfiguration command_interface_configuration() const override;
  controller_interface::InterfaceConfiguration state_interface_configuration() const override;

  /// Nothing: requests are taken in update_and_write_commands, in chained mode too.
  controller_interface::return_type update_reference_from_subscribers(
    const rclcpp::Time &, const rclcpp::Duration &) override
  {
    return controller_interface::return_type::OK;
  }
  controller_interface::return_type update_and_write_commands(
    const rclcpp::Time & time, const rclcpp::Duration & period) override;

protected:
  std::vector<hardware_interface::CommandInterface::SharedPtr> on_export_reference_interfaces_list() override;
  bool on_set_chained_mode(bool chained_mode) override 
  {
    chained_ = chained_mode;
    return true;
  }

private:
  using Action = control_msgs::action::FollowJointTrajectory;
  using GoalHandle = rclcpp_action::ServerGoalHandle<Action>;
  using JointTrajectory = trajectory_msgs::msg::JointTrajectory;
  using JointTrajectoryPoint = trajectory_msgs::msg::JointTrajectoryPoint;
  using JointState = sensor_msgs::msg::JointState;
  using WrenchStamped = geometry_msgs::msg::WrenchStamped;
  using ControllerState = control_msgs::msg::JointTrajectoryControllerState;
  using DiagnosticArray = diagnostic_msgs::msg::DiagnosticArray;
  using Trigger = std_srvs::srv::Trigger;

  /// What another thread wants of the cycle; deleted outside it.
  using Request = std::function<void(Core &, Time)>;
  static constexpr auto HOLD = [](Core & core, Time t) { core.hold(t); };

  /// What the cycle tells other threads from time to time.
  struct Snapshot
  {
    Shown shown;
    bool collision = false;
    unsigned long write_failures = 0, read_failures = 0;
  };

  /// A topic that the cycle publishes on.
  template <typename Message>
  struct Topic
  {
    std::unique_ptr<realtime_tools::RealtimePublisher<Message>> realtime;
    Message message;  ///< filled in the cycle; its strings and arrays have their size from the start
  };

  /// Everything that is there from configuring until cleaning up.
  struct Connections
  {
    std::array<Topic<WrenchStamped>, N> wrenches;
    Topic<JointState> reference, error, external_efforts;
    Topic<ControllerState> state;
    rclcpp::Publisher<DiagnosticArray>::SharedPtr diagnostics;
    rclcpp::Subscription<JointTrajectory>::SharedPtr trajectory_in;
    rclcpp::Subscription<JointTrajectoryPoint>::SharedPtr point_in;
    rclcpp::Subscription<WrenchStamped>::SharedPtr wrench_in;
    rclcpp::Service<Trigger>::SharedPtr hold;
    rclcpp::TimerBase::SharedPtr timer;
    rclcpp::node_interfaces::OnSetParametersCallbackHandle::SharedPtr parameter_check;
    rclcpp::node_interfaces::PostSetParametersCallbackHandle::SharedPtr parameter_change;
  };

  // -- configuration and parameters (not in the cycle)
  void advertise_topics();
  void listen();
  template <typename Message>
  void advertise(Topic<Message> & topic, const std::string & name);
  template <typename Interfaces>
  bool locate(
    const std::vector<std::string> & names, const Interfaces & interfaces, std::vector<std::size_t> & at) const;
  std::string read(Settings & settings, const std::vector<rclcpp::Parameter> & changes) const;
  void read_rates();
  void take_over_parameters();
  void release();

  // -- requests, and what is told (not in the cycle)
  bool running() const { return running_.load(std::memory_order_acquire); }
  void require_running() const;
  bool push(Request request);
  bool push(std::unique_ptr<Motion> motion);
  void on_trajectory(const JointTrajectory & message);
  void on_point(const JointTrajectoryPoint & message);
  void on_wrench(const WrenchStamped & message);
  rclcpp_action::GoalResponse on_goal(const Action::Goal & goal);
  void on_accepted(const std::shared_ptr<GoalHandle> & handle);
  std::unique_ptr<Motion> motion_of(const JointTrajectory & message) const;
  Tolerances tolerances_of(const Action::Goal & goal) const;
  void housekeeping();
  void finish_goal(const Event & event, Code code);
  void publish_feedback(const Snapshot & snapshot);
  void report(const Snapshot & snapshot);
  void publish_diagnostics(const Snapshot & snapshot);

  // -- the cycle
  std::size_t kinds_of_state() const { return use_effort_state_ ? 3 : 2; }
  bool read_state();
  void read_references();
  void take_requests(Time t);
  void write(const double * command);
  void hand_out(Time t);
  void fill_messages();
  void publish_wrenches(const builtin_interfaces::msg::Time & stamp);

  std::shared_ptr<ParamListener> parameters_;
  std::atomic<bool> parameters_changed_{false};
  Settings settings_;                 ///< as last accepted
  std::vector<std::size_t> joints_;   ///< commanded, in the order of the parameter
  bool use_effort_state_ = false;

  std::unique_ptr<Core> core_;
  std::atomic<bool> running_{false}, chained_{false}, same_clock_{true};
  std::atomic<Time> cycle_time_{0}, clock_offset_{0};
  std::atomic<std::int64_t> wrench_divisor_{1}, publish_period_{20000000};

  // queues between the cycle and everything else
  static constexpr std::size_t QUEUE = 64;
  realtime_tools::LockFreeSPSCQueue<Request *, QUEUE> requests_, answered_;
  realtime_tools::LockFreeSPSCQueue<Motion *, QUEUE> motions_;
  realtime_tools::LockFreeSPSCQueue<Event, 4 * QUEUE> events_;
  realtime_tools::LockFreeSPSCQueue<Snapshot, 4> snapshots_;
  std::mutex request_mutex_;  ///< of those who put requests in, never of the cycle

  // memory of the cycle
  std::array<Vector, 3> state_{};  ///< positions, velocities, efforts
  std::vector<std::size_t> state_at_, command_at_;
  bool started_ = false;
  unsigned long write_failures_ = 0, read_failures_ = 0;
  std::int64_t cycles_ = 0;
  Time published_ = 0, snapshot_taken_ = 0;

  std::unique_ptr<Connections> io_;
  rclcpp_action::Server<Action>::SharedPtr action_;
  std::map<unsigned long, std::shared_ptr<GoalHandle>> goals_;
  unsigned long next_goal_ = 1;
  Time feedback_due_ = 0, diagnostics_due_ = 0, feedback_period_ = 50000000;
  bool was_safe_ = false, changed_ = false, refusing_ = false;
  unsigned long told_refusals_ = 0;
};

}  // namespace @package@
