"""An arm under Cartesian impedance presses on a table, slides along it and lifts off; what it feels
beside what is true.

python examples/press_on_table.py [PICTURE]

MuJoCo simulates the arm and the table (``pip install 'robot_dynamics_ros[mujoco]'``).  The
controller measures positions,
velocities and motor efforts alone: its momentum observer finds the efforts that the model does not
    explain, and
``ContactEstimate`` the wrench at the flange that explains those.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import robot_dynamics_ros as rd
from robot_dynamics_ros.figures import FIGURE_STYLE, XYZ, pyplot, save

DT = 1e-3
START = np.array([0.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.785])
LINK = "flange"
WAYPOINTS = {
    0.0: (0.0, 0.02),
    1.0: (0.0, 0.02),
    2.0: (0.0, -0.04),
    3.5: (0.12, -0.04),
    4.5: (0.12, 0.02),
}
"""s → m forwards from the start, and above the table; below it the impedance presses."""


def plan(model: rd.RobotModel) -> rd.Trajectory:
    """A motion through the poses of :data:`WAYPOINTS`, the flange as upright as at the start."""
    q = START
    rows = []
    here = rd.link_pose(model, START, LINK)
    for forwards, height in WAYPOINTS.values():
        pose = here.copy()
        pose[0, 3] += forwards
        pose[2, 3] += height - 0.02
        found = rd.inverse_kinematics(model, LINK, pose, start=q)
        assert found.reached, pose
        q = found.q
        rows.append(q)
    times = [time + 0.05 for time in WAYPOINTS]
    return rd.Trajectory.from_waypoints(
        model.joint_names, times, rows, np.zeros_like(rows), np.zeros_like(rows)
    )


def run(duration: float = 5.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(n,) time, (n, 3) estimated and (n, 3) true force on the flange in world axes, N."""
    model = rd.load_robot("seven_axis")
    x, y, z = rd.link_pose(model, START, LINK)[:3, 3]
    tip = 0.02
    thick = 0.04
    table = rd.WorldShape(
        "table", "box", (0.8, 0.8, thick), (x, y, z - 0.02 - tip - thick / 2), friction=0.3
    )
    ball = rd.WorldShape("tip", "sphere", (tip,), link=LINK, friction=0.3)
    # dry friction hides forces from an observer: leave it out here
    viscous = rd.JointFriction(coulomb=0.0)
    plant = rd.MujocoPlant(model, DT, shapes=[table, ball], q0=START, friction=viscous)

    known = rd.Friction.of(model, viscous=model.damping, coulomb=0.0, breakaway=0.0)
    contact = rd.ContactEstimate(model, LINK)
    law = rd.CartesianImpedance(
        link=LINK, stiffness=(60.0, 60.0, 60.0, 800.0, 800.0, 800.0), friction=known
    )
    observer = rd.MomentumObserver(model, gain=50.0, friction=known)
    controller = rd.JointController(model, law, observer=observer, contact=contact)
    controller.activate(0, plant.q, plant.v)
    controller.accept_trajectory(plan(model), 0)

    steps = round(duration / DT)
    estimated = np.zeros((steps, 3))
    true = np.zeros((steps, 3))
    for k in range(steps):
        q = plant.q
        R = rd.link_pose(model, q, LINK)[:3, :3]
        command = controller.update(k * round(DT * 1e9) + 1, q, plant.v, plant.tau)
        estimated[k] = R @ contact.wrench[3:]
        true[k] = R @ plant.contact_wrenches()[LINK][3:]
        plant.step(command)
    return DT * np.arange(steps), estimated, true


def draw(t: np.ndarray, estimated: np.ndarray, true: np.ndarray, path: Path) -> None:
    """The forces over time: true ones as bands, estimates as lines."""
    plt = pyplot()
    with plt.rc_context(FIGURE_STYLE):
        figure, (forces, error) = plt.subplots(
            2, 1, figsize=(7.5, 4.6), sharex=True, height_ratios=(3, 1), constrained_layout=True
        )
        for axis, name in enumerate("xyz"):
            colour = XYZ[axis]["color"]
            forces.plot(
                t, true[:, axis], color=colour, linewidth=4.0, alpha=0.3, label=f"{name}, MuJoCo"
            )
            forces.plot(
                t, estimated[:, axis], linewidth=1.2, label=f"{name}, estimated", **XYZ[axis]
            )
            error.plot(t, estimated[:, axis] - true[:, axis], linewidth=1.0, **XYZ[axis])
        forces.set_title("Force of the table on the flange, world axes")
        forces.set_ylabel("N")
        figure.legend(
            *forces.get_legend_handles_labels(), ncols=3, loc="outside lower center", frameon=False
        )
        error.set_title("Estimate less truth")
        error.set_ylabel("N")
        error.set_xlabel("time [s]")
        save(figure, path)


def main() -> float:
    """Largest error of the estimated force while the arm presses steadily, N."""
    t, estimated, true = run()
    steady = (t > 2.4) & (t < 3.3)
    error = float(np.abs(estimated - true)[steady].max())
    press = true[steady].mean(axis=0)
    print(
        f"pressing and sliding: true force {np.round(press, 2)} N, estimated "
        f"{np.round(estimated[steady].mean(axis=0), 2)} N, largest error {error:.2f} N"
    )
    if len(sys.argv) > 1:
        draw(t, estimated, true, Path(sys.argv[1]))
    return error


if __name__ == "__main__":
    main()
