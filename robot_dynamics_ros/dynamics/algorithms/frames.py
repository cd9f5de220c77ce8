"""Where a frame is and how it moves, seen from the world or another frame; frames that options
choose.
"""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics_ros.dynamics.algorithms.function import Options, function
from robot_dynamics_ros.dynamics.algorithms.kinematics import LinkMotions, Placement
from robot_dynamics_ros.dynamics.algorithms.tree import S, Tree, Vector
from robot_dynamics_ros.spatial import Force, Mat3, Scalar, Vec3


class FrameChoice(LinkMotions[S]):
    """The frames that the options and inputs of a call name.

    A frame is chosen by a link's number, −1 for the world; an option ``own_…`` says that the frame
    is placed on that link by an input of the function.
    """

    def __init__(
        self,
        tree: Tree[S],
        options: Options,
        q: Vector[S],
        v: Vector[S] | None = None,
        a: Vector[S] | None = None,
    ) -> None:
        super().__init__(tree, q, v, a)
        self.options = options

    def observer(self, rows: Sequence[Scalar]) -> Placement:
        """The observer's frame."""
        carrier = self.link(self.options["observer"])
        return carrier.carrying(rows) if rows else carrier

    def axes(self, choice: int, rows: Sequence[Scalar]) -> Mat3:
        """Rotation to world axes of the frame to express results in."""
        R = self.link(choice).R
        if rows:
            return R.matmul(Mat3.of([rows[0:3], rows[3:6], rows[6:9]]))
        return R

    def point(self, choice: int, rows: Sequence[Scalar]) -> Vec3:
        """Where the point to reduce to is in the world."""
        carrier = self.link(choice)
        return carrier.at(rows).p if rows else carrier.p


def reduced(f: Force, moved: Vec3 | None, rotation: Mat3 | None) -> Force:
    """A wrench about another point, from which ``moved`` leads to the old one (old axes), in other
    axes.
    """
    if moved is None:
        moment = f.ang
    else:
        moment = f.ang + moved.cross(f.lin)
    if rotation is None:
        return Force(moment, f.lin)
    return Force(rotation.mul(moment), rotation.mul(f.lin))


def seen_from(A: Placement, B: Placement) -> Placement:
    """B seen from A, in its axes.

    An observer who rotates with ω and α sees ṙ = v − v_A − ω × d and r̈ = a − a_A − α × d − ω × (ω
    × d) − 2 ω × ṙ.
    """
    d = B.p - A.p
    dot = B.v - A.v - A.omega.cross(d)
    ddot = B.a - A.a - A.alpha.cross(d) - A.omega.cross(A.omega.cross(d)) - A.omega.cross(dot) * 2.0
    omega = B.omega - A.omega
    alpha = B.alpha - A.alpha - A.omega.cross(omega)
    R = A.R
    return Placement(R.T.matmul(B.R), *(R.tmul(x) for x in (d, omega, dot, alpha, ddot)))


@function(
    "point_motion",
    "q v a point base carried observer axes",
    {
        "position": (3,),
        "rotation": (3, 3),
        "velocity": (3,),
        "acceleration": (3,),
        "angular_velocity": (3,),
        "angular_acceleration": (3,),
        "turn": (3, 3),
    },
)
def _point_motion(
    tree: Tree[S],
    q: Vector[S],
    v: Vector[S],
    a: Vector[S],
    point: Sequence[S],
    carried: Sequence[S],
    observer: Sequence[S],
    axes: Sequence[S],
    *,
    options: Options,
) -> tuple[Vec3 | Mat3, ...]:
    frames = FrameChoice(tree, options, q, v, a)
    A = frames.observer(observer)
    B = frames.link(options["link"])
    # a frame that moves on the link, and rates of the point within it
    if carried:
        B = B.carrying(carried[:24])
        no_rate = [0.0] * 3
        rows: list[Scalar] = [
            *Mat3.identity().parts(),
            *point,
            *no_rate,
            *carried[24:27],
            *no_rate,
            *carried[27:30],
        ]
        seen = seen_from(A, B.carrying(rows))
    else:
        seen = seen_from(A, B.at(point))
    if options["axes"] == "observer":
        rotation = Mat3.identity()
    else:
        rotation = frames.axes(options["axes"], axes).T.matmul(A.R)
    position, *rates = (rotation.mul(x) for x in (seen.p, seen.v, seen.a, seen.omega, seen.alpha))
    return position, seen.R, *rates, rotation
