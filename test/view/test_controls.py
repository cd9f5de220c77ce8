"""What a person does on the page reaches the robot: buttons as a page sends them, drags as viser
reports them.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest
from support.bags import write_bag
from support.page import Page, robot_on, wait_for

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.view.source import Adjustable, Controls, PoseSource, smooth_motion

pytest.importorskip("viser")

from robot_dynamics_ros.view.panels import AdjustedSlider, Turn
from robot_dynamics_ros.view.pull import Posing
from robot_dynamics_ros.view.viewer import Viewer


class Recorder(Controls):
    """Takes note of motions asked for."""

    def __init__(self) -> None:
        self.motions: list = []

    def move_along(self, points) -> str:
        self.motions.append(points)
        return f"on the way through {len(points)}"


@contextmanager
def controlled(arm, controls):
    """A view of an arm that stands still, with controls of a robot that moves."""
    with Viewer(port=0) as viewer:
        viewer.add(PoseSource(arm), controls)
        yield viewer


def drag(grip, link: str, start, *ends) -> None:
    """A drag of a link from a point of the world through others, and the mouse let go."""
    handler = grip.handler(link)
    phases = ["start", *["update"] * len(ends)]
    for phase, end in zip(phases, [start, *ends], strict=True):
        asyncio.run(
            handler(
                SimpleNamespace(phase=phase, start_position=tuple(start), end_position=tuple(end))
            )
        )


def let_go(grip, link: str) -> None:
    asyncio.run(
        grip.handler(link)(
            SimpleNamespace(phase="end", start_position=(0, 0, 0), end_position=(0, 0, 0))
        )
    )


def labelled(viewer, number: int = 0) -> dict:
    """The controls of a page by their labels."""
    gui = viewer.pages[sorted(viewer.pages)[number]].client.gui
    return {
        handle.label: handle
        for handle in gui._gui_input_handle_from_uuid.values()
        if hasattr(handle, "label")
    }


def test_a_link_that_is_dragged_offline_leads_the_arm_by_inverse_kinematics():
    arm = rd.load_robot("six_axis")
    q0 = np.array([0.3, -1.2, 1.0, 0.1, 0.5, 0.0])
    with rd.view(arm, q0, port=0) as viewer, Page(viewer.address), Page(viewer.address):
        other = robot_on(viewer, 1)
        robot = robot_on(viewer)
        assert isinstance(robot.grip, Posing)
        pose = rd.link_pose(arm, q0, "tool0")
        at = np.array([0.02, -0.01, 0.03])
        start = pose[:3, :3] @ at + pose[:3, 3]
        goal = start + np.array([0.05, 0.04, -0.06])
        drag(robot.grip, "tool0", start, goal)
        assert wait_for(lambda: not np.array_equal(robot.source.state().q, q0))
        q = robot.source.state().q
        found = rd.link_pose(arm, q, "tool0")
        np.testing.assert_allclose(found[:3, :3] @ at + found[:3, 3], goal, atol=1e-3)
        assert (q >= arm.lower).all() and (q <= arm.upper).all()

        # those of every page; the thread that draws moves them, after the robot
        def sliders_follow() -> bool:
            shown = np.radians(
                [[handle.value for handle in view.sliders._handles] for view in (robot, other)]
            )
            return bool(np.abs(shown - q).max() < 1e-3)

        assert wait_for(sliders_follow)
        # out of reach: as near as it gets
        drag(robot.grip, "tool0", goal, [50.0, 0.0, 0.0])
        assert wait_for(lambda: not np.array_equal(robot.source.state().q, q))
        assert np.isfinite(robot.source.state().q).all()
        let_go(robot.grip, "tool0")
        assert robot.grip.held is None


def test_points_are_collected_and_sent_as_one_motion():
    arm = rd.load_robot("two_link")
    controls = Recorder()
    with controlled(arm, controls) as viewer, Page(viewer.address) as page:
        panel = robot_on(viewer).panel
        buttons = labelled(viewer)

        def click(label: str, said: str) -> None:
            page.set(buttons[label], True)
            assert wait_for(lambda: said in panel._answer.content), panel._answer.content

        click("go through the points", "there are no points yet")
        for k, degrees in enumerate((10.0, 20.0, 15.0), start=1):
            page.set(panel._handles[0], degrees)
            assert wait_for(lambda value=degrees: panel._handles[0].value == value)
            click("add the sliders as a point", f"point {k} is added")
        assert "3." in panel._list.content
        click("go through the points", "on the way through 3")
        click("forget the points", "forgotten")
        assert panel._list.content == ""
    (motion,) = controls.motions
    np.testing.assert_allclose([q[0] for q, _ in motion], np.radians([10.0, 20.0, 15.0]), atol=1e-9)
    assert [seconds for _, seconds in motion] == [3.0, 3.0, 3.0]


def test_pause_is_seen_on_its_button_and_answers_are_text():
    arm = rd.load_robot("two_link")
    controls = Recorder()
    heard = ["before"]
    controls.answer = lambda: heard[-1]
    asked: list[bool] = []
    controls.pause = lambda paused: (asked.append(paused), "pause …")[1]
    with controlled(arm, controls) as viewer, Page(viewer.address) as page:
        panel = robot_on(viewer).panel
        button = panel._pause_button
        page.set(button, True)
        assert wait_for(lambda: asked == [True])
        # nobody has answered
        assert button.label == "pause"
        controls.paused = True
        assert wait_for(lambda: button.label == "go on (paused)")
        with Page(viewer.address):
            assert wait_for(
                lambda: robot_on(viewer, 1).panel._pause_button.label == "go on (paused)"
            )
        heard.append("pause: <b>paused</b> {1 + 1}")
        assert wait_for(lambda: "&lt;b&gt;paused" in panel._answer.content)
        page.set(button, True)
        assert wait_for(lambda: asked == [True, False])


def test_gains_are_grouped_by_joint_and_the_payloads_link_is_chosen():
    arm = rd.load_robot("two_link")
    controls = Recorder()
    chosen: list[str] = []
    controls.carry = lambda link: chosen.append(link) or "on it"
    controls.adjustables = lambda: (
        Adjustable("gains.elbow.p", "p", 0.0, 100.0, 25.0, "1/s^2"),
        Adjustable("payload.mass", "mass", 0.0, 5.0, 0.0, "kg"),
    )
    with controlled(arm, controls) as viewer, Page(viewer.address) as page:
        panel = robot_on(viewer).panel
        assert wait_for(lambda: len(panel._adjusted) == 2)
        assert panel._adjusted["gains.elbow.p"].handle.label == "p [1/s^2]"
        assert panel._groups["elbow"].label == "elbow"
        page.set(
            labelled(viewer)["payload on"],
            "upper_arm" if "upper_arm" in arm.link_names else arm.link_names[1],
        )
        assert wait_for(lambda: chosen)
    assert chosen[0] in arm.link_names


def test_numbers_of_sliders_are_for_people_and_what_nobody_moves_stays_exactly():
    limb = rd.limb(2)
    with rd.view(limb, [-1.5707999999, 0.123456789], port=0) as viewer:
        with Page(viewer.address) as page:
            sliders = robot_on(viewer).sliders
            assert [handle.value for handle in sliders._handles] == [-90.0, 7.1]
            page.set(sliders._handles[0], -45.0)
            assert wait_for(lambda: viewer.robots[0].source.state().q[0] > -1.0)
        np.testing.assert_array_equal(
            viewer.robots[0].source.state().q, [np.radians(-45.0), 0.123456789]
        )


def test_a_link_that_was_clicked_is_hidden_until_all_are_shown():
    arm = rd.load_robot("two_link")
    with rd.view(arm, port=0) as viewer, Page(viewer.address) as page:
        robot = robot_on(viewer)
        buttons = labelled(viewer)["this link"]
        seen = lambda: [handle.visible for handle in robot.nodes.links]  # noqa: E731
        robot.loads.select(arm.link_names[1])
        page.set(buttons, "hide")
        assert wait_for(lambda: not seen()[1])
        assert sum(seen()) == len(arm.link_names) - 1
        page.set(buttons, "show all")
        assert wait_for(lambda: all(seen()))


def test_a_person_turns_the_camera_of_the_own_page_only():
    with (
        rd.view(rd.load_robot("six_axis"), port=0) as viewer,
        Page(viewer.address) as page,
        Page(viewer.address),
    ):
        clients = viewer.window.server.get_clients
        assert wait_for(lambda: len(viewer.pages) == 2)
        page.set(labelled(viewer)["view"], "side")

        def from_the_side() -> list[bool]:
            away = [client.camera.position - client.camera.look_at for client in clients().values()]
            return [bool(np.abs(a[[0, 2]]).max() < 1e-6 and a[1] < -0.5) for a in away]

        assert wait_for(lambda: any(from_the_side()))
        assert sum(from_the_side()) == 1


def test_a_page_that_changes_its_shape_shows_the_robot_whole_unless_a_person_has_moved_the_camera():
    with rd.view(rd.load_robot("six_axis"), port=0) as viewer, Page(viewer.address) as page:
        shown = robot_on(viewer).nodes
        camera = viewer.pages[min(viewer.pages)].client.camera
        narrow = {"image_width": 300, "image_height": 600}
        # a phone that is turned, and turned back
        for width, height in ((300, 600), (600, 400)):
            at = tuple(map(float, camera.position))
            page.camera(position=at, image_width=width, image_height=height)
            expected, _ = shown.view_point(aspect=width / height)
            assert wait_for(lambda: np.abs(camera.position - expected).max() < 1e-3)  # noqa: B023
        page.camera(position=(9.0, 9.0, 9.0), **narrow)
        assert wait_for(lambda: camera.image_width == 300)
        viewer.update()
        np.testing.assert_allclose(camera.position, (9.0, 9.0, 9.0))


def test_a_camera_follows_a_link_and_no_other_page_does():
    arm = rd.load_robot("six_axis")
    q = np.zeros((2, 6))
    q[1] = [0.7, -0.5, 0.4, 0.3, 0.2, 0.1]
    with rd.view(arm, q[0], port=0) as viewer, Page(viewer.address) as page, Page(viewer.address):
        assert wait_for(lambda: len(viewer.pages) == 2)
        robot_on(viewer).loads.select("forearm_link")
        one, other = (viewer.pages[k] for k in sorted(viewer.pages))
        views = labelled(viewer)["view"]
        page.set(views, "follow")
        assert wait_for(lambda: one._followed)
        before = [p.client.camera.position.copy() for p in (one, other)]
        viewer.show(q[1])
        start, end = (rd.link_pose(arm, x, "forearm_link")[:3, 3] for x in q)
        assert wait_for(lambda: np.abs(one.client.camera.position - before[0]).max() > 0.0)
        viewer.update()
        for k, p in enumerate((one, other)):
            moved = p.client.camera.position - before[k]
            np.testing.assert_allclose(moved, end - start if p is one else 0.0, atol=1e-3)
        np.testing.assert_allclose(one.client.camera.look_at, end, atol=1e-3)
        page.set(views, "fit")
        assert wait_for(lambda: not one._followed)


def test_a_slider_shows_what_holds_after_a_refusal_and_after_another_client_changed_it(
    monkeypatch,
):
    arm = rd.load_robot("two_link")
    controls = Recorder()
    values = [25.0]
    controls.adjustables = lambda: (
        Adjustable("gains.elbow.p", "p", 0.0, 100.0, values[-1], "1/s^2"),
    )
    controls.adjust = lambda name, value: (
        "refused" if value > 40.0 else values.append(value) or "changed"
    )
    with controlled(arm, controls) as viewer, Page(viewer.address) as page, Page(viewer.address):
        panels = [robot_on(viewer, k).panel for k in (0, 1)]
        assert wait_for(lambda: all(panel._adjusted for panel in panels))
        sliders = [panel._adjusted["gains.elbow.p"].handle for panel in panels]
        monkeypatch.setattr(panels[0], "PATIENCE", 0.5)
        page.set(sliders[0], 30.0)
        assert wait_for(lambda: sliders[1].value == 30.0)
        page.set(sliders[0], 50.0)
        assert wait_for(lambda: "refused" in panels[0]._answer.content)
        assert wait_for(lambda: sliders[0].value == 30.0)
        assert values == [25.0, 30.0]


def test_a_request_is_not_written_over_while_nobody_has_heard_of_it():
    """The page's answer stays: what the panel did not write itself is a person's request, before
    any callback has run.
    """
    handle = SimpleNamespace(value=25.0)
    slider = AdjustedSlider(handle, 25.0, 25.0)
    # the second time as well
    for _ in range(2):
        handle.value = 50.0
        slider.show(25.0, patience=60.0)
        assert handle.value == 50.0
        slider.show(25.0, patience=0.0)
        assert handle.value == 25.0
    # somebody else
    slider.show(40.0, patience=60.0)
    assert handle.value == 40.0


def test_the_first_to_touch_has_the_controls_and_everybody_may_stop_the_robot(monkeypatch):
    arm = rd.load_robot("two_link")
    controls = Recorder()
    asked: list[str] = []
    controls.hold = lambda: asked.append("hold") or "holding"
    controls.reset = lambda: asked.append("reset") or "back"
    controls.pull = lambda link, wrench: asked.append("pull" if wrench is not None else "let go")
    controls.adjustables = lambda: (Adjustable("gains.elbow.p", "p", 0.0, 100.0, 25.0, "1/s^2"),)
    controls.adjust = lambda name, value: asked.append(f"{name} {value:g}") or "changed"
    with controlled(arm, controls) as viewer, Page(viewer.address) as page:
        first = robot_on(viewer)
        with Page(viewer.address) as other_page:
            second = robot_on(viewer, 1)
            mine = labelled(viewer)
            others = labelled(viewer, 1)
            second.layers._boxes["moments"].value = False
            page.set(mine["reset"], True)
            assert wait_for(lambda: "page 1 has the controls" in second.panel._who.content)
            assert wait_for(lambda: "you have the controls" in first.panel._who.content)
            for control, value in (("reset", True), ("p [1/s^2]", 50.0)):
                other_page.set(others[control], value)
                assert wait_for(lambda: "page 1 has the controls" in second.panel._answer.content)
                second.panel._tell("")
            drag(second.grip, "upper_arm", (0.0, 0.0, 0.0), (0.0, 0.0, 0.5))
            assert second.grip.held is None
            other_page.set(others["hold"], True)
            assert wait_for(lambda: asked == ["reset", "hold"])
            page.set(mine["let others control"], True)
            other_page.set(others["reset"], True)
            assert wait_for(lambda: asked[2:] == ["reset"])
            assert wait_for(lambda: "page 2 has the controls" in first.panel._who.content)
            drag(second.grip, "upper_arm", (0.0, 0.0, 0.0), (0.0, 0.0, 0.5))
            assert wait_for(lambda: "pull" in asked)
            # whose ticks are whose
            assert first.layers["moments"]
        # the page is closed with the link in its hand
        assert wait_for(lambda: asked[-1] == "let go")
        assert wait_for(lambda: first.panel._who.content == "")
        assert first.panel.mine()
        monkeypatch.setattr(Turn, "IDLE", 0.0)
        assert robot_on(viewer).robot.turn.page == -1


def test_what_is_plotted_is_saved_as_a_table_that_can_be_read_again(tmp_path):
    from robot_dynamics_ros.recordings.read_csv import read_csv

    arm = rd.load_robot("two_link")
    run = rd.simulate(arm, duration=0.2, record_wrenches=True)
    with rd.view(arm, run, port=0) as viewer, Page(viewer.address):
        files: dict[str, bytes] = {}
        keep = SimpleNamespace(
            send_file_download=lambda name, data, **_: files.update({name: data})
        )
        plots = robot_on(viewer).plots
        plots._save(SimpleNamespace(client=keep))
        plots._joint.value = "all"
        plots._kind.value = "force"
        viewer.update()
        assert [series["label"] for series in plots._plot.series] == [
            "t [s]",
            "shoulder [N]",
            "elbow [N]",
            "now",
        ]
        assert len(plots._plot.data) == 4
        plots._choose(True)
        plots._joint.value = "elbow"
        plots._kind.value = "position"
        viewer.update()
        labels = ["t [s]", "shoulder force [N]", "elbow force [N]", "elbow position [°]", "now"]
        assert [series["label"] for series in plots._plot.series] == labels
        assert [series.get("scale") for series in plots._plot.series] == [
            None,
            "N",
            "N",
            "°",
            "now",
        ]
        now = plots._cursor
        np.testing.assert_allclose(
            np.interp(now, plots._plot.data[0], plots._plot.data[3]),
            np.degrees(np.interp(now, run.t, run.q[:, 1])),
            atol=0.05,
        )
        plots._choose(False)
        plots._joint.value = "all"
        plots._kind.value = "force"
        viewer.update()
        cursor = plots._plot.data[0][np.isfinite(plots._plot.data[3])]
        assert len(cursor) == 2
        assert cursor[0] == cursor[1]
    (tmp_path / "joints.csv").write_bytes(files["joints.csv"])
    table = read_csv(tmp_path / "joints.csv", arm)
    np.testing.assert_allclose(table.q, run.q, atol=1e-8)
    rows = np.genfromtxt(tmp_path / "joints.csv", delimiter=",", names=True)
    own = run.wrenches[:, 1, 3:]
    size = np.linalg.norm([rows[f"elbowforce{axis}"] for axis in "xyz"], axis=0)
    np.testing.assert_allclose(size, np.linalg.norm(own, axis=1), rtol=1e-6)


def test_a_film_that_is_broken_off_leaves_the_one_before(tmp_path):
    from robot_dynamics_ros.view.film import write_film

    film = tmp_path / "film.gif"
    film.write_bytes(b"before")

    def pictures():
        yield np.zeros((32, 48, 3), dtype=np.uint8)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_film(film, pictures(), 4.0)
    assert film.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [film]


def test_a_motion_through_points_is_smooth_and_passes_none():
    times, positions, velocities = smooth_motion(
        np.array([0.0, 1.0]),
        [(np.array([1.0, 1.0]), 1.0), (np.array([3.0, 0.0]), 2.0), (np.array([2.0, 0.5]), 0.5)],
    )
    np.testing.assert_array_equal(times, [1.0, 3.0, 3.5])
    np.testing.assert_array_equal(velocities[-1], 0.0)
    # where it goes back
    assert velocities[1, 0] == 0.0
    assert velocities[0, 0] > 0.0
    trajectory = rd.Trajectory.from_waypoints(
        ["a", "b"], [0.0, *times], [[0.0, 1.0], *positions], [[0.0, 0.0], *velocities]
    )
    assert trajectory is not None
    with pytest.raises(ArgumentError, match="positive"):
        smooth_motion(np.zeros(1), [(np.zeros(1), 0.0)])
    with pytest.raises(ArgumentError, match="positive"):
        smooth_motion(np.zeros(1), [])


def test_a_bag_becomes_a_page_and_pictures_become_films(tmp_path, capsys):
    pytest.importorskip("imageio_ffmpeg")
    from robot_dynamics_ros.cli.main import main
    from robot_dynamics_ros.view.film import need_imageio, write_film

    arm = rd.load_robot("two_link")
    t = np.linspace(0.0, 0.5, 51)
    write_bag(tmp_path / "bag", arm, t, np.stack([t, -t], axis=1), np.zeros((51, 2)))
    page = tmp_path / "replay.html"
    assert main(["view", "two_link", "--bag", str(tmp_path / "bag"), "--html", str(page)]) == 0
    assert str(page) in capsys.readouterr().out
    assert "<html" in page.read_text(encoding="utf-8")[:1000].lower()
    colours = [np.full((32, 48, 3), level, dtype=np.uint8) for level in (40, 120, 200)]
    for ending in (".gif", ".mp4"):
        film = write_film(tmp_path / f"film{ending}", colours, 4.0)
        with need_imageio().get_reader(film) as reader:
            levels = [np.asarray(frame)[..., :3].mean() for frame in reader]
        np.testing.assert_allclose(levels, (40.0, 120.0, 200.0), atol=6.0)
