"""Every public function of the dynamics, called with its defaults from Python: ``python -m
benchmarks.public_functions [--quick] [--robot six_axis]``.

A function that began to take longer around its compiled part shows here, whether or not a peer has
a counterpart.  The unit is one call of ``rd.kernel(model, "inverse_dynamics")`` with its output
given, measured in turns with the function in the same run: so machines can be compared.
"""

from __future__ import annotations

import argparse
import types
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import robot_dynamics_ros as rd
from benchmarks._ratios import keep
from benchmarks._results import write
from benchmarks.dynamics import least
from robot_dynamics_ros import dynamics

Call = Callable[[], Any]

NOT_OF_A_STATE = frozenset(
    {
        "all_joint_names",
        "available_backends",
        "backend_of",
        "backend_status",
        "check_finite",
        "distance_constraint",
        "floating_base_from",
        "floating_base_to",
        "gear_constraint",
        "hinge_constraint",
        "independent_columns",
        "kernel",
        "load_constraints",
        "pfaffian_constraint",
        "point_constraint",
        "prepare",
        "prepared",
        "rolling_constraint",
        "swap_halves",
        "euler_matrix",
        "weld_constraint",
    }
)
"""Public functions that prepare something, or only arrange numbers: nobody calls them in a loop."""


def calls(model: rd.RobotModel) -> dict[str, Call]:
    """Each public function, as a reader of its documentation would call it, on one state."""
    rng = np.random.default_rng(0)
    q = np.clip(rng.uniform(-1.0, 1.0, model.nq), model.lower, model.upper)
    v = rng.uniform(-1.0, 1.0, model.nv)
    a = rng.uniform(-1.0, 1.0, model.nv)
    link = model.link_names[int(np.argmax(model.link_body))]
    joint = model.joint_names[-1]
    pose = rd.link_pose(model, q, link)
    near = np.clip(q + 0.02, model.lower, model.upper)
    external = {link: np.ones(6)}
    of_q = (
        "gravity_forces",
        "mass_matrix",
        "mass_matrix_inverse",
        "mass_matrix_factors",
        "christoffel_symbols",
        "configuration_space_form",
        "potential_energy",
        "link_poses",
        "center_of_mass",
        "center_of_mass_jacobian",
        "centroidal_momentum_matrix",
        "clamp_to_limits",
    )
    of_q_v = (
        "coriolis_forces",
        "bias_forces",
        "coriolis_matrix",
        "kinetic_energy",
        "link_velocities",
        "centroidal_momentum",
        "integrate",
    )
    of_motion = (
        "inverse_dynamics",
        "force_residual",
        "inverse_dynamics_derivatives",
        "forward_dynamics",
        "forward_dynamics_derivatives",
        "link_accelerations",
        "joint_wrenches",
        "joint_torque_regressor",
        "center_of_mass_motion",
        "subtree_state",
    )
    found: dict[str, Call] = {}
    for name in of_q:
        found[name] = partial(getattr(rd, name), model, q)
    for name in of_q_v:
        found[name] = partial(getattr(rd, name), model, q, v)
    for name in of_motion:
        found[name] = partial(getattr(rd, name), model, q, v, a)
    for name in ("link_pose", "jacobian", "analytical_jacobian", "inertia_about"):
        found[name] = partial(getattr(rd, name), model, q, link)
    for name in ("jacobian_derivative", "analytical_jacobian_derivative"):
        found[name] = partial(getattr(rd, name), model, q, v, link)
    for name in ("neutral", "random_configuration", "inertial_parameters", "parameter_names"):
        found[name] = partial(getattr(rd, name), model)
    return found | {
        "base_parameters": lambda: rd.base_parameters(model),
        "body_wrenches": lambda: dynamics.body_wrenches(model, external, q),
        "difference": lambda: rd.difference(model, q, near),
        "external_efforts": lambda: rd.external_efforts(model, q, external),
        "inverse_kinematics": lambda: rd.inverse_kinematics(model, link, pose, start=near),
        "joint_wrench": lambda: rd.joint_wrench(model, q, v, a, joint),
        "linearize": lambda: rd.linearize(model, q),
        "link_wrenches": lambda: dynamics.link_wrenches(model, external, q),
        # without damping it does not exist at every configuration
        "operational_space_inertia": lambda: rd.operational_space_inertia(
            model, q, link, damping=0.01
        ),
        "rollout": lambda: rd.rollout(model, q, v, a, dt=1e-3, steps=1),
        "velocity_products": lambda: rd.velocity_products(v),
        "wrench_balance": lambda: rd.wrench_balance(model, q, v, a, link),
        "wrench_on_link": lambda: rd.wrench_on_link(model, q, link, force=(1.0, 2.0, 3.0)),
        "motion": lambda: dynamics.motion(model, q, v, a, point_on=link),
    }


def public_functions() -> set[str]:
    """Names of the public functions of the dynamics that have to have a row."""
    functions = {
        name for name in dynamics.__all__ if isinstance(getattr(dynamics, name), types.FunctionType)
    }
    return functions - NOT_OF_A_STATE


def main() -> None:
    """Print and keep the ratios."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--robot", default="six_axis", help="one of those that ship")
    parser.add_argument("--quick", action="store_true", help="fewer repeats")
    arguments = parser.parse_args()
    model = rd.load_robot(arguments.robot)
    kernel = rd.kernel(model, "inverse_dynamics")
    q, v, a = np.random.default_rng(1).uniform(-1.0, 1.0, (3, model.nv))
    out = np.empty(model.nv)
    rounds = 5 if arguments.quick else 25
    ratios = {}
    print(f"{arguments.robot}: calls of rd.kernel(model, 'inverse_dynamics') that one call takes\n")
    for name, call in sorted(calls(model).items()):
        # the unit beside each row, as a machine's pace changes from minute to minute
        row = least({"unit": lambda: kernel(q, v, a, out), "call": call}, 0.002, rounds)
        ratios[name] = row["call"] / row["unit"]
        print(f"{name:32}{ratios[name]:10.1f}   {row['call']:10.2f} µs")
    label = "inverse dynamics kernels (less is better)"
    keep(
        "public_functions",
        {f"{arguments.robot}, rd.{name}: {label}": x for name, x in ratios.items()},
    )
    write("public_functions", {arguments.robot: ratios})


if __name__ == "__main__":
    main()
