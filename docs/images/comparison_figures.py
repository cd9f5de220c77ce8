"""Draws docs/images/comparison.png and prints its numbers: ``python -m
docs.images.comparison_figures``, from the checkout.

Four motions by this package, MuJoCo and Exudyn, started alike: what is drawn below is the largest
difference of any joint.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import mujoco
import numpy as np

import robot_dynamics_ros as rd
from benchmarks._exudyn_robot import exudyn_motion
from benchmarks._results import write
from robot_dynamics_ros.simulation import JointPD, Plant

HERE = Path(__file__).parent
DT = 5e-4
DURATION = 2.0
EVERY = 10


def with_joints(model: rd.RobotModel, **values: float) -> rd.RobotModel:
    """The robot with other friction at all joints, without limits and rotors."""
    free = {"lower": -np.inf, "upper": np.inf}
    joints = tuple(
        dataclasses.replace(j, armature=0.0, limits=dataclasses.replace(j.limits, **free), **values)
        if j.type.nv
        else j
        for j in model.description.joints
    )
    return model.replace(description=dataclasses.replace(model.description, joints=joints))


def ours(
    model: rd.RobotModel, v0: np.ndarray, tau: np.ndarray, integrator: str, p: float
) -> np.ndarray:
    springs = JointPD(p=p) if p else None
    plant = Plant(
        model,
        DT,
        integrator=integrator,
        stops=None,
        limiter=False,
        q0=np.zeros(model.nq),
        v0=v0,
        springs=springs,
    )
    rows = [plant.q]
    for k in range(round(DURATION / DT)):
        plant.step(tau)
        if k % EVERY == EVERY - 1:
            rows.append(plant.q)
    return np.array(rows)


def mujocos(model: rd.RobotModel, v0: np.ndarray, tau: np.ndarray, p: float) -> np.ndarray:
    peer = rd.MujocoPlant(
        model, DT, geometry="none", integrator="rk4", substeps=1, stops=None, q0=np.zeros(model.nq)
    )
    m = peer.m
    d = peer.data
    m.jnt_stiffness[:] = p
    index = peer.map.v_at
    d.qvel[index] = v0
    d.qfrc_applied[index] = tau
    rows = [d.qpos[index].copy()]
    for k in range(round(DURATION / DT)):
        mujoco.mj_step(m, d)
        if k % EVERY == EVERY - 1:
            rows.append(d.qpos[index].copy())
    return np.array(rows)


def motions() -> dict[str, dict[str, Any]]:
    """Title → robot, initial velocity, spring, effort."""
    arm = rd.load_robot("seven_axis")
    torso = rd.load_robot("two_arm_torso")
    smooth = {"damping": 0.5, "friction": 0.0}
    return {
        "chain: 7 joints falling": {"model": with_joints(arm, **smooth), "v0": 0.5},
        "tree: 11 joints falling": {"model": with_joints(torso, **smooth), "v0": 0.5},
        "springs of 20 N m/rad": {"model": with_joints(arm, **smooth), "v0": 1.0, "p": 20.0},
        "dry friction of 1 N m": {
            "model": with_joints(arm, damping=0.5, friction=1.0),
            "v0": 2.0,
            "exudyn": False,
        },
    }


def main() -> None:
    figure, axes = plt.subplots(2, 4, figsize=(12, 5), sharex=True, constrained_layout=True)
    found: dict[str, dict[str, float]] = {}
    t = np.arange(0, round(DURATION / DT) + 1, EVERY) * DT
    for (title, motion), (above, below) in zip(motions().items(), axes.T, strict=True):
        model = motion["model"]
        p = motion.get("p", 0.0)
        v0 = np.full(model.nv, motion["v0"])
        tau = np.zeros(model.nv)
        q = ours(model, v0, tau, "rk4", p)
        others = {
            "MuJoCo": mujocos(model, v0, tau, p),
            "this package, moreau": ours(model, v0, tau, "moreau", p),
        }
        if motion.get("exudyn", True):
            stiffness = np.full(model.nv, p)
            others["Exudyn"] = exudyn_motion(
                model, np.zeros(model.nq), v0, stiffness, model.damping, DURATION, DT, EVERY
            )
        for i in range(0, model.nv, 2):
            above.plot(t, q[:, i], linewidth=1.0)
            above.plot(t[::25], others["MuJoCo"][::25, i], "k.", markersize=2.5)
        above.set_title(title, fontsize=10)
        for name, other in others.items():
            gap = np.abs(other[: len(q)] - q[: len(other)]).max(axis=1)
            # Exudyn's curve may lie on MuJoCo's
            look = {"linewidth": 3.5, "alpha": 0.5} if name == "MuJoCo" else {"linewidth": 1.0}
            below.semilogy(t[: len(gap)], np.maximum(gap, 1e-16), label=name, **look)
            found.setdefault(title, {})[name] = gap.max()
            print(
                f"{title:26} {name:22} largest difference {gap.max():.1e} rad, of "
                f"{np.abs(q).max():.1f}"
            )
        below.set_xlabel("time [s]")
        below.set_ylim(1e-16, 1e1)
        below.grid(alpha=0.3)
    axes[0, 0].set_ylabel("position [rad]\nlines: rk4, dots: MuJoCo")
    axes[1, 0].set_ylabel("difference from rk4 [rad]")
    figure.legend(
        *axes[1, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False
    )
    figure.savefig(HERE / "comparison.png", dpi=90)
    write("comparison", {"largest difference from rk4, rad": found})


if __name__ == "__main__":
    main()
