"""The robots of the suite of kinds: what is drawn of them, and how MuJoCo moves them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache

import mujoco
import numpy as np

import robot_dynamics_ros as rd
from benchmarks.differing_robots.arms import ARMS, Arm, home, load_arm
from benchmarks.differing_robots.differences import (
    Difference,
    Move,
    _with_payload,
    changed,
    claiming,
    draw,
    exact,
)
from benchmarks.differing_robots.kinds_cases import Kind
from benchmarks.differing_robots.kinds_laws import ROTOR_LIMIT, USUAL_ROTOR
from robot_dynamics_ros.simulation.effects.gears import GearTable
from robot_dynamics_ros.simulation.mujoco_engine.convert import MOTOR, add_gears, robot_spec
from robot_dynamics_ros.simulation.mujoco_engine.world import MujocoOptions

__all__ = ["HELD_OUT", "MAIN_ARMS", "KindArm", "KindRobot", "Scene", "kind_arm", "make_scene"]

Vector = np.ndarray

MAIN_ARMS = ("panda", "ur10", "j2s6s200", "ur5", "xarm7", "z1")
HELD_OUT = ("tiago", "baxter", "talos", "g1_arm", "tiago_pro", "so101")
_FINGER = Arm(
    "urdf/panda.urdf",
    "panda_leftfinger",
    0.3,
    ("panda_joint", "panda_finger_joint1"),
    (0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.8, 0.02),
)

RIGID_STEP = 5e-4
"""s, of the simulation; springs in gears take half of it."""
WALL_STIFFNESS = 2e4
"""N/m, of walls and tables: steel frames with an arm's flange on them."""
WALL_DAMPING = 200.0
"""N s/m, of the same."""
SPRING_DAMPING = 0.06
"""Of springs in gears: twice their damping ratio of 3 %."""
TABLE_FRICTION = 0.3
TABLE_DEPTH = 3e-3
"""m that the motion leads into the table."""


@dataclasses.dataclass(frozen=True)
class KindArm:
    """An arm of the suite: ``model`` as described, without claimed friction, its ``flange``,
    nominal ``payload`` and ``home``.
    """

    name: str
    model: rd.RobotModel
    arm: Arm
    home: Vector


@cache
def kind_arm(name: str) -> KindArm:
    """The arm of that name."""
    arm = _FINGER if name == "panda_finger" else ARMS[name]
    model = load_arm_of(arm) if name == "panda_finger" else load_arm(arm)
    zero = np.zeros(model.nv)
    bare = claiming(model, zero, zero, zero)
    return KindArm(name, bare, arm, home(arm, bare))


def load_arm_of(arm: Arm) -> rd.RobotModel:
    """The arm with its finger: eight joints, one more than arms have."""
    file = arm.file
    path = next(path for path in (rd_path(file),))
    model = rd.load_urdf(path, inertia_check="warn")
    others = [name for name in model.joint_names if not name.startswith(arm.joints)]
    return model.lock(others) if others else model


def rd_path(end: str) -> str:
    """Path of a file of example-robot-data."""
    from importlib import metadata

    for file in metadata.files("example-robot-data") or ():
        if str(file).endswith("/" + end):
            return str(file.locate())
    raise FileNotFoundError(f"{end}: install example-robot-data")


@dataclasses.dataclass
class Scene:
    """One robot of a kind, and what it has to do.

    Attributes:
        motors: (n,) kg m², rotors behind springs; zero where the gears are stiff.
        stiffness: (n,) N m/rad, of those springs.
        loaded: the robot with the payload that comes or goes, or None.
        start_velocity: (n,) rad/s at activation.
    """

    kind: Kind
    arm: KindArm
    difference: Difference
    moves: list[Move]
    motors: Vector
    stiffness: Vector
    loaded: rd.RobotModel | None
    seed: int

    @property
    def period(self) -> float:
        return 1.0 / self.difference.rate


