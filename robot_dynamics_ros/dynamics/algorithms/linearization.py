"""The equations of motion linearized about a state: ẋ = A x + B u, x = [deviation of q; deviation of v], u that of τ."""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics_ros.dynamics.algorithms.derivatives import forward_dynamics_derivatives
from robot_dynamics_ros.dynamics.algorithms.function import Export, Options, function
from robot_dynamics_ros.dynamics.algorithms.inverse_dynamics import Forces
from robot_dynamics_ros.dynamics.algorithms.tree import Kind, S, Tree, Vector
from robot_dynamics_ros.spatial import Scalar

_OUTPUTS = {"A": "system matrix", "B": "input matrix"}


@function(
    "linearization",
    "q v tau external",
    {"A": ("n2", "n2"), "B": ("n2", "nv")},
    joint_space=True,
    options=("viscous",),
    per_body=960,
    per_pair=180,
    per_cube=4,
    exports=(
        Export(
            "Linearization dx/dt = A x + B u about (q, v, tau), x = [deviation of q; deviation of v], u that of tau.",
            _OUTPUTS,
            options={"viscous": False},
        ),
        Export(
            "As linearization, with viscous friction at the joints.",
            _OUTPUTS,
            name="linearization_with_friction",
            options={"viscous": True},
        ),
    ),
)
def linearization(
    tree: Tree[S], q: Vector[S], v: Vector[S], tau: Vector[S], external: Forces = None, *, options: Options
) -> tuple[list[list[Scalar]], list[list[Scalar]]]:
    """A = [0 1; ∂q̈/∂q  ∂q̈/∂v] and B = [0; ∂q̈/∂τ].

    With the option ``viscous`` the joints have their viscous friction.  Deviations of a floating joint are counted in a
    frame that moves with the nominal motion.
    """
    n = tree.nv
    damping: list[S] | None = [tree.damping(k) for k in range(n)] if options["viscous"] else None
    results = forward_dynamics_derivatives(tree, q, v, tau, external, damping)
    by_q, by_v, inverse = (x.rows for x in results)
    A: list[list[Scalar]] = [[0.0] * (2 * n) for _ in range(n)]
    for i in range(n):
        A[i][n + i] = 1.0
    A += [[*row_q, *row_v] for row_q, row_v in zip(by_q, by_v, strict=True)]
    B: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    B += inverse
    for kind, _, first in tree.position_indices():
        if kind is Kind.FREE:
            _moving_frame(A, first, v)
    return A, B


def _moving_frame(A: list[list[Scalar]], first: int, v: Sequence[Scalar]) -> None:
    """−(v ×) of a floating joint."""
    w, u = v[first : first + 3], v[first + 3 : first + 6]

    def put(row: int, column: int, x: Sequence[Scalar]) -> None:
        for i, j, value in ((0, 1, x[2]), (0, 2, -x[1]), (1, 0, -x[2]), (1, 2, x[0]), (2, 0, x[1]), (2, 1, -x[0])):
            A[first + row + i][first + column + j] = value

    put(0, 0, w)
    put(3, 3, w)
    put(3, 0, u)
