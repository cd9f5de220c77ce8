"""``robot_dynamics demo``: simulator and controller in two processes, over the middleware, follow a
trajectory.
"""

from __future__ import annotations

import argparse
import dataclasses
import io
import os
import re
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from robot_dynamics_ros.cli.arguments import not_negative, option, output_directory, seed
from robot_dynamics_ros.cli.output import Figure, Progress, result, rows_as_data, table
from robot_dynamics_ros.cli.processes import NodeProcess, end_at_once
from robot_dynamics_ros.cli.rehearsal import (
    REHEARSAL_HEAD,
    all_robots,
    by_reason,
    path_bound,
    try_robots,
)
from robot_dynamics_ros.cli.robots import NamedRobot, add_robot, load_named, without_other_joints
from robot_dynamics_ros.control.kernels import check_controllable
from robot_dynamics_ros.control.reference.planning import (
    PlannedMotion,
    bearable_start,
    plan_motion,
    standing_joints,
)
from robot_dynamics_ros.dynamics import kinetic_energy, potential_energy
from robot_dynamics_ros.errors import ArgumentError, BackendError, RobotDynamicsError
from robot_dynamics_ros.model.arm_profile import load_arm_profile
from robot_dynamics_ros.model.description import Array, JointType
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.ros import arm_parameters
from robot_dynamics_ros.ros.installation import need_ros
from robot_dynamics_ros.simulation.plant import Plant
from robot_dynamics_ros.simulation.plots import plot_run
from robot_dynamics_ros.simulation.simulate import SimulationResult

if TYPE_CHECKING:
    from robot_dynamics_ros.ros.demo_client import DemoRecording

_DEFAULT = "six_axis"
# s from sending the trajectory to its start
_LEAD = 0.5
# s without a message that the nodes bear; a busy machine is not a broken robot
_SILENCE_BORNE_S = 2.0
# s after its end within which the robot must have arrived
_SETTLE = 3.0
# instants at which a path is looked at for its extent
_PATH_SAMPLES = 200
# s between two lines about something that is waited for
_SAY_AGAIN = 5.0
# s that the viewer gets to end by itself: on a busy machine its low priority makes that long
_VIEW_ENDS = 1.0
# s that the controller may take to accept or refuse a trajectory
_ANSWER = 5.0
_INSTALL = "viser is not installed (pip install 'robot_dynamics_ros[view]')"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot(parser, default=_DEFAULT)
    add = partial(option, parser)
    add("--output", output_directory, "directory for the picture and logs", Path("demo_output"))
    text = "duration of the motion in s (default: the shortest that the limits of the robot allow)"
    add("--duration", not_negative, text, 0.0)
    add(
        "--tolerance",
        not_negative,
        "largest position error at the end that counts as arrived, rad or m",
        0.01,
    )
    add("--seed", seed, "number that the random waypoints are drawn from", 7)
    add(
        "--all",
        None,
        "instead: run every fixed-base robot that ships with the package or with "
        "example-robot-data, offline, and "
        "print a table of the results",
    )
    text = (
        "profile of an arm, such as franka_fr3 or the path of a file: the simulator behaves as "
        "its driver does. Without a "
        "ROBOT its vendor's description is used, where that is installed"
    )
    add("--arm", str, text, "")
    add("--no-picture", None, "print the table only: no picture, no page to replay")
    add("--view", None, "open the live view in this machine's browser")
    add("--no-view", None, "no live view")
    add(
        "--no-wait",
        None,
        "end when the motion is over; without it, at a terminal, robot and view stay until Ctrl-C",
    )


