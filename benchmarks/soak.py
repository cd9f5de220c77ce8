"""Simulator, effort gate and controller for an hour, with faults: ``python -m benchmarks.soak
[--seconds N] [--rate HZ …]``.

The arm moves to and fro.  Meanwhile this process does at random moments what goes wrong in the
course of years: states, trajectories, set-points, wrenches and commands of nonsense, a second
publisher, parameters and services asked for rightly and wrongly, listeners that come and go, a
process that is held up.  Memory, threads and file handles of the three nodes are read all along;
they must not grow, every effort that the robot gets must be finite and within its limits, and no
node may
end.  The exit code says whether all that held.  ``--together`` runs all rates at the same time,
each in a ROS domain of its own.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import _results
from benchmarks._ros import keep_to_this_machine, ros_missing

ROBOT = "six_axis"
CONTROLLER = "computed_torque_controller"
SIMULATOR = "robot_simulator"
GATE = "effort_gate"
#: Growth of a node's memory from a quarter of the time to its end that is put down to chance, MiB.
GROWTH = 3.0
#: Average time between two faults, s.
PAUSE = 0.5
#: Faults that make states or cycles stop on purpose.
STANDSTILLS = ("held_up", "pause", "transition")
# : Time after them in which a node's longest period, of its newest 2048 cycles, may still be
# theirs, s.
REMEMBERED = 6.0


class Use:
    """Memory, threads, file handles and processor time of a process over time."""

    def __init__(self, pid: int) -> None:
        self._folder = Path(f"/proc/{pid}")
        self.rows: list[tuple[float, float, int, int]] = []

    def read(self, now: float) -> None:
        status = dict(
            line.split(":", 1)
            for line in (self._folder / "status").read_text().splitlines()
            if ":" in line
        )
        memory = int(status["VmRSS"].split()[0]) / 1024
        self.rows.append(
            (now, memory, int(status["Threads"]), len(list((self._folder / "fd").iterdir())))
        )

    def processor_time(self) -> float:
        """Used so far, s."""
        fields = (self._folder / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def grown(self) -> tuple[float, int, int]:
        """MiB, threads and handles by which the last tenth of the time exceeds the tenth after its
        first quarter.
        """
        rows = np.array(self.rows)
        n = len(rows)
        early = rows[n // 4 : max(n // 4 + n // 10, n // 4 + 1)]
        late = rows[-max(n // 10, 1) :]
        memory = float(np.median(late[:, 1]) - np.median(early[:, 1]))
        return memory, *(int(np.median(late[:, k]) - np.median(early[:, k])) for k in (2, 3))  # type: ignore[return-value]


class Periods:
    """Times between the cycles of each node, as its diagnostics tell them once a second."""

    def __init__(self, node: Any) -> None:
        from diagnostic_msgs.msg import DiagnosticArray

        self.standstill = -math.inf
        self._rows: dict[str, list[tuple[float, float, float, bool]]] = {}
        node.create_subscription(DiagnosticArray, "/diagnostics", self._take, 10)

    def _take(self, message: Any) -> None:
        for status in message.status:
            values = {value.key: value.value for value in status.values}
            row = [
                float(values.get(f"period {label} [ms]") or math.nan)
                for label in ("median", "p99", "max")
            ]
            if all(math.isfinite(x) for x in row):
                name = status.name.split(":")[0].split("/")[-1]
                undisturbed = time.monotonic() > self.standstill + REMEMBERED
                self._rows.setdefault(name, []).append((row[0], row[1], row[2], undisturbed))

    def figures(self) -> dict[str, dict[str, float]]:
        """Name of a node → median of the medians and of the 99th percentiles, longest of all and
        longest without standstill.
        """
        found = {}
        for name, rows in self._rows.items():
            median, p99, longest, undisturbed = np.array(rows).T
            calm = longest[undisturbed > 0]
            found[name] = {
                "median": float(np.median(median)),
                "p99": float(np.median(p99)),
                "longest": float(longest.max()),
                "longest without a provoked standstill": float(calm.max())
                if len(calm)
                else math.nan,
                "windows without a provoked standstill": len(calm),
            }
        return found


class Trouble:
    """What goes wrong: each method without an underscore is a fault, chosen at random."""

    def __init__(self, node: Any, model: Any, nodes: dict[str, Any], seed: int) -> None:
        from geometry_msgs.msg import WrenchStamped
        from lifecycle_msgs.srv import ChangeState
        from rcl_interfaces.srv import GetParameters, ListParameters, SetParameters
        from sensor_msgs.msg import JointState
        from std_msgs.msg import Float64MultiArray
        from std_srvs.srv import SetBool, Trigger
        from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

        self.node = node
        self.model = model
        self.nodes = nodes
        self.names, self.home = list(model.joint_names), model.initial_configuration()
        self.dice = random.Random(seed)
        self.done: Counter[str] = Counter()
        self._paused = ""
        self._until = 0.0
        self._later: list[tuple[float, Callable[[], Any]]] = []
        self._out = {
            kind: node.create_publisher(kind, topic, depth)
            for kind, topic, depth in (
                (JointState, "joint_states", 1),
                (JointTrajectory, f"{CONTROLLER}/joint_trajectory", 5),
                (JointTrajectoryPoint, f"{CONTROLLER}/joint_references", 1),
                (WrenchStamped, f"{CONTROLLER}/external_wrench", 1),
            )
        }
        self._pushes = node.create_publisher(WrenchStamped, f"{SIMULATOR}/external_wrench", 1)
        self._command_type = Float64MultiArray
        self._clients = {
            name: node.create_client(kind, name)
            for kind, name in (
                (ChangeState, f"{CONTROLLER}/change_state"),
                (GetParameters, f"{CONTROLLER}/get_parameters"),
                (ListParameters, f"{SIMULATOR}/list_parameters"),
                (SetParameters, f"{CONTROLLER}/set_parameters"),
                (Trigger, f"{CONTROLLER}/hold"),
                (Trigger, f"{GATE}/reset"),
                (SetBool, f"{SIMULATOR}/set_pause"),
            )
        }
        self._faults = [
            getattr(self, name) for name in sorted(vars(type(self))) if not name.startswith("_")
        ]

    def _odd(self) -> float:
        return self.dice.choice([math.nan, math.inf, -math.inf, 1e300, 1e10, 0.0, -3.0, 0.4])

    def _some(self, n: int) -> list[float]:
        return [self._odd() for _ in range(n)]

    def _send(self, kind: str, **fields: Any) -> None:
        type_ = next(t for t in self._out if t.__name__ == kind)
        self._out[type_].publish(type_(**fields))

    def _call(self, name: str, **fields: Any) -> None:
        client = self._clients[name]
        if client.service_is_ready():
            client.call_async(client.srv_type.Request(**fields))

    def _step(self, now: float) -> bool:
        """Do what is due; whether it was a standstill."""
        for due, what in [x for x in self._later if x[0] <= now]:
            self._later.remove((due, what))
            what()
        if now > self._until:
            self._until = now + self.dice.expovariate(1.0 / PAUSE)
            fault = self.dice.choice(self._faults)
            self.done[fault.__name__] += 1
            fault()
            return fault.__name__ in STANDSTILLS
        return False

    def _after(self, seconds: float, what: Callable[[], Any]) -> None:
        self._later.append((time.monotonic() + seconds, what))

    def bad_state(self) -> None:
        n = len(self.names) - self.dice.choice([0, 0, 1])
        self._send(
            "JointState",
            name=self.names,
            position=self._some(n),
            velocity=self._some(len(self.names)),
        )

    def state_of_another_robot(self) -> None:
        self._send("JointState", name=["left", "right"], position=[0.0, 1.0])

    def bytes_for_a_state(self) -> None:
        next(p for t, p in self._out.items() if t.__name__ == "JointState").publish(
            self.dice.randbytes(80)
        )

    def motion(self) -> None:
        from builtin_interfaces.msg import Duration
        from trajectory_msgs.msg import JointTrajectoryPoint

        goal = self.home + self.dice.uniform(-0.4, 0.4)
        point = JointTrajectoryPoint(
            positions=goal.tolist(), velocities=[0.0] * len(goal), time_from_start=Duration(sec=2)
        )
        self._send("JointTrajectory", joint_names=self.names, points=[point])

    def long_motion(self) -> None:
        from trajectory_msgs.msg import JointTrajectoryPoint

        points = []
        for k in range(1, 3001):
            point = JointTrajectoryPoint(positions=(self.home + 0.2 * math.sin(k / 500)).tolist())
            point.time_from_start.sec, point.time_from_start.nanosec = divmod(
                k * 2_000_000 + 10**9, 10**9
            )
            points.append(point)
        self._send("JointTrajectory", joint_names=self.names, points=points)

    def bad_motion(self) -> None:
        from trajectory_msgs.msg import JointTrajectoryPoint

        n = self.dice.choice([0, 1, len(self.names)])
        point = JointTrajectoryPoint(positions=self._some(n), velocities=self._some(n))
        self._send(
            "JointTrajectory",
            joint_names=self.dice.choice([self.names, [], ["nobody"]]),
            points=[point],
        )

    def set_point(self) -> None:
        self._send(
            "JointTrajectoryPoint", positions=self._some(self.dice.choice([0, 1, len(self.names)]))
        )

    def wrench(self) -> None:
        from geometry_msgs.msg import WrenchStamped

        message = WrenchStamped()
        message.header.frame_id = self.dice.choice(["", "nobody", self.model.link_names[-1]])
        message.wrench.force.x = self.dice.choice([1.0, 5.0, self._odd()])
        self._out[WrenchStamped].publish(message)
        message.wrench.force.x = 2.0
        self._pushes.publish(message)

    def second_publisher(self) -> None:
        publisher = self.node.create_publisher(self._command_type, f"{GATE}/commands", 1)
        self._after(0.5, lambda: self.node.destroy_publisher(publisher))
        self._after(1.5, lambda: self._call(f"{GATE}/reset"))

    def listener(self) -> None:
        from diagnostic_msgs.msg import DiagnosticArray
        from geometry_msgs.msg import WrenchStamped

        made = [
            self.node.create_subscription(kind, topic, lambda _m: None, 10)
            for kind, topic in (
                (WrenchStamped, f"{CONTROLLER}/joint_wrenches/{self.names[0]}"),
                (WrenchStamped, f"{SIMULATOR}/joint_wrenches/{self.names[-1]}"),
                (DiagnosticArray, "/diagnostics"),
            )
        ]
        self._after(1.0, lambda: [self.node.destroy_subscription(x) for x in made])

    def hold(self) -> None:
        self._call(f"{CONTROLLER}/hold")

    def reset_gate(self) -> None:
        self._call(f"{GATE}/reset")

    def pause(self) -> None:
        from std_srvs.srv import SetBool

        assert SetBool
        self._call(f"{SIMULATOR}/set_pause", data=True)
        self._after(0.3, lambda: self._call(f"{SIMULATOR}/set_pause", data=False))

    def transition(self) -> None:
        from lifecycle_msgs.msg import Transition

        name = f"{CONTROLLER}/change_state"
        self._call(name, transition=Transition(id=self.dice.choice([1, 2, 3, 4, 99])))
        self._after(
            0.5, lambda: self._call(name, transition=Transition(id=Transition.TRANSITION_CONFIGURE))
        )
        self._after(
            1.0, lambda: self._call(name, transition=Transition(id=Transition.TRANSITION_ACTIVATE))
        )

    def parameters(self) -> None:
        from rcl_interfaces.msg import Parameter, ParameterValue

        self._call(f"{CONTROLLER}/get_parameters", names=["law", "joints", "nobody"])
        self._call(f"{SIMULATOR}/list_parameters")
        gain = self.dice.choice([80.0, 100.0, 120.0, self._odd()])
        value = ParameterValue(type=3, double_value=gain if not 1.0 < abs(gain) < 50.0 else 100.0)
        self._call(
            f"{CONTROLLER}/set_parameters",
            parameters=[Parameter(name=f"gains.{self.names[1]}.p", value=value)],
        )
        back = ParameterValue(type=3, double_value=100.0)
        self._after(
            0.4,
            lambda: self._call(
                f"{CONTROLLER}/set_parameters",
                parameters=[Parameter(name=f"gains.{self.names[1]}.p", value=back)],
            ),
        )

    def held_up(self) -> None:
        process = self.nodes[self.dice.choice(sorted(self.nodes))]
        process.send(signal.SIGSTOP)
        self._after(self.dice.choice([0.05, 0.2, 0.5]), lambda: process.send(signal.SIGCONT))


def soak(rate: float, seconds: float, seed: int) -> bool:
    """One run; prints what came of it and returns whether all is well."""
    import rclpy
    from rclpy.context import Context
    from rclpy.executors import SingleThreadedExecutor
    from rclpy.node import Node
    from rclpy.qos import qos_profile_sensor_data
    from sensor_msgs.msg import JointState

    import robot_dynamics_ros as rd
    from robot_dynamics_ros.cli.processes import NodeProcess
    from robot_dynamics_ros.ros.transport.cdr import JointStateReader, StateRejected

    model = rd.load_robot(ROBOT)
    context = Context()
    rclpy.init(args=[], context=context)
    node = Node("soak", context=context, enable_rosout=False, start_parameter_services=False)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    heard = Counter[str]()

    reader = JointStateReader(model.joint_names)

    def state(raw: bytes) -> None:
        try:
            reader.read(raw)
        except StateRejected:
            # one of our own
            return
        if not reader.stamp:
            # ours too
            return
        # NaN if there was none
        effort = reader.effort
        heard["states"] += 1
        if not np.isfinite(effort).all() or (np.abs(effort) > model.effort_limit + 1e-9).any():
            heard["efforts not finite or beyond the limit"] += 1
        heard["states with effort"] += bool(effort.any())

    node.create_subscription(JointState, "joint_states", state, qos_profile_sensor_data, raw=True)
    given = ["--ros-args", "-p", f"robot_description_file:={ROBOT}"]
    more = {
        "simulator": ["-p", f"update_rate:={rate}", "-p", "holding_brakes:=true"],
        "effort_gate": ["-p", "second_publisher:=stop"],
        "controller": ["-r", f"effort_controller/commands:={GATE}/commands"],
    }
    ended = []
    with tempfile.TemporaryDirectory() as folder:
        nodes = {
            name: NodeProcess(name, [*given, *extra], Path(folder) / f"{name}.log")
            for name, extra in more.items()
        }
        trouble = Trouble(node, model, nodes, seed)
        use = {name: Use(process.pid) for name, process in nodes.items()}
        periods = Periods(node)
        loads = []
        processor = {}
        begin = time.monotonic()
        sample = begin + 5.0
        try:
            while (now := time.monotonic()) < begin + seconds and not ended:
                executor.spin_once(timeout_sec=0.02)
                if trouble._step(now):
                    periods.standstill = now
                if now >= sample:
                    sample = now + max(seconds / 400, 1.0)
                    loads.append(os.getloadavg()[0])
                    for name, one in use.items():
                        one.read(now - begin)
                        processor[name] = one.processor_time() / (now - begin)
                ended = [name for name, process in nodes.items() if process.exit_code is not None]
        finally:
            for process in nodes.values():
                process.send(signal.SIGCONT)
                process.stop(signal.SIGTERM, 10.0)
        codes = {name: process.exit_code for name, process in nodes.items()}
        lines = {name: len(process.output().splitlines()) for name, process in nodes.items()}
        tracebacks = sum(process.output().count("Traceback") for process in nodes.values())
    executor.shutdown()
    node.destroy_node()
    context.try_shutdown()
    wrong = heard["efforts not finite or beyond the limit"]
    good = not wrong and not ended and not tracebacks and all(code == 0 for code in codes.values())
    figures: dict[str, Any] = {
        "rate": rate,
        "seconds": seconds,
        "load average": {"mean": float(np.mean(loads)), "largest": max(loads)},
        "faults": sum(trouble.done.values()),
        "kinds of faults": len(trouble.done),
        "states": heard["states"],
        "states with an effort": heard["states with effort"],
        "efforts not finite or beyond the limit": wrong,
        "tracebacks": tracebacks,
        "ended early": ended,
        "nodes": {},
        "period, ms": periods.figures(),
    }
    print(
        f"{rate:g} Hz, {seconds / 60:.1f} min, {figures['faults']} faults of {len(trouble.done)} "
        "kinds",
        end="",
    )
    print(f", load average {np.mean(loads):.1f}, at most {max(loads):.1f}")
    print(f"  states {heard['states']}, with an effort {heard['states with effort']}", end="")
    print(
        f", efforts not finite or beyond the limit {wrong}, tracebacks {tracebacks}, ended early "
        f"{ended or 'none'}"
    )
    for name, one in use.items():
        memory, threads, handles = one.grown()
        last = one.rows[-1]
        print(
            f"  {name:12} memory {last[1]:.1f} MiB, grown {memory:+.2f}; threads {last[2]}, "
            f"grown {threads:+d}; "
            f"file handles {last[3]}, grown {handles:+d}; {lines[name]} lines of log, exit code "
            f"{codes[name]}"
        )
        print(f"  {'':12} {100 * processor[name]:.0f} % of a processor")
        good = good and memory < GROWTH and threads <= 0 and handles <= 0
        figures["nodes"][name] = {
            "memory, MiB": last[1],
            "memory grown, MiB": memory,
            "threads": last[2],
            "threads grown": threads,
            "file handles": last[3],
            "file handles grown": handles,
            "share of a processor": processor[name],
            "lines of log": lines[name],
            "exit code": codes[name],
        }
    for name, row in figures["period, ms"].items():
        print(
            f"  {name}: time between cycles, ms: "
            + ", ".join(f"{key} {value:.4g}" for key, value in row.items())
        )
    figures["held"] = good
    _results.write(f"soak_{rate:g}", figures)
    print("  held" if good else "  DID NOT HOLD", flush=True)
    return good


def together(rates: list[float], seconds: float, seed: int) -> list[bool]:
    """One run at each rate, all at the same time; whether each was well."""
    first = int(os.environ["ROS_DOMAIN_ID"])
    runs = [
        subprocess.Popen(
            [
                sys.executable,
                "-m",
                "benchmarks.soak",
                f"--seconds={seconds}",
                f"--rate={rate:g}",
                f"--seed={seed}",
            ],
            env={**os.environ, "ROS_DOMAIN_ID": str(first + k)},
        )
        for k, rate in enumerate(rates)
    ]
    return [run.wait() == 0 for run in runs]


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.soak", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="length of the run at each rate"
    )
    parser.add_argument(
        "--rate", type=float, nargs="+", default=[500.0], help="joint states a second"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the faults")
    parser.add_argument(
        "--together", action="store_true", help="all rates at the same time, instead of one by one"
    )
    args = parser.parse_args()
    if ros_missing():
        return 0
    if not sys.platform.startswith("linux"):
        print("skipped: memory, threads and file handles are read from /proc")
        return 0
    keep_to_this_machine()
    if args.together:
        results = together(args.rate, args.seconds, args.seed)
    else:
        results = [soak(rate, args.seconds, args.seed) for rate in args.rate]
    return 0 if all(results) else 1


if __name__ == "__main__":
    raise SystemExit(main())
