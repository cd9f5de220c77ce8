"""Robots that differ from the description of the six-axis arm, and move in MuJoCo."""

import dataclasses

import numpy as np

import robot_dynamics_ros as rd
from support.closed_loop import mid
from support.mujoco_bridge import MujocoTwin

ARM = rd.load_robot("six_axis")
HOME = mid(ARM)
STEP = 0.5 * np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
PERIOD = 2_000_000


def differing(model=ARM, *, rotors=0.0, dry=0.0, damping=0.0, mass=1.0, payload=0.0):
    """The robot with rotors, friction and masses of its own."""
    if payload:
        model = model.attach("tool0", rd.Inertia(payload, (0.0, 0.0, 0.05), 1e-3 * np.eye(3)))
    model = rd.robot_model_error(model, mass=mass)
    n = model.nv
    numbers = {
        name: (float(r), float(f), float(d))
        for name, r, f, d in zip(
            model.joint_names,
            np.zeros(n) + rotors,
            np.zeros(n) + dry,
            np.zeros(n) + damping,
            strict=True,
        )
    }
    joints = tuple(
        dataclasses.replace(
            joint,
            armature=numbers[joint.name][0],
            friction=numbers[joint.name][1],
            damping=numbers[joint.name][2],
        )
        if joint.name in numbers
        else joint
        for joint in model.description.joints
    )
    return model.replace(
        description=dataclasses.replace(model.description, joints=joints, source="")
    )


class Twin:
    """The true robot in MuJoCo, friction stiff, efforts some periods late."""

    def __init__(self, truth, delay=0):
        self.robot = MujocoTwin(truth, 2.5e-4, integrator="implicitfast")
        m = self.robot.model
        m.dof_solimp[:] = (0.9999, 0.9999, 0.001, 0.5, 2.0)
        m.dof_solref[:] = (5e-4, 1.0)
        self.robot.set(HOME, np.zeros(ARM.nv))
        self.waiting = []
        self.delay = delay

    def step(self, tau, period=PERIOD):
        if not self.waiting:
            self.waiting = [tau.copy()] * self.delay
        self.waiting.append(tau.copy())
        applied = np.clip(self.waiting.pop(0), -ARM.effort_limit, ARM.effort_limit)
        for _ in range(period // 250_000):
            self.robot.step(applied)
