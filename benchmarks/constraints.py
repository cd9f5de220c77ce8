"""Constrained forward dynamics beside Pinocchio's, per call from Python, in one run.

    python -m benchmarks.constraints

Both solve for accelerations and reactions at the same states; outputs of both are compared before
anything is timed.  Then whole steps of ``ConstrainedPlant``, in machine code and as Python runs the
same statements, beside ``mj_step`` of the robot with equality constraints.
"""

from __future__ import annotations

import sys
import timeit
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "test"))

import robot_dynamics_ros as rd
from benchmarks._ratios import keep
from benchmarks._results import write


def theirs(loops, q, v, tau):
    """A call of Pinocchio's constraintDynamics, and the order of its coordinates; hinges as it has
    them, at points.
    """
    import pinocchio as pin
    from support.pinocchio_bridge import PinocchioBridge

    model = loops.model
    bridge = PinocchioBridge(model, rd.to_urdf(model))
    models = pin.StdVec_RigidConstraintModel()
    datas = pin.StdVec_RigidConstraintData()
    for c in loops.constraints:
        ends = []
        for link, point in ((c.a, "point_a"), (c.b, "point_b")):
            frame = bridge.model.frames[bridge.model.getFrameId(link)]
            ends += [
                frame.parentJoint,
                frame.placement * pin.SE3(np.eye(3), np.array(dict(c.numbers)[point])),
            ]
        models.append(
            pin.RigidConstraintModel(
                pin.ContactType.CONTACT_3D, bridge.model, *ends, pin.ReferenceFrame.LOCAL
            )
        )
        datas.append(models[-1].createData())
    data = bridge.model.createData()
    pin.initConstraintDynamics(bridge.model, data, models, datas)
    q_pin, _, v_pin, tau_pin = (np.array(x) for x in bridge_state(bridge, q, v, tau))
    settings = pin.ProximalSettings(1e-10, 1e-8, 3)
    return lambda: pin.constraintDynamics(
        bridge.model, data, q_pin, v_pin, tau_pin, models, datas, settings
    ), bridge


def bridge_state(bridge, q, v, tau):
    """Pinocchio's coordinates of a state of hinges alone: continuous joints as (cos, sin)."""
    model = bridge.model
    q_pin = np.zeros(model.nq)
    v_pin = np.zeros(model.nv)
    tau_pin = np.zeros(model.nv)
    for name in bridge.ours.joint_names:
        joint = model.joints[model.getJointId(name)]
        at = bridge.ours.v_slice(name).start
        angle = q[bridge.ours.q_slice(name).start]
        q_pin[joint.idx_q : joint.idx_q + joint.nq] = (
            [angle] if joint.nq == 1 else [np.cos(angle), np.sin(angle)]
        )
        v_pin[joint.idx_v] = v[at]
        tau_pin[joint.idx_v] = tau[at]
    return q_pin, None, v_pin, tau_pin


def best(call, number):
    """Shortest time of one call, µs."""
    return min(timeit.repeat(call, number=number, repeat=7)) / number * 1e6


def main() -> None:
    from support.closed_loops import four_bar, gripper_arm

    arm = gripper_arm()
    points = [
        rd.point_constraint(
            c.name, c.a, c.b, **{k: x for k, x in c.numbers if k.startswith("point")}
        )
        for c in arm.constraints
        if c.kind == "hinge"
    ]
    print(
        f"{'mechanism':28} {'ours, µs':>9} {'Pinocchio, µs':>14} {'ratio':>6}  "
        f"{'accelerations differ by':>24}"
    )
    timed = {}
    for name, loops, guess in (
        ("four-bar, point", four_bar("point"), [0.7, 0.3, 1.0]),
        (
            "arm with parallel gripper",
            rd.Constraints(arm.model, points),
            np.full(arm.model.nq, 0.2),
        ),
    ):
        model = loops.model
        q, v = loops.consistent_state(guess, np.linspace(0.1, 1.0, model.nv))
        tau = np.linspace(-1.0, 1.0, model.nv)
        run = loops.kernel("constrained_forward_dynamics")
        none = np.zeros(2)
        a = np.empty(model.nv)
        reactions = np.empty(loops.rows)
        run(q, v, tau, none, a, reactions)
        pinocchio, bridge = theirs(loops, q, v, tau)
        found = pinocchio()
        order = [bridge.model.joints[bridge.model.getJointId(n)].idx_v for n in model.joint_names]
        apart = np.abs(found[order] - a).max() / np.abs(a).max()
        ours = best(lambda r=run, x=(q, v, tau, none, a, reactions): r(*x), 20000)
        other = best(pinocchio, 5000)
        timed[name] = {"ours, µs": ours, "Pinocchio, µs": other}
        print(f"{name:28} {ours:9.3f} {other:14.3f} {other / ours:6.1f}  {apart:24.1e}")
    hinge = arm
    q, v = hinge.consistent_state(np.full(arm.model.nq, 0.2))
    run = hinge.kernel("constrained_forward_dynamics")
    a = np.empty(arm.model.nv)
    reactions = np.empty(hinge.rows)
    call = best(lambda: run(q, v, np.zeros(arm.model.nv), np.zeros(2), a, reactions), 5000)
    print(f"{'the same, hinges and gear':28} {call:9.3f}")
    stepped = steps()
    ratios = {
        f"{name}: times Pinocchio": row["Pinocchio, µs"] / row["ours, µs"]
        for name, row in timed.items()
    }
    ratios |= {
        f"{name}, a step: times mj_step": row["mj_step"] / row["ours"]
        for name, row in stepped.items()
    }
    keep("constraints", ratios)
    write("constraints", {"mechanisms": timed, "steps": stepped})


def steps() -> dict[str, dict[str, float]]:
    """Time of a step of 1 ms, µs, by mechanism."""
    import mujoco
    from support.closed_loops import four_bar, gripper_arm

    timed = {}
    print(f"\n{'a step, µs':28} {'ours':>9} {'in Python':>14} {'mj_step':>9} {'ratio':>6}")
    for name, loops, guess in (
        ("four-bar, point", four_bar("point"), [0.7, 0.3, 1.0]),
        ("four-bar, hinge", four_bar(), [0.7, 0.3, 1.0]),
        ("four-bar, dry friction", four_bar(friction=0.2), [0.7, 0.3, 1.0]),
        ("arm with parallel gripper", gripper_arm(), np.full(12, 0.2)),
    ):
        model = loops.model
        q, v = loops.consistent_state(guess, np.full(model.nv, 0.3))
        command = np.zeros(model.nv)
        found = []
        for compiled, number in ((True, 200), (False, 5)):
            plant = rd.ConstrainedPlant(loops, 1e-3, q0=q, v0=v, compiled=compiled)
            plant.step(command)
            found.append(best(lambda p=plant: p.step(command), number))  # noqa: B023
        theirs = rd.MujocoPlant(model, 1e-3, q0=q, v0=v, constraints=loops, substeps=1)
        other = best(lambda p=theirs: mujoco.mj_step(p.m, p.data), 200)
        print(f"{name:28} {found[0]:9.2f} {found[1]:14.0f} {other:9.1f} {other / found[0]:6.1f}")
        timed[name] = {"ours": found[0], "interpreted": found[1], "mj_step": other}
    return timed


if __name__ == "__main__":
    main()
