"""``robot_dynamics payload``: tells the running controller what the arm carries."""

from __future__ import annotations

import argparse

from robot_dynamics_ros.cli.arguments import option
from robot_dynamics_ros.cli.hold import add_namespace
from robot_dynamics_ros.cli.output import result
from robot_dynamics_ros.cli.robots import parse_payload
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.ros.installation import need_ros

NO_PAYLOAD = "none"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "load",
        metavar="LINK:MASS[:X,Y,Z]",
        help="mass in kg fixed to a link, its centre of mass in the link's frame in m; none: no "
        "payload",
    )
    option(
        parser,
        "--inertia",
        float,
        "about the centre of mass, in the link's axes, kg m^2 (default: a point mass)",
        nargs=6,
        metavar=("XX", "XY", "XZ", "YY", "YZ", "ZZ"),
    )
    add_namespace(parser)


def run(options: argparse.Namespace) -> int:
    """Set the parameters, and wait until the payload is in force; 1 if it is refused or is not."""
    values: dict[str, object] = {"payload.mass": 0.0}
    text = NO_PAYLOAD
    if options.load != NO_PAYLOAD:
        try:
            link, mass, centre = parse_payload(options.load)
        except ValueError:
            problem = f"expected LINK:MASS or LINK:MASS:X,Y,Z, got {options.load[:80]!r}"
            remedy = "For example tool0:2.5:0,0,0.1, with the mass in kg and the point in m."
            raise ArgumentError(problem, where="payload", remedy=remedy) from None
        values = {
            "payload.link": link,
            "payload.mass": mass,
            "payload.com": centre,
            "payload.inertia": list(options.inertia or (0.0,) * 6),
        }
        text = f"{mass:g} kg on {link!r}"
    need_ros("payload")
    from robot_dynamics_ros.ros.controller_client import ControllerClient

    with ControllerClient(namespace=options.namespace) as client:
        refused = client.set_parameters(values)
        missing = "" if refused else client.wait_for_payload(text)
    if refused:
        said = f"NOT ACCEPTED: {refused}"
    elif missing:
        said = f"NOT IN FORCE: {missing}"
    else:
        said = f"payload     {text}"
    reason = refused or missing
    data = {"accepted": not refused, "in_force": not reason, "reason": reason}
    result(options, data, said)
    return 1 if reason else 0
