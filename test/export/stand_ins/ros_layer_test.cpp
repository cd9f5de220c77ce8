// Runs the emitted ros2_control layer on stand-ins for ROS, in one thread, beside a core of its own.

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "controller.cpp"

using namespace arm_controller;  // NOLINT
using controller_interface::CallbackReturn;
using controller_interface::return_type;
using Action = control_msgs::action::FollowJointTrajectory;

namespace
{

int failures = 0;

void check(bool good, const char * what, int line)
{
  if (!good) {
    ++failures;
    std::printf("line %d: %s\n", line, what);
  }
}
#define CHECK(x) check(x, #x, __LINE__)

constexpr Time PERIOD = 1000000, START = 5000000000;
const double NOT_A_NUMBER = std::numeric_limits<double>::quiet_NaN();

/// A controller with hardware behind it that stands where it is put.
class Bench
{
public:
  explicit Bench(std::map<std::string, rclcpp::Parameter::Value> overrides = {}, bool chained = false)
  {
    rclcpp::Clock::ros() = t;
    rclcpp::log().clear();
    controller.the_node = std::make_shared<rclcpp_lifecycle::LifecycleNode>("ctc");
    overrides.emplace("max_state_jump", 0.0);  // the arm is put where it is wanted
    controller.the_node->overrides = std::move(overrides);
    CHECK(controller.on_init() == CallbackReturn::SUCCESS);
    configured = controller.on_configure({}) == CallbackReturn::SUCCESS;
    if (!configured) {
      return;
    }
    references = controller.export_reference_interfaces();
    controller.set_chained_mode(chained);
    std::vector<hardware_interface::LoanedStateInterface> loaned_states;
    std::vector<hardware_interface::LoanedCommandInterface> loaned_commands;
    const auto wanted_states = controller.state_interface_configuration().names;
    for (auto name = wanted_states.rbegin(); name != wanted_states.rend(); ++name) {  // any order must do
      const auto slash = name->rfind('/');
      states[*name] =
        std::make_shared<hardware_interface::StateInterface>(name->substr(0, slash), name->substr(slash + 1));
      loaned_states.emplace_back(states[*name]);
    }
    for (const auto & name : controller.command_interface_configuration().names) {
      const auto slash = name.rfind('/');
      commands[name] =
        std::make_shared<hardware_interface::CommandInterface>(name.substr(0, slash), name.substr(slash + 1));
      commands[name]->value = 77.0;
      loaned_commands.emplace_back(commands[name]);
    }
    controller.assign_interfaces(std::move(loaned_commands), std::move(loaned_states));
    put(Vector{}, Vector{});
    CHECK(controller.on_activate({}) == CallbackReturn::SUCCESS);
  }

  void put(const Vector & position, const Vector & velocity)
  {
    q = position;
    v = velocity;
    for (std::size_t j = 0; j < N; ++j) {
      states[std::string(joint_names[j]) + "/position"]->value = q[j];
      states[std::string(joint_names[j]) + "/velocity"]->value = v[j];
    }
  }

  return_type cycle(int count = 1)
  {
    return_type result = return_type::OK;
    for (int k = 0; k < count; ++k) {
      t += PERIOD;
      rclcpp::Clock::ros() = t;
      result = controller.update(rclcpp::Time(t, RCL_ROS_TIME), rclcpp::Duration(std::chrono::nanoseconds(PERIOD)));
    }
    return result;
  }

  /// Cycles of an arm that does not follow; its encoders are alive.
  void stuck(int count)
  {
    for (int k = 0; k < count; ++k) {
      Vector position = q;
      for (double & x : position) {
        x += k % 2 == 0 ? 1e-9 : -1e-9;
      }
      put(position, v);
      cycle();
    }
  }

  void tick()
  {
    if (const auto timer = controller.the_node->timer.lock()) {
      timer->callback();
    }
  }

  double command(std::size_t j) { return commands[std::string(joint_names[j]) + "/effort"]->value; }

