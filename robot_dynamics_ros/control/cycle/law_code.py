"""A control law as machine code: its statement is run once on symbols, and what it did is compiled.

The law stays what it is, a function of state and reference.  What it asks of the robot (M, g, inverse dynamics) is left
out: the functions of the robot that the cycle has anyway are called between the law's own two straight lines.
"""

from __future__ import annotations

import copy
import dataclasses
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.control.cycle.memory import GAINS, law_input_shapes
from robot_dynamics_ros.control.laws import Law
from robot_dynamics_ros.dynamics.engine.codegen.graph import Expr, Graph, reachable
from robot_dynamics_ros.dynamics.engine.native_engine import TracedFunction
from robot_dynamics_ros.dynamics.engine.trace import symbols


class _NotStraightError(Exception):
    """The law does what has no code here."""


class _Symbols:
    """Stands for the :class:`~robot_dynamics_ros.control.laws.base.Workspace` while a law is run on symbols."""

    def __init__(self, n: int, graph: Graph) -> None:
        self.n = n
        self._made = inputs = symbols(graph, law_input_shapes(n))
        self.q, self.v, self.z, self.gains = inputs["q"], inputs["v"], inputs["z"], inputs["gains"]
        self.q_d, self.v_d, self.a_d = inputs["reference"]
        self.e, self.ed = inputs["error"]
        self.asked: Any = None
        self.used: set[str] = set()

    def _use(self, name: str) -> np.ndarray:
        self.used.add(name)
        return self._made[name]

    def inverse_dynamics(self, a: ArrayLike) -> np.ndarray:
        if self.asked is not None:
            raise _NotStraightError
        self.asked = a
        return self._use("motion")

    def inverse_dynamics_of_reference(self) -> np.ndarray:
        return self._use("motion_of_reference")

    def gravity_forces(self) -> np.ndarray:
        return self._use("gravity")

    def mass_matrix(self) -> np.ndarray:
        return self._use("inertia")

    def link(self, _name: str) -> NoReturn:
        raise _NotStraightError


@dataclasses.dataclass(frozen=True)
class TracedLaw:
    """Operations of one law: the acceleration for which the robot's inverse dynamics are asked, if they are, and
    efforts, (n,); which of "gravity", "inertia", "motion", "motion_of_reference" it asks for.  A leaf is the number
    of an input, and of its entry."""

    asked: list[Expr] | None
    efforts: list[Expr]
    used: frozenset[str]


class LawCode:
    """Machine code of a law's two halves: ``before``, the acceleration as ``asked`` (or ``None``), ``after``, the
    efforts; and ``used``."""

    def __init__(self, law: TracedLaw, n: int) -> None:
        inputs = law_input_shapes(n)
        self.before = None if law.asked is None else TracedFunction(inputs, [law.asked])
        self.after, self.used = TracedFunction(inputs, [law.efforts]), law.used

    @classmethod
    def of(cls, law: Law, n: int) -> LawCode | None:
        """That of a law for n joints, made once for all values of the gains; ``None`` if the law does not say that it is
        ``straight_line``, or is not."""
        gains = {name: getattr(law, name) for name in law.gain_names}
        sized = all(value is None or value.shape in ((), (n,)) for value in gains.values())
        if not type(law).__dict__.get("straight_line", False) or len(gains) > GAINS or not sized:
            return None
        others = tuple(getattr(law, f.name) for f in dataclasses.fields(law) if f.name not in gains)
        key = (type(law), others, tuple(name for name, value in gains.items() if value is not None), n)
        if key not in _codes:
            if len(_codes) == MOST:
                _codes.clear()
            traced = trace_law(law, n)
            _codes[key] = None if traced is None else cls(traced, n)
        return _codes[key]


MOST = 64
_codes: dict[tuple[object, ...], LawCode | None] = {}  # by what the code of a law depends on


def trace_law(law: Law, n: int) -> TracedLaw | None:
    """The operations of a law for any values of the gains that it has; ``None`` if it is no straight line."""
    law = copy.copy(law)
    graph = Graph()
    x = _Symbols(n, graph)
    for name, row in zip(law.gain_names, x.gains, strict=False):
        if getattr(law, name) is not None:
            object.__setattr__(law, name, row)
    try:
        efforts = _entries(graph, law.effort(x), n)  # type: ignore[arg-type]
        asked = None if x.asked is None else _entries(graph, x.asked, n)
    except (_NotStraightError, TypeError, AttributeError):
        return None
    results = [list(law_input_shapes(n)).index(name) for name in ("motion", "motion_of_reference")]
    if asked is not None and any(node.op == "leaf" and node.a[0] in results for node in reachable(asked)):
        return None
    return TracedLaw(asked, efforts, frozenset(x.used))


def _entries(graph: Graph, value: ArrayLike, n: int) -> list[Expr]:
    return [graph.lift(entry) for entry in np.broadcast_to(np.asarray(value, dtype=object), (n,))]
