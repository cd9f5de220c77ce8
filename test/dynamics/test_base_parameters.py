"""Regrouped inertias: the same efforts, mass matrix and accelerations, from fewer numbers that are
not zero.
"""

import numpy as np
import pytest
from support.random_trees import ALL_TYPES, ONE_DOF, random_model, random_state

import robot_dynamics_ros as rd
from robot_dynamics_ros.dynamics.engine.elementary_tree import (
    NumericTree,
    layout_of,
    regrouped_layout_of,
)
from robot_dynamics_ros.dynamics.engine.registry import TABLE
from robot_dynamics_ros.dynamics.engine.trace import trace
from robot_dynamics_ros.model.description import JointType

FUNCTIONS = ("inverse_dynamics", "mass_matrix", "forward_dynamics", "generalized_momentum")


def results(model, name, layout, state):
    """Every output of a function on plain numbers, from the inertias of a layout."""
    given = {
        word: x.tolist() for word, x in zip(("q", "v", "a", "tau"), (*state, state[2]), strict=True)
    }
    return [
        np.array(x, dtype=float) for x in TABLE[name].run(NumericTree(model, layout), {}, given)
    ]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("types", [ONE_DOF, ALL_TYPES], ids=["one_dof", "all_types"])
def test_joint_space_results_stay(name, seed, types):
    model = random_model(seed, 6, types=types, mimic=0.3, armature=True)
    state = random_state(model, seed)[:3]
    for expected, found in zip(
        results(model, name, None, state),
        results(model, name, regrouped_layout_of(model), state),
        strict=True,
    ):
        np.testing.assert_allclose(
            found, expected, rtol=0, atol=1e-12 * max(1.0, np.abs(expected).max())
        )


def test_what_the_parent_can_carry_is_gone():
    """Ten parameters less three for each joint that rotates, less six for each that slides; the
    model's layout stays.
    """
    model = random_model(3, 8)
    bodies = zip(
        model.joint_type, layout_of(model).bodies, regrouped_layout_of(model).bodies, strict=True
    )
    for kind, before, regrouped in bodies:
        assert before.mass > 0.0
        if JointType(int(kind)) is JointType.PRISMATIC:
            assert not regrouped.inertia.any()
        else:
            assert regrouped.mass == regrouped.first_moment[2] == regrouped.inertia[1, 1] == 0.0


def test_what_depends_on_single_links_is_not_regrouped():
    """Wrenches of joints, energies and momenta keep the links' own inertias."""
    for name in (
        "inverse_dynamics_wrenches",
        "joint_wrenches",
        "kinetic_energy",
        "potential_energy",
        "center_of_mass",
    ):
        assert not TABLE[name].joint_space
    model = rd.chain(6)
    assert (
        trace(model, "inverse_dynamics").operations()["total"]
        < 0.95 * (trace(model, "inverse_dynamics_wrenches").operations()["total"])
    )