def run(options: argparse.Namespace) -> int:
    """Run the demonstration; 0 if the robot arrived."""
    if options.all:
        return _all(options)
    need_ros("demo")
    _prepare_output(options.output)
    robot, model, arm_files = _robot(options)
    named = robot.file_for_nodes(options.output)
    # both nodes load the same robot; their gravity is in the root link's frame
    gravity = (model.base.rotation.T @ model.gravity + 0.0).tolist()
    loading = ["-p", f"gravity:={gravity}", "-p", f"inertia_check:={options.inertia_check}"]
    standing_at, elsewhere = _start_file(model, options.output)
    _keep_to_this_machine()
    from robot_dynamics_ros.ros.demo_client import DemoClient

    print(f"robot       {model.name}: {model.nv} degrees of freedom, {model.total_mass:.4g} kg")
    if elsewhere:
        print(f"start       elsewhere: {elsewhere}")
    with ExitStack() as stack:
        started: list[NodeProcess] = []

        def launch(node: str, *words: str) -> NodeProcess:
            files = arm_parameters.parameter_files(node, robot.path, arm_files)
            process = _node_process(node, files, [*words, *loading], options.output)
            started.append(process)
            stack.enter_context(process)
            stack.push(partial(_end_if_interrupted, started))
            return process

        described = ("-p", f"robot_description_file:={named}")
        controller = launch("controller", "-p", f"state_timeout:={_SILENCE_BORNE_S}")
        # left first: the controller, which would else let go of the arm before the last picture
        simulator = launch(
            "simulator", *described, *standing_at, "-p", f"command_timeout:={_SILENCE_BORNE_S}"
        )
        nodes = (simulator, controller)
        client = stack.enter_context(DemoClient(model))
        view = _view(options, named, robot.named)
        if view is not None:
            started.append(view.process)
            stack.enter_context(view)
        stack.push(partial(_end_if_interrupted, started))
        print(
            f"processes   simulator {simulator.pid}, controller {controller.pid}; "
            f"ROS domain {os.environ['ROS_DOMAIN_ID']}"
        )
        _wait_until_ready(client, nodes)
        if view is not None:
            view.announce()
        followed = _follow(client, model, options, nodes, view)
        # the controller's next report; the picture shows the arm at its goal
        client.spin_until(lambda: not _alive(nodes), 1.1)
        recording = client.recording(followed.stamp)
        _show(options, model, followed, recording, client.gaps)
        if view is not None:
            if _person_is_there() and not options.no_wait:
                _stay_open(view, nodes)
            view.close()
        codes = {node.name: node.stop() for node in nodes}
    clean = _ended_cleanly(codes, options.output)
    return 0 if followed.arrived and clean else 1


