"""What a browser sends is looked at before it reaches anything."""

from __future__ import annotations

import contextlib
import math
import socket
import threading
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from support.page import Page, robot_on, wait_for

import robot_dynamics_ros as rd

pytest.importorskip("viser")

from robot_dynamics_ros.errors import ArgumentError


@pytest.fixture(scope="module")
def the_view():
    heard = []
    with rd.view(
        rd.load_robot("two_link"), port=0, report=lambda cause, text: heard.append((cause, text))
    ) as viewer:
        viewer.heard = heard
        yield viewer


@pytest.fixture
def view(the_view):
    """A server with the robot at zero, which has heard nothing yet."""
    assert wait_for(lambda: not the_view.window.server.get_clients() and not the_view.pages)
    the_view.show([0.0, 0.0])
    the_view.heard.clear()
    return the_view


def position(viewer) -> np.ndarray:
    return viewer.robots[0].source.state().q


def test_a_slider_moves_the_robot_and_only_this_machine_can_reach_it(view):
    with Page(view.address) as page, Page(view.address) as other:
        own, slider = (robot_on(view, k).sliders._handles[1 - k] for k in (1, 0))
        # a control of another page: nobody can reach that
        other.set(slider, 60.0)
        other.set(own, 20.0)
        assert wait_for(lambda: math.isclose(position(view)[0], math.radians(20.0), rel_tol=1e-9))
        assert position(view)[1] == 0.0
        page.set(slider, 30.0)
        assert wait_for(lambda: math.isclose(position(view)[1], math.radians(30.0), rel_tol=1e-9))
        assert page.open
    assert view.window.loopback
    assert view.address.startswith("http://127.0.0.1:")
    assert not view.heard


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (math.nan, "value"),
        (math.inf, "value"),
        (1e6, "value"),
        ("far", "value"),
        (True, "value"),
        (None, "value"),
        ([1.0], "value"),
        (90.0, "max"),
        ("x" * 10_000_000, "value"),
    ],
    ids=["nan", "infinite", "beyond", "text", "bool", "none", "list", "property", "10 MB"],
)
def test_a_bad_value_changes_nothing_and_is_reported(view, value, name):
    with Page(view.address) as page:
        slider = robot_on(view).sliders._handles[0]
        before = slider.value
        most = slider.max
        page.set(slider, value, name)
        assert wait_for(lambda: view.heard)
        assert page.open
    assert view.heard[0][0] == "bad_value"
    assert len(view.heard[0][1]) < 300
    assert (slider.value, slider.max) == (before, most)
    assert not position(view).any()


def test_messages_that_no_page_sends_are_refused(view):
    with Page(view.address) as page:
        # would open a tunnel to somebody else's server
        page.send("ShareUrlRequest")
        page.send(
            "ViewerCameraMessage",
            wxyz=(math.nan,) * 4,
            position=(0.0,) * 3,
            fov=1.0,
            near=0.1,
            far=1.0,
            image_height=1,
            image_width=1,
            look_at=(0.0,) * 3,
            up_direction=(0.0,) * 3,
        )
        assert wait_for(lambda: len(view.heard) >= 2)
    assert [cause for cause, _ in view.heard] == ["message_kind", "bad_value"]
    assert view.window.server._share_tunnel is None


@pytest.mark.parametrize(
    "data", ["text", b"\xc1 no message", b"x" * 10_000_000], ids=["text", "bytes", "10 MB"]
)
def test_what_is_no_message_ends_that_connection_only_and_is_reported(view, data):
    with Page(view.address) as other, Page(view.address) as page:
        # the first, once both are drawn
        _, slider = (robot_on(view, k).sliders._handles[0] for k in (1, 0))
        page.raw(data)
        assert wait_for(lambda: not page.open)
        assert wait_for(lambda: view.heard)
        assert other.open
        other.set(slider, 10.0)
        assert wait_for(lambda: position(view)[0] > 0.1)
    assert view.heard[0][0] == "not_a_message"


