// The ros2_control layer: interfaces, topics, services and parameters around the core.
//
// Other threads put requests into a queue; the cycle takes them out and calls the core. What it has to tell goes through
// queues, too. The cycle itself allocates nothing, waits for nothing and logs nothing.

#pragma once

#include <chrono>

#include "@package@/@package@_parameters.hpp"
#include "@package@/exchange.hpp"
#include "controller_interface/chainable_controller_interface.hpp"
#include "controller_interface/helpers.hpp"
#include "hardware_interface/types/hardware_interface_type_values.hpp"
#include "rclcpp_lifecycle/state.hpp"
#include "std_srvs/srv/trigger.hpp"
#include "trajectory_msgs/msg/joint_trajectory.hpp"
#include "trajectory_msgs/msg/joint_trajectory_point.hpp"
#include "trajectory_msgs/msg/multi_dof_joint_trajectory.hpp"

namespace @package@
{

class ComputedTorqueController : public controller_interface::ChainableControllerInterface
{
public:
  using CallbackReturn = controller_interface::CallbackReturn;
  using Outcome = controller_interface::return_type;

  ~ComputedTorqueController() override { release(); }

  // -- life cycle ---------------------------------------------------------------------------------------------------

  CallbackReturn on_init() override
  {
    try {
      parameters_ = std::make_shared<ParamListener>(get_node());
    } catch (const std::exception & error) {
      RCLCPP_ERROR(get_node()->get_logger(), "parameters: %s", error.what());
      return CallbackReturn::ERROR;
    }
    return CallbackReturn::SUCCESS;
  }

  CallbackReturn on_configure(const rclcpp_lifecycle::State &) override
  {
    const auto node = get_node();
    release();
    joints_.clear();
    names_ = node->get_parameter("joints").as_string_array();
    for (const std::string & name : names_) {
      joints_.push_back(index_of(joint_names, name));
      if (joints_.back() == N) {
        RCLCPP_ERROR(node->get_logger(), "parameter 'joints': the robot has no joint '%s'", name.c_str());
        return CallbackReturn::ERROR;
      }
      auto_declare<double>("collision." + name, 0.0);
    }
    if (const std::string problem = read(settings_, {}); !problem.empty()) {
      RCLCPP_ERROR(node->get_logger(), "parameters: %s", problem.c_str());
      return CallbackReturn::ERROR;
    }
    parameters_changed_ = false;
    use_effort_state_ = node->get_parameter("use_effort_state").as_bool();
    feedback_period_ = nanoseconds(1.0 / node->get_parameter("action_monitor_rate").as_double());
    core_ = std::make_unique<Core>(settings_);
    topics_ = std::make_unique<Topics>(*node, *core_);
    report_ = std::make_unique<Report>(node);
    goals_ = std::make_unique<Goals>(node->get_logger(), requests_);
    listen();
    RCLCPP_INFO(
      node->get_logger(), "configured for '@robot@': %zu of %zu joints", joints_.size(), static_cast<std::size_t>(N));
    return CallbackReturn::SUCCESS;
  }

  CallbackReturn on_activate(const rclcpp_lifecycle::State &) override
  {
    using controller_interface::get_ordered_interfaces;
    states_.clear();
    commands_.clear();
    if (
      !get_ordered_interfaces(state_interfaces_, state_interface_configuration().names, "", states_) ||
      !get_ordered_interfaces(command_interfaces_, command_interface_configuration().names, "", commands_)) {
      RCLCPP_ERROR(get_node()->get_logger(), "the hardware does not offer every interface that this controller claims");
      commands_.clear();
      return CallbackReturn::ERROR;
    }
    for (const auto & interface : ordered_exported_reference_interfaces_) {
      static_cast<void>(interface->set_value(NOT_A_NUMBER));
    }
    started_ = false;
    published_ = snapshot_taken_ = 0;
    running_.store(true, std::memory_order_release);
    return CallbackReturn::SUCCESS;
  }

  CallbackReturn on_deactivate(const rclcpp_lifecycle::State &) override
  {
    running_.store(false, std::memory_order_release);
    write(core_->deactivate());
    commands_.clear();
    hand_out_events();
    take_snapshot();
    return CallbackReturn::SUCCESS;
  }

