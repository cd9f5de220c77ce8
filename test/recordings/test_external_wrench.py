"""External wrenches recorded beside joint states, in any frame; observers and points from the
command line; errors.
"""

from __future__ import annotations

import csv

import numpy as np
import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.cli.main import main
from robot_dynamics_ros.recordings import (
    ExternalWrench,
    Recording,
    Settings,
    compute,
    read_csv_wrench,
)

MODEL = rd.load_robot("three_link")
NAMES = MODEL.joint_names
TIP = MODEL.link_names[-1]
T = 0.01 * np.arange(300) + 2.0
SWAP = [3, 4, 5, 0, 1, 2]
COMPONENTS = ("force.x", "force.y", "force.z", "torque.x", "torque.y", "torque.z")


def motion_at(t):
    A = np.array([0.5, 0.4, 0.7])
    w = np.array([1.1, 1.7, 0.6])
    x = w * np.asarray(t)[:, None]
    return A * np.sin(x), A * w * np.cos(x), -A * w * w * np.sin(x)


def load_at(t):
    """[moment; force] that a sensor reads."""
    t = np.asarray(t)
    return np.column_stack(
        [np.sin(t), 0.2 * t, np.cos(2 * t), 5 * np.sin(t), 3 + 0 * t, 10 * np.cos(t)]
    )


def recording(external=(), t=T):
    q, v, _ = motion_at(t)
    return Recording("test", NAMES, t, q, v, None, np.arange(len(t)) + 1, external=tuple(external))


#: name → (frame of the sensor, its placement in the world at each state)
FRAMES = {
    "link": (None, lambda q: rd.link_pose(MODEL, q, TIP)),
    "other link": (MODEL.link_names[1], lambda q: rd.link_pose(MODEL, q, MODEL.link_names[1])),
    "plate": (
        rd.Frame("world", pose=(0.4, -0.2, 0.1)),
        lambda q: np.block(
            [[np.eye(3), np.array([[0.4], [-0.2], [0.1]])], [np.zeros((1, 3)), 1.0]]
        ),
    ),
}


@pytest.mark.parametrize("name", FRAMES)
def test_any_frame_gives_the_wrench_of_the_same_push(name):
    frame, placed = FRAMES[name]
    history = compute(
        MODEL, recording([ExternalWrench(TIP, T, load_at(T), frame)]), Settings(window=0.15)
    )
    for k in (0, 77, len(history.t) - 1):
        q = history.q[k]
        v = history.v[k]
        a = history.a[k]
        t = history.t[k]
        pose = placed(q)
        tip = rd.link_pose(MODEL, q, TIP)
        m = pose[:3, :3] @ load_at([t])[0, :3]
        f = pose[:3, :3] @ load_at([t])[0, 3:]
        # the same push as a Wrench about the world's origin, turned by the wrench's own methods
        push = rd.Wrench(f, m + np.cross(pose[:3, 3], f), (0.0, 0.0, 0.0), "world")
        external = {TIP: push}
        np.testing.assert_allclose(
            history.efforts[k], rd.inverse_dynamics(MODEL, q, v, a, external=external), atol=1e-9
        )
        expected = rd.joint_wrenches(MODEL, q, v, a, external=external)
        np.testing.assert_allclose(history.wrenches[k], expected, atol=1e-9)
        # and its power is that of the tip's motion
        twist = tip[:3, :3] @ history.external[TIP][k, 3:] - f
        np.testing.assert_allclose(twist, 0.0, atol=1e-9)


def test_the_wrench_has_times_of_its_own_and_rows_without_it_are_left_out():
    own = np.arange(2.5, 4.0, 0.003)
    keep = (own < 3.0) | (own > 3.2)
    wrench = ExternalWrench(TIP, own[keep], load_at(own[keep]))
    history = compute(MODEL, recording([wrench, wrench]), Settings(window=0.15))
    np.testing.assert_allclose(history.external[TIP], 2.0 * load_at(history.t), atol=1e-4)
    assert history.t[0] >= 2.5 and history.t[-1] <= 4.0
    assert not ((history.t > 3.0) & (history.t < 3.2)).any()
    assert len(history.bad) > 100 and "external wrench" in history.bad[0].why
    with pytest.raises(rd.ArgumentError, match="clock"):
        compute(
            MODEL,
            recording([ExternalWrench(TIP, own + 100.0, load_at(own))]),
            Settings(window=0.15),
        )


