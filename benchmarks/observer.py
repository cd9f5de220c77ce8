"""What the momentum observer makes of motion without and with contact: ``python -m
benchmarks.observer [minutes]``.

The seven-axis arm follows a motion that excites everything, at 1 kHz, with noisy sensors.  First
nobody touches it: what the observer claims all the same is its false alarms.  Then it is pushed
every second: error and delay of the estimates.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np

import robot_dynamics_ros as rd
from benchmarks._closed_loop import arm, closed_loop
from benchmarks._ratios import keep
from benchmarks._results import write
from benchmarks.dynamics import least
from robot_dynamics_ros.control.kernels import Kernels

SENSORS = rd.SensorSettings(position_noise=2e-5, velocity_noise=2e-3, effort_noise=0.05, seed=3)
GAIN = 50.0
LINK = "flange"
# ratio of eigenvalues of J Jᵀ, as in rd.contact_wrench
DAMPED = 1e-2
# s
SETTLED = 1.0
PUSH = 0.5
EVERY = 1.0
WRONG = {"exact model": {}, "masses + 5 %, friction + 20 %": {"mass": 1.05, "friction": 1.2}}


@dataclass
class Silence:
    """Estimates without contact.

    Attributes:
        largest: (n,) N m.
        alarms: how often the flag rose, for each set of thresholds.
        minutes: of motion.
    """

    largest: np.ndarray
    alarms: list[int]
    minutes: float


def observed(model: rd.RobotModel, truth: rd.RobotModel, minutes: float, external=None):
    """Yield (t, q, observer, step) once a millisecond, from when the controller has settled."""
    motion = rd.design_excitation(model, rd.DesignSettings(period=20.0, evaluations=200, scale=0.6))
    friction = rd.Friction.of(model)
    observer = rd.MomentumObserver(model, GAIN, friction)
    law = rd.ComputedTorque(kp=400.0, kd=40.0, friction=friction)
    controller = rd.JointController(model, law, observer=observer)
    controller.want_wrenches = False
    plant = rd.Plant(truth, 1e-3, q0=motion.at(0.0))
    end = None
    for t, q, _, _ in closed_loop(
        controller, plant, sensors=SENSORS, external=external, measured_effort=True
    ):
        stamp = round(t * 1e9) + 1_000_000_000
        if end is None or t >= end:
            path = motion.trajectory(1, rate=20.0)
            controller.accept_trajectory(path, stamp)
            end = t + path.duration + 0.01
        if t >= SETTLED:
            yield t, q, observer
        if t >= SETTLED + 60.0 * minutes:
            return


def silence(
    model: rd.RobotModel, truth: rd.RobotModel, minutes: float, thresholds: list[np.ndarray]
) -> Silence:
    """Nobody touches the arm."""
    largest = np.zeros(model.nv)
    flags = [rd.CollisionMonitor(model, threshold, delay=0.005) for threshold in thresholds]
    alarms = [0] * len(flags)
    for _, _, observer in observed(model, truth, minutes):
        np.maximum(largest, np.abs(observer.effort), out=largest)
        for k, flag in enumerate(flags):
            alarms[k] += flag.update(observer.effort, 1e-3)
    return Silence(largest, alarms, minutes)


def pushes(
    model: rd.RobotModel, truth: rd.RobotModel, minutes: float, threshold: np.ndarray, force: float
):
    """Forces of one size and random direction at the flange; (errors N, whether near a singular
    pose, delays s, flags s).

    Errors are those of the force at the end of each push, near a singular pose those where the
    estimate is damped, delays those of the estimated effort's norm to 63 % of the true one's, flags
    from the onset to the flag.
    """
    rng = np.random.default_rng(5)
    count = int(60.0 * minutes / EVERY)
    ways = rng.normal(size=(count + 2, 3))
    ways *= force / np.linalg.norm(ways, axis=1, keepdims=True)

    def pushed(t: float):
        k, phase = divmod(t - SETTLED, EVERY)
        return (
            {LINK: np.r_[0.0, 0.0, 0.0, ways[int(k)]]}
            if t >= SETTLED and phase < PUSH and k < count
            else None
        )

    errors = []
    near = []
    delays = []
    flags = []
    flag = rd.CollisionMonitor(model, threshold, delay=0.005)
    reached = raised = None
    for t, q, observer in observed(model, truth, minutes, pushed):
        k, phase = divmod(t - SETTLED + 1e-9, EVERY)
        if phase < 1e-3:
            reached = raised = None
            before = observer.effort.copy()
            flag.reset()
        if phase > PUSH:
            continue
        if flag.update(observer.effort, 1e-3) and raised is None:
            raised = phase
        if reached is None:
            J = rd.jacobian(model, q, LINK)
            R = rd.link_pose(model, q, LINK)[:3, :3]
            true = J[3:].T @ (R @ ways[int(k)])
            if (observer.effort - before) @ true >= 0.632 * (true @ true):
                reached = phase
        if PUSH - 2e-3 < phase < PUSH - 1e-3:
            found, _ = rd.contact_wrench(model, q, LINK, observer.effort, force_only=True)
            errors.append(float(np.linalg.norm(found[3:] - ways[int(k)])))
            spread = np.linalg.svd(rd.jacobian(model, q, LINK)[3:], compute_uv=False)
            near.append(bool((spread[-1] / spread[0]) ** 2 < DAMPED))
            if reached is not None:
                delays.append(reached)
            if raised is not None:
                flags.append(raised)
    return np.array(errors), np.array(near), np.array(delays), np.array(flags)


def cost(model: rd.RobotModel) -> tuple[float, float]:
    """µs of one step of the observer with friction, and of the robot's function in it alone."""
    kernels = Kernels(model)
    n = model.nv
    observer = rd.MomentumObserver(model, GAIN, rd.Friction.of(model))
    q, v, tau = np.random.default_rng(0).normal(size=(3, n))
    p = np.empty(n)
    known = np.empty(n)
    calls = {
        "step": lambda: observer.update(kernels, q, v, tau, 1e-3),
        "function": lambda: kernels.generalized_momentum(q, v, p, known),
    }
    found = least(calls, 0.005, 40)
    return found["step"], found["function"]


