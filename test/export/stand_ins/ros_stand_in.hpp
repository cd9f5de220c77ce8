// Stand-ins for the parts of rclcpp, ros2_control and messages that the emitted controller uses: interfaces with just
// enough behind them to run it in one thread. Signatures as in the Jazzy and rolling branches of the real packages.

#pragma once

#include <chrono>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

// -- messages

namespace builtin_interfaces::msg
{
struct Time
{
  std::int32_t sec = 0;
  std::uint32_t nanosec = 0;
};
struct Duration
{
  std::int32_t sec = 0;
  std::uint32_t nanosec = 0;
};
}  // namespace builtin_interfaces::msg

namespace std_msgs::msg
{
struct Header
{
  builtin_interfaces::msg::Time stamp;
  std::string frame_id;
};
}  // namespace std_msgs::msg

namespace geometry_msgs::msg
{
struct Vector3
{
  double x = 0.0, y = 0.0, z = 0.0;
};
struct Wrench
{
  Vector3 force, torque;
};
struct Point
{
  double x = 0.0, y = 0.0, z = 0.0;
};
struct Quaternion
{
  double x = 0.0, y = 0.0, z = 0.0, w = 1.0;
};
struct Pose
{
  Point position;
  Quaternion orientation;
};
struct Transform
{
  Vector3 translation;
  Quaternion rotation;
};
struct Twist
{
  Vector3 linear, angular;
};
struct PoseStamped
{
  std_msgs::msg::Header header;
  Pose pose;
};
struct TwistStamped
{
  std_msgs::msg::Header header;
  Twist twist;
};
struct WrenchStamped
{
  std_msgs::msg::Header header;
  Wrench wrench;
};
}  // namespace geometry_msgs::msg

namespace sensor_msgs::msg
{
struct JointState
{
  std_msgs::msg::Header header;
  std::vector<std::string> name;
  std::vector<double> position, velocity, effort;
};
}  // namespace sensor_msgs::msg

namespace trajectory_msgs::msg
{
struct JointTrajectoryPoint
{
  std::vector<double> positions, velocities, accelerations, effort;
  builtin_interfaces::msg::Duration time_from_start;
};
struct JointTrajectory
{
  std_msgs::msg::Header header;
  std::vector<std::string> joint_names;
  std::vector<JointTrajectoryPoint> points;
};
struct MultiDOFJointTrajectoryPoint
{
  std::vector<geometry_msgs::msg::Transform> transforms;
  std::vector<geometry_msgs::msg::Twist> velocities, accelerations;
  builtin_interfaces::msg::Duration time_from_start;
};
struct MultiDOFJointTrajectory
{
  std_msgs::msg::Header header;
  std::vector<std::string> joint_names;
  std::vector<MultiDOFJointTrajectoryPoint> points;
};
}  // namespace trajectory_msgs::msg

namespace control_msgs::msg
{
struct JointTolerance
{
  std::string name;
  double position = 0.0, velocity = 0.0, acceleration = 0.0;
};
struct JointTrajectoryControllerState
{
  std_msgs::msg::Header header;
  std::vector<std::string> joint_names;
  trajectory_msgs::msg::JointTrajectoryPoint reference, feedback, error, output;
  double speed_scaling_factor = 0.0;
};
}  // namespace control_msgs::msg

namespace control_msgs::action
{
struct FollowJointTrajectory
{
  struct Goal
  {
    trajectory_msgs::msg::JointTrajectory trajectory;
    std::vector<msg::JointTolerance> path_tolerance, goal_tolerance;
    builtin_interfaces::msg::Duration goal_time_tolerance;
  };
  struct Result
  {
    std::int32_t error_code = 0;
    std::string error_string;
  };
  struct Feedback
  {
    std_msgs::msg::Header header;
    std::vector<std::string> joint_names;
    trajectory_msgs::msg::JointTrajectoryPoint desired, actual, error;
  };
};
}  // namespace control_msgs::action

namespace diagnostic_msgs::msg
{
struct DiagnosticStatus
{
  static constexpr unsigned char OK = 0, WARN = 1, ERROR = 2, STALE = 3;
};
}  // namespace diagnostic_msgs::msg

