"""Requests of strangers: an exception in a service's callback is answered and reported, it ends no node."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from rclpy.node import Node

Message: TypeAlias = object
"""A request or a response of any service."""


def guard_services(node: Node, report: Callable[[str, str], None]) -> None:
    """Wrap the callbacks of a node's services, rclpy's own included; those wrapped already stay as they are.

    rclpy lets exceptions through that a request can provoke: a lifecycle transition that the present state does not
    have, a parameter of a type that does not exist.  Uncaught they end the process, and the caller waits in vain.
    A request that fails is answered with the response as it then is, for services that have ``success`` with false.
    """
    for service in node.services:
        if not hasattr(service.callback, "guarded"):
            service.callback = _guarded(service.callback, service.srv_name, report)


def _guarded(
    callback: Callable[..., Message | Awaitable[Message]], name: str, report: Callable[[str, str], None]
) -> Callable[..., object]:
    def failed(error: Exception, response: Message) -> Message:
        report("bad_request", f"a request to {name} failed: {type(error).__name__}: {error}")
        if hasattr(response, "success"):
            response.success = False
        return response

    def guarded(request: Message, response: Message) -> object:
        try:
            return callback(request, response)
        except Exception as error:  # noqa: BLE001 (whatever it is, it belongs to the request)
            return failed(error, response)

    async def guarded_coroutine(request: Message, response: Message) -> object:
        try:
            return await callback(request, response)  # type: ignore[misc]
        except Exception as error:  # noqa: BLE001
            return failed(error, response)

    outer = guarded_coroutine if inspect.iscoroutinefunction(callback) else guarded
    outer.guarded = True  # type: ignore[attr-defined]
    return outer
