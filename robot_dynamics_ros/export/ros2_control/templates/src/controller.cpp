#include "@package@/controller.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "hardware_interface/types/hardware_interface_type_values.hpp"
#include "pluginlib/class_list_macros.hpp"

namespace @package@
{

namespace
{

using controller_interface::InterfaceConfiguration;
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

/// A stamp or a duration, ns.
template <typename Stamp>
Time time_of(const Stamp & stamp)
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
  return {time_of(message.time_from_start), message.positions, message.velocities, message.accelerations, message.effort};
}

std::string interface_name(std::size_t joint, const char * what) { return std::string(joint_names[joint]) + "/" + what; }

/// A tolerance as an action goal asks for it: 0 keeps the default, -1 lifts it, more sets it.
/// @throws Rejected for any other value.
double resolved(double asked, double by_default)
{
  if (asked != -1.0 && !(std::isfinite(asked) && asked >= 0.0)) {
    throw Rejected(Code::invalid_goal, "a tolerance is " + text_of(asked));
  }
  return asked == 0.0 ? by_default : std::max(asked, 0.0);
}

/// One number a joint; an array that has its size already keeps its memory.
void assign(std::vector<double> & to, const double * from) { to.assign(from, from + N); }

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

std::vector<std::string> all_joint_names() { return {joint_names.begin(), joint_names.end()}; }

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
      const auto changed =
        std::find_if(changes.begin(), changes.end(), [&](const auto & x) { return x.get_name() == name; });
      return changed != changes.end() ? *changed : get_node()->get_parameter(name);
    });
    return problem_with(settings);
  } catch (const std::exception & error) {
    return error.what();
  }
}

