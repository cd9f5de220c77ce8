"""Changes between two cycles are put into the cycle's memory: law, robot, what is rejected.

A law stays what it is, a function of state and reference.  Its statement is run once on symbols,
and what it did is compiled, without what it asks of the robot (M, g, inverse dynamics): the cycle
calls these functions between the law's own two halves.
"""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.control.cycle.cycle import begin_law
from robot_dynamics_ros.control.cycle.disturbance import scale_rejection
from robot_dynamics_ros.control.cycle.memory import (
    GAINS,
    CycleMemory,
    FrictionMemory,
    law_input_shapes,
    robot_functions,
)
from robot_dynamics_ros.control.kernels import Kernels
from robot_dynamics_ros.control.laws import Law
from robot_dynamics_ros.control.robustness import Robustness
from robot_dynamics_ros.dynamics.engine.codegen.graph import Expr, Graph, reachable
from robot_dynamics_ros.dynamics.engine.native_engine import TracedFunction
from robot_dynamics_ros.dynamics.engine.routines import Memory
from robot_dynamics_ros.dynamics.engine.trace import symbols
from robot_dynamics_ros.errors import ArgumentError, RobotDynamicsError
from robot_dynamics_ros.friction.compensation import Friction
from robot_dynamics_ros.model.description import Array, JointType
from robot_dynamics_ros.model.robot_model import RobotModel

LARGEST_ROTOR = 0.2
LARGEST_SLIDER = 2.0
"""kg m², kg: reflected inertia of the largest rotors of arms; it grows with the root of the effort
limit.
"""
# N m or N, from which on rotors are largest; also the size of a joint without effort limit
UNLIMITED = 100.0


def load_law(memory: Memory[CycleMemory], law: Law, code: LawCode | None) -> None:
    """Evaluate this law, with its gains; without code it is called in Python."""
    memory["own_law"][0] = code is None
    memory["inverts"][0] = law.inverts_dynamics
    memory["tracks"][0] = law.tracks
    # a law that integrates has both fields: its registration says so
    ki = getattr(law, "ki", 0.0) if law.integrates else 0.0
    memory["integral_clamp"][:] = getattr(law, "i_clamp", np.inf) if law.integrates else np.inf
    friction = getattr(law, "friction", None)
    memory["first_trust"][0] = 0.0 if friction is None else friction.trust
    begin_law(memory.python, np.broadcast_to(ki, memory["z"].shape))
    load_friction(memory, friction)
    if code is None:
        return
    memory.exchange("law_after", code.after)
    if code.before is not None:
        memory.exchange("law_before", code.before)
    for name in ("gravity", "inertia", "motion", "motion_of_reference"):
        memory[f"uses_{name}"][0] = name in code.used
    for name, row in zip(law.gain_names, memory["gains"], strict=False):
        row[:] = 0.0 if (value := getattr(law, name)) is None else value


def load_friction(memory: Memory[FrictionMemory], friction: Friction | None) -> None:
    memory["rubs"][0] = friction is not None
    if friction is not None:
        memory["coupled"][0] = friction.coupling is not None
        memory["friction"].T[:] = friction.rows


def load_rejection(
    memory: Memory[CycleMemory], robustness: Robustness | None, model: RobotModel
) -> None:
    """Reject disturbances as ``robustness`` says."""
    memory["rejects"][0] = robustness is not None
    if robustness is None:
        return
    for name, size in joint_sizes(model).items():
        memory[name][:] = size
    scale_rejection(memory.python, robustness.rotor_share, robustness.rejected_effort)
    memory["bandwidth"][0] = robustness.bandwidth
    memory["actuator_delay"][0] = robustness.delay


def joint_sizes(model: RobotModel) -> dict[str, Array]:
    """Properties of the joints that rejection needs, (n,) each; ``assumed_rotor``: the largest
    where none is described.
    """
    turns = np.array(
        [model.joint(name).type is not JointType.PRISMATIC for name in model.joint_names]
    )
    size = np.where(np.isfinite(model.effort_limit), model.effort_limit, UNLIMITED)
    rotor = np.where(turns, LARGEST_ROTOR, LARGEST_SLIDER) * np.sqrt(
        np.minimum(size, UNLIMITED) / UNLIMITED
    )
    assumed = np.where(model.armature > 0.0, 0.0, rotor)
    scale = np.where(turns, 1.0, 0.3)
    return {"effort_size": size, "scale": scale, "largest_rotor": rotor, "assumed_rotor": assumed}


