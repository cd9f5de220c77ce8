"""Files that ship with the package are found wherever it is installed."""

from __future__ import annotations

import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
import yaml

from robot_dynamics_ros.errors import UnknownNameError
from robot_dynamics_ros.resources import config_file, share_directory

ROOT = Path(__file__).parents[1]


def test_the_share_directory_has_everything():
    share = share_directory()
    for name in ("urdf/six_axis.urdf", "config/controller.yaml", "launch/bringup.launch.py", "package.xml"):
        assert (share / name).is_file(), name


def test_an_unknown_configuration_is_refused_with_the_valid_names():
    with pytest.raises(UnknownNameError, match=r"controller\.yaml"):
        config_file("controler.yaml")


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


@pytest.mark.skipif(not (ROOT / "setup.py").is_file(), reason="not a source checkout")
@pytest.mark.skipif(not can_build(), reason="needs setuptools 70.1 or newer")
def test_an_installation_elsewhere_finds_its_files(tmp_path):
    """pip install --target, from a copy, so that the source checkout is out of reach."""
    copy = tmp_path / "checkout"
    shutil.copytree(
        ROOT, copy, ignore=shutil.ignore_patterns(".*", "build", "demo_output", "*.egg-info", "__pycache__")
    )
    target = tmp_path / "target"
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--no-build-isolation",
            "--target",
            target,
            copy,
        ],
        check=True,
        capture_output=True,
        timeout=240,
    )
    shutil.rmtree(copy)
    found = subprocess.run(
        [
            sys.executable,
            "-c",
            "from robot_dynamics_ros.resources import share_directory, config_file\n"
            "import robot_dynamics_ros as rd\n"
            "print(share_directory()); config_file('simulator.yaml'); print(rd.load_robot('six_axis').nv)",
        ],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
        env={"PYTHONPATH": str(target)},
    ).stdout.split()
    assert Path(found[0]).is_relative_to(target)
    assert found[1] == "6"


@pytest.mark.skipif(not (ROOT / "package.xml").is_file(), reason="not a source checkout")
def test_the_manifest_names_every_package_that_the_nodes_import():
    import ast

    manifest = ElementTree.parse(ROOT / "package.xml").getroot()
    named = {element.text for tag in ("depend", "exec_depend") for element in manifest.findall(tag)}
    used = set()
    for path in (ROOT / "robot_dynamics_ros" / "ros").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module.endswith((".msg", ".srv", ".action")):
                used.add(node.module.partition(".")[0])
    assert used <= named