def main() -> int:
    """Print the figures; 1 if there is a false alarm with an exact model."""
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    model = arm("seven_axis")
    shares = (0.05, 0.1, 0.2)
    thresholds = [share * model.effort_limit for share in shares]
    false = 0
    figures = {}
    step, function = cost(model)
    print(f"a step of the observer: {step:.2f} µs, of which the robot's momentum {function:.2f} µs")
    ratios = {"a step over the robot's momentum alone (less is better)": step / function}
    for name, errors in WRONG.items():
        truth = rd.robot_model_error(model, **errors)
        quiet = silence(model, truth, minutes, thresholds)
        print(f"\n{name}, {minutes:g} minutes untouched, observer gain {GAIN:g} 1/s")
        row = figures[name] = {
            "largest estimate, N m": quiet.largest.tolist(),
            "false alarms, threshold 5 %": quiet.alarms[0],
        }
        print("largest estimate per joint, N m: " + " ".join(f"{x:.2f}" for x in quiet.largest))
        for share, alarms in zip(shares, quiet.alarms, strict=True):
            print(f"false alarms at {share:.0%} of the effort limits: {alarms}")
        false += quiet.alarms[1] if not errors else 0
        for force in (10.0, 30.0):
            error, near, delay, flag = pushes(model, truth, minutes / 5, thresholds[1], force)
            far = error[~near]
            row[f"pushes of {force:g} N"] = {
                "number": len(error),
                "near singular poses": int(near.sum()),
                "median error, N": float(np.median(far)),
                "95th percentile of the error, N": float(np.quantile(far, 0.95)),
                "delay to 63 %, ms": 1e3 * float(np.median(delay)),
                "share that raises the flag": len(flag) / len(error),
                "delay of the flag, ms": 1e3 * float(np.median(flag)) if len(flag) else None,
            }
            ratios[f"{name}, {force:g} N: median error over the force (less is better)"] = (
                np.median(far) / force
            )
            ratios[f"{name}, {force:g} N: share that raises the flag (more is better)"] = len(
                flag
            ) / len(error)
            print(
                f"{len(error)} pushes of {force:g} N at {LINK}: error median "
                f"{np.median(far):.2g} N, 95 % below "
                f"{np.quantile(far, 0.95):.2g} N, not counting {int(near.sum())} near singular "
                "poses (up to "
                f"{error.max():.2g} N); delay to 63 % median {1e3 * np.median(delay):.0f} ms; "
                "flag at 10 % raised by "
                f"{len(flag) / len(error):.0%}"
                + (f" after {1e3 * np.median(flag):.0f} ms" if len(flag) else ""),
                flush=True,
            )
    keep("observer", ratios)
    write(
        "observer",
        {"minutes": minutes, "a step, µs": step, "its function, µs": function, "models": figures},
    )
    return int(false > 0)


if __name__ == "__main__":
    sys.exit(main())
