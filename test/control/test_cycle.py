"""The cycle: compiled and fed messages, or run as it is written and fed arrays, it does the same,
whatever happens.
"""

import math
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.closed_loop import mid

import robot_dynamics_ros as rd
from robot_dynamics_ros.control import (
    ControllerOptions,
    FeedforwardPD,
    Friction,
    GuardSettings,
    MomentumObserver,
    Payload,
    Tolerances,
    Trajectory,
    TrajectoryPoint,
)
from robot_dynamics_ros.control.cycle.message import STRONGEST, AnswerLayout, StateLayout
from robot_dynamics_ros.control.cycle.verdicts import Verdict
from robot_dynamics_ros.dynamics.engine.backends import compiler_missing

pytestmark = [
    pytest.mark.optimized,
    pytest.mark.skipif(compiler_missing() is not None, reason="needs llvmlite"),
]
PERIOD = 2_000_000
N = 6
MODEL = rd.load_robot("six_axis")
WRITTEN = MODEL.with_backend("numpy")
HEAD = b"\x00\x01\x00\x00"
TAIL = b"the end."
PLACES = [[3 + 2 * (row * N + i) for i in range(N)] for row in range(3)]
SIZE = 12 + 24 * N + len(TAIL)
ANSWER = 1 + 2 + 1 + 2 * N
NUMBERS = ("command", "effort", "reference", "error", "wrenches", "wrench_acceleration", "state")


def message(t, q, v, effort=None, tail=TAIL, head=HEAD):
    """A header, the stamp, positions, velocities, efforts, and something that never changes."""
    effort = np.zeros(N) if effort is None else effort
    return (
        head
        + struct.pack("=iI", *divmod(t, 10**9))
        + np.concatenate([q, v, effort]).tobytes()
        + tail
    )


def layout():
    fixed = bytearray(SIZE)
    fixed[:2] = b"\1\1"
    fixed[-len(TAIL) :] = b"\1" * len(TAIL)
    return StateLayout(message(0, np.ones(N), np.ones(N)), bytes(fixed), PLACES)


LAYOUT_OF_MESSAGES = layout()


def read(controller, raw):
    """The verdict of reading a message."""
    return controller.runner.read(raw, len(raw), LAYOUT_OF_MESSAGES)


class Twins:
    """Two controllers of one robot: compiled and fed messages, as written and fed arrays."""

    def __init__(self, t=10**9, law=lambda: rd.ComputedTorque(ki=5.0, i_clamp=0.1), **parts):
        self.controllers = [
            rd.JointController(model, law(), **{k: make() for k, make in parts.items()})
            for model in (MODEL, WRITTEN)
        ]
        assert [controller.compiled for controller in self.controllers] == [True, False]
        self.buffer = bytearray(4 * ANSWER)
        self.controllers[0].runner.answer_into(AnswerLayout(self.buffer, 4, range(N), True))
        self.t, self.q, self.v = t, mid(MODEL), np.zeros(N)
        for controller in self.controllers:
            controller.activate(self.t, self.q, self.v)

    def both(self, act):
        """Do something with each of them; both must end alike."""
        ends = []
        for controller in self.controllers:
            try:
                act(controller)
                ends.append("")
            except rd.RobotDynamicsError as error:
                ends.append(str(error))
        assert ends[0] == ends[1]

    def state(self, t, q, v, effort, **parts):
        """A joint state arrives; what the message's reader refuses, the other is not shown."""
        own, other = self.controllers
        verdict = read(own, message(t, q, v, effort, **parts))
        assert (verdict == Verdict.LAYOUT) == bool(parts)
        assert (verdict == Verdict.ABSURD) == (not parts and not (np.abs(v) <= 1e4).all())
        if verdict != Verdict.DONE:
            return
        known = effort if (np.abs(effort) <= STRONGEST).all() else None
        assert own.memory.python.measured[0] == (known is not None)
        np.testing.assert_array_equal(own.memory["arrived"][:2], [q, v])
        active = own.mode is not rd.control.Mode.INACTIVE
        if active and own.runner.answer():
            own.estimate(measured=known is not None)
        other.update(t, q, v, known)
        if active:
            assert np.frombuffer(self.buffer, np.float64, N, 16).tolist() == own.command.tolist()
            assert struct.unpack_from("=iI", self.buffer, 4) == divmod(t, 10**9)
        self.agree()

    def agree(self):
        own, other = self.controllers
        for name in NUMBERS:
            np.testing.assert_allclose(
                getattr(own, name), getattr(other, name), rtol=1e-9, atol=1e-9, err_msg=name
            )
        for name in ("mode", "fault", "counts", "jump", "current", "safe_reason"):
            assert getattr(own, name) == getattr(other, name), name
        if own.observer is not None:
            np.testing.assert_allclose(own.observer.effort, other.observer.effort, atol=1e-9)


