"""The drawings of docs/explanation/conventions.md and numerical_methods.md: ``python
docs/images/convention_figures.py``.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

HERE = Path(__file__).parent
ORANGE = "#d9731f"
BLUE = "#3b5bdb"
GREY = "#8a8f98"


def arrow(axes, start, along, colour, label="", width=0.012, where=1.08):
    """An arrow with a label beyond its tip."""
    axes.arrow(
        *start, *along, color=colour, width=width, length_includes_head=True, head_width=4 * width
    )
    if label:
        axes.text(
            *(np.add(start, np.multiply(where, along))),
            label,
            color=colour,
            fontsize=11,
            ha="center",
            va="center",
        )


def frame(axes, origin, angle, label):
    """Axes x and z of a frame."""
    for turn, name in ((0.0, "x"), (np.pi / 2, "z")):
        along = 0.22 * np.array([np.cos(angle + turn), np.sin(angle + turn)])
        arrow(axes, origin, along, GREY, f"{name}", 0.006, 1.25)
    axes.text(origin[0] + 0.03, origin[1] - 0.13, label, color=GREY, fontsize=9, ha="left")


def joint_wrench() -> None:
    """A two-link arm: frames at the joints, force and moment that the upper arm exerts on the
    forearm.
    """
    figure, axes = plt.subplots(figsize=(6.4, 3.6), constrained_layout=True)
    shoulder = np.zeros(2)
    angles = (0.55, 0.15)
    lengths = (0.9, 0.8)
    elbow = shoulder + lengths[0] * np.array([np.cos(angles[0]), np.sin(angles[0])])
    tip = elbow + lengths[1] * np.array([np.cos(angles[1]), np.sin(angles[1])])
    for start, end, name in (
        (shoulder, elbow, "upper arm (parent)"),
        (elbow, tip, "forearm (child)"),
    ):
        axes.plot(
            *zip(start, end, strict=True), color="#c8ccd2", lw=16, solid_capstyle="round", zorder=0
        )
        middle = (start + end) / 2
        axes.text(middle[0] + 0.06, middle[1] - 0.16, name, fontsize=10, ha="left")
    for at, angle, name in ((shoulder, angles[0], "joint 1"), (elbow, angles[1], "joint 2")):
        axes.plot(*at, "o", color="black", ms=7)
        frame(axes, at, angle, name)
    arrow(axes, elbow, np.array([0.05, 0.42]), ORANGE, "force")
    turn = np.linspace(0.4, 1.5 * np.pi, 60)
    axes.plot(elbow[0] + 0.14 * np.cos(turn), elbow[1] + 0.14 * np.sin(turn), color=BLUE, lw=2)
    axes.plot(
        elbow[0] + 0.14 * np.cos(turn[-1]),
        elbow[1] + 0.14 * np.sin(turn[-1]),
        ">",
        color=BLUE,
        ms=8,
    )
    axes.text(elbow[0] - 0.22, elbow[1] + 0.1, "moment", color=BLUE, fontsize=11, ha="right")
    centre = elbow + 0.55 * (tip - elbow)
    arrow(axes, centre, np.array([0.0, -0.34]), GREY, "m g", where=1.15)
    axes.set_aspect("equal")
    axes.set_xlim(-0.35, 1.75)
    axes.set_ylim(-0.3, 1.05)
    axes.axis("off")
    figure.savefig(HERE / "joint_wrench.svg", metadata={"Date": None})
    plt.close(figure)


def boxes(name: str, steps: list[tuple[str, str]], columns: int) -> None:
    """Boxes in reading order, an arrow from each to the next."""
    rows = -(-len(steps) // columns)
    figure, axes = plt.subplots(figsize=(2.9 * columns, 1.35 * rows), constrained_layout=True)
    for k, (title, text) in enumerate(steps):
        row, column = divmod(k, columns)
        x = 3.0 * column
        y = -1.4 * row
        axes.add_patch(
            plt.Rectangle((x, y), 2.4, 0.95, fill=True, facecolor="#eef1fb", edgecolor=BLUE, lw=1.2)
        )
        axes.text(x + 1.2, y + 0.62, title, ha="center", va="center", fontsize=10, weight="bold")
        axes.text(x + 1.2, y + 0.27, text, ha="center", va="center", fontsize=8)
        if k + 1 < len(steps):
            below = (k + 1) % columns == 0
            if below:
                axes.annotate(
                    "",
                    (1.2, y - 0.45),
                    (x + 1.2, y),
                    arrowprops={"arrowstyle": "->", "color": GREY},
                )
            else:
                axes.annotate(
                    "",
                    (x + 3.0, y + 0.5),
                    (x + 2.4, y + 0.5),
                    arrowprops={"arrowstyle": "->", "color": GREY},
                )
    axes.set_xlim(-0.1, 3.0 * columns - 0.4)
    axes.set_ylim(-1.4 * (rows - 1) - 0.1, 1.1)
    axes.axis("off")
    figure.savefig(HERE / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)


def main() -> None:
    """Draw all."""
    # the same bytes on every run
    plt.rcParams["svg.hashsalt"] = "robot_dynamics_ros"
    joint_wrench()
    boxes(
        "life_of_a_urdf",
        [
            ("URDF, xacro, MJCF", "text"),
            ("guarded parse", "only links, inertias, joints"),
            ("RobotDescription", "what was written down"),
            ("checks", "tree, inertias, limits"),
            ("RobotModel", "constant arrays"),
            ("trace", "algorithm on symbols"),
            ("simplify", "constants, zeros, repeats"),
            ("machine code", "or NumPy, or C"),
        ],
        4,
    )
    boxes(
        "life_of_a_joint_state",
        [
            ("JointState", "bytes from the middleware"),
            ("by name", "position, velocity, checked"),
            ("clock", "age, order, timeouts"),
            ("reference", "desired motion now"),
            ("law", "equation of the law"),
            ("external", "known wrenches, observer"),
            ("guards", "limits, rates, no jump"),
            ("command", "efforts, joint wrenches"),
        ],
        4,
    )


if __name__ == "__main__":
    main()
