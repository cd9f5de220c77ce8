"""Listening: joint states made from closed forms, with one mistake each."""

from __future__ import annotations

import numpy as np
import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.commissioning.arm import ArmState
from robot_dynamics_ros.commissioning.listen import listen_to
from robot_dynamics_ros.errors import ArgumentError

ROBOTS = ("six_axis", "seven_axis")


class Messages:
    """Sines of each joint around the middle of its range, as a driver publishes them at 500 Hz,
    with small noise.
    """

    def __init__(self, name: str, rate: float = 500.0, seed: int = 0) -> None:
        self.model = model = rd.load_robot(name)
        rng = np.random.default_rng(seed)
        self.names = model.joint_names
        n = model.nv
        t = np.arange(0.0, 4.0, 1.0 / rate)
        speed = rng.uniform(1.0, 3.0, n)
        middle = 0.5 * (model.lower + model.upper)
        self.stamps, self.arrival = t + 100.0, t + 100.0 + rng.uniform(1e-4, 4e-4, len(t))
        self.position = (
            middle + 0.3 * np.sin(np.outer(t, speed)) + 1e-5 * rng.normal(size=(len(t), n))
        )
        self.corner = (
            # Hz; the answer of a first-order filter to a cosine, without its transient
            60.0
        )
        self.speed, self.noise = speed, 1e-3 * rng.normal(size=(len(t), n))
        self.effort = 5.0 * np.cos(self.position) + 0.05 * rng.normal(size=(len(t), n))
        self.still = False
        self.publishers = ("driver",)

    @property
    def velocity(self) -> np.ndarray:
        late = np.arctan(self.speed / (2 * np.pi * self.corner))
        t = self.stamps - self.stamps[0]
        return 0.3 * self.speed * np.cos(late) * np.cos(np.outer(t, self.speed) - late) + self.noise

    def listen(self, **changes) -> rd.commissioning.StepReport:
        values = {
            "velocity": self.velocity,
            "position": self.position,
            "effort": self.effort,
        } | changes
        return rd.commissioning.listen(
            self.model,
            self.arrival,
            self.stamps,
            self.names,
            **values,
            declared_rate=500.0,
            still=self.still,
            publishers=self.publishers,
        )


@pytest.fixture(params=ROBOTS)
def messages(request):
    return Messages(request.param)


def kinds(report) -> list[str]:
    return [finding.kind for finding in report.findings]


def test_healthy_messages_are_not_accused(messages):
    report = messages.listen()
    assert report.healthy, report.findings
    assert report.numbers["rate"] == pytest.approx(500.0, rel=1e-3)
    assert report.numbers["age"] == pytest.approx(2.5e-4, rel=0.1)
    assert np.allclose(report.numbers["position_noise"], 1e-5, rtol=0.15)
    assert np.allclose(report.numbers["velocity_delay"], 1 / (2 * np.pi * 60.0), rtol=0.1)


def test_slow_messages(messages):
    report = Messages(messages.model.name, rate=100.0).listen()
    assert kinds(report) == ["rate"] and report.findings[0].number == pytest.approx(100.0, rel=0.01)


@pytest.mark.parametrize("offset", [0.5, -0.5, 1.7e9])
def test_stamps_of_another_clock_are_named_with_the_offset(messages, offset):
    messages.stamps = messages.stamps + offset
    report = messages.listen()
    assert kinds(report) == ["clock"] and report.findings[0].number == pytest.approx(
        -offset, rel=1e-2
    )


def test_a_clock_that_drifts(messages):
    messages.stamps = messages.stamps + 0.002 * (messages.stamps - messages.stamps[0])
    assert kinds(messages.listen()) == ["clock"]


