#include "@package@/controller.hpp"

#include "pluginlib/class_list_macros.hpp"

PLUGINLIB_EXPORT_CLASS(@package@::ComputedTorqueController, controller_interface::ChainableControllerInterface)
