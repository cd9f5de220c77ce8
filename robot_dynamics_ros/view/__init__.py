"""Looking at a robot: in a browser, live and from recordings, as a page without a server, and as figures for papers.

The package can be called: ``rd.view(model, q_or_run)`` opens a page.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from robot_dynamics_ros.model.published import publish
from robot_dynamics_ros.view.drawing import draw
from robot_dynamics_ros.view.opening import view as open_view

__all__ = ["draw", "open_view"]


publish(__name__)


class _Callable(ModuleType):
    """The package ``view`` is a function, too."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return open_view(*arguments, **options)


_Callable.__call__.__doc__ = open_view.__doc__
sys.modules[__name__].__class__ = _Callable