namespace std_srvs::srv
{
struct Trigger
{
  struct Request
  {
  };
  struct Response
  {
    bool success = false;
    std::string message;
  };
};
}  // namespace std_srvs::srv

namespace rcl_interfaces::msg
{
struct SetParametersResult
{
  bool successful = false;
  std::string reason;
};
}  // namespace rcl_interfaces::msg

// -- rclcpp

enum rcl_clock_type_t { RCL_CLOCK_UNINITIALIZED, RCL_ROS_TIME, RCL_SYSTEM_TIME, RCL_STEADY_TIME };

namespace rclcpp
{

class Duration
{
public:
  explicit Duration(std::chrono::nanoseconds) {}
};

class Time
{
public:
  explicit Time(std::int64_t nanoseconds = 0, rcl_clock_type_t type = RCL_SYSTEM_TIME) : t_(nanoseconds), type_(type) {}
  std::int64_t nanoseconds() const { return t_; }
  rcl_clock_type_t get_clock_type() const { return type_; }

private:
  std::int64_t t_;
  rcl_clock_type_t type_;
};

class Clock
{
public:
  explicit Clock(rcl_clock_type_t type = RCL_SYSTEM_TIME) : type_(type) {}
  Time now() const { return Time(type_ == RCL_STEADY_TIME ? steady() : ros(), type_); }
  rcl_clock_type_t get_clock_type() const { return type_; }
  static std::int64_t & ros()
  {
    static std::int64_t t = 0;
    return t;
  }
  static std::int64_t & steady()
  {
    static std::int64_t t = 0;
    return t;
  }

private:
  rcl_clock_type_t type_;
};

class Logger
{
};

inline std::vector<std::string> & log()
{
  static std::vector<std::string> lines;
  return lines;
}

__attribute__((format(printf, 2, 3))) inline void log_line(const Logger &, const char * format, ...)
{
  char text[1000];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  log().push_back(text);
}

struct KeepLast
{
  explicit KeepLast(std::size_t) {}
};
class QoS
{
public:
  QoS(const KeepLast &) {}  // NOLINT
  QoS & best_effort() { return *this; }
};
class SystemDefaultsQoS : public QoS
{
public:
  SystemDefaultsQoS() : QoS(KeepLast(1)) {}
};

class Parameter
{
public:
  using Value = std::variant<
    std::monostate, bool, std::int64_t, double, std::string, std::vector<double>, std::vector<std::string>>;
  Parameter() = default;
  Parameter(std::string name, Value value) : name_(std::move(name)), value_(std::move(value)) {}
  const std::string & get_name() const { return name_; }
  bool as_bool() const { return std::get<bool>(value_); }
  std::int64_t as_int() const { return std::get<std::int64_t>(value_); }
  double as_double() const { return std::get<double>(value_); }
  const std::string & as_string() const { return std::get<std::string>(value_); }
  const std::vector<double> & as_double_array() const { return std::get<std::vector<double>>(value_); }
  const std::vector<std::string> & as_string_array() const { return std::get<std::vector<std::string>>(value_); }

private:
  std::string name_;
  Value value_;
};

class PublisherBase
{
public:
  virtual ~PublisherBase() = default;
};
template <typename Message>
class Publisher : public PublisherBase
{
public:
  using SharedPtr = std::shared_ptr<Publisher>;
  void publish(const Message & message) { sent.push_back(message); }
  std::vector<Message> sent;
};
class SubscriptionBase
{
public:
  virtual ~SubscriptionBase() = default;
};
template <typename Message>
class Subscription : public SubscriptionBase
{
public:
  using SharedPtr = std::shared_ptr<Subscription>;
  std::function<void(std::shared_ptr<const Message>)> callback;
};
class ServiceBase
{
public:
  virtual ~ServiceBase() = default;
};
template <typename S>
class Service : public ServiceBase
{
public:
  using SharedPtr = std::shared_ptr<Service>;
  std::function<void(std::shared_ptr<typename S::Request>, std::shared_ptr<typename S::Response>)> callback;
};
class TimerBase
{
public:
  using SharedPtr = std::shared_ptr<TimerBase>;
  std::function<void()> callback;
};

namespace node_interfaces
{
struct OnSetParametersCallbackHandle
{
  using SharedPtr = std::shared_ptr<OnSetParametersCallbackHandle>;
  std::function<rcl_interfaces::msg::SetParametersResult(const std::vector<Parameter> &)> callback;
};
struct PostSetParametersCallbackHandle
{
  using SharedPtr = std::shared_ptr<PostSetParametersCallbackHandle>;
  std::function<void(const std::vector<Parameter> &)> callback;
};
}  // namespace node_interfaces

}  // namespace rclcpp

