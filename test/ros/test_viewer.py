"""The viewer node beside real nodes."""

from __future__ import annotations

import contextlib
import re
import time

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")
pytest.importorskip("viser")

from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState
from support.page import PATIENCE, Page, drag, pixels, wait_for
from visualization_msgs.msg import MarkerArray

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.ros.viewer import LiveState, wrench_markers
from robot_dynamics_ros.view.arrows import joint_arrows, sensible_scale
from robot_dynamics_ros.view.headless import Browser, find_browser


def address_of(viewer) -> str:
    for words in ("showing", "in a browser"):
        assert viewer.wait_for_output(words, 60.0), viewer.output()
    return re.search(r"open (http\S+) in a browser", viewer.output())[1]


# -- without the middleware ------------------------------------------------------------------------


def state(names, position, velocity=(), effort=(), t=1.0) -> JointState:
    message = JointState(
        name=list(names), position=list(position), velocity=list(velocity), effort=list(effort)
    )
    message.header.stamp.sec = int(t)
    message.header.stamp.nanosec = round((t - int(t)) * 1e9)
    return message


def test_a_viewer_does_with_what_it_gets():
    arm = rd.load_robot("two_link")
    live = LiveState(arm)
    live.take(
        state(["elbow", "gripper", "shoulder"], [0.2, 9.0, 0.1], [2.0, 9.0, 1.0], [4.0, 9.0, 3.0]),
        0.0,
    )
    np.testing.assert_array_equal(live.q, [0.1, 0.2])
    np.testing.assert_array_equal(live.v, [1.0, 2.0])
    np.testing.assert_array_equal(live.efforts, [3.0, 4.0])
    # no velocities, one joint: the other stays
    live.take(state(["elbow"], [0.3], t=1.1), 0.0)
    np.testing.assert_allclose(live.q, [0.1, 0.3])
    np.testing.assert_allclose(live.v, [1.0, 1.0])
    assert live.efforts is None


def test_a_state_is_passed_on_in_the_order_of_the_model():
    live = LiveState(rd.load_robot("two_link"))
    came = state(
        ["elbow", "gripper", "shoulder"], [0.2, 9.0, 0.1], [2.0, 9.0, 1.0], [4.0, 9.0, 3.0], t=2.5
    )
    live.take(came, 0.0)
    message = live.message(came.header)
    assert list(message.name) == list(rd.load_robot("two_link").joint_names)
    rows = message.position, message.velocity, message.effort
    np.testing.assert_array_equal(rows, [[0.1, 0.2], [1.0, 2.0], [3.0, 4.0]])
    assert message.header.stamp == came.header.stamp


def test_velocities_and_efforts_that_are_no_measurements_are_not_known():
    live = LiveState(rd.load_robot("two_link"))
    live.take(state(["shoulder", "elbow"], [0.1, 0.2], [1e200, 1.0], [1.0, 1e200]), 0.0)
    assert live.v.tolist() == [0.0, 1.0] and live.efforts is None


def test_velocities_give_the_acceleration():
    live = LiveState(rd.load_robot("two_link"))
    for k in range(30):
        t = 1.0 + 0.01 * k
        live.take(state(["shoulder", "elbow"], [t, 0.0], [3.0 * t, -2.0 * t], t=t), 0.0)
    np.testing.assert_allclose(live.acceleration(), [3.0, -2.0], rtol=1e-6)


@pytest.mark.parametrize(
    "message",
    [
        state(["other"], [1.0]),
        state(["shoulder"], [float("nan")]),
        state(["shoulder"], [1e300]),
        state(["shoulder", "elbow"], [1.0]),
        state(["shoulder"], [1.0], [1.0, 2.0]),
    ],
    ids=["unrelated", "nan", "absurd", "short", "long"],
)
def test_what_cannot_be_shown_leaves_the_last_state(message):
    live = LiveState(rd.load_robot("two_link"))
    live.take(state(["shoulder", "elbow"], [0.1, 0.2]), 0.0)
    with pytest.raises(ArgumentError):
        live.take(message, 0.0)
    np.testing.assert_array_equal(live.q, [0.1, 0.2])


