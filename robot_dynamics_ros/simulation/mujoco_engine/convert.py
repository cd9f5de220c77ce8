"""A robot as a MuJoCo model: one MuJoCo body for each moving body, joints in our coordinates,
geometry from the URDF.

Links that fixed joints join to a body are sites. A floating joint is three slides along the axes of
the joint frame and a ball, since MuJoCo has free joints only at the world. A mimic joint is a joint
and an equality constraint; its damping, friction and rotor count for its master. Motors of two
joints are tendons. Limits, dry friction and loops are as stiff as the step allows.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from robot_dynamics_ros.dynamics import Constraints
from robot_dynamics_ros.errors import ArgumentError, check_name
from robot_dynamics_ros.model.description import (
    Array,
    JointType,
    Pose,
    plane_axes,
    rotation_of_quaternion,
)
from robot_dynamics_ros.model.geometry import Shape, read_looks
from robot_dynamics_ros.model.mjcf import is_mjcf
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.model.urdf_source import UrdfInput
from robot_dynamics_ros.simulation.coordinates import Coordinates, position_bounds
from robot_dynamics_ros.simulation.effects.friction import FrictionTable, friction_table
from robot_dynamics_ros.simulation.effects.gears import GearTable
from robot_dynamics_ros.simulation.mujoco_engine.world import (
    GeomOptions,
    MujocoOptions,
    add_primitive,
    friction,
    geom_size,
    geom_type,
    mujoco_or_error,
    placed,
)

if TYPE_CHECKING:
    import mujoco

PREFIX = "robot/"
"""Before the name of every element of the robot, so that a scene cannot have the same."""
MOTOR = "motor/"
"""Before the name of a joint: its motor, where a spring stands between them."""
GEAR = "gear/"
"""Before the name of a joint: that spring."""
GEOMETRIES = ("collision", "visual", "none")
# kg, kg m²: MuJoCo wants something of every body that moves
LEAST_INERTIA = 1e-12
# impedance of constraints that are meant to be rigid
STIFF = (0.9999, 0.9999, 0.001, 0.5, 2.0)
# of stops: a step that ends beyond a stop leaves with 1 / (4 ratio²) of the speed of the impact at
# most.  1 would give back up to 25 %, 10 gives 0.25 %; under a load the joint is then deeper by
# micrometres
STOP_DAMPING_RATIO = 10.0


def robot_geometry(
    model: RobotModel,
    geometry: str,
    urdf: UrdfInput | None,
    directory: str | os.PathLike[str] | None,
) -> tuple[Shape, ...]:
    """The shapes by which a robot touches things: those of ``<collision>`` or ``<visual>``
    elements, or none.
    """
    check_name("geometry", geometry, GEOMETRIES, where="geometry")
    if geometry == "none":
        return ()
    if isinstance(urdf, (str, bytes)) and is_mjcf(urdf):
        # the shapes of a robot in MJCF are not read
        urdf = None
    looks = read_looks(model, urdf, directory)
    if geometry == "visual":
        return looks.visuals
    if looks.lost_meshes:
        problem = (
            f"{len(looks.lost_meshes)} meshes of <collision> elements were not found: "
            f"{', '.join(looks.lost_meshes[:5])}"
        )
        without = "take the robot without them: geometry 'none'"
        remedy = f"Source the workspace that holds them, or {without}."
        raise ArgumentError(
            problem, where=f"robot {model.name!r}", got=looks.lost_meshes, remedy=remedy
        )
    return looks.collisions


def robot_spec(
    model: RobotModel,
    h: float,
    o: MujocoOptions,
    *,
    shapes: Sequence[Shape] = (),
    contact: GeomOptions | None = None,
    gears: GearTable | None = None,
) -> mujoco.MjSpec:
    """The robot as a ``mujoco.MjSpec``, to be attached to a scene under :data:`PREFIX`.

    Args:
        h: s, the step it will be simulated with; limits, dry friction and loops are as stiff as
            that allows.
        shapes: geometry of its links; contact: further attributes of geoms.
        gears: springs between motors and links; the model is without their rotors.
    """
    mujoco = mujoco_or_error()
    spec = mujoco.MjSpec()
    spec.modelname = model.name
    spec.compiler.degree = False
    spec.compiler.balanceinertia = False
    names = body_names(model)
    base = spec.worldbody.add_body(name=names[0], **placed(model.base))
    bodies = [base]
    lower, upper = position_bounds(model)
    for i in range(model.nb):
        pose = Pose(model.joint_rotation[i], model.joint_position[i])
        body = bodies[int(model.parent[i]) + 1].add_body(name=names[i + 1], **placed(pose))
        _set_inertia(body, model, i)
        for name, kind, axis, dof in _joints_of(model, i):
            joint = body.add_joint(name=name, type=getattr(mujoco.mjtJoint, f"mjJNT_{kind}"))
            if axis is not None:
                joint.axis = axis
            joint.solref_friction = [2.0 * h, 1.0]
            joint.solref_limit = [2.0 * h, STOP_DAMPING_RATIO]
            joint.solimp_limit = joint.solimp_friction = STIFF
            joint.limited = 0
            if dof < 0:
                continue
            joint.armature = float(model.armature[dof] - model.coupling[5, dof])
            if o.stops is not None and np.isfinite(lower[dof]) | np.isfinite(upper[dof]):
                joint.limited = 1
                joint.range = [max(float(lower[dof]), -1e10), min(float(upper[dof]), 1e10)]
        bodies.append(body)
    for k, link in enumerate(model.link_names):
        body, pose = _body_of(model, bodies, k)
        body.add_site(name=link, **placed(pose))
    _add_geometry(spec, model, bodies, shapes, o, contact or {})
    _add_mimics(spec, model, h)
    _add_coupled(spec, model, friction_table(model, o.friction), h)
    if o.constraints is not None:
        _add_constraints(spec, model, bodies, o.constraints, h)
    if gears is not None:
        add_gears(spec, gears, h)
    return spec


def add_gears(spec: mujoco.MjSpec, gears: GearTable, h: float) -> None:
    """Give joints of the robot motors of their own: a rotor beside the link that turns about the
    same axis, and a tendon that is the spring, slack within the backlash.
    """
    for i, name in enumerate(gears.names):
        joint = spec.joint(name)
        link = joint.parent
        motor = MOTOR + name
        body = link.parent.add_body(name=motor, pos=link.pos, quat=link.quat)
        body.explicitinertial = True
        body.mass = LEAST_INERTIA
        body.inertia = [LEAST_INERTIA] * 3
        body.add_joint(
            name=motor,
            type=joint.type,
            axis=joint.axis,
            limited=0,
            armature=float(gears.rotors[i]),
            solref_friction=[2.0 * h, 1.0],
            solimp_friction=STIFF,
        )
        half = 0.5 * float(gears.backlash[i])
        spring = spec.add_tendon(name=GEAR + name, springlength=[-half, half])
        spring.stiffness[0] = float(gears.stiffness[i])
        spring.damping[0] = float(gears.damping[i])
        spring.wrap_joint(motor, 1.0)
        spring.wrap_joint(name, -1.0)


def body_names(model: RobotModel) -> list[str]:
    """(nb + 1,) of MuJoCo's bodies, without prefix: the links that the joints move, the base
    first.
    """
    # MuJoCo has a world of its own
    if model.root_link == "world":
        base = "root"
    else:
        base = model.root_link
    return [base, *(model.joint(name).child for name in model.moving_joint_names)]


def _body_of(
    model: RobotModel,
    bodies: Sequence[mujoco.MjsBody],
    link: int,
) -> tuple[mujoco.MjsBody, Pose]:
    """The body that a link is part of, and the link's pose in it."""
    return bodies[int(model.link_body[link]) + 1], Pose(
        model.link_rotation[link], model.link_position[link]
    )