void ComputedTorqueController::read_rates()
{
  wrench_divisor_ = get_node()->get_parameter("joint_wrenches.rate_divisor").as_int();
  publish_period_ = nanoseconds(1.0 / get_node()->get_parameter("state_publish_rate").as_double());
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
  settings_.take(wanted);
  read_rates();
  parameters_changed_ = !push([settings = settings_, numbers = carrying(settings_.payload)](Core & core, Time) {
    core.change(settings, numbers);
  });
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

InterfaceConfiguration ComputedTorqueController::command_interface_configuration() const
{
  InterfaceConfiguration wanted;
  wanted.type = interface_configuration_type::INDIVIDUAL;
  for (const std::size_t j : joints_) {
    wanted.names.push_back(interface_name(j, HW_IF_EFFORT));
  }
  return wanted;
}

InterfaceConfiguration ComputedTorqueController::state_interface_configuration() const
{
  InterfaceConfiguration wanted;
  wanted.type = interface_configuration_type::INDIVIDUAL;
  for (std::size_t j = 0; j < N; ++j) {
    for (std::size_t k = 0; k < kinds_of_state(); ++k) {
      wanted.names.push_back(interface_name(j, std::array{HW_IF_POSITION, HW_IF_VELOCITY, HW_IF_EFFORT}[k]));
    }
  }
  return wanted;
}

template <typename Message>
void ComputedTorqueController::advertise(Topic<Message> & topic, const std::string & name)
{
  topic.realtime = std::make_unique<realtime_tools::RealtimePublisher<Message>>(
    get_node()->template create_publisher<Message>(name, rclcpp::SystemDefaultsQoS()));
}

controller_interface::CallbackReturn ComputedTorqueController::on_configure(const rclcpp_lifecycle::State &)
{
  const auto node = get_node();
  release();
  joints_.clear();
  const auto names = node->get_parameter("joints").as_string_array();
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
  read_rates();
  feedback_period_ = nanoseconds(1.0 / node->get_parameter("action_monitor_rate").as_double());
  core_ = std::make_unique<Core>(settings_);
  io_ = std::make_unique<Connections>();
  advertise_topics();
  listen();
  RCLCPP_INFO(
    node->get_logger(), "configured for '@robot@': %zu of %zu joints", joints_.size(), static_cast<std::size_t>(N));
  return CallbackReturn::SUCCESS;
}

void ComputedTorqueController::advertise_topics()
{
  for (std::size_t j = 0; j < N; ++j) {
    advertise(io_->wrenches[j], std::string("~/joint_wrenches/") + TOPIC_NAMES[j]);
    io_->wrenches[j].message.header.frame_id = child_links[j];
  }
  advertise(io_->reference, "~/reference");
  advertise(io_->error, "~/error");
  advertise(io_->external_efforts, "~/external_efforts");
  advertise(io_->state, "~/controller_state");
  io_->diagnostics = get_node()->create_publisher<DiagnosticArray>("/diagnostics", rclcpp::SystemDefaultsQoS());
  for (auto * topic : {&io_->reference, &io_->error, &io_->external_efforts}) {
    topic->message.name = all_joint_names();
  }
  io_->state.message.joint_names = all_joint_names();
  io_->state.message.speed_scaling_factor = 1.0;
  fill_messages();  // they have their size from now on
}

void ComputedTorqueController::listen()
{
  const auto node = get_node();
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
      response->success = running() && !chained_ && push(HOLD);
      response->message = response->success ? "holding" : "the controller is not active, or is chained";
    });
  action_ = rclcpp_action::create_server<Action>(
    node, "~/follow_joint_trajectory",
    [this](const rclcpp_action::GoalUUID &, const std::shared_ptr<const Action::Goal> goal) { return on_goal(*goal); },
    [this](const std::shared_ptr<GoalHandle>) {
      push(HOLD);
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
}

/// Where among the interfaces those of these names are; whether all are there.
template <typename Interfaces>
bool ComputedTorqueController::locate(
  const std::vector<std::string> & names, const Interfaces & interfaces, std::vector<std::size_t> & at) const
{
  at.clear();
  for (const std::string & name : names) {
    const auto same = [&](const auto & x) { return x.get_name() == name; };
    at.push_back(
      static_cast<std::size_t>(std::find_if(interfaces.begin(), interfaces.end(), same) - interfaces.begin()));
    if (at.back() == interfaces.size()) {
      RCLCPP_ERROR(get_node()->get_logger(), "the hardware offers no interface '%s'", name.c_str());
    }
  }
  return std::find(at.begin(), at.end(), interfaces.size()) == at.end();
}

controller_interface::CallbackReturn ComputedTorqueController::on_activate(const rclcpp_lifecycle::State &)
{
  const bool readable = locate(state_interface_configuration().names, state_interfaces_, state_at_);
  if (!locate(command_interface_configuration().names, command_interfaces_, command_at_) || !readable) {
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

void ComputedTorqueController::read_references()
{
  const std::size_t count = joints_.size();
  std::array<double, 3 * N> given;
  given.fill(NOT_A_NUMBER);
  for (std::size_t k = 0; k < 3 * count; ++k) {
    const auto & interface = ordered_exported_reference_interfaces_[k];
    given[k / count * N + joints_[k % count]] = interface->get_optional().value_or(NOT_A_NUMBER);
  }
  core_->chain(given);
}

// -- the cycle ------------------------------------------------------------------------------------------------------

return_type ComputedTorqueController::update_and_write_commands(const rclcpp::Time & time, const rclcpp::Duration &)
{
  const Time t = time.nanoseconds();
  same_clock_.store(time.get_clock_type() == get_node()->get_clock()->get_clock_type(), std::memory_order_relaxed);
  cycle_time_.store(t, std::memory_order_relaxed);
  const bool readable = read_state();
  if (!started_) {
    started_ = readable && core_->activate(t, state_[0], state_[1]);
    if (!started_) {
      write(core_->safe_command());
      return return_type::OK;
    }
  }
  take_requests(t);
  if (is_in_chained_mode()) {
    read_references();
  }
  const bool wrenches_due =
    cycles_++ % std::max<std::int64_t>(1, wrench_divisor_.load(std::memory_order_relaxed)) == 0;
  core_->want_wrenches = wrenches_due || core_->settings().acceleration == Acceleration::differentiated;
  const bool done = readable && core_->update(t, state_[0], state_[1], use_effort_state_ ? &state_[2] : nullptr);
  if (!done) {
    core_->watch(t);
  }
  write(core_->cycle.command);
  if (done && wrenches_due) {
    publish_wrenches(stamp_of(t + clock_offset_.load(std::memory_order_relaxed)));
  }
  hand_out(t);
  return core_->fault ? return_type::ERROR : return_type::OK;  // ERROR: the controller manager deactivates us
}

bool ComputedTorqueController::read_state()
{
  bool good = true;
  for (std::size_t k = 0; k < state_at_.size(); ++k) {
    const auto value = state_interfaces_[state_at_[k]].get_optional();
    double & to = state_[k % kinds_of_state()][k / kinds_of_state()];
    good = good && value.has_value();
    to = value.value_or(to);
  }
  read_failures_ += good ? 0 : 1;
  return good;
}

void ComputedTorqueController::write(const double * command)
{
  for (std::size_t k = 0; k < command_at_.size(); ++k) {
    if (command_at_[k] < command_interfaces_.size()) {
      write_failures_ += command_interfaces_[command_at_[k]].set_value(command[joints_[k]]) ? 0 : 1;
    }
  }
}

void ComputedTorqueController::take_requests(Time t)
{
  Request * request = nullptr;
  while (answered_.size() < QUEUE && requests_.pop(request)) {
    (*request)(*core_, t);
    static_cast<void>(answered_.push(request));
  }
}

void ComputedTorqueController::publish_wrenches(const builtin_interfaces::msg::Time & stamp)
{
  for (std::size_t j = 0; j < N; ++j) {
    auto & topic = io_->wrenches[j];
    auto & wrench = topic.message.wrench;
    const double * row = core_->cycle.wrenches + 6 * j;
    for (double * const x : {&wrench.torque.x, &wrench.torque.y, &wrench.torque.z, &wrench.force.x, &wrench.force.y, &wrench.force.z}) {
      *x = *row++;
    }
    topic.message.header.stamp = stamp;
    static_cast<void>(topic.realtime->try_publish(topic.message));
  }
}

void ComputedTorqueController::hand_out(Time t)
{
  for (Motion * motion = nullptr; motions_.size() < QUEUE && (motion = core_->reference.take_back()) != nullptr;) {
    static_cast<void>(motions_.push(motion));
  }
  for (Event event; events_.size() < 4 * QUEUE && core_->reference.take(event);) {
    static_cast<void>(events_.push(event));
  }
  if (t - published_ >= publish_period_.load(std::memory_order_relaxed) || t < published_) {
    published_ = t;
    fill_messages();
    const auto stamp = stamp_of(t + clock_offset_.load(std::memory_order_relaxed));
    const auto publish = [&](auto & topic) {
      topic.message.header.stamp = stamp;
      static_cast<void>(topic.realtime->try_publish(topic.message));
    };
    publish(io_->reference);
    publish(io_->error);
    publish(io_->state);
    if (core_->settings().observer_gain > 0.0) {
      publish(io_->external_efforts);
    }
  }
  if (t - snapshot_taken_ >= SECOND / 50 || t < snapshot_taken_) {
    snapshot_taken_ = t;
    static_cast<void>(snapshots_.push({*core_, core_->collision.flag[0] != 0, write_failures_, read_failures_}));
  }
}

void ComputedTorqueController::fill_messages()
{
  const auto & cycle = core_->cycle;
  assign(io_->reference.message.position, cycle.reference);
  assign(io_->reference.message.velocity, cycle.reference + N);
  assign(io_->reference.message.effort, cycle.effort);
  assign(io_->error.message.position, cycle.error);
  assign(io_->error.message.velocity, cycle.error + N);
  assign(io_->external_efforts.message.effort, core_->observer.effort);
  auto & state = io_->state.message;
  describe(cycle, state.reference, state.feedback, state.error);
  assign(state.output.effort, cycle.command);
}

// -- requests -------------------------------------------------------------------------------------------------------

bool ComputedTorqueController::push(Request request)
{
  const std::lock_guard<std::mutex> lock(request_mutex_);
  auto owned = std::make_unique<Request>(std::move(request));
  if (requests_.push(owned.get())) {
    static_cast<void>(owned.release());
    return true;
  }
  RCLCPP_WARN_THROTTLE(
    get_node()->get_logger(), *get_node()->get_clock(), LOG_PERIOD, "the cycle takes no requests, or too many come");
  return false;
}

/// A motion that the core gives back if it takes it.
bool ComputedTorqueController::push(std::unique_ptr<Motion> motion)
{
  return push([held = std::make_shared<std::unique_ptr<Motion>>(std::move(motion))](Core & core, Time t) {
    if (core.adopt(held->get(), t)) {
      static_cast<void>(held->release());
    }
  });
}

std::unique_ptr<Motion> ComputedTorqueController::motion_of(const JointTrajectory & message) const
{
  const Time stamp = time_of(message.header.stamp);
  std::vector<Point> points;
  std::transform(message.points.begin(), message.points.end(), std::back_inserter(points), point_of);
  return make_motion(
    message.joint_names, points, stamp == 0 || same_clock_ ? stamp : stamp - clock_offset_, cycle_time_.load(), settings_);
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
  try {
    require_running();
    if (message.points.empty()) {
      RCLCPP_INFO(get_node()->get_logger(), "empty trajectory: holding");
      push(HOLD);
    } else {
      auto motion = motion_of(message);
      motion->id = next_goal_++;
      push(std::move(motion));
    }
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
  try {
    require_running();
    const std::shared_ptr<Motion> point =
      make_motion(names, {point_of(message)}, 0, cycle_time_.load(), settings_, true);
    push([point](Core & core, Time t) { core.stream(*point, t); });
  } catch (const Rejected & error) {
    RCLCPP_WARN_THROTTLE(
      get_node()->get_logger(), *get_node()->get_clock(), LOG_PERIOD, "set-point refused: %s", error.what());
  }
}

void ComputedTorqueController::on_wrench(const WrenchStamped & message)
{
  const std::size_t link = index_of(external_links, message.header.frame_id);
  const auto & w = message.wrench;
  const std::array<double, 6> wrench = {w.torque.x, w.torque.y, w.torque.z, w.force.x, w.force.y, w.force.z};
  const bool meant = std::all_of(wrench.begin(), wrench.end(), [](double x) { return std::abs(x) <= 1e7; });
  if (link == LOADED || !meant) {
    RCLCPP_WARN_THROTTLE(
      get_node()->get_logger(), *get_node()->get_clock(), LOG_PERIOD,
      "external wrench refused: %s; header.frame_id must be one of @external_links@",
      meant ? message.header.frame_id.c_str() : "its values cannot be meant");
  } else if (running()) {
    push([link, wrench](Core & core, Time t) { core.set_external_wrench(link, wrench, t); });
  }
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
        auto & rows = path ? t.path : t.goal;
        rows[i] = resolved(asked.position, rows[i]);
        rows[N + i] = resolved(asked.velocity, rows[N + i]);
      }
    }
    t.goal_time = resolved(1e-9 * static_cast<double>(time_of(goal.goal_time_tolerance)), t.goal_time);
    return t;
  } catch (const Rejected & error) {
    RCLCPP_WARN(get_node()->get_logger(), "the default tolerances are used: %s", error.what());
    return settings_.tolerances;
  }
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
    auto motion = motion_of(goal->trajectory);
    motion->id = event.id;
    motion->tolerances = tolerances_of(*goal);
    if (running() && push(std::move(motion))) {
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
  feedback->joint_names = all_joint_names();
  describe(snapshot.shown.cycle, feedback->desired, feedback->actual, feedback->error);
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
  const Time now = get_node()->now().nanoseconds();
  clock_offset_ = same_clock_ ? 0 : now - rclcpp::Clock(RCL_STEADY_TIME).now().nanoseconds();
  if (running()) {
    take_over_parameters();
  }
  Snapshot snapshot;
  if (snapshots_.get_latest(snapshot)) {
    publish_feedback(snapshot);
    report(snapshot);
    publish_diagnostics(snapshot);
  }
}

/// Log what has changed since the last time.
void ComputedTorqueController::report(const Snapshot & snapshot)
{
  const auto logger = get_node()->get_logger();
  auto & clock = *get_node()->get_clock();
  const Shown & s = snapshot.shown;
  const bool safe = s.mode == Mode::safe;
  changed_ = safe != was_safe_;
  was_safe_ = safe;
  if (changed_ && safe) {
    RCLCPP_ERROR_THROTTLE(
      logger, clock, LOG_PERIOD, "safe command: %s",
      s.fault ? text_of(s.fault_reason) : "no good joint state in time");
  } else if (changed_) {
    RCLCPP_INFO_THROTTLE(logger, clock, LOG_PERIOD, "recovered: holding");
  }
  // a controller before this one goes on as if it were followed: somebody has to say that it is not
  const unsigned long refusals = s.counts[Cause::reference_refused];
  refusing_ = refusals > told_refusals_;
  told_refusals_ = refusals;
  if (refusing_) {
    RCLCPP_WARN_THROTTLE(
      logger, clock, LOG_PERIOD,
      "chained references are refused: a position is beyond a limit, or a step is larger than max_step. The arm holds "
      "until a reference is near its position [reference_refused, %lu so far]",
      refusals);
  }
}

void ComputedTorqueController::publish_diagnostics(const Snapshot & snapshot)
{
  using Level = diagnostic_msgs::msg::DiagnosticStatus;
  const Time now = get_node()->now().nanoseconds();
  if (!changed_ && now < diagnostics_due_ && diagnostics_due_ - now <= SECOND) {
    return;
  }
  diagnostics_due_ = now + SECOND;
  DiagnosticArray message;
  message.header.stamp = stamp_of(now);
  message.status.resize(1);
  auto & status = message.status[0];
  status.name = std::string(get_node()->get_name()) + ": control";
  status.hardware_id = "@robot@";
  status.level = was_safe_ ? Level::ERROR : snapshot.collision || refusing_ ? Level::WARN : Level::OK;
  status.message = name_of(snapshot.shown.mode);
  const auto add = [&](const std::string & key, const std::string & value) {
    status.values.emplace_back();
    status.values.back().key = key;
    status.values.back().value = value;
  };
  add("mode", name_of(snapshot.shown.mode));
  for (std::size_t k = 0; k < CAUSE_NAMES.size(); ++k) {
    if (const unsigned long n = snapshot.shown.counts[static_cast<Cause>(k)]; n > 0) {
      add(CAUSE_NAMES[k], std::to_string(n));
    }
  }
  add("state_not_read", std::to_string(snapshot.read_failures));
  add("command_not_written", std::to_string(snapshot.write_failures));
  io_->diagnostics->publish(message);
}

}  // namespace @package@

PLUGINLIB_EXPORT_CLASS(@package@::ComputedTorqueController, controller_interface::ChainableControllerInterface)
