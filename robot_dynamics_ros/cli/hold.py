"""``robot_dynamics hold``: the running controller stops the arm where it is, and holds it."""

from __future__ import annotations

import argparse

from robot_dynamics_ros.cli.arguments import option
from robot_dynamics_ros.cli.output import result
from robot_dynamics_ros.ros.installation import need_ros


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_namespace(parser)


def add_namespace(parser: argparse.ArgumentParser) -> None:
    """The option of all commands that speak to a running controller."""
    option(parser, "--namespace", str, "namespace of the controller (default: none)", "")


def run(options: argparse.Namespace) -> int:
    """Ask for it; 1 if the controller says that it cannot."""
    need_ros("hold")
    from robot_dynamics_ros.ros.controller_client import ControllerClient

    with ControllerClient(namespace=options.namespace) as client:
        done, text = client.hold()
    said = text if done else f"NOT HOLDING: {text}"
    result(options, {"holding": done, "message": text}, said)
    return 0 if done else 1
