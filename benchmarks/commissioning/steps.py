"""The steps that only look, on a stand-in arm, without middleware."""

from __future__ import annotations

import numpy as np

import robot_dynamics_ros as rd
from benchmarks.commissioning.arm import MistakenArm, Reading

__all__ = ["efforts_at_rest", "reachable_poses"]

_BACK = 0.06  # rad, from where a pose is approached


def reachable_poses(arm: MistakenArm, count: int = 12) -> np.ndarray:
    """(count, n) poses, as they are read, where weighing asks for them and the arm gets to."""
    asked = rd.commissioning.weighing_poses(arm.claim, count)
    low, high = arm.truth.lower + 2.0 * _BACK, arm.truth.upper - 2.0 * _BACK
    poses = []
    for pose in asked:
        true = np.clip(arm.unseen(pose), low, high)
        load = np.max(np.abs(rd.gravity_forces(arm.truth, true)) / arm.limit)
        poses.append(arm.seen(true) if load < 0.8 else arm.seen(0.5 * (true + arm.plant.q)))
    return np.array(poses)


def efforts_at_rest(arm: MistakenArm, poses: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(k, n) positions, (k, 2, n) efforts and (k, n) motion at rest, after approaching poses (k, n) from both sides."""
    q, tau, moved = [], [], []
    for pose in poses:
        positions, efforts, drift = [], [], np.zeros(len(pose))
        for side in (-1.0, 1.0):
            arm.place(arm.unseen(pose + side * _BACK))
            arm.move(arm.unseen(pose), 0.5)
            readings: list[Reading] = []
            arm.rest(0.2, readings)
            readings = readings[len(readings) // 2 :]
            positions.append(np.mean([r.position for r in readings], axis=0))
            efforts.append(np.mean([r.effort for r in readings], axis=0))
            drift = np.maximum(drift, np.abs(readings[-1].position - readings[0].position))
        q.append(np.mean(positions, axis=0))
        tau.append(efforts)
        moved.append(drift)
    return np.array(q), np.array(tau), np.array(moved)
