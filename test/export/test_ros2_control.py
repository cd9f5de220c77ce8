"""The controller package: its core beside the Python controller, its ROS layer on stand-ins for
ROS.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from support.c_code import compile_cpp, needs_cpp, run_program
from support.plugin_parameters import parameters_of
from support.random_trees import random_model

import robot_dynamics_ros as rd
from robot_dynamics_ros.cli.main import main
from robot_dynamics_ros.control.controller import ControllerOptions, JointController, Mode
from robot_dynamics_ros.control.cycle.limits import GuardSettings
from robot_dynamics_ros.control.laws import CartesianImpedance, FeedforwardPD, GravityCompensation
from robot_dynamics_ros.control.observer import CollisionMonitor, MomentumObserver
from robot_dynamics_ros.control.reference.goal import Tolerances
from robot_dynamics_ros.control.reference.task.settings import farthest_link
from robot_dynamics_ros.control.reference.trajectory import TrajectoryPoint
from robot_dynamics_ros.control.robustness import Robustness
from robot_dynamics_ros.dynamics.payload import Payload, carrying
from robot_dynamics_ros.errors import ArgumentError, UnknownNameError
from robot_dynamics_ros.export.ros2_control.cycle_in_c import LAW_NAMES
from robot_dynamics_ros.export.ros2_control.cycles import CycleLog
from robot_dynamics_ros.export.ros2_control.package import leaf_bodies, links_on
from robot_dynamics_ros.friction.compensation import Friction
from robot_dynamics_ros.model.description import JointType

# the package is compiled for all of them
pytestmark = pytest.mark.slow

STAND_INS = Path(__file__).parent / "stand_ins"
MS = 1_000_000
# ns: accelerations of the tool's reference are differences of joint velocities over the time since
# the last state.  Two executions agree in these velocities to 3e-14 (the largest of 200 scenarios
# with such gaps), so in accelerations to 3e-10 after this time, and to the bound of 1e-9 not before
# a third of it.
LEAST_GAP = 100_000


def emit(model, directory, **options):
    code = rd.export_controller(model, prefix="arm", **options)
    code.write(directory)
    return code


OBJECTS = ["arm.o", "arm_cycle.o"]


def compile_core(directory):
    """Kernels, cycle and the program that replays recorded cycles."""
    sources = ["src/arm.c", "src/arm_cycle.c", "test/test_recorded_cycles.cpp"]
    compile_cpp(directory, sources, "replay", "-O0", "-Iinclude")


def some_friction(model):
    """Friction with a value for everything."""
    rng = np.random.default_rng(17)
    n = model.nv
    motor = {"coupled_coulomb": 0.8, "coupled_viscous": 0.3, "coupled_width": 0.1}
    return Friction.of(
        model,
        viscous=rng.uniform(0.1, 2.0, n),
        coulomb=rng.uniform(0.1, 2.0, n),
        breakaway=rng.uniform(2.0, 3.0, n),
        offset=rng.normal(size=n),
        coupling=[
            *[{}] * (n - 2),
            {"coupled_after": 1.0, **motor},
            {"coupled_before": 1.0, **motor},
        ],
        trust=0.7,
    )


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    """The folder of the package of a three-axis arm, its core compiled."""
    directory = tmp_path_factory.mktemp("arm")
    model = rd.load_robot("three_link")
    emit(model, directory, friction=some_friction(model))
    compile_core(directory)
    return directory


# -- the core beside the Python controller ---------------------------------------------------------


class Scenario:
    """A controller with settings drawn at random, driven with calls drawn at random.

    The arm is near its reference most of the time, and now and then somewhere else: near a limit,
    too fast, or nowhere.  Most controllers have a tool, which gets targets, too.
    """

    def __init__(self, model, friction, kind, rng, *, changes_law=False):
        self.model = model
        self.rng = rng
        # of the link for which a package is exported if nobody names one
        self.link = farthest_link(model)
        n = model.nv
        # instead of the payload
        self.changes_law = changes_law
        self.friction = friction
        at = self.friction_at = rng.choice(["none", "reference", "measured"])
        # the first effort of a blend is the last one: whether a joint at its limit is cut, and
        # winds no further, is then a matter of rounding
        self.blend_time = float(rng.choice([0.0, 0.03]))
        options = ControllerOptions(
            joints=None if rng.random() < 0.7 else model.joint_names[1:],
            allow_partial_joints_goal=bool(rng.random() < 0.7),
            gravity_compensated_by=rng.choice(
                ["controller", "robot" if self.blend_time else "robot_with_coriolis"]
            ),
            safe_command=rng.choice(["zero", "gravity"]),
            state_timeout=0.02,
            stream_timeout=0.03,
            wrench_timeout=0.02,
            blend_time=self.blend_time,
            max_step=0.3,
            positions_upsampling=rng.choice(["spline", "spline", "none"]),
            trajectory_effort=rng.choice(["ignore", "add"]),
            wrench_acceleration=rng.choice(
                ["commanded", "reference", "measured_effort", "differentiated"]
            ),
            collision_reaction=rng.choice(["none", "hold", "gravity"]),
            robustness=Robustness(delay=float(rng.choice([0.0, 0.004])))
            if rng.random() < 0.5
            else None,
        )
        observed = friction if at != "none" else None
        collides = rng.random() < 0.4
        watched = np.array(
            [options.joints is None or name in options.joints for name in model.joint_names]
        )
        controller = JointController(
            model,
            self.draw_law(kind),
            task=self.draw_tool() if rng.random() < 0.8 else None,
            options=options,
            guards=GuardSettings(
                effort_limit=rng.uniform(5.0, 200.0, n),
                effort_rate=rng.uniform(1e3, 1e5, n) if rng.random() < 0.5 else None,
                effort_scale=float(rng.uniform(0.5, 1.0)),
                velocity_scale=float(rng.uniform(0.5, 1.0)),
                position_margin=float(rng.uniform(0.0, 0.1)),
            ),
            tolerances=Tolerances.uniform(
                n, path=0.01 if rng.random() < 0.5 else 0.0, goal=0.005, goal_time=0.02
            ),
            observer=MomentumObserver(model, 50.0, observed),
            collision=CollisionMonitor(
                model, np.where(watched, rng.uniform(5.0, 50.0, n), np.inf), 0.003
            )
            if collides
            else None,
        )
        self.commanded = options.joints or model.joint_names
        leaves = leaf_bodies(model)
        self.carriers = links_on(model, leaves)
        tips = {joint.parent for joint in model.description.joints}
        self.loaded = [name for name in self.carriers if name not in tips]
        self.log = CycleLog(controller, self.loaded)
        self.controller = controller
        self.t = 10**12
        self.newest = 0
        low = np.maximum(model.lower, -1.0)
        high = np.minimum(model.upper, 1.0)
        self.q, self.v = 0.5 * (low + high), rng.normal(size=n) * 0.1
        self.low = low
        self.high = high
        self.accepted = Counter()

    def draw_tool(self):
        rng = self.rng
        offset = rd.Pose.from_rpy(rng.normal(size=3) * 0.1, rng.normal(size=3))
        return rd.TaskSettings(
            link=self.link if rng.random() < 0.5 else "",
            offset=offset if rng.random() < 0.7 else None,
            posture_rate=float(rng.choice([0.0, 1.0])),
            speed=tuple(rng.uniform(0.5, 2.0, 2)),
            acceleration=tuple(rng.uniform(5.0, 20.0, 2)),
            jerk=tuple(rng.uniform(100.0, 1000.0, 2)),
            # as the options have them
            twist_timeout=0.03,
            wrench_timeout=0.02,
        )

    def draw_law(self, kind):
        extra = {} if self.friction_at == "none" else {"friction": self.friction}
        if self.friction_at == "measured" and kind not in (FeedforwardPD, GravityCompensation):
            extra["friction_at"] = "measured"
        self.gains = dict(zip("pid", LAW_NAMES[kind][1:], strict=True))
        if kind is CartesianImpedance:
            extra |= self.draw_springs()
        return kind(**self.draw_gains(), **extra)

    def draw_springs(self):
        """Diagonal, or a matrix whose springs and dampers are coupled; in tool axes, or not."""
        rng = self.rng
        matrix = rng.normal(size=(6, 6)) * 10.0
        springs = {
            "link": self.link,
            "axes": rng.choice(["world", "tool"]),
            "damping_ratio": float(rng.uniform(0.3, 1.0)),
            "stiffness": rng.uniform(0.0, 500.0, 6),
        }
        if rng.random() < 0.5:
            springs["stiffness"] = matrix @ matrix.T
        if rng.random() < 0.5:
            springs["damping"] = rng.uniform(0.0, 20.0, 6)
        return springs

    def draw_gains(self):
        n = self.model.nv
        rng = self.rng
        drawn = {
            "p": rng.uniform(10, 400, n),
            "i": rng.uniform(0, 50, n),
            "d": rng.uniform(5, 40, n),
        }
        if self.blend_time > 0.0 or rng.random() < 0.5:
            drawn["i"] = np.zeros(n)
        return {self.gains[key]: value for key, value in drawn.items() if self.gains[key]}

    def run(self, count):
        self.log.activate(self.t, self.q, self.v)
        for _ in range(count):
            event = self.rng.random()
            if event < 0.3 and self.t > self.newest:
                self.call()
            elif event < 0.4 and self.t > self.newest and self.controller.tool is not None:
                self.aim()
            if self.controller.fault and self.rng.random() < 0.5:
                self.q = 0.5 * (self.low + self.high)
                self.v = np.zeros(self.model.nv)
                self.log.activate(self.t, self.q, self.v)
            self.cycle()
        words = [line.split() for line in self.log.lines if line.startswith("target_")]
        self.accepted.update(word for word, _, accepted, *_ in words if accepted == "1")
        return self.log.text

    def cycle(self):
        rng = self.rng
        n = self.model.nv
        measured = self.controller.command + rng.normal(size=n) if rng.random() < 0.3 else None
        self.log.update(self.t, self.q, self.v, measured)
        self.newest = max(self.t, self.newest)
        self.t += int(rng.choice([1, 1, 1, 2, 4])) * MS + int(rng.integers(1000))
        q_d, v_d, _ = self.controller.reference
        self.q = q_d + 3e-3 * rng.normal(size=n)
        self.v = v_d + 3e-2 * rng.normal(size=n)
        where = rng.random()
        i = int(rng.integers(n))
        if where < 0.05 and np.isfinite(self.model.upper[i]):
            self.q[i] = rng.choice([self.model.upper[i], self.model.lower[i]]) + rng.normal() * 0.05
            if rng.random() < 0.5:
                # a jump no more
                self.t += 30 * MS
        elif where < 0.10:
            self.v[i] = rng.normal() * 3.0
        elif where < 0.12:
            self.q[i] += rng.normal() * 0.3
        elif where < 0.13:
            self.q[i] = np.nan
        elif where < 0.14:
            # late, or the same again
            self.t -= 4 * MS
        elif where < 0.145:
            self.t += 50 * MS
        elif where < 0.15:
            self.t -= 100 * MS
        elif where < 0.155:
            self.log.watch(self.t + int(rng.choice([5, 40])) * MS)
        # a late state, or one of the cycles that make up for it
        if 0 < self.t - self.newest < LEAST_GAP:
            self.t = self.newest + LEAST_GAP

    def bears(self, load):
        """Whether ``load`` is accepted.  Python refuses what the joints cannot hold at rest, and
        goes on as before; the core has no such check, so that it is not told.
        """
        try:
            load()
        except ArgumentError as error:
            assert re.search("cannot be (held|resisted)|can be held in none", str(error)), error
            return False
        return True

    def points(self, joints, count):
        rng = self.rng
        k = len(joints)
        columns = [self.model.joint_names.index(name) for name in joints]
        at = self.controller.reference[0][columns]
        times = np.cumsum(rng.integers(0 if count == 1 else 1, 20, count)) * MS
        degree = rng.choice([1, 3, 5])
        rows = []
        for t in times:
            at = np.clip(
                at + rng.normal(size=k) * 0.05, self.model.lower[columns], self.model.upper[columns]
            )
            turned = at + 2 * np.pi * rng.integers(-1, 2) * self.endless(columns)
            v = (rng.normal(size=k) * 0.5).tolist()
            a = (rng.normal(size=k) * 2).tolist()
            last = t == times[-1]
            rows.append(
                TrajectoryPoint(
                    int(t),
                    turned.tolist(),
                    () if degree < 3 else [0.0] * k if last and rng.random() < 0.9 else v,
                    a if degree == 5 and rng.random() < 0.8 else (),
                    rng.normal(size=k).tolist() if rng.random() < 0.5 else (),
                )
            )
        return rows

    def endless(self, columns):
        names = [self.model.joint_names[c] for c in columns]
        return np.array([self.model.joint(name).type is JointType.CONTINUOUS for name in names])

    def aim(self):
        """A target of the tool: streams, jumps, old ones; in the world, or in its link."""
        rng = self.rng
        c = self.controller
        t = self.t
        frame = str(rng.choice(["", self.link]))
        stamp = 0 if rng.random() < 0.5 else t + int(rng.integers(-20, 5)) * MS
        if rng.random() < 0.05:
            stamp = t - 10**9
        pose = c.tool.tool_at(c.reference[0])
        if frame:
            pose = np.array([*(rng.normal(size=3) * 0.05), 0.0, 0.0, 0.0, 1.0])
        away = rng.normal(size=3) * float(rng.choice([0.003, 0.1]))
        turned = pose[3:] + 0.1 * rng.normal(size=4)
        turned /= np.linalg.norm(turned)
        what = rng.random()
        if what < 0.4:
            self.log.target_pose(pose[:3] + away, turned, t, frame, stamp)
        elif what < 0.6:
            twist = rng.normal(size=(2, 3)) * 0.2
            self.log.target_twist(twist[0], twist[1], t, frame, stamp)
        elif what < 0.8:
            wrench = rng.uniform(-5.0, 5.0, (2, 3))
            self.log.target_wrench(wrench[0], wrench[1], t, frame, stamp)
        else:
            count = int(rng.integers(1, 4))
            times = np.cumsum(rng.integers(0, 20, count) + np.arange(count)) * 1e-3
            points = pose[:3] + rng.normal(size=(count, 3)) * 0.01
            turns = [pose[3:] if rng.random() < 0.9 else -turned for _ in range(count)]
            twists = rng.normal(size=(count, 6)) * 0.1 if rng.random() < 0.3 else None
            path = rd.ToolPath.of(times, points, turns, twists, frame=frame)
            self.log.target_path(path, t)

    def call(self):
        rng = self.rng
        c = self.controller
        t = self.t
        joints = list(rng.permutation(self.commanded))
        if rng.random() < 0.3:
            joints = joints[: int(rng.integers(1, len(joints) + 1))]
        what = rng.random()
        if what < 0.4:
            stamp = 0 if rng.random() < 0.5 else t + int(rng.integers(-30, 30)) * MS
            self.log.trajectory(joints, self.points(joints, int(rng.integers(1, 5))), t, stamp)
        elif what < 0.6:
            some = c.options.allow_partial_joints_goal and rng.random() < 0.5
            chosen = joints if some else list(self.commanded)
            self.log.point(chosen, self.points(chosen, 1)[0], t)
        elif what < 0.7 and c.mode is not Mode.SAFE:
            self.log.hold(t)
        elif what < 0.8:
            link = str(rng.choice(self.loaded))
            wrench = rng.normal(size=6) * 5
            self.accepted["wrench"] += self.bears(lambda: self.log.wrench(link, wrench, t))
        elif what < 0.9 and type(c.law).__name__ in (
            "ComputedTorque",
            "PDGravity",
            "FeedforwardPD",
            "JointImpedance",
            "CartesianImpedance",
        ):
            c.set_gains(**self.draw_gains())
            self.log.changed()
        elif what < 0.95 and self.changes_law:
            self.friction_at = rng.choice(["none", "reference", "measured"])
            c.set_law(self.draw_law(self.rng.choice([*LAW_NAMES])))
            self.log.changed()
        elif what < 1.0 and not self.changes_law:
            inertia = np.diag(rng.uniform(0.01, 0.02, 3))
            load = Payload(
                str(rng.choice(self.carriers)),
                float(rng.uniform(0.1, 2.0)),
                rng.normal(size=3) * 0.1,
                inertia,
            )
            wanted = load if c.payload is None or rng.random() < 0.8 else None
            if self.bears(lambda: c.set_payload(wanted)):
                self.log.changed()
                self.accepted["payload"] += 1


@needs_cpp
@pytest.mark.parametrize("name", ["three_link", "tree"])
def test_the_core_does_what_the_python_controller_does(name, request, tmp_path):
    """Efforts, commands, wrenches, external efforts to 1e-9; modes, refusals and outcomes of goals
    exactly.
    """
    if name == "three_link":
        model = rd.load_robot("three_link")
        directory = request.getfixturevalue("arm")
    else:
        # revolute, continuous and prismatic joints, two arms, a mimic joint
        model = random_model(5, 5, mimic=0.3)
        directory = tmp_path
        emit(model, directory, friction=some_friction(model))
        compile_core(directory)
    seen = set()
    accepted = Counter()
    logs = []
    # every payload is another robot: compiling them all takes longer
    model = model.with_backend("interpreted")
    for k, law in enumerate([*LAW_NAMES] * 3):
        scenario = Scenario(model, some_friction(model), law, np.random.default_rng(100 + k))
        path = tmp_path / f"{k}.txt"
        path.write_text(scenario.run(150), encoding="utf-8")
        logs.append(str(path))
        seen |= set(scenario.controller.counts)
        accepted += scenario.accepted
    printed = run_program(directory / "replay", "test/recorded_cycles.txt", *logs)
    assert printed.count(": ok") == len(logs) + 1
    # the scenarios met what they are meant to meet
    met = {
        "effort_limit",
        "effort_rate",
        "velocity_limit",
        "time_late",
        "time_backwards",
        "non_finite_state",
    }
    assert (
        met | {"stale_state", "tolerance_violated", "external_wrench_expired", "collision"} <= seen
    )
    aims = [f"target_{word}" for word in ("pose", "twist", "wrench", "path")]
    assert min(accepted[x] for x in ("payload", "wrench", *aims)) >= 5, accepted
    if np.isfinite(model.upper).any():
        assert "position_zone" in seen


def rounded_equal(first, second):
    """Two logs: words must be the same, numbers of a line to 1e-9 of their largest or of 1."""
    for one, other in zip(first.splitlines(), second.splitlines(), strict=True):
        if one != other:
            words = one.split()
            others = other.split()
            numbers = [k for k, (a, b) in enumerate(zip(words, others, strict=True)) if a != b]
            x, y = (np.array([float(row[k]) for k in numbers]) for row in (words, others))
            largest = max(1.0, *(abs(float(w)) for w in words if is_number(w) and "." in w))
            np.testing.assert_allclose(x, y, rtol=0, atol=1e-9 * largest, err_msg=f"{one}\n{other}")


def is_number(word):
    try:
        return np.isfinite(float(word))
    except ValueError:
        return False


@needs_cpp
def test_one_statement_three_executions(arm, tmp_path):
    """Ten scenarios drawn afresh in each run: as written in Python, as machine code, and as C; the
    law changes, too.  In two more the law begins without friction and has it later.
    """
    seed = int(np.random.SeedSequence().entropy % 2**32)
    model = rd.load_robot("three_link")
    seen = set()
    logs = []
    kinds = [*LAW_NAMES]
    for drawn, k in [(seed, k) for k in range(10)] + [(1011, 0), (1033, 3)]:
        texts = []
        for backend in ("numpy", "native") if "native" in rd.available_backends() else ("numpy",):
            robot = model.with_backend(backend)
            rng = np.random.default_rng([drawn, k])
            scenario = Scenario(
                robot, some_friction(robot), kinds[k % len(kinds)], rng, changes_law=True
            )
            texts.append(scenario.run(150))
            assert scenario.controller.compiled == (backend == "native")
        rounded_equal(texts[0], texts[-1])
        (tmp_path / f"{drawn}_{k}.txt").write_text(texts[0], encoding="utf-8")
        logs.append(str(tmp_path / f"{drawn}_{k}.txt"))
        seen |= set(scenario.controller.counts)
    printed = run_program(arm / "replay", *logs)
    assert printed.count(": ok") == len(logs)
    assert {"effort_limit", "velocity_limit", "state_jump", "time_late"} <= seen, seed


@needs_cpp
def test_a_wrong_number_is_noticed(arm, tmp_path):
    """The replay fails for an integral that is off by a millionth."""
    text = (arm / "src" / "arm_cycle.c").read_text(encoding="utf-8")
    right = "p->error[i] * p->dt[0]"
    wrong = "1.000001 * p->error[i] * p->dt[0]"
    assert text.count(right) == 1
    (tmp_path / "wrong.c").write_text(text.replace(right, wrong), encoding="utf-8")
    others = [str(arm / x) for x in [*OBJECTS, "test_recorded_cycles.o"] if x != "arm_cycle.o"]
    compile_cpp(tmp_path, ["wrong.c", *others], "replay", "-O0", f"-I{arm / 'include'}")
    with pytest.raises(AssertionError, match="FAILED"):
        run_program(tmp_path / "replay", str(arm / "test" / "recorded_cycles.txt"))


# -- the ROS layer on stand-ins --------------------------------------------------------------------

LITERALS = {
    "bool": lambda x: str(x).lower(),
    "int": lambda x: f"std::int64_t({x})",
    "double": lambda x: repr(float(x)),
    "string": lambda x: f"std::string({json.dumps(x)})",
    "double_array": lambda x: f"std::vector<double>{{{', '.join(map(repr, x))}}}",
    "string_array": lambda x: f"std::vector<std::string>{{{', '.join(map(json.dumps, x))}}}",
}


def stand_in_headers(directory, where, joints):
    """A header for every include of the ROS layer that is not the package's own, and one that
    declares the parameters.
    """
    own = "arm_controller"
    paths = [*(directory / "include" / own).glob("*.hpp"), directory / "src" / "controller.cpp"]
    texts = [path.read_text(encoding="utf-8") for path in paths]
    for include in {x for text in texts for x in re.findall(r'#include "([^"]+)"', text)}:
        if not include.startswith(own):
            path = where / include
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text('#include "ros_stand_in.hpp"\n', encoding="utf-8")
    declared = [
        (
            f"    node->declare_parameter({json.dumps(name)}, "
            f"{LITERALS[row['type']](row['default_value'])});"
        )
        for name, row in parameters_of(directory, joints).items()
    ]
    (where / own).mkdir()
    lines = [
        "#pragma once",
        '#include "ros_stand_in.hpp"',
        f"namespace {own} {{",
        "class ParamListener {",
        "public:",
        "  template <typename Node> explicit ParamListener(Node node) {",
        *declared,
        "  }",
        "};",
        "}",
    ]
    (where / own / f"{own}_parameters.hpp").write_text("\n".join(lines) + "\n", encoding="utf-8")


@needs_cpp
def test_the_ros_layer_on_stand_ins(arm, tmp_path):
    """Topics, action, service, parameters, chained references, faults; compiled with every warning
    an error.
    """
    stand_in_headers(arm, tmp_path, rd.load_robot("three_link").joint_names)
    flags = ["-O0", *(f"-I{x}" for x in (arm / "include", arm / "src", tmp_path, STAND_INS))]
    sources = [str(STAND_INS / "ros_layer_test.cpp"), *(str(arm / x) for x in OBJECTS)]
    compile_cpp(tmp_path, sources, "ros_layer", *flags)
    assert run_program(tmp_path / "ros_layer") == "ok\n"


@needs_cpp
def test_a_cycle_allocates_nothing(arm, tmp_path):
    """No operator new while trajectories, set-points, changes and guards are at work."""
    sources = [str(STAND_INS / "allocation_test.cpp"), *(str(arm / x) for x in OBJECTS)]
    compile_cpp(tmp_path, sources, "allocation", "-O0", f"-I{arm / 'include'}")
    assert run_program(tmp_path / "allocation") == "ok\n"


@needs_cpp
@pytest.mark.skipif(
    not Path("/usr/include/eigen3/Eigen/Core").exists(), reason="Eigen is not installed"
)
def test_the_solver_gives_the_robots_dynamics(tmp_path):
    """The plugin of inverse_dynamics_solver on a stand-in for its interface; a payload, and what it
    refuses.
    """
    model = rd.load_robot("two_link")
    friction = some_friction(model)
    emit(model, tmp_path, friction=friction, inverse_dynamics_solver=True)
    for include in re.findall(
        r'#include "([^"@]+)"', (tmp_path / "src/inverse_dynamics_solver.cpp").read_text()
    ):
        path = tmp_path / "stand_in" / include
        if not include.startswith("arm_controller/"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text('#include "solver_stand_in.hpp"\n', encoding="utf-8")
    sources = ["src/arm.c", "src/arm_cycle.c", str(STAND_INS / "solver_test.cpp")]
    flags = [
        f"-I{x}" for x in (tmp_path / "include", tmp_path / "src", tmp_path / "stand_in", STAND_INS)
    ]
    compile_cpp(tmp_path, sources, "solver", "-O0", *flags, "-isystem", "/usr/include/eigen3")
    q, v, a = np.random.default_rng(4).normal(size=(3, 2))
    load = Payload(model.link_names[-1], 0.7, np.array([0.1, 0.0, 0.05]), 0.01 * np.eye(3))
    given = [f"{x:.17g}" for x in (*q, *v, *a)]
    for loaded, robot in (("", model), (load.link, carrying(model, load))):
        out = iter(map(float, run_program(tmp_path / "solver", loaded, *given).split()))
        expected = [
            rd.mass_matrix(robot, q),
            rd.coriolis_matrix(robot, q, v) @ v,
            rd.gravity_forces(robot, q),
        ]
        for x in (*expected, friction.effort(v), rd.inverse_dynamics(robot, q, v, a)):
            np.testing.assert_allclose(
                [next(out) for _ in range(x.size)], x.ravel(), rtol=0, atol=1e-10
            )


# -- the package -----------------------------------------------------------------------------------


def test_the_package_holds_together(tmp_path):
    model = rd.load_robot("six_axis")
    code = emit(model, tmp_path)
    assert not any(re.search(r"@\w+@", text) for text in code.files.values())
    package = ElementTree.parse(tmp_path / "package.xml").getroot()
    depends = {node.text for node in package.findall("depend")}
    cmake = code.files["CMakeLists.txt"]
    listed = set(re.search(r"set\(DEPENDENCIES(.*?)\)", cmake, re.DOTALL)[1].split())
    assert package.find("name").text == "arm_controller" and depends == listed
    controller = "".join(
        text for name, text in code.files.items() if re.match(r"(include|src)/.*pp$", name)
    )
    included = {path.split("/")[0] for path in re.findall(r'#include "([^"]+)/', controller)}
    assert included - {"arm_controller"} <= depends
    for source in re.findall(r"(?:src|test)/[\w.]+", cmake):
        assert source in code.files
    plugin = ElementTree.parse(tmp_path / "plugin.xml").getroot()
    kind = plugin.find("class").get("type")
    exported = "PLUGINLIB_EXPORT_CLASS(arm_controller::ComputedTorqueController, "
    assert kind == "arm_controller::ComputedTorqueController"
    assert (
        exported + plugin.find("class").get("base_class_type") in code.files["src/controller.cpp"]
    )
    assert plugin.get("path") == "arm_controller" and "add_library(arm_controller SHARED" in cmake
    assert {
        name: text for name, text in rd.export_controller(model, prefix="arm").files.items()
    } == code.files


def test_the_command(tmp_path, capsys):
    target = tmp_path / "package"
    assert main(["export", "two_link", "--lang", "ros2_control", "--output", str(target)]) == 0
    written = capsys.readouterr().out.split()
    assert str(target / "src" / "controller.cpp") in written and (target / "plugin.xml").exists()
    friction = tmp_path / "friction.json"
    joint = rd.load_robot("two_link").joint_names[0]
    friction.write_text(
        json.dumps({"joints": {joint: {"viscous": 0.125, "coulomb": 0.5}}}), encoding="utf-8"
    )
    given = ["--friction-file", str(friction), "--prefix", "arm", "--output", str(target)]
    assert main(["export", "two_link", "--lang", "ros2_control", *given]) == 0
    assert "friction = {0.125, 0.5, 0.0, 0.1, 0.02, 0.0, " in (
        target / "src/arm_cycle.c"
    ).read_text("utf-8")
    for wrong in (["--functions", "step"], ["--scalar", "float"], ["--payload-link", "nowhere"]):
        assert (
            main(["export", "two_link", "--lang", "ros2_control", "--output", str(target), *wrong])
            != 0
        )
    assert main(["export", "two_link", "--payload-link", "tip", "--output", str(target)]) != 0
    assert "--lang ros2_control" in capsys.readouterr().err


def test_what_cannot_be_exported():
    model = rd.load_robot("two_link")
    with pytest.raises(UnknownNameError, match="nowhere"):
        rd.export_controller(model, external=["nowhere"])
    with pytest.raises(ArgumentError, match="does not move"):
        rd.export_controller(model, payload=[model.root_link])
    with pytest.raises(ArgumentError, match="degrees of freedom"):
        rd.export_controller(random_model(1, 2, types=(JointType.FLOATING,)))
