"""External efforts without a sensor: generalized-momentum observer, collision flag.

With p = M(q) v and M v̇ + C v + g + F = τ + τ_ext, momentum changes as ṗ = τ + τ_ext − F + Cᵀ v −
g.  The observer integrates the known terms; the difference from the true momentum gives the
estimate.

Source: De Luca, Albu-Schäffer, Haddadin, Hirzinger, IROS 2006; Haddadin, De Luca, Albu-Schäffer,
IEEE T-RO 33 (2017).
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from robot_dynamics_ros.control.cycle.law import friction_of
from robot_dynamics_ros.control.cycle.loading import load_friction
from robot_dynamics_ros.control.cycle.memory import FrictionMemory, bound
from robot_dynamics_ros.control.kernels import Kernels
from robot_dynamics_ros.dynamics.engine.backends import backend_of
from robot_dynamics_ros.dynamics.engine.codegen.declared import (
    Declared,
    Integers,
    Vector,
    integers,
    numbers,
)
from robot_dynamics_ros.dynamics.engine.routines import Memory, make_routines
from robot_dynamics_ros.friction.compensation import Friction
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.per_joint import per_joint


class ObserverMemory(FrictionMemory):
    """Memory of the observer."""

    nv: int
    effort: Vector = numbers("nv", unit="N m or N", meaning="estimated external effort")
    gain: Vector = numbers("nv", unit="1/s", meaning="gain of the observer")
    integral: Vector = numbers(
        "nv", unit="N m s or N s", meaning="integral of known and estimated efforts"
    )
    momentum: Vector = numbers("nv", unit="N m s or N s", meaning="generalized momentum")
    known: Vector = numbers(
        "nv", unit="N m or N", meaning="efforts that the model explains, without the motors'"
    )
    before: Vector = numbers(
        "nv", unit="N m or N", meaning="known efforts, friction included, one step before"
    )
    tau: Vector = numbers("nv", unit="N m or N", meaning="motor effort since the step before")
    started: Integers = integers(1, meaning="1 after the first step")


def observe(p: ObserverMemory, dt: float) -> None:
    """One step of the observer, ``dt`` s after the one before, for ``p.momentum`` and the known
    efforts ``p.known``, Cᵀ v − g.
    """
    for i in range(p.nv):
        if p.rubs[0] == 1:
            known = p.known[i] - friction_of(p, i)
        else:
            known = p.known[i]
        if p.started[0] == 0:
            p.integral[i] = p.momentum[i] - p.effort[i] / p.gain[i]
        elif dt > 0.0:
            total = p.integral[i] + dt * (p.tau[i] + 0.5 * (known + p.before[i]))
            # r = K (p − total − ∫r), the newest r included: stable for any dt
            p.effort[i] = (p.momentum[i] - total) * (p.gain[i] / (1.0 + p.gain[i] * dt))
            p.integral[i] = total + dt * p.effort[i]
        p.before[i] = known
    p.started[0] = 1


def forget(p: ObserverMemory) -> None:
    """Start afresh with a zero estimate."""
    for i in range(p.nv):
        p.effort[i] = 0.0
    p.started[0] = 0


class MomentumObserver:
    """Estimate of the efforts at the joints that the model does not explain.

    The estimate follows the true external effort through a first-order low-pass per joint, r + ṙ/K
    = τ_ext: 63 % of a step after 1/K s.  No acceleration and no inverse of the mass matrix is
    needed.

    ``gain``: (n,) K, 1/s; ``friction``: known, subtracted if given; ``effort``: (n,) the estimate,
    positive along the joint's positive direction, N m or N; ``memory``: what its routine works on.
    """

    def __init__(
        self,
        model: RobotModel,
        gain: ArrayLike = 50.0,
        friction: Friction | None = None,
    ) -> None:
        """Raises ArgumentError for a gain that is not positive and finite, or of the wrong
        length.
        """
        compiled = backend_of(model) in ("native", "loops")
        self.memory = memory = Memory(ObserverMemory, {"nv": model.nv}, compiled=compiled)
        self.gain = memory["gain"]
        self.effort = memory["effort"]
        self.gain[:] = per_joint(gain, model.nv, "observer gain", positive=True)
        self.friction = friction
        self._p, self._known, self._v, self._tau = (
            memory[name] for name in ("momentum", "known", "v", "tau")
        )
        self._observe = bound(memory, make_routines(memory, (observe,), compiled=compiled), observe)

    @property
    def friction(self) -> Friction | None:
        return self._friction

    @friction.setter
    def friction(self, friction: Friction | None) -> None:
        self._friction = friction
        load_friction(self.memory, friction)

    def reset(self) -> None:
        """Start afresh with a zero estimate."""
        forget(self.memory.python)

    def rebase(self) -> None:
        """Go on with the estimate as it is although the robot's model changes."""
        self.memory["started"][0] = 0

    def update(self, kernels: Kernels, q: Array, v: Array, tau: Array, dt: float) -> Array:
        """(n,) ``effort`` by the next state: (n,) position ``q`` and velocity ``v``, ``dt`` s after
        the one before (at the first call it plays no part), and the motor effort ``tau`` (n,) that
        acted since then.
        """
        kernels.generalized_momentum(q, v, self._p, self._known)
        self._v[:] = v
        self._tau[:] = tau
        self._observe(float(dt))
        return self.effort


