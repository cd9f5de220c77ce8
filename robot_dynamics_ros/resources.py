"""Where the files that ship beside the code are: robot descriptions, configurations, launch files.

The same package runs from a source checkout, from a pip installation and from a colcon workspace.
Each keeps these files somewhere else; this module knows where, without needing ROS.
"""

from __future__ import annotations

import os
import site
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from robot_dynamics_ros.errors import RobotDynamicsError

PACKAGE = "robot_dynamics_ros"


def _candidates() -> Iterator[Path]:
    """Directories that may hold the shared files, nearest to the running code first."""
    here = Path(__file__).resolve()
    # a source checkout, also seen through an editable or symlinked installation
    yield here.parents[1]
    # <prefix>/lib/pythonX.Y/site-packages and its distribution-specific variants
    for parent in here.parents[1:6]:
        yield parent / "share" / PACKAGE
    for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep):
        if prefix:
            yield Path(prefix) / "share" / PACKAGE
    for root in (sys.prefix, sys.base_prefix, site.getuserbase(), "/usr/local"):
        yield Path(root) / "share" / PACKAGE


@cache
def share_directory() -> Path:
    """Directory with ``urdf/``, ``config/`` and ``launch/``.

    Raises:
        RobotDynamicsError: the package was installed without its data files.
    """
    looked = []
    for directory in _candidates():
        if (directory / "urdf").is_dir() and (directory / "package.xml").is_file():
            return directory
        looked.append(str(directory))
    problem = "the files that ship with the package (urdf/, config/, launch/) were not found"
    remedy = (
        f"Reinstall the package with pip or colcon; looked in {', '.join(dict.fromkeys(looked))}."
    )
    raise RobotDynamicsError(problem, where="share directory", got=looked, remedy=remedy)
