"""How coordinates and arguments are laid out, as sentences for the head of emitted files."""

from __future__ import annotations

from robot_dynamics_ros.export.functions import Argument
from robot_dynamics_ros.export.plan import Plan
from robot_dynamics_ros.model.description import JointType

_COORDINATES = {
    JointType.PLANAR: "q: x, y (m), angle (rad); v: their rates",
    JointType.FLOATING: "q: x, y, z (m), unit quaternion x, y, z, w; v: angular, then linear velocity in the body's axes",
    JointType.PRISMATIC: "m, m/s, N",
}


def joint_lines(plan: Plan) -> list[str]:
    """One line a joint: its name and where its coordinates are."""
    model = plan.model
    lines = []
    for name in model.joint_names:
        q, v, kind = model.q_slice(name), model.v_slice(name), model.joint(name).type
        places = (
            f"q[{q.start}], v[{v.start}]" if kind.nv == 1 else f"q[{q.start}..{q.stop - 1}], v[{v.start}..{v.stop - 1}]"
        )
        lines.append(f"{places}: {name} ({kind.name.lower()}; {_COORDINATES.get(kind, 'rad, rad/s, N m')})")
    followers = [n for n in model.moving_joint_names if n not in model.joint_names]
    for name in followers:
        mimic = model.joint(name).mimic
        assert mimic is not None
        lines.append(f"{name} follows {mimic.joint}: {mimic.multiplier:g} times its position plus {mimic.offset:g}")
    return lines


def head_lines(plan: Plan) -> list[str]:
    """Lines at the top of an emitted file, for its reader."""
    g = ", ".join(f"{x:g}" for x in plan.model.gravity)
    return [
        f"Rigid-body dynamics of the robot {plan.model.name}.",
        "",
        f"SI units, radians.  Gravity ({g}) m/s2 in the world frame.  Root link: {plan.model.root_link}.",
        "Matrices are stored by rows.  Spatial vectors are [angular; linear] and [moment; force].",
        "Rotor inertia is part of the mass matrix; joint friction acts in the simulation step alone.",
        "",
        "Coordinates:",
        *(f"  {line}" for line in joint_lines(plan)),
    ]


def argument_lines(arguments: tuple[Argument, ...]) -> list[str]:
    """One line an argument: shape and meaning."""
    return [f"{a.name}: {'x'.join(map(str, a.shape)) or 'one number'}, {a.meaning}" for a in arguments]