def _prepare_output(directory: Path) -> None:
    """Lines are seen as they are printed; the directory for files is there."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    directory.mkdir(parents=True, exist_ok=True)


def _keep_to_this_machine() -> None:
    """A domain of its own, on this machine only: the demonstration must not move a robot that
    happens to be in reach.
    """
    os.environ.setdefault("ROS_DOMAIN_ID", str(1 + os.getpid() % 100))
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"


def _node_process(
    node: str,
    files: Sequence[Path],
    words: Sequence[str],
    directory: Path,
) -> NodeProcess:
    """A node with these parameter files and words, its log in the directory."""
    named_files = chain.from_iterable(("--params-file", str(file)) for file in files)
    arguments = ["--ros-args", *named_files, *words]
    return NodeProcess(node, arguments, directory / f"{node}.log")


def _view(options: argparse.Namespace, file: str, name: str) -> LiveView | None:
    """The page that shows the robot, unless it is not wanted or its library is missing."""
    if options.no_view:
        return None
    if find_spec("viser") is None:
        print(f"view        none: {_INSTALL}")
        return None
    return LiveView(file, options.output / "viewer.log", options.view, name)


def _show(
    options: argparse.Namespace,
    model: RobotModel,
    followed: Followed,
    recording: DemoRecording,
    gaps: Sequence[str],
) -> None:
    """Print what happened, and draw it unless no picture is wanted."""
    _report(options, model, followed, recording)
    for gap in gaps:
        print(gap)
    if options.no_picture:
        return
    print("drawing     the picture and the page to replay; this takes some seconds", flush=True)
    _draw(_as_run(model, recording), followed.motion, options.output)


def _start_file(model: RobotModel, directory: Path) -> tuple[list[str], str]:
    """Words for a node that starts where the motors bear the arm, and why that is elsewhere than
    described; both empty where it starts as described.
    """
    start, elsewhere = bearable_start(model, model.initial_configuration())
    if not elsewhere:
        return [], ""
    path = directory / "start.yaml"
    places = dict(zip(model.joint_names, start.tolist(), strict=True))
    arm_parameters.write_parameters(path, {"initial_positions": places})
    return ["--params-file", str(path)], elsewhere


def _ended_cleanly(codes: Mapping[str, int], directory: Path) -> bool:
    """Whether all nodes ended with code 0; else the others are printed."""
    unclean = {name: code for name, code in codes.items() if code != 0}
    if unclean:
        print(f"the nodes did not end cleanly: {unclean}; see {directory}/*.log", file=sys.stderr)
    return not unclean


@dataclass(frozen=True)
class Followed:
    """A motion that was sent, the stamp of its start, ns, and what became of it."""

    motion: PlannedMotion
    stamp: int
    # why the robot has not arrived; "" if it has
    failure: str

    @property
    def arrived(self) -> bool:
        return not self.failure


def _end_if_interrupted(
    started: list[NodeProcess],
    kind: type[BaseException] | None,
    *_: object,
) -> bool:
    """An exit of a stack: a person who interrupts does not wait for nodes that still start."""
    if kind is not None and issubclass(kind, KeyboardInterrupt):
        end_at_once(started)
    return False


def _person_is_there() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


def _stay_open(view: LiveView, nodes: tuple[NodeProcess, ...]) -> None:
    """Leave robot and view as they are until Ctrl-C, or until one of them ends; a view that still
    loads is waited for.
    """
    try:
        view.wait()
        if not view.address:
            return
        print(f"open        the arm stands in {view.address}; Ctrl-C ends the demonstration")
        while _alive(nodes) and view.process.exit_code is None:
            time.sleep(0.2)
    except KeyboardInterrupt as error:
        # SIGTERM and SIGHUP end the command
        if type(error) is not KeyboardInterrupt:
            raise
        print("\nended")


def _cell(value: object) -> str:
    """A value as the table shows it."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.2g}"
    return str(value)


def _all(options: argparse.Namespace) -> int:
    """The table of all robots; 1 if one that was tried has not arrived."""
    robots = all_robots()
    with Progress("robots", len(robots)) as bar:
        tried = count()
        how = {
            name: getattr(options, name)
            for name in ("inertia_check", "duration", "tolerance", "seed")
        }
        rows = try_robots(robots, progress=lambda name: bar.update(next(tried), name), **how)
    shown = [[row[key] for key in REHEARSAL_HEAD] for row in rows]
    cells = [[_cell(x) for x in row] for row in shown]
    arrived = sum(row["arrived"] is True for row in rows)
    failed = [row["robot"] for row in rows if row["arrived"] is False]
    text = (
        f"{table(REHEARSAL_HEAD, cells)}\n\n{arrived} arrived, {len(failed)} did not, "
        f"{len(rows) - arrived - len(failed)} not tried"
    )
    result(options, {"robots": rows, "arrived": arrived, "failed": failed}, text)
    return 1 if failed else 0


def _robot(options: argparse.Namespace) -> tuple[NamedRobot, RobotModel, dict[str, Path]]:
    """The robot, its model as the demonstration leads it, and parameter files of its arm's profile
    for the nodes.
    """
    if not options.arm:
        robot = load_named(options)
        return robot, check_controllable(robot.model), {}
    profile = load_arm_profile(options.arm)
    files = arm_parameters.write_parameter_files(profile, options.output, simulated=True)
    if options.robot == _DEFAULT:
        options.robot = arm_parameters.vendor_description(profile)
    elif options.robot.endswith(".xacro"):
        options.xacro_arguments = {**profile.description.arguments, **options.xacro_arguments}
    robot = load_named(options)
    return robot, check_controllable(without_other_joints(robot.model, profile)), files