def make_scene(kind: Kind, arm_name: str, seed: int) -> Scene:
    """The robot and its moves; the same for the same seed."""
    arm = kind_arm(arm_name)
    model = arm.model
    n = model.nv
    rng = np.random.default_rng([seed, sum(map(ord, arm_name))])
    limit = np.minimum(model.effort_limit, 1e3)
    zero = np.zeros(n)
    if kind.drawn:
        d, move = draw(arm.arm, model, int(rng.integers(1 << 30)))
        return Scene(kind, arm, d, [move], zero, zero, None, seed)
    usual = USUAL_ROTOR * np.sqrt(np.minimum(limit, ROTOR_LIMIT) / ROTOR_LIMIT)
    links = len(model.description.links)
    spread = rng.uniform(-1.0, 1.0, links)
    shares = rng.uniform(0.0, 1.0, (4, n))

    def span(bounds: tuple[float, float], k: int) -> Vector:
        return bounds[0] + (bounds[1] - bounds[0]) * shares[k]

    rotors = usual * span(kind.rotors, 0)
    # a finger is driven by a spindle: some 0.1 kg
    rotors = np.where(_slides(model), np.minimum(rotors, 0.1), rotors)
    dry = limit * span(kind.dry, 1)
    viscous = limit * span(kind.viscous, 2)
    masses = 1.0 + kind.masses * spread
    claim = model
    if kind.exact:
        rotors = dry = viscous = zero
        masses = np.ones(links)
    if kind.claimed_friction:
        claim = claiming(model, limit * kind.claimed_friction, zero)
    truth = changed(model, masses, np.zeros((links, 3)), zero)
    payload = kind.payload * arm.arm.payload
    loaded = _with_payload(truth, arm.arm, payload, np.zeros(3)) if payload else None
    moves = _moves(kind, arm, loaded or truth, dry * kind.breakaway + viscous, rng)
    motors = zero
    stiffness = zero
    if kind.geared:
        carried = np.diag(rd.mass_matrix(model, moves[0].start))
        motors = np.maximum(rotors, carried * span(kind.heavy_rotors, 0))
        stiffness = limit / span(kind.windup, 3)
    else:
        truth = changed(truth, np.ones(links), np.zeros((links, 3)), rotors)
        loaded = _with_payload(truth, arm.arm, payload, np.zeros(3)) if payload else None
    if loaded is not None and kind.payload_at == "start":
        truth = loaded
        loaded = None
    turn = 2.0 * np.pi
    d = exact(
        claim,
        truth,
        breakaway=dry * kind.breakaway,
        dry=dry,
        viscous=viscous,
        spring=limit * kind.cable,
        neutral=arm.home,
        rate=kind.rate,
        velocity_filter=kind.velocity_filter or np.inf,
        quantum=turn / 2**kind.bits if kind.bits else 0.0,
        payload=payload,
        seed=seed,
    )
    return Scene(kind, arm, d, moves, motors, stiffness, loaded, seed)


def _slides(model: rd.RobotModel) -> np.ndarray:
    return np.array(
        [model.joint(name).type is rd.JointType.PRISMATIC for name in model.joint_names]
    )


