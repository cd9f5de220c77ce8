"""Weighing: efforts at rest computed by Pinocchio for an arm with one mistake, or measured on an
arm moved by MuJoCo.
"""

from __future__ import annotations

import dataclasses
from functools import cache

import numpy as np
import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.dynamics.payload import Payload, carrying
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.measured_effort import MeasuredEffort

pin = pytest.importorskip("pinocchio")
LOCKED = {
    "six_axis": ("wrist_1_joint", "wrist_3_joint"),
    "seven_axis": ("joint3", "joint5", "joint7"),
}
"""Joints that are locked to keep the tests short: four remain."""


@cache
def claim(name: str) -> rd.RobotModel:
    model = rd.load_robot(name)
    at = dict(zip(model.joint_names, 0.5 * (model.lower + model.upper) + 0.3, strict=True))
    return model.lock(LOCKED[name], {joint: at[joint] for joint in LOCKED[name]})


@cache
def asked(name: str) -> np.ndarray:
    return rd.commissioning.weighing_poses(claim(name), 10)


class Arm:
    """True robot, true poses, and readings (k, 2, n) with friction; errors of the description are
    those that arms have.
    """

    def __init__(self, name: str, seed: int = 0) -> None:
        self.model, self.poses = claim(name), asked(name)
        self.rng = np.random.default_rng(seed)
        links = [link.name for link in self.model.description.links]
        mass = dict(zip(links, self.rng.uniform(0.96, 1.04, len(links)).tolist(), strict=True))
        self.truth = rd.robot_model_error(self.model, mass=mass)
        self.q = self.poses.copy()
        self.gravity = np.array([0.0, 0.0, -9.81])
        # of the effort limits
        self.friction = 0.035

    def joints_and_limits(self):
        """Joints of the description and their effort limits."""
        limit = dict(zip(self.model.joint_names, self.model.effort_limit.tolist(), strict=True))
        return [(joint, limit.get(joint.name, 0.0)) for joint in self.model.description.joints]

    def weigh(self, read=lambda effort: effort, **options) -> rd.commissioning.StepReport:
        robot = pin.buildModelFromXML(rd.to_urdf(self.truth))
        robot.gravity.linear[:] = self.gravity
        data = robot.createData()
        order = [robot.joints[robot.getJointId(name)].idx_v for name in self.model.joint_names]
        q = np.empty((len(self.q), robot.nq))
        q[:, order] = self.q
        g = np.array([pin.computeGeneralizedGravity(robot, data, x).copy()[order] for x in q])
        n = self.model.nv
        limit = self.model.effort_limit
        band = self.friction * limit * self.rng.uniform(0.9, 1.1, (len(g), n))
        tau = np.stack([g + band, g - band], axis=1) * self.rng.uniform(0.96, 1.04, n)
        tau = tau + 0.001 * limit * self.rng.normal(size=tau.shape)
        return rd.commissioning.weigh(self.model, self.poses, read(tau), **options)


@pytest.fixture(params=sorted(LOCKED))
def arm(request):
    return Arm(request.param)


def only(report, kind: str, *joints: str) -> rd.commissioning.Finding:
    (finding,) = report.findings
    assert (finding.kind, finding.joints) == (kind, joints) and finding.certainty > 0.8, (
        report.findings
    )
    return finding


def with_sign(n: int, j: int) -> np.ndarray:
    return 1.0 - 2.0 * np.eye(n)[j]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", sorted(LOCKED))
def test_a_healthy_arm_is_not_accused(name, seed):
    report = Arm(name, seed).weigh()
    assert report.healthy, report.findings
    assert np.allclose(report.numbers["friction"], 0.035 * claim(name).effort_limit, rtol=0.1)


def test_sign_of_an_effort(arm):
    name = arm.model.joint_names[1]
    finding = only(arm.weigh(lambda tau: tau * with_sign(4, 1)), "effort_sign", name)
    assert str(finding.change) == f"measured_effort_factor.{name}: -1"
    assert arm.weigh(
        lambda tau: tau * with_sign(4, 1), measured=MeasuredEffort("torque", with_sign(4, 1))
    ).healthy


