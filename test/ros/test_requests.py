"""Requests that nobody could have meant, to every service of every node: each is answered, and no
node ends.
"""

from __future__ import annotations

import array
import contextlib
import importlib
import random

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from std_srvs.srv import Trigger
from support.peer import CONTROLLER

from robot_dynamics_ros.ros.transport.qos import MANY_REQUESTS

pytestmark = [pytest.mark.middleware, pytest.mark.usefixtures("warm")]

NODES = ("controller", "simulator", "effort_gate")
REQUESTS = 4
WORDS = (
    "",
    "law",
    "joints",
    "gains.shoulder.p",
    "x" * 3000,
    "..",
    "a.b",
    "é",
    "use_sim_time",
    "qos_overrides./x",
    "\n",
)
NUMBERS = (0, 1, 2, 3, 5, 9, 99, 255, 2**31 - 1)


def fill(message, dice: random.Random) -> None:
    """Random values in every field, as far as the field's type takes them."""
    for field, kind in message.get_fields_and_field_types().items():
        value = getattr(message, field)
        with contextlib.suppress(AssertionError):
            if isinstance(value, bool):
                setattr(message, field, dice.random() < 0.5)
            elif isinstance(value, int):
                setattr(message, field, dice.choice(NUMBERS))
            elif isinstance(value, float):
                setattr(message, field, dice.choice([float("nan"), float("inf"), 1e308, -1.0]))
            elif isinstance(value, str):
                setattr(message, field, dice.choice(WORDS))
            elif isinstance(value, array.array):
                setattr(message, field, array.array(value.typecode, [1] * dice.choice([0, 2])))
            elif isinstance(value, list):
                setattr(message, field, some(kind.removeprefix("sequence<").rstrip(">"), dice))
            elif hasattr(value, "get_fields_and_field_types"):
                fill(value, dice)


def some(kind: str, dice: random.Random) -> list:
    """Elements of a sequence."""
    count = dice.choice([0, 1, 3])
    if "/" not in kind:
        return [dice.choice(WORDS) for _ in range(count)]
    package, name = kind.split("/")
    made = [getattr(importlib.import_module(f"{package}.msg"), name)() for _ in range(count)]
    for message in made:
        fill(message, dice)
    return made


def class_of(kind: str) -> type:
    """The class of a service, also of one that an action is made of:
    ``package/action/Name_SendGoal``.
    """
    package, folder, name = kind.split("/")
    module = importlib.import_module(f"{package}.{folder}")
    if folder == "srv":
        return getattr(module, name)
    name, part = name.rsplit("_", 1)
    return getattr(getattr(module, name).Impl, f"{part}Service")


def test_every_request_is_answered(peer, start):
    nodes = {name: start(name, robot_description_file="two_link") for name in NODES}

    def services() -> list[tuple[str, list[str]]]:
        return [x for x in peer.node.get_service_names_and_types() if not x[0].startswith("/peer/")]

    def complete() -> bool:
        names = [name for name, _ in services()]
        return all(
            any(name.endswith(f"/{last}") for name in names)
            for last in ("hold", "reset_world", "stop")
        )

    peer.wait(complete, "the services of all nodes")
    dice = random.Random(5)
    for name, (kind, *_) in sorted(services()):
        service = class_of(kind)
        requests = [service.Request() for _ in range(REQUESTS)]
        for request in requests:
            fill(request, dice)
        # fails without an answer
        peer.call_again(service, name, requests)
        assert [node.exit_code for node in nodes.values()] == [None] * len(nodes), (name, requests)
    assert not any("Traceback" in node.output() for node in nodes.values())


@pytest.mark.parametrize(
    ("node", "service"),
    [("controller", f"{CONTROLLER}/hold"), ("effort_gate", "effort_gate/reset")],
)
def test_a_thousand_requests_at_once_are_all_answered(peer, start, node, service):
    start(node, robot_description_file="two_link")
    client = peer.node.create_client(Trigger, service, qos_profile=MANY_REQUESTS)
    peer.wait(client.service_is_ready, service)
    first = client.call_async(Trigger.Request())
    # the way back is there too
    peer.wait(first.done, "a first answer")
    asked = [client.call_async(Trigger.Request()) for _ in range(1000)]
    peer.wait(lambda: all(future.done() for future in asked), "all answers", 120.0)
    assert all(future.result().message for future in asked)
