"""Every robot of example-robot-data: it loads, and its structure is what Pinocchio reads from the
same file.
"""

import functools
import re
import warnings

import numpy as np
import pytest
from support.example_robots import (
    UNSOUND,
    example_urdf,
    example_urdfs,
    name_of,
    sound_example_urdfs,
)
from support.pinocchio_bridge import PinocchioBridge
from support.random_trees import random_state

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import ModelError, ModelWarning
from robot_dynamics_ros.model.description import joint_pose

pin = pytest.importorskip("pinocchio")
if not example_urdfs():
    pytest.skip("example-robot-data is not installed", allow_module_level=True)

# how many robots one is loaded of with a floating base, too: the text is read in the same way
FLOATING_EVERY = 3
# Robots that nothing can be computed with as they are: one of the things wrong with them.
ON_REQUEST = {
    "romeo": (
        r"joint 'RHand': nothing that it moves has any inertia about its axis(?s:.*)\n  joint "
        r"'LHand'"
    ),
    "romeo_laas_small": (
        r"link 'LHipPitch_link' .*not positive(?s:.*)\n  link 'RHipPitch_link'"
        r"|link 'body'"
    ),
}
# Robots with links that no rigid body is like, and one of those.
REMARKED = {
    "allegro_left_hand": "link_15.0",
    "allegro_right_hand": "link_15.0",
    "anymal-kinova": "base",
    "b1": "base",
    "b1-z1": "base",
    "go1": "base",
    "hyq_no_sensors": "lf_foot",
    "romeo_small": "RShoulderYawLink",
    "pr2": "double_stereo_link",
    "tiago": "base_antenna_left_link",
    "tiago_dual": "base_antenna_right_link",
    "tiago_no_hand": "base_antenna_left_link",
}


@functools.cache
def load(path, **options):
    """Models do not change: each file is read once for all tests but the first, which reads
    itself.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return rd.load_urdf(path, **options)


def test_all_files_are_there():
    assert len(example_urdfs()) >= 69


@pytest.mark.parametrize(
    ("path", "floating_base"),
    [
        *(pytest.param(path, False, id=f"{name_of(path)}-fixed") for path in example_urdfs()),
        *(
            pytest.param(path, True, id=f"{name_of(path)}-floating")
            for path in example_urdfs()[::FLOATING_EVERY]
        ),
    ],
)
def test_loads_with_at_most_a_warning(path, floating_base, capfd):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if path.name in UNSOUND or path.stem in ON_REQUEST:
            with pytest.raises(ModelError, match=ON_REQUEST.get(path.stem)) as refused:
                rd.load_urdf(path, floating_base=floating_base)
            assert re.search(r"link|joint|robot", refused.value.where) and refused.value.remedy
        else:
            model = rd.load_urdf(path, floating_base=floating_base)
            if path.stem in REMARKED:
                assert any(
                    f"link {REMARKED[path.stem]!r} <inertial>" in f
                    for f in caught[0].message.findings
                )
        if path.name not in UNSOUND:
            model = rd.load_urdf(path, floating_base=floating_base, inertia_check="repair")
            rd.load_urdf(rd.to_urdf(model), inertia_check="error")
    assert all(w.category is ModelWarning for w in caught)
    assert capfd.readouterr() == ("", "")


def test_unsound_files_say_why():
    with pytest.raises(ModelError, match="no links"):
        rd.load_urdf(example_urdf("ur3.urdf"))


def test_mimics_of_joints_that_do_not_exist_move_on_their_own_as_in_pinocchio():
    path = example_urdf("alex_psyonic_hands.urdf")
    with pytest.warns(
        ModelWarning, match=r"'Left_index_q2' <mimic>: joint 'index_q1' does not exist; .* own"
    ):
        model = rd.load_urdf(path)
    assert model.nv == pin.buildModelFromUrdf(str(path)).nv


def link_poses(model, q):
    """Pose of every link in the root frame, straight from the description."""
    value = {}
    for i, name in enumerate(model.moving_joint_names):
        at = model.q_index[i]
        own = q[at : at + model.joint(name).type.nq]
        value[name] = (
            model.mimic_multiplier[i] * own + model.mimic_offset[i]
            if model.mimic_master[i] >= 0
            else own
        )
    into = {joint.child: joint for joint in model.description.joints}
    poses = {model.root_link: rd.Pose()}
    for link in model.link_names[1:]:
        joint = into[link]
        poses[link] = poses[joint.parent] @ joint.origin @ joint_pose(joint, value.get(joint.name))
    return poses


def field_of(model, *names):
    """A field of Pinocchio's model under its present or its former name."""
    return next(getattr(model, name) for name in names if hasattr(model, name))


