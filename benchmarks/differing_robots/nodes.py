"""The five rows in the running nodes: controller and simulator in two processes, the robot moved by
MuJoCo.

    python -m benchmarks.differing_robots.nodes FOLDER

FOLDER holds fr3.urdf, ur10e.urdf and iiwa7.urdf, made from their vendors' xacro files.  The
controller reads that description and has its defaults; the simulator moves the robot of the row, at
half the pace of real time so that all states are seen here.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

import robot_dynamics_ros as rd
from benchmarks._results import write
from benchmarks._ros import keep_to_this_machine, ros_missing
from benchmarks.differing_robots.differences import Difference, Move
from benchmarks.differing_robots.rows import ROWS_RATE, known_rows, rows

SENT_AHEAD_NS = 200_000_000
"""ns between sending a move and its start."""
NODES_SETTLE = 1.5
NODES_PACE = 0.5
"""Simulated seconds a second."""


def run_row(
    difference: Difference, move: Move, place: Path
) -> tuple[float, float, tuple[str, ...]]:
    """Largest errors at the goal and on the way, mrad, and what the controller says of the
    description.
    """
    from robot_dynamics_ros.cli.processes import NodeProcess
    from robot_dynamics_ros.ros.controller.trajectory_messages import trajectory_message
    from robot_dynamics_ros.ros.demo_client import DemoClient

    truth = place / "truth.urdf"
    claim = place / "claim.urdf"
    truth.write_text(rd.to_urdf(difference.truth))
    claim.write_text(rd.to_urdf(difference.claim))
    model = difference.claim
    start = [
        word
        for name, q in zip(model.joint_names, move.start, strict=True)
        for word in ("-p", f"initial_positions.{name}:={float(q)!r}")
    ]
    simulator = NodeProcess(
        "simulator",
        [
            "--ros-args",
            "-p",
            f"robot_description_file:={truth}",
            "-p",
            "publish_description:=false",
            "-p",
            "engine:=mujoco",
            "-p",
            f"update_rate:={float(ROWS_RATE)}",
            "-p",
            f"real_time_factor:={NODES_PACE}",
            "-p",
            "holding_brakes:=true",
            *start,
        ],
        place / "simulator.log",
    )
    controller = NodeProcess(
        "controller",
        ["--ros-args", "-p", f"robot_description_file:={claim}"],
        place / "controller.log",
    )
    with simulator, controller, DemoClient(model) as client:
        if not client.spin_until(client.ready, 60.0):
            raise SystemExit(
                f"the nodes do not come up: {controller.log.read_text()} "
                f"{simulator.log.read_text()}"
            )
        held = client.state.stamp + 1_000_000_000
        client.spin_until(lambda: client.state.stamp >= held, 120.0)
        begin = client.state.stamp + SENT_AHEAD_NS
        times = np.arange(0.0, move.duration + 1e-9, 0.02)
        points = [np.array(rows) for rows in zip(*(move.at(t) for t in times), strict=True)]
        client.send(trajectory_message(model.joint_names, times, *points, begin))
        end = begin + round((move.duration + NODES_SETTLE) * 1e9)
        if not client.spin_until(lambda: client.state.stamp >= end, 300.0):
            raise SystemExit(f"the robot stands still: {controller.log.read_text()}")
        # the next diagnostics
        client.spin_until(lambda: False, 1.1)
        recording = client.recording(begin)
        gaps = client.gaps
    seen = np.count_nonzero(recording.t >= 0.0) / (ROWS_RATE * (move.duration + NODES_SETTLE))
    if seen < 0.95:
        raise SystemExit(
            f"only {seen:.0%} of the joint states were seen here: other processes take the machine"
        )
    error = 1e3 * np.abs(recording.q - np.array([move.at(t)[0] for t in recording.t])).max(1)
    end_of_move = move.duration + NODES_SETTLE - 0.2
    return (
        float(error[recording.t >= end_of_move].max()),
        float(error[recording.t >= 0.0].max()),
        gaps,
    )


def main() -> int:
    """Print one line a robot."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.differing_robots.nodes", description=__doc__
    )
    parser.add_argument("folder", type=Path, help="folder with fr3.urdf, ur10e.urdf and iiwa7.urdf")
    folder = parser.parse_args().folder
    if ros_missing():
        return 0
    keep_to_this_machine()
    out = []
    for told, robots in (("description only", rows), ("known within 30 %", known_rows)):
        for title, difference, move, _ in robots(folder):
            with tempfile.TemporaryDirectory() as place:
                goal, way, gaps = run_row(difference, move, Path(place))
            out.append({"robot": title, "told": told, "goal": goal, "way": way, "gaps": gaps})
            print(f"{told:20}{title:60}{goal:8.2f}{way:8.2f} mrad", *gaps, sep="\n    ", flush=True)
    write("differing_robots_nodes", {"rows": out})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