def test_markers_are_arrows_where_the_wrenches_act():
    arm = rd.load_robot("six_axis")
    arrows = joint_arrows(arm, [0.3, -1.0, 0.7, 0.2, 0.5, 0.1], np.zeros(6), np.zeros(6))
    message = wrench_markers(arm, arrows, "base_link", 1_500_000_000)
    forces = [m for m in message.markers if m.ns == "forces"]
    assert len(message.markers) == 12
    for k, marker in enumerate(forces):
        start, end = (np.array([p.x, p.y, p.z]) for p in marker.points)
        np.testing.assert_allclose(start, arrows.points[k], atol=1e-9)
        np.testing.assert_allclose(
            (end - start) / sensible_scale(arm).force, arrows.forces[k], atol=1e-6
        )
        assert marker.header.frame_id == "base_link"
        assert (marker.header.stamp.sec, marker.header.stamp.nanosec) == (1, 500_000_000)


# -- with it ---------------------------------------------------------------------------------------


@pytest.mark.middleware
def test_it_shows_what_is_on_the_network_and_a_bad_page_does_not_stop_it(start, peer):
    start(
        "simulator", robot_description_file="two_link", update_rate=200.0, gravity=[0.0, 0.0, 0.0]
    )
    viewer = start("viewer", port=0, robot_description_file="two_link")
    address = address_of(viewer)
    markers = peer.listen(MarkerArray, "robot_viewer/wrench_markers")
    peer.wait(lambda: markers, "markers")
    assert {marker.ns for marker in markers[0].markers} == {"forces", "moments"}
    with Page(address) as page:
        page.raw("no message of the page")
        assert wait_for(lambda: not page.open)
    assert viewer.wait_for_output("browser_not_a_message", 30.0)
    markers.clear()
    peer.wait(lambda: markers, "markers after the bad page")
    # it lets others go first
    assert viewer.stop(timeout=60.0) == 0


@pytest.mark.middleware
def test_meshes_are_looked_for_beside_the_file_with_the_looks(start, tmp_path):
    """A description without geometry, as the demonstration writes one for a payload: the looks are
    the original's.
    """
    folder = tmp_path / "original"
    folder.mkdir()
    trimesh = pytest.importorskip("trimesh")
    trimesh.creation.box().export(folder / "there.stl")
    arm = rd.load_robot("two_link")
    (tmp_path / "robot.urdf").write_text(rd.to_urdf(arm))
    visual = "<visual><geometry><mesh filename='{}.stl'/></geometry></visual>"
    text = rd.to_urdf(arm).replace(
        "</link>", visual.format("there") + visual.format("gone") + "</link>", 1
    )
    (folder / "arm.urdf").write_text(text)
    viewer = start(
        "viewer",
        port=0,
        robot_description_file=str(tmp_path / "robot.urdf"),
        looks_file=str(folder / "arm.urdf"),
    )
    address_of(viewer)
    assert "1 meshes were not found and are left out: gone.stl" in viewer.output()


@pytest.mark.middleware
def test_it_needs_nothing_but_states_and_a_description_of_anybodys_robots_side_by_side(start, peer):
    """Two robots in namespaces, described by topic, that tell positions only."""
    from std_msgs.msg import String

    from robot_dynamics_ros.ros.transport.qos import LATCHED

    viewer = start("viewer", port=0, robots=["left", "right"], controls=False)
    text = rd.robot_path("two_link").read_text()
    kept = [
        peer.node.create_publisher(String, f"/{name}/robot_description", LATCHED)
        for name in ("left", "right")
    ]
    for publisher in kept:
        publisher.publish(String(data=text))
    states = [
        peer.node.create_publisher(JointState, f"/{name}/joint_states", 1)
        for name in ("left", "right")
    ]
    markers = peer.listen(MarkerArray, "robot_viewer/wrench_markers/right")
    ordered = peer.listen(JointState, "robot_viewer/joint_states/right")

    def told() -> bool:
        for k, publisher in enumerate(states):
            publisher.publish(
                state(
                    ["elbow", "shoulder"],
                    [0.2, 0.1 + k],
                    t=peer.node.get_clock().now().nanoseconds * 1e-9,
                )
            )
        return bool(markers and ordered)

    peer.wait(told, "markers and joint states of the right robot")
    assert (list(ordered[0].name), list(ordered[0].position)) == (["shoulder", "elbow"], [1.1, 0.2])
    peer.wait(lambda: viewer.output().count("showing 'two_link'") == 2, "both robots in the log")