def _principal(model: RobotModel, i: int) -> tuple[Array, Array]:
    moments, axes = np.linalg.eigh(model.body_inertia[i])
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] = -axes[:, 0]
    return np.maximum(moments, LEAST_INERTIA), axes


def _set_inertia(body: mujoco.MjsBody, model: RobotModel, i: int) -> None:
    moments, axes = _principal(model, i)
    # MuJoCo refuses it here; finish() sets it
    if moments[2] > moments[0] + moments[1]:
        moments = np.full(3, moments[2])
    pose = placed(Pose(axes, model.body_com[i]))
    body.explicitinertial = True
    body.mass = max(float(model.body_mass[i]), LEAST_INERTIA)
    body.ipos = pose["pos"]
    body.iquat = pose["quat"]
    body.inertia = moments.tolist()


def finish(
    m: mujoco.MjModel,
    data: mujoco.MjData,
    model: RobotModel,
    constraints: Constraints | None,
) -> None:
    """Write to a compiled model what its source cannot say.

    Moments of inertia that break the triangle inequality, as those of many vendors do: the dynamics
    is sound as long as the mass matrix is positive definite.  Lengths of rods, which MuJoCo counts
    from their length at zero.
    """
    for i, name in enumerate(body_names(model)[1:]):
        m.body_inertia[m.body(PREFIX + name).id] = _principal(model, i)[0]
    mujoco_or_error().mj_setConst(m, data)
    loops = zip(constraints.constraints, constraints.specs, strict=True) if constraints else ()
    for c, (kind, _, _, numbers) in loops:
        if kind == "distance":
            name = f"{PREFIX}loop/{c.name}"
            m.eq_data[m.equality(name).id, 0] = numbers[6] - m.tendon_length0[m.tendon(name).id]


