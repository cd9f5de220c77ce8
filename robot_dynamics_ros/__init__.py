"""Robot dynamics for ROS 2: a URDF in, efforts, joint wrenches and a stand-in robot out.

>>> import robot_dynamics_ros as rd
>>> model = rd.limb(2)
>>> rd.gravity_forces(model, [0.0, 0.0]).shape
(2,)

Nothing here needs ROS; the nodes live in :mod:`robot_dynamics_ros.ros`.  Names are brought in on
first use, so that importing the package costs no more than NumPy does.  ``help(rd)`` lists them by
part.
"""

import sys as _sys
from importlib import import_module as _import_module
from types import ModuleType as _ModuleType
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

if _TYPE_CHECKING:
    from robot_dynamics_ros import commissioning as commissioning
    from robot_dynamics_ros.control import *  # noqa: F403
    from robot_dynamics_ros.dynamics import *  # noqa: F403
    from robot_dynamics_ros.equations import *  # noqa: F403
    from robot_dynamics_ros.errors import *  # noqa: F403
    from robot_dynamics_ros.export import *  # noqa: F403
    from robot_dynamics_ros.frameworks import *  # noqa: F403
    from robot_dynamics_ros.identification import *  # noqa: F403
    from robot_dynamics_ros.model import *  # noqa: F403
    from robot_dynamics_ros.simulation import *  # noqa: F403
    from robot_dynamics_ros.view import *  # noqa: F403

from robot_dynamics_ros.version import __version__ as __version__

PARTS = {
    "model": "Robots",
    "dynamics": "Dynamics",
    "control": "Control",
    "simulation": "Simulation",
    "identification": "Identification",
    "equations": "Equations in symbols",
    "export": "Export",
    "frameworks": "JAX, CasADi, PyTorch",
    "view": "Pictures and browser",
    "errors": "Errors",
}
"""Packages whose public names are names of this package, too, and their titles: those first that
most people need, as in each ``__all__``.
"""
# the first keeps its names to itself, the second can be called
_FOLDERS = (
    "commissioning",
    "view",
)


def _names_of(part: str) -> list[str]:
    return list(_import_module(f"{__name__}.{part}").__all__)


def __getattr__(name: str) -> _Any:
    if name in ("__all__", *_FOLDERS):
        if name == "__all__":
            return __dir__()
        return _import_module(f"{__name__}.{name}")
    if not name.startswith("_"):
        for part in PARTS:
            if name in _names_of(part):
                value = globals()[name] = getattr(_import_module(f"{__name__}.{part}"), name)
                return value
    from robot_dynamics_ros.dynamics.other_libraries import USUAL_NAMES

    if name in USUAL_NAMES:
        here = f": it is rd.{USUAL_NAMES[name]} here"
    else:
        here = ""
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{here}")


def __dir__() -> list[str]:
    return sorted({name for part in PARTS for name in _names_of(part)}.union(_FOLDERS))


class _Package(_ModuleType):
    """The package, whose documentation lists the public names."""

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        from textwrap import fill

        groups = (
            f"{title}:\n" + fill(", ".join(_names_of(part)), 110) for part, title in PARTS.items()
        )
        return "\n\n".join([vars(self)["__doc__"].rstrip(), *groups]) + "\n"


_sys.modules[__name__].__class__ = _Package
