"""The dynamics beside its peers, all called from Python, in one process and one run.

    python -m benchmarks.dynamics [--quick] [--json FILE] [--plot FILE] [--only ur5,chain10]

Every figure is the least of several interleaved rounds of whole calls from Python; nothing is
subtracted.  What counts is
the ratios: absolute figures drift from machine to machine and from minute to minute.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

import robot_dynamics_ros as rd
from benchmarks._ratios import keep
from benchmarks._results import write
from robot_dynamics_ros.dynamics.engine import backends
from robot_dynamics_ros.dynamics.engine.parallel import set_threads

Call = Callable[[], Any]
CHAINS = (10, 50, 100, 500)
SWEEP = (2, 5, 10, 20, 50, 100, 200, 500, 1000)


def surroundings() -> dict[str, str]:
    """What the figures of a result file hold for."""
    packages = {name: metadata.version(name) for name in ("numpy", "llvmlite", "pin", "mujoco")}
    return {"python": platform.python_version(), "processors": str(os.cpu_count()), **packages}


def least(calls: dict[str, Call], seconds: float, rounds: int) -> dict[str, float]:
    """Microseconds a call: the least over rounds in which the calls take turns."""

    def once(call: Call, repeats: int) -> float:
        start = time.perf_counter()
        for _ in range(repeats):
            call()
        return (time.perf_counter() - start) / repeats

    for call in calls.values():
        # compiles
        call()
    repeats = {
        name: max(1, int(seconds / max(once(call, 3), 1e-8))) for name, call in calls.items()
    }
    best = dict.fromkeys(calls, np.inf)
    for _ in range(rounds):
        for name, call in calls.items():
            best[name] = min(best[name], once(call, repeats[name]))
    return {name: 1e6 * value for name, value in best.items()}


def example(name: str) -> Path:
    for file in metadata.files("example-robot-data") or ():
        if file.name == name:
            return Path(str(file.locate())).resolve()
    raise SystemExit(f"example-robot-data has no {name}")


def robots(only: set[str]) -> dict[str, tuple[rd.RobotModel, str]]:
    """Model and URDF text by short name."""
    found = {}
    files = {"ur5": "ur5_robot.urdf", "panda": "panda.urdf", "talos_reduced": "talos_reduced.urdf"}
    for name, file in files.items():
        path = example(file)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found[name] = (rd.load_urdf(path), path.read_text())
    for n in CHAINS:
        for kind, make in (("chain", straight_chain), ("oblique_chain", rd.chain)):
            model = make(n)
            found[f"{kind}{n}"] = (model, rd.to_urdf(model))
    return {name: robot for name, robot in found.items() if not only or name in only}


def straight_chain(n: int) -> rd.RobotModel:
    """A serial arm as they are built: axes in turn along z, y and x of aligned frames, full
    inertias.

    ``rd.chain`` is the harder one, with every frame and axis turned at random.
    """
    from robot_dynamics_ros.model.description import (
        Inertia,
        Joint,
        JointType,
        Link,
        Pose,
        RobotDescription,
    )

    rng = np.random.default_rng(0)
    links = [Link("base")]
    joints = []
    for i in range(n):
        A = rng.normal(size=(3, 3))
        moments = A @ A.T
        inertia = 0.002 * (np.trace(moments) * np.eye(3) - moments + np.eye(3))
        links.append(Link(f"link{i + 1}", Inertia(1.0, rng.uniform(-0.1, 0.1, 3), inertia)))
        pose = Pose(position=[0.2 if i else 0.0, 0.0, 0.0])
        joints.append(
            Joint(
                f"joint{i + 1}",
                JointType.REVOLUTE,
                links[i].name,
                links[i + 1].name,
                pose,
                np.eye(3)[2 - i % 3],
            )
        )
    return rd.RobotModel.from_description(
        RobotDescription(f"straight_chain{n}", tuple(links), tuple(joints))
    )


class Peers:
    """Pinocchio and MuJoCo on the same robot, at equivalent states."""

    def __init__(self, model: rd.RobotModel, urdf: str, state: tuple[np.ndarray, ...]) -> None:
        import mujoco
        import pinocchio as pin

        self.pin = pin
        self.mujoco = mujoco
        P = self.P = pin.buildModelFromXML(urdf)
        D = self.D = P.createData()
        q = pin.randomConfiguration(P, -np.ones(P.nq), np.ones(P.nq))
        v, a = np.random.default_rng(0).normal(size=(2, P.nv))
        self.calls: dict[str, dict[str, Call]] = {
            "inverse": {"pinocchio": lambda: pin.rnea(P, D, q, v, a)},
            "forward": {"pinocchio": lambda: pin.aba(P, D, q, v, a)},
            "mass": {"pinocchio": lambda: pin.crba(P, D, q)},
        }
        robot = self._mujoco(rd.to_urdf(model))
        if robot is None:
            return
        m, d = robot
        d.qpos[:] = state[0][: m.nq]
        d.qvel[:] = state[1][: m.nv]
        d.qacc[:] = state[2][: m.nv]
        mujoco.mj_forward(m, d)

        def position() -> None:
            mujoco.mj_kinematics(m, d)
            mujoco.mj_comPos(m, d)

        def mass() -> None:
            position()
            mujoco.mj_makeM(m, d)

        force = np.zeros(m.nv)

        def inverse() -> None:
            position()
            mujoco.mj_comVel(m, d)
            mujoco.mj_rne(m, d, 1, force)

        def forward() -> None:
            mass()
            mujoco.mj_factorM(m, d)
            mujoco.mj_comVel(m, d)
            mujoco.mj_rne(m, d, 0, force)
            mujoco.mj_solveM(m, d, d.qacc.reshape(1, -1), -force.reshape(1, -1))

        self.calls["inverse"]["mujoco"] = inverse
        self.calls["forward"]["mujoco"] = forward
        self.calls["mass"]["mujoco"] = mass
        self.step = (m, d)

    def _mujoco(self, urdf: str) -> Any:
        mujoco = self.mujoco
        if "<mimic" in urdf:
            return None
        with tempfile.TemporaryDirectory() as place:
            path = Path(place) / "robot.urdf"
            body = urdf.replace(
                "</robot>",
                '<mujoco><compiler discardvisual="true" fusestatic="true"'
                ' balanceinertia="true" boundmass="1e-9" boundinertia="1e-12"/></mujoco></robot>',
            )
            path.write_text(body)
            try:
                m = mujoco.MjModel.from_xml_path(str(path))
            except ValueError:
                return None
        return m, mujoco.MjData(m)


FUNCTIONS = {"inverse": "inverse_dynamics", "forward": "forward_dynamics", "mass": "mass_matrix"}
WAYS = ("kernel", "plain", "plain, out")
"""``rd.kernel(model, name)(q, v, a, out)``, ``rd.name(model, q, v, a)``, and the latter with
``out=``.
"""


def per_call(
    model: rd.RobotModel, urdf: str, seconds: float, rounds: int
) -> dict[str, dict[str, float]]:
    """Microseconds a call by function and contestant: our kernels and plain functions, and the
    peers.
    """
    rng = np.random.default_rng(0)
    q, v, a = (rng.uniform(-1, 1, n) for n in (model.nq, model.nv, model.nv))
    out = np.empty(model.nv)
    M = np.empty((model.nv, model.nv))
    wrenches = np.empty((len(model.joint_names), 6))
    peers = Peers(model, urdf, (q, v, a))
    both = rd.kernel(model, "inverse_dynamics_wrenches")

    def ours(name: str, inputs: tuple[np.ndarray, ...], result: np.ndarray) -> dict[str, Call]:
        run = rd.kernel(model, name)
        plain = getattr(rd, name)
        # written out as a caller would, without unpacking
        if len(inputs) == 1:
            (x,) = inputs
            return {
                "kernel": lambda: run(x, result),
                "plain": lambda: plain(model, x),
                "plain, out": lambda: plain(model, x, out=result),
            }
        x, y, z = inputs
        return {
            "kernel": lambda: run(x, y, z, result),
            "plain": lambda: plain(model, x, y, z),
            "plain, out": lambda: plain(model, x, y, z, out=result),
            "with wrenches": lambda: both(x, y, z, result, wrenches),
        }

    given = {"inverse": ((q, v, a), out), "forward": ((q, v, a), out), "mass": ((q,), M)}
    table: dict[str, dict[str, float]] = {}
    for what, name in FUNCTIONS.items():
        table[what] = least({**ours(name, *given[what]), **peers.calls[what]}, seconds, rounds)
        table[what]["backend"] = backends.evaluator(model, name).backend  # type: ignore[assignment]
    return table


def by_link(
    model: rd.RobotModel, urdf: str, seconds: float, rounds: int
) -> dict[str, dict[str, float]]:
    """Microseconds a call of the plain functions of one link, and of all joints' wrenches, beside
    Pinocchio's.
    """
    import pinocchio as pin

    P = pin.buildModelFromXML(urdf)
    D = P.createData()
    x = pin.neutral(P)
    u = np.ones(P.nv)
    q = model.neutral()
    v = np.ones(model.nv)
    link = model.link_names[int(np.argmax(model.link_body))]
    frame = P.getFrameId(link)
    axes = pin.LOCAL_WORLD_ALIGNED
    calls: dict[str, dict[str, Call]] = {
        "jacobian": {
            "plain": lambda: rd.jacobian(model, q, link),
            "pinocchio": lambda: pin.computeFrameJacobian(P, D, x, frame, axes),
        },
        "link_pose": {
            "plain": lambda: rd.link_pose(model, q, link),
            "pinocchio": lambda: pin.framesForwardKinematics(P, D, x),
        },
        "joint_wrenches": {
            "plain": lambda: rd.joint_wrenches(model, q, v, v),
            "pinocchio": lambda: (pin.rnea(P, D, x, u, u), D.f),
        },
    }
    return {what: least(row, seconds, rounds) for what, row in calls.items()}


def batch(model: rd.RobotModel, urdf: str, states: int, rounds: int) -> dict[str, dict[str, float]]:
    """Million states a second, inverse and forward dynamics."""
    import pinocchio as pin

    rng = np.random.default_rng(0)
    q, v, a = (rng.uniform(-1, 1, (states, n)) for n in (model.nq, model.nv, model.nv))
    out = np.empty((states, model.nv))
    P = pin.buildModelFromXML(urdf)
    pool = pin.ModelPool(P, 2)
    Q, V, A, T = (
        np.asfortranarray(rng.uniform(-1, 1, (n, states))) for n in (P.nq, P.nv, P.nv, P.nv)
    )
    found: dict[str, dict[str, float]] = {}
    theirs = {"inverse": "rneaInParallel", "forward": "abaInParallel"}
    for what, ours in (("inverse", rd.inverse_dynamics), ("forward", rd.forward_dynamics)):
        row = found[what] = {}
        for n in (1, 2):

            def mine(n: int = n, ours: Any = ours) -> None:
                set_threads(n)
                ours(model, q, v, a, out=out)

            calls: dict[str, Call] = {f"ours, {n} threads": mine}
            function = getattr(pin, theirs[what], None)
            if function is not None:
                calls[f"pinocchio, {n} threads"] = lambda n=n, f=function: f(n, pool, Q, V, A, T)
            row.update({k: states / x for k, x in least(calls, 0.001, rounds // 4).items()})
        set_threads(None)
    return found


def sweep(rounds: int) -> dict[str, list[float]]:
    """Microseconds for chains of many lengths, compiled as loops throughout."""
    found: dict[str, list[float]] = {"links": [float(n) for n in SWEEP]}
    for what, name in (("inverse", "inverse_dynamics"), ("forward", "forward_dynamics")):
        row = found[what] = []
        for n in SWEEP:
            model = rd.chain(n).with_backend("loops")
            rng = np.random.default_rng(0)
            q, v, a = rng.uniform(-1, 1, (3, n))
            run = rd.kernel(model, name)
            out = np.empty(n)
            row.append(
                least(
                    {"ours": lambda run=run, q=q, v=v, a=a, out=out: run(q, v, a, out)},
                    0.001,
                    rounds,
                )["ours"]
            )
    return found


def exponent(sizes: list[float], costs: list[float]) -> float:
    """Slope of log cost over log size beyond the smallest sizes, where calling dominates."""
    x = np.log(sizes)
    y = np.log(costs)
    return float(np.polyfit(x, y, 1)[0])


def compile_times() -> dict[str, float]:
    """Seconds to make the seven-axis arm's common functions ready, in fresh processes, without and
    with a cache.
    """
    import subprocess

    code = (
        "import time, numpy, robot_dynamics_ros as rd; m = rd.load_robot('seven_axis'); import "
        "llvmlite.binding\n"
        "for n in ('inverse_dynamics', 'forward_dynamics', 'mass_matrix', "
        "'inverse_dynamics_wrenches'):\n"
        " t = time.perf_counter(); rd.kernel(m, n); print(n, time.perf_counter() - t)"
    )
    found = {}
    with tempfile.TemporaryDirectory() as place:
        environment = {**os.environ, "ROBOT_DYNAMICS_CACHE": str(Path(place) / "kernels")}
        for label in ("cold", "cached"):
            said = subprocess.run(
                [sys.executable, "-c", code],
                env=environment,
                capture_output=True,
                text=True,
                check=True,
            )
            for line in said.stdout.splitlines():
                name, seconds = line.split()
                found[f"{name}, {label}"] = float(seconds)
    start = (
        "import time; t = time.perf_counter(); import robot_dynamics_ros as rd; rd.load_urdf; "
        "rd.kernel; print(time.perf_counter() - t)"
    )
    times = [
        float(
            subprocess.run(
                [sys.executable, "-c", start], capture_output=True, text=True, check=True
            ).stdout
        )
        for _ in range(3)
    ]
    found["import robot_dynamics_ros"] = min(times)
    return found


def rollouts(rounds: int) -> dict[str, float]:
    """Million simulation steps a second on the seven-axis arm, one state, friction and stops on,
    beside mj_step.
    """
    model = rd.load_robot("seven_axis")
    q = model.initial_configuration()
    v = np.zeros(model.nv)
    calls: dict[str, Call] = {
        method: lambda method=method: rd.rollout(
            model, q, v, dt=1e-4, steps=1000, method=method, stop_stiffness=1e3
        )
        for method in ("semi_implicit", "rk4")
    }
    peers = Peers(model, rd.to_urdf(model), (q, v, v))
    if hasattr(peers, "step"):
        m, d = peers.step
        m.opt.timestep = 1e-4
        calls["mj_step"] = lambda: peers.mujoco.mj_step(m, d, 1000)
    return {k: 1000.0 / x for k, x in least(calls, 0.001, rounds // 4).items()}


BARS = {
    "inverse": (5.0, 1.5),
    "forward": (5.0, 1.5),
    "mass": (5.0, 1.5),
}
"""Times Pinocchio, for up to 32 degrees of freedom and for more: kernels."""
PLAIN_BAR = 3.0
LINK_BAR = 2.0
"""The same for plain functions and for those of one link, up to nine degrees of freedom."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--json", type=Path, help="write all figures there")
    parser.add_argument("--plot", type=Path, help="draw cost against the number of links there")
    parser.add_argument("--only", default="", help="robots, by comma")
    options = parser.parse_args()
    # bursts shorter than a time slice, and many: some then run undisturbed on a busy machine too
    rounds, seconds = (60, 0.001) if options.quick else (200, 0.001)
    only = set(filter(None, options.only.split(",")))
    figures: dict[str, Any] = {"made with": surroundings(), "per call": {}}
    missed = []

    print(
        "µs a whole call from Python, nothing subtracted; × is the peer's time over ours "
        "(Pinocchio's, MuJoCo's)\n"
    )
    print(
        f"{'robot':18}{'':9}{'backend':9}"
        + "".join(f"{way:>22}" for way in WAYS)
        + f"{'pinocchio':>11}{'mujoco':>9}"
    )
    chosen = robots(only)
    for name, (model, urdf) in chosen.items():
        table = figures["per call"][name] = per_call(model, urdf, seconds, rounds)
        for what, row in table.items():
            ours = "".join(
                f"{row[way]:9.3f} {row['pinocchio'] / row[way]:5.1f} ×"
                + (f"{row['mujoco'] / row[way]:4.0f} ×" if "mujoco" in row else f"{'':6}")
                for way in WAYS
            )
            theirs = f"{row['pinocchio']:11.2f}" + (
                f"{row['mujoco']:9.2f}" if "mujoco" in row else ""
            )
            print(f"{name:18}{what:9}{row['backend']:9}{ours}{theirs}", flush=True)
            bars = (
                BARS[what][0 if model.nv <= 32 else 1],
                *(PLAIN_BAR if model.nv <= 9 else 0.0,) * 2,
            )
            for way, bar in zip(WAYS, bars, strict=True):
                if row["pinocchio"] / row[way] < bar:
                    missed.append(
                        f"{name} {what}, {way}: {row['pinocchio'] / row[way]:.1f} × Pinocchio, "
                        f"wanted {bar}"
                    )
            if (
                what == "mass"
                and "mujoco" in row
                and model.nv >= 100
                and row["mujoco"] < row["kernel"]
            ):
                missed.append(f"{name} mass: MuJoCo is faster")
        share = table["inverse"]["with wrenches"] / table["inverse"]["kernel"]
        print(f"{'':18}efforts and all joint wrenches in one pass: {share:.2f} × the efforts alone")
        if share > 1.3:
            missed.append(f"{name}: wrenches cost {share:.2f} ×")
        if model.nv <= 32:
            for what, row in by_link(model, urdf, seconds, rounds).items():
                figures.setdefault("by link", {}).setdefault(name, {})[what] = row
                ratio = row["pinocchio"] / row["plain"]
                print(
                    f"{'':18}rd.{what:15}{row['plain']:8.3f} {ratio:5.1f} ×{row['pinocchio']:8.2f}"
                )
                if ratio < LINK_BAR and model.nv <= 9:
                    missed.append(f"{name} {what}: {ratio:.1f} × Pinocchio, wanted {LINK_BAR}")

    if not only or "ur5" in only:
        print("\nbatches, million states a second (ur5)\n")
        model, urdf = chosen["ur5"]
        figures["batch"] = batch(model, urdf, 100_000, rounds)
        for what, row in figures["batch"].items():
            print(f"{what:9}" + "   ".join(f"{k}: {x:.1f}" for k, x in row.items()))
            ours = row["ours, 1 threads"]
            bar = {"inverse": 20.0, "forward": 15.0}[what]
            if "pinocchio, 1 threads" in row:
                ratio = ours / row["pinocchio, 1 threads"]
                print(
                    f"{'':9}{ratio:.0f} × Pinocchio on one thread; two threads "
                    f"{row['ours, 2 threads'] / ours:.2f} × one"
                )
                if ratio < bar:
                    missed.append(f"batch {what}: {ratio:.0f} × Pinocchio, wanted {bar:.0f}")
    if not only:
        figures["steps"] = rollouts(rounds)
        print(
            "\nsimulation, million steps a second (seven_axis, friction and stops): "
            + ", ".join(f"{k} {x:.2f}" for k, x in figures["steps"].items())
        )
        figures["compile"] = compile_times()
        print("\nseconds:")
        for what, value in figures["compile"].items():
            print(f"  {what:42}{value:7.3f}")
        figures["sweep"] = sweep(rounds)
        print("\ncost against the number of links, 2 to 1000:")
        for what in ("inverse", "forward"):
            power = exponent(figures["sweep"]["links"], figures["sweep"][what])
            print(f"  {what:9}∝ n^{power:.2f}")
            if power > 1.1:
                missed.append(f"{what}: grows as n^{power:.2f}")
        if options.plot:
            plot(figures["sweep"], options.plot)
    keep("dynamics", _ratios(figures))
    if not only:
        write("dynamics", figures)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))
    print("\nnot reached:" if missed else "\nall bars reached")
    for line in missed:
        print(f"  {line}")
    return 0


def _ratios(figures: dict[str, Any]) -> dict[str, float]:
    """More is better."""
    ratios = {
        f"{robot}, {what}, {way}: times Pinocchio": row["pinocchio"] / row[way]
        for robot, table in figures["per call"].items()
        for what, row in table.items()
        for way in WAYS
    }
    for robot, table in figures.get("by link", {}).items():
        for what, row in table.items():
            ratios[f"{robot}, {what}: times Pinocchio"] = row["pinocchio"] / row["plain"]
    for what, row in figures.get("batch", {}).items():
        ratios[f"batch, {what}: two threads over one"] = (
            row["ours, 2 threads"] / row["ours, 1 threads"]
        )
    return ratios


def plot(figures: dict[str, list[float]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4))
    for what in ("inverse", "forward"):
        power = exponent(figures["links"], figures[what])
        axes.loglog(
            figures["links"], figures[what], "o-", label=f"{what} dynamics, ∝ n^{power:.2f}"
        )
    axes.set_xlabel("links")
    axes.set_ylabel("µs a call")
    axes.grid(True, which="both", alpha=0.3)
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    print(f"drawn: {path}")


if __name__ == "__main__":
    raise SystemExit(main())