def _joints_of(model: RobotModel, i: int) -> Iterator[tuple[str, str, list[float] | None, int]]:
    """Name, kind, axis and entry in ``v`` (−1: it counts elsewhere, or not at all) of MuJoCo's
    joints for joint i.
    """
    name = model.moving_joint_names[i]
    axis = model.joint_axis[i].tolist()
    kind = JointType(int(model.joint_type[i]))
    dof = int(model.v_index[i])
    if model.mimic_master[i] >= 0:
        dof = -1
    if kind is JointType.FLOATING:
        for k in range(3):
            yield f"{name}/{'xyz'[k]}", "SLIDE", np.eye(3)[k].tolist(), dof + 3 + k
        yield name, "BALL", None, dof
    elif kind is JointType.PLANAR:
        for k, along in enumerate(plane_axes(model.joint_axis[i])):
            yield f"{name}/{'xy'[k]}", "SLIDE", along.tolist(), dof + k
        yield name, "HINGE", axis, dof + 2
    else:
        yield name, "SLIDE" if kind is JointType.PRISMATIC else "HINGE", axis, dof


def _add_geometry(
    spec: mujoco.MjSpec,
    model: RobotModel,
    bodies: Sequence[mujoco.MjsBody],
    shapes: Sequence[Shape],
    o: MujocoOptions,
    contact: GeomOptions,
) -> None:
    # a scene's geoms have 1 and 1 unless it says otherwise: they meet ours; ours meet each other
    # only if asked for
    if o.self_collision:
        sides = {"contype": 3, "conaffinity": 3}
    else:
        sides = {"contype": 2, "conaffinity": 1}
    number = dict.fromkeys(model.link_names, 0)
    for shape in shapes:
        body, pose = _body_of(model, bodies, model.link_index(shape.link))
        for geom in _geoms_of(spec, shape):
            number[shape.link] += 1
            body.add_geom(
                name=f"{shape.link}/{number[shape.link]}",
                friction=friction(o.surface_friction),
                mass=0.0,
                condim=4,
                **placed(pose @ shape.pose),
                **sides,
                **contact,
                **geom,
            )
    for piece in (piece for piece in o.shapes if piece.link):
        body, pose = _body_of(model, bodies, model.link_index(piece.link))
        add_primitive(body, piece, pose @ piece.pose, {**contact, **sides, "mass": 0.0})


def _geoms_of(spec: mujoco.MjSpec, shape: Shape) -> Iterator[GeomOptions]:
    if shape.kind != "mesh":
        yield {"type": geom_type(shape.kind), "size": geom_size(shape.kind, shape.size)}
        return
    from robot_dynamics_ros.model.meshes import read_mesh

    assert isinstance(shape.file, Path)
    for part in read_mesh(shape.file):
        name = f"mesh{len(spec.meshes)}"
        try:
            hull = part.convex_hull
            vertices = np.asarray(hull.vertices) * shape.size
            faces = np.asarray(hull.faces)
        except Exception as error:  # noqa: BLE001 - qhull: a mesh without volume
            problem = f"it has no convex hull ({type(error).__name__})"
            box = "a flat mesh may be a thin box"
            remedy = f"Give link {shape.link!r} another collision shape; {box}."
            raise ArgumentError(
                problem, where=f"mesh {shape.file}", got=str(shape.file), remedy=remedy
            ) from None
        if np.prod(shape.size) < 0.0:
            # a mirrored mesh is inside out
            faces = faces[:, ::-1]
        mesh = spec.add_mesh(name=name)
        mesh.uservert = vertices.ravel().tolist()
        mesh.userface = faces.ravel().tolist()
        yield {"type": geom_type("mesh"), "meshname": name}


