"""Pages as a person sees them, in a real browser."""

from __future__ import annotations

import json
import os
import warnings
from collections import Counter
from itertools import pairwise
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from support.bags import write_bag
from support.example_robots import example_urdfs, name_of
from support.page import PATIENCE, camera_message, click, pixels, robot_on, wait_for

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import RobotDynamicsError

pytest.importorskip("viser")
pytest.importorskip("PIL")

from robot_dynamics_ros.view.bodies import Bodies
from robot_dynamics_ros.view.film import open_page, painter, settled, write_replay
from robot_dynamics_ros.view.headless import Browser, find_browser
from robot_dynamics_ros.view.source import PoseSource, ShownMotion
from robot_dynamics_ros.view.viewer import Viewer

pytestmark = [
    pytest.mark.browser,
    # every wait has a deadline of its own
    pytest.mark.timeout(600),
    pytest.mark.skipif(find_browser() is None, reason="no Chromium, Chrome or Edge is installed"),
]


@pytest.fixture(scope="module")
def the_browser():
    """Starting a browser takes longer than what most tests do with it."""
    with Browser(640, 320, pause=0.2) as started:
        yield started


@pytest.fixture
def browser(the_browser):
    """The browser with an empty page."""
    the_browser.leave()
    return the_browser


def ready(browser: Browser, still: bool = True) -> np.ndarray:
    """Wait for a picture with something on it, that does not change by itself any more if nothing
    moves.
    """
    assert browser.wait("document.querySelector('canvas') !== null", PATIENCE)
    seen: list[np.ndarray] = []

    def drawn() -> bool:
        picture, _ = pixels(browser)
        seen.append(picture)
        part = picture[len(picture) // 4 :, : picture.shape[1] // 2]
        settled = not still or (len(seen) > 1 and differ(seen[-1], seen[-2]) == 0)
        return bool(part.std() > 2.0) and settled

    assert browser.wait(drawn, PATIENCE)
    return seen[-1]


def fitted(page, picture: np.ndarray) -> bool:
    """Whether the camera of a page has been turned for the shape that its picture has now."""
    return abs(page._fitted[1] - picture.shape[1] / picture.shape[0]) < 0.01


def differ(a: np.ndarray, b: np.ndarray) -> int:
    """How many pixels; all of them, if the scene has another size now: its panel has come."""
    return a.size if a.shape != b.shape else int((np.abs(a - b).sum(axis=2) > 60).sum())


def local(address: str) -> bool:
    return address.startswith(("data:", "blob:", "http://127.0.0.1:", "ws://127.0.0.1:"))


def connect(browser: Browser, to: str = "") -> None:
    """Open one more connection from the page, to another server if one is named.

    Raises:
        RobotDynamicsError: it is refused.
    """
    import viser

    script = """(async (host, kind) => {
        window.line = new WebSocket(`ws://${host || location.host}`, kind);
        await new Promise((opened, failed) => { line.onopen = opened; line.onerror = failed; });
    })"""
    browser.run(f"{script}({json.dumps(to)}, {json.dumps(f'viser-v{viser.__version__}')})")


def send(browser: Browser, *messages: tuple[bytes, int]) -> None:
    """Send on the page's own connection: bytes, and then that many times the letter x.  Without
    bytes it is a text, after which the server closes the connection.
    """
    script = """(async (messages) => {
        for (const [head, count] of messages) {
            if (!head) {
                line.send("x".repeat(count));
                await new Promise((closed) => { line.onclose = closed; });
                return;
            }
            const bytes = new Uint8Array(head.length / 2 + count).fill(120);
            bytes.set(head.match(/../g).map((byte) => parseInt(byte, 16)));
            line.send(bytes);
        }
    })"""
    browser.run(f"{script}({json.dumps([[head.hex(), count] for head, count in messages])})")


def own_slider(viewer: Viewer, browser: Browser):
    """The first slider that the connection of :func:`connect` has, after it has introduced
    itself.
    """
    known = set(viewer.pages)
    send(browser, (camera_message(), 0))
    assert wait_for(lambda: viewer.pages.keys() - known, PATIENCE)
    return viewer.pages[max(viewer.pages)].views[0].sliders._handles[0]


def change(handle, value) -> bytes:
    """The message by which a page changes a control."""
    import msgspec

    return msgspec.msgpack.encode(
        {"type": "GuiUpdateMessage", "uuid": handle._impl.uuid, "updates": {"value": value}}
    )


def pixel(camera, shape: tuple[int, int], point: np.ndarray) -> tuple[int, int]:
    """Column and row where a pinhole camera with a picture of (height, width) sees a point."""
    height, width = shape
    w, *v = camera.wxyz
    u = np.array(v)
    out = point - camera.position
    x, y, z = out + 2.0 * np.cross(-u, np.cross(-u, out) + w * out)
    f = 0.5 * height / np.tan(0.5 * camera.fov)
    return round(0.5 * width + f * x / z), round(0.5 * height + f * y / z)


def magenta(picture: np.ndarray) -> np.ndarray:
    r = picture[..., 0]
    g = picture[..., 1]
    b = picture[..., 2]
    return (r > g + 60) & (b > g + 20)


def test_the_page_shows_the_robot_where_it_is_and_arrows_where_forces_act(browser):
    """No error on the console, no request to anywhere else, pixels that follow a joint, an arrow
    where the force is; messages that no page sends change nothing, are reported, and the page goes
    on.
    """
    limb = rd.limb(2, lengths=[0.8, 0.6], gravity=(0.0, 0.0, -9.81))
    heard: list[tuple[str, str]] = []
    with rd.view(limb, [0.0, 0.0], port=0, report=lambda *what: heard.append(what)) as viewer:
        browser.go(viewer.address)
        assert wait_for(lambda: viewer.pages, PATIENCE)
        view = robot_on(viewer)
        page = viewer.pages[max(viewer.pages)]
        layers = view.layers
        nodes = view.nodes
        # with room for the arrows
        assert browser.wait(lambda: fitted(page, ready(browser)), PATIENCE)
        for name in ("forces", "moments", "centres"):
            layers._boxes[name].value = False
        still = ready(browser)
        viewer.show([1.2, 0.4])
        assert browser.wait(lambda: differ(pixels(browser)[0], still) > 300, PATIENCE)
        # a known force alone: its arrow has to lie where a pinhole camera puts it
        for name in (*nodes.bodies.default_layers,):
            layers._boxes[name].value = False
        layers._boxes["forces"].value = True
        viewer.update()
        camera = next(iter(viewer.window.server.get_clients().values())).camera
        shape = still.shape[:2]
        arrows = viewer.robots[0].source.state().wrenches
        scale = layers.scale()
        segments = arrows.segments("forces", scale.force)

        def seen_along() -> bool:
            picture, _ = pixels(browser)
            for start, end in segments:
                u, v = pixel(camera, shape, 0.5 * (start + end))
                if not magenta(picture[v - 4 : v + 5, u - 4 : u + 5]).any():
                    return False
            return True

        assert browser.wait(seen_along, PATIENCE)
        # on a busy machine a connection may have been closed, and reported, before
        heard.clear()
        connect(browser)
        slider = own_slider(viewer, browser)
        ten_million = 10_000_000
        text = change(slider, "")[:-1] + b"\xdb" + ten_million.to_bytes(4, "big")
        send(browser, (change(slider, float("nan")), 0), (text, ten_million), (b"", ten_million))
        wanted = {"bad_value": 2, "not_a_message": 1}
        assert wait_for(lambda: Counter(cause for cause, _ in heard) >= Counter(wanted), PATIENCE)
        assert max(len(sentence) for _, sentence in heard) < 300
        np.testing.assert_array_equal(viewer.robots[0].source.state().q, [1.2, 0.4])
        layers._boxes["forces"].value = False
        assert browser.wait(lambda: not seen_along(), PATIENCE)
        assert not browser.errors
        assert all(map(local, browser.requests)), [a[:80] for a in browser.requests]


def test_a_person_clicks_a_link_and_the_plot_and_types_a_number_that_is_too_large():
    """In a window that has room for the panels: the link's numbers, the replay's time, the field's
    number as it was.
    """
    arm = rd.load_robot("six_axis")
    text = "document.body.innerText"
    with (
        Browser(1100, 800, pause=0.1) as browser,
        rd.view(
            arm, rd.simulate(arm, duration=0.5, q0=[0.3, -1.2, 1.0, 0.1, 0.5, 0.0]), port=0
        ) as viewer,
    ):
        page = open_page(viewer.address, browser, lambda: viewer.pages)
        view = page.views[0]
        view.player.pause()
        view.layers._boxes["centres"].value = False
        assert browser.drawn(PATIENCE)
        picture, place = pixels(browser)
        middle = view.nodes.poses[arm.link_index("upper_arm_link")] @ [
            *arm.link("upper_arm_link").inertia.com,
            1.0,
        ]
        click(browser, np.add(place, pixel(page.client.camera, picture.shape[:2], middle[:3])))
        assert browser.wait(f"{text}.includes('link upper_arm_link: 8.06 kg')", PATIENCE)
        assert browser.wait(
            f"{text}.includes('joint shoulder_lift_joint, in its axes x, y, z:')", PATIENCE
        )

        browser.run(
            "[...document.querySelectorAll('*')].findLast((part) => part.textContent === "
            "'Plot').click()"
        )
        over = "document.querySelector('.u-over').getBoundingClientRect()"
        assert browser.wait(f"document.querySelector('.u-over') && {over}.width > 50", PATIENCE)
        seen: list[list[float]] = []

        def sought() -> bool:
            """The plot moves while its panel opens: a click beside it does nothing, and one that it
            moves under zooms it.
            """
            browser.run("document.querySelector('.u-over').scrollIntoView({block: 'center'})")
            seen.append(
                browser.run(f"(({{x, y, width, height}}) => [x, y, width, height])({over})")
            )
            if seen[-1:] * 5 != seen[-5:]:
                return False
            x, y, width, height = seen[-1]
            click(browser, (x + 0.25 * width, y + 0.5 * height))
            return wait_for(lambda: abs(view.player._time.value - 0.125) < 0.01, 5.0)

        assert browser.wait(sought, PATIENCE)

        field = (
            "document.getElementById('"
            f"{view.layers._force._impl.uuid}').parentElement.querySelector('input:not([type=hidden])')"
        )
        browser.run(f"{field}.select()")
        browser.call("Input.insertText", text="500")
        assert wait_for(lambda: viewer.window.guard.refused["bad_value"], PATIENCE)
        assert browser.wait(f"{field}.value === '1'", PATIENCE)
        assert not browser.errors


SLIDER = """<robot name="slider"><link name="rail"/>
  <link name="world"><inertial><mass value="2"/>
  <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><origin xyz="0 0 -0.25"/><geometry><sphere radius="0.1"/></geometry>
      <material name="blue"><color rgba="0 0 1 1"/></material></visual></link>
  <joint name="none" type="prismatic"><parent link="rail"/><child link="world"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="1" velocity="9"/></joint>
</robot>"""


def test_a_link_and_its_wrench_are_of_one_instant_in_every_picture(browser, monkeypatch):
    """A blue ball on a slider whose weight is an arrow above it: both are read back from pictures
    while it moves at up to 13 m/s, and the arrow never leaves the place that the ball has.  Joint
    and link have names that are words of the page.
    """
    slider = rd.load_urdf(SLIDER)
    t = np.linspace(0.0, 4.0, 401)
    motion = ShownMotion.of(slider, (t, np.sin(2.2 * t)[:, None] * 1.5))
    with rd.view(slider, motion, port=0) as viewer:
        browser.go(viewer.address)
        assert wait_for(lambda: viewer.pages, PATIENCE)
        view = robot_on(viewer)
        view.player._speed.value = "4"
        for name in ("clear", "centres", "paths", "moments"):
            view.layers._boxes[name].value = False
        places = track(browser)
    assert not browser.errors
    # pixels
    assert np.ptp(places[:, 0]) > 40
    # in a picture of a straight motion, one point's place is a quotient of linear functions of
    # another's, whatever the speed
    ball, arrow = places.T
    terms = np.column_stack([ball, np.ones_like(ball), ball * arrow])
    assert np.abs(terms @ np.linalg.lstsq(terms, arrow, rcond=None)[0] - arrow).max() < 4


def track(browser: Browser, count: int = 16) -> np.ndarray:
    """(count, 2) columns of pixels where a blue ball is and a magenta arrow begins, in pictures
    that have both whole.
    """
    assert browser.wait("document.querySelector('canvas') !== null", PATIENCE)
    places: list[tuple[float, float]] = []
    shape = (0, 0, 0)

    def seen() -> bool:
        nonlocal shape
        picture, _ = pixels(browser)
        r, g, b = (picture[..., k].astype(int) for k in range(3))
        # the yellow centre: the page does not know of the layers yet
        before = ((r > b + 60) & (g > b + 60)).any()
        # its panel has come: the camera is another one
        if picture.shape != shape or before:
            places.clear()
            shape = picture.shape
        if before:
            return False
        ball = (b > r + 30) & (b > g + 30)
        arrow = (r > g + 60) & (b > g + 20)
        last = np.flatnonzero(arrow.any(axis=1)).max(initial=0)
        # all but where it begins
        arrow[: max(last - 5, 0)] = False
        columns = [np.flatnonzero(part.any(axis=0)) for part in (ball & ~arrow, arrow)]
        if (
            all(len(part) > 2 for part in columns)
            and columns[0][0] > 4
            and columns[0][-1] < picture.shape[1] - 4
        ):
            places.append(tuple(float(0.5 * (part[0] + part[-1])) for part in columns))
        return len(places) >= count

    assert browser.wait(seen, PATIENCE)
    return np.array(places)


ODD_NAMES = {
    "words of the page": ("world", "none"),
    "words of the scene": ("ground", "centre"),
    "spaces": (" a link ", "a joint"),
    "quotes": ("'base'", '"turn"'),
    "markup": ("<img src=x onerror=throw(1)>", "</td><script>throw 1</script>"),
    "code": ("{throw 1}", "${1 + {}}"),
    "unicode": ("плечо 肩 🦾", "‮right to left"),
    "slashes": ("a/b", "a∕b"),
    "objects": ("__proto__", "constructor"),
    "long": ("link" * 60, "joint" * 60),
}


def odd_robot(link: str, joint: str, number: int) -> rd.RobotModel:
    """A robot with a link and a joint of these names, twice: links that differ by a slash's form
    only.
    """
    from xml.sax.saxutils import quoteattr

    body = """<link name={name}><inertial><origin xyz="0.2 0 0"/><mass value="1"/>
        <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
        <visual><geometry><box size="0.2 0.1 0.3"/></geometry></visual></link>"""
    names = [quoteattr(name) for name in (link, joint, f"{link}/2", f"{link}∕2", f"{joint}2")]
    return rd.load_urdf(
        f"""<robot name="odd {number}">{"".join(body.format(name=names[k]) for k in (0, 2, 3))}
        <joint name={names[1]} type="continuous"><parent link={names[0]}/><child link={names[2]}/>
        <axis xyz="0 1 0"/></joint>
        <joint name={names[4]} type="continuous"><parent link={names[2]}/><child link={names[3]}/>
        <axis xyz="0 1 0"/>
        <origin xyz="0.4 0 0"/></joint></robot>"""
    )


@pytest.fixture
def every_robot(monkeypatch):
    """The script that draws all robots of example-robot-data and looks at their pages."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2]))
    from docs.images import every_robot

    with warnings.catch_warnings():
        # of their inertias, and of meshes that are not there
        warnings.simplefilter("ignore", rd.ModelWarning)
        yield every_robot


def test_names_of_links_and_joints_can_be_anything(browser, every_robot):
    """Robots of odd names side by side on one page, each with a joint chosen for its balance and a
    link clicked.
    """
    models = [odd_robot(link, joint, k) for k, (link, joint) in enumerate(ODD_NAMES.values())]
    with Viewer(len(models), port=0) as viewer:
        for model in models:
            viewer.add(PoseSource(model))
        page = open_page(viewer.address, browser, lambda: viewer.pages)
        assert every_robot.inspect(page, browser)[1] == ""
        assert not viewer.window.guard.refused
        assert "undefined" not in browser.run("document.body.innerText")
        viewer.pages[max(viewer.pages)].client.gui.main_panel.expand()
        for k, (link, joint) in enumerate(ODD_NAMES.values()):
            robot_on(viewer, 0, k).layers._joint.value = joint
            robot_on(viewer, 0, k).loads.select(link)
        # as text
        assert browser.wait("document.body.textContent.includes('throw 1')", PATIENCE)
        assert not browser.errors


SOME = [path for path in example_urdfs() if path.name in ("ur5_robot.urdf", "finger_edu.urdf")]


@pytest.mark.parametrize(
    "path", example_urdfs() if os.environ.get("ROBOT_DYNAMICS_EVERY_ROBOT") else SOME, ids=name_of
)
def test_robots_of_example_robot_data_are_drawn(browser, every_robot, path):
    """All of them, which takes half an hour and more, with ROBOT_DYNAMICS_EVERY_ROBOT=1."""
    assert every_robot.look(path, browser)[1] == ""


def test_what_is_wrong_with_a_page_is_in_the_list(browser, every_robot, tmp_path, monkeypatch):
    """An error on the page, graphics that are lost, a scene without the robot; a file that is no
    robot is left out.
    """
    (tmp_path / "no.urdf").write_text("<robot name='no'/>")
    assert every_robot.look(tmp_path / "no.urdf", browser) == (None, "")
    with rd.view(rd.load_robot("pendulum"), port=0) as viewer:
        page = open_page(viewer.address, browser, lambda: viewer.pages)
        browser.run("console.error('it broke')")
        assert every_robot.inspect(page, browser)[1] == "it broke"
        browser.errors.clear()
        browser.run(
            "document.querySelector('canvas').getContext('webgl2').getExtension('WEBGL_lose_context').loseContext()"
        )
        assert "its graphics are lost" in every_robot.inspect(page, browser)[1]
    monkeypatch.setattr(Bodies, "draw", lambda *_: [])
    assert (
        every_robot.look(rd.robot_path("pendulum"), browser)[1] == "the robot is not in the picture"
    )


@pytest.fixture
def foreign_page():
    """Address of a page of another site, whose text can be set."""
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    class Site(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(self.server.text.encode())

        def log_message(self, *_: object) -> None:
            pass

    site = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    site.text = ""
    thread = Thread(target=site.serve_forever)
    thread.start()
    yield site, f"http://evil.example:{site.server_port}"
    site.shutdown()
    thread.join()
    site.server_close()


def test_pages_of_strangers_neither_move_the_robot_nor_frame_the_page(foreign_page):
    """Another site's page, and a name that begins as an address of this machine and leads to it."""
    site, address = foreign_page
    heard: list[tuple[str, str]] = []
    with (
        Browser(640, 320, pause=0.2, names="MAP *.example 127.0.0.1") as browser,
        rd.view(rd.limb(2), [0.0, 0.0], port=0, report=lambda *what: heard.append(what)) as viewer,
    ):
        port = viewer.window.port
        site.text = f'<iframe src="{viewer.address}"></iframe>'
        browser.go(address)
        assert browser.wait(lambda: any("frame" in error for error in browser.errors), PATIENCE)
        for origin in (
            address,
            f"http://127.evil.example:{port}",
            f"http://127.0.0.1.evil.example:{port}",
        ):
            browser.go(origin)
            assert browser.wait(f"location.origin === {json.dumps(origin)}", PATIENCE)
            with pytest.raises(RobotDynamicsError):
                connect(browser, f"127.0.0.1:{port}")
            if origin != address:
                assert "address that the viewer has printed" in browser.run(
                    "document.body.textContent"
                )
                with pytest.raises(RobotDynamicsError):
                    connect(browser)
        assert not viewer.window.server.get_clients()
        assert not viewer.robots[0].source.state().q.any()
        assert {cause for cause, _ in heard} == {"origin"}
        browser.go(viewer.address)
        assert browser.wait(f"location.origin === {json.dumps(viewer.address)}", PATIENCE)
        # its own connection, before another one
        assert wait_for(lambda: viewer.pages, PATIENCE)
        # from the page itself
        connect(browser)
        send(browser, (change(own_slider(viewer, browser), 50.0), 0))
        assert wait_for(lambda: viewer.robots[0].source.state().q.any(), PATIENCE)


def test_a_replay_plays_from_a_file_without_any_network(browser, tmp_path):
    arm = rd.load_robot("two_link")
    run = rd.simulate(arm, duration=1.0)
    page = write_replay(ShownMotion.of(arm, run), tmp_path / "replay.html")
    assert page.stat().st_size < 3_000_000
    network = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    browser.call("Network.emulateNetworkConditions", offline=True, **network)
    try:
        browser.go(page.as_uri())
        first = ready(browser, still=False)
        assert browser.wait(lambda: differ(pixels(browser)[0], first) > 200, PATIENCE)
        assert not browser.errors
        assert all(a.startswith(("data:", "blob:", "file:")) for a in browser.requests)
    finally:
        browser.call("Network.emulateNetworkConditions", offline=False, **network)


# paper and ink of each part, their red from 0 to 255
PAPER_AND_INK = r"""[...document.querySelectorAll(".robot-legend, .replay-plots")]
    .map((part) => getComputedStyle(part)).map((look) => [look.backgroundColor, look.color]
    .map((colour) => Number(colour.match(/\d+/)[0])))"""


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_pages_are_as_dark_as_the_person_prefers(browser, tmp_path, colours):
    """Texts stand out from their paper, of a view and of a replay."""
    arm = rd.load_robot("two_link")
    page = write_replay(ShownMotion.of(arm, rd.simulate(arm, duration=0.1)), tmp_path / "r.html")
    browser.prefer(colours)
    try:
        with rd.view(arm, port=0) as viewer:
            for address, parts in ((viewer.address, 1), (page.as_uri(), 2)):
                browser.go(address)
                assert browser.wait("document.querySelector('.robot-legend') !== null", PATIENCE)
                ready(browser, still=False)
                assert browser.run("document.documentElement.dataset.mantineColorScheme") == colours
                seen = np.array(browser.run(PAPER_AND_INK))
                assert len(seen) == parts
                assert ((seen[:, 0] > seen[:, 1]) == (colours == "light")).all()
                assert (np.abs(seen[:, 0] - seen[:, 1]) > 120).all()
        assert not browser.errors
    finally:
        browser.prefer("light")


def test_a_picture_waits_for_its_letters(browser):
    """They are made one a picture where making one takes long; until all are there, none is
    drawn.
    """
    slow = """const fill = CanvasRenderingContext2D.prototype.fillText;
        CanvasRenderingContext2D.prototype.fillText = function (...what) {
            for (const end = performance.now() + 10; performance.now() < end;);
            return fill.apply(this, what);
        };"""
    script = browser.call("Page.addScriptToEvaluateOnNewDocument", source=f"{{ {slow} }}")
    try:
        with rd.view(rd.load_robot("two_link"), port=0) as viewer:
            page = open_page(viewer.address, browser, lambda: viewer.pages)
            paint = painter(page.client, 640, 480, page.view_point(640 / 480))
            picture = settled(paint, browser).astype(int)
            for label, _line in page.views[0].nodes._labels.values():
                label.visible = False
            page.client.flush()
            assert (np.abs(picture - settled(paint, browser)).sum(axis=2) > 200).sum() > 100
    finally:
        browser.call("Page.removeScriptToEvaluateOnNewDocument", identifier=script["identifier"])


def test_a_recording_becomes_a_film_and_a_view_a_picture(tmp_path):
    """From a bag to an mp4 whose pictures differ, as ffmpeg reads them back."""
    from PIL import Image

    from robot_dynamics_ros.recordings.read_bag import read_bag
    from robot_dynamics_ros.view.film import need_imageio, write_video

    arm = rd.load_robot("two_link")
    t = np.linspace(0.0, 0.5, 51)
    q = np.stack([1.5 * t, -3.0 * t], axis=1)
    write_bag(tmp_path / "bag", arm, t, q, np.zeros((51, 2)))
    motion = ShownMotion.of(arm, read_bag(tmp_path / "bag", arm))
    film = write_video(motion, tmp_path / "motion.mp4", rate=2.0, width=128, height=96)
    with need_imageio().get_reader(film) as reader:
        frames = [np.asarray(frame).astype(int) for frame in reader]
    assert len(frames) == 2
    assert frames[0].shape == (96, 128, 3)
    assert all((np.abs(b - a).sum(axis=2) > 60).sum() > 20 for a, b in pairwise(frames))
    with rd.view(arm, port=0) as viewer:
        picture = Image.open(viewer.picture(tmp_path / "arm.png", 160, 112))
    assert picture.size == (160, 112)
    assert np.asarray(picture.convert("L")).std() > 3.0
