"""The site of the documentation: it builds without a warning, fetches nothing, and its reference is
complete.
"""

from __future__ import annotations

import html
import re
import subprocess
import sys
from pathlib import Path

import pytest

import robot_dynamics_ros as rd

ROOT = Path(__file__).parents[1]
pytestmark = [
    # the site is built for the first of them
    pytest.mark.slow,
    pytest.mark.skipif(not (ROOT / "mkdocs.yml").is_file(), reason="not a source checkout"),
]

NODE_PAGES = ("reference/ros_interface.md", "how_to/viewing.md", "how_to/effort_gate.md")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Folder of the built site; broken links, missing pages and anchors are warnings, and warnings
    are errors.
    """
    pytest.importorskip("rclpy", reason="the page about parameters reads the nodes' declarations")
    pytest.importorskip("material")
    pytest.importorskip("mkdocstrings")
    pytest.importorskip("latex2mathml")
    folder = tmp_path_factory.mktemp("site")
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--quiet",
        "--site-dir",
        str(folder),
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def read(site, page):
    return (site / page).read_text(encoding="utf-8")


def test_nothing_is_fetched_from_elsewhere(site):
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        used = re.findall(r'<(?:script|img|iframe|source)[^>]* src="([^"]+)"', text)
        used += re.findall(
            r'<link[^>]*rel="(?:stylesheet|icon|preload|preconnect)"[^>]*href="([^"]+)"', text
        )
        used += re.findall(
            r'<link[^>]*href="([^"]+)"[^>]*rel="(?:stylesheet|icon|preload|preconnect)"', text
        )
        assert used
        assert not [address for address in used if "//" in address], page.name


def test_formulas_are_typeset(site):
    for page, number in (("reference/control.html", 10), ("how_to/constraints.html", 2)):
        text = read(site, page)
        assert text.count("<math") >= number, page
        assert "arithmatex" not in text, page
        assert "merror" not in text, page


def test_every_public_name_is_in_the_reference(site):
    for home in rd.PARTS:
        text = read(site, f"reference/library/{home}.html")
        names = getattr(__import__(f"robot_dynamics_ros.{home}", fromlist=["x"]), "__all__", ())
        missing = [name for name in names if f'id="robot_dynamics_ros.{home}.{name}"' not in text]
        assert not missing, f"{home}: {missing}"


def test_every_parameter_is_in_the_reference(site):
    from robot_dynamics_ros.ros.controller.parameters import CONTROLLER_PARAMETERS, JOINT_PARAMETERS
    from robot_dynamics_ros.ros.effort_gate import GATE_PARAMETERS
    from robot_dynamics_ros.ros.simulator.parameters import SIMULATOR_PARAMETERS
    from robot_dynamics_ros.ros.viewer import VIEWER_PARAMETERS

    text = html.unescape(re.sub(r"<[^>]+>", "", read(site, "reference/parameters.html")))
    declared = (
        CONTROLLER_PARAMETERS,
        JOINT_PARAMETERS,
        GATE_PARAMETERS,
        SIMULATOR_PARAMETERS,
        VIEWER_PARAMETERS,
    )
    for param in (param for table in declared for param in table):
        assert param.name in text and param.description.replace("*", "") in text.replace("*", ""), (
            param.name
        )


def test_pages_kept_in_the_repository_are_what_the_code_says(monkeypatch):
    pytest.importorskip("rclpy", reason="the page about parameters reads the nodes' declarations")
    monkeypatch.syspath_prepend(str(ROOT))
    from docs.generate.kept import kept_pages

    for path, text in kept_pages().items():
        kept = (ROOT / "docs" / path).read_text(encoding="utf-8")
        assert kept == text, f"python -m docs.generate.kept writes {path} anew"


def test_tables_kept_in_pages_are_what_the_code_says(monkeypatch):
    pytest.importorskip("rclpy", reason="pages about nodes are made by the same module")
    monkeypatch.syspath_prepend(str(ROOT))
    from docs.generate.kept import TABLES, with_tables

    for path, _ in TABLES.values():
        kept = (ROOT / "docs" / path).read_text(encoding="utf-8")
        assert kept == with_tables(path, kept), f"python -m docs.generate.kept writes {path} anew"


def test_every_cause_in_the_diagnostics_is_explained(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    from docs.generate.causes import causes

    text = (ROOT / "docs" / "reference" / "diagnostics.md").read_text(encoding="utf-8")
    found = causes()
    assert len(found) > 40
    missing = [cause for cause in sorted(found) if f"| `{cause}` |" not in text]
    assert not missing, missing


def test_every_topic_and_service_is_documented():
    """Those that the nodes make by a name that stands in the code."""
    pages = [(ROOT / "docs" / path).read_text(encoding="utf-8") for path in NODE_PAGES]
    names = set()
    for path in (ROOT / "robot_dynamics_ros" / "ros").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        names |= set(
            re.findall(r'create_(?:publisher|subscription|service)\([^()]*?"([~/\w]+)"', text)
        )
    assert len(names) > 12
    missing = [name for name in sorted(names) if not any(name in page for page in pages)]
    assert not missing, missing


def test_the_tables_of_figures_are_those_of_the_result_files(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    from docs.generate import figures

    for page in figures.PAGES:
        text = page.read_text(encoding="utf-8")
        assert figures.renewed(text) == text, (
            f"{page.name}: python -m docs.generate.figures writes it anew"
        )


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 150


def test_every_picture_is_drawn_by_the_one_script(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    from docs.images.all_pictures import COMMANDS

    pictures = {
        path.name
        for path in (ROOT / "docs" / "images").iterdir()
        if path.suffix in (".svg", ".png", ".gif", ".jpg")
    }
    assert {name for names in COMMANDS for name in names.split()} == pictures