def _add_mimics(spec: mujoco.MjSpec, model: RobotModel, h: float) -> None:
    for i in np.flatnonzero(model.mimic_master >= 0):
        master = model.moving_joint_names[int(model.mimic_master[i])]
        follower = model.moving_joint_names[i]
        equation = {0: model.mimic_offset[i], 1: model.mimic_multiplier[i]}
        _tie(spec, f"{follower}={master}", "JOINT", "JOINT", follower, master, h, equation)


def _add_coupled(
    spec: mujoco.MjSpec,
    model: RobotModel,
    friction: FrictionTable,
    h: float,
) -> None:
    """Friction and rotors of motors that turn with two joints."""
    names = Coordinates(model).names
    axes = np.eye(model.nv)
    columns = friction.couple, friction.coulomb[model.nv :], friction.viscous[model.nv :]
    motors = [(turns, dry, viscous, 0.0) for turns, dry, viscous in zip(*columns, strict=True)]
    for i, j, inertia in model.coupled_rotors:
        motors.append(
            (axes[i] + model.coupling[0, i] * axes[j], 0.0, 0.0, inertia / model.coupling[0, i])
        )
    for number, (turns, dry, viscous, rotor) in enumerate(motors):
        tendon = spec.add_tendon(name=f"motor{number}", frictionloss=dry, armature=rotor)
        tendon.damping[0] = viscous
        tendon.solref_friction = [2.0 * h, 1.0]
        tendon.solimp_friction = STIFF
        for dof in np.flatnonzero(turns):
            tendon.wrap_joint(names[dof], turns[dof])


def _tie(
    spec: mujoco.MjSpec,
    name: str,
    kind: str,
    what: str,
    one: str,
    other: str,
    h: float,
    data: Mapping[int, float],
) -> None:
    """An equality constraint of a kind between two joints, sites or tendons; ``data``: numbers that
    are not zero.

    Of joints they are those of q_one = data[0] + data[1] · q_other.
    """
    mujoco = mujoco_or_error()
    tied = spec.add_equality(name=name, type=getattr(mujoco.mjtEq, f"mjEQ_{kind}"))
    tied.name1 = one
    tied.name2 = other
    tied.objtype = getattr(mujoco.mjtObj, f"mjOBJ_{what}")
    tied.solref = [2.0 * h, 1.0]
    tied.solimp = STIFF
    if data:
        tied.data = [data.get(k, 0.0) for k in range(len(tied.data))]


def _add_constraints(
    spec: mujoco.MjSpec,
    model: RobotModel,
    bodies: Sequence[mujoco.MjsBody],
    loops: Constraints,
    h: float,
) -> None:

    def site(name: str, link: int, point: Array, rotation: Array | None = None) -> str:
        body, place = _body_of(model, bodies, link) if link >= 0 else (spec.worldbody, Pose())
        body.add_site(
            name=name, **placed(place @ Pose(np.eye(3) if rotation is None else rotation, point))
        )
        return name

    for c, (kind, a, b, numbers) in zip(loops.constraints, loops.specs, strict=True):
        if kind in ("rolling", "pfaffian"):
            problem = f"MuJoCo has no {kind} constraint"
            remedy = "Use the engine 'robot_dynamics'; a wheel may have a collision shape instead."
            raise ArgumentError(problem, where=f"constraint {c.name!r}", got=kind, remedy=remedy)
        n = np.array(numbers)
        loop = f"loop/{c.name}"
        if kind == "gear":
            names = [model.moving_joint_names[model.body_index(joint)] for joint in (c.a, c.b)]
            _tie(spec, loop, "JOINT", "JOINT", names[1], names[0], h, {0: n[1], 1: n[0]})
        elif kind == "point":
            _tie(
                spec,
                loop,
                "CONNECT",
                "SITE",
                site(f"{loop}/a", a, n[:3]),
                site(f"{loop}/b", b, n[3:6]),
                h,
                {},
            )
        elif kind == "hinge":
            # two points of the axis
            axis_a = np.cross(n[6:9], n[9:12])
            axis_b = n[-3:]
            for k in range(2):
                one = site(f"{loop}/a{k}", a, n[:3] + 0.1 * k * axis_a)
                other = site(f"{loop}/b{k}", b, n[3:6] + 0.1 * k * axis_b)
                _tie(spec, f"{loop}/{k}" if k else loop, "CONNECT", "SITE", one, other, h, {})
        elif kind == "weld":
            R_a = n[6:15].reshape(3, 3).T
            R_b = n[15:24].reshape(3, 3).T
            one = site(f"{loop}/a", a, n[:3], R_a)
            other = site(f"{loop}/b", b, n[3:6], R_b)
            # torques weigh as much as forces at 1 m
            _tie(spec, loop, "WELD", "SITE", one, other, h, {10: 1.0})
        else:
            tendon = spec.add_tendon(name=loop)
            tendon.wrap_site(site(f"{loop}/a", a, n[:3]))
            tendon.wrap_site(site(f"{loop}/b", b, n[3:6]))
            _tie(spec, loop, "TENDON", "TENDON", loop, "", h, {})