def trajectory(twins, length, start=0):
    names = twins.controllers[0].model.joint_names
    points = [
        TrajectoryPoint((k + 1) * length * PERIOD, positions=(twins.q + 1e-3 * k).tolist())
        for k in range(3)
    ]
    return Trajectory.from_points(names, points, stamp=start)


STEPS = st.sampled_from(
    ["go on"] * 8
    + """still|late|back|gap|long gap|not finite|absurd|jump|no efforts|changed|trajectory|
    later trajectory|hold|gains|law|law in Python|wrench|
    no wrench|guards|watch|own delay|wrenches on|wrenches off|deactivate|activate|payload|point|
    near a limit|strong""".replace("\n    ", "").split("|")
)


@settings(max_examples=30, deadline=None)
@given(st.lists(STEPS, min_size=5, max_size=40), st.booleans(), st.integers(0, 2**31))
def test_compiled_with_messages_and_as_written_with_arrays_agree_whatever_happens(
    steps, observed, seed
):
    rng = np.random.default_rng(seed)
    model = MODEL
    given = {"observer": lambda: MomentumObserver(model, gain=20.0)} if observed else {}
    twins = Twins(
        options=lambda: ControllerOptions(
            blend_time=0.006, state_timeout=0.02, max_state_jump=0.05
        ),
        **given,
    )
    for step in ["go on", "go on", *steps, "go on"]:
        act(twins, step, rng)


def act(twins, step, rng):
    model = twins.controllers[0].model
    q = twins.q + 1e-5 * rng.normal(size=N)
    v = 1e-3 * rng.normal(size=N)
    t = twins.t + PERIOD
    effort = np.zeros(N)
    parts = {}
    match step:
        case "still" | "late" | "back" | "gap" | "long gap":
            t = (
                twins.t
                + {"still": 0, "late": -1, "back": -(10**9), "gap": 10**7, "long gap": 10**8}[step]
            )
        case "not finite":
            v[2] = math.nan
        case "absurd":
            v[1] = 1e5
        case "jump":
            q = q + 0.2
        case "strong":
            effort[0] = 1e12
        case "no efforts":
            effort[3] = math.inf
        case "changed":
            parts = {"tail": b"the End."}
        case "near a limit":
            q[0] = model.upper[0] - 0.01
        case "trajectory":
            twins.both(
                lambda c: c.accept_trajectory(
                    trajectory(twins, 3), twins.t, Tolerances.uniform(N, path=0.1)
                )
            )
        case "later trajectory":
            twins.both(
                lambda c: c.accept_trajectory(trajectory(twins, 3, twins.t + 4 * PERIOD), twins.t)
            )
        case "point":
            point = TrajectoryPoint(3 * PERIOD, positions=q.tolist())
            twins.both(lambda c: c.accept_point(model.joint_names, point, twins.t))
        case "hold":
            twins.both(lambda c: c.hold(twins.t))
        case "gains":
            twins.both(lambda c: c.set_gains(kp=120.0))
        case "law":
            twins.both(lambda c: c.set_law(rd.PDGravity(kp=10.0, kd=1.0)))
        case "law in Python":
            twins.both(lambda c: c.set_law(rd.CartesianImpedance(link=model.link_names[-1])))
        case "wrench":
            twins.both(lambda c: c.set_external_wrench(model.link_names[-1], [0.1] * 6, twins.t))
        case "no wrench":
            twins.both(lambda c: c.set_external_wrench(model.link_names[-1], None, twins.t))
        case "guards":
            twins.both(lambda c: c.set_guards(GuardSettings(effort_scale=0.9)))
        case "payload":
            load = Payload(model.link_names[-1], 0.2)
            twins.both(lambda c: c.set_payload(load))
        case "watch":
            twins.both(lambda c: c.watch(twins.t + 30_000_000))
        case "own delay":
            t = twins.t + 25_000_000
            twins.both(lambda c: c.process_was_delayed(t, 25_000_000))
        case "wrenches on" | "wrenches off":
            for controller in twins.controllers:
                controller.want_wrenches = step == "wrenches on"
        case "deactivate":
            twins.both(lambda c: c.deactivate())
        case "activate":
            twins.both(lambda c: c.activate(twins.t, twins.q, twins.v))
    twins.state(t, q, v, effort, **parts)
    if not parts and np.isfinite(v).all():
        twins.t = max(t, twins.t) if step != "back" else t


