"""Every function beside Pinocchio's, on real robots and on random trees: relative error at most
1e-11.

Every robot is computed by the algorithms as written, which costs no trace.  The robots of this
package and a few others are computed as traced lists of operations, by machine code and by compiled
loops too; that these give the same as the algorithms is what ``test_backends.py`` proves.
"""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
import pytest
from support.dynamics_oracle import Oracle, relative_error
from support.example_robots import example_urdf, name_of, sound_example_urdfs
from support.random_trees import (
    ALL_TYPES,
    ONE_DOF,
    random_description,
    random_state,
    with_normals_along_z,
)

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import ModelWarning
from robot_dynamics_ros.model.description import JointType
from robot_dynamics_ros.model.robot_model import RobotModel

pytest.importorskip("pinocchio")

TOLERANCE = 1e-11
LEGGED = {
    "a1.urdf",
    "anymal.urdf",
    "bolt.urdf",
    "g1_29dof_rev_1_0.urdf",
    "go2.urdf",
    "icub_reduced.urdf",
    "solo12.urdf",
    "talos_reduced.urdf",
    "simple_humanoid.urdf",
}


def load(path, **options) -> RobotModel:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return rd.load_urdf(path, **options)


def of(description) -> RobotModel:
    """The model, turned so that Pinocchio knows its planar joints."""
    return RobotModel.from_description(with_normals_along_z(description))


def compare(model: RobotModel, urdf: str, seed: int, **options) -> None:
    oracle = Oracle(model, urdf, **options)
    q, v, a = random_state(model, seed)
    errors = {
        what: relative_error(ours, theirs) for what, ours, theirs in oracle.pairs(q, v, a, seed)
    }
    wrong = {what: error for what, error in errors.items() if not error <= TOLERANCE}
    assert errors and not wrong


TRACED = {"anymal.urdf", "double_pendulum_continuous.urdf", "finger_edu.urdf", "kinova.urdf"}
"""Robots of others that are computed as traced lists of operations too."""


def compare_by_both(model: RobotModel, path, seed: int, **options) -> None:
    urdf = path.read_text()
    compare(model.with_backend("interpreted"), urdf, seed, **options)
    if path.name in TRACED:
        compare(model.with_backend("numpy"), urdf, seed, **options)


# two of Romeo's descriptions cannot be computed with as they are: fingers without mass, negative
# moments of inertia
REGULAR = [
    p for p in sound_example_urdfs() if p.name not in ("romeo.urdf", "romeo_laas_small.urdf")
]


@pytest.mark.slow
@pytest.mark.parametrize("path", REGULAR, ids=name_of)
def test_real_robots(path):
    compare_by_both(load(path), path, 1)


@pytest.mark.slow
@pytest.mark.parametrize("path", [p for p in REGULAR if p.name in LEGGED], ids=name_of)
def test_legged_robots_on_a_floating_base(path):
    compare_by_both(load(path, floating_base=True), path, 2, floating_base=True)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 80, 10))
def test_random_trees(first):
    for seed in range(first, first + 10):
        model = of(
            random_description(
                seed,
                2 + seed % 9,
                types=ALL_TYPES if seed % 2 else ONE_DOF,
                mimic=0.3 if seed % 3 == 0 else 0.0,
                armature=seed % 4 == 0,
                friction=True,
                axis_aligned=0.3,
            )
        )
        compare(model.with_backend("interpreted"), rd.to_urdf(model), seed)


@pytest.mark.slow
@pytest.mark.optimized
@pytest.mark.parametrize("name", ["panda.urdf", "bolt.urdf"])
def test_machine_code_gives_what_pinocchio_gives(name):
    pytest.importorskip("llvmlite")
    path = example_urdf(name)
    compare(load(path).with_backend("native"), path.read_text(), seed=3)


@pytest.mark.slow
@pytest.mark.optimized
def test_compiled_loops_give_what_pinocchio_gives():
    pytest.importorskip("llvmlite")
    # without rotors: on a planar joint they turn with the plane's axes for us, with the link's for
    # Pinocchio
    model = of(random_description(1, 6, types=ALL_TYPES, axis_aligned=0.5))
    compare(model.with_backend("loops"), rd.to_urdf(model), 1)


@pytest.mark.parametrize("tilt", [1e-3, 1e-6, 3e-8, 1e-10])
def test_axes_that_are_almost_parallel(tilt):
    """CAD programs write such axes: what lies across the parent's axis is a difference of large
    numbers then.
    """
    description = random_description(5, 5, types=ONE_DOF)
    rng = np.random.default_rng(1)
    along = np.array([0.6, 0.0, 0.8])
    joints = []
    for joint in description.joints:
        pose = rd.Pose.from_rpy(joint.origin.position, rng.uniform(-1.0, 1.0, 3))
        axis = pose.rotation.T @ (along + tilt * rng.uniform(-1.0, 1.0, 3))
        along = axis / np.linalg.norm(axis)
        joints.append(dataclasses.replace(joint, type=JointType.REVOLUTE, origin=pose, axis=along))
    model = RobotModel.from_description(dataclasses.replace(description, joints=tuple(joints)))
    compare(model.with_backend("interpreted"), rd.to_urdf(model), seed=6)


@pytest.mark.parametrize("name", rd.robot_names())
def test_own_robots(name):
    model = rd.load_robot(name).with_backend("numpy")
    compare(model, rd.robot_path(name).read_text(), seed=4)