def test_a_connection_that_a_browser_closes_unused_is_no_fault(view):
    address = urlsplit(view.address)
    socket.create_connection((address.hostname, address.port)).close()
    with Page(view.address) as page:
        page.raw("no message")
        assert wait_for(lambda: view.heard)
    assert len(view.heard) == 1


STRANGERS = {
    "another site": {"Origin": "https://example.org"},
    "no site": {"Origin": "null"},
    "another port": {"Origin": "http://127.0.0.1:1"},
    "a name that looks like loopback": {"Host": "127.evil.example"},
    "a name that ends like loopback": {"Host": "evil.127.0.0.1"},
    "any name": {"Host": "robot.example", "Origin": "http://robot.example"},
    "an address elsewhere": {"Host": "192.0.2.1"},
    "no address": {"Host": "[1"},
}


@pytest.mark.parametrize("headers", STRANGERS.values(), ids=STRANGERS)
@pytest.mark.parametrize("upgrade", [False, True], ids=["page", "connection"])
def test_pages_of_other_sites_and_other_names_are_refused(view, headers, upgrade):
    status, _ = answer(view, upgrade, **headers)
    assert status == 403
    assert wait_for(lambda: view.heard)
    assert view.heard[0][0] == "origin"
    assert len(view.heard[0][1]) < 300


@pytest.mark.parametrize("name", ["127.0.0.1", "127.1.2.3", "localhost", "LOCALHOST", "[::1]"])
def test_names_of_this_machine_are_taken_and_no_page_may_frame_it(view, name):
    host = f"{name}:{view.window.port}"
    status, headers = answer(view, False, Host=host, Origin=f"http://{host}")
    assert status == 200
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Content-Security-Policy"] == "frame-ancestors 'none'"
    assert answer(view, True, Host=host, Origin=f"http://{host}")[0] == 101


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_the_page_is_viser_s_own_with_its_look_and_a_script_that_loads_no_room(view, encoding):
    import gzip
    import urllib.request
    from pathlib import Path

    import viser

    from robot_dynamics_ros.view.day_and_night import LOOK
    from robot_dynamics_ros.view.window import WITHOUT_ROOM

    request = urllib.request.Request(view.window.address, headers={"Accept-Encoding": encoding})
    with urllib.request.urlopen(request, timeout=60.0) as response:
        page = response.read()
    page = gzip.decompress(page) if encoding == "gzip" else page
    own = (Path(viser.__file__).parent / "client" / "build" / "index.html").read_bytes()
    # its tab has the robot's name
    named = own.replace(b"<title>Viser</title>", b"<title>two_link</title>")
    head = f"<head>{LOOK}<script>{{{WITHOUT_ROOM}}}</script>".encode()
    assert page == named.replace(b"<head>", head, 1) != named != own


def test_a_viewer_for_others_is_asked_by_address_or_by_the_name_of_its_machine():
    import socket

    with rd.view(rd.limb(1), host="0.0.0.0", port=0, report=lambda *_: None) as viewer:
        for name, status in (
            ("192.0.2.1", 200),
            (socket.gethostname(), 200),
            ("evil.example", 403),
        ):
            assert answer(viewer, False, Host=name)[0] == status


def answer(viewer, upgrade: bool, **headers: str) -> tuple[int, Any]:
    """Status and headers of the answer to a request for the page, or for a connection."""
    import http.client

    import viser

    if upgrade:
        headers |= {
            "Upgrade": "websocket",
            "Connection": "Upgrade",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
            "Sec-WebSocket-Protocol": f"viser-v{viser.__version__}",
        }
    connection = http.client.HTTPConnection("127.0.0.1", viewer.window.port, timeout=60.0)
    with contextlib.closing(connection):
        connection.request("GET", "/", headers=headers)
        response = connection.getresponse()
        return response.status, response.headers


def test_an_address_that_is_not_ours_is_refused():
    with pytest.raises(ArgumentError, match="cannot listen"):
        rd.view(rd.limb(1), host="203.0.113.1", port=0)
    with pytest.raises(ArgumentError, match="port"):
        rd.view(rd.limb(1), port=70000)