#define RCLCPP_INFO(logger, ...) rclcpp::log_line(logger, __VA_ARGS__)
#define RCLCPP_WARN(logger, ...) rclcpp::log_line(logger, __VA_ARGS__)
#define RCLCPP_ERROR(logger, ...) rclcpp::log_line(logger, __VA_ARGS__)
#define RCLCPP_THROTTLED(logger, clock, period, ...) \
  do { \
    static_cast<void>((clock).now()); \
    static_cast<void>(static_cast<long>(period)); \
    rclcpp::log_line(logger, __VA_ARGS__); \
  } while (0)
#define RCLCPP_INFO_THROTTLE RCLCPP_THROTTLED
#define RCLCPP_WARN_THROTTLE RCLCPP_THROTTLED
#define RCLCPP_ERROR_THROTTLE RCLCPP_THROTTLED

namespace rclcpp_action
{
using GoalUUID = std::array<std::uint8_t, 16>;
enum class GoalResponse { REJECT, ACCEPT_AND_EXECUTE, ACCEPT_AND_DEFER };
enum class CancelResponse { REJECT, ACCEPT };

template <typename A>
class ServerGoalHandle
{
public:
  explicit ServerGoalHandle(std::shared_ptr<const typename A::Goal> goal) : goal_(std::move(goal)) {}
  std::shared_ptr<const typename A::Goal> get_goal() const { return goal_; }
  bool is_active() const { return outcome.empty(); }
  bool is_canceling() const { return canceling; }
  void succeed(std::shared_ptr<typename A::Result> with) { finish("succeeded", std::move(with)); }
  void abort(std::shared_ptr<typename A::Result> with) { finish("aborted", std::move(with)); }
  void canceled(std::shared_ptr<typename A::Result> with) { finish("canceled", std::move(with)); }
  void publish_feedback(std::shared_ptr<typename A::Feedback> x) { feedback.push_back(*x); }

  bool canceling = false;
  std::string outcome;
  typename A::Result result;
  std::vector<typename A::Feedback> feedback;

private:
  void finish(const char * how, std::shared_ptr<typename A::Result> with)
  {
    outcome = how;
    result = *with;
  }
  std::shared_ptr<const typename A::Goal> goal_;
};

class ServerBase
{
public:
  virtual ~ServerBase() = default;
};
template <typename A>
class Server : public ServerBase
{
public:
  using SharedPtr = std::shared_ptr<Server>;
  using GoalCallback = std::function<GoalResponse(const GoalUUID &, std::shared_ptr<const typename A::Goal>)>;
  using CancelCallback = std::function<CancelResponse(std::shared_ptr<ServerGoalHandle<A>>)>;
  using AcceptedCallback = std::function<void(std::shared_ptr<ServerGoalHandle<A>>)>;
  GoalCallback goal;
  CancelCallback cancel;
  AcceptedCallback accepted;
};

template <typename A, typename NodeT>
typename Server<A>::SharedPtr create_server(
  NodeT node, const std::string & name, typename Server<A>::GoalCallback goal, typename Server<A>::CancelCallback cancel,
  typename Server<A>::AcceptedCallback accepted)
{
  auto server = std::make_shared<Server<A>>();
  server->goal = goal;
  server->cancel = cancel;
  server->accepted = accepted;
  node->actions[name] = server;
  return server;
}
}  // namespace rclcpp_action

// -- node

namespace diagnostic_updater
{
class DiagnosticStatusWrapper;
}

namespace rclcpp_lifecycle
{
class State
{
};

class LifecycleNode
{
public:
  explicit LifecycleNode(std::string name) : name_(std::move(name)) {}
  const char * get_name() const { return name_.c_str(); }
  rclcpp::Logger get_logger() const { return {}; }
  std::shared_ptr<rclcpp::Clock> get_clock() { return clock_; }
  std::shared_ptr<const rclcpp::Clock> get_clock() const { return clock_; }
  rclcpp::Time now() const { return clock_->now(); }

