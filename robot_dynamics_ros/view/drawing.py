"""``rd.draw``: the mechanism in 3-D with matplotlib, for papers and notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics import link_poses
from robot_dynamics_ros.dynamics.engine.arguments import as_input
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.figures import FIGURE_STYLE, pyplot, save
from robot_dynamics_ros.model.description import Array, JointType
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.per_joint import expect
from robot_dynamics_ros.simulation.paths import near_each_other
from robot_dynamics_ros.view import arrows
from robot_dynamics_ros.view.colours import EXTERNAL, FORCE, MOMENT

if TYPE_CHECKING:
    from mpl_toolkits.mplot3d import Axes3D

# red, green, blue from 0 to 1: darker than that of forces
_EXTERNAL_MOMENT = (0.45, 0.05, 0.65)
_LINK_COLOUR = "#9aa3b2"
_JOINT_COLOUR = "#30363f"


def draw(
    model: RobotModel,
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
    *,
    wrenches: bool = True,
    external: Mapping[str, ArrayLike] | None = None,
    names: bool = True,
    frames: bool = False,
    axes: Axes3D | None = None,
    path: str | Path | None = None,
) -> Axes3D:
    """Draw a robot as a mechanism: links as bars, joints by their kind, centres of mass, the wrench
    in every joint.

    Revolute joints are barrels along their axis, prismatic ones squares, fixed ones dots.  Where
    joints lie on one point, their names share a label.

    Args:
        model: the robot.
        q, v, a: one configuration (nq,), velocity and acceleration (nv,); the initial one, and
            zero, if not given.
        wrenches: draw forces (magenta) and moments (green) in the moving joints.
        external: link name → (6,) wrench on it, [moment; force] in link axes; drawn in dark violet.
        names: write the joints' names.
        frames: draw the links' frames, x red, y green, z blue.
        axes: three-dimensional axes to draw into, e.g. ``figure.add_subplot(projection="3d")``; new
            ones if not given.
        path: file to write, too; its ending chooses the format.

    Returns:
        the axes; ``axes.figure`` is the figure.

    Raises:
        BackendError: matplotlib is not installed.
        ArgumentError: wrong shapes, numbers that are not finite, axes of two dimensions, or the
            file cannot be written.

    >>> import robot_dynamics_ros as rd
    >>> axes = rd.draw(rd.limb(3), [0.3, 0.4, 0.5])
    >>> axes.get_zlabel()
    'z [m]'
    """
    plt = pyplot()
    if q is None:
        q = model.initial_configuration()
    else:
        q = as_input(q, (model.nq,), "q")
    if v is None:
        v = np.zeros(model.nv)
    else:
        v = as_input(v, (model.nv,), "v")
    if a is None:
        a = np.zeros(model.nv)
    else:
        a = as_input(a, (model.nv,), "a")
    for where, x in (("q", q), ("v", v), ("a", a)):
        expect(x.ndim == 1, "one configuration", x.shape, where, "Draw each by itself.")
    poses = np.asarray(link_poses(model, q))
    size = arrows.robot_size(model)
    with plt.rc_context(FIGURE_STYLE):
        if axes is None:
            axes = plt.figure(figsize=(8.0, 7.0), layout="constrained").add_subplot(projection="3d")
        # the name under which matplotlib knows axes of three dimensions
        elif getattr(axes, "name", "") != "3d":
            raise ArgumentError(
                f"expected three-dimensional axes, got {type(axes).__name__}",
                where="axes",
                got=axes,
                remedy='Make them with figure.add_subplot(projection="3d").',
            )
        lines = [_bars(axes, model, poses)]
        ends = _joints(axes, model, poses, size)
        centres = _centres(axes, model, poses)
        if frames:
            for k, colour in enumerate(("#c1272d", "#4e9a06", "#2b5fad")):
                _quiver(axes, poses[:, :3, 3], 0.1 * size * poses[:, :3, k], colour)
                lines.append(
                    np.stack(
                        [poses[:, :3, 3], poses[:, :3, 3] + 0.1 * size * poses[:, :3, k]], axis=1
                    )
                )
        lines += _wrenches(axes, model, (q, v, a), wrenches, external)
        drawn = np.concatenate(lines)
        _room(axes, np.concatenate([poses[:, :3, 3], centres, *drawn.swapaxes(0, 1)]), size)
        if names:
            between = np.linspace(0.0, 1.0, 25)[:, None, None]
            covered = (drawn[:, 0] + between * (drawn[:, 1] - drawn[:, 0])).reshape(-1, 3)
            _names(
                axes,
                ends,
                np.concatenate([covered, centres, *([end] for end in ends.values())]),
                size,
            )
        if path is not None:
            save(axes.figure, path)
        return axes


def _bars(axes: Axes3D, model: RobotModel, poses: Array) -> Array:
    """Links as bars from their origin to each joint they carry, or to the centre of mass at the
    tree's ends; (n, 2, 3).
    """
    lines = []
    for pose, ends in zip(poses, arrows.link_ends(model), strict=True):
        for end in ends:
            line = np.stack([pose[:3, 3], pose[:3, :3] @ end + pose[:3, 3]])
            if np.ptp(line, axis=0).max() > 1e-9:
                axes.plot(
                    *line.T, color=_LINK_COLOUR, lw=5.0, solid_capstyle="round", alpha=0.8, zorder=1
                )
                lines.append(line)
    return np.array(lines).reshape(-1, 2, 3)


def _joints(axes: Axes3D, model: RobotModel, poses: Array, size: float) -> dict[str, Array]:
    """Joints by kind; name → where."""
    ends = {}
    for joint in model.description.joints:
        pose = poses[model.link_index(joint.child)]
        position = pose[:3, 3]
        turns = joint.type in (JointType.REVOLUTE, JointType.CONTINUOUS)
        slides = joint.type is JointType.PRISMATIC
        if joint.type is JointType.FIXED:
            axes.plot(*position[:, None], "o", color=_LINK_COLOUR, ms=3.0, zorder=2)
            continue
        if turns or slides:
            half = (0.035 if turns else 0.05) * size * (pose[:3, :3] @ joint.axis)
            if turns:
                line = {"lw": 9.0, "solid_capstyle": "butt"}
            else:
                line = {"lw": 2.0}
            axes.plot(
                *np.stack([position - half, position + half]).T,
                color=_JOINT_COLOUR,
                zorder=2,
                **line,
            )
        if not turns:
            axes.plot(
                *position[:, None],
                "s" if slides else "D",
                color=_JOINT_COLOUR,
                ms=8.0 if slides else 7.0,
                zorder=2,
            )
        ends[joint.name] = position
    return ends


def _centres(axes: Axes3D, model: RobotModel, poses: Array) -> Array:
    points, robot = arrows.centres_of_mass(model, poses)
    if len(points):

        def draw_balls(at: Array, colour: str, size: float, label: str) -> None:
            axes.plot(
                *at,
                "o",
                color=colour,
                ms=size,
                label=label,
                markeredgecolor="black",
                zorder=3,
            )

        draw_balls(points.T, "white", 4.5, "centres of mass")
        draw_balls(robot[:, None], "#f5c211", 8.0, "of the robot")
    return points


def _wrenches(
    axes: Axes3D,
    model: RobotModel,
    state: tuple[Array, Array, Array],
    shows_wrenches: bool,
    external: Mapping[str, ArrayLike] | None,
) -> list[Array]:
    """Arrows in joints and on links; (n, 2, 3) of each kind."""
    if shows_wrenches and model.nv:
        inside = arrows.joint_arrows(model, *state, external=external)
    else:
        inside = None
    if external:
        outside = arrows.external_arrows(model, state[0], external)
    else:
        outside = None
    both = [x for x in (inside, outside) if x is not None]
    if not both:
        return []
    scale = arrows.sensible_scale(
        model, np.concatenate([x.forces for x in both]), np.concatenate([x.moments for x in both])
    )
    lines = []
    kinds = (
        ("joint", inside, (FORCE, MOMENT)),
        ("external", outside, (EXTERNAL, _EXTERNAL_MOMENT)),
    )
    for whose, wrenches, colours in kinds:
        if wrenches is None:
            continue
        halves = zip(
            ("forces", "moments"), ("N", "N m"), scale, arrows.noise_of(model), colours, strict=True
        )
        for what, unit, length, least, colour in halves:
            segments = wrenches.segments(what, length, least)
            segments = segments[np.linalg.norm(segments[:, 1] - segments[:, 0], axis=1) > 0.0]
            if len(segments):
                label = f"{whose} {what}, 0.1 m = {0.1 / length:.3g} {unit}"
                _quiver(axes, segments[:, 0], segments[:, 1] - segments[:, 0], colour, label)
                lines.append(segments)
    return lines


def _quiver(
    axes: Axes3D,
    starts: Array,
    vectors: Array,
    colour: str | tuple[float, ...],
    label: str | None = None,
) -> None:
    axes.quiver(
        *starts.T, *vectors.T, color=colour, lw=1.6, arrow_length_ratio=0.18, label=label, zorder=4
    )


def _room(axes: Axes3D, points: Array, size: float) -> None:
    """Equal scales, everything inside and no more room than that, the legend below."""
    from matplotlib.ticker import MaxNLocator

    low = points.min(axis=0)
    high = points.max(axis=0)
    middle = 0.5 * (low + high)
    extent = high - low
    # a plane mechanism still stands in a room
    half = 0.5 * np.maximum(extent, max(0.4 * float(extent.max()), 0.2 * size)) + 0.06 * size
    for k, axis in enumerate("xyz"):
        getattr(axes, f"set_{axis}lim")(middle[k] - half[k], middle[k] + half[k])
        getattr(axes, f"set_{axis}label")(f"{axis} [m]")
        getattr(axes, f"{axis}axis").set_major_locator(
            MaxNLocator(max(3, round(7.0 * half[k] / half.max())))
        )
    axes.set_box_aspect(tuple(half))
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.05), ncol=2, frameon=False, fontsize=8)


def _names(axes: Axes3D, ends: dict[str, Array], covered: Array, size: float) -> None:
    """Names of joints beside them, where they cover least of what is drawn, seen from where it is
    seen now.
    """
    from mpl_toolkits.mplot3d import proj3d

    groups = near_each_other(ends, 0.07 * size)
    if not groups:
        return
    # until then nobody knows where on the picture a point is
    axes.figure.draw_without_rendering()
    # directions to the right and upwards on the picture, in data axes, of equal scale
    elevation, azimuth = np.radians([axes.elev, axes.azim])
    right = np.array([-np.sin(azimuth), np.cos(azimuth), 0.0])
    towards = np.array(
        [
            np.cos(elevation) * np.cos(azimuth),
            np.cos(elevation) * np.sin(azimuth),
            np.sin(elevation),
        ]
    )
    up = np.cross(towards, right)

    def pixels(points: Array) -> Array:
        """(n, 2) where points (n, 3) are on the picture."""
        x, y, _ = proj3d.proj_transform(*points.T, axes.get_proj())
        return np.asarray(axes.transData.transform(np.column_stack([x, y])))

    taken = pixels(covered)
    places = pixels(np.array([centre for _, centre in groups]))
    boxes: list[tuple[Array, Array]] = []
    for names, centre in groups:
        text = axes.text(
            *centre,
            "\n".join(names),
            fontsize=7,
            zorder=5,
            ha="center",
            va="center",
            bbox={"facecolor": "white", "alpha": 0.65, "edgecolor": "none", "pad": 0.5},
        )
        extent = text.get_window_extent()
        half = 0.5 * np.array([extent.width, extent.height]) + 3.0
        here, *beside = pixels(
            np.stack([centre, centre + 0.1 * size * right, centre + 0.1 * size * up])
        )
        strangers = places[np.linalg.norm(places - here, axis=1) > 1.0]
        offset = _free_place(here, half, taken, strangers, boxes)
        boxes.append((here + offset, half))
        m_per_pixel = 0.1 * size / np.linalg.norm(beside - here, axis=1)
        text.set_position_3d(
            centre + offset[0] * m_per_pixel[0] * right + offset[1] * m_per_pixel[1] * up
        )


def _free_place(
    here: Array,
    half: Array,
    taken: Array,
    strangers: Array,
    boxes: list[tuple[Array, Array]],
) -> Array:
    """Offset (2,) of a box with half sides (2,) from a point, so that it covers few of the points
    taken and no other box, and is not nearer to a stranger than to its own point.
    """

    def gap(points: Array, middle: Array) -> Array:
        return np.linalg.norm(np.maximum(np.abs(points - middle) - half, 0.0), axis=-1)

    best = np.zeros(2)
    least = np.inf
    for away in (14.0, 24.0, 38.0, 56.0):
        # below comes first
        for angle in np.arange(16) * np.pi / 8.0 - np.pi / 2.0:
            direction = np.array([np.cos(angle), np.sin(angle)])
            offset = direction * (away + np.abs(direction) @ half)
            hidden = (np.abs(taken - here - offset) < half).all(axis=1).sum()
            others = sum(
                bool((np.abs(centre - here - offset) < half + other).all())
                for centre, other in boxes
            )
            wrong = (gap(strangers, here + offset) < 1.3 * gap(here, here + offset)).sum()
            if (cost := 2.0 * hidden + 40.0 * others + 8.0 * wrong + 0.1 * away) < least:
                best = offset
                least = cost
    return best
