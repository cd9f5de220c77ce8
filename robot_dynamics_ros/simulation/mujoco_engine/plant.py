"""The simulated robot in MuJoCo: like :class:`~robot_dynamics_ros.simulation.plant.Plant`, in contact with a world."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics import kernel, kinetic_energy, mass_matrix, potential_energy
from robot_dynamics_ros.dynamics.engine.routines import Memory
from robot_dynamics_ros.errors import ArgumentError, ModelWarning, SimulationError, UnknownNameError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.simulation.coordinates import Coordinates, per_joint, position_bounds
from robot_dynamics_ros.simulation.effects.friction import friction_table
from robot_dynamics_ros.simulation.effects.limits import LimitMemory, limited_effort
from robot_dynamics_ros.simulation.mujoco_engine.contacts import Contact, ContactReader
from robot_dynamics_ros.simulation.mujoco_engine.convert import (
    PREFIX,
    CoordinateMap,
    finish,
    robot_geometry,
    robot_spec,
)
from robot_dynamics_ros.simulation.mujoco_engine.options import MUJOCO_INTEGRATORS, MujocoOptions
from robot_dynamics_ros.simulation.mujoco_engine.world import (
    WorldShape,
    add_shapes,
    mujoco_or_error,
    read_scene,
    unreadable,
)
from robot_dynamics_ros.simulation.plant_arguments import PlantArguments, Wrenches
from robot_dynamics_ros.simulation.plant_options import options_of

__all__ = ["MujocoPlant"]

LONGEST_STEP = 1e-3
MOST_SUBSTEPS = 100
SOFT = (0.3, 0.95, 0.001, 0.5, 2.0)  # MuJoCo's default begins at 0.9: a tip that slides then bounces at 100 Hz
BRAKE = 1e9  # N m or N: MuJoCo takes no infinite friction


class MujocoPlant:
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

    The robot is converted from its model and URDF; see :mod:`robot_dynamics_ros.simulation.mujoco_engine.convert`.  Its
    base stands in the scene where the model's ``base`` says; gravity is the model's.

    Args:
        model: the robot.
        dt: control period, s: the time :meth:`step` advances.
        options: fields of :class:`~robot_dynamics_ros.simulation.mujoco_engine.options.MujocoOptions`, by name.

    Attributes:
        m, data: MuJoCo's ``MjModel`` and ``MjData``, for functions that this class lacks.
        tau: (nv,) motor effort of the last step, after the limiter, N m or N.
        command: (nv,) the command of the last step as given.
        links: links with geometry.
        objects: names of the bodies in the world that can move.

    Raises:
        BackendError: MuJoCo is not installed.
        ArgumentError, UnknownNameError: an option that does not fit, a scene or a mesh that cannot be read.
    """

    def __init__(self, model: RobotModel, dt: float = 1e-3, **options: object) -> None:
        self._mujoco = mujoco_or_error()
        if not (isinstance(dt, (int, float)) and 0.0 < dt < math.inf):
            raise ArgumentError("must be a positive number of seconds", where="dt", got=dt)
        self._options = o = options_of(MujocoOptions, options, "MujocoPlant")
        self.model, self.dt, self.max_speed = model, float(dt), float(o.max_speed)
        self.limiter, self.user_effort, self.constraints = bool(o.limiter), o.user_effort, o.constraints
        self._check_shapes(o.shapes)
        self._friction = friction_table(model, o.friction)
        self._brake = np.minimum(per_joint(o.brake_effort, model, "brake_effort"), BRAKE)
        self._braked = False
        coordinates = Coordinates(model)
        self._names = coordinates.names
        bounds = position_bounds(model)
        self._arguments = PlantArguments(model, coordinates, bounds if o.stops is not None else None)
        self._positions = coordinates.positions
        limits = Memory(LimitMemory, {"nv": model.nv}, compiled=False)
        limits["limit_lower"][:], limits["limit_upper"][:] = bounds[:2]
        limits["velocity_limit"][:], limits["effort_limit"][:] = model.velocity_limit, model.effort_limit
        self._limits = limits.python
        self._start_q = self._arguments.default_start() if o.q0 is None else self._arguments.configuration(o.q0)
        self._start_v = np.zeros(model.nv) if o.v0 is None else self._arguments.velocity("v0", o.v0)
        self.substeps = self._enough_substeps() if o.substeps is None else int(o.substeps)
        self._build()
        self.command, self.tau = np.zeros(model.nv), np.zeros(model.nv)
        self._wrenches: dict[str, Array] = {}
        self._world_wrenches: dict[str, Array] = {}
        self._inverse = kernel(model, "inverse_dynamics_wrenches", external=True)
        self._kind = self._mujoco.mjtState.mjSTATE_INTEGRATION
        kinds = self._mujoco.mjtWarning
        self._bad = [int(getattr(kinds, f"mjWARN_BAD{name}")) for name in ("QPOS", "QVEL", "QACC")]
        self._full = [int(kinds.mjWARN_CONTACTFULL), int(kinds.mjWARN_CNSTRFULL)]
        self._saved = np.empty(self._mujoco.mj_stateSize(self.m, self._kind))
        self._initial = np.empty_like(self._saved)
        self._mujoco.mj_getState(self.m, self.data, self._initial, self._kind)
        self._t0, self._steps, self._fresh = 0.0, 0, False
        self.reset()

    def _enough_substeps(self) -> int:
        longest = LONGEST_STEP
        if self._options.integrator == "rk4" and self._friction.viscous.any():
            M = mass_matrix(self.model, self._start_q)
            fastest = np.abs(np.linalg.eigvals(np.linalg.solve(M, np.diag(self._friction.viscous)))).max()
            longest = max(min(longest, 1.0 / fastest), self.dt / MOST_SUBSTEPS)  # the method's limit is 2.78 / fastest
        return max(1, math.ceil(self.dt / longest - 1e-9))

    # -- making it -----------------------------------------------------------------------------------------------

    def _check_shapes(self, shapes: Sequence[WorldShape]) -> None:
        names = [shape.name for shape in shapes]
        for shape in shapes:
            if names.count(shape.name) > 1:
                raise ArgumentError(
                    f"two shapes are called {shape.name!r}",
                    where="shapes",
                    got=names,
                    remedy="Give each a name of its own.",
                )
            if shape.link and shape.link not in self.model.link_names:
                raise UnknownNameError("link", shape.link, self.model.link_names, where=f"shape {shape.name!r}")

    def _build(self) -> None:
        o = self._options
        mujoco, model, h = self._mujoco, self.model, self.dt / self.substeps
        contact = {"solref": [max(o.contact_time, 2.0 * h), 1.0], "solimp": SOFT}
        excluded: set[tuple[str, str]] = set()
        own = [shape for shape in o.shapes if shape.link]
        pieces = robot_geometry(model, o.geometry, o.urdf, o.directory)
        while True:
            world = read_scene(o.scene)
            robot = robot_spec(
                model,
                h,
                shapes=pieces,
                own=own,
                surface_friction=o.surface_friction,
                self_collision=o.self_collision,
                stops=o.stops is not None,
                constraints=self.constraints,
                contact=contact,
            )
            for one, other in sorted(excluded):
                robot.add_exclude(bodyname1=one, bodyname2=other)
            option = world.option
            if o.integrator is not None or o.scene is None:
                option.integrator = getattr(
                    mujoco.mjtIntegrator, f"mjINT_{MUJOCO_INTEGRATORS[o.integrator or 'implicitfast']}"
                )
            if o.scene is None:  # what MuJoCo's manual advises for grasping
                option.cone, option.impratio = mujoco.mjtCone.mjCONE_ELLIPTIC, 10.0
            option.timestep, option.gravity = h, model.gravity
            option.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)
            try:
                add_shapes(world, o.shapes, contact)
                world.attach(robot, prefix=PREFIX, frame=world.worldbody.add_frame())
                self.m = world.compile()
            except ValueError as error:
                raise unreadable("shapes" if o.scene is None else f"scene {str(o.scene)[:200]!r}", error) from None
            self.data = mujoco.MjData(self.m)
            finish(self.m, self.data, model, self.constraints)
            self.map = CoordinateMap(self.m, model)
            owners = {shape.name: shape.link for shape in own}
            owners |= {f"{p.link}/{k + 1}": p.link for p in pieces for k in range(self.m.ngeom)}
            self._reader = ContactReader(self.m, model, self.map, owners)
            self.map.write(self.data, self._start_q, self._start_v)
            mujoco.mj_forward(self.m, self.data)
            touching = self._touching_itself()
            if touching <= excluded:
                break
            excluded |= touching
        if (pieces or own) and excluded:
            shown = ", ".join(f"{a} and {b}" for a, b in sorted(excluded)[:5])
            warnings.warn(ModelWarning(f"links that touch at the start never collide: {shown}", [shown]), stacklevel=3)
        self._ask = mujoco.MjData(self.m)
        self._of_dof = self._dof_names()
        self.links = self._reader.links
        free = [b for b in range(1, self.m.nbody) if self.m.body_weldid[b] == b and self.m.body_dofnum[b]]
        self._objects = {
            self.m.body(b).name or f"body{b}": b for b in free if not self.m.body(b).name.startswith(PREFIX)
        }
        self.objects = tuple(self._objects)
        dofs = self.map.v_at
        damping = self.m.dof_damping.reshape(self.m.nv, -1)
        damping[dofs, 0] = self._friction.viscous
        self._set_dry()
        loops = [self.m.equality(e).name for e in range(self.m.neq)]
        self._loop_rows = np.array([name.startswith(f"{PREFIX}loop/") for name in loops], dtype=bool)

    def _touching_itself(self) -> set[tuple[str, str]]:
        """Pairs of the robot's bodies in contact now."""
        found: set[tuple[str, str]] = set()
        for k in range(self.data.ncon):
            names = [self.m.body(int(self.m.geom_bodyid[g])).name for g in self.data.contact[k].geom]
            if all(name.startswith(PREFIX) for name in names):
                one, other = sorted(name.removeprefix(PREFIX) for name in names)
                found.add((one, other))
        return found

    def _dof_names(self) -> list[str]:
        names = [f"body {self.m.body(int(b)).name!r}" for b in self.m.dof_bodyid]
        for k, at in enumerate(self.map.v_at):
            names[int(at)] = f"joint {self._names[k]!r}"
        return names

    # -- state ---------------------------------------------------------------------------------------------------

    @property
    def compiled(self) -> bool:
        """Whether steps run in machine code: always."""
        return True

    @property
    def t(self) -> float:
        """Time, s: a multiple of ``dt`` from the last reset."""
        return self._t0 + self._steps * self.dt

    @property
    def q(self) -> Array:
        """(nq,) configuration; a copy."""
        return self.map.read(self.data)[0]

    @property
    def v(self) -> Array:
        """(nv,) velocity; a copy."""
        return self.map.read(self.data)[1]

    @property
    def brakes(self) -> bool:
        """Whether the holding brakes are on; set it to switch them."""
        return self._braked

    @brakes.setter
    def brakes(self, on: bool) -> None:
        if bool(on) != self._braked:
            self._braked, self._fresh = bool(on), False
            self._set_dry()

    def _set_dry(self) -> None:
        """Dry friction at the present speed."""
        table = self._friction
        dry = table.coulomb
        if table.curved:
            speed = np.abs(self.map.read(self.data)[1])
            dry = dry + table.rise * np.exp(-((speed / table.velocity) ** table.exponent))
        self.m.dof_frictionloss[self.map.v_at] = np.minimum(dry + self._brake if self._braked else dry, BRAKE)

    def reset(self, q: ArrayLike | None = None, v: ArrayLike | None = None, t: float = 0.0) -> None:
        """Set the state; without ``q`` and ``v`` everything goes back to the start, the world too.

        With one of them given the robot alone is set, and the world stays as it is.  Commands and external wrenches go to
        zero; brakes stay as they are.

        Raises:
            ArgumentError: wrong length, not finite, a quaternion of zero length, or outside the joint limits.
        """
        whole = q is None and v is None
        q = self._start_q if q is None else self._arguments.configuration(q)
        v = self._start_v if v is None else self._arguments.velocity("v", v)
        if not math.isfinite(t):
            raise ArgumentError("must be finite", where="t", got=t)
        mujoco, m, data = self._mujoco, self.m, self.data
        if whole:
            mujoco.mj_resetData(m, data)
            mujoco.mj_setState(m, data, self._initial, self._kind)
        if self.constraints is not None:
            q, v = self.constraints.consistent_state(q, v)
        self.map.write(data, q, v)
        data.qfrc_applied[:], data.xfrc_applied[:], data.qacc_warmstart[:] = 0.0, 0.0, 0.0
        self.command[:] = self.tau[:] = 0.0
        self._wrenches, self._world_wrenches = {}, {}
        self._t0, self._steps, self._fresh = float(t), 0, False
        mujoco.mj_forward(m, data)

    def state(self) -> dict[str, Any]:
        """A copy of everything :meth:`restore` needs to continue bit for bit, the world included."""
        self._mujoco.mj_getState(self.m, self.data, self._saved, self._kind)
        return {
            "t0": self._t0,
            "steps": self._steps,
            "mujoco": self._saved.copy(),
            "command": self.command.copy(),
            "tau": self.tau.copy(),
            "wrenches": (dict(self._wrenches), dict(self._world_wrenches)),
            "brakes": self.brakes,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a :meth:`state` of a plant like this one."""
        if len(state["mujoco"]) != len(self._saved):
            raise ArgumentError(
                f"expected {len(self._saved)} numbers, got {len(state['mujoco'])}",
                where="state",
                got=len(state["mujoco"]),
                remedy="States fit plants of the same robot and scene.",
            )
        self._mujoco.mj_setState(self.m, self.data, state["mujoco"], self._kind)
        self._t0, self._steps, self._fresh = state["t0"], state["steps"], False
        self.command[:], self.tau[:] = state["command"], state["tau"]
        self._wrenches, self._world_wrenches = (dict(part) for part in state["wrenches"])
        self.brakes = state["brakes"]

    # -- motion --------------------------------------------------------------------------------------------------

    def step(self, command: ArrayLike, external: Wrenches = None, external_world: Wrenches = None) -> None:
        """Advance by ``dt`` under a constant command.

        Args:
            command: (nv,) motor efforts, N m or N.
            external: link name → (6,) wrench [moment; force] the environment exerts on that link, about the link's
                origin, in the link's axes (rotating with it).
            external_world: the same in world axes.

        Raises:
            ArgumentError: a wrong length or a value that is not finite; the state is then unchanged.
            UnknownNameError: an external wrench names no link.
            SimulationError: the simulation diverges; the state stays at the last good one.
        """
        self.hold(command, external, external_world)
        self.advance()

    def hold(self, command: ArrayLike, external: Wrenches = None, external_world: Wrenches = None) -> None:
        """The first half of :meth:`step`: take a command, without moving yet."""
        given = self._arguments.velocity("command", command)
        link = self._arguments.wrenches("external", external)
        self._world_wrenches = self._arguments.wrenches("external_world", external_world)
        self._wrenches, self._fresh = link, False
        self.command[:] = self.tau[:] = given
        if self.limiter:
            q, v = self.map.read(self.data)
            for i, (x, speed) in enumerate(zip(self._positions(q).tolist(), v.tolist(), strict=True)):
                self.tau[i] = limited_effort(self._limits, i, self.tau[i], x, speed)

    def advance(self) -> None:
        """The second half of :meth:`step`: move by ``dt`` under what is held."""
        mujoco, m, data = self._mujoco, self.m, self.data
        mujoco.mj_getState(m, data, self._saved, self._kind)
        before = data.warning.number.copy()
        self._fresh = False
        try:
            if (
                self.user_effort is None
                and not self._wrenches
                and not self._world_wrenches
                and not self._friction.curved
            ):
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
        self._steps += 1

    def _apply(self, data: Any, t: float) -> None:
        """Write efforts and wrenches to MuJoCo's inputs, for the state in ``data``."""
        q, v = self.map.read(data)
        tau = self.tau
        if self.user_effort is not None:
            tau = tau + self._arguments.velocity("user_effort", self.user_effort(t, q, v))
        self.map.efforts(q, tau, data.qfrc_applied)
        data.xfrc_applied[:] = 0.0
        if self._friction.curved:
            self._set_dry()
        if not (self._wrenches or self._world_wrenches):
            return
        self._mujoco.mj_kinematics(self.m, data)
        for wrenches, in_world in ((self._wrenches, False), (self._world_wrenches, True)):
            for link, wrench in wrenches.items():
                R, origin = self._reader.link_pose(data, link)
                moment, force = (wrench[:3], wrench[3:]) if in_world else (R @ wrench[:3], R @ wrench[3:])
                body = self.map.body[int(self.model.link_body[self.model.link_index(link)]) + 1]
                data.xfrc_applied[body, :3] += force
                data.xfrc_applied[body, 3:] += moment + np.cross(origin - data.xipos[body], force)

    def _check(self, before: Array) -> None:
        """Refuse a state that means nothing."""
        data = self.data
        x, v, numbers = data.qpos, data.qvel, data.warning.number
        if math.isfinite(x.dot(x)) and v.dot(v) <= self.max_speed**2 and numbers.tobytes() == before.tobytes():
            return  # what nearly every step comes to
        speed, where = np.abs(v), f"MuJoCo, t = {self.t:g} s"
        warned = numbers != before
        sound = np.isfinite(x).all() and speed.max(initial=0.0) <= self.max_speed
        if not sound or warned[self._bad].any():
            worst = int(np.argmax(np.where(np.isfinite(speed), speed, np.inf))) if len(speed) else 0
            raise SimulationError(
                f"the simulation diverges at {self._of_dof[worst]}, which reaches {speed[worst]:.3g} rad/s or m/s",
                where=where,
                got=float(speed[worst]),
                remedy="Take shorter steps (more substeps), softer contacts (contact_time) or a softer control law.",
            )
        if warned[self._full].any():
            raise SimulationError(
                "there are more contacts than MuJoCo has memory for, and some are lost",
                where=where,
                remedy="Give the scene <size memory='100M'/>, or simpler shapes.",
            )

    def run(
        self, commands: ArrayLike, steps: int | None = None, *, external: Wrenches = None, record: bool = True
    ) -> Any:
        """Many control periods in one call; see :meth:`Plant.run <robot_dynamics_ros.simulation.plant.Plant.run>`."""
        from robot_dynamics_ros.simulation.plant import PlantPath

        rows, steps = self._arguments.commands(commands, steps)
        path = np.empty((steps, self.model.nq + 2 * self.model.nv)) if record else None
        for k in range(steps):
            self.step(rows[0 if len(rows) == 1 else k], external)
            if path is not None:
                path[k] = np.concatenate((*self.map.read(self.data), self.tau))
        return None if path is None else PlantPath.of(self.model, path)

    # -- what can be known about it ------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Have everything ready that :meth:`joint_wrenches` and the like need."""
        self.joint_wrenches()
        if self.constraints is not None:
            self.constraint_wrenches()

    def _look(self) -> Any:
        """MuJoCo's forward dynamics in the present state, in memory of its own: asking changes nothing."""
        if not self._fresh:
            mujoco, m, ask = self._mujoco, self.m, self._ask
            mujoco.mj_getState(m, self.data, self._saved, self._kind)
            mujoco.mj_setState(m, ask, self._saved, self._kind)
            self._apply(ask, self.t)
            mujoco.mj_forward(m, ask)
            mujoco.mj_rnePostConstraint(m, ask)
            self._fresh = True
        return self._ask

    def acceleration(self) -> Array:
        """(nv,) true acceleration now, under the last command and external wrenches."""
        return self.map.acceleration(self._look(), *self.map.read(self.data))

    def contacts(self) -> list[Contact]:
        """All contacts that exert a force now, of the robot and in the world."""
        return self._reader.contacts(self._look())

    def contact_wrenches(self) -> dict[str, Array]:
        """Link with geometry → (6,) [moment; force] of all that touches it now, about its origin, in its axes."""
        return self._reader.wrenches(self._look())

    def object_pose(self, name: str) -> Array:
        """(4, 4) pose in the world of a body that can move.

        Raises:
            UnknownNameError: no such body.
        """
        if name not in self._objects:
            raise UnknownNameError("object", name, self.objects)
        data, body, pose = self._look(), self._objects[name], np.eye(4)
        pose[:3, :3], pose[:3, 3] = data.xmat[body].reshape(3, 3), data.xpos[body]
        return pose

    def joint_effort(self) -> Array:
        """(nv,) net effort at the joints now: motors less friction, plus stops and gears."""
        return self._inverse_dynamics()[0]

    def joint_wrenches(self) -> Array:
        """(len(model.joint_names), 6) true joint wrenches [moment; force] now, contacts and loops acting."""
        return self._inverse_dynamics()[1]

    def _inverse_dynamics(self) -> tuple[Array, Array]:
        model, ask = self.model, self._look()
        q, v = self.map.read(self.data)
        tau, out = np.empty(model.nv), np.empty((len(model.joint_names), 6))
        self._inverse(q, v, self.acceleration(), self._outside(ask), tau, out)
        return tau, out

    def _outside(self, ask: Any) -> Array:
        """(nb, 6) all that acts on the bodies but the joints, about their origins, in their axes."""
        m, wrenches = self.m, np.empty((self.model.nb, 6))
        for i, body in enumerate(self.map.body[1:]):
            moment, force = ask.cfrc_ext[body, :3], ask.cfrc_ext[body, 3:]
            R = ask.xmat[body].reshape(3, 3)
            center = ask.subtree_com[m.body_rootid[body]]
            wrenches[i, :3] = (moment + np.cross(center - ask.xpos[body], force)) @ R
            wrenches[i, 3:] = force @ R
        return wrenches

    def reactions(self) -> Array:
        """(nc,) λ of the constraints now: of the forces of MuJoCo, the share that least-norm reactions explain.

        Raises:
            ArgumentError: the plant was made without constraints.
        """
        if self.constraints is None:
            raise ArgumentError(
                "the plant was made without constraints",
                where="constraints",
                remedy="Pass constraints= when the plant is made.",
            )
        ask, q = self._look(), self.q
        kinds, numbers = ask.efc_type[: ask.nefc], ask.efc_id[: ask.nefc]
        equality = kinds == int(self._mujoco.mjtConstraint.mjCNSTR_EQUALITY)
        mine = equality.copy()
        mine[equality] = self._loop_rows[numbers[equality]]
        effort = np.zeros(self.m.nv)
        self._mujoco.mj_mulJacTVec(self.m, ask, effort, np.where(mine, ask.efc_force[: ask.nefc], 0.0))
        K = self.constraints.jacobian(q)
        found: Array = np.linalg.lstsq(K.T, self.map.forces(effort, q), rcond=1e-8)[0]
        return found

    def constraint_wrenches(self) -> dict[str, tuple[Array, Array]]:
        """Wrenches of each loop on its links now; see :meth:`Constraints.wrenches`."""
        reactions = self.reactions()
        assert self.constraints is not None
        return self.constraints.wrenches(self.q, reactions)

    def energy(self) -> tuple[float, float]:
        """Kinetic energy and potential energy of gravity of the robot, J; the world is not in it."""
        q, v = self.map.read(self.data)
        return float(kinetic_energy(self.model, q, v)), float(potential_energy(self.model, q))
