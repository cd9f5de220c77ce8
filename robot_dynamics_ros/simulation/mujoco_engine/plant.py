"""The simulated robot in MuJoCo: like :class:`~robot_dynamics_ros.simulation.plant.Plant`, in
contact with a world.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics import kernel, mass_matrix
from robot_dynamics_ros.dynamics.call import options_of
from robot_dynamics_ros.errors import (
    ArgumentError,
    ModelWarning,
    SimulationError,
    check_name,
    level_of_caller,
)
from robot_dynamics_ros.friction.law import dry_friction
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.geometry import Shape
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.simulation.coordinates import per_joint
from robot_dynamics_ros.simulation.effects.friction import friction_table
from robot_dynamics_ros.simulation.effects.gears import GearTable
from robot_dynamics_ros.simulation.effects.limits import LimitMemory, limited_effort
from robot_dynamics_ros.simulation.mujoco_engine.convert import (
    MOTOR,
    PREFIX,
    CoordinateMap,
    finish,
    robot_geometry,
    robot_spec,
)
from robot_dynamics_ros.simulation.mujoco_engine.world import (
    MUJOCO_INTEGRATORS,
    GeomOptions,
    MujocoOptions,
    WorldShape,
    add_shapes,
    mujoco_or_error,
    read_scene,
    unreadable,
)
from robot_dynamics_ros.simulation.simulated_robot import PlantState, SimulatedRobot

if TYPE_CHECKING:
    import mujoco

# s, of a step of MuJoCo: contacts with its usual stiffness jump with twice as much.
LONGEST_MUJOCO_STEP = 1e-3
# Steps of MuJoCo in one of the plant, for stiff friction: beyond them simulation stands still.
MOST_SUBSTEPS = 100
# MuJoCo's default begins at 0.9: a tip that slides then bounces at 100 Hz
SOFT = (
    0.3,
    0.95,
    0.001,
    0.5,
    2.0,
)
# N m or N: MuJoCo takes no infinite friction
BRAKE = 1e9


@dataclass(frozen=True, slots=True, eq=False)
class Contact:
    """One contact between two bodies.

    Attributes:
        a, b: the robot's links (without prefix) or bodies of the world (``"world"`` where they are
            nameless).
        point: (3,) in the world, m.
        normal: (3,) unit vector from ``a`` to ``b``, world axes.
        force, moment: (3,) N, (3,) N m that ``a`` exerts on ``b`` at ``point``, world axes.
        depth: penetration, m.
    """

    a: str
    b: str
    point: Array
    normal: Array
    force: Array
    moment: Array
    depth: float


class ContactReader:
    """Reads contacts of one compiled model; ``links`` are the robot's links that have geometry, in
    model order.
    """

    def __init__(
        self,
        m: mujoco.MjModel,
        model: RobotModel,
        shapes: Sequence[WorldShape],
    ) -> None:
        """``shapes``: those of the options; other geoms of the robot are called
        ``<link>/<number>``.
        """
        self._mujoco = mujoco_or_error()
        self._m = m
        self._link: list[str] = []
        self._name: list[str] = []
        owners = {f"{PREFIX}{shape.name}": shape.link for shape in shapes if shape.link}
        for g in range(m.ngeom):
            name = m.geom(g).name
            body = int(m.geom_bodyid[g])
            if name.startswith(PREFIX):
                own = name.removeprefix(PREFIX).rpartition("/")[0]
            else:
                own = ""
            self._link.append(owners.get(name, own))
            self._name.append(
                self._link[g] or (m.body(body).name if body else "") or name or "world"
            )
        have = set(self._link)
        self.links = tuple(link for link in model.link_names if link in have)
        self._six = np.zeros(6)

    def contacts(self, data: mujoco.MjData) -> list[Contact]:
        """Those that exert a force."""
        read = (self._read(data, k) for k in range(data.ncon))
        return [contact for contact in read if contact.force.any() or contact.moment.any()]

    def _read(self, data: mujoco.MjData, k: int) -> Contact:
        contact = data.contact[k]
        self._mujoco.mj_contactForce(self._m, data, k, self._six)
        axes = np.array(contact.frame).reshape(3, 3)
        one, other = (self._name[int(g)] for g in contact.geom)
        efforts = self._six[:3] @ axes, self._six[3:] @ axes
        return Contact(
            one,
            other,
            np.array(contact.pos),
            axes[0].copy(),
            *efforts,
            max(-float(contact.dist), 0.0),
        )

    def wrenches(self, data: mujoco.MjData) -> dict[str, Array]:
        """Link → (6,) [moment; force] of all that touches it, about its origin, in its axes; zero
        where nothing does.
        """
        total = {link: np.zeros(6) for link in self.links}
        for k in range(data.ncon):
            one, other = (self._link[int(g)] for g in data.contact[k].geom)
            if one not in total and other not in total:
                continue
            contact = self._read(data, k)
            for link, sign in ((one, -1.0), (other, 1.0)):
                if link in total:
                    R, o = link_pose(data, link)
                    total[link][:3] += (
                        sign * (contact.moment + np.cross(contact.point - o, contact.force)) @ R
                    )
                    total[link][3:] += sign * contact.force @ R
        return total


def link_pose(data: mujoco.MjData, link: str) -> tuple[Array, Array]:
    """(3, 3), (3,) of a link in the world."""
    site = data.site(PREFIX + link)
    return site.xmat.reshape(3, 3), site.xpos


class MujocoPlant(SimulatedRobot):
    """A robot that moves in a world, simulated by MuJoCo.

    >>> import robot_dynamics_ros as rd
    >>> arm = rd.load_robot("six_axis")
    >>> table = rd.WorldShape("table", "box", size=(0.6, 0.6, 0.04), position=(0.5, 0.0, 0.3))
    >>> tip = rd.WorldShape("tip", "sphere", size=(0.02,), link="tool0")
    >>> plant = rd.MujocoPlant(arm, 2e-3, shapes=[table, tip])
    >>> for _ in range(10):
    ...     plant.step(rd.gravity_forces(arm, plant.q))
    >>> sorted(plant.contact_wrenches())
    ['tool0']

    The robot is converted from its model and URDF; see
    :mod:`robot_dynamics_ros.simulation.mujoco_engine.convert`.  Its base stands in the scene where
    the model's ``base`` says; gravity is the model's.

    Args:
        model: the robot.
        dt: control period, s: the time :meth:`step` advances.
        options: fields of
            :class:`~robot_dynamics_ros.simulation.mujoco_engine.world.MujocoOptions`, by name.

    Attributes:
        m, data: MuJoCo's ``MjModel`` and ``MjData``, for functions that this class lacks.
        tau: (nv,) motor effort of the last step, after the limiter, N m or N.
        command: (nv,) the command of the last step as given.
        links: links with geometry.
        objects: names of the bodies in the world that can move.

    Raises:
        BackendError: MuJoCo is not installed.
        ArgumentError, UnknownNameError: an option that does not fit, a scene or a mesh that cannot
            be read.
    """

    def __init__(self, model: RobotModel, dt: float = 1e-3, **options: object) -> None:
        self._mujoco = mujoco = mujoco_or_error()
        o = options_of(MujocoOptions, options, "MujocoPlant")
        super().__init__(model, dt, o)
        model = self.model
        self._friction = friction_table(model, o.friction)
        self._brake = np.minimum(per_joint(o.brake_effort, model, "brake_effort"), BRAKE)
        self._limits = LimitMemory()
        for name, values in self._command_limits().items():
            setattr(self._limits, name, values)
        if o.substeps is None:
            self.substeps = self._enough_substeps(o.integrator)
        else:
            self.substeps = int(o.substeps)
        if self.gears is not None:
            least = self.gears.substeps(model, self._start_q, self.dt, o.substeps)
            self.substeps = max(self.substeps, least)
        step = self.dt / self.substeps
        self.m, self.data, self.map = _compile_world(
            model, o, step, self._start_q, self._start_v, self.gears
        )
        m = self.m
        self._find_drives()
        self._reader = ContactReader(m, model, o.shapes)
        free = [b for b in range(1, m.nbody) if m.body_weldid[b] == b and m.body_dofnum[b]]
        self._objects = {
            m.body(b).name or f"body{b}": b for b in free if not m.body(b).name.startswith(PREFIX)
        }
        names = [m.equality(e).name for e in range(m.neq)]
        self._loop_rows = np.array(
            [name.startswith(f"{PREFIX}loop/") for name in names], dtype=bool
        )
        self._ask = mujoco.MjData(m)
        self.links = self._reader.links
        self.objects = tuple(self._objects)
        self.m.dof_damping.reshape(self.m.nv, -1)[self._drives_at, 0] = self._friction.viscous[
            : model.nv
        ]
        self._switch_brakes()
        self.command = np.zeros(model.nv)
        self.tau = np.zeros(model.nv)
        self._periods = np.zeros(1, dtype=np.int64)
        self._inverse = kernel(model, "inverse_dynamics_wrenches", external=True)
        self._kind = mujoco.mjtState.mjSTATE_INTEGRATION
        self._saved = np.empty(mujoco.mj_stateSize(self.m, self._kind))
        self._initial = self.state()["mujoco"]
        self.reset()

    def _find_drives(self) -> None:
        """Where MuJoCo has the velocities of what the efforts drive: motors with springs, else
        the joints themselves.
        """
        self._drives_at = self.map.v_at.copy()
        motors = [PREFIX + MOTOR + name for name in self.gears.names] if self.gears else []
        joints = [self.m.joint(name) for name in motors]
        self._motor_q_at = np.array([joint.qposadr[0] for joint in joints], dtype=np.intp)
        self._motor_v_at = np.array([joint.dofadr[0] for joint in joints], dtype=np.intp)
        if self.gears is not None:
            self._drives_at[self.gears.index] = self._motor_v_at

    def motors(self) -> tuple[Array, Array]:
        return self.data.qpos[self._motor_q_at], self.data.qvel[self._motor_v_at]

    def _enough_substeps(self, integrator: str | None) -> int:
        longest = LONGEST_MUJOCO_STEP
        viscous = np.diag(self._friction.viscous[: self.model.nv])
        if integrator == "rk4" and viscous.any():
            M = mass_matrix(self.model, self._start_q)
            fastest = np.abs(np.linalg.eigvals(np.linalg.solve(M, viscous))).max()
            # the method's limit is 2.78 / fastest
            longest = max(min(longest, 1.0 / fastest), self.dt / MOST_SUBSTEPS)
        return max(1, math.ceil(self.dt / longest - 1e-9))

    # -- state -------------------------------------------------------------------------------------

    @property
    def compiled(self) -> bool:
        """See :class:`SimulatedRobot`: always."""
        return True

    @property
    def q(self) -> Array:
        return self.map.read(self.data)[0]

    @property
    def v(self) -> Array:
        return self.map.read(self.data)[1]

    def _switch_brakes(self) -> None:
        self._fresh = False
        self._set_dry()

    def _set_dry(self) -> None:
        """Dry friction at the present speed."""
        # coupled motors are tendons
        table = self._friction
        own = slice(self.model.nv)
        dry = table.coulomb[own]
        if table.curved:
            speed = np.abs(self._drive_speed())
            dry = dry_friction(
                speed, dry, table.rise[own], table.stribeck_velocity[own], table.stribeck_exponent
            )
        self.m.dof_frictionloss[self._drives_at] = np.minimum(
            dry + self._brake if self._braked else dry, BRAKE
        )

    def _drive_speed(self) -> Array:
        """(nv,) velocities of the motors with springs, and of the other joints."""
        speed = self.map.read(self.data)[1]
        if self.gears is not None:
            speed[self.gears.index] = self.data.qvel[self._motor_v_at]
        return speed

    def reset(
        self,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        t: float = 0.0,
    ) -> None:
        """See :meth:`SimulatedRobot.reset`; without ``q`` and ``v`` the world goes back to its
        start, too, else it stays.  Springs in gears carry the weight of the links.
        """
        whole = q is None and v is None
        q, v, self._t0 = self._start_of(q, v, t)
        mujoco = self._mujoco
        m = self.m
        data = self.data
        if whole:
            mujoco.mj_resetData(m, data)
            mujoco.mj_setState(m, data, self._initial, self._kind)
        if self.constraints is not None:
            q, v = self.constraints.consistent_state(q, v)
        self.map.write(data, q, v)
        gears = self.gears
        if gears is not None:
            own = self._coordinates.q_of_v[gears.index]
            data.qpos[self._motor_q_at] = q[own] + gears.wound_up(self.model, q)
            data.qvel[self._motor_v_at] = v[gears.index]
        data.qfrc_applied[:] = 0.0
        data.xfrc_applied[:] = 0.0
        data.qacc_warmstart[:] = 0.0
        self.command[:] = self.tau[:] = 0.0
        self._set_wrenches({}, {})
        self._periods[0] = 0
        mujoco.mj_forward(m, data)

    def state(self) -> PlantState:
        """See :meth:`SimulatedRobot.state`; the world is in it."""
        self._mujoco.mj_getState(self.m, self.data, self._saved, self._kind)
        return {**super().state(), "mujoco": self._saved.copy()}

    def restore(self, state: PlantState) -> None:
        if len(state["mujoco"]) != len(self._saved):
            problem = f"expected {len(self._saved)} numbers, got {len(state['mujoco'])}"
            remedy = "States fit plants of the same robot and scene."
            raise ArgumentError(problem, where="state", got=len(state["mujoco"]), remedy=remedy)
        self._mujoco.mj_setState(self.m, self.data, state["mujoco"], self._kind)
        super().restore(state)

    # -- motion ------------------------------------------------------------------------------------

    def _set_wrenches(self, link: dict[str, Array], world: dict[str, Array]) -> None:
        super()._set_wrenches(link, world)
        self._fresh = False

    def _limit_command(self) -> None:
        q, v = self.map.read(self.data)
        for i, (x, speed) in enumerate(
            zip(self._coordinates.positions(q).tolist(), v.tolist(), strict=True)
        ):
            self.tau[i] = limited_effort(self._limits, i, self.command[i], x, speed)

    def advance(self) -> None:
        mujoco = self._mujoco
        m = self.m
        data = self.data
        mujoco.mj_getState(m, data, self._saved, self._kind)
        before = data.warning.number.copy()
        self._fresh = False
        try:
            if self.user_effort is None and not any(self._wrenches) and not self._friction.curved:
                self._apply(data, self.t)
                mujoco.mj_step(m, data, self.substeps)
            else:
                for k in range(self.substeps):
                    self._apply(data, self.t + k * self.dt / self.substeps)
                    mujoco.mj_step(m, data)
            self._check(before)
        except BaseException:
            mujoco.mj_setState(m, data, self._saved, self._kind)
            mujoco.mj_forward(m, data)
            raise
        self._periods[0] += 1

    def _apply(self, data: mujoco.MjData, t: float) -> None:
        """Write efforts and wrenches to MuJoCo's inputs, for the state in ``data``."""
        q, v = self.map.read(data)
        tau = self.tau
        if self.user_effort is not None:
            tau = tau + self._velocity("user_effort", self.user_effort(t, q, v))
        self.map.efforts(q, tau, data.qfrc_applied)
        if self.gears is not None:
            # the motors' efforts reach the links through the springs; a user's effort is the links'
            own = self.gears.index
            data.qfrc_applied[self.map.v_at[own]] -= self.tau[own]
            data.qfrc_applied[self._motor_v_at] = self.tau[own]
        data.xfrc_applied[:] = 0.0
        if self._friction.curved:
            self._set_dry()
        if not any(self._wrenches):
            return
        self._mujoco.mj_kinematics(self.m, data)
        # moment of a force about the centre of mass of the body that it acts on
        shifted = np.empty(3)
        for wrenches, in_world in zip(self._wrenches, (False, True), strict=True):
            for link, wrench in wrenches.items():
                R, origin = link_pose(data, link)
                moment, force = (
                    (wrench[:3], wrench[3:]) if in_world else (R @ wrench[:3], R @ wrench[3:])
                )
                body = int(self.m.site(PREFIX + link).bodyid[0])
                data.xfrc_applied[body, :3] += force
                # NumPy's product takes as long as a step of MuJoCo
                self._mujoco.mju_cross(shifted, origin - data.xipos[body], force)
                data.xfrc_applied[body, 3:] += moment + shifted

    def _check(self, before: Array) -> None:
        """Refuse a state that means nothing."""
        data = self.data
        x = data.qpos
        v = data.qvel
        numbers = data.warning.number
        if (
            math.isfinite(x.dot(x))
            and v.dot(v) <= self.max_speed**2
            and numbers.tobytes() == before.tobytes()
        ):
            # what nearly every step comes to
            return
        speed = np.abs(v)
        where = f"MuJoCo, t = {self.t:g} s"
        kinds = self._mujoco.mjtWarning
        warned = numbers != before
        bad = [int(getattr(kinds, f"mjWARN_BAD{name}")) for name in ("QPOS", "QVEL", "QACC")]
        sound = np.isfinite(x).all() and speed.max(initial=0.0) <= self.max_speed
        if not sound or warned[bad].any():
            if len(speed):
                worst = int(np.argmax(np.where(np.isfinite(speed), speed, np.inf)))
            else:
                worst = 0
            raise SimulationError(
                f"the simulation diverges at {self._dof_name(worst)}, which reaches "
                f"{speed[worst]:.3g} rad/s or m/s",
                where=where,
                got=float(speed[worst]),
                remedy=(
                    "Take shorter steps (more substeps), softer contacts (contact_time) or a "
                    "softer control law."
                ),
            )
        if warned[[int(kinds.mjWARN_CONTACTFULL), int(kinds.mjWARN_CNSTRFULL)]].any():
            problem = "there are more contacts than MuJoCo has memory for, and some are lost"
            remedy = "Give the scene <size memory='100M'/>, or simpler shapes."
            raise SimulationError(problem, where=where, remedy=remedy)

    def _dof_name(self, dof: int) -> str:
        """Of a velocity of MuJoCo, for messages."""
        own = np.flatnonzero(self.map.v_at == dof)
        if len(own):
            return f"joint {self._coordinates.names[own[0]]!r}"
        return f"body {self.m.body(int(self.m.dof_bodyid[dof])).name!r}"

    # -- what the state and the command cause ------------------------------------------------------

    def prepare(self) -> None:
        self.joint_wrenches()
        if self.constraints is not None:
            self.constraint_wrenches()

    def _look(self) -> mujoco.MjData:
        """MuJoCo's forward dynamics in the present state, in memory of its own: asking changes
        nothing.
        """
        if not self._fresh:
            mujoco = self._mujoco
            m = self.m
            ask = self._ask
            mujoco.mj_copyState(m, self.data, ask, self._kind)
            self._apply(ask, self.t)
            mujoco.mj_forward(m, ask)
            mujoco.mj_rnePostConstraint(m, ask)
            self._fresh = True
        return self._ask

    def acceleration(self) -> Array:
        return self.map.acceleration(self._look(), *self.map.read(self.data))

    def contacts(self) -> list[Contact]:
        """All contacts that exert a force now, of the robot and in the world."""
        return self._reader.contacts(self._look())

    def contact_wrenches(self) -> dict[str, Array]:
        """Link with geometry → (6,) [moment; force] of all that touches it now, about its origin,
        in its axes.
        """
        return self._reader.wrenches(self._look())

    def object_pose(self, name: str) -> Array:
        """(4, 4) pose in the world of a body that can move.

        Raises:
            UnknownNameError: no such body.
        """
        check_name("object", name, self.objects)
        data = self._look()
        body = self._objects[name]
        pose = np.eye(4)
        pose[:3, :3] = data.xmat[body].reshape(3, 3)
        pose[:3, 3] = data.xpos[body]
        return pose

    def _inverse_dynamics(self) -> tuple[Array, Array]:
        model = self.model
        ask = self._look()
        q, v = self.map.read(self.data)
        tau = np.empty(model.nv)
        out = np.empty((len(model.joint_names), 6))
        self._inverse(q, v, self.acceleration(), self._outside(ask), tau, out)
        return tau, out

    def _outside(self, ask: mujoco.MjData) -> Array:
        """(nb, 6) all that acts on the bodies but the joints, about their origins, in their
        axes.
        """
        m = self.m
        wrenches = np.empty((self.model.nb, 6))
        for i, body in enumerate(self.map.body[1:]):
            center = ask.subtree_com[m.body_rootid[body]]
            # 1: a force
            to_body = 1, ask.xpos[body], center, ask.xmat[body]
            self._mujoco.mju_transformSpatial(wrenches[i], ask.cfrc_ext[body], *to_body)
        return wrenches

    def reactions(self) -> Array:
        """(nc,) λ of the constraints now: of the forces of MuJoCo, the share that least-norm
        reactions explain.

        Raises:
            ArgumentError: the plant was made without constraints.
        """
        if self.constraints is None:
            remedy = "Pass constraints= when the plant is made."
            raise ArgumentError(
                "the plant was made without constraints", where="constraints", remedy=remedy
            )
        ask = self._look()
        q = self.q
        kinds = ask.efc_type[: ask.nefc]
        numbers = ask.efc_id[: ask.nefc]
        equality = kinds == int(self._mujoco.mjtConstraint.mjCNSTR_EQUALITY)
        mine = equality.copy()
        mine[equality] = self._loop_rows[numbers[equality]]
        effort = np.zeros(self.m.nv)
        self._mujoco.mj_mulJacTVec(
            self.m, ask, effort, np.where(mine, ask.efc_force[: ask.nefc], 0.0)
        )
        K = self.constraints.jacobian(q)
        return np.linalg.lstsq(K.T, self.map.forces(effort, q), rcond=1e-8)[0]

    def constraint_wrenches(self) -> dict[str, tuple[Array, Array]]:
        """Wrenches of each loop on its links now; see :meth:`Constraints.wrenches`."""
        reactions = self.reactions()
        assert self.constraints is not None
        return self.constraints.wrenches(self.q, reactions)


