"""The steps that move the arm, on arms in MuJoCo with mistakes: what they find, and that nothing
leaves its bounds.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="MuJoCo moves the stand-ins")

from support.wrong_arm import HOME, LOADED, WrongArm, described

import robot_dynamics_ros as rd
from robot_dynamics_ros.commissioning import (
    ArmSettings,
    Bounds,
    Command,
    Commissioning,
    Pushed,
    StandIn,
    StepReport,
    StepRunner,
    Sweep,
    calm_pose,
    drift,
    exposure,
    float_arm,
    loop_of,
    move,
    probe,
    step_response,
    tune,
    twitch,
)
from robot_dynamics_ros.commissioning.floating import breaking_free, effort_delay
from robot_dynamics_ros.control.reference.planning import plan_motion
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.friction.file import FrictionFile
from robot_dynamics_ros.simulation.mujoco_engine.plant import MujocoPlant

MODEL = described()
# rad, announced
FLOATS = 0.05
TWITCHES = 0.06
PROBES = 0.06
SEEN = {2: Pushed(0.5, 0.4, 0.1, HOME)}


def within(arm, announced):
    """The promise: 0.1 rad further than announced at most, a tenth of the speed limit, and then
    rest.
    """
    assert arm.farthest() < announced + 0.1
    assert arm.fastest() < 0.1
    assert arm.moves_after() < 1e-3


SLIPPERY = described(friction=(0.1, 0.1, 0.1))
FLIPPED = -np.ones(3)


@pytest.mark.parametrize(
    ("truth", "late"), [(MODEL, 0), (SLIPPERY, 10)], ids=["friction", "slippery and late"]
)
@pytest.mark.parametrize("wrong", [(), (1,), (2,), (0, 2), (0, 1, 2)])
def test_commands_are_proven_before_the_arm_carries_its_weight(wrong, truth, late):
    """Any signs, with 20 ms of delay and with hardly any friction."""
    signs = np.where(np.isin(range(3), wrong), -1.0, 1.0)
    arm = WrongArm(truth, signs=signs, delay=late)
    report, pushes = probe(StepRunner(arm, MODEL))
    within(arm, PROBES)
    assert [(f.kind, *f.joints) for f in report.findings] == [
        ("command_sign", f"joint{i + 1}") for i in wrong
    ]
    units = re.compile(r"\d mrad at [-.\d]+ N m\)")
    assert all(units.search(finding.sentence) for finding in report.findings)
    assert sorted(pushes) == [0, 1, 2]


@pytest.mark.parametrize(("rotor", "named"), [(0.0, ["wrist_3_joint"]), (0.2, [])])
def test_a_joint_whose_pushes_may_take_long_is_named_before(rotor, named):
    """A wrist without a rotor."""
    names = rd.load_robot("six_axis").joint_names
    model = rd.load_urdf(rd.robot_path("six_axis"), armature=dict.fromkeys(names, rotor))
    arm = StandIn(model, q0=calm_pose(model, model.initial_configuration()))
    said = []
    report, pushes = probe(
        StepRunner(arm, model), lambda sentence: said.append((sentence, arm.plant.t))
    )
    assert not report.findings and len(pushes) == model.nv
    assert [sentence.split(" may take ")[0] for sentence, _ in said][:1] == [
        f"each push of {name}" for name in named
    ]
    assert all(t < arm.plant.t - 5.0 for _, t in said[:1])


@pytest.mark.parametrize("unit", [1.0, 10.0])
def test_an_arm_without_any_rotor_stays_slow(unit):
    """As some simulations are: a wrist of 0.0003 kg m², a tenth of the friction described, 20 ms of
    delay.
    """
    model = rd.load_robot("six_axis")
    truth = rd.robot_model_error(model, friction=0.1)
    arm = WrongArm(
        truth, signs=unit, delay=10, home=calm_pose(model, model.initial_configuration())
    )
    runner = StepRunner(arm, model)
    report, pushes = probe(runner)
    if unit == 1.0:
        assert not report.findings and len(pushes) == model.nv
    else:
        kinds = {f.kind for f in report.findings or float_arm(runner, 1.0).findings}
        assert kinds and kinds <= {"command_unit", "drift"}
    within(arm, PROBES)


@pytest.mark.parametrize(
    "mistake",
    [
        {"lifts": True},
        {"lifts": True, "signs": FLIPPED},
        {"mass": 1.5},
        {"mass": 1.5, "signs": FLIPPED},
        {"loose": 1},
    ],
)
def test_nothing_gets_fast_where_commands_are_proven(mistake):
    mass = mistake.pop("mass", 1.0)
    arm = WrongArm(rd.robot_model_error(SLIPPERY, mass=mass), delay=10, **mistake)
    probe(StepRunner(arm, SLIPPERY))
    assert arm.farthest() < PROBES + 0.1 and arm.fastest() < 0.1


def test_commands_in_another_unit_are_named():
    arm = WrongArm(MODEL, signs=np.array([1.0, 10.0, 1.0]), delay=2)
    report, _ = probe(StepRunner(arm, MODEL))
    assert [(f.kind, *f.joints) for f in report.findings] == [("command_unit", "joint2")]
    assert 2.5 < report.findings[0].number <= 12.0
    within(arm, PROBES)


UNIT = 10.0 * np.ones(3)
EXCHANGED = [2, 1, 0]


@pytest.mark.parametrize(
    ("mistake", "kinds"),
    [
        ({"signs": UNIT}, {"command_unit"}),
        ({"signs": 10.0 * UNIT}, {"command_unit", "drift"}),
        ({"order": EXCHANGED}, {"commands_exchanged", "drift"}),
        ({"gravity": (0.0, 6.9, -6.9)}, {"drift"}),
        ({"gravity": (9.81, 0.0, 0.0)}, {"drift"}),
    ],
)
def test_an_arm_that_cannot_be_weighed_stays_slow(mistake, kinds):
    """20 ms of delay, hardly any friction: commands in another unit or of other joints, another
    mounting.
    """
    truth = SLIPPERY.replace(gravity=mistake.pop("gravity", SLIPPERY.gravity))
    arm = WrongArm(truth, delay=10, **mistake)
    report, _ = probe(StepRunner(arm, SLIPPERY))
    assert report.findings and {f.kind for f in report.findings} <= kinds
    within(arm, PROBES)


def test_an_arm_is_not_released_where_a_wrong_sign_would_make_it_fast():
    arm = WrongArm(MODEL, home=LOADED)
    with pytest.raises(ArgumentError, match="Lead it to a pose"):
        probe(StepRunner(arm, MODEL))
    with pytest.raises(ArgumentError, match="Lead it to a pose"):
        float_arm(StepRunner(arm, MODEL))
    assert arm.command is None
    calm = calm_pose(MODEL, LOADED)
    assert exposure(MODEL, calm) < 0.01 and ((MODEL.lower <= calm) & (calm <= MODEL.upper)).all()


def test_an_arm_without_a_calm_pose_is_not_sent_to_one():
    """Neither upright nor hanging is within its limits: the message does not name a pose that would
    be refused, too, and nobody is asked to lead the arm.
    """
    limits = 'lower="-2.2" upper="2.2"'
    text = rd.to_urdf(MODEL)
    assert text.count(limits) == 1
    narrow = rd.load_urdf(text.replace(limits, 'lower="-1.2" upper="1.2"'))
    arm = WrongArm(narrow, home=LOADED)
    said = []
    session = Commissioning(narrow, arm, announce=said.append)
    session.reports["weigh"] = StepReport("weigh")
    with pytest.raises(ArgumentError, match="No pose within its limits is calm enough"):
        session.run("float")
    assert arm.command is None and not said


@pytest.mark.parametrize(
    "signs", [(-1.0, -1.0, -1.0), (1.0, -1.0, 1.0), (1.0, 1.0, -1.0), (-1.0, 1.0, -1.0)]
)
@pytest.mark.parametrize("pose", [LOADED, HOME, HOME + np.array([0.0, 0.2, -0.4])])
def test_the_exposure_is_a_bound(pose, signs):
    """MuJoCo moves the arm under its weight with wrong signs, without friction, for as long as a
    correction takes.
    """
    bare = described(friction=(0.0, 0.0, 0.0))
    plant = MujocoPlant(bare, 1e-3, geometry="none", q0=pose)
    for _ in range(26):
        plant.step(np.array(signs) * rd.gravity_forces(bare, plant.q))
    assert (np.abs(plant.v) / bare.velocity_limit).max() < 1.1 * exposure(bare, pose)


@pytest.mark.parametrize(
    ("mistake", "kinds"),
    [
        ({}, []),
        ({"lifts": True, "delay": 10}, ["gravity_compensated_by_driver"]),
        ({"delay": 10}, ["delay"]),
    ],
)
def test_floating_names_the_mistake_and_stays_within_its_bounds(mistake, kinds):
    arm = WrongArm(SLIPPERY, home=calm_pose(SLIPPERY, LOADED, 0.08), **mistake)
    report = float_arm(StepRunner(arm, SLIPPERY), 0.6)
    assert set(kinds) <= {f.kind for f in report.findings} and (kinds or not report.findings)
    within(arm, FLOATS)


def test_an_arm_whose_description_is_too_light_drifts():
    heavy = rd.robot_model_error(SLIPPERY, mass=1.5)
    arm = WrongArm(heavy, home=calm_pose(SLIPPERY, LOADED, 0.08), delay=10)
    report = float_arm(StepRunner(arm, SLIPPERY), 2.0)
    assert any(
        "joint2 drifts" in sentence for sentence in (*map(str, report.findings), *report.notes)
    )
    within(arm, FLOATS)


def test_a_joint_without_brake_is_named_before_anything_is_sent():
    arm = WrongArm(SLIPPERY, loose=1, home=LOADED)
    report, _ = probe(StepRunner(arm, MODEL))
    assert [(f.kind, f.joints) for f in report.findings] == [("brake", ("joint2",))]
    assert arm.command is None


@pytest.mark.parametrize(
    ("mistake", "joints", "kinds"),
    [
        ({}, ["joint2"], []),
        ({"delay": 10}, ["joint1"], ["delay"]),
        ({"play": 0.01}, ["joint1"], ["play"]),
    ],
)
def test_twitching_names_the_mistake_and_stays_within_its_bounds(mistake, joints, kinds):
    arm = WrongArm(MODEL, **mistake)
    runner = StepRunner(arm, MODEL)
    report = twitch(runner, probe(runner)[1], joints)
    assert [f.kind for f in report.findings] == kinds
    within(arm, TWITCHES)
    if "delay" in mistake:
        assert report.numbers["robot_delay"] == pytest.approx(0.02, abs=2e-3)
    if "play" in mistake:
        assert report.findings[0].number == pytest.approx(0.01, abs=1e-3)
        assert " mrad of play" in report.findings[0].sentence


def test_a_frozen_joint_is_not_pushed():
    arm = WrongArm(MODEL, frozen=1)
    report, pushes = probe(StepRunner(arm, MODEL))
    assert [(f.kind, f.joints) for f in report.findings] == [
        ("frozen_joint", ("joint2",))
    ] and sorted(pushes) == [0, 2]
    within(arm, PROBES)


def test_friction_three_times_as_large_is_measured():
    arm = WrongArm(described(friction=(0.8, 0.8, 1.2)))
    runner = StepRunner(arm, MODEL)
    report = twitch(runner, probe(runner)[1], ["joint3"])
    assert [(f.kind, f.joints) for f in report.findings] == [("friction", ("joint3",))]
    assert report.findings[0].change.value == pytest.approx(1.2, rel=0.05)
    within(arm, TWITCHES)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "step",
    [lambda runner: probe(runner)[0], float_arm, lambda runner: twitch(runner, SEEN, ["joint3"])],
)
def test_nothing_moves_after_a_stop_at_any_instant(step, seed):
    rng = np.random.default_rng(seed)
    arm = WrongArm(MODEL, seed=seed)
    last = int(rng.integers(20, 1200))
    kind = ("person", "silent", "nan", "hung", "clock")[seed % 5]
    if kind != "person":
        setattr(arm, f"{kind}_after", last)
    runner = StepRunner(arm, MODEL, stop=lambda: kind == "person" and arm.readings > last)
    report = step(runner)
    assert runner.record.stopped and not report.enough and not report.findings
    within(arm, TWITCHES)


def test_a_law_that_pushes_is_stopped_within_its_bounds():
    arm = WrongArm(MODEL)
    runner = StepRunner(arm, MODEL)

    def pushing(state):
        bounds = Bounds.around(MODEL, state.q, 0.05)
        while True:
            effort = rd.gravity_forces(MODEL, state.q)
            effort[2] += 3.0
            state = yield Command(effort, bounds)

    assert runner.run(pushing) is None
    assert "joint3" in runner.record.stopped
    within(arm, 0.05)


def test_an_error_of_a_step_leaves_the_arm_standing():
    arm = WrongArm(MODEL)

    def broken(state):
        for _ in range(50):
            state = yield Command(
                rd.gravity_forces(MODEL, state.q), Bounds.around(MODEL, HOME, 0.05)
            )
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        StepRunner(arm, MODEL).run(broken)
    within(arm, 0.05)


@pytest.mark.parametrize("wrong", ["hung", "clock"])
def test_an_arm_whose_commands_are_proven_is_left_standing_when_time_goes_wrong(wrong):
    arm = WrongArm(MODEL, **{f"{wrong}_after": 300})
    runner = StepRunner(arm, MODEL)
    report, _ = move(runner, ArmSettings(), plan_motion(MODEL, HOME), slowly=8.0)
    assert "time of joint states" in runner.record.stopped and not report.enough
    assert arm.readings < 400
    assert arm.moves_after() < 1e-3


# -- plain functions on arrays ---------------------------------------------------------------------


def test_the_loop_of_exact_vibrations_is_found():
    """u(t) = J q̈(t + T) + d q̇(t + T) + F side(t), by hand."""
    J = 0.4
    d = 1.5
    T = 0.0125
    F = 2.0
    speed = 0.05
    w = np.array([25.0, 56.0, 125.0])
    a = np.array([4e-4, 2e-4, 1e-4])
    t = np.arange(0.0, 4.0, 2e-3)
    phase = np.select([t < 1.0, t < 1.4, t < 2.4, t < 2.8, t < 3.8], [1, 2, -1, -2, 1], 2.0)
    side = np.sign(phase)

    def wave(t, derivative):
        return sum(
            x * k**derivative * np.sin(k * t + derivative * np.pi / 2.0)
            for x, k in zip(a, w, strict=True)
        )

    shaken = np.abs(phase) == 1
    way = np.cumsum(speed * side * shaken) * 2e-3
    u = J * wave(t + T, 2) + d * (wave(t + T, 1) + speed * side * shaken) + F * side
    loop = loop_of(
        Sweep(t, way + wave(t, 0), speed * side * shaken + wave(t, 1), u, phase, tuple(w))
    )
    assert loop.inertia == pytest.approx(J, rel=0.02)
    assert loop.viscous == pytest.approx(d, rel=0.1)
    assert loop.delay == pytest.approx(T, abs=3e-4)
    assert loop.friction == pytest.approx(F + d * speed, rel=0.02)


def test_a_joint_that_breaks_free_by_hand():
    """way = rise (t − t₀)³ / (6 J), read with noise."""
    t = np.arange(0.0, 0.2, 2e-3)
    rise = 5.0
    start = 0.12
    J = 0.03
    way = rise * np.maximum(t - start, 0.0) ** 3 / (6.0 * J) + 1e-5 * np.sin(1e4 * t)
    free, inertia = breaking_free(t, np.abs(way), rise, 8e-5)
    assert (free, inertia) == (pytest.approx(start, abs=2e-3), pytest.approx(J, rel=0.1))
    assert np.isnan(breaking_free(t, 0.0 * t, rise, 8e-5)).all()


@pytest.mark.parametrize("factor", [1.0, -30.0])
def test_a_delay_from_efforts_by_hand(factor):
    """Efforts in any unit and sign, later than the commands."""
    t = np.arange(0.0, 2.0, 2e-3)
    w = 2.0 * np.pi * np.array([4.0, 7.0, 12.0])
    rng = np.random.default_rng(0)
    command, late = (
        np.outer(np.sin(np.outer(t - T, w)).sum(axis=1), [0.2, 0.1]) for T in (0.0, 0.0143)
    )
    effort = factor * (3.0 + late + 0.02 * rng.standard_normal(late.shape))
    assert effort_delay(t, command, effort, w) == pytest.approx(0.0143, abs=5e-4)
    assert np.isnan(effort_delay(t, command, 0.02 * rng.standard_normal(late.shape), w))


def test_a_step_response_by_hand():
    t = np.linspace(0.0, 0.9, 901)
    decaying = 1.0 + 0.3 * np.exp(-6.0 * t) * np.cos(40.0 * t)
    r = step_response(t, decaying, np.zeros_like(t), 1.0, 0.0)
    assert r.overshoot == pytest.approx(0.3)
    late = decaying[t > 0.6]
    # from each instant to each later one
    changes = np.triu(late[None, :] - late[:, None])
    assert r.ringing == pytest.approx(min(changes.max(), -changes.min()))
    assert step_response(t, np.minimum(t, 1.0), np.zeros_like(t), 1.0, 0.0).ringing == 0.0
    with pytest.raises(ArgumentError, match="step"):
        step_response(t, t, t, 1.0, 1.0)


def test_the_effort_of_a_drift_by_hand():
    """A joint that its damping alone holds back: effort = damping times speed."""
    t = np.linspace(0.0, 2.0, 500)
    damping = np.array([3.0, 3.0, 3.0])
    q = HOME + np.outer(t, [0.0, 0.02, 0.0])
    report = drift(MODEL, t, q, damping)
    assert report.numbers["effort"][1] == pytest.approx(0.06, rel=1e-6)
    assert not report.findings and "joint2" in report.notes[0]
    with pytest.raises(ArgumentError, match="too few"):
        drift(MODEL, t[:3], q[:3], damping)


# -- gains -----------------------------------------------------------------------------------------


def test_after_commissioning_the_tour_is_followed_twice_as_well(tmp_path):
    """Friction twice as described, damping and rotors that are not described, 4 ms of delay,
    noise.
    """
    claim = described(friction=(4.0, 4.0, 2.0), armature=(0.0, 0.0, 0.0))
    truth = described(friction=(8.0, 8.0, 4.0))
    damping = dict(zip(truth.joint_names, (5.0, 6.0, 3.0), strict=True))
    truth = truth.replace(description=truth.description.with_joints(damping=damping))
    tour = plan_motion(claim, HOME, waypoints=2)
    errors = []
    arm = WrongArm(truth, delay=2)
    runner = StepRunner(arm, claim)
    twitched = twitch(runner, probe(runner)[1])
    known = ArmSettings().learned(claim.joint_names, twitched.numbers)
    runner = StepRunner(arm, known.model(claim), known.options)
    report, tuned = tune(runner, known)
    assert not report.findings and report.numbers["margin"] > 0.004
    assert arm.farthest() < 0.1 + 0.1 and arm.moves_after() < 1e-3
    for settings, slowly in ((ArmSettings(), 1.0), (tuned, 4.0)):
        arm = WrongArm(truth, delay=2)
        runner = StepRunner(arm, settings.model(claim), settings.options)
        moved, learned = move(runner, settings, tour, slowly=slowly)
        errors.append(moved.numbers["rms error, full speed"])
        assert not runner.record.stopped
    assert np.linalg.norm(errors[1]) < 0.5 * np.linalg.norm(errors[0])
    for name, most, friction in zip(
        claim.joint_names, damping.values(), (8.0, 8.0, 4.0), strict=True
    ):
        assert 0.75 * most < learned.damping[name] < 1.05 * most
        assert 0.85 * friction < learned.friction[name] < 1.02 * friction
    # the margin is proven with these
    assert learned.armature == tuned.armature
    written = Commissioning(claim, arm, learned).write(tmp_path)["friction.json"]
    law = learned.controller(claim).law
    np.testing.assert_allclose(
        FrictionFile.read(written, claim).friction(claim).rows, law.friction.rows
    )