  CallbackReturn on_cleanup(const rclcpp_lifecycle::State &) override
  {
    release();
    return CallbackReturn::SUCCESS;
  }
  CallbackReturn on_error(const rclcpp_lifecycle::State & previous) override { return on_cleanup(previous); }

  // -- interfaces ---------------------------------------------------------------------------------------------------

  controller_interface::InterfaceConfiguration command_interface_configuration() const override
  {
    std::vector<std::string> claimed;
    for (const std::string & joint : names_) {
      claimed.push_back(joint + "/" + hardware_interface::HW_IF_EFFORT);
    }
    return {controller_interface::interface_configuration_type::INDIVIDUAL, claimed};
  }

  controller_interface::InterfaceConfiguration state_interface_configuration() const override
  {
    using namespace hardware_interface;  // NOLINT
    std::vector<std::string> claimed;
    for (const std::string joint : joint_names) {
      for (std::size_t k = 0; k < kinds_of_state(); ++k) {
        claimed.push_back(joint + "/" + std::array{HW_IF_POSITION, HW_IF_VELOCITY, HW_IF_EFFORT}[k]);
      }
    }
    return {controller_interface::interface_configuration_type::INDIVIDUAL, claimed};
  }

  // -- the cycle ----------------------------------------------------------------------------------------------------

  /// Nothing: requests are taken in update_and_write_commands, in chained mode too.
  Outcome update_reference_from_subscribers(const rclcpp::Time &, const rclcpp::Duration &) override { return Outcome::OK; }

  Outcome update_and_write_commands(const rclcpp::Time & time, const rclcpp::Duration &) override
  {
    const Time t = time.nanoseconds();
    same_clock_.store(time.get_clock_type() == get_node()->get_clock()->get_clock_type(), std::memory_order_relaxed);
    cycle_time_.store(t, std::memory_order_relaxed);
    const bool readable = read_state();
    if (!started_) {
      started_ = readable && core_->activate(t, state_[0], state_[1]);
      if (!started_) {
        write(core_->safe_command());
        return Outcome::OK;
      }
    }
    requests_.take(*core_, t);
    const Settings & settings = core_->settings();
    const bool wrenches_due = cycles_++ % std::max<Time>(1, settings.wrench_divisor) == 0;
    core_->cycle.want_wrenches[0] = wrenches_due || core_->differentiates();
    const Vector * const efforts = use_effort_state_ ? &state_[2] : nullptr;
    const bool done = readable && core_->update(t, state_[0], state_[1], efforts, read_references());
    if (!done) {
      core_->watch(t);
    }
    write(core_->cycle.command);
    const auto stamp = stamp_of(t + clock_offset_.load(std::memory_order_relaxed));
    if (done && wrenches_due) {
      topics_->publish_wrenches(*core_, stamp);
    }
    hand_out_events();
    if (t - published_ >= nanoseconds(1.0 / settings.publish_rate) || t < published_) {
      published_ = t;
      topics_->publish(*core_, stamp);
    }
    if (t - snapshot_taken_ >= SECOND / 50 || t < snapshot_taken_) {
      snapshot_taken_ = t;
      take_snapshot();
    }
    return core_->fault() != Reason::none ? Outcome::ERROR : Outcome::OK;  // ERROR: the controller manager deactivates us
  }

  /// For tests: what the cycle works on.
  const Core & core() const { return *core_; }

protected:
  std::vector<hardware_interface::CommandInterface::SharedPtr> on_export_reference_interfaces_list() override
  {
    using namespace hardware_interface;  // NOLINT
    std::vector<CommandInterface::SharedPtr> interfaces;
    for (const char * what : {HW_IF_POSITION, HW_IF_VELOCITY, HW_IF_ACCELERATION}) {
      for (const std::size_t j : joints_) {
        const std::string prefix = std::string(get_node()->get_name()) + "/" + joint_names[j];
        interfaces.push_back(std::make_shared<CommandInterface>(prefix, what));
        static_cast<void>(interfaces.back()->set_value(NOT_A_NUMBER));
      }
    }
    return interfaces;
  }

