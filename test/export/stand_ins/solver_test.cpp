// Prints what the emitted solver gives: solver_test LINK q v a, numbers of each joint; LINK: of a payload, or empty.

#include <cstdio>
#include <cstdlib>

#include "inverse_dynamics_solver.cpp"

using namespace arm_controller;  // NOLINT

namespace
{

template <typename Error, typename Call>
void refused(Call call)
{
  try {
    call();
  } catch (const Error &) {
    return;
  }
  std::printf("not refused\n");
}

}  // namespace

int main(int, char ** argv)
{
  Eigen::VectorXd x[3];
  char ** next = argv + 2;
  for (auto & vector : x) {
    vector.resize(N);
    for (Eigen::Index i = 0; i < vector.size(); ++i) {
      vector[i] = std::atof(*next++);
    }
  }
  InverseDynamicsSolver solver;
  using inverse_dynamics_solver::InvalidParameterValueException;
  refused<inverse_dynamics_solver::UninitializedException>([&]() { solver.getGravityVector(x[0]); });
  refused<InvalidParameterValueException>([&]() { solver.initialize(nullptr, "", "<joint name=\"another\"/>"); });
  auto node = std::make_shared<rclcpp::node_interfaces::NodeParametersInterface>();
  node->values = {{"ids.payload.mass", 0.7}};
  refused<InvalidParameterValueException>([&]() { solver.initialize(node, "ids", ""); });  // on no link
  node->values["ids.payload.link"] = std::string(argv[1]);
  node->values["ids.payload.com"] = std::vector<double>{0.1, 0.0};
  refused<InvalidParameterValueException>([&]() { solver.initialize(node, "ids", ""); });
  node->values["ids.payload.com"] = std::vector<double>{0.1, 0.0, 0.05};
  node->values["ids.payload.inertia"] = std::vector<double>{0.01, 0.0, 0.0, 0.01, 0.0, 0.01};
  std::string description;
  for (const char * const joint : joint_names) {
    description += "<joint name=\"" + std::string(joint) + "\"/>";
  }
  node->values["robot_description"] = description;
  solver.initialize(argv[1][0] != '\0' ? node : nullptr, "ids", "");
  refused<std::invalid_argument>([&]() { solver.getGravityVector(Eigen::VectorXd(N + 1)); });
  const auto print = [](const Eigen::MatrixXd & values) {
    for (Eigen::Index i = 0; i < values.size(); ++i) {
      std::printf("%.17g ", values.data()[i]);
    }
  };
  print(solver.getInertiaMatrix(x[0]));
  print(solver.getCoriolisVector(x[0], x[1]));
  print(solver.getGravityVector(x[0]));
  print(solver.getFrictionVector(x[1]));
  print(solver.getTorques(x[0], x[1], x[2]));
  return EXIT_SUCCESS;
}