def _alive(nodes: tuple[NodeProcess, ...]) -> bool:
    for node in nodes:
        if node.exit_code is not None:
            text = (
                f"the {node.name} ended with exit code {node.exit_code}:\n{node.output()[-2000:]}"
            )
            raise RobotDynamicsError(
                text, where="demo", remedy=f"Its whole output is in {node.log}."
            )
    return True


def _wait_until_ready(client, nodes: tuple[NodeProcess, ...]) -> None:
    started = time.monotonic()

    def ready() -> bool:
        return _alive(nodes) and client.ready()

    up = client.spin_until(ready, 3.0)
    while not up and time.monotonic() - started < 63.0:
        seconds = time.monotonic() - started
        print(
            f"waiting     {seconds:.0f} s for simulator and controller, which load and compile "
            "the equations of this robot",
            flush=True,
        )
        up = client.spin_until(ready, _SAY_AGAIN)
    if not up:
        logs = "\n".join(f"--- {node.name}\n{node.output()[-1500:]}" for node in nodes)
        remedy = "The middleware may be unable to use this machine's network interfaces."
        raise RobotDynamicsError(
            f"the nodes did not come up within 63 s\n{logs}", where="demo", remedy=remedy
        )
    print(f"ready       after {time.monotonic() - started:.1f} s, the robot holds its position")


def _follow(
    client,
    model: RobotModel,
    options: argparse.Namespace,
    nodes: tuple[NodeProcess, ...],
    view: LiveView | None,
) -> Followed:
    """Plan from where the robot stands, send, listen until it has arrived or time is up.

    It has arrived if the controller took the trajectory, every joint followed its path, and the
    robot stands at the goal.
    """
    from robot_dynamics_ros.ros.controller.trajectory_messages import trajectory_message
    from robot_dynamics_ros.ros.controller_client import SENT

    def still() -> bool:
        return float(np.abs(client.state.velocity).max()) < 0.05

    if not client.spin_until(lambda: _alive(nodes) and still(), 30.0):
        raise RobotDynamicsError(
            "the robot does not come to rest", where="demo", remedy="See the logs."
        )
    motion = plan_motion(
        model, client.state.position.copy(), duration=options.duration, seed=options.seed
    )
    for why, names in by_reason(standing_joints(model, motion)).items():
        print(f"stands      {', '.join(names)}: {why}")
    # hear what was said while planning
    client.spin_until(lambda: not _alive(nodes), 0.1)
    start = client.state.stamp + round(_LEAD * 1e9)
    times = motion.times
    speeds = motion.at(times, 1)
    accelerations = motion.at(times, 2)
    client.send(
        trajectory_message(
            motion.joint_names, times, motion.waypoints, speeds, accelerations, start
        )
    )
    print(f"trajectory  {len(motion.times)} points in {motion.duration:.1f} s")
    client.spin_until(lambda: _alive(nodes) and client.trajectory_status != SENT, _ANSWER)
    if client.refused:
        return _not_arrived(Followed(motion, start, client.refused))
    worst = np.zeros(model.nv)
    unit = error_unit(model)

    def left() -> Array:
        return np.asarray(np.abs(client.state.position - motion.waypoints[-1]))

    with Progress("following", motion.duration, sys.stdout) as progress:

        def finished() -> bool:
            _alive(nodes)
            if view is not None:
                view.look()
            t = (client.state.stamp - start) * 1e-9
            error = np.abs(motion.at(np.array(t)) - client.state.position)
            np.maximum(worst, error, out=worst)
            progress.update(t, f"largest error {worst.max() * 1e3:.2f} {unit}")
            at_goal = t > motion.duration and left().max() < options.tolerance and still()
            return at_goal or bool(client.refused)

        client.spin_until(finished, _LEAD + 2.0 * motion.duration + _SETTLE)
    return _not_arrived(
        Followed(motion, start, _failure(client, model, motion, options.tolerance, worst, still()))
    )


