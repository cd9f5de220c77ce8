"""A controller that is fed packed messages does what the same controller does when it is fed arrays, whatever happens."""

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
    GuardSettings,
    MomentumObserver,
    Payload,
    Tolerances,
    Trajectory,
    TrajectoryPoint,
    packed_cycle,
)
from robot_dynamics_ros.control.packed_cycle import STRONGEST, PackedAnswer, PackedCycle, PackedState
from robot_dynamics_ros.dynamics.engine.compiler import compiler_missing

pytestmark = pytest.mark.skipif(compiler_missing() is not None, reason="needs llvmlite")
PERIOD = 2_000_000
N = 6
MODEL = rd.load_robot("six_axis")
HEAD, TAIL = b"\x00\x01\x00\x00", b"the end."
PLACES = [[3 + 2 * (row * N + i) for i in range(N)] for row in range(3)]
SIZE = 12 + 24 * N + len(TAIL)
ANSWER = 1 + 2 + 1 + 2 * N


def message(t, q, v, effort=None, tail=TAIL, head=HEAD):
    """A header, the stamp, positions, velocities, efforts, and something that never changes."""
    effort = np.zeros(N) if effort is None else effort
    return head + struct.pack("=iI", *divmod(t, 10**9)) + np.concatenate([q, v, effort]).tobytes() + tail


def layout():
    fixed = bytearray(SIZE)
    fixed[:2] = b"\1\1"
    fixed[-len(TAIL) :] = b"\1" * len(TAIL)
    return PackedState(message(0, np.ones(N), np.ones(N)), bytes(fixed), PLACES)


class Twins:
    """Two controllers of one robot; the first is fed packed messages wherever it takes them."""

    def __init__(self, t=10**9, **given):
        model = MODEL
        self.controllers = [
            rd.JointController(
                model, rd.ComputedTorque(ki=5.0, i_clamp=0.1), **{k: make() for k, make in given.items()}
            )
            for _ in range(2)
        ]
        self.buffer = bytearray(4 * ANSWER)
        self.controllers[0].answer_packed(PackedAnswer(self.buffer, 4, range(N), True))
        self.layout = layout()
        self.t, self.q, self.v = t, mid(model), np.zeros(N)
        for controller in self.controllers:
            controller.activate(self.t, self.q, self.v)
        self.packed = 0

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
        """A joint state arrives."""
        own, other = self.controllers
        raw = message(t, q, v, effort, **parts)
        taken = own.update_packed(raw, self.layout)
        known = effort if (np.abs(effort) <= STRONGEST).all() else None
        if taken is not None:
            self.packed += 1
            np.testing.assert_array_equal(taken.arrived[:2], [q, v])
            assert taken.measured == (known is not None)
            assert np.frombuffer(self.buffer, np.float64, N, 16).tolist() == own.command.tolist()
            assert struct.unpack_from("=iI", self.buffer, 4) == divmod(t, 10**9)
        else:
            own.update(t, q, v, known)
        other.update(t, q, v, known)
        self.agree()

    def agree(self):
        own, other = self.controllers
        for name in ("command", "effort", "reference", "error", "wrenches", "wrench_acceleration", "state"):
            np.testing.assert_array_equal(getattr(own, name), getattr(other, name), err_msg=name)
        for name in ("mode", "fault", "counts", "jump", "current", "safe_reason", "compiled"):
            assert getattr(own, name) == getattr(other, name), name
        if own.observer is not None:
            np.testing.assert_array_equal(own.observer.effort, other.observer.effort)


def trajectory(twins, length, start=0):
    names = twins.controllers[0].model.joint_names
    points = [TrajectoryPoint((k + 1) * length * PERIOD, positions=(twins.q + 1e-3 * k).tolist()) for k in range(3)]
    return Trajectory.from_points(names, points, stamp=start)


STEPS = st.sampled_from(
    ["go on"] * 8
    + """still|late|back|gap|long gap|not finite|absurd|jump|no efforts|changed|trajectory|later trajectory|hold|gains|law|wrench|
    no wrench|guards|watch|excuse|wrenches on|wrenches off|deactivate|activate|payload|point|near a limit|strong""".replace(
        "\n    ", ""
    ).split("|")
)


@settings(max_examples=40, deadline=None)
@given(st.lists(STEPS, min_size=5, max_size=40), st.booleans(), st.integers(0, 2**31))
def test_packed_messages_change_nothing(steps, observed, seed):
    rng = np.random.default_rng(seed)
    model = MODEL
    given = {"observer": lambda: MomentumObserver(model, gain=20.0)} if observed else {}
    twins = Twins(options=lambda: ControllerOptions(blend_time=0.006, state_timeout=0.02, max_state_jump=0.05), **given)
    for step in ["go on", "go on", *steps, "go on"]:
        act(twins, step, rng)


