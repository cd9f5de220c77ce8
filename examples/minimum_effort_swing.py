"""Swing a two-link arm upright with motors too weak to lift it: IPOPT plans, the computed-torque
controller follows.

The arm starts at rest, hanging. Its shoulder's motor bears two thirds of what the outstretched arm
weighs on it. The plan minimizes ∫ |τ / limit|² dt over piecewise linear efforts; the motion between
the nodes is integrated by the trapezoidal rule (direct collocation; Betts 2010, chapter 4). CasADi
differentiates our forward dynamics.

python examples/minimum_effort_swing.py            needs: pip install 'robot_dynamics_ros[casadi]'
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca
import numpy as np

import robot_dynamics_ros as rd

LIMITS = np.array([18.0, 8.0])
"""Efforts of the motors, N m; the arm, stretched out level, needs 26.5 and 4.4."""
DURATION = 2.4
NODES = 61


class Plan(NamedTuple):
    """Times (N), positions, velocities and efforts (N, 2), and ∫ |τ / limit|² dt."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    cost: float


def plan(model: rd.RobotModel, start: np.ndarray, goal: np.ndarray) -> Plan:
    """The swing with the least effort.

    Raises:
        RuntimeError: IPOPT found none.
    """
    n = model.nv
    h = DURATION / (NODES - 1)
    forward = rd.casadi_function(model, "forward_dynamics")
    damping = np.asarray(model.damping)
    problem = ca.Opti()
    q = problem.variable(n, NODES)
    v = problem.variable(n, NODES)
    u = problem.variable(n, NODES)
    rates = [forward(q[:, k], v[:, k], u[:, k] * LIMITS - damping * v[:, k]) for k in range(NODES)]
    cost = 0
    for k in range(NODES - 1):
        problem.subject_to(q[:, k + 1] == q[:, k] + h / 2 * (v[:, k] + v[:, k + 1]))
        problem.subject_to(v[:, k + 1] == v[:, k] + h / 2 * (rates[k] + rates[k + 1]))
        cost += h / 2 * (ca.sumsqr(u[:, k]) + ca.sumsqr(u[:, k + 1]))
    problem.minimize(cost)
    problem.subject_to(problem.bounded(-1, ca.vec(u), 1))
    for k in range(n):
        problem.subject_to(problem.bounded(model.lower[k], q[k, :], model.upper[k]))
        problem.subject_to(
            problem.bounded(-model.velocity_limit[k], v[k, :], model.velocity_limit[k])
        )
    for column, (position, speed) in ((0, (start, 0)), (NODES - 1, (goal, 0))):
        problem.subject_to(q[:, column] == position)
        problem.subject_to(v[:, column] == speed)
    problem.set_initial(q, np.linspace(start, goal, NODES).T)
    problem.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes", "max_iter": 500})
    found = problem.solve()
    t = np.linspace(0.0, DURATION, NODES)
    return Plan(
        t, found.value(q).T, found.value(v).T, found.value(u).T * LIMITS, float(found.value(cost))
    )


def follow(model: rd.RobotModel, planned: Plan) -> tuple[np.ndarray, np.ndarray]:
    """Deviation from the goal at the end, and the largest efforts on the way."""
    controller = rd.JointController(
        model, rd.ComputedTorque(kp=400.0, kd=40.0, friction=rd.Friction.of(model))
    )
    controller.activate(0, planned.q[0], planned.v[0])
    t, q, v, tau, _ = planned
    free = tau - np.asarray(model.damping) * v
    a = rd.forward_dynamics(model, q, v, free)
    swing = rd.Trajectory.from_waypoints(model.joint_names, t, q, v, a)
    goal = controller.accept_trajectory(swing, 0)
    run = rd.simulate(
        model,
        controller.control,
        q0=planned.q[0],
        duration=DURATION + 0.5,
        integrator="semi_implicit_euler",
    )
    print(f"trajectory {goal.status.name.lower()}")
    return run.q[-1] - q[-1], np.abs(run.tau).max(axis=0)


def main() -> tuple[Plan, np.ndarray, np.ndarray]:
    """The plan, the deviation at its end and the largest efforts."""
    model = rd.load_robot("two_link")
    hanging = np.array([-np.pi / 2, 0.0])
    upright = np.array([np.pi / 2, 0.0])
    planned = plan(model, hanging, upright)
    left, efforts = follow(model, planned)
    print(
        f"plan: {DURATION:g} s, ∫ |τ / limit|² dt = {planned.cost:.3f} s, "
        f"largest efforts {np.round(np.abs(planned.tau).max(axis=0), 2)} of {LIMITS} N m"
    )
    print(
        f"followed with {np.round(efforts, 2)} N m; off the goal at the end by "
        f"{np.abs(left).max():.1e} rad"
    )
    return planned, left, efforts


if __name__ == "__main__":
    main()