  bool on_set_chained_mode(bool chained_mode) override
  {
    chained_ = chained_mode;
    return true;
  }

private:
  using JointTrajectory = trajectory_msgs::msg::JointTrajectory;
  using JointTrajectoryPoint = trajectory_msgs::msg::JointTrajectoryPoint;
  using MultiDOFJointTrajectory = trajectory_msgs::msg::MultiDOFJointTrajectory;
  using PoseStamped = geometry_msgs::msg::PoseStamped;
  using TwistStamped = geometry_msgs::msg::TwistStamped;
  using WrenchStamped = geometry_msgs::msg::WrenchStamped;
  using Trigger = std_srvs::srv::Trigger;

  static constexpr double NOT_A_NUMBER = std::numeric_limits<double>::quiet_NaN();
  static constexpr auto HOUSEKEEPING = std::chrono::milliseconds(20);
  static constexpr auto HOLD = [](Core & core, Time t) { core.hold(t); };

  // -- in the cycle

  std::size_t kinds_of_state() const { return use_effort_state_ ? 3 : 2; }

  bool read_state()
  {
    bool good = true;
    for (std::size_t k = 0; k < states_.size(); ++k) {
      const auto value = states_[k].get().get_optional();
      double & to = state_[k % kinds_of_state()][k / kinds_of_state()];
      good = good && value.has_value();
      to = value.value_or(to);
    }
    core_->count(Cause::state_not_read, good ? 0 : 1);
    return good;
  }

  /// What another controller gives, nullptr if there is none.
  const Rows * read_references()
  {
    const std::size_t count = is_in_chained_mode() ? joints_.size() : 0;
    references_.fill(NOT_A_NUMBER);
    for (std::size_t k = 0; k < 3 * count; ++k) {
      const auto & interface = ordered_exported_reference_interfaces_[k];
      references_[k / count * N + joints_[k % count]] = interface->get_optional().value_or(NOT_A_NUMBER);
    }
    return count > 0 ? &references_ : nullptr;
  }

  void write(const double * command)
  {
    for (std::size_t k = 0; k < commands_.size(); ++k) {
      core_->count(Cause::command_not_written, commands_[k].get().set_value(command[joints_[k]]) ? 0 : 1);
    }
  }

  void hand_out_events()
  {
    for (Event event; events_.size() < EVENTS && core_->reference.take(event);) {
      static_cast<void>(events_.push(event));
    }
  }

  void take_snapshot() { static_cast<void>(snapshots_.push(*core_)); }

  // -- parameters

  /// The settings that the parameters mean after some changes; what is wrong with them is returned, empty if nothing is.
  std::string read(Settings & settings, const std::vector<rclcpp::Parameter> & changes) const
  {
    try {
      settings = settings_of([&](const std::string & name) {
        const auto changed =
          std::find_if(changes.begin(), changes.end(), [&](const auto & x) { return x.get_name() == name; });
        return changed != changes.end() ? *changed : get_node()->get_parameter(name);
      });
      return problem_with(settings);
    } catch (const std::exception & error) {
      return error.what();
    }
  }

  void take_over_parameters()
  {
    Settings wanted;
    if (const std::string problem = read(wanted, {}); !problem.empty()) {
      RCLCPP_ERROR(get_node()->get_logger(), "parameters are not used: %s", problem.c_str());
      return;
    }
    Changeable & changed = settings_;
    changed = wanted;
    parameters_changed_ = !push([changed, numbers = carrying(changed.payload)](Core & core, Time) {
      core.change(changed, numbers);
    });
  }

  // -- requests

