"""Where ROS packages are: installed ones by the ament index, others by the package.xml files around
a robot's file.

A robot's file from a repository's checkout names packages of that repository, or of checkouts
beside it.  They are found without a workspace.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote, urlparse

from robot_dynamics_ros.errors import UrdfError

_NAME = re.compile(rb"<name>\s*([\w.-]+)\s*</name>")
_IGNORED = ("AMENT_IGNORE", "COLCON_IGNORE")
# Folders above a file in which its package is looked for: a workspace has fewer.
_LEVELS_UP = 6
# Levels below each of them: workspace/src/repository/package.
_LEVELS_DOWN = 3
# Folders that are opened in all, so that a file in a home directory is not searched for minutes.
_MOST_FOLDERS = 2000


def path_of_address(text: str, directory: str | os.PathLike[str] | None = None) -> Path:
    """The file of a path or of a ``file://`` or ``package://`` address.

    Around ``directory`` packages are looked for that the ament index does not have; relative paths
    start there, or stay relative.
    """
    if text.startswith("file://"):
        return Path(unquote(urlparse(text).path))
    if text.startswith("package://"):
        name, _, rest = text.removeprefix("package://").lstrip("/").partition("/")
        return package_directory(name, directory) / rest
    if text.startswith("~"):
        path = Path(text).expanduser()
    else:
        path = Path(text)
    if directory is None:
        return path
    return Path(directory) / path


def package_directory(name: str, directory: str | os.PathLike[str] | None = None) -> Path:
    """The folder of a package's shared files: of the installed one, else of the nearest around
    ``directory``.

    Near are the folders above ``directory``, up to six levels, and what they hold, three levels
    deep.  A folder is the package's if its package.xml says so, or if there is no such package.xml
    and the folder is called so.
    """
    for prefix in filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)):
        share = Path(prefix) / "share" / name
        if share.is_dir():
            return share
    if directory is None or not name:
        near = None
    else:
        near = _nearest(name, Path(directory).resolve())
    if near is None:
        if directory is None:
            around = ""
        else:
            around = f", and no package.xml around {str(directory)!r} has this name"
        problem = f"no ROS package {name!r} is in AMENT_PREFIX_PATH{around}"
        remedy = (
            "Source the workspace that holds it, or put a checkout of its repository beside the "
            "robot's file."
        )
        raise UrdfError(problem, where=f"package {name!r}", remedy=remedy)
    return near


@lru_cache(maxsize=64)
def _nearest(name: str, directory: Path) -> Path | None:
    called_so: Path | None = None
    seen: set[Path] = set()
    for folder in _around(directory):
        if folder in seen:
            continue
        seen.add(folder)
        if len(seen) > _MOST_FOLDERS:
            break
        if _package_name(folder) == name:
            return folder
        if called_so is None and folder.name == name:
            called_so = folder
    return called_so


def _around(directory: Path) -> Iterator[Path]:
    """Folders from near to far; of a package below an ancestor only its own folder."""
    for ancestor in (directory, *directory.parents[:-1])[: _LEVELS_UP + 1]:
        level = [ancestor]
        for _ in range(_LEVELS_DOWN + 1):
            yield from level
            level = list(
                itertools.chain.from_iterable(
                    _folders_in(folder)
                    for folder in level
                    if folder == ancestor or not (folder / "package.xml").is_file()
                )
            )


def _folders_in(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            names = sorted(
                e.name
                for e in entries
                if not e.name.startswith(".") and e.is_dir(follow_symlinks=False)
            )
    except OSError:
        return []
    return [
        folder / name
        for name in names
        if not any((folder / name / mark).exists() for mark in _IGNORED)
    ]


def _package_name(folder: Path) -> str:
    try:
        with (folder / "package.xml").open("rb") as file:
            match = _NAME.search(file.read(100_000))
    except OSError:
        return ""
    return match[1].decode() if match else ""