  bool has_parameter(const std::string & name) const { return parameters.count(name) != 0; }
  template <typename T>
  T declare_parameter(const std::string & name, const T & by_default)
  {
    const auto overridden = overrides.find(name);
    parameters[name] = overridden != overrides.end() ? overridden->second : rclcpp::Parameter::Value(by_default);
    return std::get<T>(parameters[name]);
  }
  rclcpp::Parameter get_parameter(const std::string & name) const
  {
    if (!has_parameter(name)) {
      throw std::runtime_error("parameter '" + name + "' is not declared");
    }
    return {name, parameters.at(name)};
  }
  rcl_interfaces::msg::SetParametersResult set(const std::string & name, rclcpp::Parameter::Value value)
  {
    const std::vector<rclcpp::Parameter> changes = {{name, value}};
    if (const auto check = on_set.lock()) {
      if (const auto result = check->callback(changes); !result.successful) {
        return result;
      }
    }
    parameters[name] = value;
    if (const auto after = post_set.lock()) {
      after->callback(changes);
    }
    rcl_interfaces::msg::SetParametersResult good;
    good.successful = true;
    return good;
  }
  template <typename F>
  rclcpp::node_interfaces::OnSetParametersCallbackHandle::SharedPtr add_on_set_parameters_callback(F callback)
  {
    auto handle = std::make_shared<rclcpp::node_interfaces::OnSetParametersCallbackHandle>();
    handle->callback = callback;
    on_set = handle;
    return handle;
  }
  template <typename F>
  rclcpp::node_interfaces::PostSetParametersCallbackHandle::SharedPtr add_post_set_parameters_callback(F callback)
  {
    auto handle = std::make_shared<rclcpp::node_interfaces::PostSetParametersCallbackHandle>();
    handle->callback = callback;
    post_set = handle;
    return handle;
  }

  template <typename Message>
  std::shared_ptr<rclcpp::Publisher<Message>> create_publisher(const std::string & name, const rclcpp::QoS &)
  {
    auto made = std::make_shared<rclcpp::Publisher<Message>>();
    publishers[name] = made;
    return made;
  }
  template <typename Message, typename F>
  std::shared_ptr<rclcpp::Subscription<Message>> create_subscription(
    const std::string & name, const rclcpp::QoS &, F callback)
  {
    auto made = std::make_shared<rclcpp::Subscription<Message>>();
    made->callback = callback;
    subscriptions[name] = made;
    return made;
  }
  template <typename S, typename F>
  std::shared_ptr<rclcpp::Service<S>> create_service(const std::string & name, F callback)
  {
    auto made = std::make_shared<rclcpp::Service<S>>();
    made->callback = callback;
    services[name] = made;
    return made;
  }
  template <typename Period, typename F>
  rclcpp::TimerBase::SharedPtr create_wall_timer(Period, F callback)
  {
    auto made = std::make_shared<rclcpp::TimerBase>();
    made->callback = callback;
    timer = made;
    return made;
  }

  std::map<std::string, rclcpp::Parameter::Value> parameters, overrides;
  std::map<std::string, std::shared_ptr<rclcpp::PublisherBase>> publishers;
  std::map<std::string, std::weak_ptr<rclcpp::SubscriptionBase>> subscriptions;
  std::map<std::string, std::weak_ptr<rclcpp::ServiceBase>> services;
  std::map<std::string, std::weak_ptr<rclcpp_action::ServerBase>> actions;
  std::weak_ptr<rclcpp::TimerBase> timer;
  std::function<void(diagnostic_updater::DiagnosticStatusWrapper &)> diagnose;
  std::vector<std::string> forced;  // diagnostics that were sent at once
  std::weak_ptr<rclcpp::node_interfaces::OnSetParametersCallbackHandle> on_set;
  std::weak_ptr<rclcpp::node_interfaces::PostSetParametersCallbackHandle> post_set;

private:
  std::string name_;
  std::shared_ptr<rclcpp::Clock> clock_ = std::make_shared<rclcpp::Clock>(RCL_ROS_TIME);
};
}  // namespace rclcpp_lifecycle

// -- diagnostics