def _compile_world(
    model: RobotModel,
    o: MujocoOptions,
    h: float,
    q: Array,
    v: Array,
    gears: GearTable | None = None,
) -> tuple[mujoco.MjModel, mujoco.MjData, CoordinateMap]:
    """The robot in its world, in steps of ``h`` s, its state ``q``, ``v``, and where its
    coordinates are.

    Links that touch each other at the start never collide; a warning names them.
    """
    pieces = robot_geometry(model, o.geometry, o.urdf, o.directory)
    excluded: set[tuple[str, str]] = set()
    while True:
        m = _compile(model, o, h, pieces, excluded, gears)
        data = mujoco_or_error().MjData(m)
        finish(m, data, model, o.constraints)
        coordinates = CoordinateMap(m, model)
        coordinates.write(data, q, v)
        mujoco_or_error().mj_forward(m, data)
        touching = _links_in_contact(m, data)
        if touching <= excluded:
            break
        excluded |= touching
    if excluded:
        shown = ", ".join(f"{a} and {b}" for a, b in sorted(excluded)[:5])
        warnings.warn(
            ModelWarning(f"links that touch at the start never collide: {shown}", [shown]),
            stacklevel=level_of_caller(),
        )
    return m, data, coordinates


def _compile(
    model: RobotModel,
    o: MujocoOptions,
    h: float,
    pieces: Sequence[Shape],
    excluded: set[tuple[str, str]],
    gears: GearTable | None = None,
) -> mujoco.MjModel:
    """The scene with the robot attached; pairs of links that are ``excluded`` never touch each
    other.
    """
    mujoco = mujoco_or_error()
    contact: GeomOptions = {"solref": [max(o.contact_time, 2.0 * h), 1.0], "solimp": SOFT}
    world = read_scene(o.scene)
    robot = robot_spec(model, h, o, shapes=pieces, contact=contact, gears=gears)
    for one, other in sorted(excluded):
        robot.add_exclude(bodyname1=one, bodyname2=other)
    option = world.option
    if o.integrator is not None or o.scene is None:
        name = MUJOCO_INTEGRATORS[o.integrator or "implicitfast"]
        option.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{name}")
    # what MuJoCo's manual advises for grasping
    if o.scene is None:
        option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
        option.impratio = 10.0
    option.timestep = h
    option.gravity = model.gravity
    option.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)
    try:
        add_shapes(world, o.shapes, contact)
        world.attach(robot, prefix=PREFIX, frame=world.worldbody.add_frame())
        return world.compile()
    except ValueError as error:
        raise unreadable(
            "shapes" if o.scene is None else f"scene {str(o.scene)[:200]!r}", error
        ) from None


def _links_in_contact(m: mujoco.MjModel, data: mujoco.MjData) -> set[tuple[str, str]]:
    """Pairs of the robot's bodies in contact now, without prefix."""
    pairs: set[tuple[str, str]] = set()
    for k in range(data.ncon):
        names = [m.body(int(m.geom_bodyid[g])).name for g in data.contact[k].geom]
        if all(name.startswith(PREFIX) for name in names):
            one, other = sorted(name.removeprefix(PREFIX) for name in names)
            pairs.add((one, other))
    return pairs