@given(st.integers(0, SIZE - 1), st.integers(1, 255))
@settings(max_examples=60, deadline=None)
def test_a_changed_byte_is_noticed_where_it_matters(at, change):
    twins = Twins()
    raw = bytearray(message(twins.t + PERIOD, twins.q, twins.v))
    raw[at] ^= change
    own = twins.controllers[0]
    verdict = read(own, bytes(raw))
    if at in (0, 1) or at >= SIZE - len(TAIL):
        assert verdict == Verdict.LAYOUT
    if verdict == Verdict.DONE:
        values = np.frombuffer(bytes(raw), np.float64, 3 * N, 12)
        assert own.memory["arrived"].ravel().tolist() == values.tolist()
        own.runner.answer()
        assert np.isfinite(own.command).all()


def test_a_message_that_ends_too_early_is_not_read():
    own = Twins().controllers[0]
    raw = message(10**9 + PERIOD, mid(MODEL), np.zeros(N))
    for size in range(0, len(raw), 7):
        assert read(own, raw[:size]) == Verdict.LAYOUT
    assert read(own, raw) == Verdict.DONE


def test_commands_of_some_joints_go_where_the_answer_has_them():
    own = Twins().controllers[0]
    buffer = bytearray(4 * 6)
    own.runner.answer_into(AnswerLayout(buffer, 2, (4, 1), False))
    assert read(own, message(10**9 + PERIOD, mid(MODEL), np.zeros(N))) == Verdict.DONE
    assert own.runner.answer()
    command = own.command
    assert np.frombuffer(buffer, np.float64, 2, 8).tolist() == command[[4, 1]].tolist()


def friction():
    return Friction.of(MODEL, viscous=0.5, coulomb=1.0, breakaway=1.5, offset=[0.1] * N)


LAWS = {
    "computed_torque": lambda: rd.ComputedTorque(ki=10.0, i_clamp=0.02, friction=friction()),
    "pd_gravity": lambda: rd.PDGravity(
        kp=np.arange(1.0, 7.0), kd=1.0, ki=2.0, friction=friction(), friction_at="measured"
    ),
    "feedforward": lambda: FeedforwardPD(kp=10.0, kd=1.0, friction=friction()),
    "impedance": lambda: rd.JointImpedance(stiffness=20.0),
    "damped_impedance": lambda: rd.JointImpedance(stiffness=20.0, damping=2.0),
    "by_hand": lambda: rd.GravityCompensation(damping=1.0, friction=friction().scaled(0.7)),
}


@pytest.mark.parametrize("name", LAWS)
def test_every_law_gives_the_same_commands_and_wrenches_in_both_ways(name):
    twins = Twins(law=LAWS[name])
    rng = np.random.default_rng(0)
    if twins.controllers[0].law.tracks:
        twins.both(
            lambda c: c.accept_trajectory(
                rd.plan_move(MODEL, twins.q, twins.q + 0.05, duration=0.5), twins.t
            )
        )
    for _ in range(200):
        twins.t += PERIOD
        twins.state(
            twins.t, twins.q + 1e-3 * rng.normal(size=N), 1e-2 * rng.normal(size=N), np.zeros(N)
        )
    assert twins.controllers[0].current
    assert not twins.controllers[0].memory.python.own_law[0]


