"""The robots that come with the package."""

from __future__ import annotations

import os
import site
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from robot_dynamics_ros.errors import UnknownNameError, UrdfError
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.model.urdf import load_urdf

__all__ = ["load_robot", "robot_names", "robot_path"]

_PACKAGE = "robot_dynamics_ros"
_SHARE = Path("share") / _PACKAGE / "urdf"


def robot_path(name: str) -> Path:
    """Path of the URDF of a robot that comes with the package.

    Args:
        name: one of :func:`robot_names`, for example ``"six_axis"``.

    Raises:
        UnknownNameError: there is no such robot.
        UrdfError: the installation has no robots.
    """
    folder = _folder()
    path = folder / f"{name}.urdf"
    if not isinstance(name, str) or name not in robot_names() or not path.is_file():
        raise UnknownNameError("robot", name, robot_names())
    return path


def robot_names() -> tuple[str, ...]:
    """Names of the robots that come with the package, sorted.

    >>> "six_axis" in robot_names()
    True
    """
    return tuple(sorted(path.stem for path in _folder().glob("*.urdf")))


def load_robot(name: str, **options: Any) -> RobotModel:
    """Load a robot that comes with the package; ``options`` as for :func:`load_urdf`.

    >>> load_robot("two_link").joint_names
    ('shoulder', 'elbow')
    """
    return load_urdf(robot_path(name), **options)


def _folder() -> Path:
    tried = []
    for folder in _candidates():
        if folder.is_dir() and any(folder.glob("*.urdf")):
            return folder
        tried.append(str(folder))
    raise UrdfError(
        "the robots that come with the package are not where they should be",
        where=_PACKAGE,
        got=tried,
        remedy=f"Install the package again; looked in {', '.join(dict.fromkeys(tried))}.",
    )


def _candidates() -> Iterator[Path]:
    """A source checkout first, then every place where setup.py's data files may have been put."""
    package = Path(__file__).resolve().parents[1]
    if (package.parent / "package.xml").is_file():
        yield package.parent / "urdf"
    # <prefix>/lib/python3.x/site-packages and Debian's variants, Windows' <prefix>/Lib/site-packages, pip --target
    for up in (3, 2, 0):
        if up < len(package.parents):
            yield package.parents[up] / _SHARE
    for entry in filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)):
        yield Path(entry) / _SHARE
    yield Path(sys.prefix) / _SHARE
    if site.USER_BASE:
        yield Path(site.USER_BASE) / _SHARE
    yield from _installed_files()
    yield package.parent / "urdf"


def _installed_files() -> Iterator[Path]:
    """What the installer wrote down, for `pip install --target` and the like."""
    from importlib import metadata

    try:
        files = metadata.files(_PACKAGE) or metadata.files(_PACKAGE.replace("_", "-")) or []
    except metadata.PackageNotFoundError:
        return
    for file in files:
        if file.suffix == ".urdf":
            yield Path(str(file.locate())).resolve().parent
