"""Entry points of the executables.

Signals are taken care of before anything heavy is imported, so that a node that is stopped while it starts ends as
cleanly as one that runs.
"""

from __future__ import annotations

import contextlib
import sys

from robot_dynamics_ros.ros.stop_request import StopRequest


def controller(args: list[str] | None = None) -> int:
    """The executable ``controller``."""
    stop = StopRequest()
    from robot_dynamics_ros.ros.controller.node import ControllerNode
    from robot_dynamics_ros.ros.run import run

    return run(ControllerNode, stop, args)


def simulator(args: list[str] | None = None) -> int:
    """The executable ``simulator``."""
    stop = StopRequest()
    from robot_dynamics_ros.ros.run import run
    from robot_dynamics_ros.ros.simulator.node import SimulatorNode

    return run(SimulatorNode, stop, args)


def effort_gate(args: list[str] | None = None) -> int:
    """The executable ``effort_gate``."""
    stop = StopRequest()
    from robot_dynamics_ros.ros.gate.node import EffortGateNode
    from robot_dynamics_ros.ros.run import run

    return run(EffortGateNode, stop, args)


def payload_identification(args: list[str] | None = None) -> int:
    """The executable ``payload_identification``."""
    stop = StopRequest()
    from robot_dynamics_ros.ros.payload_identification import PayloadIdentificationNode
    from robot_dynamics_ros.ros.run import run

    return run(PayloadIdentificationNode, stop, args)


def commissioning(args: list[str] | None = None) -> int:
    """The executable ``commissioning``."""
    stop = StopRequest()
    from robot_dynamics_ros.ros.commissioning.node import CommissioningNode
    from robot_dynamics_ros.ros.run import run

    return run(CommissioningNode, stop, args)


def viewer(args: list[str] | None = None) -> int:
    """The executable ``viewer``."""
    stop = StopRequest()
    print("the viewer starts: it loads its libraries", flush=True)
    from robot_dynamics_ros.ros.run import run
    from robot_dynamics_ros.ros.transport.realtime import yield_to_others
    from robot_dynamics_ros.ros.viewer.node import ViewerNode

    with contextlib.suppress(ImportError):  # the node says what is missing
        import viser  # noqa: F401

    # before the middleware starts its threads, and not before a second's work that would take minutes on a busy machine
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
        sys.exit(f"usage: python -m robot_dynamics_ros.ros.main {'|'.join(EXECUTABLES)} [--ros-args …]")
    sys.exit(EXECUTABLES[node]())
