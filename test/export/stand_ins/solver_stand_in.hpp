// Stand-ins for inverse_dynamics_solver and the parts of rclcpp that its interface names.

#pragma once

#include <Eigen/Core>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

namespace rclcpp
{
class Parameter
{
public:
  using Value = std::variant<double, std::string, std::vector<double>>;
  Parameter() = default;
  explicit Parameter(Value value) : value_(std::move(value)) {}
  template <typename T>
  T get_value() const
  {
    return std::get<T>(value_);
  }

private:
  Value value_;
};

namespace node_interfaces
{
struct NodeParametersInterface
{
  using ConstSharedPtr = std::shared_ptr<const NodeParametersInterface>;
  bool get_parameter(const std::string & name, Parameter & parameter) const
  {
    const auto at = values.find(name);
    if (at != values.end()) {
      parameter = Parameter(at->second);
    }
    return at != values.end();
  }
  std::map<std::string, Parameter::Value> values;
};
}  // namespace node_interfaces
}  // namespace rclcpp

namespace inverse_dynamics_solver
{
struct InvalidParameterValueException : std::runtime_error
{
  using std::runtime_error::runtime_error;
};
struct UninitializedException : std::runtime_error
{
  UninitializedException() : std::runtime_error("not initialized") {}
};

class InverseDynamicsSolver
{
public:
  using Vector = Eigen::VectorXd;
  virtual ~InverseDynamicsSolver() = default;
  virtual void initialize(
    rclcpp::node_interfaces::NodeParametersInterface::ConstSharedPtr, const std::string &, const std::string &) = 0;
  virtual Eigen::MatrixXd getInertiaMatrix(const Vector &) const = 0;
  virtual Vector getCoriolisVector(const Vector &, const Vector &) const = 0;
  virtual Vector getGravityVector(const Vector &) const = 0;
  virtual Vector getFrictionVector(const Vector &) const = 0;
  virtual Vector getTorques(const Vector &, const Vector &, const Vector &) const = 0;
};
}  // namespace inverse_dynamics_solver

#define PLUGINLIB_EXPORT_CLASS(derived, base) static_assert(std::is_base_of_v<base, derived>, "not a solver");