@pytest.mark.middleware
def test_contacts_and_estimates_are_heard_while_somebody_looks_and_a_collision_is_in_the_status(
    peer,
):
    from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus

    from robot_dynamics_ros.ros.transport.reports import Rejections
    from robot_dynamics_ros.ros.viewer import LiveRobot

    model = rd.load_robot("two_link")
    values = {"controller": "law", "simulator": "plant", "wrenches": "computed"}
    link = model.link_names[-1]
    robot = LiveRobot(peer.node, model, "", values, Rejections(peer.node.get_logger()))
    topics = {
        "plant/external_wrench": 3.0,
        f"plant/contact_wrenches/{link}": 5.0,
        "law/external_wrench_estimate": 7.0,
    }
    pushes = [(peer.publisher(WrenchStamped, topic), force) for topic, force in topics.items()]
    states = peer.publisher(JointState, "joint_states")
    reports = peer.publisher(DiagnosticArray, "/diagnostics")
    collision = DiagnosticStatus(
        level=DiagnosticStatus.WARN, name="law: status", message="collision: holding"
    )

    def shown(known: float, estimated: float | None) -> bool:
        """Publish everything; whether these forces are what a page shows."""
        for publisher, force in pushes:
            message = WrenchStamped()
            message.header.frame_id = link
            message.wrench.force.z = force
            publisher.publish(message)
        states.publish(
            state(model.joint_names, [0.1, 0.2], t=peer.node.get_clock().now().nanoseconds * 1e-9)
        )
        reports.publish(DiagnosticArray(status=[collision]))
        robot.tick()
        now = robot.state()
        if now is None:
            return False
        found = [wrenches.get(link) for wrenches in (now.external, now.estimated)]
        return [None if wrench is None else float(wrench[5]) for wrench in found] == [
            known,
            estimated,
        ]

    peer.wait(lambda: shown(3.0, None), "the known wrench alone")
    for what in ("contacts", "estimated"):
        robot.want(what, True)
    peer.wait(lambda: shown(8.0, 7.0), "the known wrench with the contact, and the estimate")
    peer.wait(
        lambda: shown(8.0, 7.0) and "controller: collision: holding ⚠" in robot.status(),
        "the collision",
    )
    for what in ("contacts", "estimated"):
        robot.want(what, False)
    peer.wait(lambda: shown(3.0, None), "the known wrench alone, once nobody looks")
    robot.close()


@pytest.mark.middleware
def test_what_a_person_asks_for_reaches_controller_and_simulator(start, peer):
    """Hold, go there, a gain within the controller's limits and one beyond, a payload, pause, step,
    reset.
    """
    from robot_dynamics_ros.ros.transport.reports import Rejections
    from robot_dynamics_ros.ros.viewer import LiveControls, LiveRobot

    start("simulator", robot_description_file="two_link", update_rate=200.0)
    start("controller", robot_description_file="two_link")
    model = rd.load_robot("two_link")
    values = {
        "controller": "computed_torque_controller",
        "simulator": "robot_simulator",
        "wrenches": "computed",
    }
    robot = LiveRobot(peer.node, model, "", values, Rejections(peer.node.get_logger()))
    controls = LiveControls(peer.node, robot, values)
    # not there yet
    assert "nobody" in controls.hold()

    def until(condition, what: str, timeout: float = 60.0) -> None:
        def look() -> bool:
            controls.tick()
            return bool(condition())

        peer.wait(look, what, timeout)

    until(lambda: robot.state() is not None, "a state")
    until(lambda: controls.adjustables(), "bandwidth and payload")
    found = {item.name: item for item in controls.adjustables()}
    gain = found["robustness.bandwidth"]
    assert gain.lower <= 1.0
    assert gain.value < gain.upper <= 4.0 * gain.value
    # this law does not use them
    assert not any(name.startswith("gains.") for name in found)
    units = {
        name: found[name].unit for name in (gain.name, "robustness.rejected_effort", "payload.mass")
    }
    assert units == {gain.name: "rad/s", "robustness.rejected_effort": "", "payload.mass": "kg"}

    def ask(work, answer: str) -> None:
        """Ask until it is answered so: the other side may not be ready yet, and an answer may be
        lost.
        """
        heard: set[str] = set()

        def answered() -> bool:
            heard.add(robot.answer)
            return answer in robot.answer

        for _ in range(10):
            work()
            deadline = time.monotonic() + 3.0
            while time.monotonic() < deadline:
                controls.tick()
                peer.executor.spin_once(timeout_sec=0.02)
                if answered():
                    return
        raise AssertionError(f"expected {answer!r}, heard {heard}")

    ask(controls.hold, "hold: holding")
    # nobody looks: the controller need not publish it
    assert robot.state().reference is None
    robot.want("reference", True)
    robot.tick()
    until(lambda: robot.state().reference is not None, "the reference")
    ask(lambda: controls.adjust(gain.name, 0.5 * gain.value), f"{gain.name} = {0.5 * gain.value:g}")
    assert "outside its limits" in controls.adjust(gain.name, 1e9)
    start_at = robot.state().q.copy()
    controls.move_along([(start_at + 0.3, 0.5)])
    until(lambda: np.abs(robot.state().q - start_at - 0.3).max() < 0.05, "the set-point")
    passes_through_points(controls, robot, until)
    ask(lambda: controls.adjust("payload.mass", 0.5), "payload.mass = 0.5")
    ask(lambda: controls.pause(True), "pause: paused")
    ask(controls.step, "step: t =")
    ask(lambda: controls.pause(False), "pause: running")
    ask(controls.reset, "reset: the robot is back")


