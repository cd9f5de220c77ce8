"""The shape of the package, kept so."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from support import layers

import robot_dynamics_ros as rd
from robot_dynamics_ros.dynamics.engine.routines import FOLDERS_OF_ROUTINES

PACKAGE = layers.PACKAGE
ROOT = PACKAGE.parent
FILES = sorted(layers.FILES.values())

ROS = {
    "action_msgs",
    "ament_index_python",
    "builtin_interfaces",
    "control_msgs",
    "diagnostic_msgs",
    "geometry_msgs",
    "launch",
    "launch_ros",
    "lifecycle_msgs",
    "rcl_interfaces",
    "rclpy",
    "rosgraph_msgs",
    "sensor_msgs",
    "std_msgs",
    "std_srvs",
    "tf2_msgs",
    "tf2_ros",
    "trajectory_msgs",
    "unique_identifier_msgs",
    "visualization_msgs",
}


def part(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0]


def offenders(offence) -> dict[str, object]:
    """File → what is wrong with it, for all files of the package."""
    found = {str(path.relative_to(PACKAGE)): offence(path) for path in FILES}
    return {path: what for path, what in found.items() if what}


def test_only_the_ros_folder_imports_ros():
    assert not offenders(
        lambda path: (
            part(path) != "ros"
            and {name for name in layers.names_imported(path) if name.partition(".")[0] in ROS}
        )
    )


def test_every_module_stands_in_a_layer():
    assert [m for m in layers.FILES if layers.layer_of(m) is None] == [layers.ROOT]


def test_a_layer_imports_only_what_stands_below_it():
    """In functions and for type checkers too."""
    wrong = {
        module: above
        for module in layers.FILES
        if (own := layers.layer_of(module)) is not None
        and (
            above := {
                name for name in layers.imported(module) if (layers.layer_of(name) or 0) > own
            }
        )
    }
    assert not wrong


def test_routines_depend_on_nothing_but_the_sources_that_their_code_is_kept_by():
    homes = tuple(f"{layers.ROOT}.{folder}" for folder in FOLDERS_OF_ROUTINES)
    beside = {module for module, path in layers.FILES.items() if path.parent == PACKAGE}
    inside = {m for m in layers.FILES if m in homes or m.startswith(tuple(f"{h}." for h in homes))}
    assert set().union(*map(layers.imported, inside)) <= inside | beside
    makers = {m for m in layers.FILES if "make_routines(" in layers.FILES[m].read_text("utf-8")}
    assert makers and makers <= inside


def test_no_files_import_each_other_in_a_circle():
    """In functions and for type checkers neither."""
    assert not layers.circles({module: layers.imported(module) for module in layers.FILES})


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n    from robot_dynamics_ros.model import edit",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import "
        "robot_dynamics_ros.model.edit",
    ],
)
def test_imports_are_seen_wherever_they_stand(text, tmp_path, monkeypatch):
    (tmp_path / "a.py").write_text(text, encoding="utf-8")
    monkeypatch.setitem(layers.FILES, "a", tmp_path / "a.py")
    assert layers.imported("a") == {"robot_dynamics_ros.model.edit"}


def test_no_file_changes_the_import_path():
    assert not offenders(lambda path: "sys.path" in path.read_text(encoding="utf-8"))


def test_every_module_says_what_it_is_for():
    def silent(path: Path) -> bool:
        text = path.read_text(encoding="utf-8").strip()
        return bool(text) and not ast.get_docstring(ast.parse(text))

    assert not offenders(silent)


def run_without(blocked: list[str], code: str) -> str:
    """Run code in a new interpreter in which some packages cannot be imported."""
    guard = (
        "import sys\n"
        "class Blocked:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name.partition('.')[0] in {blocked!r}:\n"
        "            raise ImportError(name + ' is blocked')\n"
        "sys.meta_path.insert(0, Blocked())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", guard + code],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=PACKAGE.parent,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_core_works_where_ros_is_not_installed():
    out = run_without(
        sorted(ROS),
        "import robot_dynamics_ros as rd\n"
        "model = rd.limb(3)\n"
        "q = [0.1, 0.2, 0.3]\n"
        "print(rd.forward_dynamics(model, q, q, rd.inverse_dynamics(model, q, q, [1.0, 2.0, "
        "3.0])).round(9).tolist())\n",
    )
    assert out.strip() == "[1.0, 2.0, 3.0]"


def test_importing_the_package_is_cheap():
    out = run_without(
        [],
        "import robot_dynamics_ros, sys\n"
        "heavy = {'scipy', 'matplotlib', 'lxml', 'llvmlite', 'sympy', 'urdf_parser_py', 'rclpy', "
        "'rosbags'}\n"
        "print(sorted(heavy & set(sys.modules)))\n",
    )
    assert out.strip() == "[]"


def test_a_controller_loads_no_scipy():
    out = run_without(
        [], "import robot_dynamics_ros.control.controller, sys\nprint('scipy' in sys.modules)\n"
    )
    assert out.strip() == "False"


def test_neither_does_the_plant_of_a_simulator():
    """It steps by time; methods that locate events load SciPy's root finder."""
    out = run_without(
        [],
        "import sys, robot_dynamics_ros as rd\n"
        "plant = rd.Plant(rd.limb(2), 1e-3, integrator='moreau')\n"
        "plant.step([0.0, 0.0])\n"
        "print('scipy' in sys.modules)\n",
    )
    assert out.strip() == "False"


def test_versions_agree():
    root = PACKAGE.parent
    if not (root / "package.xml").is_file():
        pytest.skip("not a source checkout")
    from xml.etree import ElementTree

    version = ElementTree.parse(root / "package.xml").getroot().findtext("version")
    assert rd.__version__ == version
    try:
        assert distribution("robot_dynamics_ros").version == version
    except PackageNotFoundError:
        pytest.skip("the package is not installed, only imported")


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_tests_that_the_makefile_runs_exist():
    done = subprocess.run(
        ["make", "--dry-run", "--always-make", "test-matrix", "test-next", "test-faults", "fuzz"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    paths = re.findall(r"\btest/[\w/.]+", done.stdout)
    assert len(paths) > 20
    assert not [path for path in paths if not (ROOT / path).exists()]