def _moves(
    kind: Kind, arm: KindArm, loaded: rd.RobotModel, friction: Vector, rng: np.random.Generator
) -> list[Move]:
    """Moves that weight and friction leave enough effort for."""
    model = arm.model
    n = model.nv
    slides = _slides(model)
    low = np.maximum(model.lower, -3.0) + np.where(slides, 0.0, 0.1)
    high = np.minimum(model.upper, 3.0) - np.where(slides, 0.0, 0.1)
    middle = arm.home
    best = None
    for trial in range(300):
        step = rng.uniform(0.4, 0.8, n) * rng.choice([-1.0, 1.0], n)
        step = np.where(slides, 0.015 * np.sign(step), step)
        if kind.motion == "fast":
            step = 1.5 * step
        centre = middle + np.where(slides, 0.0, rng.uniform(-0.3, 0.3, n))
        if trial > 100:
            wide = 0.5 * (low + high) + 0.3 * (high - low) * rng.uniform(-1.0, 1.0, n)
            centre = 0.5 * middle + 0.5 * wide
        if kind.motion == "stretched":
            centre = rng.uniform(low, high)
        start = np.clip(centre - 0.5 * step, low, high)
        goal = np.clip(start + step, low, high)
        fastest = float(np.max(1.875 * np.abs(goal - start) / model.velocity_limit))
        move = Move(
            start, goal, 1.1 * fastest if kind.motion == "fast" else max(2.0, 1.43 * fastest)
        )
        room = _room(loaded, move, friction, kind)
        if room < 0.0:
            if best is None or room > best[0]:
                best = room, move
            continue
        way = _place(model, goal, arm.arm.flange) - _place(model, start, arm.arm.flange)
        if kind.event == "wall" and np.linalg.norm(way) < 0.15:
            continue
        if kind.motion == "stretched":
            reach = float(np.linalg.norm(_place(model, goal, arm.arm.flange)))
            if best is None or reach > best[0]:
                best = reach, move
            if trial < 60 or best[0] < 0.0:
                continue
            move = best[1]
        best = 0.0, move
        break
    assert best is not None
    move = best[1]
    moves = [move]
    for _ in range(kind.moves - 1):
        last = moves[-1]
        moves.append(Move(last.goal, last.start, last.duration))
    return moves


def _place(model: rd.RobotModel, q: Vector, link: str) -> Vector:
    return np.asarray(rd.link_pose(model, q, link))[:3, 3]


def _room(model: rd.RobotModel, move: Move, friction: Vector, kind: Kind) -> float:
    """Smallest share of a limit that is left on the way, less a fifth."""
    limit = np.minimum(model.effort_limit, 1e3) * kind.saturation
    left = np.inf
    for s in np.linspace(0.0, 1.0, 6):
        q, v, a = move.at(s * move.duration)
        need = np.abs(rd.inverse_dynamics(model, q, v, a)) + friction
        spring = kind.cable * limit * np.abs(q - 0.5 * (move.start + move.goal))
        left = min(left, float(np.min(1.0 - (need + spring) / limit)))
    return left - 0.2


def _compiled(scene: Scene, model: rd.RobotModel, h: float) -> mujoco.MjModel:
    """The robot alone, each motor behind its spring where gears give way."""
    kind = scene.kind
    spec = robot_spec(model, h, MujocoOptions())
    spec.option.timestep = h
    spec.option.gravity = model.gravity.tolist()
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    if kind.geared:
        own = np.diag(rd.mass_matrix(model, scene.moves[0].start))
        swinging = own * scene.motors / (own + scene.motors)
        damping = SPRING_DAMPING * np.sqrt(scene.stiffness * swinging)
        play = np.full(model.nv, kind.backlash)
        columns = scene.stiffness, damping, play, scene.motors
        everyone = np.arange(model.nv)
        gears = GearTable(everyone, tuple(model.joint_names), *columns, at_motor=kind.at_motor)
        add_gears(spec, gears, h)
    for name in model.joint_names:
        driven = MOTOR + name if kind.geared else name
        actuator = spec.add_actuator(
            name=name,
            trntype=mujoco.mjtTrn.mjTRN_JOINT,
            target=driven,
            gaintype=mujoco.mjtGain.mjGAIN_FIXED,
            biastype=mujoco.mjtBias.mjBIAS_NONE,
        )
        actuator.gainprm[0] = 1.0
        # in a torque loop the command is late, not the motor's effort
        if kind.lag and not kind.torque_loop:
            actuator.dyntype = mujoco.mjtDyn.mjDYN_FILTEREXACT
            actuator.dynprm[0] = kind.lag
    m = spec.compile()
    for i in range(model.nb):
        moments = np.maximum(np.linalg.eigvalsh(model.body_inertia[i]), 1e-12)
        if moments[2] > moments[0] + moments[1]:
            m.body_inertia[m.body(model.joint(model.moving_joint_names[i]).child).id] = moments
    mujoco.mj_setConst(m, mujoco.MjData(m))
    return m


