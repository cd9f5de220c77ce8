"""From the first push to the tour over the middleware: the node in a process of its own, the arm of
one joint in this one.

Simulated time goes on as commands come: a loaded machine makes the test slow, and nothing else.
"""

import json
import time

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

import robot_dynamics_ros as rd
from robot_dynamics_ros.commissioning import stand_in
from robot_dynamics_ros.commissioning.release import with_rotors

pytestmark = [pytest.mark.middleware, pytest.mark.usefixtures("warm")]

STEPS = ("weigh", "float", "twitch", "tune", "move")
# s without a command after which none comes, if the state before was answered, and if not
PATIENCE = {
    True: 0.3,
    False: 0.01,
}


class Served:
    """A simulated arm behind the middleware."""

    def __init__(self, peer, model):
        self.peer, self.arm, self.names = (
            peer,
            rd.commissioning.StandIn(with_rotors(model)),
            list(model.joint_names),
        )
        self.commands = peer.listen(Float64MultiArray, "effort_controller/commands")
        self.states = peer.publisher(JointState, "joint_states")
        self.answered = False

    def period(self):
        """One joint state, and the command that answers it, if one does; the state."""
        state = self.arm.read()
        message = JointState(name=self.names, position=state.q.tolist(), velocity=state.v.tolist())
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(round(state.t * 1e9), 10**9)
        self.states.publish(message)
        late = time.monotonic() + PATIENCE[self.answered]
        while not self.commands and time.monotonic() < late:
            self.peer.executor.spin_once(timeout_sec=0.01)
        self.answered = bool(self.commands)
        if self.answered:
            self.arm.send(np.array(self.commands[-1].data))
            self.commands.clear()
        return state

    def step(self, name):
        """Let the node do a step."""
        client = self.peer.node.create_client(Trigger, f"commissioning/{name}")
        deadline = time.monotonic() + 180.0
        self.peer.wait(client.service_is_ready, name)
        future = client.call_async(Trigger.Request())
        while not future.done():
            assert time.monotonic() < deadline, f"{name} does not end"
            self.period()
        return future.result()


def test_an_arm_without_measured_efforts_is_tuned_and_makes_a_tour(
    peer, start, tmp_path, monkeypatch
):
    monkeypatch.setattr(stand_in, "STAND_IN_RATE_HZ", 100.0)
    model = rd.load_robot("two_link").lock(["elbow"], {"elbow": 0.02})
    (tmp_path / "arm.urdf").write_text(rd.to_urdf(model))
    calm = rd.commissioning.calm_pose(model, [1.5])
    served = Served(peer, model)
    served.arm.plant.reset(calm)
    start(
        "commissioning",
        robot_description_file=tmp_path / "arm.urdf",
        output=tmp_path / "out",
        measured_effort="none",
        state_timeout=10.0,
    )
    for name in STEPS:
        answer = served.step(name)
        assert answer.success, (name, answer.message)
    written = json.loads((tmp_path / "out" / "commissioning.json").read_text())
    numbers = {step["step"]: step["numbers"] for step in written["steps"]}
    assert list(numbers) == list(STEPS)
    assert (
        numbers["tune"]["margin"] > 0.0 and written["parameters"]["robustness"]["bandwidth"] > 6.0
    )
    assert max(numbers["move"]["largest error, full speed"]) < 0.05
    assert max(abs(served.period().v[0]) for _ in range(20)) < 1e-2
