"""Entry points of the executables.

Signals are taken care of before anything heavy is imported, so that a node that is stopped while it
starts ends as cleanly as one that runs.
"""

from __future__ import annotations

import errno
import gc
import os
import sys
from collections.abc import Callable
from importlib import import_module

from robot_dynamics_ros.ros.stop_request import StopRequest

_HELP_WORDS = frozenset({"-h", "--help"})
# what libraries say, as errors of many types, of a computer that is full: of memory, threads or
# open files
_EXHAUSTED = (
    *(os.strerror(number) for number in (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)),
    "failed to map segment",
    "can't start new thread",
)


def _explained(node: str, args: list[str] | None) -> bool:
    """Print the help of a node if the words ask for it."""
    words = sys.argv[1:] if args is None else args
    if _HELP_WORDS.isdisjoint(words):
        return False
    from robot_dynamics_ros.ros.node_help import node_help

    program = os.path.basename(sys.argv[0])
    if program in ("", "__main__.py", "main.py"):
        program = f"python -m robot_dynamics_ros.ros.main {node}"
    print(node_help(node, program))
    return True


def _started(
    run_node: Callable[[StopRequest, list[str] | None], int], args: list[str] | None
) -> int:
    """The exit code of a node; an error if the computer has no room left for it."""
    try:
        stop = StopRequest()
    except KeyboardInterrupt:
        # Ctrl-C before the first handler was in place: nothing has begun
        return 0
    # NumPy is not loaded yet; a node has no use for the threads of its BLAS, nor for their memory
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        return run_node(stop, args)
    except Exception as error:
        full = isinstance(error, MemoryError) or any(text in str(error) for text in _EXHAUSTED)
        if not full:
            raise
        lines = str(error).strip().splitlines() or [type(error).__name__]
        print(
            "error: this computer has no memory, threads or open files left for the node "
            f"({lines[-1].strip()}). End other programs, or raise the limits that `ulimit -a` "
            "shows.",
            file=sys.stderr,
        )
        return 1


def _executable(module: str, node: str) -> Callable[..., int]:
    def run_node(stop: StopRequest, args: list[str] | None) -> int:
        # until the node is made the garbage collector would find next to nothing
        gc.disable()
        try:
            make_node = getattr(import_module(f"robot_dynamics_ros.ros.{module}"), node)
            run = import_module("robot_dynamics_ros.ros.run").run
            # modules stay: nor need it look through them later
            gc.freeze()
            return int(run(make_node, stop, args))
        finally:
            gc.enable()

    def start(args: list[str] | None = None) -> int:
        if _explained(module.partition(".")[0], args):
            return 0
        return _started(run_node, args)

    return start


commissioning = _executable("commissioning", "CommissioningNode")
controller = _executable("controller.node", "ControllerNode")
effort_gate = _executable("effort_gate", "EffortGateNode")
payload_identification = _executable("payload_identification", "PayloadIdentificationNode")
simulator = _executable("simulator.node", "SimulatorNode")


def _run_viewer(stop: StopRequest, args: list[str] | None) -> int:
    print("the viewer starts: it loads its libraries", flush=True)
    import contextlib

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


def viewer(args: list[str] | None = None) -> int:
    """The executable ``viewer``."""
    if _explained("viewer", args):
        return 0
    return _started(_run_viewer, args)


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