  void listen()
  {
    const auto node = get_node();
    const auto reliable = rclcpp::SystemDefaultsQoS();
    const auto newest = rclcpp::QoS(rclcpp::KeepLast(1)).best_effort();
    connections_ = {
      node->create_subscription<JointTrajectory>(
        "~/joint_trajectory", reliable,
        [this](const std::shared_ptr<const JointTrajectory> message) { on_trajectory(*message); }),
      node->create_subscription<JointTrajectoryPoint>(
        "~/joint_references", newest,
        [this](const std::shared_ptr<const JointTrajectoryPoint> message) { on_point(*message); }),
      node->create_subscription<WrenchStamped>(
        "~/external_wrench", newest,
        [this](const std::shared_ptr<const WrenchStamped> message) { on_wrench(*message); }),
      node->create_service<Trigger>(
        "~/hold",
        [this](const std::shared_ptr<Trigger::Request>, const std::shared_ptr<Trigger::Response> response) {
          response->success = running_ && !chained_ && push(HOLD);
          response->message = response->success ? "holding" : "the controller is not active, or is chained";
        }),
      rclcpp_action::create_server<Action>(
        node, "~/follow_joint_trajectory",
        [this](const rclcpp_action::GoalUUID &, const std::shared_ptr<const Action::Goal> goal) { return on_goal(*goal); },
        [this](const std::shared_ptr<GoalHandle>) {
          push(HOLD);
          return rclcpp_action::CancelResponse::ACCEPT;
        },
        [this](const std::shared_ptr<GoalHandle> handle) { goals_->follow(std::move(offered_), handle); }),
      node->create_wall_timer(HOUSEKEEPING, [this]() { housekeeping(); }),
      node->add_on_set_parameters_callback([this](const std::vector<rclcpp::Parameter> & changes) {
        rcl_interfaces::msg::SetParametersResult result;
        Settings unused;
        result.reason = read(unused, changes);
        result.successful = result.reason.empty();
        return result;
      }),
      node->add_post_set_parameters_callback(
        [this](const std::vector<rclcpp::Parameter> &) { parameters_changed_ = true; }),
    };
    if (settings_.has_tool) {
      listen_to_targets(reliable, newest);
    }
  }

  void listen_to_targets(const rclcpp::QoS & reliable, const rclcpp::QoS & newest)
  {
    const auto node = get_node();
    const std::array<std::shared_ptr<void>, 4> targets = {
      node->create_subscription<PoseStamped>(
        "~/target_pose", newest, [this](const std::shared_ptr<const PoseStamped> message) { on_target_pose(*message); }),
      node->create_subscription<TwistStamped>(
        "~/target_twist", newest, [this](const std::shared_ptr<const TwistStamped> message) { on_target_twist(*message); }),
      node->create_subscription<WrenchStamped>(
        "~/target_wrench", newest, [this](const std::shared_ptr<const WrenchStamped> message) { on_target_wrench(*message); }),
      node->create_subscription<MultiDOFJointTrajectory>(
        "~/target_trajectory", reliable,
        [this](const std::shared_ptr<const MultiDOFJointTrajectory> message) { on_target_path(*message); }),
    };
    connections_.insert(connections_.end(), targets.begin(), targets.end());
  }

  bool push(Requests::Request request)
  {
    const bool pushed = requests_.push(std::move(request));
    if (!pushed) {
      warn<Requests>("the cycle takes no requests, or too many come");
    }
    return pushed;
  }

  /// @tparam About what the text is about: each kind is logged now and then, however often another is.
  template <typename About>
  void warn(const std::string & text) const
  {
    RCLCPP_WARN_THROTTLE(get_node()->get_logger(), *get_node()->get_clock(), LOG_PERIOD, "%s", text.c_str());
  }

  /// @param stamp when the motion starts, by the clock of the node.
  /// @throws Rejected if no motion is followed now, or not this one.
  std::unique_ptr<Motion> motion_of(
    const std::vector<std::string> & names, const std::vector<JointTrajectoryPoint> & messages, Time stamp,
    bool single = false) const
  {
    if (!running_ || chained_) {
      throw Rejected(Code::invalid_goal, chained_ ? "the controller is chained" : "the controller is not active");
    }
    std::vector<Point> points;
    for (const auto & x : messages) {
      points.push_back({time_of(x.time_from_start), {x.positions, x.velocities, x.accelerations, x.effort}});
    }
    return make_motion(names, points, in_cycle(stamp), cycle_time_, settings_, single);
  }

  /// A stamp by the clock of the node, in the time of the cycle; 0 stays.
  Time in_cycle(Time stamp) const { return stamp == 0 || same_clock_ ? stamp : stamp - clock_offset_; }

  void on_trajectory(const JointTrajectory & message)
  {
    try {
      if (message.points.empty() && running_ && !chained_) {
        RCLCPP_INFO(get_node()->get_logger(), "empty trajectory: holding");
        push(HOLD);
      } else {
        goals_->follow(motion_of(message.joint_names, message.points, time_of(message.header.stamp)));
      }
    } catch (const Rejected & error) {
      RCLCPP_WARN(get_node()->get_logger(), "trajectory refused: %s", error.what());
    }
  }