def write(path, columns):
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(columns)
        out.writerows(np.column_stack(list(columns.values())).tolist())
    return str(path)


def joint_columns():
    return {"t": T} | dict(zip(NAMES, motion_at(T)[0].T, strict=True))


def table_of(path):
    with open(path, newline="") as file:
        head, *rows = list(csv.reader(file))
    return dict(zip(head, np.array(rows, dtype=float).T, strict=True))


@pytest.mark.parametrize("kind", ["columns", "file", "bag"])
def test_from_the_command_line(tmp_path, kind):
    measured = load_at(T)[:, SWAP]
    columns = joint_columns()
    if kind == "columns":
        columns |= {f"ft.{c}": x for c, x in zip(COMPONENTS, measured.T, strict=True)}
    source = ["--csv", write(tmp_path / "in.csv", columns)]
    given = "ft"
    if kind == "file":
        short = ("fx", "fy", "fz", "mx", "my", "mz")
        given = write(
            tmp_path / "plate.csv", {"time": T} | dict(zip(short, measured.T, strict=True))
        )
    if kind == "bag":
        source = ["--bag", bag(tmp_path / "bag", measured)]
        given = "/ft/wrench"
    out = tmp_path / "out"
    command = [
        "wrenches",
        "three_link",
        *source,
        "--output",
        str(out),
        "--formats",
        "csv",
        "--window",
        "0.15",
    ]
    # the sensor measures what the robot pushes with, in the axes of another link, 0.1 m from its
    # origin
    command += [
        "--external",
        f"{TIP}=-{given}@{MODEL.link_names[1]}:0,0,0.1,0,0,1.5",
        "--joints",
        "all",
    ]
    assert main([*command, "--expressed-in", "world", "--reduced-at", f"{TIP}:0.1,0,0"]) == 0
    found = table_of(out / "wrenches.csv")
    frame = rd.Frame(MODEL.link_names[1], pose=rd.Pose.from_rpy((0, 0, 0.1), (0, 0, 1.5)))
    own = recording([ExternalWrench(TIP, T, -load_at(T), frame)])
    settings = Settings(
        "all",
        expressed_in="world",
        reduced_at=(TIP, (0.1, 0.0, 0.0)),
        window=0.15,
        velocity="positions",
    )
    expected = compute(MODEL, own, settings)
    np.testing.assert_allclose(found["t"], expected.t, atol=1e-9)
    for i, joint in enumerate(expected.joints):
        for c, k in zip(COMPONENTS, SWAP, strict=True):
            np.testing.assert_allclose(
                found[f"{joint}.wrench.{c}"], expected.wrenches[:, i, k], atol=1e-6
            )
    assert f"external.{TIP}.force.x" in found


def bag(path, measured):
    pytest.importorskip("rosbags")
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_HUMBLE)
    kinds = (
        "sensor_msgs/msg/JointState",
        "geometry_msgs/msg/WrenchStamped",
        "geometry_msgs/msg/Wrench",
    )
    State, Stamped, Wrench = (store.types[n] for n in kinds)
    Vector, Header, Time = (
        store.types[n]
        for n in ("geometry_msgs/msg/Vector3", "std_msgs/msg/Header", "builtin_interfaces/msg/Time")
    )
    q = motion_at(T)[0]
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        states = writer.add_connection("/joint_states", State.__msgtype__, typestore=store)
        wrenches = writer.add_connection("/ft/wrench", Stamped.__msgtype__, typestore=store)
        for k, t in enumerate(T):
            stamp = round(t * 1e9)
            header = Header(Time(*divmod(stamp, 10**9)), "")
            none = np.array([])
            writer.write(
                states,
                stamp,
                store.serialize_cdr(
                    State(header, list(NAMES), q[k], none, none), State.__msgtype__
                ),
            )
            wrench = Wrench(Vector(*measured[k, :3].tolist()), Vector(*measured[k, 3:].tolist()))
            message = Stamped(Header(Time(*divmod(stamp, 10**9)), TIP), wrench)
            writer.write(wrenches, stamp, store.serialize_cdr(message, Stamped.__msgtype__))
    return str(path)


