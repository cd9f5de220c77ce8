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
    """Ask for it, and wait until the arm stands; 1 if the controller cannot, or the arm moves."""
    need_ros("hold")
    from robot_dynamics_ros.ros.controller_client import ControllerClient

    with ControllerClient(namespace=options.namespace) as client:
        done, text = client.hold()
        failure = client.comes_to_rest() if done else text
    if failure:
        said = f"NOT HOLDING: {failure}"
    else:
        said = f"{text}: the arm stands"
    result(options, {"holding": not failure, "message": failure or text}, said)
    return 1 if failure else 0