def test_sign_of_a_position(arm):
    arm.poses = arm.poses * with_sign(4, 2)
    # it rises where the reading falls
    report = arm.weigh(lambda tau: np.where(with_sign(4, 2) < 0.0, tau[:, ::-1], tau))
    assert only(report, "position_sign", arm.model.joint_names[2]).change.key.endswith("/axis")


def test_an_axis_with_the_opposite_direction(arm):
    arm.poses = arm.poses * with_sign(4, 2)
    report = arm.weigh(
        lambda tau: with_sign(4, 2) * np.where(with_sign(4, 2) < 0.0, tau[:, ::-1], tau)
    )
    assert (
        "positions and efforts" in only(report, "position_sign", arm.model.joint_names[2]).sentence
    )


def test_exchanged_joints(arm):
    order = [0, 2, 1, 3]
    arm.poses = arm.poses[:, order]
    finding = only(
        arm.weigh(lambda tau: tau[..., order]), "joints_exchanged", *arm.model.joint_names[1:3]
    )
    assert finding.change.value == tuple(arm.model.joint_names[j] for j in order)


@pytest.mark.parametrize("factor", [1e3, 0.02])
def test_efforts_in_another_unit(arm, factor):
    finding = only(arm.weigh(lambda tau: factor * tau), "effort_unit")
    assert finding.number == pytest.approx(factor, rel=0.1)


def test_the_effort_of_one_joint_in_another_unit(arm):
    finding = only(
        arm.weigh(lambda tau: tau * [1.0, 1.0, 0.05, 1.0]), "effort_unit", arm.model.joint_names[2]
    )
    assert finding.change.value == pytest.approx(20.0, rel=0.1)


def test_gravity_compensated_by_the_driver(arm):
    report = arm.weigh(lambda tau: tau - tau.mean(axis=1, keepdims=True))
    assert only(report, "gravity_compensated_by_driver").change.value == "robot"
    kind = MeasuredEffort("torque_without_gravity")
    assert arm.weigh(lambda tau: tau - tau.mean(axis=1, keepdims=True), measured=kind).healthy


@pytest.mark.parametrize("noise", [0.0, 1e-9, 1e-3])
def test_an_arm_on_its_brakes_is_not_in_another_unit(arm, noise):
    """Efforts are noise about zero: no factor makes them weigh."""
    rng = np.random.default_rng(1)
    report = arm.weigh(lambda effort: noise * rng.standard_normal(effort.shape))
    assert "brakes hold the arm" in only(report, "gravity_compensated_by_driver").sentence


@pytest.mark.parametrize("gravity", [(0.0, 0.0, 9.81), (9.81, 0.0, 0.0), (1.0, -2.0, -9.55)])
def test_a_base_mounted_otherwise_is_found_with_its_direction_of_gravity(arm, gravity):
    arm.gravity = np.array(gravity)
    finding = only(arm.weigh(), "mounting")
    assert np.allclose(finding.change.value, gravity, atol=0.5)


def test_a_zero_that_is_off(arm):
    arm.poses = arm.poses + 0.06 * np.eye(4)[1]
    finding = only(arm.weigh(), "zero_offset", arm.model.joint_names[1])
    assert finding.number == pytest.approx(0.06, abs=0.02)
    assert " rad from the one that is read" in finding.sentence


def test_a_forgotten_tool(arm):
    arm.truth = carrying(
        arm.truth,
        Payload(arm.model.joint(arm.model.joint_names[-1]).child, 2.0, np.array([0.0, 0.0, 0.05])),
    )
    finding = only(arm.weigh(), "payload", arm.model.joint_names[-1])
    assert finding.number == pytest.approx(2.0, rel=0.3)


def test_a_link_of_another_mass(arm):
    link = arm.model.joint(arm.model.joint_names[2]).child
    arm.truth = rd.robot_model_error(arm.truth, mass={link: 1.6})
    finding = only(arm.weigh(), "link_mass", arm.model.joint_names[2])
    assert finding.number == pytest.approx(1.6, abs=0.25)


def test_a_link_that_may_have_another_mass_is_mentioned_and_not_accused(arm):
    link = arm.model.joint(arm.model.joint_names[2]).child
    arm.truth = rd.robot_model_error(arm.truth, mass={link: 1.3})
    report = arm.weigh()
    assert not report.findings and f"perhaps link {link} has 1.2" in report.notes[0]


