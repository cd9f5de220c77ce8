"""``demo --all``: the demonstration's motion on many robots, offline in lockstep, and a table of the results."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from importlib import metadata
from pathlib import Path

import numpy as np

from robot_dynamics_ros.cli.rehearsal import rehearse
from robot_dynamics_ros.control.reference.planning import bearable_start, plan_motion, standing_joints
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.model.library import robot_names, robot_path
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.model.urdf import load_urdf

_PERIOD = 4e-3  # s: 250 Hz, as slow as arms are led
HEAD = ("robot", "joints", "seconds", "largest error", "left", "outcome")


def all_robots() -> list[tuple[str, Path]]:
    """Name and file of the robots that ship with the package, and of example-robot-data where that is installed."""
    robots = [(name, robot_path(name)) for name in robot_names()]
    try:
        files = metadata.files("example-robot-data") or []
    except metadata.PackageNotFoundError:
        files = []
    paths = sorted({Path(str(file.locate())).resolve() for file in files if file.suffix == ".urdf"})
    return [*robots, *((path.stem, path) for path in sorted(paths, key=lambda path: (path.name, str(path))))]


def try_robots(
    robots: Iterable[tuple[str, Path]],
    *,
    inertia_check: str,
    duration: float,
    tolerance: float,
    seed: int,
    progress: Callable[[str], None],
) -> list[dict[str, object]]:
    """One row a robot, with the keys of :data:`HEAD` and ``arrived``."""
    rows = []
    for name, path in robots:
        progress(name)
        row: dict[str, object] = {"robot": name, "joints": None, "seconds": None, "largest error": None, "left": None}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                row |= _try(load_urdf(path, inertia_check=inertia_check), duration, tolerance, seed)
        except RobotDynamicsError as error:
            way_out = (
                f"; goes on with --{error.setting[0].replace('_', '-')} {error.setting[1]}" if error.setting else ""
            )
            row |= {"arrived": False, "outcome": str(error).splitlines()[0].rstrip(".") + way_out}
        rows.append(row)
    return rows


def by_reason(standing: Mapping[str, str]) -> dict[str, list[str]]:
    """Reason → the joints that stand for it."""
    names_by_reason: dict[str, list[str]] = {}
    for name, why in standing.items():
        names_by_reason.setdefault(why, []).append(name)
    return names_by_reason


def _try(model: RobotModel, duration: float, tolerance: float, seed: int) -> dict[str, object]:
    several = [name for name in model.joint_names if model.joint(name).type.nv != 1]
    if several or not model.nv:
        outcome = f"joint {several[0]} has several degrees of freedom" if several else "nothing moves"
        return {"joints": model.nv, "arrived": None, "outcome": f"not tried: {outcome}"}
    start, moved = bearable_start(model, model.initial_configuration())
    motion = plan_motion(model, start, duration=duration, seed=seed)
    done = rehearse(model, motion, dt=_PERIOD, tolerance=tolerance)
    remarks = [f"starts elsewhere: {moved}"] if moved else []
    if done.remark:
        remarks.append(done.remark)
    remarks += [f"{', '.join(names)} stood: {why}" for why, names in by_reason(standing_joints(model, motion)).items()]
    return {
        "joints": model.nv,
        "seconds": round(motion.duration, 2),
        "largest error": float(np.abs(done.error).max()),
        "left": float(done.goal_error.max()),
        "arrived": done.arrived,
        "outcome": "; ".join(["arrived" if done.arrived else f"NOT ARRIVED: {done.reason()}", *remarks]),
    }
