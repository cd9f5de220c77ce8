"""What the documentation says is so."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import types
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(not (ROOT / "README.md").is_file(), reason="not a source checkout")


ELSEWHERE = {
    "architecture.md": "a process of its own, see below",
    "extend.md": "a copy of the package, see test_recipes.py",
    "from_joint_trajectory_controller.md": "MoveIt",
}
"""Pages whose Python needs something that is not here, and what."""
if importlib.util.find_spec("gymnasium") is None:
    ELSEWHERE["gymnasium.md"] = "Gymnasium"

GIVEN = """
import numpy as np
import robot_dynamics_ros as rd
model = rd.load_robot("six_axis")
q, v, a, tau = np.full(6, 0.3), np.full(6, 0.1), np.ones(6), np.ones(6)
"""
"""What the text around the code of every page takes for granted."""

GIVEN_ON = {
    "equations.md": """
model = rd.load_robot("two_link")
open("arm.urdf", "w").write(rd.to_urdf(model))
q, v, tau = np.zeros(2), np.zeros(2), np.zeros(2)
upright = [np.pi / 2, 0.0]
""",
    "models.md": """
open("robot.urdf", "w").write(rd.to_urdf(model))
open("robot.urdf.xacro", "w").write(rd.to_urdf(model))
open("robot.xml", "w").write(
    "<mujoco><worldbody><body name='arm'><joint name='j' type='hinge' axis='0 0 1'/>"
    "<geom type='box' size='0.1 0.2 0.3' mass='1'/></body></worldbody></mujoco>"
)
pose, com, tensor, gripper_model = rd.Pose(), (0, 0, 0.05), 0.01 * np.eye(3), rd.limb(1)
""",
    "simulation.md": "effort = np.zeros(7)",
    "wrenches.md": "mx = my = mz = fx = fy = fz = 0.1; point = (0, 0, 0.3); wrench = np.zeros(6)",
}
"""What single pages take for granted beside that."""


PAGES = {p.name: p for p in sorted((ROOT / "docs").rglob("*.md"))}
"""Every page by its file name, which no two share."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    ["README.md", *(name for name, path in PAGES.items() if path.parent.name != "tutorials")],
)
def test_the_python_of_every_page_runs(page, tmp_path, monkeypatch):
    """The blocks of a page one after the other, in one namespace, in an empty folder."""
    path = PAGES.get(page, ROOT / page)
    text = path.read_text(encoding="utf-8")
    blocks = [
        (text[: m.start()].count("\n") + 2, m[1])
        for m in re.finditer(r"```python\n(.*?)```", text, re.DOTALL)
    ]
    if not blocks:
        return
    if page in ELSEWHERE:
        pytest.skip(f"needs {ELSEWHERE[page]}")
    monkeypatch.chdir(tmp_path)
    # where dataclasses on the page look for their module
    module = types.ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)
    space = module.__dict__
    if page != "README.md":
        exec(GIVEN + GIVEN_ON.get(page, ""), space)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for line, block in blocks:
            exec(compile("\n" * (line - 1) + block, page, "exec"), space)


def test_the_algorithm_of_the_architecture_page_runs():
    """In a process of its own: it declares a function."""
    text = PAGES["architecture.md"].read_text(encoding="utf-8")
    (block,) = (b for b in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "@function" in b)
    done = subprocess.run(
        [sys.executable, "-c", block], capture_output=True, text=True, timeout=120, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr


def test_the_algorithm_quoted_on_the_architecture_page_is_the_one_that_runs():
    text = PAGES["architecture.md"].read_text(encoding="utf-8")
    (block,) = (
        b for b in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "def newton_euler" in b
    )
    source = (ROOT / "robot_dynamics_ros/dynamics/algorithms/inverse_dynamics.py").read_text(
        encoding="utf-8"
    )
    for line in block.splitlines()[1:]:
        assert line in source.splitlines(), line


def test_links_lead_somewhere():
    """In the checkout; pages that are made from the code exist in the site only, see
    test_site.py.
    """
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES.values()]:
        for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            path = (page.parent / target).resolve()
            in_docs = ROOT / "docs" in path.parents
            entry = path.relative_to(ROOT / "docs") if in_docs else path
            if "://" not in target and f"- {entry}\n" not in nav:
                assert path.exists(), f"{page.name}: {target}"


def test_the_launch_arguments_of_the_readme_exist():
    launch_file = (ROOT / "launch" / "bringup.launch.py").read_text(encoding="utf-8")
    for argument in set(
        re.findall(r"\b(\w+):=", (ROOT / "README.md").read_text(encoding="utf-8"))
    ) - {"robot_description_file"}:
        assert f'"{argument}"' in launch_file, argument