class CoordinateMap:
    """Where the coordinates of a robot are in a MuJoCo model.

    Attributes:
        q_at, v_at: (nq,), (nv,) addresses in ``qpos`` and ``qvel``.
        body: (nb + 1,) numbers of the bodies, the robot's base first.
    """

    def __init__(self, m: mujoco.MjModel, model: RobotModel) -> None:
        self.model = model
        self.q_at = np.empty(model.nq, dtype=np.intp)
        self.v_at = np.empty(model.nv, dtype=np.intp)
        self.body = np.array([m.body(PREFIX + name).id for name in body_names(model)])
        self._floating: list[tuple[int, int]] = []
        mimics = []
        for i in range(model.nb):
            iq = int(model.q_index[i])
            iv = int(model.v_index[i])
            name = PREFIX + model.moving_joint_names[i]
            kind = JointType(int(model.joint_type[i]))
            joint = m.joint(name)
            q = int(joint.qposadr[0])
            v = int(joint.dofadr[0])
            if model.mimic_master[i] >= 0:
                mimics.append(
                    (q, v, iq, iv, float(model.mimic_multiplier[i]), float(model.mimic_offset[i]))
                )
            elif kind is JointType.FLOATING:
                self.q_at[iq : iq + 7] = [q - 3, q - 2, q - 1, q + 1, q + 2, q + 3, q]
                self.v_at[iv : iv + 6] = [v, v + 1, v + 2, v - 3, v - 2, v - 1]
                self._floating.append((iq, iv))
            else:
                self.q_at[iq : iq + kind.nq] = range(q - kind.nq + 1, q + 1)
                self.v_at[iv : iv + kind.nv] = range(v - kind.nv + 1, v + 1)
        rows = np.array(mimics).reshape(-1, 6)
        self._mimic_at = rows[:, :4].astype(np.intp)
        self._ratio = rows[:, 4]
        self._offset = rows[:, 5]

    def read(self, data: mujoco.MjData) -> tuple[Array, Array]:
        """(nq,) configuration and (nv,) velocity."""
        q = data.qpos[self.q_at]
        return q, self._turned(q, data.qvel[self.v_at], back=True)

    def write(self, data: mujoco.MjData, q: Array, v: Array) -> None:
        """Set the robot's part of ``qpos`` and ``qvel``, joints that mimic others included."""
        data.qpos[self.q_at] = q
        data.qvel[self.v_at] = self._turned(q, v)
        for (q_at, v_at, iq, iv), ratio, offset in zip(
            self._mimic_at, self._ratio, self._offset, strict=True
        ):
            data.qpos[q_at] = ratio * q[iq] + offset
            data.qvel[v_at] = ratio * v[iv]

    def efforts(self, q: Array, tau: Array, out: Array) -> None:
        """Write (nv,) efforts to their entries of ``qfrc_applied``."""
        out[self.v_at] = self._turned(q, tau)

    def _turned(self, q: Array, values: Array, back: bool = False) -> Array:
        """Linear parts of floating joints in the joint's frame instead of the child's, or ``back``;
        a copy if there are any.
        """
        if not self._floating:
            return values
        values = values.copy()
        for iq, iv in self._floating:
            R = rotation_of_quaternion(q[iq + 3 : iq + 7])
            values[iv + 3 : iv + 6] = (R.T if back else R) @ values[iv + 3 : iv + 6]
        return values

    def acceleration(self, data: mujoco.MjData, q: Array, v: Array) -> Array:
        """(nv,) of ``qacc``."""
        a = self._turned(q, data.qacc[self.v_at], back=True)
        for _, iv in self._floating:
            a[iv + 3 : iv + 6] -= np.cross(v[iv : iv + 3], v[iv + 3 : iv + 6])
        return a

    def forces(self, values: Array, q: Array) -> Array:
        """(nv,) of generalised forces in MuJoCo's coordinates, those on mimic joints brought to
        their masters.
        """
        tau = self._turned(q, values[self.v_at], back=True)
        for (_, v_at, _, iv), ratio in zip(self._mimic_at, self._ratio, strict=True):
            tau[iv] += ratio * values[v_at]
        return tau
