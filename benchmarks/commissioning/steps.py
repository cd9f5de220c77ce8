"""The steps that only look, on a stand-in arm, without middleware."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import robot_dynamics_ros as rd
from benchmarks.commissioning.arm import MistakenArm, asked_poses
from robot_dynamics_ros.commissioning import ArmState, weighing_poses
from robot_dynamics_ros.commissioning.listen import listen_to
from robot_dynamics_ros.commissioning.session import UNSAFE

__all__ = ["STOPPERS", "efforts_at_rest", "look", "reachable_poses"]

# s
FLOATS = 1.0
# rad, rad/s: from where and how fast a pose is passed
_BACK = 0.06
_SPEED = 0.12
STOPPERS = {"frozen_effort", "missing_field", "names", "position_unit"}
"""Findings of listening with which weighing would make no sense."""


def look(arm: MistakenArm, poses: np.ndarray) -> list[rd.commissioning.Finding]:
    """Findings of listening, at rest and in motion, of weighing, and of floating where nothing
    speaks against it.
    """
    start = arm.plant.q
    findings = [*_listen(arm, still=True).findings]
    arm.place(start)
    findings += _listen(arm, still=False).findings
    if STOPPERS & {finding.kind for finding in findings}:
        return findings
    if frozen := [name for f in findings if f.kind == "frozen_joint" for name in f.joints]:
        arm.place(start)
        poses = reachable_poses(arm, still=frozen)
    q, effort, moved = efforts_at_rest(arm, poses)
    findings += rd.commissioning.weigh(arm.claim, q, effort, moved=moved).findings
    if not any(finding.kind in UNSAFE for finding in findings):
        arm.place(arm.unseen(rd.commissioning.calm_pose(arm.claim, arm.seen(start))))
        arm.release()
        runner = rd.commissioning.StepRunner(arm, arm.claim)
        arm.floated = True
        floating = rd.commissioning.probe(runner)[0].findings
        if not floating:
            floating = rd.commissioning.float_arm(runner, FLOATS).findings
        # it shows a mistake that has its name
        findings += [f for f in floating if f.kind != "drift" or not findings]
    return list({(f.kind, f.joints): f for f in findings}.values())


def _listen(arm: MistakenArm, *, still: bool) -> rd.commissioning.StepReport:
    readings: list[ArmState] = []
    if still:
        for _ in range(500):
            newest = arm.release()
            if not readings or newest is not readings[-1]:
                readings.append(newest)
    else:
        start = arm.plant.q
        reach = np.minimum(0.4, 0.45 * (arm.truth.upper - arm.truth.lower))
        middle = np.clip(start, arm.truth.lower + reach, arm.truth.upper - reach)
        for goal in (middle + 0.5 * reach, middle - 0.5 * reach, middle + 0.3 * reach):
            arm.move(goal, 1.2, readings)
    return listen_to(arm.claim, readings, declared_rate=arm.declared_rate, still=still)


def reachable_poses(arm: MistakenArm, count: int = 12, still: Sequence[str] = ()) -> np.ndarray:
    """(count, n) poses, as they are read, where weighing asks for them and the arm gets to; some
    joints may have to stay.
    """
    low = arm.truth.lower + 2.0 * _BACK
    high = arm.truth.upper - 2.0 * _BACK
    poses = []
    here = arm.seen(arm.plant.q)
    for pose in (
        weighing_poses(arm.claim, count, around=here, still=still)
        if still
        else asked_poses(arm.name, count)
    ):
        true = np.clip(arm.unseen(pose), low, high)
        # a heavier arm does not get there
        for _ in range(20):
            if (
                np.max(
                    (np.abs(rd.gravity_forces(arm.truth, true)) + arm.truth.friction)
                    / arm.truth.effort_limit
                )
                < 0.9
            ):
                break
            true = (
                true
                + 0.3 * (arm.plant.q - true)
                + np.random.default_rng(len(poses)).normal(0.0, 0.1, len(true))
            )
            true = np.clip(true, low, high)
        poses.append(arm.seen(true))
    return np.array(poses)


def efforts_at_rest(
    arm: MistakenArm, poses: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(k, n) positions, (k, 2, n) efforts while poses (k, n) are passed slowly in both directions,
    (k, n) motion at rest.
    """
    q = []
    tau = []
    moved = []
    for pose in poses:
        positions = []
        efforts = []
        for side in (-1.0, 1.0):
            readings: list[ArmState] = []
            arm.place(arm.unseen(pose + side * _BACK))
            arm.pass_through(arm.unseen(pose - side * 0.3 * _BACK), _SPEED, readings)
            near = [r for r in readings if np.max(np.abs(r.q - pose)) < 0.3 * _BACK] or readings[
                -50:
            ]
            positions.append(np.mean([r.q for r in near], axis=0))
            efforts.append(np.mean([r.effort for r in near], axis=0))
        arm.rest(0.15, readings := [])
        drift = np.abs(readings[-1].q - readings[len(readings) // 2].q)
        q.append(np.mean(positions, axis=0))
        tau.append(efforts)
        moved.append(drift)
    return np.array(q), np.array(tau), np.array(moved)