def passes_through_points(controls, robot, until) -> None:
    """One motion to and fro: the arm rests for a moment at every point where it turns round.

    A stall of the machine can hide such a moment from this process, not several times.
    """
    points = robot.state().q + np.array([[0.4, -0.3], [-0.1, 0.2], [0.3, -0.2]])
    left: list[np.ndarray] = []

    def look() -> bool:
        if np.abs(robot.state().q - left[0]).max() < 0.05:
            left.pop(0)
        return not left

    for _ in range(5):
        left[:] = points
        answer = controls.move_along([(q, 1.0) for q in points])
        assert answer == "on the way, 3 s"
        with contextlib.suppress(AssertionError):
            until(look, "every point in turn", 15.0)
            return
    raise AssertionError(f"not seen near {left}")


@pytest.mark.middleware
@pytest.mark.browser
# every wait has a deadline of its own
@pytest.mark.timeout(1800)
@pytest.mark.skipif(find_browser() is None, reason="no Chromium, Chrome or Edge is installed")
def test_pulling_a_link_in_the_page_moves_the_simulated_arm(start, peer):
    start(
        "simulator", robot_description_file="two_link", update_rate=200.0, gravity=[0.0, 0.0, 0.0]
    )
    viewer = start("viewer", port=0, robot_description_file="two_link")
    address = address_of(viewer)
    states = peer.listen(JointState, "joint_states")
    pushes = peer.listen(WrenchStamped, "robot_simulator/external_wrench", 1000)
    peer.wait(lambda: states, "joint states")
    still = np.array(states[-1].position)

    def strength(push: WrenchStamped) -> float:
        return max(abs(push.wrench.force.x), abs(push.wrench.force.y), abs(push.wrench.force.z))

    def pulled() -> bool:
        peer.drain()
        moved = np.abs(np.array(states[-1].position) - still).max() > 0.02
        return bool(moved) and any(strength(push) > 1.0 for push in pushes)

    with Browser(720, 380, pause=0.1) as browser:
        browser.go(address)
        assert browser.wait("document.querySelector('canvas') !== null", PATIENCE)
        # the viewer comes last where other processes take the machine
        for _ in range(12):
            u, v = robot_pixel(browser)
            drag(browser, (u, v), (u + 60.0, v - 50.0), pulled, 15.0)
            if pulled():
                break
        assert pulled()
        peer.wait(lambda: strength(pushes[-1]) == 0.0, "the link to be let go with the mouse")


def robot_pixel(browser: Browser) -> tuple[float, float]:
    """A pixel of the arm: the middle of what is neither ground nor background."""
    found: list = []

    def look() -> bool:
        picture, place = pixels(browser)
        # orange or blue
        strong = np.abs(picture[..., 0] - picture[..., 2]) > 60
        found[:] = np.argwhere(strong) + place[::-1]
        return len(found) > 60

    assert browser.wait(look, PATIENCE), "the arm is not on the picture"
    columns = np.array([column for _, column in found])
    row, column = found[int(np.argsort(columns)[int(0.8 * len(columns))])]
    return float(column), float(row)
