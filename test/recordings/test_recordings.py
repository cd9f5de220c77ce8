"""Reading recordings, derivatives, and the subcommand that turns joint states into wrenches."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from scipy.signal import savgol_filter

import robot_dynamics_ros as rd
from robot_dynamics_ros import recordings
from robot_dynamics_ros.cli.main import main
from robot_dynamics_ros.recordings.compute import Settings, compute
from robot_dynamics_ros.recordings.read_bag import read_bag
from robot_dynamics_ros.recordings.read_csv import read_csv
from robot_dynamics_ros.recordings.recording import Recording
from robot_dynamics_ros.recordings.smoothing import derivatives, segments, smooth_motion

MODEL = rd.load_robot("three_link")
NAMES = MODEL.joint_names


def motion_at(t):
    """Known position, velocity and acceleration."""
    A = np.array([0.5, 0.4, 0.7])
    w = np.array([1.1, 1.7, 0.6])
    phase = np.array([0.1, 0.5, 0.9])
    x = w * np.asarray(t)[:, None] + phase
    return A * np.sin(x), A * w * np.cos(x), -A * w * w * np.sin(x)


def times(n=400, seed=0):
    """About 100 Hz, with jitter."""
    return np.arange(n) * 0.01 + np.random.default_rng(seed).uniform(-1e-3, 1e-3, n) + 5.0


def write_rows(path, t, *fields, head=None, edit=lambda k, row: row):
    words = ("position", "velocity", "effort")[: len(fields)]
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(head or ["t", *(f"{name}.{word}" for word in words for name in NAMES)])
        for k in range(len(t)):
            out.writerow(edit(k, [t[k], *np.concatenate([field[k] for field in fields])]))
    return path


# -- derivatives -----------------------------------------------------------------------------------


@pytest.mark.parametrize("window, order", [(5, 2), (11, 3), (21, 4)])
def test_on_even_times_it_is_savitzky_golay(window, order):
    rng = np.random.default_rng(1)
    t = np.arange(200) * 0.02
    x = rng.normal(size=(200, 3))
    found = derivatives(t, x, window=window, order=order)
    for k in range(3):
        expected = savgol_filter(x, window, order, deriv=k, delta=0.02, axis=0, mode="interp")
        np.testing.assert_allclose(found[k], expected, atol=1e-9 * max(1.0, np.abs(expected).max()))


def test_on_uneven_times_polynomials_are_exact():
    t = np.cumsum(np.random.default_rng(2).uniform(0.5, 1.5, 100)) * 0.01
    x = np.stack([1 + 2 * t - 3 * t**2 + 4 * t**3, t**2], axis=-1)
    value, first, second = derivatives(t, x, window=15, order=3)
    np.testing.assert_allclose(value, x, atol=1e-10)
    np.testing.assert_allclose(first, np.stack([2 - 6 * t + 12 * t**2, 2 * t], axis=-1), atol=1e-8)
    np.testing.assert_allclose(second, np.stack([-6 + 24 * t, 2 + 0 * t], axis=-1), atol=1e-6)


def test_no_polynomial_reaches_across_a_gap():
    t = np.concatenate([np.arange(50), 1000 + np.arange(50), 3000 + np.arange(2)]) * 0.01
    x = np.where(t < 5.0, t, 100.0 - t)[:, None]
    assert [(s.start, s.stop) for s in segments(t)] == [(0, 50), (50, 100), (100, 102)]
    _, first, second = derivatives(t, x, window=21, order=3)
    np.testing.assert_allclose(first[:50], 1.0, atol=1e-9)
    np.testing.assert_allclose(first[50:100], -1.0, atol=1e-9)
    assert np.isnan(first[100:]).all()
    assert np.isnan(second[100:]).all()


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"window": 0.0}, "window"),
        ({"window": np.nan}, "window"),
        ({"order": 30}, "order"),
        ({"order": 1}, "order"),
    ],
)
def test_windows_and_orders_that_do_not_fit(arguments, words):
    with pytest.raises(rd.ArgumentError, match=words):
        smooth_motion(rd.load_robot("two_link"), np.arange(50.0), np.zeros((50, 2)), **arguments)


@pytest.mark.parametrize("t", [[0, 1, 1, 2], [0, 2, 1, 3], [0, 1, np.nan, 3]])
def test_time_that_does_not_go_on(t):
    with pytest.raises(rd.ArgumentError, match="times do not increase"):
        derivatives(np.array(t, dtype=float), np.zeros((4, 1)), window=3, order=2)


# -- reading ---------------------------------------------------------------------------------------


def test_bad_rows_are_known_by_number(tmp_path):
    t = times(50)
    q, v, _ = motion_at(t)

    def spoil(k, row):
        if k == 5:
            row[2] = "nan"
        if k == 7:
            row[0] = t[6]
        if k == 9:
            row = row[:3]
        if k == 11:
            row[1] = "one"
        if k == 13:
            row[0] = "inf"
        if k == 15:
            row[5] = ""
        return row

    path = write_rows(tmp_path / "in.csv", t, q, v, edit=spoil)
    recording = read_csv(path, MODEL)
    assert [bad.number for bad in recording.bad] == [7, 9, 11, 13, 15, 17]
    words = [
        "position of joint",
        "does not come after",
        "only 3 cells",
        "'one'",
        "time is inf",
        "velocities are missing",
    ]
    for bad, word in zip(recording.bad, words, strict=True):
        assert word in bad.why
    assert len(recording) == 44
    np.testing.assert_array_equal(recording.q, q[recording.rows - 2])
    np.testing.assert_array_equal(recording.v, v[recording.rows - 2])
    with pytest.raises(rd.ArgumentError, match=r"in\.csv: row 7: the position of joint"):
        read_csv(path, MODEL, on_bad="refuse")


@pytest.mark.parametrize(
    "head",
    [
        ["time", *NAMES],
        ["stamp", *(f"/joint_states/{n}/position" for n in NAMES)],
        ["t", *(f"q_{n}" for n in NAMES)],
        ["__time", *(f"{n}_position" for n in NAMES)],
        ["t", *(f"robot.{n}.pos" for n in NAMES)],
    ],
)
def test_heads_as_people_and_tools_write_them(tmp_path, head):
    t = times(20)
    q, _, _ = motion_at(t)
    recording = read_csv(write_rows(tmp_path / "in.csv", t, q, head=head), MODEL)
    np.testing.assert_array_equal(recording.q, q)
    assert recording.v is None
    assert recording.effort is None


@pytest.mark.parametrize(
    "text, words",
    [
        ("", "empty"),
        ("t,a,b\n1,2,3\n", "position of joint"),
        (f"{','.join(NAMES)}\n1,2,3\n", "holds? the time"),
        (f"t,time,{','.join(NAMES)}\n1,1,1,2,3\n", "several columns"),
        (f"t,{','.join(NAMES)}\n", "no usable row"),
        (f"t,{','.join(NAMES)}\nx,1,2,3\n", "row 2"),
        (f"t,{','.join(NAMES)},{NAMES[0]}\n0,1,2,3,4\n", "both hold"),
    ],
)
def test_files_that_cannot_be_used(tmp_path, text, words):
    path = tmp_path / "in.csv"
    path.write_text(text)
    with pytest.raises(rd.ArgumentError, match=words):
        read_csv(path, MODEL)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(rd.ArgumentError, match="cannot be read"):
        read_csv(tmp_path / "nothing.csv", MODEL)
    binary = tmp_path / "binary.csv"
    binary.write_bytes(bytes(range(256)) * 10)
    with pytest.raises(rd.ArgumentError, match="cannot be read"):
        read_csv(binary, MODEL)


def test_bags_that_cannot_be_read(tmp_path):
    pytest.importorskip("rosbags")
    with pytest.raises(rd.ArgumentError, match="no such file"):
        read_bag(tmp_path / "nothing.mcap", MODEL)
    broken = tmp_path / "broken.mcap"
    broken.write_bytes(b"\x89MCAP0\r\n" + bytes(50))
    with pytest.raises(rd.ArgumentError, match="cannot be read as a bag"):
        read_bag(broken, MODEL)


# -- computing -------------------------------------------------------------------------------------


def recorded(t, velocities=True, effort=None):
    q, v, _ = motion_at(t)
    return Recording("test", NAMES, t, q, v if velocities else None, effort, np.arange(len(t)) + 1)


@pytest.mark.parametrize("velocities, tolerance", [(True, 1e-3), (False, 2e-2)])
def test_wrenches_of_a_known_motion(velocities, tolerance):
    t = times()
    q, v, a = motion_at(t)
    history = compute(MODEL, recorded(t, velocities), Settings(joints="all", window=0.15))
    rows = history.rows - 1
    # not those whose acceleration comes from an edge
    np.testing.assert_array_equal(rows, np.arange(3, 397))
    expected = rd.joint_wrenches(MODEL, q, v, a, joints="all")[rows]
    np.testing.assert_allclose(history.wrenches, expected, atol=tolerance * np.abs(expected).max())
    tau = rd.inverse_dynamics(MODEL, q, v, a)[rows]
    np.testing.assert_allclose(history.efforts, tau, atol=tolerance * np.abs(tau).max())


def test_accelerations_by_the_model_from_recorded_efforts():
    t = times()
    q, v, a = motion_at(t)
    tau = rd.inverse_dynamics(MODEL, q, v, a) + MODEL.damping * v + MODEL.friction * np.sign(v)
    history = compute(MODEL, recorded(t, True, tau), Settings(acceleration="model", friction=True))
    np.testing.assert_allclose(history.a, a, atol=1e-9)
    np.testing.assert_allclose(history.efforts, tau, atol=1e-9)
    with pytest.raises(rd.ArgumentError, match="efforts"):
        compute(MODEL, recorded(t), Settings(acceleration="model"))
    with pytest.raises(rd.ArgumentError, match="velocities"):
        compute(MODEL, recorded(t, False), Settings(velocity="recorded"))


def test_turns_of_continuous_joints_do_not_jump():
    limb = rd.limb(1)
    t = np.arange(300) * 0.01
    q = np.remainder(4.0 * t + np.pi, 2 * np.pi)[:, None] - np.pi
    history = compute(limb, Recording("test", limb.joint_names, t, q, None, None, np.arange(300)))
    np.testing.assert_allclose(history.v, 4.0, atol=1e-9)
    np.testing.assert_allclose(history.a, 0.0, atol=1e-6)


@pytest.mark.parametrize(
    "settings",
    [
        dict(joints=("elbow",)),
        dict(expressed_in="moon"),
        dict(balance="elbow"),
        dict(balance=NAMES[0], observer="moon"),
        dict(velocity="guessed"),
        dict(acceleration="guessed"),
    ],
)
def test_unknown_names(settings):
    with pytest.raises(rd.UnknownNameError):
        compute(MODEL, recorded(times(50)), Settings(**settings))


# -- the subcommand --------------------------------------------------------------------------------


def read_table(path):
    with open(path, newline="") as file:
        head, *rows = list(csv.reader(file))
    return head, np.array(rows, dtype=float)


def test_csv_in_everything_out(tmp_path, capsys):
    pytest.importorskip("rosbags")
    pytest.importorskip("matplotlib")
    t = times()
    q, v, a = motion_at(t)
    source = write_rows(
        tmp_path / "in.csv", t, q, v, edit=lambda k, row: ["", "", ""] if k == 50 else row
    )
    out = tmp_path / "out"
    assert (
        main(
            [
                "wrenches",
                "three_link",
                "--csv",
                str(source),
                "--output",
                str(out),
                "--joints",
                "all",
                "--balance",
                NAMES[2],
                "--observer",
                "world",
                "--window",
                "0.11",
            ]
        )
        == 0
    )
    told = capsys.readouterr()
    assert "395 rows" in told.out and "4 rows at the ends" in told.out
    assert "computing" in told.err
    head, rows = read_table(out / "wrenches.csv")
    joints = rd.all_joint_names(MODEL)
    assert head[2 : 2 + 3] == [f"{name}.position" for name in NAMES]
    assert f"{joints[-1]}.wrench.force.x" in head
    keep = np.delete(np.arange(len(t)), 50)[2:-2]
    np.testing.assert_array_equal(rows[:, 0], keep + 2)
    np.testing.assert_allclose(rows[:, 1], t[keep])
    first = head.index(f"{joints[0]}.wrench.force.x")
    wrenches = rows[:, first : first + 6 * len(joints)].reshape(-1, len(joints), 6)
    expected = rd.joint_wrenches(MODEL, q, v, a, joints="all")[keep]
    np.testing.assert_allclose(
        wrenches, expected[..., [3, 4, 5, 0, 1, 2]], atol=1e-3 * np.abs(expected).max()
    )
    for name in ("wrenches.png", "paths.png", "parts.png"):
        assert (out / name).read_bytes()[:4] == b"\x89PNG"

    # the bag holds the same, and can be read again: its efforts are joint states
    from rosbags.highlevel import AnyReader

    with AnyReader([out / "wrenches_bag"]) as reader:
        topics = {c.topic: c.msgcount for c in reader.connections}
        assert topics["/joint_efforts"] == 395
        assert topics[f"/wrench_parts/{NAMES[2]}/coriolis"] == 395
        chosen = [c for c in reader.connections if c.topic == f"/joint_wrenches/{joints[1]}"]
        for k, (connection, stamp, raw) in enumerate(reader.messages(connections=chosen)):
            message = reader.deserialize(raw, connection.msgtype)
            assert message.header.frame_id == MODEL.joint(joints[1]).child
            assert stamp == round(t[keep[k]] * 1e9)
            f = message.wrench.force
            m = message.wrench.torque
            np.testing.assert_array_equal([f.x, f.y, f.z, m.x, m.y, m.z], wrenches[k, 1])
    for path in (out / "wrenches_bag", next((out / "wrenches_bag").glob("*.mcap"))):
        again = read_bag(path, MODEL)
        np.testing.assert_array_equal(again.q, q[keep])
        assert again.effort is not None

    # a second run does not write over the first, unless asked to; and not before it is sure to have
    # something
    command = [
        "wrenches",
        "three_link",
        "--csv",
        str(source),
        "--output",
        str(out),
        "--formats",
        "csv",
    ]
    assert main(command) == 2
    assert "--overwrite" in capsys.readouterr().err
    source.write_text("t\n")
    assert main([*command, "--overwrite"]) == 2
    assert (out / "wrenches.csv").exists()


def test_bag_in_with_messages_of_all_kinds(tmp_path, capsys):
    """Joint order changes, another robot's joints come between, stamps are missing, rows are
    bad.
    """
    pytest.importorskip("rosbags")
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    types = get_typestore(Stores.ROS2_HUMBLE)
    State, Header, Time = (
        types.types[n]
        for n in (
            "sensor_msgs/msg/JointState",
            "std_msgs/msg/Header",
            "builtin_interfaces/msg/Time",
        )
    )
    t = times(120)
    q, v, _ = motion_at(t)
    path = tmp_path / "bag"
    with Writer(path, version=8, storage_plugin=StoragePlugin.MCAP) as writer:
        topics = [
            writer.add_connection(f"/{n}", State.__msgtype__, typestore=types)
            for n in ("joint_states", "other")
        ]

        def put(stamp, names, position, velocity, stamped=True, topic=topics[0]):
            seconds, nanoseconds = divmod(stamp, 10**9) if stamped else (0, 0)
            message = State(
                Header(Time(seconds, nanoseconds), ""),
                list(names),
                np.array(position, dtype=float),
                np.array(velocity, dtype=float),
                np.array([]),
            )
            writer.write(topic, stamp, types.serialize_cdr(message, State.__msgtype__))

        for k in range(len(t)):
            stamp = round(t[k] * 1e9)
            order = np.random.default_rng(k).permutation(3)
            names = [*(NAMES[i] for i in order), "finger"]
            put(stamp, names, [*q[k, order], np.nan], [*v[k, order], np.nan], stamped=bool(k % 2))
            put(stamp + 1, ["wheel"], [1.0], [2.0])
            if k == 60:
                put(stamp + 2, names[:2], q[k, :2], v[k, :2])
                put(stamp + 3, names, [*q[k, order]], [*v[k, order]])
        put(stamp, NAMES, [0, 0, 0], [0, 0, 0], topic=topics[1])
    recording = read_bag(path, MODEL)
    np.testing.assert_array_equal(recording.q, q)
    np.testing.assert_array_equal(recording.v, v)
    np.testing.assert_allclose(recording.t, t, atol=1e-9)
    assert recording.other == 120
    assert [bad.number for bad in recording.bad] == [123, 124]
    with pytest.raises(rd.UnknownNameError, match="joint_states"):
        read_bag(path, MODEL, topic="/states")
    assert len(read_bag(path, MODEL, topic="other")) == 1
    assert (
        main(
            [
                "wrenches",
                "three_link",
                "--bag",
                str(path),
                "--output",
                str(tmp_path / "out"),
                "--formats",
                "csv",
            ]
        )
        == 0
    )
    told = capsys.readouterr().out
    assert "row 123" in told
    assert "120 rows about joints of other robots" in told
    command = [
        "wrenches",
        "three_link",
        "--bag",
        str(path),
        "--output",
        str(tmp_path / "no"),
        "--bad-rows",
        "refuse",
    ]
    assert main(command) == 2
    assert "row 123" in capsys.readouterr().err
    assert not (tmp_path / "no").exists()


def test_joint_states_cannot_tell_of_floating_joints(tmp_path):
    floating = rd.load_urdf(rd.to_urdf(MODEL), floating_base=True)
    path = write_rows(tmp_path / "in.csv", times(20), motion_at(times(20))[0])
    with pytest.raises(rd.ArgumentError, match="floating"):
        read_csv(path, floating)


def test_a_simulated_run_is_written_and_drawn_as_a_recording_is(tmp_path):
    pytest.importorskip("rosbags", reason="bags need the extra bags")
    arm = rd.load_robot("three_link")
    run = rd.simulate(arm, q0=[0.3, -0.5, 0.4], duration=0.3, dt=1e-3, record_wrenches=True)
    history = recordings.of_run(run)
    recordings.write_csv(tmp_path / "run.csv", history)
    rows = list(csv.DictReader((tmp_path / "run.csv").open()))
    name = arm.joint_names[1]
    np.testing.assert_array_equal(
        [float(row[f"{name}.wrench.torque.y"]) for row in rows], run.wrenches[:, 1, 1]
    )
    np.testing.assert_array_equal([float(row[f"{name}.acceleration"]) for row in rows], run.a[:, 1])
    recordings.write_bag(tmp_path / "bag", history)
    again = recordings.read_bag(tmp_path / "bag", arm, topic="/joint_efforts")
    np.testing.assert_allclose(again.q, run.q, atol=1e-12)
    # a path is a point's way through the world, with its speed
    tip = max(history.paths)
    way = np.linalg.norm(np.diff(history.paths[tip], axis=0), axis=1)
    np.testing.assert_allclose(
        way, 1e-3 * 0.5 * (history.speeds[tip][1:] + history.speeds[tip][:-1]), atol=2e-6
    )
    assert not history.currents
    flying = rd.simulate(
        rd.load_robot("six_axis", floating_base=True), duration=0.002, friction=False, stops=None
    )
    with pytest.raises(rd.ArgumentError, match="floating"):
        recordings.of_run(flying)


def test_currents_of_motors_are_recorded_and_written(tmp_path):
    rosbags = pytest.importorskip("rosbags.highlevel", reason="bags need the extra bags")
    arm = rd.load_robot("two_link")
    motor = rd.DCMotor(torque_constant=0.05, resistance=0.8, inductance=1e-3, gear_ratio=50.0)
    name, plain = arm.joint_names
    run = rd.simulate(arm, lambda t, q, v: [6.0, 0.0], duration=0.05, motors={name: motor})
    assert list(run.currents) == [name] and run.currents[name].shape == run.t.shape
    # dry friction aside, the motor's effort is what its current makes
    np.testing.assert_allclose(run.tau[1:-1, 0], 50.0 * 0.05 * run.currents[name][1:-1], rtol=1e-9)
    assert run.currents[name][0] == 0.0 and run.currents[name].max() > 1.0
    history = recordings.of_run(run)
    recordings.write_csv(tmp_path / "run.csv", history)
    rows = list(csv.DictReader((tmp_path / "run.csv").open()))
    np.testing.assert_array_equal(
        [float(row[f"{name}.current"]) for row in rows], run.currents[name]
    )
    assert f"{plain}.current" not in rows[0]
    np.testing.assert_array_equal(read_csv(tmp_path / "run.csv", arm).q, run.q)
    recordings.write_bag(tmp_path / "bag", history)
    with rosbags.AnyReader([tmp_path / "bag"]) as bag:
        wanted = [c for c in bag.connections if c.topic == f"/motor_currents/{name}"]
        found = [bag.deserialize(raw, c.msgtype).data for c, _, raw in bag.messages(wanted)]
    np.testing.assert_array_equal(found, run.currents[name])
    assert not any("motor_currents" in c.topic and plain in c.topic for c in bag.connections)


def test_friction_that_is_left_out_is_named():
    arm = rd.load_robot("six_axis")
    t = np.linspace(0.0, 2.0, 401)
    q = arm.initial_configuration() + 0.3 * np.sin(2.0 * t)[:, None] * np.ones(6)
    v = 0.6 * np.cos(2.0 * t)[:, None] * np.ones(6)
    effort = rd.inverse_dynamics(
        arm, q, v, -4.0 * (q - arm.initial_configuration())
    ) + arm.friction * np.sign(v)
    recording = Recording.of(arm, t, q, v, effort)
    (note,) = [text for text in compute(arm, recording).notes if "friction" in text]
    assert "recorded efforts of" in note and "--friction adds it" in note
    assert not [
        text
        for text in compute(arm, recording, Settings(friction=True)).notes
        if "friction" in text
    ]