@pytest.mark.parametrize("floating_base", [False, True], ids=["fixed", "floating"])
@pytest.mark.parametrize(
    "path", [p for p in sound_example_urdfs() if p.stem not in ON_REQUEST], ids=name_of
)
def test_structure_is_pinocchios(path, floating_base):
    model = load(path)
    if floating_base:
        if "root_joint" in model.fixed_joint_names + model.moving_joint_names:
            pytest.skip(
                "the robot has a joint called root_joint, for which Pinocchio has no other name"
            )
        model = load(path, floating_base=True)
    bridge = PinocchioBridge(model, path.read_text(), floating_base=floating_base)
    theirs = bridge.model
    nv = sum(joint.nv for joint in bridge.joints)
    followers = model.mimic_master >= 0
    assert model.nv == nv - followers.sum()
    assert theirs.name == model.name or not model.name

    for i, name in enumerate(model.moving_joint_names):
        j = theirs.getJointId(name)
        above = "universe" if model.parent[i] < 0 else model.moving_joint_names[model.parent[i]]
        assert theirs.names[theirs.parents[j]] == above, name
        placement = theirs.jointPlacements[j]
        np.testing.assert_allclose(model.joint_position[i], placement.translation, atol=1e-12)
        np.testing.assert_allclose(model.joint_rotation[i], placement.rotation, atol=1e-12)
        body = theirs.inertias[j]
        assert model.body_mass[i] == pytest.approx(body.mass, rel=1e-12, abs=1e-15)
        if body.mass > 1e-9:
            np.testing.assert_allclose(model.body_com[i], body.lever, atol=1e-12)
            scale = np.abs(body.inertia).max() + body.mass
            np.testing.assert_allclose(model.body_inertia[i], body.inertia, atol=1e-12 * scale)
        if followers[i]:
            continue
        kind = model.joint_type[i]
        v = model.v_index[i]
        q = model.q_index[i]
        row = bridge.joints[i].idx_v
        column = bridge.joints[i].idx_q
        if kind in (rd.JointType.REVOLUTE, rd.JointType.PRISMATIC):
            lower = theirs.lowerPositionLimit[column]
            upper = theirs.upperPositionLimit[column]
            effort = field_of(theirs, "upperEffortLimit", "effortLimit")[row]
            velocity = field_of(theirs, "upperVelocityLimit", "velocityLimit")[row]
            # limits that nobody knew
            if effort == velocity == 0.0:
                effort = velocity = np.inf
                if lower == upper == 0.0:
                    lower = -np.inf
                    upper = np.inf
            assert (model.lower[q], model.upper[q]) == (lower, upper)
            assert (model.effort_limit[v], model.velocity_limit[v]) == (effort, velocity)
            if not followers.any():
                assert model.damping[v] == theirs.damping[row]
                assert (
                    model.friction[v] == field_of(theirs, "upperDryFrictionLimit", "friction")[row]
                )

    q, _, _ = random_state(model, 1)
    pin.framesForwardKinematics(theirs, bridge.data, bridge.q(q))
    poses = link_poses(model, q)
    seen = 0
    for frame, placed in zip(theirs.frames, bridge.data.oMf, strict=True):
        if frame.type == pin.FrameType.BODY and frame.name in poses:
            np.testing.assert_allclose(poses[frame.name].position, placed.translation, atol=1e-11)
            np.testing.assert_allclose(poses[frame.name].rotation, placed.rotation, atol=1e-11)
            seen += 1
    assert seen >= len(model.link_names) - 1


@pytest.mark.parametrize(
    "path", [p for p in sound_example_urdfs() if p.stem not in ON_REQUEST], ids=name_of
)
def test_total_mass_counts_every_link_once(path):
    text = path.read_text()
    masses = [
        float(value)
        for value in re.findall(
            r"<mass\s+value\s*=\s*[\"']([^\"']+)", re.sub(r"(?s)<!--.*?-->", "", text)
        )
    ]
    assert load(path).total_mass == pytest.approx(sum(masses), rel=1e-12)