class KindRobot:
    """A robot of a kind in MuJoCo.

    Attributes:
        q, v: (n,) the true state of the joints.
        forces: N, the largest of a wall, a table or a hand so far.
    """

    def __init__(self, scene: Scene) -> None:
        kind = scene.kind
        d = scene.difference
        self.scene = scene
        self.difference = d
        self.n = d.claim.nv
        period = scene.period
        finest = 0.5 * RIGID_STEP if kind.geared else RIGID_STEP
        self.substeps = max(1, round(period / finest))
        self.h = period / self.substeps
        first = scene.loaded if kind.payload_at == "dropped" and scene.loaded else d.truth
        m = self.m = _compiled(scene, first, self.h)
        self.data = mujoco.MjData(m)
        names = d.truth.joint_names
        self.q_at = np.array([m.joint(x).qposadr[0] for x in names])
        self.v_at = np.array([m.joint(x).dofadr[0] for x in names])
        driven = [MOTOR + x for x in names] if kind.geared else list(names)
        self.motor_q_at = np.array([m.joint(x).qposadr[0] for x in driven])
        self.motor_v_at = np.array([m.joint(x).dofadr[0] for x in driven])
        self.joint_ids = np.array([m.joint(x).id for x in names])
        self.site = m.site(scene.arm.arm.flange).id
        self.body = int(m.site_bodyid[self.site])
        m.dof_damping[self.motor_v_at] = d.viscous
        m.jnt_stiffness[self.joint_ids] = d.spring
        m.qpos_spring[self.q_at] = d.neutral
        m.dof_frictionloss[self.motor_v_at] = d.breakaway
        if kind.soft_friction:
            m.dof_solref[self.motor_v_at] = (0.02, 1.0)
            m.dof_solimp[self.motor_v_at] = (0.9, 0.95, 0.001, 0.5, 2.0)
        if kind.tilt:
            m.opt.gravity[:] = _tilted(m.opt.gravity, kind.tilt)
        self.rng = np.random.default_rng(scene.seed + 1)
        self.limit = np.minimum(d.claim.effort_limit, 1e3)
        self.effort = np.zeros(self.n)
        self.pushed = np.zeros(3)
        self.surface: Callable[[Vector, Vector], Vector] | None = None
        self.forces = 0.0
        self.braked = False
        self._driver_q = np.zeros(self.n)
        self._driver_v = np.zeros(self.n)
        self._share = 1.0
        if np.isfinite(d.velocity_filter):
            self._share = 1.0 - np.exp(-2.0 * np.pi * d.velocity_filter * period)
        self._torque_command = np.zeros(self.n)
        self._set(scene.moves[0].start)
        self.begun = False

    # -- state -------------------------------------------------------------------------------------

    def _set(self, q: Vector) -> None:
        """Put the robot there at rest, its motors wound up to hold it."""
        data = self.data
        data.qpos[self.q_at] = q
        data.qvel[:] = 0.0
        mujoco.mj_forward(self.m, data)
        d = self.difference
        holds = data.qfrc_bias[self.v_at] + d.spring * (q - d.neutral)
        if self.scene.kind.geared:
            half = 0.5 * self.scene.kind.backlash
            data.qpos[self.motor_q_at] = q + holds / self.scene.stiffness + half * np.sign(holds)
        self.holding = holds
        if self.m.na:
            data.act[:] = self._given(holds)
        data.ctrl[:] = self._given(holds)
        self._torque_command = holds.copy()
        mujoco.mj_forward(self.m, data)

    def jump(self, q: Vector) -> None:
        """The simulator's reset: the robot is elsewhere at once."""
        ctrl = self.data.ctrl.copy()
        self._set(q)
        self.data.ctrl[:] = ctrl

    def fall(self, seconds: float) -> None:
        """Nobody holds it for that long."""
        self.data.ctrl[:] = 0.0
        if self.m.na:
            self.data.act[:] = 0.0
        self._torque_command[:] = 0.0
        for _ in range(round(seconds / self.h)):
            mujoco.mj_step(self.m, self.data)

    @property
    def q(self) -> Vector:
        return self.data.qpos[self.q_at]

    @property
    def v(self) -> Vector:
        return self.data.qvel[self.v_at]

    def measured(self) -> tuple[Vector, Vector]:
        """(n,) position and velocity as the driver reports them; called once a period."""
        kind = self.scene.kind
        d = self.difference
        q = self.data.qpos[self.motor_q_at if kind.at_motor else self.q_at]
        v = self.data.qvel[self.motor_v_at if kind.at_motor else self.v_at]
        if kind.drawn:
            q = q + d.position_noise * self.rng.standard_normal(self.n)
            v = v + d.velocity_noise * self.rng.standard_normal(self.n)
        if d.quantum:
            q = d.quantum * np.round(q / d.quantum)
        if kind.differenced:
            v = (q - self._driver_q) / self.scene.period if self.begun else np.zeros(self.n)
        self._driver_q = q.copy()
        self._driver_v = self._driver_v + self._share * (v - self._driver_v)
        self.begun = True
        return q.copy(), self._driver_v.copy()

    # -- motion ------------------------------------------------------------------------------------

    def _given(self, command: Vector) -> Vector:
        """What the drive makes of a command at once."""
        kind = self.scene.kind
        limit = self.limit * kind.saturation
        tau = np.clip(command, -limit, limit)
        if kind.effort_levels:
            digit = self.limit / kind.effort_levels
            tau = digit * np.round(tau / digit)
        return tau * self.difference.effort_scale

    def command(self, tau: Vector) -> None:
        """An effort reaches the drives."""
        kind = self.scene.kind
        if kind.gravity:
            tau = tau + kind.gravity * rd.gravity_forces(self.difference.claim, self.q)
        self.effort = self._given(tau)
        self.data.ctrl[:] = self.effort

    def friction(self, t: float, total: float) -> None:
        """Set dry friction for this period: drift, speed, load."""
        kind = self.scene.kind
        d = self.difference
        if self.braked:
            return
        at = self.motor_v_at
        speed = self.data.qvel[at]
        dry = d.dry
        if (d.breakaway != d.dry).any():
            dry = d.dry + (d.breakaway - d.dry) * np.exp(-np.square(speed / d.stribeck_speed))
        if d.load_share.any():
            share = np.minimum(np.abs(self.effort) / (0.3 * self.limit), 2.0)
            dry = dry * (1.0 - d.load_share + d.load_share * share)
        low, high = kind.drift
        self.m.dof_frictionloss[at] = dry * (low + (high - low) * min(t / total, 1.0))

    def brake(self, *, on: bool) -> None:
        """Close or open the brakes of all joints."""
        self.braked = on
        at = self.motor_v_at
        self.m.dof_frictionloss[at] = 20.0 * self.limit if on else self.difference.breakaway

    def carry(self, model: rd.RobotModel) -> None:
        """The load changes: from now on its bodies are those of ``model``."""
        other = _compiled(self.scene, model, self.h)
        for name in ("body_mass", "body_ipos", "body_iquat", "body_inertia"):
            getattr(self.m, name)[:] = getattr(other, name)
        at_rest = mujoco.MjData(self.m)
        mujoco.mj_setConst(self.m, at_rest)

    def stop_at(self, joint: int, position: float, sign: float) -> None:
        """A stop that the description does not mention."""
        k = self.joint_ids[joint]
        bounds = self.m.jnt_range[k]
        if not self.m.jnt_limited[k]:
            bounds[:] = (-10.0, 10.0)
        self.m.jnt_limited[k] = 1
        bounds[1 if sign > 0.0 else 0] = position

    def advance(self, substeps: int) -> None:
        """Go on by that many steps of the simulation."""
        kind = self.scene.kind
        data = self.data
        if self.surface is None and not kind.torque_loop:
            if self.pushed.any():
                self._push(self.pushed)
            mujoco.mj_step(self.m, data, substeps)
            return
        for _ in range(substeps):
            if kind.torque_loop:
                self._control_torque()
            if self.surface is not None:
                place = data.site_xpos[self.site]
                velocity = np.empty(6)
                mujoco.mj_objectVelocity(
                    self.m, data, mujoco.mjtObj.mjOBJ_SITE, self.site, velocity, 0
                )
                self._push(self.pushed + self.surface(place, velocity[3:]))
            elif self.pushed.any():
                self._push(self.pushed)
            mujoco.mj_step(self.m, data)

    def release(self) -> None:
        """Nothing touches the flange any more."""
        self.surface = None
        self.pushed = np.zeros(3)
        self.data.xfrc_applied[:] = 0.0

    def _push(self, force: Vector) -> None:
        data = self.data
        self.forces = max(self.forces, float(np.linalg.norm(force)))
        arm = data.site_xpos[self.site] - data.xipos[self.body]
        data.xfrc_applied[self.body, :3] = force
        data.xfrc_applied[self.body, 3:] = np.cross(arm, force)

    def _control_torque(self) -> None:
        """A torque controller in each joint: its motor makes the spring carry the command."""
        kind = self.scene.kind
        data = self.data
        most = kind.torque_rate * self.limit * self.h if kind.torque_rate else np.inf
        share = 1.0 - np.exp(-self.h / kind.lag)
        self._torque_command += np.clip(share * (self.effort - self._torque_command), -most, most)
        wound = data.qpos[self.motor_q_at] - data.qpos[self.q_at]
        winding = data.qvel[self.motor_v_at] - data.qvel[self.v_at]
        carried = self.scene.stiffness * wound
        gain = kind.torque_loop
        damping = 0.7 * np.sqrt((1.0 + gain) * self.scene.stiffness * self.scene.motors)
        ask = self._torque_command + gain * (self._torque_command - carried) - damping * winding
        data.ctrl[:] = np.clip(ask, -2.0 * self.limit, 2.0 * self.limit)


def _tilted(gravity: Vector, angle: float) -> Vector:
    c = np.cos(angle)
    s = np.sin(angle)
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]]) @ gravity


def wall(point: Vector, inward: Vector) -> Callable[[Vector, Vector], Vector]:
    """Force of a wall through ``point``; ``inward``: into the wall."""

    def force(place: Vector, velocity: Vector) -> Vector:
        depth = float((place - point) @ inward)
        if depth <= 0.0:
            return np.zeros(3)
        size = WALL_STIFFNESS * depth + WALL_DAMPING * float(velocity @ inward)
        return -max(size, 0.0) * inward

    return force


def table(height: Callable[[], float], down: Vector) -> Callable[[Vector, Vector], Vector]:
    """Force of a table: ``height`` is where it is along ``down`` below the flange now."""

    def force(place: Vector, velocity: Vector) -> Vector:
        depth = float(place @ down) - height()
        if depth <= 0.0:
            return np.zeros(3)
        size = max(WALL_STIFFNESS * depth + WALL_DAMPING * float(velocity @ down), 0.0)
        sliding = velocity - (velocity @ down) * down
        speed = float(np.linalg.norm(sliding))
        return -size * down - TABLE_FRICTION * size * sliding / max(speed, 0.01)

    return force