namespace diagnostic_updater
{
class DiagnosticStatusWrapper
{
public:
  void summary(unsigned char level_, const std::string & text)
  {
    level = level_;
    message = text;
  }
  template <typename T>
  void add(const std::string & key, const T & value)
  {
    std::ostringstream text;
    text << value;
    values[key] = text.str();
  }
  unsigned char level = 0;
  std::string message;
  std::map<std::string, std::string> values;
};

class Updater
{
public:
  explicit Updater(const std::shared_ptr<rclcpp_lifecycle::LifecycleNode> & node) : node_(node) {}
  void setHardwareID(const std::string &) {}
  template <typename T>
  void add(const std::string &, T * object, void (T::*task)(DiagnosticStatusWrapper &))
  {
    node_->diagnose = [object, task](DiagnosticStatusWrapper & status) { (object->*task)(status); };
  }
  void force_update()
  {
    DiagnosticStatusWrapper status;
    node_->diagnose(status);
    node_->forced.push_back(status.message);
  }

private:
  std::shared_ptr<rclcpp_lifecycle::LifecycleNode> node_;
};
}  // namespace diagnostic_updater

// -- ros2_control

namespace hardware_interface
{
constexpr char HW_IF_POSITION[] = "position";
constexpr char HW_IF_VELOCITY[] = "velocity";
constexpr char HW_IF_ACCELERATION[] = "acceleration";
constexpr char HW_IF_EFFORT[] = "effort";

class Handle
{
public:
  explicit Handle(
    const std::string & prefix, const std::string & interface, const std::string & = "double", const std::string & = "")
  : prefix_(prefix), name_(prefix + "/" + interface)
  {
  }
  const std::string & get_name() const { return name_; }
  const std::string & get_prefix_name() const { return prefix_; }
  template <typename T = double>
  [[nodiscard]] std::optional<T> get_optional() const
  {
    return readable ? std::optional<T>(value) : std::nullopt;
  }
  template <typename T>
  [[nodiscard]] bool set_value(const T & x)
  {
    value = x;
    return true;
  }

  double value = 0.0;
  bool readable = true;

private:
  std::string prefix_, name_;
};

class StateInterface : public Handle
{
public:
  using Handle::Handle;
  using SharedPtr = std::shared_ptr<StateInterface>;
};
class CommandInterface : public Handle
{
public:
  using Handle::Handle;
  using SharedPtr = std::shared_ptr<CommandInterface>;
};

template <typename Interface>
class Loaned
{
public:
  explicit Loaned(std::shared_ptr<Interface> interface) : interface_(std::move(interface)) {}
  const std::string & get_name() const { return interface_->get_name(); }
  template <typename T = double>
  [[nodiscard]] std::optional<T> get_optional(unsigned int = 10) const
  {
    return interface_->template get_optional<T>();
  }
  template <typename T>
  [[nodiscard]] bool set_value(const T & x, unsigned int = 10)
  {
    return interface_->set_value(x);
  }

private:
  std::shared_ptr<Interface> interface_;
};
using LoanedCommandInterface = Loaned<CommandInterface>;
using LoanedStateInterface = Loaned<StateInterface>;
}  // namespace hardware_interface

namespace controller_interface
{
enum class CallbackReturn { SUCCESS, FAILURE, ERROR };
enum class return_type { OK, ERROR };
enum class interface_configuration_type { ALL, INDIVIDUAL, NONE };
struct InterfaceConfiguration
{
  interface_configuration_type type = interface_configuration_type::NONE;
  std::vector<std::string> names = {};
};

template <typename T>
bool get_ordered_interfaces(
  std::vector<T> & interfaces, const std::vector<std::string> & names, const std::string &,
  std::vector<std::reference_wrapper<T>> & ordered)
{
  for (const auto & name : names) {
    for (auto & interface : interfaces) {
      if (interface.get_name() == name) {
        ordered.push_back(std::ref(interface));
      }
    }
  }
  return ordered.size() == names.size();
}

class ChainableControllerInterface
{
public:
  virtual ~ChainableControllerInterface() = default;
  virtual CallbackReturn on_init() = 0;
  virtual CallbackReturn on_configure(const rclcpp_lifecycle::State &) { return CallbackReturn::SUCCESS; }
  virtual CallbackReturn on_activate(const rclcpp_lifecycle::State &) { return CallbackReturn::SUCCESS; }
  virtual CallbackReturn on_deactivate(const rclcpp_lifecycle::State &) { return CallbackReturn::SUCCESS; }
  virtual CallbackReturn on_cleanup(const rclcpp_lifecycle::State &) { return CallbackReturn::SUCCESS; }
  virtual CallbackReturn on_error(const rclcpp_lifecycle::State &) { return CallbackReturn::SUCCESS; }
  virtual InterfaceConfiguration command_interface_configuration() const = 0;
  virtual InterfaceConfiguration state_interface_configuration() const = 0;

