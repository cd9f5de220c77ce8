"""Steps a second as fast as possible, beside MuJoCo's mj_step on the same robot.

    python -m benchmarks simulation [--quick]

Arms with joint friction and stops, driven around at 1 ms.  Every figure is the least of interleaved
rounds in one process; what counts is the ratios.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
from typing import Any

import numpy as np

import robot_dynamics_ros as rd
from benchmarks._ratios import keep
from benchmarks._results import write
from benchmarks.dynamics import Call, least, straight_chain
from robot_dynamics_ros.dynamics.engine.parallel import set_threads
from robot_dynamics_ros.model.library import robot_path
from robot_dynamics_ros.simulation import Plant

DT = 1e-3
# a round: from the same start, so that all do the same work
STEPS = 100
MANY = 200


def robots() -> dict[str, rd.RobotModel]:
    """6, 7 and 30 degrees of freedom, all with friction."""
    chain = straight_chain(30)
    joints = tuple(
        dataclasses.replace(j, damping=5.0, friction=0.5, armature=0.3)
        for j in chain.description.joints
    )
    return {
        "six_axis": rd.load_urdf(robot_path("six_axis"), armature=_rotors("six_axis", 0.1)),
        "seven_axis": rd.load_urdf(robot_path("seven_axis"), armature=_rotors("seven_axis", 0.1)),
        "chain30": chain.replace(description=dataclasses.replace(chain.description, joints=joints)),
    }


def _rotors(name: str, inertia: float) -> dict[str, float]:
    return dict.fromkeys(rd.load_robot(name).joint_names, inertia)


def contestants(model: rd.RobotModel) -> dict[str, tuple[Call, int]]:
    """Name → (call, steps in a call)."""
    import mujoco

    n = model.nv
    q0 = Plant(model, DT).q
    v0 = np.full(n, 0.3)
    wave = model.friction + 0.5 * np.sin(0.02 * np.arange(STEPS)[:, None] + np.arange(n))
    weight = rd.gravity_forces(model, q0)
    efforts = np.ascontiguousarray(weight + wave)
    calls: dict[str, tuple[Call, int]] = {}
    ways: dict[str, dict[str, Any]] = {
        name: {"integrator": name} for name in ("moreau", "semi_implicit_euler", "rk4")
    }
    ways["moreau, compiled=False"] = {"compiled": False}
    for name, options in ways.items():
        plant = Plant(model, DT, **options)

        def ours(plant: Plant = plant) -> None:
            plant.reset(q0, v0)
            for tau in efforts:
                plant.step(tau)

        calls[f"Plant, {name}"] = ours, STEPS
    peer = rd.MujocoPlant(model, DT, geometry="none", integrator="euler")
    m = peer.m
    d = peer.data

    def start() -> None:
        mujoco.mj_resetData(m, d)
        d.qpos[:] = q0
        d.qvel[:] = v0

    def theirs() -> None:
        start()
        for tau in efforts:
            d.qfrc_applied[:] = tau
            mujoco.mj_step(m, d)

    def theirs_many() -> None:
        start()
        d.qfrc_applied[:] = weight
        mujoco.mj_step(m, d, MANY)

    plant = Plant(model, DT)
    held = np.ascontiguousarray(np.broadcast_to(weight, (MANY, n)))

    def ours_in_one_call() -> None:
        plant.reset(q0, v0)
        plant.run(held, record=False)

    calls["Plant.run, one call"] = ours_in_one_call, MANY

    def ours_many() -> None:
        rd.rollout(model, q0, v0, weight, dt=DT, steps=MANY, stop_stiffness=1e4)

    calls["mj_step"] = theirs, STEPS
    calls["rollout, one call"] = ours_many, MANY
    calls["mj_step, one call"] = theirs_many, MANY
    return calls


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    options = parser.parse_args()
    rounds = 4 if options.quick else 12
    print(
        "thousand steps of 1 ms in a second; in brackets MuJoCo's time a step over ours, called "
        "alike\n"
    )
    print(f"{'':22}" + "".join(f"{name:>22}" for name in robots()))
    rows: dict[str, list[str]] = {}
    ratios: dict[str, float] = {}
    rates: dict[str, dict[str, float]] = {}
    for robot, model in robots().items():
        calls = contestants(model)
        cost = least({name: call for name, (call, _) in calls.items()}, 0.02, rounds)
        step = {name: cost[name] / count for name, (_, count) in calls.items()}
        rates[robot] = {name: 1e3 / value for name, value in step.items()}
        for name, value in step.items():
            peer = "mj_step, one call" if "one call" in name else "mj_step"
            if not name.startswith("mj_step"):
                ratios[f"{robot}, {name}: times {peer}"] = step[peer] / value
            ratio = "" if name.startswith("mj_step") else f" ({step[peer] / value:.2f} ×)"
            rows.setdefault(name, []).append(f"{1e3 / value:.1f}{ratio}")
    for name, cells in rows.items():
        print(f"{name:22}" + "".join(f"{cell:>22}" for cell in cells))
    print(
        "\n'Plant' is a call of Python a step: friction that sticks, stops, ros2_control's "
        "limiter and a check for divergence;"
        "\n'Plant.run' is the same, all steps in one call; 'rollout' is one call, friction and "
        "stops smoothed;"
        "\n'mj_step' has soft friction and soft stops."
    )
    keep("simulation", ratios)
    write(
        "simulation", {"thousand steps a second": rates, "million steps a second": _batch(rounds)}
    )
    return 0


def _batch(rounds: int) -> dict[str, float]:
    """Million steps a second of many robots at once; printed, too."""
    model = robots()["seven_axis"]
    rng = np.random.default_rng(0)
    q = rng.uniform(-0.5, 0.5, (512, 7)) + Plant(model, DT).q
    v = rng.uniform(-0.5, 0.5, (512, 7))
    call: dict[str, Any] = {
        "batch": lambda: rd.rollout(model, q, v, dt=DT, steps=100, stop_stiffness=1e4)
    }
    found = {"512 arms in one rollout": 512 * 100 / least(call, 0.05, rounds)["batch"]}
    print(
        f"\n512 seven-axis arms in one rollout: {found['512 arms in one rollout']:.2f} million "
        "steps a second"
    )
    plants = [Plant(rd.random_model_error(model, k, friction=0.2), DT) for k in range(8)]
    commands = np.zeros((8, 2000, 7))
    for count in (1, None):
        set_threads(count)
        side = {"plants": lambda: rd.run_plants(plants, commands, record=False)}
        rate = 8 * 2000 / least(side, 0.05, rounds)["plants"]
        said = "one thread" if count == 1 else "all processors"
        found[f"8 plants side by side, {said}"] = rate
        print(
            f"8 different seven-axis plants side by side, {said}: {rate:.2f} million steps a second"
        )
    print(f"load {os.getloadavg()[0]:.1f}")
    return found


if __name__ == "__main__":
    raise SystemExit(main())