  rclcpp_action::GoalResponse on_goal(const Action::Goal & goal)
  {
    const auto logger = get_node()->get_logger();
    try {
      const JointTrajectory & trajectory = goal.trajectory;
      offered_ = motion_of(trajectory.joint_names, trajectory.points, time_of(trajectory.header.stamp));
    } catch (const Rejected & error) {
      RCLCPP_WARN(logger, "goal refused: %s", error.what());
      return rclcpp_action::GoalResponse::REJECT;
    }
    try {
      offered_->tolerances = tolerances_of(goal, settings_.tolerances);
    } catch (const Rejected & error) {
      RCLCPP_WARN(logger, "the default tolerances are used: %s", error.what());
    }
    return rclcpp_action::GoalResponse::ACCEPT_AND_EXECUTE;
  }

  void on_point(const JointTrajectoryPoint & message)
  {
    try {
      const std::shared_ptr<const Motion> point = motion_of(names_, {message}, 0, true);
      push([point](Core & core, Time t) { core.stream(*point, t); });
    } catch (const Rejected & error) {
      warn<JointTrajectoryPoint>(std::string("set-point refused: ") + error.what());
    }
  }

  void on_wrench(const WrenchStamped & message)
  {
    const std::size_t link = index_of(external_links, message.header.frame_id);
    const auto & w = message.wrench;
    const std::array<double, 6> wrench = {w.torque.x, w.torque.y, w.torque.z, w.force.x, w.force.y, w.force.z};
    const bool meant = std::all_of(wrench.begin(), wrench.end(), [](double x) { return std::abs(x) <= 1e7; });
    if (link == LOADED || !meant) {
      warn<WrenchStamped>(
        "external wrench refused: " + (meant ? message.header.frame_id : "its values cannot be meant") +
        "; header.frame_id must be one of @external_links@");
    } else if (running_) {
      push([link, wrench](Core & core, Time t) { core.set_external_wrench(link, wrench, t); });
    }
  }

  // -- targets of the tool

  /// Check a target with `make`, and have the cycle do what that returns.
  template <typename About, typename Make>
  void accept_target(const char * topic, const Make & make)
  {
    try {
      if (!running_ || chained_) {
        throw Rejected(Code::invalid_goal, chained_ ? "the controller is chained" : "the controller is not active");
      }
      push(make());
    } catch (const Rejected & error) {
      warn<About>(std::string(topic) + " refused: " + error.what());
    }
  }

  template <typename Vector3>
  static std::array<double, 6> pair_of(const Vector3 & angular, const Vector3 & linear)
  {
    return {angular.x, angular.y, angular.z, linear.x, linear.y, linear.z};
  }

  template <typename Position, typename Turn>
  static std::array<double, 7> pose_of(const Position & p, const Turn & q)
  {
    return {p.x, p.y, p.z, q.x, q.y, q.z, q.w};
  }

  void on_target_pose(const PoseStamped & message)
  {
    accept_target<PoseStamped>("target_pose", [&]() -> Requests::Request {
      const bool turned = in_link(message.header.frame_id);
      const auto pose = checked_pose(pose_of(message.pose.position, message.pose.orientation));
      const Time stamp = in_cycle(time_of(message.header.stamp));
      return [pose, turned, stamp](Core & core, Time t) { core.target_pose(pose, turned, stamp, t); };
    });
  }

  void on_target_twist(const TwistStamped & message)
  {
    accept_target<TwistStamped>("target_twist", [&]() -> Requests::Request {
      const bool turned = in_link(message.header.frame_id);
      const auto twist = checked_twist(pair_of(message.twist.angular, message.twist.linear));
      const Time stamp = in_cycle(time_of(message.header.stamp));
      return [twist, turned, stamp](Core & core, Time t) { core.target_twist(twist, turned, stamp, t); };
    });
  }

