"""Segments of a body from force plates: the oracle is Pinocchio, which knows the true ones."""

import json

import numpy as np
import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.cli.main import main
from robot_dynamics_ros.recordings import ExternalWrench

pin = pytest.importorskip("pinocchio")

LEG = """
<link name="{0}_thigh"><inertial><origin xyz="0.01 0 -0.2"/><mass value="8"/>
  <inertia ixx="0.14" iyy="0.14" izz="0.03" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="{0}_shank"><inertial><origin xyz="0 0 -0.2"/><mass value="4"/>
  <inertia ixx="0.06" iyy="0.06" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="{0}_hip" type="revolute"><parent link="trunk"/><child link="{0}_thigh"/>
<origin xyz="0 {1} -0.3"/>
  <axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="300" velocity="8"/></joint>
<joint name="{0}_knee" type="revolute"><parent link="{0}_thigh"/><child link="{0}_shank"/>
<origin xyz="0 0 -0.42"/>
  <axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="300" velocity="8"/></joint>
"""
WALKER = f"""<robot name="walker"><link name="trunk"><inertial><origin xyz="0 0 0.1"/>
<mass value="40"/>
  <inertia ixx="1.5" iyy="1.3" izz="0.6" ixy="0" ixz="0" iyz="0"/></inertial></link>
  {LEG.format("left", 0.1)}{LEG.format("right", -0.1)}</robot>"""
# m, of the plate's corner from the world's origin
PLATE = np.array([0.3, -0.2, 0.0])


@pytest.fixture(scope="module")
def case():
    """The body as it is known and as it is; a motion of 12 s at 200 Hz and the plate's wrench about
    its corner.
    """
    prior = rd.load_urdf(WALKER, floating_base=True)
    truth = rd.random_model_error(prior, 3, mass=0.2, com=0.2, inertia=0.2)
    names = dict(
        zip(truth.link_names, (truth.link(n).inertia for n in truth.link_names), strict=True)
    )
    oracle = pin.buildModelFromXML(WALKER, pin.JointModelFreeFlyer())
    for joint in range(1, oracle.njoints):
        link = {"root_joint": "trunk"}.get(oracle.names[joint], "")
        link = link or truth.joint(oracle.names[joint]).child
        body = names[link]
        oracle.inertias[joint] = pin.Inertia(
            body.mass, np.array(body.com), np.array(body.rotational)
        )
    order = [oracle.names[k] for k in range(2, oracle.njoints)]
    assert tuple(order) == prior.joint_names[1:]
    rng = np.random.default_rng(0)
    w = rng.uniform(2.0, 9.0, (4, 10))
    size = rng.uniform(0.05, 0.2, (4, 10))
    phase = rng.uniform(0.0, 6.3, (4, 10))

    def q_at(t):
        x = np.sum(size * np.sin(w * t + phase), axis=0)
        turn = pin.Quaternion(pin.rpy.rpyToMatrix(x[3:6])).coeffs()
        return np.concatenate([0.5 * x[:3] + [0.0, 0.0, 1.0], turn, x[6:]])

    t = np.arange(0.0, 12.0, 5e-3)
    h = 1e-3
    data = oracle.createData()
    rows = []
    plate = []
    for time in t:
        q, (before, now, after) = q_at(time), (q_at(time + d) for d in (-h, 0.0, h))
        v = pin.difference(oracle, before, after) / (2.0 * h)
        a = (pin.difference(oracle, now, after) - pin.difference(oracle, before, now)) / h**2
        tau = pin.rnea(oracle, data, q, v, a)
        # about the world's origin, in its axes
        force = data.liMi[1].act(pin.Force(tau[:6]))
        rows.append(q)
        plate.append(np.concatenate([force.angular - np.cross(PLATE, force.linear), force.linear]))
    return prior, truth, t, np.array(rows), np.array(plate)


def recorded(case, noise, seed=0):
    prior, _, t, q, plate = case
    rng = np.random.default_rng(seed)
    q = q.copy()
    plate = plate + noise * 2.0 * rng.standard_normal(plate.shape)
    q[:, 7:] += noise * 2e-4 * rng.standard_normal(q[:, 7:].shape)
    q[:, :3] += noise * 2e-4 * rng.standard_normal((len(q), 3))
    return prior, t, q, [ExternalWrench("left_shank", t, plate, rd.Frame("world", PLATE))]