def load_robot(memory: Memory[CycleMemory], kernels: Kernels) -> None:
    """Call the functions of this robot, which differs from the one before at most by a payload.
    RobotDynamicsError: they run in another way than those before; nothing is changed then."""
    functions = robot_functions(kernels.model)
    if not all(memory.fits(name, function) for name, function in functions.items()):
        problem = (
            "the functions of the robot with this payload run in another way than those before"
        )
        remedy = "Make a new controller for the robot with its payload."
        raise RobotDynamicsError(problem, where=f"robot {kernels.model.name!r}", remedy=remedy)
    for name, function in functions.items():
        memory.exchange(name, function)


# -- laws as machine code --------------------------------------------------------------------------


class _Symbols:
    """Stands for the :class:`~robot_dynamics_ros.control.laws.base.Workspace` while a law is run on
    symbols; it has no links.
    """

    def __init__(self, n: int, graph: Graph) -> None:
        self.n = n
        self._made = inputs = symbols(graph, law_input_shapes(n))
        self.q = inputs["q"]
        self.v = inputs["v"]
        self.z = inputs["z"]
        self.gains = inputs["gains"]
        self.q_d, self.v_d, self.a_d = inputs["reference"]
        self.e, self.ed = inputs["error"]
        self.asked: Any = None
        self.used: set[str] = set()

    def _use(self, name: str) -> np.ndarray:
        self.used.add(name)
        return self._made[name]

    def inverse_dynamics(self, a: ArrayLike) -> np.ndarray:
        if self.asked is not None:
            raise TypeError("a law with code asks once")
        self.asked = a
        return self._use("motion")

    def inverse_dynamics_of_reference(self) -> np.ndarray:
        return self._use("motion_of_reference")

    def gravity_forces(self) -> np.ndarray:
        return self._use("gravity")

    def mass_matrix(self) -> np.ndarray:
        return self._use("inertia")


@dataclasses.dataclass(frozen=True)
class TracedLaw:
    """Operations of one law.  A leaf is the number of an input, and of its entry."""

    # (n,) acceleration for which the robot's inverse dynamics are asked, if they are
    asked: list[Expr] | None
    # (n,)
    efforts: list[Expr]
    # which of "gravity", "inertia", "motion", "motion_of_reference" it asks for
    used: frozenset[str]


class LawCode:
    """Machine code of a law's two halves: ``before``, for ``asked`` (or ``None``), ``after``, for
    the efforts; and ``used``.
    """

    def __init__(self, law: TracedLaw, n: int) -> None:
        inputs = law_input_shapes(n)
        self.before = None if law.asked is None else TracedFunction(inputs, [law.asked])
        self.after = TracedFunction(inputs, [law.efforts])
        self.used = law.used

    @classmethod
    def of(cls, law: Law, n: int) -> LawCode | None:
        """That of a law for n joints, made once for all values of the gains; ``None`` if it is no
        ``straight_line``.
        """
        gains = {name: getattr(law, name) for name in law.gain_names}
        sized = all(value is None or value.shape in ((), (n,)) for value in gains.values())
        if not type(law).__dict__.get("straight_line", False) or len(gains) > GAINS or not sized:
            return None
        others = tuple(getattr(law, f.name) for f in dataclasses.fields(law) if f.name not in gains)
        key = (
            type(law),
            others,
            tuple(name for name, value in gains.items() if value is not None),
            n,
        )
        if key not in _codes:
            if len(_codes) == MOST_TRACKED:
                _codes.clear()
            traced = trace_law(law, n)
            _codes[key] = None if traced is None else cls(traced, n)
        return _codes[key]


MOST_TRACKED = 64
# by what the code of a law depends on
_codes: dict[tuple[object, ...], LawCode | None] = {}


def trace_law(law: Law, n: int) -> TracedLaw | None:
    """The operations of a law for any values of the gains that it has; ``None`` if it is no
    straight line.
    """
    law = copy.copy(law)
    graph = Graph()
    x = _Symbols(n, graph)
    for name, row in zip(law.gain_names, x.gains, strict=False):
        if getattr(law, name) is not None:
            object.__setattr__(law, name, row)
    try:
        efforts = _entries(graph, law.effort(x), n)  # type: ignore[arg-type]
        asked = None if x.asked is None else _entries(graph, x.asked, n)
    except (TypeError, AttributeError):
        return None
    except ArgumentError as error:
        # the check of types around a law's methods: symbols are no states
        if isinstance(error.__cause__, (TypeError, AttributeError)):
            return None
        raise
    results = [list(law_input_shapes(n)).index(name) for name in ("motion", "motion_of_reference")]
    if asked is not None and any(
        node.op == "leaf" and node.a[0] in results for node in reachable(asked)
    ):
        return None
    return TracedLaw(asked, efforts, frozenset(x.used))


def _entries(graph: Graph, value: ArrayLike, n: int) -> list[Expr]:
    return [graph.lift(entry) for entry in np.broadcast_to(np.asarray(value, dtype=object), (n,))]