  void on_target_wrench(const WrenchStamped & message)
  {
    accept_target<Task>("target_wrench", [&]() -> Requests::Request {
      const bool turned = in_link(message.header.frame_id);
      const auto wrench = checked_wrench(pair_of(message.wrench.torque, message.wrench.force), settings_.largest_wrench);
      const Time stamp = in_cycle(time_of(message.header.stamp));
      return [wrench, turned, stamp](Core & core, Time t) { core.target_wrench(wrench, turned, stamp, t); };
    });
  }

  void on_target_path(const MultiDOFJointTrajectory & message)
  {
    accept_target<MultiDOFJointTrajectory>("target_trajectory", [&]() -> Requests::Request {
      if (message.points.empty()) {
        return HOLD;
      }
      const auto path = std::make_shared<ToolPath>();
      path->in_link = in_link(message.header.frame_id);
      path->with_twists = !message.points[0].velocities.empty();
      for (std::size_t k = 0; k < message.points.size(); ++k) {
        const auto & point = message.points[k];
        if (point.transforms.size() != 1 || point.velocities.size() != (path->with_twists ? 1 : 0)) {
          refuse(k, "transforms", "give one transform a point, for the tool, and a velocity for each point or for none");
        }
        const auto & place = point.transforms[0];
        const auto twist = path->with_twists ? pair_of(point.velocities[0].angular, point.velocities[0].linear)
                                             : std::array<double, 6>{};
        path->add(1e-9 * static_cast<double>(time_of(point.time_from_start)), pose_of(place.translation, place.rotation), twist);
      }
      return [path](Core & core, Time t) { core.target_path(*path, t); };
    });
  }

  // -- from time to time

  void housekeeping()
  {
    for (Event event; events_.pop(event);) {
      goals_->finish(event);
    }
    const Time now = get_node()->now().nanoseconds();
    clock_offset_ = same_clock_ ? 0 : now - rclcpp::Clock(RCL_STEADY_TIME).now().nanoseconds();
    if (running_ && parameters_changed_.exchange(false)) {
      take_over_parameters();
    }
    if (Shown newest; snapshots_.get_latest(newest)) {
      if (now >= feedback_due_ || feedback_due_ - now > feedback_period_) {
        feedback_due_ = now + feedback_period_;
        goals_->publish_feedback(newest.cycle, now);
      }
      report_->update(newest);
    }
  }

  void release()
  {
    running_.store(false, std::memory_order_release);
    connections_.clear();
    if (core_) {
      core_->deactivate();
      hand_out_events();
      housekeeping();  // results of goals
    }
    requests_.clear();
    goals_.reset();
    report_.reset();
    topics_.reset();
    core_.reset();
  }

  std::shared_ptr<ParamListener> parameters_;
  std::atomic<bool> parameters_changed_{false};
  Settings settings_;                 ///< as last accepted
  std::vector<std::string> names_;    ///< of the joints that are commanded, as the parameter has them
  std::vector<std::size_t> joints_;   ///< their places
  bool use_effort_state_ = false;
  Time feedback_due_ = 0, feedback_period_ = 0;

  std::atomic<bool> running_{false}, chained_{false}, same_clock_{true};
  std::atomic<Time> cycle_time_{0}, clock_offset_{0};

  // from configuring until cleaning up
  std::unique_ptr<Core> core_;
  std::unique_ptr<Topics> topics_;
  std::unique_ptr<Report> report_;
  std::unique_ptr<Goals> goals_;
  std::unique_ptr<Motion> offered_;  ///< of a goal between its offer and its acceptance
  std::vector<std::shared_ptr<void>> connections_;

  // between the cycle and everything else
  static constexpr std::size_t EVENTS = 256;
  Requests requests_;
  realtime_tools::LockFreeSPSCQueue<Event, EVENTS> events_;
  realtime_tools::LockFreeSPSCQueue<Shown, 4> snapshots_;

  // memory of the cycle
  std::array<Vector, 3> state_{};  ///< positions, velocities, efforts
  Rows references_{};
  std::vector<std::reference_wrapper<hardware_interface::LoanedStateInterface>> states_;
  std::vector<std::reference_wrapper<hardware_interface::LoanedCommandInterface>> commands_;
  bool started_ = false;
  std::int64_t cycles_ = 0;
  Time published_ = 0, snapshot_taken_ = 0;
};

}  // namespace @package@
