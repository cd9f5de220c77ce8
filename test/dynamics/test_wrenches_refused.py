"""What is refused, and with which words."""

from __future__ import annotations

import numpy as np
import pytest

import robot_dynamics_ros as rd

ARM = rd.load_robot("six_axis").with_backend("interpreted")
Z = np.zeros(6)


@pytest.mark.parametrize(
    "call, words",
    [
        (
            lambda: rd.joint_wrenches(ARM, Z, Z, Z, joints="elbow"),
            "unknown joint 'elbow'.*elbow_joint",
        ),
        (lambda: rd.joint_wrenches(ARM, Z, Z, Z, joints=["elbow_joint", 3]), "unknown joint 3"),
        (
            lambda: rd.joint_wrenches(ARM, Z, Z, Z, expressed_in="tool"),
            "expected_in|expressed_in.*'tool'.*tool0",
        ),
        (
            lambda: rd.joint_wrenches(ARM, Z, Z, Z, expressed_in="kid"),
            "child, parent, world, base_link",
        ),
        (lambda: rd.joint_wrenches(ARM, Z, Z, Z, reduced_at="elbw"), "reduced_at"),
        (lambda: rd.joint_wrenches(ARM, Z, Z, Z, reduced_at=("nowhere", (0, 0, 0))), "'nowhere'"),
        (lambda: rd.joint_wrench(ARM, Z, Z, Z, "shoulder"), "unknown joint 'shoulder'"),
        (lambda: rd.wrench_balance(ARM, Z, Z, Z, "tool"), "unknown link 'tool'.*tool0"),
        (
            lambda: rd.wrench_balance(ARM, Z, Z, Z, "tool0", observer="moon"),
            "observer.*unknown frame 'moon'.*world",
        ),
        (lambda: rd.wrench_balance(ARM, Z, Z, Z, "tool0", expressed_in="me"), "observer, world"),
        (
            lambda: rd.wrench_balance(ARM, Z, Z, Z, "tool0")["centripetal"],
            "unknown wrench part.*centrifugal",
        ),
        (lambda: rd.motion(ARM, Z, point_on="hand"), "unknown frame 'hand'"),
        (lambda: rd.motion(ARM, Z, point_on="tool0", relative_to="table"), "relative_to.*'table'"),
        (
            lambda: rd.motion(ARM, Z, point_on="tool0", expressed_in="table"),
            "expressed_in.*'table'",
        ),
        (lambda: rd.inertia_about(ARM, Z, "tool0", point="mass"), "point.*'mass'.*com"),
        (lambda: rd.inertia_about(ARM, Z, "tool0", frame="here"), "frame.*'here'"),
        (lambda: rd.subtree_state(ARM, Z, link="leg"), "unknown link 'leg'"),
        (lambda: rd.wrench_on_link(ARM, Z, "leg"), "unknown link 'leg'"),
        (
            lambda: rd.inverse_dynamics(ARM, Z, Z, Z, external={"tool0": rd.Wrench(frame="moon")}),
            "external.*'moon'",
        ),
        (
            lambda: rd.inverse_dynamics(ARM, Z, Z, Z, external={"leg": rd.Wrench()}),
            "unknown link 'leg'",
        ),
    ],
)
def test_unknown_names_come_with_the_valid_ones(call, words):
    with pytest.raises(rd.UnknownNameError, match=words):
        call()


@pytest.mark.parametrize(
    "call, words",
    [
        (
            lambda: rd.joint_wrenches(ARM, Z[:5], Z, Z, joints="all"),
            r"q: expected shape \(\.\.\., 6\), got \(5,\)",
        ),
        (lambda: rd.wrench_balance(ARM, Z, Z[:5], Z, "tool0"), "v: expected shape"),
        (lambda: rd.wrench_balance(ARM, Z, Z, Z, "base_link"), "root: no joint carries it"),
        (
            lambda: rd.motion(ARM, np.zeros((2, 6)), np.zeros((3, 6)), point_on="tool0"),
            "batch dimensions",
        ),
        (lambda: rd.motion(ARM, Z, point_on="tool0", offset=(1, 2)), "offset"),
        (lambda: rd.motion(ARM, Z, point_on="tool0", reference=Z[:3]), "reference"),
        (
            lambda: rd.motion(ARM, Z, point_on="tool0", relative_to=5),
            "name of a link, 'world' or a Frame",
        ),
        (lambda: rd.joint_wrenches(ARM, Z, Z, Z, reduced_at=(1, 2, 3)), r"pair \(link, offset\)"),
        (lambda: rd.joint_wrenches(ARM, Z, Z, Z, reduced_at=("tool0", (1, 2))), "reduced_at"),
        (lambda: rd.Frame("tool0", pose=np.eye(3) * 2), "expected a Pose|rotation"),
        (lambda: rd.Frame("tool0", pose=np.diag([2.0, 1, 1, 1])), "rotation matrix"),
        (lambda: rd.Frame("tool0", pose=np.full((4, 4), np.nan)), "finite"),
        (lambda: rd.Frame("tool0", velocity=(1, 2, 3)), "frame velocity"),
        (lambda: rd.Frame("tool0", velocity=np.full(6, np.inf)), "finite"),
        (lambda: rd.Frame("tool0", pose="over there"), "expected a Pose"),
        (lambda: rd.joint_wrench(ARM, np.zeros((2, 6)), Z, Z, "elbow_joint"), "one state"),
        (
            lambda: rd.inverse_dynamics(ARM, Z, Z, Z, external={"tool0": [rd.Wrench(), Z]}),
            "Wrench values throughout",
        ),
        (lambda: rd.subtree_state(ARM, Z, link="tool0"), "mass"),
        (
            lambda: rd.joint_wrenches(ARM, Z, Z, Z + np.nan),
            r"a: expected finite numbers, got nan at index \[0\]",
        ),
        (
            lambda: rd.joint_wrenches(ARM, Z, Z, Z, external={"tool0": Z + np.inf}),
            r"external\['tool0'\]: expected finite",
        ),
        (lambda: rd.joint_wrenches(ARM, Z, Z * np.nan, Z, joints="all"), "v: expected finite"),
        (lambda: rd.wrench_balance(ARM, Z + np.nan, Z, Z, "tool0"), "q: expected finite"),
        (lambda: rd.motion(ARM, Z, Z, Z + np.nan, point_on="tool0"), "a: expected finite"),
        (
            lambda: rd.inertia_about(ARM, Z + np.nan, "forearm_link", frame="world"),
            "q: expected finite",
        ),
        (lambda: rd.subtree_state(ARM, Z, Z + np.nan), "v: expected finite"),
    ],
)
def test_what_does_not_fit(call, words):
    with pytest.raises(rd.RobotDynamicsError, match=words):
        call()


def test_a_link_may_be_called_world():
    """The world frame is then the link of that name; with the base where it belongs they are the
    same.
    """
    floating = rd.load_urdf(rd.to_urdf(rd.limb(2)), floating_base=True, inertia_check="repair")
    assert floating.root_link == "world"
    seen = rd.motion(floating, floating.neutral(), point_on="tip", relative_to="world")
    np.testing.assert_allclose(seen.position, [0.0, 0.6, 0.0], atol=1e-12)
