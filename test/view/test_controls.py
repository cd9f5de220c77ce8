"""What a person does on the page reaches the robot: buttons as a page sends them, drags as viser reports them."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from support.bags import write_bag
from support.page import Page, wait_for

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.view.source import Controls, PoseSource
from robot_dynamics_ros.view.waypoints import smooth_motion

pytest.importorskip("viser")

from robot_dynamics_ros.view.pull import Posing
from robot_dynamics_ros.view.viewer import Viewer


class Recorder(Controls):
    """Takes note of motions asked for."""

    def __init__(self) -> None:
        self.motions: list = []

    def move_along(self, points) -> str:
        self.motions.append(points)
        return f"on the way through {len(points)}"


def drag(grip, link: str, start, *ends) -> None:
    """A drag of a link from a point of the world through others, and the mouse let go."""
    handler = grip.handler(link)
    phases = ["start", *["update"] * len(ends)]
    for phase, end in zip(phases, [start, *ends], strict=True):
        asyncio.run(handler(SimpleNamespace(phase=phase, start_position=tuple(start), end_position=tuple(end))))


def let_go(grip, link: str) -> None:
    asyncio.run(grip.handler(link)(SimpleNamespace(phase="end", start_position=(0, 0, 0), end_position=(0, 0, 0))))


def test_a_link_that_is_dragged_offline_leads_the_arm_by_inverse_kinematics():
    arm = rd.load_robot("six_axis")
    q0 = np.array([0.3, -1.2, 1.0, 0.1, 0.5, 0.0])
    with rd.view(arm, q0, port=0) as viewer:
        robot = viewer.robots[0]
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

        def sliders_follow() -> bool:  # the thread that draws moves them, after the robot
            shown = np.radians([handle.value for handle in robot.sliders._handles])
            return bool(np.abs(shown - q).max() < 1e-3)

        assert wait_for(sliders_follow)
        drag(robot.grip, "tool0", goal, [50.0, 0.0, 0.0])  # out of reach: as near as it gets
        assert wait_for(lambda: not np.array_equal(robot.source.state().q, q))
        assert np.isfinite(robot.source.state().q).all()
        let_go(robot.grip, "tool0")
        assert robot.grip.held is None


def test_points_are_collected_and_sent_as_one_motion():
    arm, controls = rd.load_robot("two_link"), Recorder()
    with Viewer([PoseSource(arm)], [controls], port=0) as viewer:
        panel = viewer.robots[0].panel
        buttons = {
            handle.label: handle
            for handle in viewer.window.server.gui._gui_input_handle_from_uuid.values()
            if hasattr(handle, "label")
        }
        with Page(viewer.address) as page:

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


def test_a_motion_through_points_is_smooth_and_passes_none():
    times, positions, velocities = smooth_motion(
        np.array([0.0, 1.0]), [(np.array([1.0, 1.0]), 1.0), (np.array([3.0, 0.0]), 2.0), (np.array([2.0, 0.5]), 0.5)]
    )
    np.testing.assert_array_equal(times, [1.0, 3.0, 3.5])
    np.testing.assert_array_equal(velocities[-1], 0.0)
    assert velocities[1, 0] == 0.0  # where it goes back
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

    arm, t = rd.load_robot("two_link"), np.linspace(0.0, 0.5, 51)
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


def test_what_is_shown_is_not_taken_back_by_sliders_that_are_halfway_there(monkeypatch):
    with rd.view(rd.limb(2), [0.0, 0.0], port=0) as viewer:
        sliders = viewer.robots[0].sliders
        follow, update = sliders.follow, threading.Thread(target=viewer.update)

        def slowly(q):
            sliders._axes[0].show(sliders._handles[0], q[0])
            update.start()
            update.join(0.3)
            follow(q)

        monkeypatch.setattr(sliders, "follow", slowly)
        viewer.show([1.2, 0.4])
        update.join(10.0)
        np.testing.assert_array_equal(viewer.robots[0].source.state().q, [1.2, 0.4])