class CollisionMemory(Declared):
    """Memory of the watch over collisions."""

    nv: int
    threshold: Vector = numbers(
        "nv", unit="N m or N", meaning="effort of a collision; infinite: not watched"
    )
    delay: Vector = numbers(1, unit="s", meaning="how long an effort must stay above its threshold")
    above: Vector = numbers(1, unit="s", meaning="how long one has been above")
    flag: Integers = integers(1, meaning="1 while a collision is seen")
    joint: Integers = integers(1, meaning="the joint that raised the flag last, or −1")


def watch(p: CollisionMemory, efforts: Vector, dt: float) -> bool:
    """Whether the flag rises: an effort has stayed above its threshold.

    It falls when all are below half of theirs.
    """
    worst = 0.0
    joint = 0
    for i in range(p.nv):
        share = abs(efforts[i]) / p.threshold[i]
        if share > worst:
            worst = share
            joint = i
    if p.flag[0] == 1:
        p.above[0] = 0.0
        if worst <= 0.5:
            p.flag[0] = 0
        return False
    p.above[0] = p.above[0] + dt if worst > 1.0 else 0.0
    if worst <= 1.0 or p.above[0] < p.delay[0]:
        return False
    p.flag[0] = 1
    p.joint[0] = joint
    return True


def lower(p: CollisionMemory) -> None:
    """Lower the flag."""
    p.flag[0] = 0
    p.above[0] = 0.0
    p.joint[0] = -1


class CollisionMonitor:
    """A collision flag: rises when an external effort stays above its ``threshold``, (n,) N m or N,
    where infinite means that the joint is not watched, and falls when all are below half of it.
    """

    def __init__(self, model: RobotModel, threshold: ArrayLike, delay: float = 0.0) -> None:
        """Raises ArgumentError for a threshold that is not positive, or of the wrong length."""
        memory = Memory(CollisionMemory, {"nv": model.nv}, compiled=False)
        self._p = memory.python
        self.threshold = memory["threshold"]
        self.threshold[:] = per_joint(
            threshold, model.nv, "collision threshold", positive=True, infinite=True
        )
        self._p.delay[0] = float(delay)
        self.reset()

    @property
    def delay(self) -> float:
        """Time that an effort must stay above its threshold, s."""
        return self._p.delay[0]

    @property
    def flag(self) -> bool:
        """Whether a collision is seen."""
        return self._p.flag[0] == 1

    @property
    def joint(self) -> int:
        """Index of the joint that raised the flag last, or −1."""
        return self._p.joint[0]

    def reset(self) -> None:
        """Lower the flag."""
        lower(self._p)

    def update(self, effort: Array, dt: float) -> bool:
        """Take the next estimate, ``dt`` s after the one before; True in the cycle in which the
        flag rises.
        """
        return watch(self._p, effort.data, dt)  # type: ignore[arg-type]
