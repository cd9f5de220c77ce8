// Loads the plugin by its name, as a controller manager does.

#include <gmock/gmock.h>

#include <memory>

#include "controller_manager/controller_manager.hpp"
#include "rclcpp/executors/single_threaded_executor.hpp"
#include "rclcpp/utilities.hpp"
#include "ros2_control_test_assets/descriptions.hpp"

TEST(TestLoad, the_controller_is_found)
{
  rclcpp::init(0, nullptr);
  auto executor = std::make_shared<rclcpp::executors::SingleThreadedExecutor>();
  {
    controller_manager::ControllerManager manager(
      executor, ros2_control_test_assets::minimal_robot_urdf, true, "test_controller_manager");
    EXPECT_NE(manager.load_controller("test", "@package@/ComputedTorqueController"), nullptr);
  }
  rclcpp::shutdown();
}