def test_the_description_of_another_robot_is_named(arm):
    factor = dict(
        zip(
            (link.name for link in arm.model.description.links),
            (1.0, 1.4, 2.4, 1.2, 2.6, 2.0),
            strict=False,
        )
    )
    arm.truth = rd.robot_model_error(arm.truth, mass=factor, com=1.3)
    only(arm.weigh(), "wrong_robot")


def test_a_joint_that_a_brake_holds(arm):
    report = arm.weigh(lambda tau: tau * [1.0, 0.0, 1.0, 1.0])
    only(report, "held_joint", arm.model.joint_names[1])


def test_too_little_described_friction_is_named_and_none_is_taken_for_unknown(arm):
    arm.friction = 0.12
    # no word of friction in the description, and too little
    for share, names in (
        (0.0, ()),
        (0.04, arm.model.joint_names),
    ):
        joints = tuple(
            dataclasses.replace(joint, friction=share * limit)
            for joint, limit in arm.joints_and_limits()
        )
        arm.model = arm.model.replace(
            description=dataclasses.replace(arm.model.description, joints=joints, source="")
        )
        assert [(f.kind, *f.joints) for f in arm.weigh().findings] == [
            ("friction", name) for name in names
        ]


def test_joints_that_sink_and_positions_that_are_frozen(arm):
    report = arm.weigh(moved=0.1 * np.eye(4)[[1] * len(arm.poses)])
    only(report, "brake", arm.model.joint_names[1])
    goal = arm.poses
    arm.poses = arm.poses * [1.0, 1.0, 1.0, 0.0]
    assert arm.weigh(asked=goal).of_kind("frozen_joint")[0].joints == (arm.model.joint_names[3],)


def test_a_pair_of_mistakes(arm):
    arm.poses = arm.poses * with_sign(4, 2)
    report = arm.weigh(lambda tau: 100.0 * np.where(with_sign(4, 2) < 0.0, tau[:, ::-1], tau))
    assert {f.kind for f in report.findings} == {"position_sign", "effort_unit"}


def test_few_poses_ask_for_a_further_one(arm):
    arm.poses = arm.poses[:2]
    arm.q = arm.q[:2]
    report = arm.weigh()
    assert not report.enough and not report.findings
    assert ((arm.model.lower <= report.next_pose) & (report.next_pose <= arm.model.upper)).all()


def test_poses_are_within_limits_and_reach(arm):
    model = arm.model
    middle = 0.5 * (model.lower + model.upper)
    poses = rd.commissioning.weighing_poses(model, 6, around=middle, span=0.4)
    assert (np.abs(poses - middle) <= 0.4).all() and len(np.unique(poses, axis=0)) == 6
    assert (np.abs(rd.gravity_forces(model, poses)) < model.effort_limit).all()


def test_wrong_arrays_are_refused(arm):
    with pytest.raises(ArgumentError, match="poses"):
        rd.commissioning.weigh(arm.model, arm.poses[:, :2], arm.poses)
    with pytest.raises(ArgumentError, match="efforts"):
        rd.commissioning.weigh(arm.model, arm.poses, arm.poses[:3])
    with pytest.raises(ArgumentError, match="needs measured efforts"):
        rd.commissioning.weigh(arm.model, arm.poses, arm.poses, measured=MeasuredEffort("none"))


@pytest.mark.parametrize("joint", [None, 1])
def test_an_arm_moved_by_mujoco(joint):
    pytest.importorskip("mujoco")
    arms, steps = (
        pytest.importorskip(f"benchmarks.commissioning.{part}") for part in ("arm", "steps")
    )
    mistakes = [] if joint is None else [arms.Mistake("effort_sign", joint)]
    arm = arms.make_arm("six_axis", mistakes, engine="mujoco", seed=3)
    named = {
        (finding.kind, finding.joints) for finding in steps.look(arm, steps.reachable_poses(arm, 6))
    }
    assert named == (set() if joint is None else {("effort_sign", (arm.claim.joint_names[joint],))})
