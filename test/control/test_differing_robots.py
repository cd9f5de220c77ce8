"""Robots that differ from their description, in MuJoCo: the default law leads them where they
should go.
"""

import dataclasses

import numpy as np
import pytest
from support.closed_loop import sampled
from support.differing_twin import ARM, HOME, PERIOD, STEP, Twin, differing

import robot_dynamics_ros as rd
from benchmarks.differing_robots import gears
from benchmarks.differing_robots.arms import ARMS, load_arm
from benchmarks.differing_robots.differences import draw
from benchmarks.differing_robots.laws import Default
from benchmarks.differing_robots.measure import run
from robot_dynamics_ros.control import Robustness
from robot_dynamics_ros.control.robustness import description_gaps
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.friction.file import FrictionFile


def lighter(model, links, factor):
    """The robot with the masses and inertias of these links times ``factor``."""
    scaled = (
        dataclasses.replace(
            link,
            inertia=rd.Inertia(
                factor * link.inertia.mass, link.inertia.com, factor * link.inertia.rotational
            ),
        )
        if link.name in links
        else link
        for link in model.description.links
    )
    return model.replace(
        description=dataclasses.replace(model.description, links=tuple(scaled), source="")
    )


def lead(
    truth,
    claim=ARM,
    delay=0,
    robustness=None,
    push=None,
    seconds=4.5,
    period=PERIOD,
    duration=2.0,
    law=None,
    measured=lambda k, q, v: (q, v),
):
    """Hold for a second, move by STEP, stand; errors row by row, the controller, efforts row by
    row.
    """
    settings = robustness or Robustness(delay=delay * period * 1e-9)
    controller = rd.JointController(claim, law, options=rd.ControllerOptions(robustness=settings))
    controller.want_wrenches = controller.want_efforts = False
    twin = Twin(truth, delay)
    t = 10**9
    controller.activate(t, twin.robot.q, twin.robot.v)
    errors = []
    efforts = []
    rest = np.zeros(ARM.nv)
    for k in range(int(seconds * 1e9) // period):
        t += period
        if k == 10**9 // period and push is None:
            way = rd.Trajectory.from_waypoints(
                ARM.joint_names, [duration], [HOME + STEP], [rest], [rest]
            )
            controller.accept_trajectory(way, t)
        tau = controller.update(t, *measured(k, twin.robot.q, twin.robot.v)).copy()
        errors.append(controller.reference[0] - twin.robot.q)
        efforts.append(tau)
        twin.step(tau - (push(k * period * 1e-9) if push is not None else 0.0), period)
    return np.abs(errors), controller, np.array(efforts)


ROBOTS = {
    "rotors and friction": ({"rotors": 0.1, "dry": 0.5, "damping": 0.2}, 0),
    "neither": ({}, 0),
    "heavier, with a load": ({"rotors": 0.05, "dry": 1.0, "mass": 1.2, "payload": 2.0}, 1),
    "light and late": ({"rotors": 0.01, "dry": 1.0}, 3),
    "heavy rotors, late": ({"rotors": 0.15, "dry": 2.0, "damping": 1.0}, 2),
}


def test_friction_that_was_measured_helps_from_the_first_motion_on():
    truth = differing(rotors=0.1, dry=2.0, damping=0.5)
    ways = [
        lead(truth, truth, law=rd.ComputedTorque(friction=rd.Friction.of(truth, trust=trust)))[0][
            500:
        ].max()
        for trust in (0.0, 0.9)
    ]
    assert ways[1] < 0.5 * ways[0]


def test_a_trust_beyond_one_is_refused(tmp_path):
    with pytest.raises(
        ArgumentError, match=r"friction trust: expected a number from 0 to 1, got 1\.5"
    ):
        rd.Friction.of(ARM, trust=1.5)
    file = tmp_path / "friction.json"
    file.write_text('{"trust": 0.9, "joints": {}}', encoding="utf-8")
    assert FrictionFile.read(file, ARM).friction(ARM).trust == 0.9
    FrictionFile.read(file, ARM).write(file)
    assert FrictionFile.read(file, ARM).trust == 0.9
    file.write_text('{"trust": NaN, "joints": {}}', encoding="utf-8")
    with pytest.raises(
        ArgumentError, match=r"friction\.json, trust: expected a number from 0 to 1, got nan"
    ):
        FrictionFile.read(file, ARM)


@pytest.mark.parametrize("name", ROBOTS)
def test_the_default_leads_a_robot_that_is_not_its_description(name):
    numbers, delay = ROBOTS[name]
    errors, _, _ = lead(differing(**numbers), delay=delay)
    # from when the motion begins
    assert errors[500:].max() < 20e-3
    assert errors[-50:].max() < 5e-3


def published_twice(every):
    """One state in ``every`` is the one before, with a new stamp."""
    old = [None]

    def measured(k, q, v):
        if k % every != every - 1:
            old[0] = q.copy(), v.copy()
        return old[0]

    return measured


def on_its_own_clock():
    """Each joint repeats one measurement in twenty."""
    old = np.zeros((2, ARM.nv))
    rng = np.random.default_rng(1)

    def measured(k, q, v):
        fresh = (rng.uniform(size=ARM.nv) > 0.05) | (k == 0)
        old[:] = np.where(fresh, (q, v), old)
        return old[0].copy(), old[1].copy()

    return measured


def with_jitter():
    rng = np.random.default_rng(2)
    return lambda k, q, v: (q + v * rng.uniform(-0.3, 0.3) * PERIOD * 1e-9, v)


def coarse(k, q, v):
    """Encoders of 14 bits."""
    digit = 2.0 * np.pi / 2**14
    return digit * np.round(q / digit), v


def with_outliers():
    """One state in 500 has a joint that is 3 mrad off."""
    rng = np.random.default_rng(3)

    def measured(k, q, v):
        q = q.copy()
        if rng.uniform() < 0.002:
            q[rng.integers(ARM.nv)] += rng.choice([-3e-3, 3e-3])
        return q, v

    return measured


MEASUREMENTS = {
    "one state in 50 published twice": lambda: published_twice(50),
    "each state published twice": lambda: published_twice(2),
    "each joint on its own clock": on_its_own_clock,
    "jitter": with_jitter,
    "encoders of 14 bits": lambda: coarse,
    "outliers": with_outliers,
}


@pytest.mark.parametrize("kind", MEASUREMENTS)
@pytest.mark.parametrize("delay", [1, 3])
def test_measurements_that_a_driver_spoils_do_not_throw_the_arm(kind, delay):
    truth = differing(
        rotors=np.array([0.15, 0.05, 0.1, 0.02, 0.06, 0.04]), dry=0.01 * ARM.effort_limit
    )
    errors, controller, _ = lead(truth, delay=delay, measured=MEASUREMENTS[kind]())
    assert not controller.fault
    assert errors[500:].max() < 20e-3
    assert errors[-50:].max() < 5e-3


def test_friction_that_is_claimed_and_not_there_throws_no_joint():
    claim = differing(dry=2.0, damping=5.0)
    errors, _, _ = lead(differing(), claim)
    assert errors.max() < 20e-3 and errors[-50:].max() < 5e-3


def test_it_is_stable_at_twice_the_delay():
    errors, _, _ = lead(
        differing(rotors=0.03), delay=4, robustness=Robustness(delay=2 * PERIOD * 1e-9)
    )
    assert errors[-50:].max() < 5e-3


@pytest.mark.parametrize("dry", [0.0, 0.1], ids=["nothing claimed", "friction claimed"])
@pytest.mark.parametrize("delay", [1, 2], ids=["as declared", "twice as declared"])
def test_light_joints_without_rotor_and_friction_are_held_with_a_small_rotor_share(delay, dry):
    """A wrist of 1e-5 to 1e-3 kg m² in joints whose rotors may have up to 0.1 kg m²."""
    truth = differing(lighter(ARM, ["wrist_1_link", "wrist_2_link", "wrist_3_link"], 0.05))
    errors, controller, _ = lead(
        truth,
        differing(truth, dry=dry),
        delay=delay,
        robustness=Robustness(delay=PERIOD * 1e-9, rotor_share=0.02),
    )
    assert not controller.counts
    assert errors[500:].max() < 20e-3 and errors[-50:].max() < 5e-3


def test_joints_that_are_stuck_at_rest_reach_the_band_of_the_late_loop():
    """Dry friction of 7 % of the limits and a delay of 12 ms; 5.5 mrad is left where the integral
    alone moves them.
    """
    errors, controller, _ = lead(differing(rotors=0.05, dry=0.07 * ARM.effort_limit), delay=6)
    assert errors[-50:].max() < 3.1e-3
    # the error before the last pulse
    assert np.abs(controller.memory["struck"]).max() > 3e-3


@pytest.mark.parametrize("friction", [0.0, 5e-4], ids=["free", "rubs a little"])
def test_light_joints_stand_at_a_slow_rate(friction):
    """100 Hz, one period late, rotors as described: a pulse of whole periods that is made for
    friction throws them.
    """
    claim = differing(rotors=2e-3)
    truth = differing(rotors=2e-3, dry=friction * ARM.effort_limit)
    errors, _, _ = lead(truth, claim, delay=1, period=10_000_000, duration=0.7)
    assert errors[-100:].max() < 3.5e-3
    assert np.ptp(errors[-100:], axis=0).max() < 0.5e-3


def test_the_rotor_of_a_joint_that_rings_is_estimated():
    errors, controller, _ = lead(
        differing(rotors=np.array([0.1, 0.1, 0.1, 0.02, 0.02, 0.0])), delay=3
    )
    rotor = controller.memory["rotor"]
    assert rotor[-1] < 0.25 * controller.memory["assumed_rotor"][-1]
    assert errors[-50:].max() < 5e-3


def test_a_push_is_resisted_up_to_the_bound_and_released_without_a_swing():
    """2 s of 20 N m at the first joint; then it is let go."""

    def push(t):
        return np.array([20.0, 0, 0, 0, 0, 0]) * (1.0 < t < 3.0)

    errors, controller, efforts = lead(differing(rotors=0.1), push=push)
    deflection = errors[:1500, 0].max()
    assert 2e-3 < deflection < 0.1
    assert errors[1550:, 0].max() < 0.2 * deflection + 1e-3
    bound = controller.memory["largest_rejected"][0]
    assert np.abs(efforts[:, 0]).max() < 20.0 * 1.5 < bound


@pytest.mark.parametrize(
    ("joint", "load", "rotors", "delay"), [(3, 8.0, 0.01, 0), (5, 3.0, 0.02, 2), (5, 4.0, 0.02, 0)]
)
def test_an_unknown_load_at_the_start_is_caught_although_it_speeds_the_joint_beyond_its_limit(
    joint, load, rotors, delay
):
    """A fault would send the safe command, which is no effort: the load would throw the joint."""
    efforts = load * np.eye(ARM.nv)[joint]
    errors, controller, _ = lead(
        differing(rotors=rotors, dry=0.1, damping=0.1),
        delay=delay,
        push=lambda t: efforts,
        seconds=2.0,
    )
    fastest = np.abs(np.diff(errors[:, joint])).max() / (1e-9 * PERIOD)
    assert fastest > 1.3 * ARM.velocity_limit[joint]
    assert controller.fault == ""
    assert errors[-50:].max() < 5e-3


@pytest.mark.parametrize(
    ("name", "number", "gears"),
    [
        ("panda", 2, gears.Elastic),
        ("ur5", 2, gears.AtMotor),
        # of tiago 0 to 5 three are thrown: springs that the encoder sees are not solved
        ("tiago", 4, gears.Elastic),
    ],
)
def test_elastic_gears_are_held_softly_and_named(name, number, gears):
    """Motors that drive their links through springs: at full stiffness the loop drives the spring,
    and the arm is thrown.
    """
    arm = ARMS[name]
    difference, move = draw(arm, load_arm(arm), 1000 * list(ARMS).index(name) + number)
    figures, _, law = run(Default, difference, move, arm.flange, push=False, robot_type=gears)
    assert law.controller.fault == "" and figures["stable"]
    assert figures["goal"] < 15.0 and figures["way"] < 60.0
    assert any(
        "it rang by itself and is held with" in gap for gap in law.controller.description_gaps()
    )


def test_what_the_description_leaves_out_is_named():
    truth = differing(
        rotors=0.1, dry=ARM.friction + np.array([0.0, 0.0, 0.0, 0.0, 0.0, 3.0]), damping=ARM.damping
    )
    _, controller, _ = lead(truth)
    (gap,) = controller.description_gaps()
    assert gap.startswith(
        f"joint {ARM.joint_names[-1]}: 2.8 N m unexplained, and more than its inertia needs"
    )


def test_an_exact_description_leaves_nothing_to_name():
    _, controller, _ = lead(ARM, ARM)
    assert controller.description_gaps() == ()


def test_nothing_is_named_where_nothing_is_unexplained():
    assert description_gaps(ARM, np.zeros(6), np.zeros(6)) == ()
    (gap,) = description_gaps(ARM, np.eye(6)[2] * 3.0, np.zeros(6))
    assert ARM.joint_names[2] in gap and "3 N m" in gap


@pytest.mark.parametrize("name", ["rotor_share", "bandwidth", "rejected_effort", "delay"])
@pytest.mark.parametrize("value", [-1.0, float("nan"), 1e6])
def test_absurd_settings_are_refused(name, value):
    with pytest.raises(ArgumentError, match=name):
        Robustness(**{name: value})


def test_compiled_and_as_written_it_gives_the_same_efforts():
    written = ARM.with_backend("numpy")
    runs = []
    for model in (ARM, written):
        controller = rd.JointController(model)
        controller.want_wrenches = controller.want_efforts = False
        rng = np.random.default_rng(4)
        t = 10**9
        q = HOME.copy()
        v = np.zeros(6)
        controller.activate(t, q, v)
        controller.accept_trajectory(rd.plan_move(model, HOME, HOME + 0.2, duration=0.5), t)
        efforts = []
        for _ in range(250):
            t += PERIOD
            q = q + 2e-3 * v + 1e-5 * rng.standard_normal(6)
            v = 0.98 * v + 0.02 * rng.standard_normal(6)
            efforts.append(controller.update(t, q, v).copy())
        runs.append((controller.compiled, np.array(efforts)))
    assert [compiled for compiled, _ in runs] == [True, False]
    np.testing.assert_allclose(runs[0][1], runs[1][1], rtol=1e-9, atol=1e-9)


def test_without_it_the_law_is_its_equation():
    law = rd.ComputedTorque(kp=100.0, kd=20.0)
    controller = rd.JointController(ARM, law)
    controller.activate(10**9, HOME, np.zeros(6))
    q = HOME + 0.01
    v = 0.1 * np.ones(6)
    tau = controller.update(10**9 + PERIOD, q, v)
    expected = rd.inverse_dynamics(ARM, q, v, 100.0 * (HOME - q) - 20.0 * v)
    np.testing.assert_allclose(tau, expected, rtol=1e-9, atol=1e-9)
    assert not controller.unexplained.any() and controller.description_gaps() == ()


def test_rotors_alone_in_the_plant_of_this_package():
    """The same robot in this package's own plant: no friction of MuJoCo's in the way."""
    truth = rd.load_urdf(rd.robot_path("six_axis"), armature=dict.fromkeys(ARM.joint_names, 0.1))
    controller = rd.JointController(ARM)

    def step(t, q, v):
        if controller.mode is rd.Mode.INACTIVE:
            controller.activate(t, q, v)
            controller.accept_trajectory(rd.plan_move(ARM, q, HOME + STEP, duration=2.0), t)
        return controller.update(t, q, v)

    worst = 0.0
    for _t, q, _v, _ in sampled(truth, step, HOME, np.zeros(6), 1500, period=PERIOD):
        worst = max(worst, float(np.abs(q - controller.reference[0]).max()))
    assert worst < 10e-3
    assert np.abs(q - HOME - STEP).max() < 2e-3
