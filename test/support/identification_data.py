"""Recordings of simulated robots that are not quite as their URDF says."""

from __future__ import annotations

import numpy as np

import robot_dynamics_ros as rd

__all__ = ["excitation", "record", "wrong_robot"]


def wrong_robot(prior: rd.RobotModel, seed: int, spread: float = 0.25) -> rd.RobotModel:
    """A robot drawn around ``prior``, which the identification is not told about."""
    return rd.random_model_error(
        prior,
        seed,
        mass=spread,
        com=spread,
        inertia=spread,
        damping=2 * spread,
        friction=2 * spread,
    )


def excitation(
    prior: rd.RobotModel, seed: int, period: float = 20.0, evaluations: int = 80, **more
) -> rd.Excitation:
    """A designed motion."""
    return rd.design_excitation(
        prior, rd.DesignSettings(period=period, evaluations=evaluations, seed=seed, **more)
    )


def record(
    truth: rd.RobotModel,
    known: rd.RobotModel,
    motion: rd.Excitation,
    *,
    offset=0.0,
    effort_noise=0.0,
    position_noise=0.0,
    seed: int = 0,
    periods: int = 1,
    friction: rd.JointFriction | bool = True,
    dt: float = 2e-3,
    kp: float = 2500.0,
):
    """Let the true robot follow a motion under a controller that knows ``known`` only.

    Returns:
        t (n,), measured positions (n, nv), measured efforts (n, nv), and the true efforts.
    """
    rng = np.random.default_rng(seed)
    law = rd.bind(known, rd.ComputedTorque(kp=kp, kd=2 * kp**0.5, friction=rd.Friction.of(known)))

    def control(t, q, v):
        return law(q, v, motion.at(t), motion.at(t, 1), motion.at(t, 2)).copy()

    run = rd.simulate(
        truth,
        control,
        q0=motion.at(0.0),
        duration=periods * motion.period,
        dt=dt,
        friction=friction,
        integrator="semi_implicit_euler",
        stops=None,
        record_accelerations=False,
    )
    n = len(run.t) - 1
    q = run.q[:n] + position_noise * rng.standard_normal(run.q[:n].shape)
    true = run.tau[:n]
    measured = true + offset + effort_noise * rng.standard_normal(true.shape)
    return run.t[:n], q, measured, true
