"""One step of inverse kinematics, so that the whole iteration runs in code compiled for the
robot.
"""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics_ros.dynamics.algorithms.function import Options, function
from robot_dynamics_ros.dynamics.algorithms.kinematics import LinkMotions, jacobian_and_rate
from robot_dynamics_ros.dynamics.algorithms.linear_solve import dot, is_zero, solve_symmetric
from robot_dynamics_ros.dynamics.algorithms.tree import S, Tree, Vector
from robot_dynamics_ros.model.description import JointType
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.spatial import Mat3, Scalar, Vec3, maximum, minimum, sqrt

# rad or m for each joint
LONGEST_JOINT_STEP = 1.0
# turns a difference into a yes or no
_STEEP = 1e30
# of the largest diagonal entry of JᵀWJ: no joint counts for less
_LEAST_COLUMN_SHARE = 1e-3


@function(
    "inverse_kinematics_step",
    "q target tool lower upper weights",
    {"q_next": ("nq",), "squared_errors": (2,)},
    per_body=150,
    per_pair=12,
    options=("link",),
)
def inverse_kinematics_step(
    tree: Tree[S],
    q: Vector[S],
    target: Sequence[S],
    tool: Sequence[S],
    lower: Vector[S],
    upper: Vector[S],
    weights: Sequence[S],
    *,
    options: Options,
) -> tuple[list[S], list[S]]:
    """q + Δq with (JᵀWJ + λ D) Δq = JᵀW e, D the diagonal of JᵀWJ, W the squared weights; by its
    dual form, 6 × 6 for any
    robot: Δq = D⁻¹ Jᵀ √W (√W J D⁻¹ Jᵀ √W + λ 1)⁻¹ √W e.

    e = [2 sin(φ/2) u; p* − p] with φ about u the rotation that is missing, and p of the tool's
    frame. A joint at a limit that would go on beyond it gets no weight D⁻¹; each joint moves by
    :data:`LONGEST_JOINT_STEP` at most and stays within its limits. Joints of several degrees of
    freedom stand. ``target`` and ``tool`` are (3, 4) [R | p] in the world and in the link's frame,
    ``weights`` those of radians, of metres, and λ.

    Returns the next q, and the squared errors at q: 4 sin²(φ/2), and |p* − p|² in m².
    """
    of_angle, of_length, damping = weights
    link = options["link"]
    own = LinkMotions(tree, q).link(link)
    R_tool, p_tool = _split(tool)
    R_target, p_target = _split(target)
    R = own.R.matmul(R_tool)
    linear = p_target - (own.p + own.R.mul(p_tool))
    # the rotation that is missing, in world axes
    M = R_target.matmul(R.T)
    trace = M.a.x + M.b.y + M.c.z
    angular = Vec3(M.c.y - M.b.z, M.a.z - M.c.x, M.b.x - M.a.y) * (
        1.0 / sqrt(maximum(1.0 + trace, 1e-12))
    )
    # near half a turn the vector is lost in rounding errors, the trace is not; for small angles it
    # is the other way round
    turn = maximum(angular.dot(angular), 3.0 - trace - 1e-14)
    error = [x * of_angle for x in angular.parts()] + [x * of_length for x in linear.parts()]

    J, _ = jacobian_and_rate(tree, q, None, link, p_tool, "world")
    scale = [of_angle] * 3 + [of_length] * 3
    coordinate_of = coordinates_of_rates(tree.model)
    moving = [j for j in coordinate_of if not all(is_zero(row[j]) for row in J)]
    columns = {j: [J[i][j] * scale[i] for i in range(6)] for j in moving}
    size = {j: dot(columns[j], columns[j]) for j in moving}
    largest: Scalar = 1e-30
    for j in moving:
        largest = maximum(size[j], largest)
    # D⁻¹, without the joints that their limits hold
    share = {}
    for j in moving:
        uphill = dot(columns[j], error)
        held = _is_positive(uphill) * (
            1.0 - _is_positive(upper[coordinate_of[j]] - q[coordinate_of[j]])
        )
        held = held + _is_positive(-uphill) * (
            1.0 - _is_positive(q[coordinate_of[j]] - lower[coordinate_of[j]])
        )
        share[j] = (1.0 - held) / maximum(size[j], largest * _LEAST_COLUMN_SHARE)
    A: list[list[Scalar]] = [[0.0] * 6 for _ in range(6)]
    for i in range(6):
        for k in range(i + 1):
            A[i][k] = A[k][i] = dot(
                [columns[j][i] * share[j] for j in moving], [columns[j][k] for j in moving]
            )
        A[i][i] = A[i][i] + damping
    y = solve_symmetric(A, error)
    q_next = [q[i] for i in range(tree.model.nq)]
    for j in moving:
        step = share[j] * dot(columns[j], y)
        step = minimum(maximum(step, -LONGEST_JOINT_STEP), LONGEST_JOINT_STEP)
        i = coordinate_of[j]
        q_next[i] = minimum(maximum(q[i] + step, lower[i]), upper[i])
    return q_next, [turn, linear.dot(linear)]


def coordinates_of_rates(model: RobotModel) -> dict[int, int]:
    """Number of the velocity → number of the position of each joint with one degree of freedom."""
    return {
        int(model.v_index[i]): int(model.q_index[i])
        for i in range(model.nb)
        if model.mimic_master[i] < 0 and JointType(int(model.joint_type[i])).nv == 1
    }


def _split(rows: Sequence[S]) -> tuple[Mat3, Vec3]:
    """Rotation and position of a flat (3, 4) matrix."""
    return Mat3.of([rows[0:3], rows[4:7], rows[8:11]]), Vec3(rows[3], rows[7], rows[11])


def _is_positive(x: Scalar) -> Scalar:
    """1 or 0, without a branch."""
    return minimum(maximum(x * _STEEP, 0.0), 1.0)
