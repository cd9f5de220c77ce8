// The robot's dynamics as a plugin of the package inverse_dynamics_solver, for controllers that ask for a model.

#include <algorithm>

#include "@package@/settings.hpp"
#include "inverse_dynamics_solver/exceptions.h"
#include "inverse_dynamics_solver/inverse_dynamics_solver.h"
#include "pluginlib/class_list_macros.hpp"
#include "rclcpp/parameter.hpp"

namespace @package@
{

/// Joints in the order of `joint_names`. The robot is compiled in, gravity included; a payload comes from parameters.
class InverseDynamicsSolver : public inverse_dynamics_solver::InverseDynamicsSolver
{
public:
  /// @throws InvalidParameterValueException for the description of another robot, and a payload that cannot be.
  void initialize(
    rclcpp::node_interfaces::NodeParametersInterface::ConstSharedPtr parameters, const std::string & param_namespace,
    const std::string & robot_description) override
  {
    using inverse_dynamics_solver::InvalidParameterValueException;
    const auto get = [&](const std::string & name, auto value) {
      rclcpp::Parameter parameter;
      const bool known = parameters != nullptr && parameters->get_parameter(name, parameter);
      return known ? parameter.get_value<decltype(value)>() : value;
    };
    const std::string description =
      robot_description.empty() ? get("robot_description", robot_description) : robot_description;
    for (const char * const joint : joint_names) {
      if (!description.empty() && description.find('"' + std::string(joint) + '"') == std::string::npos) {
        throw InvalidParameterValueException(
          std::string("robot_description has no joint '") + joint + "': this solver is for the robot '@robot@'");
      }
    }
    const std::string payload = param_namespace.empty() ? "payload." : param_namespace + ".payload.";
    Settings settings;
    settings.payload.link = index_of(PAYLOAD_LINKS, get(payload + "link", std::string()));
    std::vector<double> body = {get(payload + "mass", 0.0)};
    for (const auto & [name, size] : {std::pair("com", 3), std::pair("inertia", 6)}) {
      const auto more = get(payload + name, std::vector<double>(static_cast<std::size_t>(size)));
      body.insert(body.end(), more.begin(), more.end());
    }
    body.resize(10, std::nan(""));  // which no body has
    std::copy(body.begin(), body.end(), settings.payload.body.begin());
    if (const std::string problem = problem_with(settings); !problem.empty()) {
      throw InvalidParameterValueException(problem);
    }
    numbers_ = std::make_unique<Parameters>(carrying(settings.payload));
  }

  Eigen::MatrixXd getInertiaMatrix(const Eigen::VectorXd & q) const override
  {
    Eigen::MatrixXd inertia(N, N);  // symmetric: by rows or by columns is the same
    @prefix@_mass_matrix(numbers(), checked(q), inertia.data());
    return inertia;
  }

  /// (N) efforts C(q, v) v.
  Eigen::VectorXd getCoriolisVector(const Eigen::VectorXd & q, const Eigen::VectorXd & v) const override
  {
    Eigen::VectorXd bias(N);
    @prefix@_bias_forces(numbers(), checked(q), checked(v), NOTHING.data(), bias.data());
    return bias - getGravityVector(q);
  }

  Eigen::VectorXd getGravityVector(const Eigen::VectorXd & q) const override
  {
    Eigen::VectorXd gravity(N);
    @prefix@_gravity_forces(numbers(), checked(q), gravity.data());
    return gravity;
  }

  /// (N) efforts that the motors spend in the joints: the friction that the exported controller compensates.
  Eigen::VectorXd getFrictionVector(const Eigen::VectorXd & v) const override
  {
    @prefix@_observer_memory memory = @prefix@_observer_initial;
    std::copy_n(checked(v), N, memory.v);
    Eigen::VectorXd efforts = Eigen::VectorXd::Zero(N);
    @prefix@_observer_without_friction(&memory, efforts.data());
    return -efforts;
  }

  Eigen::VectorXd getTorques(
    const Eigen::VectorXd & q, const Eigen::VectorXd & v, const Eigen::VectorXd & a) const override
  {
    Eigen::VectorXd torques(N);
    @prefix@_inverse_dynamics(numbers(), checked(q), checked(v), checked(a), NOTHING.data(), torques.data());
    return torques;
  }

private:
  static constexpr std::array<double, 6 * LOADED> NOTHING{};  // known wrenches

  const Parameters * numbers() const
  {
    return numbers_ ? numbers_.get() : throw inverse_dynamics_solver::UninitializedException();
  }

  static const double * checked(const Eigen::VectorXd & x)
  {
    return static_cast<std::size_t>(x.size()) == N ? x.data() : throw std::invalid_argument("a vector has another size than the number of joints");
  }

  std::unique_ptr<const Parameters> numbers_;
};

}  // namespace @package@

PLUGINLIB_EXPORT_CLASS(@package@::InverseDynamicsSolver, inverse_dynamics_solver::InverseDynamicsSolver)
