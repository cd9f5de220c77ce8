"""The site of the documentation: it builds without a warning, fetches nothing, and its reference is complete."""

from __future__ import annotations

import html
import re
import subprocess
import sys
from pathlib import Path

import pytest

import robot_dynamics_ros as rd

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(not (ROOT / "mkdocs.yml").is_file(), reason="not a source checkout")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Folder of the built site; broken links, missing pages and anchors are warnings, and warnings are errors."""
    pytest.importorskip("rclpy", reason="the page about parameters reads the nodes' declarations")
    pytest.importorskip("material")
    pytest.importorskip("mkdocstrings")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def read(site, page):
    return (site / page).read_text(encoding="utf-8")


def test_nothing_is_fetched_from_elsewhere(site):
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        used = re.findall(r'<(?:script|img|iframe|source)[^>]* src="([^"]+)"', text)
        used += re.findall(r'<link[^>]*rel="(?:stylesheet|icon|preload|preconnect)"[^>]*href="([^"]+)"', text)
        used += re.findall(r'<link[^>]*href="([^"]+)"[^>]*rel="(?:stylesheet|icon|preload|preconnect)"', text)
        assert used
        assert not [address for address in used if "//" in address], page.name


def test_every_public_name_is_in_the_reference(site):
    for home in rd._HOMES:
        text = read(site, f"reference/library/{home}.html")
        names = getattr(__import__(f"robot_dynamics_ros.{home}", fromlist=["x"]), "__all__", ())
        missing = [name for name in names if f'id="robot_dynamics_ros.{home}.{name}"' not in text]
        assert not missing, f"{home}: {missing}"


def test_every_parameter_is_in_the_reference(site):
    from robot_dynamics_ros.ros.controller.parameters import CONTROLLER_PARAMETERS, joint_parameters
    from robot_dynamics_ros.ros.gate.parameters import GATE_PARAMETERS
    from robot_dynamics_ros.ros.simulator.parameters import SIMULATOR_PARAMETERS
    from robot_dynamics_ros.ros.viewer.parameters import VIEWER_PARAMETERS

    text = html.unescape(re.sub(r"<[^>]+>", "", read(site, "reference/parameters.html")))
    declared = (
        CONTROLLER_PARAMETERS,
        joint_parameters(["<joint>"]),
        GATE_PARAMETERS,
        SIMULATOR_PARAMETERS,
        VIEWER_PARAMETERS,
    )
    for param in (param for table in declared for param in table):
        assert param.name in text and param.description.replace("*", "") in text.replace("*", ""), param.name
