"""Inverse kinematics of six arms for random targets within reach, beside Levenberg and Marquardt's
steps on Pinocchio, in one run.

    python -m benchmarks.inverse_kinematics [--only z1,xarm7] [--targets 1000]

Each target is the pose of the last link at a random configuration within the limits; every search
begins at the robot's initial configuration and goes on from random ones until it arrives.
Pinocchio has no solver of its own: the peer is the usual loop of Python around its compiled
kinematics and NumPy's solver, on a tenth of the targets.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

import robot_dynamics_ros as rd
from benchmarks._results import write
from benchmarks.dynamics import example

ARMS = {
    "six_axis": "tool0",
    "seven_axis": "flange",
    "ur5_robot": "tool0",
    "ur10_robot": "tool0",
    "z1": "link06",
    "xarm7": "link7",
}
TOLERANCE = 1e-6


def arm(name: str) -> rd.RobotModel:
    """The robot of that name: one of ours, or an example of the package example-robot-data."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return (
            rd.load_robot(name) if name.endswith("_axis") else rd.load_urdf(example(f"{name}.urdf"))
        )


class Peer:
    """Damped least squares on Pinocchio, from one guess after the other."""

    def __init__(self, model: rd.RobotModel, link: str) -> None:
        import pinocchio as pin

        self.pin, self.model = pin, pin.buildModelFromXML(rd.to_urdf(model))
        self.data, self.frame = self.model.createData(), self.model.getFrameId(link)
        self.lower = np.maximum(self.model.lowerPositionLimit, -np.pi)
        self.upper = np.minimum(self.model.upperPositionLimit, np.pi)

    def error(self, q: np.ndarray, target: np.ndarray) -> np.ndarray:
        """(6,) of the frame's pose, in the frame."""
        self.pin.framesForwardKinematics(self.model, self.data, q)
        return self.pin.log6(self.data.oMf[self.frame].actInv(self.pin.SE3(target))).vector

    def find(self, target: np.ndarray, q: np.ndarray, rng: np.random.Generator) -> bool:
        """Whether the pose is reached from ``q``, or from one of 80 random configurations."""
        pin = self.pin
        for _ in range(81):
            damping = 1e-2
            error = self.error(q, target)
            for _ in range(100):
                if np.linalg.norm(error) < TOLERANCE:
                    return True
                J = pin.Jlog6(
                    pin.SE3(target).actInv(self.data.oMf[self.frame])
                ) @ pin.computeFrameJacobian(self.model, self.data, q, self.frame)
                step = J.T @ np.linalg.solve(J @ J.T + damping * np.eye(6), error)
                ahead = np.clip(q + step, self.lower, self.upper)
                new = self.error(ahead, target)
                if new @ new < error @ error:
                    q = ahead
                    error = new
                    damping = max(0.2 * damping, 1e-9)
                else:
                    damping *= 10.0
                if damping > 1e3:
                    break
            q = rng.uniform(self.lower, self.upper)
        return False


def measure(name: str, count: int) -> dict[str, float]:
    """Milliseconds a target, median and 99 of 100, and the share found; the same of the peer."""
    model = arm(name)
    link = ARMS[name]
    rng = np.random.default_rng(0)
    lower = np.maximum(model.lower, -np.pi)
    upper = np.minimum(model.upper, np.pi)
    poses = rd.link_pose(model, rng.uniform(lower, upper, (count, model.nq)), link)
    rd.inverse_kinematics(model, link, poses[0])
    peer = Peer(model, link)
    start = model.initial_configuration()
    figures: dict[str, float] = {}
    searches = {
        "": lambda pose: bool(rd.inverse_kinematics(model, link, pose).reached),
        ", Pinocchio": lambda pose: peer.find(pose, np.clip(start, peer.lower, peer.upper), rng),
    }
    for word, search in searches.items():
        times = []
        reached = 0
        for pose in poses if not word else poses[: count // 10]:
            begin = time.perf_counter()
            reached += search(pose)
            times.append(1e3 * (time.perf_counter() - begin))
        middle, slow = np.percentile(times, [50, 99])
        figures |= {
            f"median{word}": middle,
            f"99 %{word}": slow,
            f"found{word}": reached / len(times),
        }
    return figures


def main() -> None:
    """Print and write the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default=",".join(ARMS), help="arms, separated by commas")
    parser.add_argument("--targets", type=int, default=1000)
    arguments = parser.parse_args()
    figures = {}
    print(f"{'arm':12} median, ms  99 %, ms  found | Pinocchio: median, ms  99 %, ms  found")
    for name in arguments.only.split(","):
        figures[name] = f = measure(name, arguments.targets)
        ours, theirs = (
            [f[f"{x}{word}"] for x in ("median", "99 %", "found")] for word in ("", ", Pinocchio")
        )
        print(
            f"{name:12} {ours[0]:10.3f} {ours[1]:9.2f} {ours[2]:6.3f} | {theirs[0]:21.3f} "
            f"{theirs[1]:9.2f} {theirs[2]:6.3f}"
        )
    write("inverse_kinematics", {"arms": figures})


if __name__ == "__main__":
    main()
