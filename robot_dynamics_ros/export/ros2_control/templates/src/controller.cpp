#include "@package@/controller.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

#include "hardware_interface/types/hardware_interface_type_values.hpp"
#include "pluginlib/class_list_macros.hpp"

namespace @package@
{

namespace
{

using controller_interface::interface_configuration_type;
using controller_interface::return_type;
using hardware_interface::HW_IF_ACCELERATION;
using hardware_interface::HW_IF_EFFORT;
using hardware_interface::HW_IF_POSITION;
using hardware_interface::HW_IF_VELOCITY;

constexpr double NOT_A_NUMBER = std::numeric_limits<double>::quiet_NaN();
constexpr auto HOUSEKEEPING = std::chrono::milliseconds(20);
constexpr Time SECOND = 1000000000;
constexpr int LOG_PERIOD = 5000;  // ms between two messages of one kind

Time time_of(const builtin_interfaces::msg::Time & stamp)
{
  return static_cast<Time>(stamp.sec) * SECOND + static_cast<Time>(stamp.nanosec);
}

builtin_interfaces::msg::Time stamp_of(Time t)
{
  builtin_interfaces::msg::Time stamp;
  stamp.sec = static_cast<std::int32_t>(t / SECOND);
  stamp.nanosec = static_cast<std::uint32_t>(t % SECOND);
  return stamp;
}

Point point_of(const trajectory_msgs::msg::JointTrajectoryPoint & message)
{
  Point point;
  point.time_from_start =
    static_cast<Time>(message.time_from_start.sec) * SECOND + static_cast<Time>(message.time_from_start.nanosec);
  point.positions.assign(message.positions.begin(), message.positions.end());
  point.velocities.assign(message.velocities.begin(), message.velocities.end());
  point.accelerations.assign(message.accelerations.begin(), message.accelerations.end());
  point.effort.assign(message.effort.begin(), message.effort.end());
  return point;
}

std::string interface_name(std::size_t joint, const char * what) { return std::string(joint_names[joint]) + "/" + what; }

/// A tolerance as an action goal asks for it: 0 keeps the default, -1 lifts it, more sets it.
/// @throws Rejected for any other value.
double resolved(double asked, double by_default)
{
  if (asked == 0.0) {
    return by_default;
  }
  if (asked == -1.0) {
    return 0.0;
  }
  if (!std::isfinite(asked) || asked < 0.0) {
    throw Rejected(Code::invalid_goal, "a tolerance is " + text_of(asked));
  }
  return asked;
}

void resize(sensor_msgs::msg::JointState & message, bool position, bool velocity, bool effort)
{
  message.name.assign(joint_names.begin(), joint_names.end());
  message.position.assign(position ? N : 0, NOT_A_NUMBER);
  message.velocity.assign(velocity ? N : 0, NOT_A_NUMBER);
  message.effort.assign(effort ? N : 0, NOT_A_NUMBER);
}

template <typename Array>
void assign(Array & to, const Vector & from)
{
  std::copy(from.begin(), from.end(), to.begin());
}

}  // namespace

ComputedTorqueController::~ComputedTorqueController()
{
  goals_.clear();
  release();
}

// -- parameters -----------------------------------------------------------------------------------------------------

/// The settings that the parameters mean after some changes; what is wrong with them is returned, empty if nothing is.
std::string ComputedTorqueController::read(Settings & settings, const std::vector<rclcpp::Parameter> & changes) const
{
  try {
    settings = settings_of([&](const std::string & name) {
      const auto found =
        std::find_if(changes.begin(), changes.end(), [&](const auto & x) { return x.get_name() == name; });
      return found != changes.end() ? *found : get_node()->get_parameter(name);
    });
    return problem_with(settings);
  } catch (const std::exception & error) {
    return error.what();
  }
}

void ComputedTorqueController::take_over_parameters()
{
  if (!parameters_changed_.exchange(false)) {
    return;
  }
  Settings wanted;
  if (const std::string problem = read(wanted, {}); !problem.empty()) {
    RCLCPP_ERROR(get_node()->get_logger(), "parameters are not used: %s", problem.c_str());
    return;
  }
  settings_.law = wanted.law;
  settings_.friction = wanted.friction;
  settings_.p = wanted.p;
  settings_.i = wanted.i;
  settings_.d = wanted.d;
  settings_.payload = wanted.payload;
  settings_.tolerances = wanted.tolerances;
  shared_wrench_divisor_ = get_node()->get_parameter("joint_wrenches.rate_divisor").as_int();
  publish_period_ = nanoseconds(1.0 / get_node()->get_parameter("state_publish_rate").as_double());
  auto request = std::make_unique<Request>();
  request->kind = Request::Kind::change;
  request->settings = settings_;
  request->numbers = carrying(settings_.payload);
  if (!push(std::move(request))) {
    parameters_changed_ = true;  // try again
  }
}

// -- life cycle -----------------------------------------------------------------------------------------------------

controller_interface::CallbackReturn ComputedTorqueController::on_init()
{
  try {
    parameters_ = std::make_shared<ParamListener>(get_node());
  } catch (const std::exception & error) {
    RCLCPP_ERROR(get_node()->get_logger(), "parameters: %s", error.what());
    return CallbackReturn::ERROR;
  }
  return CallbackReturn::SUCCESS;
}

controller_interface::InterfaceConfiguration ComputedTorqueController::command_interface_configuration() const
{
  controller_interface::InterfaceConfiguration wanted;
  wanted.type = interface_configuration_type::INDIVIDUAL;
  for (const std::size_t j : joints_) {
    wanted.names.push_back(interface_name(j, HW_IF_EFFORT));
  }
  return wanted;
}

controller_interface::InterfaceConfiguration ComputedTorqueController::state_interface_configuration() const
{
  controller_interface::InterfaceConfiguration wanted;
  wanted.type = interface_configuration_type::INDIVIDUAL;
  for (std::size_t j = 0; j < N; ++j) {
    wanted.names.push_back(interface_name(j, HW_IF_POSITION));
    wanted.names.push_back(interface_name(j, HW_IF_VELOCITY));
    if (use_effort_state_) {
      wanted.names.push_back(interface_name(j, HW_IF_EFFORT));
    }
  }
  return wanted;
}

template <typename Message>
void ComputedTorqueController::advertise(Topic<Message> & topic, const std::string & name)
{
  topic.publisher = get_node()->template create_publisher<Message>(name, rclcpp::SystemDefaultsQoS());
  topic.realtime = std::make_unique<realtime_tools::RealtimePublisher<Message>>(topic.publisher);
}

controller_interface::CallbackReturn ComputedTorqueController::on_configure(const rclcpp_lifecycle::State &)
{
  const auto node = get_node();
  release();
  const auto names = node->get_parameter("joints").as_string_array();
  joints_.clear();
  for (const std::string & name : names) {
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
  shared_wrench_divisor_ = node->get_parameter("joint_wrenches.rate_divisor").as_int();
  publish_period_ = nanoseconds(1.0 / node->get_parameter("state_publish_rate").as_double());
  feedback_period_ = nanoseconds(1.0 / node->get_parameter("action_monitor_rate").as_double());
  core_ = std::make_unique<Core>(settings_);

  io_ = std::make_unique<Connections>();
  for (std::size_t j = 0; j < N; ++j) {
    advertise(io_->wrenches[j], std::string("~/joint_wrenches/") + TOPIC_NAMES[j]);
    io_->wrenches[j].message.header.frame_id = child_links[j];
  }
  advertise(io_->reference, "~/reference");
  resize(io_->reference.message, true, true, true);
  advertise(io_->error, "~/error");
  resize(io_->error.message, true, true, false);
  advertise(io_->external_efforts, "~/external_efforts");
  resize(io_->external_efforts.message, false, false, true);
  advertise(io_->state, "~/controller_state");
  auto & state = io_->state.message;
  state.joint_names.assign(joint_names.begin(), joint_names.end());
  state.speed_scaling_factor = 1.0;
  for (auto * point : {&state.reference, &state.feedback, &state.error, &state.output}) {
    const bool output = point == &state.output, reference = point == &state.reference;
    point->positions.assign(output ? 0 : N, NOT_A_NUMBER);
    point->velocities.assign(output ? 0 : N, NOT_A_NUMBER);
    point->accelerations.assign(reference ? N : 0, NOT_A_NUMBER);
    point->effort.assign(output ? N : 0, NOT_A_NUMBER);
  }
  io_->diagnostics = node->create_publisher<DiagnosticArray>("/diagnostics", rclcpp::SystemDefaultsQoS());

  const auto newest = rclcpp::QoS(rclcpp::KeepLast(1)).best_effort();
  io_->trajectory_in = node->create_subscription<JointTrajectory>(
    "~/joint_trajectory", rclcpp::SystemDefaultsQoS(),
    [this](const std::shared_ptr<const JointTrajectory> message) { on_trajectory(*message); });
  io_->point_in = node->create_subscription<JointTrajectoryPoint>(
    "~/joint_references", newest,
    [this](const std::shared_ptr<const JointTrajectoryPoint> message) { on_point(*message); });
  io_->wrench_in = node->create_subscription<WrenchStamped>(
    "~/external_wrench", newest, [this](const std::shared_ptr<const WrenchStamped> message) { on_wrench(*message); });
  io_->hold = node->create_service<Trigger>(
    "~/hold", [this](const std::shared_ptr<Trigger::Request>, const std::shared_ptr<Trigger::Response> response) {
      on_hold(*response);
    });
  action_ = rclcpp_action::create_server<Action>(
    node, "~/follow_joint_trajectory",
    [this](const rclcpp_action::GoalUUID &, const std::shared_ptr<const Action::Goal> goal) { return on_goal(*goal); },
    [this](const std::shared_ptr<GoalHandle>) {
      push(std::make_unique<Request>());  // hold
      return rclcpp_action::CancelResponse::ACCEPT;
    },
    [this](const std::shared_ptr<GoalHandle> handle) { on_accepted(handle); });
  io_->timer = node->create_wall_timer(HOUSEKEEPING, [this]() { housekeeping(); });
  io_->parameter_check = node->add_on_set_parameters_callback(
    [this](const std::vector<rclcpp::Parameter> & changes) {
      rcl_interfaces::msg::SetParametersResult result;
      Settings unused;
      result.reason = read(unused, changes);
      result.successful = result.reason.empty();
      return result;
    });
  io_->parameter_change = node->add_post_set_parameters_callback(
    [this](const std::vector<rclcpp::Parameter> &) { parameters_changed_ = true; });
  RCLCPP_INFO(
    node->get_logger(), "configured for '@robot@': %zu of %zu joints", joints_.size(), static_cast<std::size_t>(N));
  return CallbackReturn::SUCCESS;
}

controller_interface::CallbackReturn ComputedTorqueController::on_activate(const rclcpp_lifecycle::State &)
{
  const auto find = [this](const auto & interfaces, const std::string & name, std::size_t & at) {
    const auto found = std::find_if(
      interfaces.begin(), interfaces.end(), [&](const auto & x) { return x.get_name() == name; });
    at = static_cast<std::size_t>(found - interfaces.begin());
    if (found == interfaces.end()) {
      RCLCPP_ERROR(get_node()->get_logger(), "the hardware offers no interface '%s'", name.c_str());
      return false;
    }
    return true;
  };
  bool complete = true;
  for (std::size_t j = 0; j < N; ++j) {
    complete = find(state_interfaces_, interface_name(j, HW_IF_POSITION), position_at_[j]) && complete;
    complete = find(state_interfaces_, interface_name(j, HW_IF_VELOCITY), velocity_at_[j]) && complete;
    if (use_effort_state_) {
      complete = find(state_interfaces_, interface_name(j, HW_IF_EFFORT), effort_at_[j]) && complete;
    }
  }
  for (const std::size_t j : joints_) {
    complete = find(command_interfaces_, interface_name(j, HW_IF_EFFORT), command_at_[j]) && complete;
  }
  if (!complete) {
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

controller_interface::CallbackReturn ComputedTorqueController::on_deactivate(const rclcpp_lifecycle::State &)
{
  running_.store(false, std::memory_order_release);
  write(core_->deactivate());
  started_ = false;
  for (Event event; core_->reference.take(event);) {
    static_cast<void>(events_.push(event));
  }
  return CallbackReturn::SUCCESS;
}

controller_interface::CallbackReturn ComputedTorqueController::on_cleanup(const rclcpp_lifecycle::State &)
{
  release();
  return CallbackReturn::SUCCESS;
}

controller_interface::CallbackReturn ComputedTorqueController::on_error(const rclcpp_lifecycle::State &)
{
  release();
  return CallbackReturn::SUCCESS;
}

void ComputedTorqueController::release()
{
  running_.store(false, std::memory_order_release);
  io_.reset();
  if (core_) {
    core_->deactivate();
    housekeeping();  // results of goals, memory that came back
    while (const Motion * const motion = core_->reference.take_back()) {
      delete motion;
    }
    core_.reset();
  }
  Request * request = nullptr;
  while (requests_.pop(request)) {
    delete request;
  }
  goals_.clear();
  action_.reset();
}

// -- chained references ---------------------------------------------------------------------------------------------

std::vector<hardware_interface::CommandInterface::SharedPtr>
ComputedTorqueController::on_export_reference_interfaces_list()
{
  std::vector<hardware_interface::CommandInterface::SharedPtr> interfaces;
  for (const char * what : {HW_IF_POSITION, HW_IF_VELOCITY, HW_IF_ACCELERATION}) {
    for (const std::size_t j : joints_) {
      auto interface = std::make_shared<hardware_interface::CommandInterface>(
        std::string(get_node()->get_name()) + "/" + joint_names[j], what);
      static_cast<void>(interface->set_value(NOT_A_NUMBER));
      interfaces.push_back(std::move(interface));
    }
  }
  return interfaces;
}

bool ComputedTorqueController::on_set_chained_mode(bool chained_mode)
{
  chained_ = chained_mode;
  return true;
}

void ComputedTorqueController::read_references()
{
  const std::size_t count = joints_.size();
  given_q_.fill(NOT_A_NUMBER);
  given_v_.fill(NOT_A_NUMBER);
  given_a_.fill(NOT_A_NUMBER);
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t j = joints_[k];
    given_q_[j] = ordered_exported_reference_interfaces_[k]->get_optional().value_or(NOT_A_NUMBER);
    given_v_[j] = ordered_exported_reference_interfaces_[count + k]->get_optional().value_or(NOT_A_NUMBER);
    given_a_[j] = ordered_exported_reference_interfaces_[2 * count + k]->get_optional().value_or(NOT_A_NUMBER);
  }
  core_->chain(given_q_, given_v_, given_a_);
}

// -- the cycle ------------------------------------------------------------------------------------------------------

return_type ComputedTorqueController::update_reference_from_subscribers(const rclcpp::Time &, const rclcpp::Duration &)
{
  return return_type::OK;  // requests are taken in update_and_write_commands, in chained mode too
}

return_type ComputedTorqueController::update_and_write_commands(const rclcpp::Time & time, const rclcpp::Duration &)
{
  const Time t = time.nanoseconds();
  same_clock_.store(time.get_clock_type() == get_node()->get_clock()->get_clock_type(), std::memory_order_relaxed);
  cycle_time_.store(t, std::memory_order_relaxed);
  const bool readable = read_state();
  if (!started_) {
    started_ = readable && core_->activate(t, q_, v_);
    if (!started_) {
      write(core_->safe_command());
      return return_type::OK;
    }
  }
  take_requests(t);
  if (is_in_chained_mode()) {
    read_references();
  }
  const std::int64_t divisor = std::max<std::int64_t>(1, shared_wrench_divisor_.load(std::memory_order_relaxed));
  const bool wrenches_due = cycles_++ % divisor == 0;
  core_->want_wrenches = wrenches_due || core_->settings().acceleration == Acceleration::differentiated;
  if (readable) {
    core_->update(t, q_, v_, use_effort_state_ ? &effort_ : nullptr);
  }
  const bool cycle = readable && core_->current;
  if (!cycle) {
    core_->watch(t);
  }
  write(core_->command);
  if (cycle && wrenches_due) {
    const auto stamp = stamp_of(t + clock_offset_.load(std::memory_order_relaxed));
    for (std::size_t j = 0; j < N; ++j) {
      auto & topic = io_->wrenches[j];
      topic.message.header.stamp = stamp;
      const double * row = core_->wrenches.data() + 6 * j;
      topic.message.wrench.torque.x = row[0];
      topic.message.wrench.torque.y = row[1];
      topic.message.wrench.torque.z = row[2];
      topic.message.wrench.force.x = row[3];
      topic.message.wrench.force.y = row[4];
      topic.message.wrench.force.z = row[5];
      static_cast<void>(topic.realtime->try_publish(topic.message));
    }
  }
  hand_out(time);
  return core_->fault ? return_type::ERROR : return_type::OK;  // ERROR: the controller manager deactivates us
}

bool ComputedTorqueController::read_state()
{
  bool good = true;
  const auto read = [&](std::size_t at, double & to) {
    const auto value = state_interfaces_[at].get_optional();
    good = good && value.has_value();
    to = value.value_or(to);
  };
  for (std::size_t j = 0; j < N; ++j) {
    read(position_at_[j], q_[j]);
    read(velocity_at_[j], v_[j]);
    if (use_effort_state_) {
      read(effort_at_[j], effort_[j]);
    }
  }
  read_failures_ += good ? 0 : 1;
  return good;
}

void ComputedTorqueController::write(const Vector & command)
{
  for (const std::size_t j : joints_) {
    if (command_at_[j] < command_interfaces_.size() && !command_interfaces_[command_at_[j]].set_value(command[j])) {
      ++write_failures_;
    }
  }
}

void ComputedTorqueController::take_requests(Time t)
{
  Request * request = nullptr;
  while (answered_.size() < QUEUE && requests_.pop(request)) {
    switch (request->kind) {
      case Request::Kind::trajectory:
        if (core_->adopt(request->motion.get(), t)) {
          static_cast<void>(request->motion.release());  // comes back through `released`
        }
        break;
      case Request::Kind::point:
        core_->stream(*request->motion, t);
        break;
      case Request::Kind::hold:
        core_->hold(t);
        break;
      case Request::Kind::change:
        core_->change(request->settings, request->numbers);
        break;
      case Request::Kind::wrench:
        core_->set_external_wrench(request->link, request->wrench, t);
        break;
    }
    static_cast<void>(answered_.push(request));
  }
}

void ComputedTorqueController::hand_out(const rclcpp::Time & time)
{
  const Time t = time.nanoseconds();
  for (Motion * motion = nullptr; motions_.size() < QUEUE && (motion = core_->reference.take_back()) != nullptr;) {
    static_cast<void>(motions_.push(motion));
  }
  for (Event event; events_.size() < 4 * QUEUE && core_->reference.take(event);) {
    static_cast<void>(events_.push(event));
  }
  const Time stamp = t + clock_offset_.load(std::memory_order_relaxed);
  if (t - published_ >= publish_period_.load(std::memory_order_relaxed) || t < published_) {
    published_ = t;
    publish(stamp_of(stamp));
  }
  if (t - snapshot_taken_ >= SECOND / 50 || t < snapshot_taken_) {
    snapshot_taken_ = t;
    const Snapshot s{*core_, write_failures_, read_failures_};
    static_cast<void>(snapshots_.push(s));
  }
}

void ComputedTorqueController::publish(const builtin_interfaces::msg::Time & stamp)
{
  auto & reference = io_->reference.message;
  reference.header.stamp = stamp;
  assign(reference.position, core_->q_d);
  assign(reference.velocity, core_->v_d);
  assign(reference.effort, core_->effort);
  static_cast<void>(io_->reference.realtime->try_publish(reference));
  auto & error = io_->error.message;
  error.header.stamp = stamp;
  assign(error.position, core_->e);
  assign(error.velocity, core_->ed);
  static_cast<void>(io_->error.realtime->try_publish(error));
  if (core_->settings().observer_gain > 0.0) {
    auto & external = io_->external_efforts.message;
    external.header.stamp = stamp;
    assign(external.effort, core_->external);
    static_cast<void>(io_->external_efforts.realtime->try_publish(external));
  }
  auto & state = io_->state.message;
  state.header.stamp = stamp;
  assign(state.reference.positions, core_->q_d);
  assign(state.reference.velocities, core_->v_d);
  assign(state.reference.accelerations, core_->a_d);
  assign(state.feedback.positions, core_->q);
  assign(state.feedback.velocities, core_->v);
  assign(state.error.positions, core_->e);
  assign(state.error.velocities, core_->ed);
  assign(state.output.effort, core_->command);
  static_cast<void>(io_->state.realtime->try_publish(state));
}

// -- requests -------------------------------------------------------------------------------------------------------

bool ComputedTorqueController::push(std::unique_ptr<Request> request)
{
  const std::lock_guard<std::mutex> lock(request_mutex_);
  Request * const raw = request.release();
  if (requests_.push(raw)) {
    return true;
  }
  delete raw;
  RCLCPP_WARN_THROTTLE(
    get_node()->get_logger(), *get_node()->get_clock(), LOG_PERIOD, "the cycle takes no requests, or too many come");
  return false;
}

Time ComputedTorqueController::stamp_in_cycle_time(const builtin_interfaces::msg::Time & message_stamp) const
{
  const Time stamp = time_of(message_stamp);
  return stamp == 0 || same_clock_ ? stamp : stamp - clock_offset_;
}

std::unique_ptr<Motion> ComputedTorqueController::motion_of(const JointTrajectory & message) const
{
  std::vector<Point> points;
  points.reserve(message.points.size());
  for (const auto & point : message.points) {
    points.push_back(point_of(point));
  }
  return make_motion(
    message.joint_names, points, stamp_in_cycle_time(message.header.stamp), cycle_time_.load(), settings_);
}

/// @throws Rejected if no motion is followed now.
void ComputedTorqueController::require_running() const
{
  if (!running() || chained_) {
    throw Rejected(Code::invalid_goal, chained_ ? "the controller is chained" : "the controller is not active");
  }
}

void ComputedTorqueController::on_trajectory(const JointTrajectory & message)
{
  auto request = std::make_unique<Request>();
  try {
    require_running();
    if (message.points.empty()) {
      RCLCPP_INFO(get_node()->get_logger(), "empty trajectory: holding");
    } else {
      request->motion = motion_of(message);
      request->kind = Request::Kind::trajectory;
      request->motion->id = next_goal_++;
    }
    push(std::move(request));
  } catch (const Rejected & error) {
    RCLCPP_WARN(get_node()->get_logger(), "trajectory refused: %s", error.what());
  }
}

void ComputedTorqueController::on_point(const JointTrajectoryPoint & message)
{
  std::vector<std::string> names;
  for (const std::size_t j : joints_) {
    names.emplace_back(joint_names[j]);
  }
  auto request = std::make_unique<Request>();
  request->kind = Request::Kind::point;
  try {
    require_running();
    request->motion = make_motion(names, {point_of(message)}, 0, cycle_time_.load(), settings_, true);
    push(std::move(request));
  } catch (const Rejected & error) {
    RCLCPP_WARN_THROTTLE(
      get_node()->get_logger(), *get_node()->get_clock(), LOG_PERIOD, "set-point refused: %s", error.what());
  }
}

void ComputedTorqueController::on_wrench(const WrenchStamped & message)
{
  auto & clock = *get_node()->get_clock();
  const std::size_t link = index_of(external_links, message.header.frame_id);
  const auto & w = message.wrench;
  const std::array<double, 6> wrench = {w.torque.x, w.torque.y, w.torque.z, w.force.x, w.force.y, w.force.z};
  const bool meant = std::all_of(wrench.begin(), wrench.end(), [](double x) { return std::abs(x) <= 1e7; });
  if (link == LOADED || !meant) {
    RCLCPP_WARN_THROTTLE(
      get_node()->get_logger(), clock, LOG_PERIOD,
      "external wrench refused: %s; header.frame_id must be one of @external_links@",
      meant ? message.header.frame_id.c_str() : "its values cannot be meant");
    return;
  }
  if (!running()) {
    return;
  }
  auto request = std::make_unique<Request>();
  request->kind = Request::Kind::wrench;
  request->link = link;
  request->wrench = wrench;
  push(std::move(request));
}

void ComputedTorqueController::on_hold(Trigger::Response & response)
{
  response.success = running() && !chained_ && push(std::make_unique<Request>());
  response.message = response.success ? "holding" : "the controller is not active, or is chained";
}

// -- action ---------------------------------------------------------------------------------------------------------

Tolerances ComputedTorqueController::tolerances_of(const Action::Goal & goal) const
{
  Tolerances t = settings_.tolerances;
  try {
    for (const bool path : {true, false}) {
      for (const auto & asked : path ? goal.path_tolerance : goal.goal_tolerance) {
        const std::size_t i = index_of(joint_names, asked.name);
        if (i == N) {
          throw Rejected(Code::invalid_goal, "a tolerance names the unknown joint '" + asked.name + "'");
        }
        double & position = path ? t.path_position[i] : t.goal_position[i];
        double & velocity = path ? t.path_velocity[i] : t.goal_velocity[i];
        position = resolved(asked.position, position);
        velocity = resolved(asked.velocity, velocity);
      }
    }
    const auto & time = goal.goal_time_tolerance;
    t.goal_time = resolved(static_cast<double>(time.sec) + 1e-9 * static_cast<double>(time.nanosec), t.goal_time);
  } catch (const Rejected & error) {
    RCLCPP_WARN(get_node()->get_logger(), "the default tolerances are used: %s", error.what());
    return settings_.tolerances;
  }
  return t;
}

rclcpp_action::GoalResponse ComputedTorqueController::on_goal(const Action::Goal & goal)
{
  try {
    require_running();
    motion_of(goal.trajectory);
  } catch (const Rejected & error) {
    RCLCPP_WARN(get_node()->get_logger(), "goal refused: %s", error.what());
    return rclcpp_action::GoalResponse::REJECT;
  }
  return rclcpp_action::GoalResponse::ACCEPT_AND_EXECUTE;
}

void ComputedTorqueController::on_accepted(const std::shared_ptr<GoalHandle> & handle)
{
  Event event;
  event.id = next_goal_++;
  event.status = Status::rejected;
  event.reason = Reason::not_following;
  Code code = code_of(event.reason);
  goals_[event.id] = handle;
  const auto goal = handle->get_goal();
  try {
    auto request = std::make_unique<Request>();
    request->kind = Request::Kind::trajectory;
    request->motion = motion_of(goal->trajectory);
    request->motion->id = event.id;
    request->motion->tolerances = tolerances_of(*goal);
    if (running() && push(std::move(request))) {
      return;
    }
  } catch (const Rejected & error) {
    code = error.code;
    RCLCPP_WARN(get_node()->get_logger(), "goal refused: %s", error.what());
  }
  finish_goal(event, code);
}

void ComputedTorqueController::finish_goal(const Event & event, Code code)
{
  const auto logger = get_node()->get_logger();
  const std::string text = text_of(event);
  if (event.status == Status::aborted || event.status == Status::rejected) {
    RCLCPP_WARN(logger, "trajectory %s: %s", event.status == Status::rejected ? "refused" : "aborted", text.c_str());
  }
  const auto found = goals_.find(event.id);
  if (found == goals_.end() || event.status == Status::active) {
    return;
  }
  const auto result = std::make_shared<Action::Result>();
  result->error_code = static_cast<std::int32_t>(code);
  result->error_string = text;
  const auto & handle = found->second;
  if (handle->is_active()) {
    if (event.status == Status::succeeded) {
      handle->succeed(result);
    } else if (handle->is_canceling()) {
      handle->canceled(result);
    } else {
      handle->abort(result);
    }
  }
  goals_.erase(found);
}

void ComputedTorqueController::publish_feedback(const Snapshot & snapshot)
{
  const Time now = get_node()->now().nanoseconds();
  if (goals_.empty() || (now < feedback_due_ && feedback_due_ - now <= feedback_period_)) {
    return;
  }
  feedback_due_ = now + feedback_period_;
  const auto feedback = std::make_shared<Action::Feedback>();
  feedback->header.stamp = stamp_of(now);
  const Shown & s = snapshot.cycle;
  feedback->joint_names.assign(joint_names.begin(), joint_names.end());
  feedback->desired.positions.assign(s.q_d.begin(), s.q_d.end());
  feedback->desired.velocities.assign(s.v_d.begin(), s.v_d.end());
  feedback->desired.accelerations.assign(s.a_d.begin(), s.a_d.end());
  feedback->actual.positions.assign(s.q.begin(), s.q.end());
  feedback->actual.velocities.assign(s.v.begin(), s.v.end());
  feedback->error.positions.assign(s.e.begin(), s.e.end());
  feedback->error.velocities.assign(s.ed.begin(), s.ed.end());
  for (const auto & goal : goals_) {
    if (goal.second->is_active()) {
      goal.second->publish_feedback(feedback);
    }
  }
}

// -- what is told ---------------------------------------------------------------------------------------------------

void ComputedTorqueController::housekeeping()
{
  Request * request = nullptr;
  while (answered_.pop(request)) {
    delete request;
  }
  Motion * motion = nullptr;
  while (motions_.pop(motion)) {
    delete motion;
  }
  Event event;
  while (events_.pop(event)) {
    finish_goal(event, code_of(event.reason));
  }
  if (!io_) {
    return;
  }
  const auto now = get_node()->now();
  if (!same_clock_) {
    clock_offset_ = now.nanoseconds() - rclcpp::Clock(RCL_STEADY_TIME).now().nanoseconds();
  } else {
    clock_offset_ = 0;
  }
  if (running()) {
    take_over_parameters();
  }
  Snapshot snapshot;
  if (snapshots_.get_latest(snapshot)) {
    publish_feedback(snapshot);
    publish_diagnostics(snapshot);
  }
}

void ComputedTorqueController::publish_diagnostics(const Snapshot & snapshot)
{
  const Time now = get_node()->now().nanoseconds();
  const bool changed = (snapshot.cycle.mode == Mode::safe) != (told_mode_ == Mode::safe);
  if (changed) {
    if (snapshot.cycle.mode == Mode::safe) {
      RCLCPP_ERROR_THROTTLE(
        get_node()->get_logger(), *get_node()->get_clock(), LOG_PERIOD, "safe command: %s",
        snapshot.cycle.fault ? text_of(snapshot.cycle.fault_reason) : "no good joint state in time");
    } else {
      RCLCPP_INFO_THROTTLE(get_node()->get_logger(), *get_node()->get_clock(), LOG_PERIOD, "recovered: holding");
    }
  }
  told_mode_ = snapshot.cycle.mode;
  // a controller before this one goes on as if it were followed: somebody has to say that it is not
  const unsigned long refusals = snapshot.cycle.counts[Cause::reference_refused];
  const bool refusing = refusals > told_refusals_;
  if (refusing) {
    RCLCPP_WARN_THROTTLE(
      get_node()->get_logger(), *get_node()->get_clock(), LOG_PERIOD,
      "chained references are refused: a position is beyond a limit, or a step is larger than max_step. The arm holds "
      "until a reference is near its position [reference_refused, %lu so far]",
      refusals);
  }
  told_refusals_ = refusals;
  if (!changed && now < diagnostics_due_ && diagnostics_due_ - now <= SECOND) {
    return;
  }
  diagnostics_due_ = now + SECOND;
  DiagnosticArray message;
  message.header.stamp = stamp_of(now);
  message.status.resize(1);
  auto & status = message.status[0];
  using Level = diagnostic_msgs::msg::DiagnosticStatus;
  status.name = std::string(get_node()->get_name()) + ": control";
  status.hardware_id = "@robot@";
  status.level = snapshot.cycle.mode == Mode::safe ? Level::ERROR : (snapshot.cycle.collision || refusing ? Level::WARN : Level::OK);
  status.message = name_of(snapshot.cycle.mode);
  const auto add = [&](const std::string & key, const std::string & value) {
    status.values.emplace_back();
    status.values.back().key = key;
    status.values.back().value = value;
  };
  add("mode", name_of(snapshot.cycle.mode));
  for (std::size_t k = 0; k < CAUSE_NAMES.size(); ++k) {
    if (const unsigned long n = snapshot.cycle.counts[static_cast<Cause>(k)]; n > 0) {
      add(CAUSE_NAMES[k], std::to_string(n));
    }
  }
  add("state_not_read", std::to_string(snapshot.read_failures));
  add("command_not_written", std::to_string(snapshot.write_failures));
  io_->diagnostics->publish(message);
}

}  // namespace @package@

PLUGINLIB_EXPORT_CLASS(@package@::ComputedTorqueController, controller_interface::ChainableControllerInterface)