def _failure(
    client,
    model: RobotModel,
    motion: PlannedMotion,
    tolerance: float,
    worst: Array,
    still: bool,
) -> str:
    """Why the robot has not arrived; ``""`` if it has."""
    left = np.abs(client.state.position - motion.waypoints[-1])
    if client.refused:
        return str(client.refused)
    i = int(np.argmax(left))
    if left[i] >= tolerance:
        unit = error_unit(model, model.joint_names[i])
        where = f"{left[i] * 1e3:.3g} {unit} from the goal, {tolerance * 1e3:g} {unit} allowed"
        return f"{model.joint_names[i]} is {where}"
    if not still:
        return "the robot still moves"
    bound = path_bound(motion.at(np.linspace(0.0, motion.duration, _PATH_SAMPLES)), tolerance)
    k = int(np.argmax(worst / bound))
    if worst[k] > bound[k]:
        unit = error_unit(model, model.joint_names[k])
        return f"{model.joint_names[k]} has left its path by {worst[k] * 1e3:.3g} {unit}"
    unit = error_unit(model, model.joint_names[i])
    print(
        f"arrived     {left[i] * 1e3:.3g} {unit} from the goal ({tolerance * 1e3:g} {unit} allowed)"
    )
    return ""


def _not_arrived(followed: Followed) -> Followed:
    """The same, said if it is a failure."""
    if followed.failure:
        print(f"NOT ARRIVED {followed.failure}")
    return followed


def error_unit(model: RobotModel, joint: str = "") -> str:
    """Unit of a thousandth of a joint's position; of no joint in particular: of all of them."""
    names = (joint,) if joint else model.joint_names
    units = ["mm" if model.joint(x).type is JointType.PRISMATIC else "mrad" for x in names]
    return " or ".join(sorted(set(units), reverse=True))


def _report(
    options: argparse.Namespace,
    model: RobotModel,
    followed: Followed,
    recording: DemoRecording,
) -> None:
    motion = followed.motion
    during = (recording.t >= 0.0) & (recording.t <= motion.duration)
    if not during.any():
        if followed.failure:
            print()
            return
        raise ArgumentError(
            "no joint states were received during the motion", where="demo", remedy="See the logs."
        )
    error = motion.at(recording.t[during]) - recording.q[during]
    effort = recording.effort[during]
    rows = []
    for i, name in enumerate(model.joint_names):
        prismatic = model.joint(name).type.name == "PRISMATIC"
        row = [name, Figure.of(np.sqrt((error[:, i] ** 2).mean()), ".3f", 1e3)]
        row += [Figure.of(np.abs(error[:, i]).max(), ".3f", 1e3), "mm" if prismatic else "mrad"]
        row += [Figure.of(np.sqrt((effort[:, i] ** 2).mean()), ".3f"), "N" if prismatic else "N m"]
        for half, form, unit in ((slice(3, 6), ".2f", "N"), (slice(3), ".3f", "N m")):
            largest = np.linalg.norm(recording.wrenches[i][:, half], axis=1).max(initial=0.0)
            row.append(Figure.of(largest, form, unit=unit))
        rows.append(row)
    print()
    head = [
        "joint",
        "rms error",
        "largest",
        "",
        "rms effort",
        "",
        "largest force",
        "largest moment",
    ]
    keys = [
        "joint",
        "rms error",
        "largest",
        "unit of errors",
        "rms effort",
        "unit of effort",
        *head[-2:],
    ]
    data = {
        "name": model.name,
        "duration": motion.duration,
        "arrived": followed.arrived,
        "reason": followed.failure,
        "goal_error": float(np.abs(recording.q[-1] - motion.waypoints[-1]).max()),
        "joints": rows_as_data(keys, rows),
    }
    result(options, data, table(head, rows))
    print()


