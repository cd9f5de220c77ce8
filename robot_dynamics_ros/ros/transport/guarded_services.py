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

    Args:
        report: called with a cause and a sentence.
    """
    for service in node.services:
        if isinstance(service.callback, _Guarded) or getattr(service.callback, "guarded", False):
            continue
        guarded = _Guarded(service.callback, service.srv_name, report)
        service.callback = guarded if not inspect.iscoroutinefunction(service.callback) else guarded.coroutine()


class _Guarded:
    def __init__(self, callback: Callable[..., Message], name: str, report: Callable[[str, str], None]) -> None:
        self._callback, self._name, self._report = callback, name, report

    def __call__(self, request: Message, response: Message) -> Message:
        try:
            return self._callback(request, response)
        except Exception as error:  # noqa: BLE001 (whatever it is, it belongs to the request)
            return self._failed(error, response)

    def coroutine(self) -> Callable[..., Awaitable[Message]]:
        """The same for a callback that takes its time: rclpy awaits functions, not objects."""

        async def guarded(request: Message, response: Message) -> Message:
            try:
                return await self._callback(request, response)  # type: ignore[misc]
            except Exception as error:  # noqa: BLE001
                return self._failed(error, response)

        guarded.guarded = True  # type: ignore[attr-defined]
        return guarded

    def _failed(self, error: Exception, response: Message) -> Message:
        self._report("bad_request", f"a request to {self._name} failed: {type(error).__name__}: {error}")
        if hasattr(response, "success"):
            response.success = False
        return response