def test_a_motion_plays_and_stops_at_its_end():
    limb = rd.limb(2)
    t = np.linspace(0.0, 0.3, 31)
    with rd.view(limb, (t, np.outer(t, (1.0, 2.0))), port=0) as viewer, Page(viewer.address):
        robot = robot_on(viewer)
        player = robot.player
        player._loop.value = False
        assert wait_for(lambda: math.isclose(robot.source.time, 0.3, rel_tol=1e-3))
        player._play.value = False
        player._time.value = 0.1
        assert wait_for(lambda: math.isclose(robot.source.time, 0.1, abs_tol=1e-3))
        # another joint is chosen while nothing moves, and a link that does not move is not sent
        # again
        plots = robot.plots
        nodes = robot.nodes
        before = plots._plot.data[1]
        plots._joint.value = "joint2"
        viewer.update()
        assert not np.array_equal(plots._plot.data[1], before)
        shown = robot.source.state()
        nodes.links[1].position = (9.0, 9.0, 9.0)
        nodes.place(shown.q)
        assert nodes.links[1].position[0] == 9.0
        nodes.place(shown.q + 0.1)
        np.testing.assert_allclose(
            nodes.links[2].position, rd.link_poses(limb, shown.q + 0.1)[2, :3, 3], atol=1e-6
        )


def test_a_robot_that_cannot_be_read_whole_is_drawn_with_one_warning(tmp_path):
    urdf = tmp_path / "robot.urdf"
    text = rd.robot_path("two_link").read_text()
    geometry = '<visual><geometry><mesh filename="bad.stl"/></geometry></visual>'
    urdf.write_text(text.replace("</inertial>", f"</inertial>{geometry}"))
    (tmp_path / "bad.stl").write_bytes(b"no mesh")
    with (
        pytest.warns(rd.ModelWarning, match="meshes cannot be read") as warned,
        rd.view(rd.load_urdf(urdf), port=0),
    ):
        pass
    assert len([w for w in warned if issubclass(w.category, rd.ModelWarning)]) == 1


def test_the_whole_scene_can_be_shown_and_hidden():
    model = rd.load_robot("six_axis")
    with rd.view(model, rd.simulate(model, duration=0.1), port=0) as viewer, Page(viewer.address):
        robot = robot_on(viewer)
        layers = robot.layers
        layers._joint.value = "elbow_joint"
        for shown in (True, False, True):
            for box in layers._boxes.values():
                box.value = shown
            viewer.update()
        parts = {name for name in robot.nodes._vectors if name.startswith("part_")}
        assert {"part_joint_forces", "part_gravity_forces", "part_dynamic_forces"} <= parts
        assert robot.nodes.bodies.layers["boxes"][0].handle.visible
        names = {label.text: label.anchor for label in robot.nodes._marks["frames"]}
        assert tuple(names) == model.link_names
        # their frames lie on one point
        assert names["shoulder_link"] != names["upper_arm_link"]


def test_memory_does_not_grow_with_pictures():
    """Many pictures for a page that takes none leave no more messages behind than some: those of
    the last picture.
    """
    model = rd.load_robot("six_axis")
    with rd.view(model, port=0) as viewer, Page(viewer.address):
        scene = robot_on(viewer).nodes.scene
        sizes = []
        buffer = scene._websock_interface.get_message_buffer()
        with next(iter(viewer.pages.values())).client.atomic():
            for k in range(200):
                # every 40 pictures the same: arrows that hardly move are sent once they have
                # moved, so those of a new pose may be new messages
                viewer.robots[0].source.set(0.3 * np.sin(np.pi / 20.0 * (k % 40) + np.arange(6)))
                viewer.update()
                queued = threading.Event()
                buffer.event_loop.call_soon_threadsafe(queued.set)
                assert queued.wait(60.0)
                sizes.append(len(buffer.message_from_id))
    assert sizes[0] > 10
    assert max(sizes[120:]) <= max(sizes[:120])
