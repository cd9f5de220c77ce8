"""From URDF to equations to C to a simulation in C whose trajectory overlays ours.

    python examples/three_link_in_c/run.py [DIRECTORY]

Writes the equations (a page and a LaTeX document), the exported C, and the picture into DIRECTORY,
compiles the simulation with the C compiler found (cc, gcc or clang), and prints how far the two
trajectories are apart.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

import robot_dynamics_ros as rd
from robot_dynamics_ros.equations.equations_document import document_of
from robot_dynamics_ros.equations.render_html import render_html
from robot_dynamics_ros.equations.render_latex import render_tex
from robot_dynamics_ros.simulation import JointFriction

HERE = Path(__file__).parent


def simulate_in_c(model: rd.RobotModel, directory: Path) -> np.ndarray:
    """(N, 4) time and joint positions, from the compiled program."""
    rd.export_code(model, ["inverse_dynamics", "mass_matrix", "step"], prefix="three_link").write(
        directory
    )
    compiler = next((c for c in ("cc", "gcc", "clang") if shutil.which(c)), None)
    if compiler is None:
        raise SystemExit("no C compiler (cc, gcc, clang) is installed")
    program = directory / "simulate"
    sources = [str(HERE / "simulate.c"), str(directory / "three_link.c")]
    subprocess.run(
        [compiler, "-std=c99", "-O2", f"-I{directory}", *sources, "-o", str(program), "-lm"],
        check=True,
    )
    printed = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    return np.array([[float(x) for x in line.split()] for line in printed.splitlines()])


def simulate_here(model: rd.RobotModel) -> tuple[np.ndarray, np.ndarray]:
    """Times and positions of the package's own simulator under the same efforts."""

    def control(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.array([4.0 * np.sin(3.0 * t), -12.0 * np.cos(2.0 * t), 0.0])

    run = rd.simulate(
        model,
        control,
        [0.0, -0.6, 0.9],
        None,
        3.0,
        1e-3,
        integrator="rk4",
        friction=JointFriction(coulomb=0.0),
        stops=None,
        limiter=False,
    )
    return run.t, run.q


def draw(path: Path, in_c: np.ndarray, t: np.ndarray, q: np.ndarray) -> None:
    """Both trajectories over each other."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7.0, 3.6), constrained_layout=True)
    for k, colour in enumerate(("tab:blue", "tab:orange", "tab:green")):
        axes.plot(
            t, q[:, k], color=colour, linewidth=4.0, alpha=0.35, label=f"joint{k + 1}, simulator"
        )
        axes.plot(
            in_c[:, 0],
            in_c[:, k + 1],
            "--",
            color=colour,
            linewidth=1.2,
            label=f"joint{k + 1}, exported C",
        )
    axes.set(xlabel="time, s", ylabel="position, rad", title="Three-link arm")
    figure.legend(ncols=3, fontsize=7, loc="outside lower center")
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=110)


def main(directory: Path) -> float:
    """Do it all; returns the largest difference, rad."""
    directory.mkdir(parents=True, exist_ok=True)
    model = rd.load_robot("three_link")
    document = document_of(rd.symbolic(model, symbols="auto"))
    (directory / "three_link.html").write_text(render_html(document), encoding="utf-8")
    (directory / "three_link.tex").write_text(render_tex(document), encoding="utf-8")
    in_c = simulate_in_c(model, directory)
    t, q = simulate_here(model)
    apart = float(np.abs(in_c[:, 1:] - q[::10]).max())
    try:
        draw(directory / "three_link.png", in_c, t, q)
    except ImportError:
        print("matplotlib is not installed: no picture")
    print(f"the trajectories are at most {apart:.2e} rad apart over {t[-1]:g} s")
    return apart


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "three_link_in_c_output"))