def act(twins, step, rng):
    model = twins.controllers[0].model
    q, v, t = twins.q + 1e-5 * rng.normal(size=N), 1e-3 * rng.normal(size=N), twins.t + PERIOD
    effort, parts = np.zeros(N), {}
    match step:
        case "still" | "late" | "back" | "gap" | "long gap":
            t = twins.t + {"still": 0, "late": -1, "back": -(10**9), "gap": 10**7, "long gap": 10**8}[step]
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
            twins.both(lambda c: c.accept_trajectory(trajectory(twins, 3), twins.t, Tolerances.uniform(N, path=0.1)))
        case "later trajectory":
            twins.both(lambda c: c.accept_trajectory(trajectory(twins, 3, twins.t + 4 * PERIOD), twins.t))
        case "point":
            point = TrajectoryPoint(3 * PERIOD, positions=q.tolist())
            twins.both(lambda c: c.accept_point(model.joint_names, point, twins.t))
        case "hold":
            twins.both(lambda c: c.hold(twins.t))
        case "gains":
            twins.both(lambda c: c.set_gains(kp=120.0))
        case "law":
            twins.both(lambda c: c.set_law(rd.PDGravity(kp=10.0, kd=1.0)))
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
        case "excuse":
            t = twins.t + 25_000_000
            twins.both(lambda c: c.excuse(t, 25_000_000))
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


def test_ordinary_states_are_answered_without_the_statements():
    twins = Twins()
    rng = np.random.default_rng(1)
    for _ in range(200):
        act(twins, "go on", rng)
    assert twins.packed > 190
    twins.both(lambda c: c.accept_trajectory(trajectory(twins, 20), twins.t))
    before = twins.packed
    for _ in range(80):
        act(twins, "go on", rng)
    assert twins.packed > before + 50


@given(st.integers(0, SIZE - 1), st.integers(1, 255))
@settings(max_examples=60, deadline=None)
def test_a_changed_byte_is_noticed_where_it_matters(at, change):
    twins = Twins()
    rng = np.random.default_rng(0)
    act(twins, "go on", rng)
    act(twins, "go on", rng)
    raw = bytearray(message(twins.t + PERIOD, twins.q, twins.v))
    raw[at] ^= change
    taken = twins.controllers[0].update_packed(bytes(raw), twins.layout)
    if at in (0, 1) or at >= SIZE - len(TAIL):
        assert taken is None
    if taken is not None:
        values = np.frombuffer(bytes(raw), np.float64, 3 * N, 12)
        assert taken.arrived.ravel().tolist() == values.tolist()
        assert np.isfinite(twins.controllers[0].command).all()


def test_a_message_that_ends_too_early_is_left_alone():
    twins = Twins()
    rng = np.random.default_rng(0)
    act(twins, "go on", rng)
    act(twins, "go on", rng)
    raw = message(twins.t + PERIOD, twins.q, twins.v)
    for size in range(0, len(raw), 7):
        assert twins.controllers[0].update_packed(raw[:size], twins.layout) is None
    assert twins.controllers[0].update_packed(raw, twins.layout) is not None


def test_the_statements_and_the_code_agree(monkeypatch):
    twins = Twins()
    rng = np.random.default_rng(2)
    act(twins, "go on", rng)
    act(twins, "go on", rng)
    memory, compiled = twins.controllers[0]._work.memory, twins.controllers[0]._compiled

    def ordinary(p, x):  # the law itself is compiled only
        compiled._numbers[:] = x
        compiled._enter(compiled._numbers, memory.block)
        return p.status[0]

    monkeypatch.setattr(packed_cycle, "ordinary_cycle", ordinary)
    buffer = bytearray(4 * ANSWER)
    written = PackedCycle(memory, PackedAnswer(buffer, 4, range(N), True), compiled=False)
    for _ in range(20):
        raw = message(twins.t + PERIOD, twins.q + 1e-4 * rng.normal(size=N), 1e-2 * rng.normal(size=N))
        kept = memory.block.copy()
        assert written.run(raw, twins.layout)
        interpreted = memory.block.copy(), bytes(buffer)
        memory.block[:] = kept
        assert twins.controllers[0].update_packed(raw, twins.layout) is not None
        np.testing.assert_allclose(memory.block, interpreted[0], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(
            np.frombuffer(twins.buffer, np.float64, N, 16), np.frombuffer(interpreted[1], np.float64, N, 16), rtol=1e-12
        )
        twins.t += PERIOD
