"""The terms of the equations of motion in symbols: the values that all else is derived from or printed of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from robot_dynamics_ros.equations.formulas import Step
from robot_dynamics_ros.equations.motors import MotorEquations
from robot_dynamics_ros.equations.parameters import Definition
from robot_dynamics_ros.equations.proof import Proof
from robot_dynamics_ros.model.robot_model import RobotModel

if TYPE_CHECKING:
    import sympy


@dataclass(frozen=True, eq=False)
class EquationTerms:
    """SymPy matrices and expressions of M(q) q̈ + D(q, q̇) + G(q) = τ; the attributes are those of
    :class:`~robot_dynamics_ros.equations.Equations`.
    """

    model: RobotModel
    q: tuple[sympy.Symbol, ...]
    v: tuple[sympy.Symbol, ...]
    a: tuple[sympy.Symbol, ...]
    tau: tuple[sympy.Symbol, ...]
    K: sympy.Expr
    U: sympy.Expr
    M: sympy.Matrix
    D: sympy.Matrix
    coriolis: sympy.Matrix
    B: sympy.Matrix
    C: sympy.Matrix
    G: sympy.Matrix
    definitions: tuple[Definition, ...]
    steps: tuple[Step, ...] = ()
    proof: Proof | None = None
    operations: Mapping[str, int] = field(default_factory=dict)
    motors: MotorEquations | None = None

    @property
    def values(self) -> dict[sympy.Symbol, float]:
        """Values of the chosen symbols in this robot, to be substituted."""
        import sympy

        return {sympy.Symbol(d.symbol, real=True): d.value for d in self.definitions if d.value is not None}

    def velocity_products(self) -> sympy.Matrix:
        """(nv(nv−1)/2, 1) the products q̇ᵢ q̇ⱼ, i < j, that B multiplies."""
        import sympy

        n = len(self.v)
        products = [self.v[i] * self.v[j] for i in range(n) for j in range(i + 1, n)]
        return sympy.Matrix(len(products), 1, products)

    def named(self) -> dict[str, sympy.Matrix | sympy.Expr]:
        """The matrices and scalars by name, in the order in which they are printed."""
        return {name: getattr(self, name) for name in ("M", "D", "G", "coriolis", "B", "C", "K", "U")}
