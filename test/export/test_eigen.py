"""The C++ header with Eigen signatures: compiled with every warning an error, each function beside
the C function.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest
from support.c_code import compile_cpp, needs_cpp, run_program
from support.random_trees import random_model

import robot_dynamics_ros as rd
from robot_dynamics_ros.export.plan import EXPORTED_FUNCTIONS
from robot_dynamics_ros.model.description import JointType


def eigen():
    """Where Eigen's headers are: Debian's place, or inside a wheel that ships them; ``None`` if
    nowhere.
    """
    places = [Path("/usr/include/eigen3"), Path("/usr/local/include/eigen3")]
    casadi = find_spec("casadi")
    if casadi is not None and casadi.origin:
        places.append(Path(casadi.origin).parent / "include" / "eigen3")
    return next((place for place in places if (place / "Eigen" / "Core").is_file()), None)


needs_eigen = pytest.mark.skipif(eigen() is None, reason="no Eigen here (Debian: libeigen3-dev)")


@pytest.mark.slow
@needs_cpp
@needs_eigen
@pytest.mark.parametrize("external", [(), ("tip",)], ids=["free", "loaded"])
def test_every_function_with_eigen_arguments(external, tmp_path):
    """All joint types; with external wrenches and parameters too."""
    model = (
        rd.load_robot("two_link")
        if external
        else random_model(3, 3, types=(JointType.REVOLUTE, JointType.FLOATING))
    )
    options = {"symbols": "auto", "external": (model.link_names[-1],)} if external else {}
    code = rd.export_code(
        model, [*EXPORTED_FUNCTIONS, "step"], language="cpp", prefix="arm", **options
    )
    code.write(tmp_path)
    tests = code.files["arm_eigen_test.cpp"]
    assert all(f"arm::{t.request.name}(" in tests for t in code.plan.traced)
    compile_cpp(
        tmp_path, ["arm.c", "arm_eigen_test.cpp"], "eigen_test", "-O0", "-isystem", str(eigen())
    )
    run_program(tmp_path / "eigen_test")


USER = """
#include <cmath>
#include <cstdio>
#include "arm.hpp"

int main()
{
  Eigen::VectorXd q(2), v(2);  // sizes known at run time fit, too
  q << 0.3, -0.4;
  v << 0.1, 0.2;
  const auto M = arm::mass_matrix(q);
  const Eigen::Vector2d a(1.0, -2.0);
  const Eigen::Vector2d tau = M * a + arm::bias_forces(q, v);
  const auto [A, B] = arm::linearization(q, v, tau);
  arm::Vector<2> q2 = q, v2 = v;
  arm::step(q2, v2, tau, 1e-3);
  const double error = (arm::inverse_dynamics(q, v, a) - tau).norm()
    + (arm::forward_dynamics(q, v, tau) - a).norm();
  const double moved = (q2 - q - 1e-3 * v).norm();
  std::printf("%d %d %d\\n", error < 1e-12, moved > 0.0 && moved < 1e-5,
    A.rows() == 4 && B.cols() == 2);
}
"""


@needs_cpp
@needs_eigen
def test_how_a_user_calls_it(tmp_path):
    functions = ["mass_matrix", "bias_forces", "inverse_dynamics", "linearization", "step"]
    rd.export_code(rd.load_robot("two_link"), functions, language="cpp", prefix="arm").write(
        tmp_path
    )
    (tmp_path / "user.cpp").write_text(USER, encoding="utf-8")
    compile_cpp(tmp_path, ["arm.c", "user.cpp"], "user", "-O0", "-isystem", str(eigen()))
    assert run_program(tmp_path / "user") == "1 1 1\n"
