"""Robot dynamics for ROS 2: a URDF in, efforts, joint wrenches and a stand-in robot out.

>>> import robot_dynamics_ros as rd
>>> model = rd.limb(2)
>>> rd.gravity_forces(model, [0.0, 0.0]).shape
(2,)

Nothing here needs ROS; the nodes live in :mod:`robot_dynamics_ros.ros`.  Names are brought in on first use, so that
importing the package costs no more than NumPy does.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from robot_dynamics_ros.dynamics import *  # noqa: F403
    from robot_dynamics_ros.errors import *  # noqa: F403
    from robot_dynamics_ros.model import *  # noqa: F403
    from robot_dynamics_ros.view import draw as draw

__version__ = "0.2.0"
_HOMES = (
    "model",
    "dynamics",
    "errors",
    "control",
    "simulation",
    "identification",
    "equations",
    "export",
    "frameworks",
    "view",
)


def __getattr__(name: str) -> Any:
    if name == "view":  # a package that can be called
        return _import_module(f"{__name__}.view")
    if not name.startswith("_"):
        for home in _HOMES:
            module = _import_module(f"{__name__}.{home}")
            if name in getattr(module, "__all__", ()):
                value = globals()[name] = getattr(module, name)
                return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    names = set(globals())
    for home in _HOMES:
        names |= set(getattr(_import_module(f"{__name__}.{home}"), "__all__", ()))
    return sorted(names)
