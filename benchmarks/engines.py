"""Both engines of the simulator on the same robots where nothing touches: how far apart they are,
and what a step costs.

    python -m benchmarks.engines [--quick]

Robots as their URDFs say, moving freely from a lively state without motors.  Accelerations and
joint wrenches of that state, with dry friction off; then one second at 1 ms: both with a
fourth-order method, and both as they are by default (dry friction on).  Speed: `plant.step`, the
default methods, interleaved rounds in one process.
"""

from __future__ import annotations

import argparse
import os
import warnings
from importlib import metadata
from pathlib import Path

import numpy as np

import robot_dynamics_ros as rd
from benchmarks._ratios import keep
from benchmarks._results import write
from benchmarks.dynamics import least

DT = 1e-3
SECONDS = 1.0
FINER = 4
"""MuJoCo steps in a step of ours, for the last comparison."""
LOADED = {"panda": "panda.urdf", "ur5": "ur5_robot.urdf", "tiago": "tiago.urdf"}


def robots() -> dict[str, rd.RobotModel]:
    """Three of our own, three of other people's (from example-robot-data, where installed)."""
    found = {name: rd.load_robot(name) for name in ("six_axis", "seven_axis", "two_arm_torso")}
    try:
        files = [
            Path(str(f.locate()))
            for f in metadata.files("example-robot-data") or []
            if f.suffix == ".urdf"
        ]
    except metadata.PackageNotFoundError:
        files = []
    for name, file in LOADED.items():
        paths = sorted(path for path in files if path.name == file)
        if paths:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found[name] = rd.load_urdf(paths[0])
    return found


def lively(model: rd.RobotModel) -> tuple[np.ndarray, np.ndarray]:
    """A start that bends every joint."""
    q = rd.Plant(model, DT).q
    return q, np.where(np.isfinite(model.velocity_limit), 0.2 * model.velocity_limit, 0.3) * np.cos(
        np.arange(model.nv)
    )


def pair(model: rd.RobotModel, method: str, **options: object) -> tuple[rd.Plant, rd.MujocoPlant]:
    """Our plant and MuJoCo's, both by ``"rk4"``, or (``""``) by their defaults."""
    ours = rd.Plant(model, DT, **({"integrator": method} if method else {}), **options)
    theirs = rd.MujocoPlant(model, DT, geometry="none", integrator=method or None, **options)
    for plant in (ours, theirs):
        plant.reset(*lively(model))
    return ours, theirs


def differences(model: rd.RobotModel) -> list[float]:
    """Largest relative difference of accelerations and wrenches; largest distance of positions over
    a second, three times.
    """
    free = {"stops": None, "limiter": False}
    idle = np.zeros(model.nv)
    ours, theirs = pair(rd.robot_model_error(model, friction=0.0), "rk4", **free)
    for plant in (ours, theirs):
        plant.hold(idle)
    row = []
    for of in ("acceleration", "joint_wrenches"):
        expected = getattr(ours, of)()
        found = getattr(theirs, of)()
        row.append(float(np.abs(found - expected).max() / np.abs(expected).max()))
    row.append(apart(ours, theirs))
    row.append(apart(*pair(model, "", **free)))
    ours, _ = pair(model, "", **free)
    finer = rd.MujocoPlant(model, DT, geometry="none", substeps=FINER, **free)
    finer.reset(*lively(model))
    row.append(apart(ours, finer))
    return row


def apart(ours: rd.Plant, theirs: rd.MujocoPlant) -> float:
    """rad or m."""
    idle = np.zeros(ours.model.nv)
    gap = 0.0
    for _ in range(round(SECONDS / DT)):
        ours.step(idle)
        theirs.step(idle)
        gap = max(gap, float(np.abs(theirs.q - ours.q).max()))
    return gap


def cost(model: rd.RobotModel, rounds: int) -> tuple[float, float]:
    """µs a step, ours and MuJoCo's."""
    ours, theirs = pair(model, "")
    idle, (q, v) = np.zeros(model.nv), lively(model)

    def steps(plant: rd.Plant | rd.MujocoPlant) -> None:
        plant.reset(q, v)
        for _ in range(50):
            plant.step(idle)

    found = least({"ours": lambda: steps(ours), "theirs": lambda: steps(theirs)}, 0.02, rounds)
    return found["ours"] / 50, found["theirs"] / 50


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds of timing")
    options = parser.parse_args()
    print(
        f"{'robot':16}{'joints':>7} | {'acceleration':>13}{'wrenches':>10} | "
        f"{'1 s, rk4':>10}{'1 s, default':>14}{'4 steps':>14} | µs a step: ours, MuJoCo"
    )
    found = {}
    for name, model in robots().items():
        a, w, close, default, finer = differences(model)
        ours, theirs = cost(model, 3 if options.quick else 10)
        found[name] = {
            "joints": model.nv,
            "accelerations": a,
            "joint wrenches": w,
            "1 s, both rk4": close,
            "1 s, both default": default,
            "1 s, both default, 4 MuJoCo steps": finer,
            "Plant, µs a step": ours,
            "MujocoPlant, µs a step": theirs,
        }
        print(
            f"{name:16}{model.nv:7} | {a:13.1e}{w:10.1e} | "
            f"{close:10.1e}{default:14.1e}{finer:14.1e} | {ours:10.1f}{theirs:10.1f}",
            flush=True,
        )
    times = {
        name: row["MujocoPlant, µs a step"] / row["Plant, µs a step"] for name, row in found.items()
    }
    keep("engines", {f"{name}, a step: times MujocoPlant": ratio for name, ratio in times.items()})
    write("engines", {"robots": found})
    print(
        "\nacceleration, wrenches: largest difference over the largest value, one state; 1 s: "
        "largest distance of any joint, rad"
        " or m.\nMimic joints are rigid in ours and yield in MuJoCo.  Load "
        f"{os.getloadavg()[0]:.1f}."
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
