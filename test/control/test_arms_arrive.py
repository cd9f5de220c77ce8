"""Arms with their profiles arrive: the vendors' descriptions, their drivers' habits, rotors that
the controller does not know.

Offline, in the order of a driver: sensors with the driver's delay, controller as the node has it by
default, driver, plant.
"""

import os
from pathlib import Path

import numpy as np
import pytest
from support.example_robots import example_urdf

import robot_dynamics_ros as rd
from robot_dynamics_ros.control import (
    ControllerOptions,
    Friction,
    JointController,
    MomentumObserver,
    Robustness,
)
from robot_dynamics_ros.control.cycle.limits import GuardSettings
from robot_dynamics_ros.control.reference.planning import plan_motion
from robot_dynamics_ros.control.reference.trajectory import Trajectory
from robot_dynamics_ros.model.arm_profile import arm_names, load_arm_profile
from robot_dynamics_ros.model.measured_effort import MeasuredEffort
from robot_dynamics_ros.model.packages import package_directory
from robot_dynamics_ros.model.urdf_source import with_arguments
from robot_dynamics_ros.ros.arm_parameters import controller_parameters, simulator_parameters
from robot_dynamics_ros.simulation.driver import Driver
from robot_dynamics_ros.simulation.effects.friction import JointFriction
from robot_dynamics_ros.simulation.plant import Plant
from robot_dynamics_ros.simulation.sensors import Sensors, SensorSettings

CHECKOUTS = os.environ.get("ROBOT_DESCRIPTIONS", "")
ARMS = [name for name in arm_names() if load_arm_profile(name).commands_efforts]
LEAD = 0.2
AFTER = 2.0


def vendors_description(profile):
    if not CHECKOUTS:
        pytest.skip(
            "the environment variable ROBOT_DESCRIPTIONS names no folder with the vendors' "
            "repositories"
        )
    pytest.importorskip("xacro")
    vendor = profile.description
    folder = Path(CHECKOUTS) / vendor.repository.rpartition("/")[2]
    if not folder.is_dir():
        pytest.skip(f"{CHECKOUTS} has no checkout of {vendor.repository}")
    return with_arguments(package_directory(vendor.package, folder) / vendor.file, vendor.arguments)


def robot(profile, source, armature):
    model = rd.load_urdf(source, armature=armature or None)
    start = dict(zip(model.joint_names, model.initial_configuration(), strict=True))
    locked = {name: start[name] for name in profile.elsewhere if name in start}
    return model.lock(list(locked), locked) if locked else model


def lead(profile, source):
    """Distance from the goal and largest error on the way, rad, and the observer's estimate at
    rest, N m.
    """
    controller_table = controller_parameters(profile)
    simulator_table = simulator_parameters(profile)
    model = robot(profile, source, profile.known("armature"))
    joints = {joint.name: joint for joint in profile.joints}

    def each(fact, default):
        values = (getattr(joints[name], fact) for name in model.joint_names)
        return np.array(
            [
                d if x is None else x
                for x, d in zip(values, np.broadcast_to(default, model.nv), strict=True)
            ]
        )

    viscous = each("viscous", model.damping)
    coulomb = each("coulomb", model.friction)
    dt = 1.0 / profile.driver.rate
    home = np.clip(each("start", 0.0), model.lower + 0.02, model.upper - 0.02)
    plant = Plant(
        robot(profile, source, simulator_table["armature"]),
        dt,
        q0=home,
        friction=JointFriction(viscous, coulomb),
    )
    factors = profile.known("measured_factor")
    kind = MeasuredEffort(
        controller_table["measured_effort"], each("measured_factor", 1.0) if factors else None
    )
    driver = Driver(
        plant,
        compensates=simulator_table["driver"]["compensates"],
        measured=kind,
        effort_rate=each("effort_rate", np.inf),
    )
    friction = Friction.of(model, viscous=viscous.tolist(), coulomb=coulomb.tolist())
    controller = JointController(
        model,
        rd.ComputedTorque(friction=friction),
        options=ControllerOptions(
            gravity_compensated_by=controller_table["gravity_compensated_by"],
            measured_effort=kind,
            robustness=Robustness(delay=profile.driver.delay),
        ),
        guards=GuardSettings(effort_limit=each("effort", np.inf)),
        observer=MomentumObserver(model, friction=friction),
    )
    sensors = Sensors(plant.model, SensorSettings(delay=profile.driver.delay))
    motion = plan_motion(model, home, duration=0.0, seed=7)
    times = motion.times
    controller.activate(0, plant.q, plant.v)
    controller.accept_trajectory(
        Trajectory(
            joint_names=model.joint_names,
            times=np.round((times + LEAD) * 1e9).astype(np.int64),
            positions=motion.waypoints,
            velocities=motion.at(times, 1),
            accelerations=motion.at(times, 2),
            degree=np.full(len(times), 5),
        ),
        0,
    )
    command = np.zeros(model.nv)
    way = 0.0
    for k in range(round((LEAD + motion.duration + AFTER) / dt)):
        t = k * dt
        sensors.sample(t, plant.q, plant.v, driver.reading())
        for reading in sensors.deliver(t):
            command = controller.update(
                round(reading.t * 1e9), reading.q, reading.v, reading.tau if kind.measured else None
            )
        plant.step(driver.motor_effort(command))
        if 0.0 <= t - LEAD <= motion.duration:
            way = max(way, np.abs(plant.q - motion.at(np.array(t - LEAD))).max())
    return (
        np.abs(plant.q - motion.waypoints[-1]).max(),
        way,
        np.abs(controller.observer.effort).max(),
    )


def test_the_z1_of_example_robot_data_arrives_with_its_dry_friction():
    goal, way, _ = lead(load_arm_profile("unitree_z1"), str(example_urdf("z1.urdf")))
    assert goal < 3e-3
    assert way < 20e-3


@pytest.mark.slow
@pytest.mark.parametrize("arm", ARMS)
def test_every_arm_arrives_on_its_vendors_own_description(arm):
    profile = load_arm_profile(arm)
    goal, way, at_rest = lead(profile, vendors_description(profile))
    print(
        f"{arm}: goal {goal * 1e3:.2f} mrad, way {way * 1e3:.1f} mrad, observer {at_rest:.3f} N m"
    )
    assert goal < 3e-3
    # at 100 Hz and 10 ms of delay the loop is slow
    assert profile.driver.rate < 500.0 or way < 20e-3
    if profile.efforts.measured in ("link_torque", "none"):
        # stiction is no push; to other sensors it looks like one
        assert at_rest < 0.02
