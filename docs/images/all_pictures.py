"""Draw every picture of the documentation anew: ``python -m docs.images.all_pictures [PART OF A
NAME]``, or ``make pictures``.

The film and the pictures of the viewer need a browser (Chromium, Chrome or Edge), the picture of
exported code a C compiler.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

COMMANDS: dict[str, tuple[str, ...]] = {
    "layers.svg": ("docs/images/layers.py",),
    "joint_wrench.svg life_of_a_urdf.svg life_of_a_joint_state.svg": (
        "docs/images/convention_figures.py",
    ),
    "energy_drift.svg stick_slip.svg": ("-m", "docs.images.simulation_figures"),
    "comparison.png": ("-m", "docs.images.comparison_figures"),
    "limb_parts.png limb_paths.png": ("docs/images/wrench_figures.py",),
    (
        "tutorial_bearing_loads.png tutorial_circle_press_lead.png tutorial_identified.png "
        "tutorial_pendulum.png "
        "tutorial_push.png "
        "tutorial_recorded_loads.png"
    ): (
        "-m",
        "docs.images.tutorial_figures",
    ),
    (
        "view_six_axis.gif view_six_axis.png draw_six_axis.png view_panda.png view_panda_small.png "
        "view_panda_phone.png"
    ): (
        "-m",
        "docs.images.view_figures",
    ),
    "every_robot.jpg": ("-m", "docs.images.every_robot"),
    "three_link_in_c.png": ("examples/three_link_in_c/run.py", "{folder}"),
    "demo.png": (
        "-m",
        "robot_dynamics_ros",
        "demo",
        "six_axis",
        "--no-view",
        "--output",
        "{folder}",
    ),
    "press_on_table.png": ("examples/press_on_table.py", "{folder}/press_on_table.png"),
    "differing_robots.svg": (
        *("-m", "benchmarks.differing_robots", "--runs", "6"),
        *("--picture", "{folder}/differing_robots.svg"),
    ),
    "cost.png": ("-m", "benchmarks.dynamics", "--plot", "{folder}/cost.png"),
}
"""Pictures → the command that draws them; those drawn into a folder of their own are copied from
it.
"""


def main() -> int:
    """Draw all, or those whose names contain the word given."""
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    for names, command in COMMANDS.items():
        if wanted not in names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            words = [word.replace("{folder}", folder) for word in command]
            print("python", " ".join(words), flush=True)
            subprocess.run([sys.executable, *words], cwd=ROOT, check=True)
            for name in names.split():
                drawn = (
                    next(Path(folder).rglob(f"*{Path(name).suffix}"), None)
                    if "{folder}" in " ".join(command)
                    else None
                )
                if drawn is not None:
                    shutil.copyfile(drawn, HERE / name)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