def test_what_is_cut_is_cut_alike():
    """Efforts at their limits and rates, joints near position and velocity limits, integrals that
    must not wind up.
    """
    twins = Twins(
        law=lambda: rd.ComputedTorque(ki=100.0),
        guards=lambda: GuardSettings(effort_scale=0.8, effort_rate=2e4),
        options=lambda: ControllerOptions(blend_time=0.0, max_state_jump=0.0),
    )
    rng = np.random.default_rng(5)
    for k in range(200):
        twins.t += PERIOD
        q = rng.uniform(MODEL.lower, MODEL.upper) if k % 2 else twins.q
        # faster each time by less than is a fault
        v = 1.1 * np.sin(0.3 * k + np.arange(N)) * MODEL.velocity_limit
        twins.state(twins.t, q, v, np.zeros(N))
    assert {"effort_limit", "effort_rate", "position_zone", "velocity_limit"} <= set(
        twins.controllers[0].counts
    )


def test_a_violated_tolerance_stops_the_arm_in_the_same_cycle():
    twins = Twins(tolerances=lambda: Tolerances.uniform(N, path=0.05))
    goals = []
    plan = rd.plan_move(MODEL, twins.q, twins.q + 0.5, duration=1.0)
    twins.both(lambda c: goals.append(c.accept_trajectory(plan, twins.t)))
    while not goals[0].status.done:
        twins.t += PERIOD
        # the arm stays where it is, the reference goes
        twins.state(twins.t, twins.q, twins.v, np.zeros(N))
    np.testing.assert_allclose(twins.controllers[0].error, 0.0, atol=1e-12)
    assert [goal.status.value for goal in goals] == ["aborted", "aborted"]
    assert goals[0].text == goals[1].text
    assert "path tolerance violated" in goals[0].text


TURNTABLE = """<robot name="turntable"><link name="base"/>
<link name="disc"><inertial><mass value="2"/><origin xyz="0.1 0 0"/>
<inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="turn" type="continuous"><parent link="base"/><child link="disc"/><axis xyz="0 0 1"/>
<limit effort="1000" velocity="20"/></joint></robot>"""


@pytest.mark.parametrize("backend", ["native", "numpy"])
def test_continuous_joints_take_the_short_way_round(backend):
    model = rd.load_urdf(TURNTABLE).with_backend(backend)
    controller = rd.JointController(model, options=ControllerOptions(max_state_jump=0.0))
    controller.activate(0, np.array([3.0]), np.zeros(1))
    for k, angle in enumerate(
        [3.1, -3.1, 3.0 - np.pi - 1e-9, 3.0 + np.pi + 1e-9, 3.0 + 14 * np.pi, -40.0, 1e6], 1
    ):
        controller.update(k * PERIOD, np.array([angle]), np.zeros(1))
        error = controller.error[0, 0]
        assert -np.pi <= error <= np.pi
        assert abs(math.remainder(controller.reference[0, 0] - angle - error, 2.0 * np.pi)) < 1e-9


def test_a_law_with_branches_is_called_in_python():
    class Ramp(rd.PDGravity):
        """Branches on numbers."""

        def effort(self, x):
            return super().effort(x) * (0.5 if x.e[0] > 0.0 else 1.0)

    class Saying(Ramp):
        straight_line = True

    # the second says what is not true: found out, and called as written
    for law in (Ramp, Saying):
        twins = Twins(law=lambda law=law: law(kp=10.0, kd=1.0))
        rng = np.random.default_rng(1)
        assert twins.controllers[0].memory.python.own_law[0]
        for _ in range(50):
            twins.t += PERIOD
            twins.state(
                twins.t, twins.q + 1e-3 * rng.normal(size=N), 1e-2 * rng.normal(size=N), np.zeros(N)
            )


@pytest.mark.parametrize("t", [0.002, 1.0, "1", None, 2**70])
def test_a_time_that_is_no_integer_of_nanoseconds_is_refused(t):
    controller = rd.JointController(MODEL)
    q = mid(MODEL)
    with pytest.raises(rd.ArgumentError, match="nanoseconds"):
        controller.activate(t, q, np.zeros(N))
    controller.activate(0, q, np.zeros(N))
    with pytest.raises(rd.ArgumentError, match="nanoseconds"):
        controller.update(t, q, np.zeros(N))
    controller.update(np.int64(PERIOD), q, np.zeros(N))
    assert controller.current
