"""The robots of the example-robot-data package, as test material."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest

# What no model can be made of, and why.
UNSOUND = {"ur3.urdf": "has no links at all"}


def example_urdfs() -> list[Path]:
    """All URDFs of example-robot-data, sorted by name; empty where it is not installed."""
    try:
        files = metadata.files("example-robot-data") or []
    except metadata.PackageNotFoundError:
        return []
    paths = [Path(str(file.locate())).resolve() for file in files if file.suffix == ".urdf"]
    return sorted(paths, key=lambda path: (path.name, str(path)))


def example_urdf(name: str) -> Path:
    """The URDF file called ``name``; the test is skipped where the package is missing."""
    for path in example_urdfs():
        if path.name == name:
            return path
    pytest.skip("example-robot-data is not installed")


def sound_example_urdfs() -> list[Path]:
    """Those that load (two of Romeo's only with ``inertia_check="repair"``)."""
    return [path for path in example_urdfs() if path.name not in UNSOUND]


def name_of(path: Path) -> str:
    """A test id: folder and file name, for some names occur twice."""
    return f"{path.parents[1].name.removesuffix('_description')}/{path.stem}"
