"""Entry points of the executables.

Signals are taken care of before anything heavy is imported, so that a node that is stopped while it
starts ends as cleanly as one that runs.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from robot_dynamics_ros.ros.stop_request import StopRequest

_HELP_WORDS = frozenset({"-h", "--help"})


def _explained(node: str, args: list[str] | None) -> bool:
    """Print the help of a node if the words ask for it."""
    words = sys.argv[1:] if args is None else args
    if _HELP_WORDS.isdisjoint(words):
        return False
    from robot_dynamics_ros.ros.node_help import node_help

    program = Path(sys.argv[0]).name
    if program in ("", "__main__.py", "main.py"):
        program = f"python -m robot_dynamics_ros.ros.main {node}"
    print(node_help(node, program))
    return True


def _executable(module: str, node: str) -> Callable[..., int]:
    def start(args: list[str] | None = None) -> int:
        if _explained(module.partition(".")[0], args):
            return 0
        stop = StopRequest()
        make_node = getattr(import_module(f"robot_dynamics_ros.ros.{module}"), node)
        return import_module("robot_dynamics_ros.ros.run").run(make_node, stop, args)

    return start


commissioning = _executable("commissioning", "CommissioningNode")
controller = _executable("controller.node", "ControllerNode")
effort_gate = _executable("effort_gate", "EffortGateNode")
payload_identification = _executable("payload_identification", "PayloadIdentificationNode")
simulator = _executable("simulator.node", "SimulatorNode")


def viewer(args: list[str] | None = None) -> int:
    """The executable ``viewer``."""
    if _explained("viewer", args):
        return 0
    stop = StopRequest()
    print("the viewer starts: it loads its libraries", flush=True)
    from robot_dynamics_ros.ros.run import run
    from robot_dynamics_ros.ros.transport.realtime import yield_to_others
    from robot_dynamics_ros.ros.viewer import ViewerNode

    # the node says what is missing
    with contextlib.suppress(ImportError):
        import viser  # noqa: F401

    # before the middleware starts its threads, and not before a second's work that would take
    # minutes on a busy machine
    yield_to_others()
    return run(ViewerNode, stop, args)


EXECUTABLES = {
    "commissioning": commissioning,
    "controller": controller,
    "effort_gate": effort_gate,
    "payload_identification": payload_identification,
    "simulator": simulator,
    "viewer": viewer,
}

if __name__ == "__main__":
    node = sys.argv.pop(1) if len(sys.argv) > 1 else ""
    if node not in EXECUTABLES:
        sys.exit(
            f"usage: python -m robot_dynamics_ros.ros.main {'|'.join(EXECUTABLES)} [--ros-args …]"
        )
    sys.exit(EXECUTABLES[node]())
