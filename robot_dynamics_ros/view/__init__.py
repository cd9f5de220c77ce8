"""Looking at a robot: in a browser, live and from recordings, as a page without a server, and as
figures for papers.

The package can be called: ``rd.view(model, q_or_run)`` opens a page.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.model.published import publish
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.model.urdf_source import UrdfInput
from robot_dynamics_ros.view.drawing import draw

if TYPE_CHECKING:
    from robot_dynamics_ros.model.geometry import Looks
    from robot_dynamics_ros.view.viewer import Viewer

__all__ = ["draw", "open_view"]


def open_view(
    model: RobotModel,
    what: Any = None,
    *,
    reference: ArrayLike | None = None,
    external: Mapping[str, ArrayLike] | None = None,
    urdf: UrdfInput | Looks | None = None,
    directory: str | os.PathLike[str] | None = None,
    host: str = "127.0.0.1",
    port: int = 8080,
    open_browser: bool = False,
    report: Callable[[str, str], None] | None = None,
) -> Viewer:
    """Show a robot in a browser.

    Args:
        model: the robot.
        what: a configuration, (nq,) or a name, which sliders change, the initial one if not given;
            or a motion: a run of ``simulate``, a recording, or a pair (t, q) of arrays (n,) and (n,
            nq).
        reference: (n, nq) the desired motion, shown as a transparent robot.
        external: link name → (6,) wrench on it, or (n, 6) with a motion, [moment; force] in link
            axes.
        urdf: source of the geometry, for a model that was made or edited; or the geometry itself,
            from ``read_looks``, whose ``dressed`` hides links and gives them colours.
        directory: where relative mesh addresses start; by default the URDF's folder.
        host: address to listen on; only this machine can reach the default.
        port: TCP port; the next free one if it is taken, any free one if 0.
        open_browser: open the page at once.
        report: called with (cause, sentence) for input of a browser that is refused; the log by
            default.

    Returns:
        the viewer, which continues in the background: ``address`` to open, ``show(q)``,
        ``picture(path)``, ``wait()``, ``close()``.

    Raises:
        BackendError: viser is not installed.
        ArgumentError: what is to be shown has the wrong shape, or the address is not this
            machine's.
    """
    from robot_dynamics_ros.model.geometry import Looks, read_looks
    from robot_dynamics_ros.view.source import MotionSource, PoseSource, ShownMotion, Source
    from robot_dynamics_ros.view.viewer import Viewer

    source: Source
    if isinstance(what, (str, Mapping)):
        what = model.configuration(what)
    try:
        still = what is None or (
            not isinstance(what, ShownMotion) and np.ndim(np.asarray(what, dtype=float)) == 1
        )
    except (TypeError, ValueError):
        # no numbers
        still = False
    if still:
        source = PoseSource(model, what, external=external)
    else:
        source = MotionSource(ShownMotion.of(model, what, reference=reference, external=external))
    if isinstance(urdf, Looks):
        looks = urdf
    else:
        looks = read_looks(model, urdf, directory)
    viewer = Viewer(host=host, port=port, title=source.name, report=report)
    viewer.add(source, looks=looks)
    if open_browser:
        viewer.window.open()
    return viewer


publish(__name__)


class _Callable(ModuleType):
    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return open_view(*arguments, **options)

    __call__.__doc__ = open_view.__doc__


sys.modules[__name__].__class__ = _Callable
