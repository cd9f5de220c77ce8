"""One step of the simulator's two time-stepping schemes where nothing sticks, strikes or reverses.

See :mod:`robot_dynamics_ros.simulation.integrators.timestepping` and :mod:`~robot_dynamics_ros.simulation.integrators.moreau`, which do the same
for every other case, and which decide whether a step was of this kind after it has been tried.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from robot_dynamics_ros.dynamics.algorithms.forward_dynamics import forward_dynamics
from robot_dynamics_ros.dynamics.algorithms.function import function
from robot_dynamics_ros.dynamics.algorithms.motion_rate import configuration_rate
from robot_dynamics_ros.dynamics.algorithms.passes import ForwardKinematics, composite_inertia
from robot_dynamics_ros.dynamics.algorithms.tree import S, Tree, Vector
from robot_dynamics_ros.spatial import RigidInertia, minimum

__all__: list[str] = []


def _accelerations(tree: Tree[S], q: Vector[S], v: Vector[S], tau: Vector[S], added: Vector[S]) -> list[Any]:
    """(M + diag(added))⁻¹ (tau − b(q, v))."""
    tree.add_armature(added)
    return forward_dynamics(tree, q, v, tau)


def _diagonal(tree: Tree[S], q: Vector[S]) -> list[Any]:
    """(nv,) a lower bound of the diagonal of M(q): exact without mimic joints, whose shares are left out."""
    Ic = tree.field(RigidInertia)
    Ic[tree.root] = RigidInertia.zero()
    placed = ForwardKinematics(tree, q)
    for i in placed.outward():
        Ic[i] = i.inertia
    diagonal: list[Any] = [float(a) for a in tree.model.armature]
    for i in composite_inertia(tree, placed.X, Ic):
        for dof, column in i.columns:
            diagonal[dof] = diagonal[dof] + column.dot(Ic[i].mul(column))
    return diagonal


@function("semi_implicit_step", "q v tau damping step", {"q1": ("nq",), "v1": ("nv",)})
def _semi_implicit_step(tree: Tree[S], q: Any, v: Any, tau: Any, damping: Any, step: Any) -> Any:
    """(M + h D) (v₁ − v) = h (τ − D v − b),  q₁ = q + h v₁."""
    h = step[0]
    efforts = [t - d * x for t, d, x in zip(tau, damping, v, strict=True)]
    a = _accelerations(tree, q, v, efforts, [h * d for d in damping])
    v1 = [x + h * y for x, y in zip(v, a, strict=True)]
    return [x + h * y for x, y in zip(q, configuration_rate(tree, q, v1), strict=True)], v1


@function(
    "moreau_step",
    "q v tau damping step",
    {"q1": ("nq",), "v1": ("nv",), "agreement": ("nv",), "margin": (1,)},
    per_body=750,
)
def _moreau_step(tree: Tree[S], q: Any, v: Any, tau: Any, damping: Any, step: Any) -> Any:
    """(M + ½ h D)(q_m) (v₁ − v) = h (τ − D v − b(q_m, v_m)),  q_m = q + ½ h v,  q₁ = q_m + ½ h v₁.

    ``agreement`` is the lesser of v v_m and v v₁, positive where a joint goes on the way it went; ``margin`` the least of
    M_ii(q_m) − h D_ii, negative where the trapezoidal rule in the damping would oscillate.
    """
    h = step[0]
    half = 0.5 * h
    at = [x + half * y for x, y in zip(q, configuration_rate(tree, q, v), strict=True)]
    added = [half * d for d in damping]
    efforts = [t - d * x for t, d, x in zip(tau, damping, v, strict=True)]
    a = _accelerations(tree, at, v, efforts, added)
    middle = [x + half * y for x, y in zip(v, a, strict=True)]
    a = _accelerations(tree, at, middle, efforts, added)
    v1 = [x + h * y for x, y in zip(v, a, strict=True)]
    q1 = [x + half * y for x, y in zip(at, configuration_rate(tree, at, v1), strict=True)]
    agreement = [minimum(x * y, x * z) for x, y, z in zip(v, middle, v1, strict=True)]
    margin = reduce(minimum, [m - h * d for m, d in zip(_diagonal(tree, at), damping, strict=True)])
    return q1, v1, agreement, margin