  return_type update(const rclcpp::Time & time, const rclcpp::Duration & period)
  {
    if (!is_in_chained_mode()) {
      if (const auto result = update_reference_from_subscribers(time, period); result != return_type::OK) {
        return result;
      }
    }
    return update_and_write_commands(time, period);
  }
  std::shared_ptr<rclcpp_lifecycle::LifecycleNode> get_node() { return the_node; }
  std::shared_ptr<const rclcpp_lifecycle::LifecycleNode> get_node() const { return the_node; }
  bool is_in_chained_mode() const { return chained_; }
  bool set_chained_mode(bool chained)
  {
    chained_ = chained;
    return on_set_chained_mode(chained);
  }
  const std::vector<hardware_interface::CommandInterface::SharedPtr> & export_reference_interfaces()
  {
    ordered_exported_reference_interfaces_ = on_export_reference_interfaces_list();
    return ordered_exported_reference_interfaces_;
  }
  void assign_interfaces(
    std::vector<hardware_interface::LoanedCommandInterface> && commands,
    std::vector<hardware_interface::LoanedStateInterface> && states)
  {
    command_interfaces_ = std::move(commands);
    state_interfaces_ = std::move(states);
  }

  std::shared_ptr<rclcpp_lifecycle::LifecycleNode> the_node;

protected:
  virtual std::vector<hardware_interface::CommandInterface::SharedPtr> on_export_reference_interfaces_list() { return {}; }
  virtual bool on_set_chained_mode(bool) { return true; }
  virtual return_type update_reference_from_subscribers(const rclcpp::Time &, const rclcpp::Duration &) = 0;
  virtual return_type update_and_write_commands(const rclcpp::Time &, const rclcpp::Duration &) = 0;

  template <typename T>
  auto auto_declare(const std::string & name, const T & by_default)
  {
    if (!get_node()->has_parameter(name)) {
      return get_node()->declare_parameter(name, by_default);
    }
    return by_default;
  }

  std::vector<hardware_interface::LoanedCommandInterface> command_interfaces_;
  std::vector<hardware_interface::LoanedStateInterface> state_interfaces_;
  std::vector<hardware_interface::CommandInterface::SharedPtr> ordered_exported_reference_interfaces_;

private:
  bool chained_ = false;
};
}  // namespace controller_interface

namespace realtime_tools
{
template <typename Message>
class RealtimePublisher
{
public:
  explicit RealtimePublisher(typename rclcpp::Publisher<Message>::SharedPtr publisher) : publisher_(publisher) {}
  bool try_publish(const Message & message)
  {
    publisher_->publish(message);
    return true;
  }

private:
  typename rclcpp::Publisher<Message>::SharedPtr publisher_;
};

template <typename T, std::size_t CAPACITY>
class LockFreeSPSCQueue
{
public:
  [[nodiscard]] bool pop(T & x)
  {
    if (items_.empty()) {
      return false;
    }
    x = items_.front();
    items_.pop_front();
    return true;
  }
  [[nodiscard]] bool push(const T & x)
  {
    if (items_.size() == CAPACITY) {
      return false;
    }
    items_.push_back(x);
    return true;
  }
  [[nodiscard]] bool get_latest(T & x)
  {
    const bool any = !items_.empty();
    while (pop(x)) {
    }
    return any;
  }
  std::size_t size() const { return items_.size(); }

private:
  std::deque<T> items_;
};
}  // namespace realtime_tools

#define PLUGINLIB_EXPORT_CLASS(derived, base) static_assert(std::is_base_of_v<base, derived>, "not a controller");
