"""The tool's reference: straight and bounded between targets, limits kept, bad targets refused."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation

import robot_dynamics_ros as rd
from robot_dynamics_ros.control.reference.task.poses import quaternion_of, quaternion_product
from robot_dynamics_ros.control.reference.trajectory import NANOSECONDS

MS = 1_000_000
START = np.array([0.2, -0.8, 1.2, -0.7, 1.0, 0.3])
SEVEN = np.array([-0.87, -0.47, -0.39, -1.57, -0.24, 2.06, 0.58])


def tool_of(name="six_axis", q=START, **settings):
    arm = rd.load_robot(name)
    tool = rd.ToolReference(arm, rd.TaskSettings(**settings))
    tool.limit(arm.lower, arm.upper, arm.velocity_limit, arm.velocity_limit / 0.25)
    tool.begin(0, q, np.zeros(arm.nv))
    return arm, tool


def run(tool, t, duration, period=MS):
    """Follow for some ns; rows of (q, v, a), poses and twists."""
    rows = []
    poses = []
    for _ in range(int(duration / period)):
        t += period
        tool.follow(t)
        rows.append(np.stack([tool.piece[0], tool.piece[1], 2.0 * tool.piece[2]]))
        poses.append(tool.tool_at(tool.piece[0].copy()))
    return t, np.array(rows), np.array(poses)


def pose_difference(to, start):
    """(6,) [rotation vector; way] that takes the pose ``start`` to ``to``, in world axes."""
    inverse = np.array([-1.0, -1.0, -1.0, 1.0]) * start[3:]
    turn = quaternion_product(to[3:], inverse)
    if turn[3] < 0.0:
        turn = -turn
    sine = float(np.linalg.norm(turn[:3]))
    factor = 2.0
    if sine > 1e-9:
        factor = 2.0 * float(np.arctan2(sine, turn[3])) / sine
    return np.concatenate([factor * turn[:3], to[:3] - start[:3]])


@pytest.mark.parametrize(("name", "q"), [("six_axis", START), ("seven_axis", SEVEN)])
def test_a_target_is_reached_on_a_straight_line_within_the_bounds(name, q):
    arm, tool = tool_of(name, q)
    start = tool.memory["pose"].copy()
    way = np.array([-0.08, 0.06, 0.05])
    turn = Rotation.from_rotvec([0.05, -0.05, 0.1]) * Rotation.from_quat(start[3:])
    tool.to_pose(start[:3] + way, turn.as_quat(), 0)
    _, rows, poses = run(tool, 0, 2 * NANOSECONDS)
    moved = poses[:, :3] - start[:3]
    direction = way / np.linalg.norm(way)
    along = moved @ direction
    # on the line, without turning back, to its end
    assert np.abs(moved - np.outer(along, direction)).max() < 1e-4
    assert np.diff(along).min() > -1e-7
    np.testing.assert_allclose(poses[-1, :3], start[:3] + way, atol=1e-6)
    assert (Rotation.from_quat(poses[-1, 3:]) * turn.inv()).magnitude() < 1e-6
    # by differences, which know nothing of the reference's own velocities
    h = 1e-3
    speed = np.diff(poses[:, :3], axis=0) / h
    acceleration = np.diff(speed, axis=0) / h
    jerk = np.diff(acceleration, axis=0) / h
    assert np.linalg.norm(speed, axis=1).max() <= 0.5 * 1.01
    assert np.linalg.norm(acceleration, axis=1).max() <= 3.0 * 1.05
    assert np.linalg.norm(jerk, axis=1).max() <= 60.0 * 1.5
    # joints: velocity and acceleration are the derivatives of the position
    np.testing.assert_allclose(np.gradient(rows[:, 0], h, axis=0)[2:-2], rows[2:-2, 1], atol=2e-3)
    assert (np.abs(rows[:, 1]) <= arm.velocity_limit).all()


@pytest.mark.parametrize(("name", "q"), [("six_axis", START), ("seven_axis", SEVEN)])
def test_out_of_reach_no_limit_is_passed_and_the_way_back_is_found(name, q):
    arm, tool = tool_of(name, q)
    home = tool.memory["pose"].copy()
    rng = np.random.default_rng(3)
    t = 0
    for _ in range(3):
        far = home[:3] + rng.normal(size=3) * 0.4
        turn = home[3:] + 0.3 * rng.normal(size=4)
        tool.to_pose(far, turn / np.linalg.norm(turn), t)
        t, rows, _ = run(tool, t, 2 * NANOSECONDS, 4 * MS)
        tool.to_pose(home[:3], home[3:], t)
        t, back, poses = run(tool, t, 8 * NANOSECONDS, 4 * MS)
        rows = np.concatenate([rows, back])
        assert (rows[:, 0] <= arm.upper).all()
        assert (rows[:, 0] >= arm.lower).all()
        assert (np.abs(rows[:, 1]) <= 0.9 * arm.velocity_limit + 1e-9).all()
        assert (np.abs(rows[:, 2]) <= arm.velocity_limit / 0.25 * (1 + 1e-9)).all()
        assert np.abs(pose_difference(home, poses[-1])).max() < 1e-3
    assert sum(tool.counts.values()) > 0


def test_a_twist_is_followed_in_the_tools_axes_and_forgotten_after_its_time():
    _, tool = tool_of(twist_timeout=0.1)
    link = tool.link
    X = rd.link_pose(tool.model, START, link)
    t = 0
    for _ in range(30):
        tool.by_twist([0.0, 0.0, 0.0], [0.0, 0.0, 0.1], t, frame=link)
        t, _, poses = run(tool, t, 10 * MS)
    np.testing.assert_allclose(tool.memory["moving"][3:], 0.1 * X[:3, 2], atol=1e-3)
    t, _, poses = run(tool, t, NANOSECONDS)
    assert np.abs(tool.memory["moving"]).max() < 1e-6
    moved = poses[-1, :3] - X[:3, 3]
    # on the axis
    assert np.abs(moved - X[:3, 2] * (moved @ X[:3, 2])).max() < 1e-4


def test_a_circle_is_followed_in_time_and_in_place():
    _, tool = tool_of()
    start = tool.memory["pose"].copy()
    radius = 0.1
    speed = 0.25
    times = np.linspace(0.0, 2.0 * np.pi * radius / speed, 41)
    angle = times * speed / radius
    circle = np.stack([1.0 - np.cos(angle), np.sin(angle), 0.0 * angle], axis=1) * radius
    # joined smoothly: the first second leads up to its speed
    points = np.vstack([start[:3], start[:3] + circle])
    path = rd.ToolPath.of(np.append(0.0, times + 0.3), points, [start[3:]] * len(points))
    tool.on_path(path, 0)
    t, _, _ = run(tool, 0, 600 * MS)
    t, _, poses = run(tool, t, int((times[-1] - 0.5) * NANOSECONDS))
    off = np.linalg.norm(poses[:, :3] - start[:3] - radius * np.eye(3)[0], axis=1) - radius
    assert np.abs(off).max() < 5e-4
    _, _, poses = run(tool, t, 2 * NANOSECONDS)
    np.testing.assert_allclose(poses[-1, :3], points[-1], atol=1e-5)


def test_frames_of_links_count_where_the_reference_is():
    arm, tool = tool_of()
    X = rd.link_pose(arm, START, "forearm_link")
    here = np.linalg.inv(X) @ rd.link_pose(arm, START, tool.link)
    place = here[:3, 3] + 0.02 * np.eye(3)[2]
    tool.to_pose(place, quaternion_of(here[:3, :3]), 0, frame="forearm_link")
    _, _, poses = run(tool, 0, NANOSECONDS)
    np.testing.assert_allclose(poses[-1, :3], (X @ np.append(place, 1.0))[:3], atol=1e-5)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"position": [0.0, np.nan, 0.0]}, "3 finite numbers"),
        ({"quaternion": [0.0, 0.0, 0.0, 0.0]}, "length 0"),
        ({"quaternion": [1.0, 1.0, 1.0, 1.0]}, "length 2"),
        ({"position": [1e4, 0.0, 0.0]}, "m away"),
        ({"frame": "nowhere"}, "unknown frame 'nowhere'"),
        ({"stamp": 1}, "s old"),
        ({"stamp": 30 * NANOSECONDS}, "ahead"),
    ],
)
def test_bad_targets_are_refused_and_change_nothing(change, words):
    arm = rd.load_robot("six_axis")
    control = rd.JointController(arm, task=rd.TaskSettings(link="tool0"))
    t = 20 * NANOSECONDS
    control.activate(t, START, np.zeros(6))
    control.update(t + MS, START, np.zeros(6))
    before = control.motion.memory.block.copy()
    good = {"position": [0.3, 0.0, 0.5], "quaternion": [0.0, 0.0, 0.0, 1.0], "stamp": 0}
    with pytest.raises(rd.TrajectoryRejected, match=words):
        control.accept_pose(**{**good, **change}, t=t + MS)
    assert not control.tool.active
    np.testing.assert_array_equal(control.motion.memory.block, before)


def test_a_target_that_was_there_before_is_refused():
    _, tool = tool_of()
    pose = tool.memory["pose"].copy()
    tool.to_pose(pose[:3], pose[3:], NANOSECONDS, stamp=NANOSECONDS - 5 * MS)
    for stamp in (NANOSECONDS - 5 * MS, NANOSECONDS - 20 * MS):
        with pytest.raises(rd.TrajectoryRejected, match="there before"):
            tool.to_pose(pose[:3] + 0.1, pose[3:], NANOSECONDS, stamp=stamp)
    np.testing.assert_array_equal(tool.memory["target_pose"], pose)


def test_joint_motion_and_tool_motion_take_over_from_each_other_without_a_jump():
    arm = rd.load_robot("six_axis")
    control = rd.JointController(arm, rd.ComputedTorque(), task=rd.TaskSettings(link="tool0"))
    t = NANOSECONDS
    control.activate(t, START, np.zeros(6))
    np.testing.assert_array_equal(control.reference[0], START)
    rows = []

    def cycles(n):
        nonlocal t
        for _ in range(n):
            t += MS
            control.update(t, control.reference[0].copy(), control.reference[1].copy())
            rows.append(control.reference.copy())

    cycles(5)
    pose = control.tool.tool_at(START)
    control.accept_trajectory(rd.plan_move(arm, START, START + 0.1, duration=1.0), t)
    cycles(400)
    goal = control.goal
    control.accept_pose(pose[:3] + 0.05, pose[3:], t)
    cycles(300)
    assert goal.status.value == "preempted"
    assert control.mode is rd.Mode.STREAM
    with pytest.raises(rd.TrajectoryRejected):
        control.accept_point(arm.joint_names, rd.TrajectoryPoint(0, [9.0] * 6), t)
    assert control.tool.active
    control.accept_trajectory(rd.plan_move(arm, control.reference[0], START, duration=1.0), t)
    cycles(600)
    assert not control.tool.active
    control.accept_twist([0.0, 0.0, 0.5], [0.0, 0.0, 0.0], t)
    cycles(100)
    control.hold(t)
    cycles(400)
    assert control.mode is rd.Mode.HOLD
    q = np.array(rows)[:, 0]
    v = np.array(rows)[:, 1]
    largest = arm.velocity_limit / 0.25
    assert (np.abs(np.diff(v, axis=0)) <= largest * 1e-3 * 1.01).all()
    np.testing.assert_allclose(np.diff(q, axis=0) / 1e-3, 0.5 * (v[1:] + v[:-1]), atol=1e-2)
    assert not v[-1].any()


def test_the_compiled_reference_is_the_written_one():
    arm = rd.load_robot("seven_axis")
    both = [rd.ToolReference(arm, compiled=compiled) for compiled in (True, False)]
    for tool in both:
        tool.limit(arm.lower, arm.upper, arm.velocity_limit, arm.velocity_limit / 0.25)
        tool.begin(0, SEVEN, np.zeros(7))
        pose = tool.memory["pose"].copy()
        # into the limits
        tool.to_pose(pose[:3] + 0.3, pose[3:], 0)
        run(tool, 0, 400 * MS, 4 * MS)
    # accelerations are differences of velocities, so they are compared as these
    step = 4e-3
    scale = np.array([1.0, 1.0, 2.0 * step, 1.0, 1.0, 1.0, 1.0, 1.0])[:, None]
    np.testing.assert_allclose(scale * both[0].piece, scale * both[1].piece, rtol=0, atol=1e-9)


def test_a_disturbed_stream_steps_the_effort_at_most_twice_as_an_even_one():
    """Poses at 30 Hz; 10 ms of jitter, one in ten lost, one in twenty twice."""
    steps = []
    for disturbed in (False, True):
        arm, tool = tool_of()
        start = tool.memory["pose"].copy()
        rng = np.random.default_rng(0)
        arrivals = []
        for k in range(90):
            meant = 1 + 33 * k
            late = 0
            copies = 1
            if disturbed:
                late = int(rng.uniform(0.0, 10.0))
                copies = rng.choice([0, 1, 2], p=[0.1, 0.85, 0.05])
            arrivals += [(meant + late, meant)] * copies
        efforts = []
        for k in range(1, 2970):
            while arrivals and arrivals[0][0] <= k:
                _, meant = arrivals.pop(0)
                phase = 2e-3 * meant
                place = start[:3] + 0.05 * np.array([np.cos(phase) - 1.0, np.sin(phase), 0.0])
                try:
                    tool.to_pose(place, start[3:], k * MS, stamp=meant * MS)
                except rd.TrajectoryRejected:
                    assert disturbed
            tool.follow(k * MS)
            motion = tool.piece[0], tool.piece[1], 2.0 * tool.piece[2]
            efforts.append(rd.inverse_dynamics(arm, *motion))
        steps.append(np.abs(np.diff(efforts[1000:], axis=0)).max())
    assert steps[1] < 2.0 * steps[0], steps


@pytest.mark.parametrize(
    ("name", "q", "seed"),
    [("seven_axis", SEVEN, 12), ("seven_axis", SEVEN, 30), ("six_axis", START, 25)],
)
def test_home_is_reached_where_the_straight_way_is_blocked(name, q, seed):
    """Before a joint limit or a singular pose; a target out of reach makes nobody go back."""
    arm, tool = tool_of(name, q)
    home = tool.memory["pose"].copy()
    rng = np.random.default_rng(seed)
    far = home[:3] + 0.4 * rng.normal(size=3)
    turn = home[3:] + (1.0 if seed % 2 else 0.3) * rng.normal(size=4)
    tool.to_pose(far, turn / np.linalg.norm(turn), 0)
    t, _, _ = run(tool, 0, 3 * NANOSECONDS, 2 * MS)
    assert tool.p.retreat[0] == 0.0
    tool.to_pose(home[:3], home[3:], t)
    t, rows, poses = run(tool, t, 4 * NANOSECONDS, 2 * MS)
    assert np.abs(pose_difference(home, poses[-1])).max() < 1e-3
    assert (rows[:, 0] <= arm.upper).all()
    assert (rows[:, 0] >= arm.lower).all()
    assert (np.abs(rows[:, 1]) <= 0.9 * arm.velocity_limit + 1e-9).all()
    assert (np.abs(rows[:, 2]) <= arm.velocity_limit / 0.25 * (1 + 1e-9)).all()


@pytest.mark.parametrize("lead", [0.0, 0.3])
def test_a_path_is_the_complete_spline_through_its_points(lead):
    """SciPy's spline is the oracle."""
    _, tool = tool_of()
    home = tool.memory["pose"].copy()
    times = lead + np.array([0.0, 0.2, 0.5, 0.6, 0.9])
    points = home[:3] + 0.01 * np.sin(np.arange(15.0).reshape(5, 3))
    start = Rotation.from_quat(home[3:])
    turns = [Rotation.from_rotvec(0.05 * k * np.array([1.0, 0.5, -1.0])) for k in range(5)]
    path = rd.ToolPath.of(times, points, [(x * start).as_quat() for x in turns])
    tool.on_path(path, 0)
    knots = times
    if lead > 0.0:
        knots = np.append(0.0, times)
        points = np.vstack([home[:3], points])
    curve = CubicSpline(knots, points, bc_type="clamped")
    for k in range(1, int(NANOSECONDS * times[-1] / MS)):
        tool.follow(k * MS)
        np.testing.assert_allclose(tool.memory["goal"][:3], curve(1e-3 * k), atol=1e-9)


@pytest.mark.parametrize("period", [MS, 4 * MS])
def test_on_a_path_the_tool_is_where_it_should_be_at_that_time(period):
    """Not a step ahead of it: at 0.2 m/s that would be 0.2 or 0.8 mm."""
    _, tool = tool_of()
    home = tool.memory["pose"].copy()
    times = np.arange(1, 11) * 0.1
    way = np.array([-0.2, 0.0, 0.0])
    points = home[:3] + np.maximum(times - 0.3, 0.0)[:, None] * way
    twists = np.zeros((10, 6))
    twists[3:, 3:] = way
    turns = [home[3:]] * 10
    tool.on_path(rd.ToolPath.of(times, points, turns, twists), 0)
    _, _, poses = run(tool, 0, 900 * MS, period)
    desired = home[:3] + 0.6 * way
    np.testing.assert_allclose(poses[-1, :3], desired, atol=5e-5)
