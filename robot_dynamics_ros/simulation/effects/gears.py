"""Gears that yield: a spring, which may have play, between each motor and its link.

    J θ̈ = τ − τ_f(θ̇) − τ_s,     the link gets τ_s,     τ_s = K d(θ − q) + D (θ̇ − q̇)

(Spong, Journal of Dynamic Systems 109(4), 1987.)  θ is the motor's angle, after the gear; J
is the rotor's inertia there.  d(x) is x less half the backlash: zero while the teeth do not touch.
The damper acts in the play, too.  Friction τ_f and holding brakes are at the motor.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from robot_dynamics_ros.dynamics import gravity_forces, mass_matrix
from robot_dynamics_ros.errors import ArgumentError, SimulationError, check_name
from robot_dynamics_ros.friction.law import dry_friction
from robot_dynamics_ros.model.description import Array, JointType
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.simulation.coordinates import Values, per_joint
from robot_dynamics_ros.simulation.effects.friction import FrictionTable, friction_table

ENCODER_SIDES = ("link", "motor")
# rad: phase of the fastest spring's swing that passes in a step; at 2 rad explicit steps diverge
ANGLE_OF_SWING = 0.2
# rad: the largest phase in a step that the user may choose
LARGEST_ANGLE_OF_SWING = 1.5
# steps in a period: more are not taken unless the user asks for them
MOST_GEAR_SUBSTEPS = 200


@dataclass(frozen=True, slots=True, eq=False)
class GearSprings:
    """Springs and play in the gears.  Values are a number, (nv,) numbers, or a mapping of joint
    names; joints with a stiffness of zero, or that are not named, have rigid gears.

    Attributes:
        stiffness: K, N m/rad or N/m.
        damping: D, N m s/rad or N s/m.
        backlash: whole play between the motor and its link, rad or m.
        rotors: J, kg m² or kg; ``None``: the model's ``armature``.
        encoder: ``"link"`` or ``"motor"``: where positions and velocities are measured.

    ArgumentError: no such place for the encoder.
    """

    stiffness: Values = 0.0
    damping: Values = 0.0
    backlash: Values = 0.0
    rotors: Values | None = None
    encoder: str = "link"

    def __post_init__(self) -> None:
        check_name("place", self.encoder, ENCODER_SIDES, where="gears encoder")

    @classmethod
    def of_windup(
        cls,
        model: RobotModel,
        windup: float,
        *,
        backlash: float = 0.0,
        damping_ratio: float = 0.03,
        rotor: float | None = None,
        encoder: str = "link",
    ) -> GearSprings:
        """Springs at all joints that turn or slide and have an effort limit.

        Args:
            windup: of each spring at the effort limit of its joint, rad or m.
            backlash: whole play, rad or m.
            damping_ratio: of the rotor on its spring; 1 is critical.
            rotor: kg m² or kg of every rotor; ``None``: the model's ``armature``.
            encoder: see above.

        ArgumentError: a windup that is not positive.
        """
        if not (math.isfinite(windup) and windup > 0.0):
            raise ArgumentError("must be positive", where="gears windup", got=windup)
        stiffness = {}
        damping = {}
        for name in model.joint_names:
            limit = model.joint(name).limits.effort
            if model.joint(name).type in _SIMPLE and 0.0 < limit < math.inf:
                column = model.v_slice(name).start
                inertia = float(model.armature[column]) if rotor is None else rotor
                stiffness[name] = limit / windup
                damping[name] = 2.0 * damping_ratio * math.sqrt(stiffness[name] * inertia)
        rotors = None if rotor is None else dict.fromkeys(stiffness, rotor)
        return cls(stiffness, damping, backlash, rotors, encoder)

    def table(self, model: RobotModel) -> GearTable | None:
        """The numbers for one model; ``None`` if all its gears are rigid.

        Raises:
            ArgumentError: a negative or infinite value; a spring at a joint that is not revolute,
                continuous or prismatic, whose motor turns with two joints, or without rotor.
        """
        stiffness = per_joint(self.stiffness, model, "gears stiffness")
        index = np.flatnonzero(stiffness > 0.0)
        if not len(index):
            return None
        rotors = model.armature
        if self.rotors is not None:
            rotors = per_joint(self.rotors, model, "gears rotors", default=model.armature)
        columns = {
            "stiffness": stiffness,
            "damping": per_joint(self.damping, model, "gears damping"),
            "backlash": per_joint(self.backlash, model, "gears backlash"),
            "rotors": rotors,
        }
        coupled = set(np.nonzero(friction_table(model, True).couple)[1].tolist())
        for one, other, _ in model.coupled_rotors:
            coupled |= {one, other}
        names = []
        for i in index.tolist():
            name = _joint_of(model, i)
            names.append(name)
            where = f"gears of joint {name!r}"
            if model.joint(name).type not in _SIMPLE:
                problem = "only joints that turn about or slide along one axis have gears"
                got = model.joint(name).type.name
                remedy = "Leave its gear rigid."
                raise ArgumentError(problem, where=where, got=got, remedy=remedy)
            if i in coupled:
                problem = "its motor turns with two joints"
                raise ArgumentError(problem, where=where, remedy="Leave its gear rigid.")
            if not rotors[i] > 0.0:
                problem = "a motor with a spring needs a rotor inertia above zero"
                remedy = "Give gears rotors, or the armature in the description."
                raise ArgumentError(problem, where=where, got=float(rotors[i]), remedy=remedy)
            for key, values in columns.items():
                if not math.isfinite(values[i]):
                    problem = f"{key} must be finite"
                    remedy = "Give a number."
                    value = float(values[i])
                    raise ArgumentError(problem, where=where, got=value, remedy=remedy)
        own = {key: values[index].copy() for key, values in columns.items()}
        return GearTable(index, tuple(names), **own, at_motor=self.encoder == "motor")


_SIMPLE = (JointType.REVOLUTE, JointType.CONTINUOUS, JointType.PRISMATIC)


def _joint_of(model: RobotModel, dof: int) -> str:
    """Name of the joint that has this entry in ``v``."""
    for name in model.joint_names:
        columns = model.v_slice(name)
        if columns.start <= dof < columns.stop:
            return name
    raise AssertionError(dof)


@dataclass(frozen=True, slots=True, eq=False)
class GearTable:
    """Gears of k joints of a model: all arrays (k,).

    Attributes:
        index: entries of the joints in ``v``; names: of the joints.
        stiffness, damping, backlash, rotors: as in :class:`GearSprings`.
        at_motor: whether the encoders are at the motors.
    """

    index: np.ndarray
    names: tuple[str, ...]
    stiffness: Array
    damping: Array
    backlash: Array
    rotors: Array
    at_motor: bool

    def links(self, model: RobotModel) -> RobotModel:
        """The robot beyond the springs: without the rotors of these joints."""
        bare = dict.fromkeys(self.names, 0.0)
        description = model.description.with_joints(bare, {}, {})
        return model.replace(description=description)

    def deflection(self, twist: Array) -> Array:
        """(k,) of the springs, when motors and links are ``twist`` apart."""
        half = 0.5 * self.backlash
        return np.sign(twist) * np.maximum(np.abs(twist) - half, 0.0)

    def effort(self, twist: Array, rate: Array) -> Array:
        """(k,) that the springs exert on the links; ``rate``: of the twist."""
        return self.stiffness * self.deflection(twist) + self.damping * rate

    def energy(self, twist: Array) -> float:
        """J in the springs."""
        return float(0.5 * self.stiffness @ np.square(self.deflection(twist)))

    def wound_up(self, links: RobotModel, q: Array) -> Array:
        """(k,) twist at which the springs carry the weight of the links at ``q``."""
        weight = gravity_forces(links, q)[self.index]
        return weight / self.stiffness + 0.5 * self.backlash * np.sign(weight)

    def substeps(
        self,
        links: RobotModel,
        q: Array,
        period: float,
        given: int | None,
    ) -> int:
        """Integration steps in a control period, so many that they follow the fastest spring.

        Args:
            links: the robot beyond the springs.
            q: (nq,) its configuration.
            period: of control, s.
            given: the number that the user chose; ``None``: it is chosen here.

        Raises:
            SimulationError: ``given`` is too small: the steps would diverge.
        """
        # a spring with inertias J1 and J2 at its ends swings with √(K (1/J1 + 1/J2)), and its
        # damper settles with the rate D (1/J1 + 1/J2)
        of_links = np.diag(np.linalg.inv(mass_matrix(links, q)))[self.index]
        inverse_inertia = of_links + 1.0 / self.rotors
        swing = np.maximum(
            np.sqrt(self.stiffness * inverse_inertia), self.damping * inverse_inertia
        )
        fastest = int(np.argmax(swing))
        rate = float(swing[fastest])
        if given is None:
            return max(1, min(MOST_GEAR_SUBSTEPS, math.ceil(period * rate / ANGLE_OF_SWING)))
        if period / given * rate > LARGEST_ANGLE_OF_SWING:
            least = math.ceil(period * rate / LARGEST_ANGLE_OF_SWING)
            problem = f"the spring in the gear swings with {rate:.4g} rad/s"
            remedy = f"Take at least {least} substeps a period, or a softer spring."
            where = f"joint {self.names[fastest]!r}"
            raise SimulationError(problem, where=where, got=given, remedy=remedy)
        return given


class GearMotors:
    """The motors of a :class:`GearTable`, moved beside the links.

    Attributes:
        angle, speed: (k,) of the motors, at the outputs of their gears.
        braked: whether the holding brakes are on.
    """

    def __init__(
        self,
        table: GearTable,
        friction: FrictionTable,
        with_brakes: FrictionTable,
    ) -> None:
        self.table = table
        self.angle = np.zeros(len(table.index))
        self.speed = np.zeros(len(table.index))
        self.braked = False
        self._tables = friction, with_brakes

    def follow(self, links: RobotModel, q: Array, v: Array, configuration: Array) -> None:
        """Turn with the links, the springs wound up by their weight."""
        self.angle = q + self.table.wound_up(links, configuration)
        self.speed = v.copy()

    def pull(self, q: Array, v: Array) -> Array:
        """(k,) effort of the springs on the links now."""
        return self.table.effort(self.angle - q, self.speed - v)

    def step(self, h: float, effort: Array, q: Array, v: Array) -> Array:
        """Move the motors by ``h`` s; (k,) mean effort of the springs on the links in that step.

        The springs are taken amid the step (positions half a step on): with links that an engine
        moves under a constant effort that is the Verlet step, which keeps the energy.

        Args:
            effort: (k,) of the motors.
            q, v: (k,) of the links at the beginning.
        """
        table = self.table
        own = table.index
        friction = self._tables[self.braked]
        twist = self.angle - q + 0.5 * h * (self.speed - v)
        spring = table.effort(twist, self.speed - v)
        viscous = friction.viscous[own]
        free = self.speed + h * (effort - spring) / table.rotors
        free = free / (1.0 + h * viscous / table.rotors)
        dry = dry_friction(
            np.abs(self.speed),
            friction.coulomb[own],
            friction.rise[own],
            friction.stribeck_velocity[own],
            friction.stribeck_exponent,
        )
        # friction takes no more than what would bring the rotor to rest
        slower = np.maximum(np.abs(free) - h * dry / table.rotors, 0.0)
        speed = np.sign(free) * slower
        self.angle = self.angle + 0.5 * h * (self.speed + speed)
        self.speed = speed
        return spring


def without_friction(friction: FrictionTable, table: GearTable) -> FrictionTable:
    """Friction at the links when the motors have the friction of these joints."""
    at_links = np.ones(len(friction.viscous))
    at_links[table.index] = 0.0
    rigid = at_links > 0.0
    viscous = friction.viscous * at_links
    # brakes may be infinite
    coulomb = np.where(rigid, friction.coulomb, 0.0)
    static = np.where(rigid, friction.static, 0.0)
    return replace(friction, viscous=viscous, coulomb=coulomb, static=static)
