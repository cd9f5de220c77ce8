"""The terms of the equations of motion in symbols: the values that all else is derived from or printed of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from robot_dynamics_ros.equations.motors import MotorEquations
from robot_dynamics_ros.equations.parameters import Definition
from robot_dynamics_ros.equations.proof import Proof
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["EquationTerms"]


@dataclass(frozen=True, eq=False)
class EquationTerms:
    """SymPy matrices and expressions of M(q) q̈ + D(q, q̇) + G(q) = τ; the attributes are those of
    :class:`~robot_dynamics_ros.equations.Equations`.
    """

    model: RobotModel
    q: tuple[Any, ...]
    v: tuple[Any, ...]
    a: tuple[Any, ...]
    tau: tuple[Any, ...]
    K: Any
    U: Any
    M: Any
    D: Any
    coriolis: Any
    B: Any
    C: Any
    G: Any
    definitions: tuple[Definition, ...]
    steps: tuple[tuple[Any, Any], ...] = ()
    proof: Proof | None = None
    operations: Mapping[str, int] = field(default_factory=dict)
    motors: MotorEquations | None = None

    @property
    def values(self) -> dict[Any, float]:
        """Values of the chosen symbols in this robot, to be substituted."""
        import sympy

        return {sympy.Symbol(d.symbol, real=True): d.value for d in self.definitions if d.value is not None}

    def velocity_products(self) -> Any:
        """(nv(nv−1)/2, 1) the products q̇ᵢ q̇ⱼ, i < j, that B multiplies."""
        import sympy

        n = len(self.v)
        products = [self.v[i] * self.v[j] for i in range(n) for j in range(i + 1, n)]
        return sympy.Matrix(len(products), 1, products)

    def named(self) -> dict[str, Any]:
        """The matrices and scalars by name, in the order in which they are printed."""
        return {name: getattr(self, name) for name in ("M", "D", "G", "coriolis", "B", "C", "K", "U")}