def test_messages_that_come_in_bursts(messages):
    n = len(messages.arrival)
    messages.arrival = messages.arrival[np.minimum(n - 1, 25 * (np.arange(n) // 25 + 1))]
    assert "jitter" in kinds(messages.listen())


@pytest.mark.parametrize("corner", [5.0, 8.0])
def test_filtered_velocities(messages, corner):
    messages.corner = corner
    (finding,) = messages.listen().findings
    assert finding.kind == "velocity_filter" and len(finding.joints) == messages.model.nv
    assert finding.number == pytest.approx(corner, rel=0.1)


def test_one_velocity_with_the_opposite_sign(messages):
    sign = np.ones(messages.model.nv)
    sign[2] = -1.0
    (finding,) = messages.listen(velocity=sign * messages.velocity).findings
    assert finding.kind == "velocity_sign" and finding.joints == (messages.names[2],)


def test_positions_and_velocities_in_degrees_are_named(messages):
    assert kinds(messages.listen(velocity=np.degrees(messages.velocity))) == ["velocity_unit"]
    named = kinds(
        messages.listen(
            position=np.degrees(messages.position) + 400.0, velocity=np.degrees(messages.velocity)
        )
    )
    assert named == ["position_unit"]


def test_a_frozen_position_and_a_frozen_effort(messages):
    q = messages.position.copy()
    v = messages.velocity
    tau = messages.effort.copy()
    q[:, 1] = q[0, 1]
    v[:, 1] = 0.0
    (finding,) = messages.listen(position=q, velocity=v).findings
    assert finding.kind == "frozen_joint" and finding.joints == (messages.names[1],)
    tau[:, 1] = tau[0, 1]
    (finding,) = messages.listen(effort=tau).findings
    assert finding.kind == "frozen_effort" and finding.joints == (messages.names[1],)


def test_missing_fields_and_joints(messages):
    assert kinds(messages.listen(effort=None)) == ["missing_field"]
    assert kinds(messages.listen(effort=False)) == []
    assert kinds(messages.listen(velocity=0.0 * messages.velocity)) == ["missing_field"]
    messages.names = ("other", *messages.names[1:])
    (finding,) = messages.listen().of_kind("names")
    assert finding.joints == messages.model.joint_names[:1]


def test_efforts_that_mean_nothing_are_not_judged(messages):
    """Brakes carry the arm: its efforts are zero all the time."""
    states = [
        ArmState(float(t), q, v, np.zeros(len(q)), float(came))
        for t, q, v, came in zip(
            messages.stamps, messages.position, messages.velocity, messages.arrival, strict=True
        )
    ]
    assert kinds(listen_to(messages.model, states)) == ["missing_field"]
    assert kinds(listen_to(messages.model, states, measures_effort=False)) == []


def test_the_order_of_messages_does_not_matter(messages):
    order = np.random.default_rng(1).permutation(messages.model.nv)
    as_it_is = messages.listen().numbers["velocity_delay"]
    messages.names = tuple(messages.names[j] for j in order)
    report = messages.listen(
        position=messages.position[:, order],
        velocity=messages.velocity[:, order],
        effort=messages.effort[:, order],
    )
    assert report.healthy and report.notes
    assert np.allclose(report.numbers["velocity_delay"], as_it_is)


def test_a_joint_that_sinks_while_the_arm_is_held(messages):
    messages.still = True
    still = np.broadcast_to(messages.position[0], messages.position.shape)
    assert messages.listen(position=still, velocity=0.0 * still).healthy
    sinking = still + np.eye(messages.model.nv)[1] * np.linspace(0.0, 0.4, len(still))[:, None]
    (finding,) = messages.listen(position=sinking, velocity=0.1 + 0.0 * still).findings
    assert finding.kind == "brake" and finding.joints == (messages.names[1],)


def test_two_publishers(messages):
    messages.publishers = ("driver", "joint_state_publisher_gui")
    assert kinds(messages.listen()) == ["other_publisher"]


def test_wrong_arrays_are_refused(messages):
    with pytest.raises(ArgumentError, match="position"):
        messages.listen(position=messages.position[:, :2])
    messages.arrival = messages.arrival[::-1]
    with pytest.raises(ArgumentError, match="decrease"):
        messages.listen()


def test_a_constant_effort_at_rest_is_no_fault(messages):
    """Each joint is moved in its turn; where it rests, its brake holds, its effort reads zero and
    its encoder flickers.
    """
    rng = np.random.default_rng(1)
    n = len(messages.stamps)
    q = np.tile(messages.position[0], (n, 1))
    tau = np.zeros_like(messages.effort)
    turn = n // len(messages.names)
    for j in range(len(messages.names)):
        rows = slice(j * turn, (j + 1) * turn)
        phase = np.linspace(0.0, 2.0 * np.pi, turn)
        q[rows, j] += 0.3 * np.sin(phase)
        tau[rows, j] = 5.0 + np.cos(phase) + 0.05 * rng.normal(size=turn)
    q += 2e-5 * rng.integers(0, 2, size=q.shape)
    velocity = np.gradient(q, messages.stamps, axis=0)
    report = messages.listen(position=q, velocity=velocity, effort=tau)
    assert not report.of_kind("frozen_effort"), report
    # and one that is stuck in the whole of its motion is still named
    tau[: turn // 8, 0] = 5.0
    tau[turn // 8 : turn, 0] = 6.0
    named = messages.listen(position=q, velocity=velocity, effort=tau).of_kind("frozen_effort")
    assert [finding.joints for finding in named] == [messages.names[:1]]
