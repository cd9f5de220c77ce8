"""The table of functions: what algorithms declare, and what follows from it."""

from __future__ import annotations

import pkgutil

import numpy as np
import pytest
from support.random_trees import ALL_TYPES, random_model

import robot_dynamics_ros as rd
from robot_dynamics_ros.dynamics import algorithms
from robot_dynamics_ros.dynamics.engine.codegen.graph import Graph
from robot_dynamics_ros.dynamics.engine.elementary_tree import NumericTree
from robot_dynamics_ros.dynamics.engine.registry import (
    TABLE,
    common_functions,
    estimated_operations,
)
from robot_dynamics_ros.dynamics.engine.trace import trace
from robot_dynamics_ros.equations.geometry import Geometry
from robot_dynamics_ros.equations.symbol_tree import SymbolTree, float_leaves
from robot_dynamics_ros.export.plan import DEFAULT_FUNCTIONS, EXPORTED_FUNCTIONS


def test_every_algorithm_file_is_found():
    files = {
        f"{algorithms.__name__}.{module.name}"
        for module in pkgutil.iter_modules(algorithms.__path__)
    }
    assert {entry.algorithm.__module__ for entry in TABLE.values()} <= files
    assert "robot_dynamics_ros.dynamics.algorithms.centroidal" in files


def test_what_is_derived_is_there():
    assert {"inverse_dynamics", "forward_dynamics", "mass_matrix"} <= set(common_functions())
    assert {"joint_wrenches", "linearization_with_friction", "jacobian"} <= set(EXPORTED_FUNCTIONS)
    assert set(DEFAULT_FUNCTIONS) - {"step"} <= set(EXPORTED_FUNCTIONS)
    for entry, export in EXPORTED_FUNCTIONS.values():
        assert {word for word, _ in entry.outputs} >= set(export.outputs)


@pytest.mark.parametrize(
    "name", ["inverse_dynamics", "forward_dynamics", "mass_matrix", "coriolis_matrix"]
)
def test_estimates_are_of_the_right_size(name):
    """They choose between straight-line code and loops, whose ranges overlap by far more."""
    model = random_model(5, 12, types=(rd.JointType.REVOLUTE,))
    count = trace(model, name).operations()["total"]
    assert count / 5 < estimated_operations(model, name) < 5 * count


@pytest.mark.parametrize("symbolic", [False, True])
def test_rotor_inertia_can_be_added_to_any_tree(symbolic):
    model = random_model(
        3, 4, armature=True, types=ALL_TYPES if not symbolic else (rd.JointType.REVOLUTE,)
    )
    graph = Graph()
    tree = SymbolTree(Geometry(model), float_leaves(graph)) if symbolic else NumericTree(model)
    tree.add_armature([0.5] * model.nv)
    found = [x.a if symbolic else x for x in (tree.armature(dof) for dof in range(model.nv))]
    np.testing.assert_allclose(found, model.armature + 0.5, rtol=1e-12)