def test_an_observer_with_a_place_of_its_own(tmp_path):
    source = write(tmp_path / "in.csv", joint_columns())
    out = tmp_path / "out"
    command = [
        "wrenches",
        "three_link",
        "--csv",
        source,
        "--output",
        str(out),
        "--formats",
        "csv",
        "--window",
        "0.15",
    ]
    assert (
        main(
            [
                *command,
                "--balance",
                NAMES[2],
                "--observer",
                f"{MODEL.link_names[1]}:0.1,0.2,0.3,0.4,0,0",
            ]
        )
        == 0
    )
    found = table_of(out / "wrenches.csv")
    frame = rd.Frame(MODEL.link_names[1], pose=rd.Pose.from_rpy((0.1, 0.2, 0.3), (0.4, 0.0, 0.0)))
    q, v, a = (
        np.column_stack([found[f"{n}.{w}"] for n in NAMES])
        for w in ("position", "velocity", "acceleration")
    )
    balance = rd.wrench_balance(MODEL, q, v, a, MODEL.joint(NAMES[2]).child, observer=frame)
    for part in ("joint", "coriolis", "centrifugal", "dynamic"):
        for c, k in zip(COMPONENTS, SWAP, strict=True):
            np.testing.assert_allclose(
                found[f"{NAMES[2]}.{part}.{c}"], balance[part][:, k], atol=1e-9
            )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"{TIP}", "LINK=SOURCE"),
        ("moon=ft", "moon"),
        (f"{TIP}=ft@moon", "moon"),
        (f"{TIP}=ft@world:1,2", "X,Y,Z"),
        (f"{TIP}=nothing", "no column holds"),
    ],
)
def test_what_is_no_external_wrench_is_refused(tmp_path, capsys, text, words):
    columns = joint_columns() | {
        f"ft.{c}": x for c, x in zip(COMPONENTS, load_at(T).T, strict=True)
    }
    source = write(tmp_path / "in.csv", columns)
    assert (
        main(
            [
                "wrenches",
                "three_link",
                "--csv",
                source,
                "--output",
                str(tmp_path / "o"),
                "--external",
                text,
            ]
        )
        == 2
    )
    assert words in capsys.readouterr().err


def test_a_plate_that_measures_one_force(tmp_path):
    path = write(tmp_path / "plate.csv", {"t": T, "plate.force.z": 1.0 + T})
    found = read_csv_wrench(path, TIP, "plate", sign=-1.0)
    np.testing.assert_allclose(found.wrench[:, 5], -1.0 - T)
    assert not found.wrench[:, :5].any()


@pytest.mark.parametrize("velocities", [False, True], ids=["positions", "velocities"])
def test_standard_errors_are_those_of_repeated_recordings(velocities):
    rng = np.random.default_rng(0)
    q, v, _ = motion_at(T)
    runs = []
    last = None
    for _ in range(60):
        noisy_q = q + (1e-5 if not velocities else 1e-2) * rng.standard_normal(q.shape)
        noisy_v = v + 1e-3 * rng.standard_normal(q.shape) if velocities else None
        if velocities:
            noisy_q = q
        own = Recording("test", NAMES, T, noisy_q, noisy_v, None, np.arange(len(T)))
        how = "recorded" if velocities else "positions"
        last = compute(MODEL, own, Settings(window=0.15, velocity=how, uncertainty=True))
        runs.append((last.efforts, last.wrenches))
    for k, errors in enumerate((last.effort_errors, last.wrench_errors)):
        spread = np.std([run[k] for run in runs], axis=0)
        big = errors > 0.05 * errors.max()
        ratio = (spread[big] ** 2).sum() / (errors[big] ** 2).sum()
        assert 0.8 < ratio < 1.25