def test_base_parameters_are_those_of_the_true_segments(case):
    prior, truth, *_ = case
    found = rd.identify_segments(*recorded(case, 0.0), window=0.05, block=0.02)
    true = found.identifiable.base.values(rd.inertial_parameters(truth))
    before = found.identifiable.base.values(rd.inertial_parameters(prior))
    strength = found.identifiable.sensitivity
    errors = [np.linalg.norm((x - true) * strength) for x in (found.base.values, before)]
    assert errors[0] < 0.005 * errors[1]
    total = [sum(m for m, _ in found.masses.values()), rd.inertial_parameters(truth)[::10].sum()]
    assert total[0] == pytest.approx(total[1], rel=1e-3)
    assert (found.rms < 0.02 * found.prior_rms).all() and not found.base.unseen


def test_noisy_recordings_give_segments_within_their_intervals(case):
    _, truth, *_ = case
    found = rd.identify_segments(*recorded(case, 1.0))
    true = found.identifiable.base.values(rd.inertial_parameters(truth))
    z = (found.base.values - true) / found.base.standard_error
    assert np.mean(np.abs(z) < 1.96) > 0.85
    for (mass, error), actual in zip(
        found.masses.values(), rd.inertial_parameters(truth)[::10], strict=True
    ):
        assert abs(mass - actual) < 3.0 * error
    assert (found.prediction_rms < 0.25 * found.prior_rms).all()
    again = rd.load_urdf(found.urdf(), floating_base=True)
    np.testing.assert_allclose(
        rd.inertial_parameters(again), rd.inertial_parameters(found.model), rtol=1e-9, atol=1e-12
    )


def test_the_command_identifies_segments_from_a_table(case, tmp_path, capsys):
    prior, truth, t, q, plate = case
    base = [
        *(f"root_joint.position.{c}" for c in "xyz"),
        *(f"root_joint.orientation.{c}" for c in "xyzw"),
    ]
    wrench = [f"plate.{what}.{c}" for what in ("torque", "force") for c in "xyz"]
    head = ["t", *base, *(f"{name}.position" for name in prior.joint_names[1:]), *wrench]
    table = tmp_path / "motion.csv"
    robot = tmp_path / "walker.urdf"
    np.savetxt(
        table,
        np.column_stack([t, q, plate]),
        delimiter=",",
        header=",".join(head),
        comments="",
        fmt="%.12g",
    )
    robot.write_text(WALKER)
    place = f"left_shank=plate@world:{','.join(map(str, PLATE))}"
    command = [
        "identify",
        str(robot),
        "--floating-base",
        "--csv",
        str(table),
        "--output",
        str(tmp_path),
        "--json",
    ]
    command += ["--window", "0.05", "--block", "0.02", "--external"]
    assert main([*command, place]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [row["segment"] for row in document["rows"]] == [
        n for n in prior.link_names if prior.link(n).inertia.mass
    ]
    identified = rd.load_urdf(str(tmp_path / "identified.urdf"), floating_base=True)
    configurations = rd.random_configuration(prior, np.random.default_rng(0), size=50)
    actual, now, before = (rd.gravity_forces(m, configurations) for m in (truth, identified, prior))
    assert np.abs(now - actual).max() < 0.02 * np.abs(before - actual).max()
    assert main([*command, place]) == 2 and "exists" in capsys.readouterr().err
    assert (
        main([*command, "left_shank=plate2", "--overwrite"]) == 2
        and "plate2" in capsys.readouterr().err
    )
    assert (
        main([*command, place, "--overwrite", "--bag", str(table)]) == 2
        and "--csv" in capsys.readouterr().err
    )
    table.write_text(table.read_text().replace("root_joint.orientation.w", "w", 1))
    assert (
        main([*command, place, "--overwrite"]) == 2
        and "root_joint.orientation.w" in capsys.readouterr().err
    )


def test_what_is_missing_is_named(case):
    prior, _, t, q, _ = case
    with pytest.raises(rd.ArgumentError, match="no external wrench"):
        rd.identify_segments(prior, t, q, [])
    with pytest.raises(rd.ArgumentError, match="t: expected"):
        rd.identify_segments(*recorded(case, 0.0)[:1], t[1:], *recorded(case, 0.0)[2:])
    with pytest.raises(rd.ArgumentError, match="floating_base=True"):
        rd.identify_segments(rd.load_robot("two_link"), t, q[:, 7:9], recorded(case, 0.0)[3])
