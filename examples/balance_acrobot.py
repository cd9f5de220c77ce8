"""Balance the two-link arm upright with the elbow's motor alone: linearize, solve for the
regulator, simulate.

python examples/balance_acrobot.py
"""

from __future__ import annotations

import numpy as np

import robot_dynamics_ros as rd
from robot_dynamics_ros.simulation import JointFriction


def main() -> float:
    """Largest deviation from upright after six seconds, rad."""
    model = rd.load_robot("two_link")
    upright = np.array([np.pi / 2, 0.0])
    A, B = rd.linearize(model, upright, inputs=["elbow"], viscous=True)
    print("eigenvalues as it stands:   ", np.round(np.linalg.eigvals(A), 3))
    K = rd.lqr(A, B, [10.0, 10.0, 1.0, 1.0], [1.0])
    print("eigenvalues with feedback:  ", np.round(np.linalg.eigvals(A - B @ K), 3))

    def control(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.array([0.0, -(K @ np.concatenate([q - upright, v]))[0]])

    start = upright + np.array([0.02, -0.03])
    run = rd.simulate(model, control, start, None, 6.0, 1e-3, friction=JointFriction(coulomb=0.0))
    left = float(np.abs(run.q[-1] - upright).max())
    print(
        f"started {np.abs(start - upright).max():g} rad off, largest effort "
        f"{np.abs(run.tau).max():.2f} N m, "
        f"left after {run.t[-1]:g} s: {left:.1e} rad"
    )
    return left


if __name__ == "__main__":
    main()
