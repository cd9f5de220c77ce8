"""Limbs and chains made from a few numbers."""

import numpy as np
import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.checks import inertia_fault


def test_limb_as_in_the_textbook():
    lengths = [0.8, 0.6, 0.4]
    masses = [0.7, 0.5, 0.3]
    model = rd.limb(3, lengths=lengths, masses=masses, inertia="point")
    assert model.joint_names == ("joint1", "joint2", "joint3") and model.nq == 3
    assert model.link_names == ("base", "segment1", "segment2", "segment3", "tip")
    np.testing.assert_array_equal(model.body_mass, masses)
    np.testing.assert_array_equal(model.body_com, [[0, length / 2, 0] for length in lengths])
    np.testing.assert_array_equal(model.body_inertia, np.zeros((3, 3, 3)))
    np.testing.assert_array_equal(model.joint_axis, [[0, 0, 1]] * 3)
    np.testing.assert_array_equal(model.joint_position, [[0, 0, 0], [0, 0.8, 0], [0, 0.6, 0]])
    np.testing.assert_array_equal(model.link_position[-1], [0, 0.4, 0])


def test_rods_have_the_inertia_of_cylinders():
    model = rd.limb(2, lengths=0.5, masses=3.0, radius=0.1)
    across = 3.0 * (3 * 0.01 + 0.25) / 12
    along = 3.0 * 0.01 / 2
    np.testing.assert_allclose(model.body_inertia[1], np.diag([across, along, across]), atol=1e-16)


def test_limb_friction_and_gravity():
    model = rd.limb(2, damping=[1, 2], friction=0.5, gravity=(0, -9.81, 0))
    assert model.damping.tolist() == [1, 2] and model.friction.tolist() == [0.5, 0.5]
    assert model.gravity.tolist() == [0, -9.81, 0]


@pytest.mark.parametrize("n", [1, 2, 1000])
def test_any_number_of_segments(n):
    for model in (rd.limb(n), rd.chain(n)):
        assert model.nq == model.nv == n and model.parent.tolist() == list(range(-1, n - 1))


def test_chain_hides_nothing_and_repeats_itself():
    model = rd.chain(6)
    same = rd.chain(6)
    other = rd.chain(6, seed=1)
    np.testing.assert_array_equal(model.body_inertia, same.body_inertia)
    assert np.abs(model.body_inertia - other.body_inertia).max() > 1e-3
    for i, link in enumerate(model.description.links[1:]):
        assert inertia_fault(link.inertia) is None
        off = link.inertia.rotational[np.triu_indices(3, 1)]
        assert (np.abs(off) > 1e-8).all() and (np.abs(model.joint_axis[i]) > 1e-6).all()
    assert rd.chain(6, prismatic_every=3).joint_type.tolist() == [1, 1, 3, 1, 1, 3]


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        ({"n_segments": 0}, "n_segments"),
        ({"n_segments": 2.5}, "n_segments"),
        ({"n_segments": True}, "n_segments"),
        ({"n_segments": 2, "masses": -1}, "masses"),
        ({"n_segments": 2, "masses": [1, 2, 3]}, "masses"),
        ({"n_segments": 2, "lengths": [1, 0]}, "lengths"),
        ({"n_segments": 2, "lengths": [1, float("nan")]}, "lengths"),
        ({"n_segments": 2, "lengths": "long"}, "lengths"),
        ({"n_segments": 2, "inertia": "cube"}, "inertia"),
        ({"n_segments": 2, "radius": 0}, "radius"),
        ({"n_segments": 2, "damping": -1}, "damping"),
        ({"n_segments": 2, "gravity": 9.81}, "gravity"),
    ],
)
def test_bad_numbers_are_named(arguments, where):
    with pytest.raises(ArgumentError) as caught:
        rd.limb(**arguments)
    assert caught.value.where == where
