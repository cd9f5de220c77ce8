"""Files that ship with the package are found wherever it is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
import yaml

import robot_dynamics_ros as rd
from robot_dynamics_ros.resources import share_directory

ROOT = Path(__file__).parents[1]


def test_the_share_directory_has_everything():
    share = share_directory()
    for name in (
        "urdf/six_axis.urdf",
        "config/controller.yaml",
        "launch/bringup.launch.py",
        "package.xml",
    ):
        assert (share / name).is_file(), name


def test_configurations_are_parameter_files():
    for path in (share_directory() / "config").glob("*.yaml"):
        for node, content in yaml.safe_load(path.read_text()).items():
            assert node.startswith("/**"), path
            assert set(content) == {"ros__parameters"}, path


def can_build() -> bool:
    """Whether setuptools makes wheels on its own, as it does since 70.1."""
    try:
        return tuple(map(int, version("setuptools").split(".")[:2])) >= (70, 1)
    except (PackageNotFoundError, ValueError):
        return False


def run(*words, **options):
    """A Python module as a program; its output."""
    done = subprocess.run(
        [sys.executable, *map(str, words)], capture_output=True, text=True, timeout=240, **options
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.skipif(not (ROOT / "setup.py").is_file(), reason="not a source checkout")
@pytest.mark.skipif(not can_build(), reason="needs setuptools 70.1 or newer")
def test_a_released_wheel_installs_with_its_files(tmp_path):
    """Source archive, wheel made from the archive, pip install of the wheel; the checkout is out of
    reach.
    """
    copy = tmp_path / "checkout"
    shutil.copytree(
        ROOT,
        copy,
        ignore=shutil.ignore_patterns(
            ".*", "build", "demo_output", "*.egg-info", "__pycache__", "test"
        ),
    )
    run("-m", "build", "--no-isolation", "--outdir", tmp_path / "dist", copy)
    shutil.rmtree(copy)
    archive, wheel = sorted((tmp_path / "dist").iterdir(), key=lambda path: path.suffix)
    assert archive.name == f"robot_dynamics_ros-{rd.__version__}.tar.gz"
    run("-m", "twine", "check", "--strict", archive, wheel)
    target = tmp_path / "target"
    run("-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", target, wheel)
    share = target / "share" / "robot_dynamics_ros"
    for path in [
        path for folder in ("launch", "config", "urdf") for path in (ROOT / folder).rglob("*")
    ]:
        if path.is_file() and "__pycache__" not in path.parts:
            assert (share / path.relative_to(ROOT)).is_file(), path
    found = run(
        "-c",
        "from robot_dynamics_ros.resources import share_directory\n"
        "import robot_dynamics_ros as rd\n"
        "print(share_directory()); print(rd.load_robot('six_axis').nv)",
        cwd=tmp_path,
        env={"PYTHONPATH": str(target)},
    ).split()
    assert Path(found[0]).is_relative_to(target)
    assert found[1] == "6"
    assert all(path.name.startswith("robot_dynamics") for path in (target / "bin").iterdir())


@pytest.mark.skipif(not (ROOT / "package.xml").is_file(), reason="not a source checkout")
def test_one_version_everywhere():
    assert ElementTree.parse(ROOT / "package.xml").getroot().findtext("version") == rd.__version__
    changelog = (ROOT / "CHANGELOG.rst").read_text(encoding="utf-8")
    versions = re.findall(r"^(\d+\.\d+\.\d+) \(\d{4}-\d\d-\d\d\)\n-+$", changelog, re.MULTILINE)
    assert versions[0] == rd.__version__


@pytest.mark.skipif(not (ROOT / "package.xml").is_file(), reason="not a source checkout")
def test_the_manifest_names_every_package_that_the_nodes_import():
    import ast

    manifest = ElementTree.parse(ROOT / "package.xml").getroot()
    named = {element.text for tag in ("depend", "exec_depend") for element in manifest.findall(tag)}
    used = set()
    for path in (ROOT / "robot_dynamics_ros" / "ros").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module.endswith(
                (".msg", ".srv", ".action")
            ):
                used.add(node.module.partition(".")[0])
    assert used <= named