def _as_run(model: RobotModel, recording) -> SimulationResult:
    """The recording as a run, for pictures and pages: wrenches at the times of the joint states."""
    good = np.concatenate([[True], np.diff(recording.t) > 0.0])
    t, q, v, effort = (
        table[good] for table in (recording.t, recording.q, recording.v, recording.effort)
    )
    wrenches = None
    if all(map(len, recording.wrench_t)):
        heard = zip(recording.wrench_t, recording.wrenches, strict=True)
        wrenches = np.array(
            [[np.interp(t, times, part) for part in rows.T] for times, rows in heard]
        ).transpose(2, 0, 1)
    kinetic = np.asarray(kinetic_energy(model, q, v))
    potential = np.asarray(potential_energy(model, q))
    return SimulationResult(
        t, q, v, np.gradient(v, t, axis=0), effort, kinetic, potential, wrenches, Plant(model)
    )


class LiveView:
    """The viewer as a third process, which may end; ``looks`` names a robot with geometry, if
    ``robot`` has none.

    Attributes:
        process: the viewer.
        address: of the page; ``""`` until it is known.
    """

    def __init__(self, robot: str, log: Path, open_browser: bool, looks: str = "") -> None:
        arguments = ["--ros-args", "-p", f"robot_description_file:={robot}"]
        if looks and looks != robot:
            arguments += ["-p", f"looks_file:={looks}"]
        if open_browser:
            arguments += ["-p", "open_browser:=true"]
        self.process = NodeProcess("viewer", arguments, log)
        self.address = ""
        self._announced = False
        self._closed = False
        self._due = 0.0

    def announce(self) -> None:
        """Print the address, once it is known; a viewer that takes long is announced later, by
        :meth:`look`.
        """
        waited = self.process.wait_for_output("in a browser", 3.0)
        if not waited:
            print("view        the viewer still loads its libraries", flush=True)
            waited = self.process.wait_for_output("in a browser", _SAY_AGAIN)
        if not waited:
            print(
                "view        not ready yet: the robot moves now, the address is printed later",
                flush=True,
            )
        self.look()

    def wait(self) -> None:
        """Wait until the address is known, or the viewer has ended."""
        self._due = 0.0
        self.look()
        while not self._announced:
            print("view        the viewer still loads its libraries", flush=True)
            self.process.wait_for_output("in a browser", _SAY_AGAIN)
            self._due = 0.0
            self.look()

    def look(self) -> None:
        """Print the address of a viewer that has come up since, or that it has ended; mostly costs
        nothing.
        """
        if self._announced or time.monotonic() < self._due:
            return
        self._due = time.monotonic() + 0.5
        ended = self.process.exit_code is not None
        found = re.search(r"open (http\S+) in a browser", self.process.output())
        self._announced = ended or found is not None
        if ended:
            print(f"\rview        none: the viewer has ended; see {self.process.log}")
        elif found:
            self.address = found[1]
            print(f"\rview        {self.address}   (while the demonstration runs)", flush=True)

    def close(self) -> None:
        """End the viewer; one that has not come up, or takes long to end, is killed, for nothing
        depends on it.
        """
        if self._closed:
            return
        self._closed = True
        self._due = 0.0
        self.look()
        if self._announced:
            self.process.stop(timeout=_VIEW_ENDS)
            return
        print(f"view        none: the viewer has not come up in time; see {self.process.log}")
        self.process.kill()

    def __enter__(self) -> LiveView:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.process.stop()


def _draw(run: SimulationResult, motion: PlannedMotion, folder: Path) -> None:
    """The picture, and the page that replays what was heard beside what was planned, if what they
    need is installed.
    """
    from robot_dynamics_ros.view.film import write_replay
    from robot_dynamics_ros.view.source import ShownMotion

    reference = motion.at(run.t)
    title = f"{run.model.name}: the demonstration"
    shown = ShownMotion.of(run.model, run, reference=reference)
    # the arm measures no efforts
    if not np.isfinite(run.tau).all():
        shown = dataclasses.replace(shown, efforts=None)
    picture = folder / "demo.png"
    replay = folder / "replay.html"
    for what, write in (
        (f"picture     {picture.resolve()}", partial(plot_run, run, picture, reference)),
        (
            f"replay      {replay.resolve()}   (opens in any browser, without a server)",
            partial(write_replay, shown, replay, title=title),
        ),
    ):
        try:
            write()
            print(what)
        except BackendError as error:
            print(error)