  template <typename Message>
  void send(const std::string & topic, const Message & message)
  {
    auto to = std::dynamic_pointer_cast<rclcpp::Subscription<Message>>(controller.the_node->subscriptions[topic].lock());
    to->callback(std::make_shared<const Message>(message));
  }

  template <typename Message>
  std::vector<Message> & sent(const std::string & topic)
  {
    return std::dynamic_pointer_cast<rclcpp::Publisher<Message>>(controller.the_node->publishers[topic])->sent;
  }

  std::shared_ptr<rclcpp_action::ServerGoalHandle<Action>> send_goal(const Action::Goal & goal)
  {
    auto server = std::dynamic_pointer_cast<rclcpp_action::Server<Action>>(
      controller.the_node->actions["~/follow_joint_trajectory"].lock());
    auto shared = std::make_shared<const Action::Goal>(goal);
    if (server->goal({}, shared) == rclcpp_action::GoalResponse::REJECT) {
      return nullptr;
    }
    auto handle = std::make_shared<rclcpp_action::ServerGoalHandle<Action>>(shared);
    server->accepted(handle);
    return handle;
  }

  ComputedTorqueController controller;
  bool configured = false;
  std::map<std::string, hardware_interface::StateInterface::SharedPtr> states;
  std::map<std::string, hardware_interface::CommandInterface::SharedPtr> commands;
  std::vector<hardware_interface::CommandInterface::SharedPtr> references;
  Time t = START;
  Vector q{}, v{};
};

trajectory_msgs::msg::JointTrajectory trajectory_to(double q, double seconds)
{
  trajectory_msgs::msg::JointTrajectory message;
  message.joint_names.assign(joint_names.begin(), joint_names.end());
  message.points.resize(1);
  message.points[0].positions.assign(N, q);
  message.points[0].velocities.assign(N, 0.0);
  message.points[0].time_from_start.nanosec = static_cast<std::uint32_t>(seconds * 1e9);
  return message;
}

bool logged(const std::string & what)
{
  for (const auto & line : rclcpp::log()) {
    if (line.find(what) != std::string::npos) {
      return true;
    }
  }
  return false;
}

void commands_are_those_of_the_core()
{
  Bench bench({{"gains." + std::string(joint_names[0]) + ".p", 400.0}});
  Settings settings;
  settings.p[0] = 400.0;
  std::fill_n(settings.tolerances.goal.begin() + N, N, 0.01);
  Core core(settings);
  std::vector<std::unique_ptr<Motion>> motions;
  core.activate(START + PERIOD, bench.q, bench.v);
  for (int k = 0; k < 50; ++k) {
    if (k == 3) {
      bench.send("~/joint_trajectory", trajectory_to(0.01, 0.03));
    }
    bench.cycle();
    if (k == 3) {
      auto motion = make_motion(
        {joint_names.begin(), joint_names.end()}, {{30000000, {std::vector<double>(N, 0.01), std::vector<double>(N, 0.0)}}},
        0, bench.t, settings);
      CHECK(core.adopt(motion.get(), bench.t));
      motions.push_back(std::move(motion));
    }
    core.update(bench.t, bench.q, bench.v, nullptr);
    for (std::size_t j = 0; j < N; ++j) {
      CHECK(bench.command(j) == core.cycle.command[j]);
    }
    Vector q{}, v{};
    std::copy_n(core.cycle.reference, N, q.begin());
    std::copy_n(core.cycle.reference + N, N, v.begin());
    q[0] += 1e-3 * std::sin(k);
    bench.put(q, v);
  }
  const auto & wrenches = bench.sent<geometry_msgs::msg::WrenchStamped>(std::string("~/joint_wrenches/") + TOPIC_NAMES[0]);
  CHECK(wrenches.size() == 50);
  CHECK(wrenches.back().header.frame_id == child_links[0]);
  CHECK(wrenches.back().wrench.torque.x == core.cycle.wrenches[0] && wrenches.back().wrench.force.z == core.cycle.wrenches[5]);
  CHECK(static_cast<Time>(wrenches.back().header.stamp.nanosec) + START / 1000000000 * 1000000000 == bench.t);
  const auto & reference = bench.sent<sensor_msgs::msg::JointState>("~/reference");
  CHECK(reference.size() == 3);  // 50 Hz
  CHECK(reference.back().name.size() == N && reference.back().effort.size() == N);
  const auto & state = bench.sent<control_msgs::msg::JointTrajectoryControllerState>("~/controller_state");
  CHECK(state.size() == 3 && state.back().speed_scaling_factor == 1.0 && state.back().output.effort.size() == N);
}

void goals_end_as_the_core_says()
{
  Bench bench;
  bench.cycle(2);
  Action::Goal goal;
  goal.trajectory = trajectory_to(0.0, 0.01);
  const auto good = bench.send_goal(goal);
  CHECK(good != nullptr);
  bench.cycle(5);
  bench.tick();
  CHECK(good && good->outcome.empty());
  bench.cycle(10);
  bench.tick();
  CHECK(good && good->outcome == "succeeded" && good->result.error_code == 0);
  CHECK(good && !good->feedback.empty());

  goal.trajectory = trajectory_to(0.3, 0.02);
  goal.path_tolerance.resize(1);
  goal.path_tolerance[0].name = joint_names[N - 1];
  goal.path_tolerance[0].position = 0.05;
  const auto bad = bench.send_goal(goal);
  bench.stuck(20);
  bench.tick();
  CHECK(bad && bad->outcome == "aborted" && bad->result.error_code == -4);
  CHECK(bad && bad->result.error_string.find(joint_names[N - 1]) != std::string::npos);

  goal.path_tolerance.clear();
  const auto replaced = bench.send_goal(goal);
  bench.stuck(2);
  const auto canceled = bench.send_goal(goal);
  bench.stuck(2);
  bench.tick();
  CHECK(replaced && replaced->outcome == "aborted");
  auto server = std::dynamic_pointer_cast<rclcpp_action::Server<Action>>(
    bench.controller.the_node->actions["~/follow_joint_trajectory"].lock());
  CHECK(server->cancel(canceled) == rclcpp_action::CancelResponse::ACCEPT);
  canceled->canceling = true;
  bench.stuck(2);
  bench.tick();
  CHECK(canceled->outcome == "canceled");

  goal.trajectory = trajectory_to(0.3, 0.5);
  const auto unmoved = bench.send_goal(goal);
  bench.cycle(300);  // and now no digit changes
  bench.tick();
  CHECK(unmoved && unmoved->outcome == "aborted" && unmoved->result.error_code == -4);
  CHECK(unmoved && unmoved->result.error_string.find("shows no motion") != std::string::npos);
  std::size_t named = 0;
  while (named < N && unmoved->result.error_string.find("'" + std::string(joint_names[named]) + "'") == std::string::npos) {
    ++named;
  }
  CHECK(named < N && bench.command(named) == 0.0);

  goal.trajectory.joint_names[0] = "somebody_else";
  CHECK(bench.send_goal(goal) == nullptr);
  CHECK(logged("somebody_else"));
  goal.trajectory.points.clear();
  CHECK(bench.send_goal(goal) == nullptr);

  goal.trajectory = trajectory_to(0.0, 0.5);
  const auto open = bench.send_goal(goal);
  bench.cycle(2);
  CHECK(bench.controller.on_deactivate({}) == CallbackReturn::SUCCESS);
  bench.tick();
  CHECK(open && open->outcome == "aborted");
  CHECK(bench.send_goal(goal) == nullptr);  // not active
}

void bad_states_bring_the_safe_command()
{
  Bench bench({{"safe_command", std::string("zero")}, {"state_timeout", 0.01}});
  bench.put(Vector{}, filled(0.01));
  bench.states[std::string(joint_names[0]) + "/position"]->value = NOT_A_NUMBER;
  bench.cycle(3);
  for (std::size_t j = 0; j < N; ++j) {
    CHECK(bench.command(j) == 0.0);  // no good state yet
  }
  Vector away{};
  away[N - 1] = 0.3;
  bench.put(away, Vector{});
  bench.cycle(2);
  const double before = bench.command(N - 1);
  CHECK(std::isfinite(before));
  bench.states[std::string(joint_names[0]) + "/velocity"]->value = NOT_A_NUMBER;
  bench.cycle(5);
  CHECK(bench.command(N - 1) == before);
  bench.cycle(10);
  CHECK(bench.command(N - 1) == 0.0);
  bench.tick();
  bench.cycle(30);
  bench.tick();
  CHECK(logged("safe command"));
  diagnostic_updater::DiagnosticStatusWrapper status;
  bench.controller.the_node->diagnose(status);
  CHECK(status.level == 2 && status.message == "safe" && std::stoi(status.values["non_finite_state"]) > 0);
  CHECK(bench.controller.the_node->forced == std::vector<std::string>{"safe"});
  bench.put(away, Vector{});
  bench.states[std::string(joint_names[0]) + "/velocity"]->readable = false;
  bench.cycle(2);
  CHECK(bench.command(N - 1) == 0.0);
  bench.states[std::string(joint_names[0]) + "/velocity"]->readable = true;
  CHECK(bench.cycle(2) == return_type::OK);
  CHECK(bench.command(N - 1) == before);  // holds where it is, by itself
  CHECK(bench.controller.on_deactivate({}) == CallbackReturn::SUCCESS);
  CHECK(bench.command(N - 1) == 0.0);
}

void parameters_are_checked_and_taken_over()
{
  Bench bench({{"blend_time", 0.0}, {"robustness.enabled", false}});
  const std::string p = "gains." + std::string(joint_names[0]) + ".p", i = "gains." + std::string(joint_names[0]) + ".i";
  bench.cycle(2);
  bench.put(filled(-0.01), Vector{});
  bench.cycle();
  const double soft = bench.command(0);
  CHECK(bench.controller.the_node->set(p, 900.0).successful);
  bench.tick();
  bench.cycle();
  CHECK(bench.command(0) > soft);
  const auto unstable = bench.controller.the_node->set(i, 1e6);
  CHECK(!unstable.successful && unstable.reason.find("p times d") != std::string::npos);
  CHECK(!bench.controller.the_node->set("payload.mass", 1.0).successful);  // on no link
  CHECK(!bench.controller.the_node->set(p, NAN).successful);
  const double light = bench.command(N - 1);
  CHECK(bench.controller.the_node->set("payload.link", std::string(PAYLOAD_LINKS.back())).successful);
  CHECK(bench.controller.the_node->set("payload.mass", 1.0).successful);
  bench.tick();
  bench.cycle();
  CHECK(bench.command(N - 1) != light);

  CHECK(!Bench({{"joints", std::vector<std::string>{"no_such_joint"}}}).configured);
  CHECK(!Bench({{i, 1e6}}).configured);
}

void streams_holds_and_wrenches_come_through()
{
  Bench bench;
  trajectory_msgs::msg::JointTrajectoryPoint point;
  point.positions.assign(N, 0.01);
  bench.cycle(2);
  bench.send("~/joint_references", point);
  bench.cycle(2);
  CHECK(bench.sent<sensor_msgs::msg::JointState>("~/reference").size() == 1);
  bench.cycle(20);
  CHECK(bench.sent<sensor_msgs::msg::JointState>("~/reference").back().position[0] == 0.01);
  point.positions[0] = NOT_A_NUMBER;
  bench.send("~/joint_references", point);
  CHECK(logged("not finite"));

  auto hold = std::dynamic_pointer_cast<rclcpp::Service<std_srvs::srv::Trigger>>(
    bench.controller.the_node->services["~/hold"].lock());
  auto response = std::make_shared<std_srvs::srv::Trigger::Response>();
  hold->callback(std::make_shared<std_srvs::srv::Trigger::Request>(), response);
  CHECK(response->success);

  const double before = bench.command(N - 1);
  geometry_msgs::msg::WrenchStamped wrench;
  wrench.header.frame_id = external_links[0];
  wrench.wrench.torque = {3.0, 3.0, 3.0};
  bench.send("~/external_wrench", wrench);
  bench.cycle(100);
  bench.send("~/external_wrench", wrench);
  bench.cycle(120);
  CHECK(std::abs(bench.command(N - 1) - before) > 0.1);
  wrench.header.frame_id = "nowhere";
  bench.send("~/external_wrench", wrench);
  CHECK(logged("nowhere"));
  bench.tick();
}

void the_tool_is_moved_by_topics()
{
  CHECK(Bench().controller.the_node->subscriptions.count("~/target_pose") == 0);  // nobody named a tool
  CHECK(!Bench({{"task.link", std::string("no_such_link")}}).configured);
  Bench bench({{"task.link", std::string(TOOL_LINK)}});
  const auto follow = [&](int count) {  // the arm is where it should be
    for (int k = 0; k < count; ++k) {
      bench.cycle();
      const auto & cycle = bench.controller.core().cycle;
      Vector q{}, v{};
      std::copy_n(cycle.reference, N, q.begin());
      std::copy_n(cycle.reference + N, N, v.begin());
      bench.put(q, v);
    }
  };
  bench.put(filled(0.5), Vector{});
  follow(30);
  const auto & poses = bench.sent<geometry_msgs::msg::PoseStamped>("~/pose");
  CHECK(poses.size() == 2 && poses.back().header.frame_id == ROOT_LINK);
  const auto start = poses.back().pose;
  geometry_msgs::msg::PoseStamped target;
  target.pose = start;
  target.pose.position.x -= 0.01;
  bench.send("~/target_pose", target);
  follow(1500);
  CHECK(std::abs(poses.back().pose.position.x - target.pose.position.x) < 1e-4);
  CHECK(std::abs(bench.sent<geometry_msgs::msg::TwistStamped>("~/task_error").back().twist.linear.x) < 1e-6);

  geometry_msgs::msg::TwistStamped twist;
  twist.twist.linear.x = 0.02;
  bench.send("~/target_twist", twist);
  follow(60);
  CHECK(bench.sent<geometry_msgs::msg::TwistStamped>("~/twist").back().twist.linear.x > 0.01);
  follow(600);

  trajectory_msgs::msg::MultiDOFJointTrajectory path;
  path.points.resize(1);
  path.points[0].transforms.resize(1);
  path.points[0].transforms[0].translation = {start.position.x, start.position.y, start.position.z};
  path.points[0].transforms[0].rotation = start.orientation;
  path.points[0].time_from_start.nanosec = 500000000;
  bench.send("~/target_trajectory", path);
  follow(1200);
  CHECK(std::abs(poses.back().pose.position.x - start.position.x) < 1e-4);

  target.header.frame_id = "nowhere";
  bench.send("~/target_pose", target);
  CHECK(logged("nowhere"));
  target.header.frame_id = TOOL_LINK;
  target.pose.orientation.w = 3.0;
  bench.send("~/target_pose", target);
  CHECK(logged("quaternion") || logged("orientation"));
  geometry_msgs::msg::WrenchStamped wrench;
  wrench.wrench.force.z = 5.0;
  bench.tick();
  bench.send("~/target_wrench", wrench);
  follow(30);
  bench.tick();
  CHECK(logged("takes it for a disturbance"));  // the default law
  wrench.wrench.force.z = 1e6;
  bench.send("~/target_wrench", wrench);
  CHECK(logged("task.wrench"));
  CHECK(!bench.controller.the_node->set("cartesian.stiffness", std::vector<double>(5, 1.0)).successful);
  CHECK(bench.controller.the_node->set("law", std::string("cartesian_impedance")).successful);
  bench.tick();
  follow(300);
  wrench.wrench.force.z = 5.0;
  const double before = bench.command(N - 1);
  for (int k = 0; k < 4; ++k) {
    bench.send("~/target_wrench", wrench);
    follow(100);
  }
  CHECK(std::abs(bench.command(N - 1) - before) > 0.1);
}

void a_controller_before_it_gives_the_reference()
{
  Bench bench({}, true);
  CHECK(bench.references.size() == 3 * N);
  CHECK(bench.references[0]->get_name() == std::string("ctc/") + joint_names[0] + "/position");
  bench.cycle(3);  // nothing given yet: hold
  const double held = bench.command(0);
  CHECK(std::isfinite(held));
  bench.send("~/joint_trajectory", trajectory_to(0.3, 0.5));
  CHECK(logged("chained"));
  for (std::size_t j = 0; j < N; ++j) {
    bench.references[j]->value = 0.02;
    bench.references[N + j]->value = 0.1;
    bench.references[2 * N + j]->value = NOT_A_NUMBER;
  }
  bench.cycle(30);
  const auto & reference = bench.sent<sensor_msgs::msg::JointState>("~/reference");
  CHECK(reference.back().position[0] == 0.02 && reference.back().velocity[0] == 0.1);
  bench.references[0]->value = 1.0;  // a jump: the arm stops near where it was
  bench.cycle(300);
  CHECK(std::abs(reference.back().position[0] - 0.02) < 0.05 && reference.back().velocity[0] == 0.0);
  bench.references[0]->value = reference.back().position[0];
  bench.cycle(30);
  CHECK(reference.back().velocity[0] == 0.1);
  bench.references[N - 1]->value = NOT_A_NUMBER;  // one is missing: it stops
  bench.cycle(300);
  for (std::size_t j = 0; j < N; ++j) {
    CHECK(std::isfinite(reference.back().position[j]) && reference.back().velocity[j] == 0.0);
  }
}

void a_fault_makes_the_manager_deactivate_it()
{
  Bench bench;
  bench.cycle(2);
  bench.put(Vector{}, filled(1e200));  // finite, and its square is not
  bench.cycle(2);
  bench.put(filled(1e150), filled(1e150));
  const return_type result = bench.cycle(2);
  for (std::size_t j = 0; j < N; ++j) {
    CHECK(std::isfinite(bench.command(j)));
  }
  CHECK(result == return_type::ERROR);
}

void a_jump_is_not_believed()
{
  Bench bench({{"max_state_jump", 0.1}, {"state_timeout", 0.01}});
  bench.cycle(2);
  const double before = bench.command(0);
  bench.put(filled(0.3), Vector{});
  bench.cycle(5);
  CHECK(bench.command(0) == before);
  bench.cycle(10);  // it lasts: safe command, then hold there
  CHECK(bench.sent<sensor_msgs::msg::JointState>("~/reference").size() == 1);
  bench.cycle(20);
  CHECK(bench.sent<sensor_msgs::msg::JointState>("~/reference").back().position[0] == 0.3);
}

void some_joints_only()
{
  Bench bench({{"joints", std::vector<std::string>{joint_names[N - 1]}}});
  CHECK(bench.commands.size() == 1 && bench.states.size() == 2 * N);
  bench.cycle(5);
  CHECK(std::isfinite(bench.command(N - 1)));
}

}  // namespace

int main()
{
  commands_are_those_of_the_core();
  goals_end_as_the_core_says();
  bad_states_bring_the_safe_command();
  parameters_are_checked_and_taken_over();
  streams_holds_and_wrenches_come_through();
  the_tool_is_moved_by_topics();
  a_controller_before_it_gives_the_reference();
  a_fault_makes_the_manager_deactivate_it();
  a_jump_is_not_believed();
  some_joints_only();
  std::printf(failures == 0 ? "ok\n" : "%d failures\n", failures);
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
