"""Running a node as a process: parameter files, executor, end, exit code."""

from __future__ import annotations

import gc
import itertools
import os
import re
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import rclpy
import yaml
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor
from rclpy.logging import get_logger, get_logging_directory
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.ros.stop_request import StopRequest
from robot_dynamics_ros.ros.transport.executors import FocusedExecutor, PacedExecutor
from robot_dynamics_ros.ros.transport.reports import guard_services

# s that results of goals may take to be ready at the end.
LAST_WORDS = 0.5
# s that they may then take to go out: rclpy sends them in a callback of its own.
DELIVERY = 0.1
# how long another thread may keep the cycle's from going on, s
SWITCH = 1e-4


def _executor(name: str, node: Node) -> Executor:
    if name == "focused":
        return FocusedExecutor(node)
    if name == "paced":
        return PacedExecutor(node, node.parameters["rate"])
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    return executor


def _log_once(said: set[str], text: Warning | str, *_: object, **__: object) -> None:
    """Log a warning, unless it was logged: settings are read several times."""
    if str(text) not in said:
        said.add(str(text))
        get_logger("robot_dynamics").warning(str(text))


def run(
    make_node: Callable[[], Node],
    stop: StopRequest,
    args: Sequence[str] | None = None,
) -> int:
    """Make the node and spin it until it is asked to stop; returns the exit code.

    This is the one place in which processes end: the flag of a signal, ``finish()`` with the safe
    command, delivery, results of goals, and the end of the middleware, in this order.  A garbage
    collector that is off is on again once the node is made.

    The node must have ``parameters``, with ``executor`` if it has a choice, and ``finish()``, which
    is called while the middleware still works, so that a last message can go out; it must also wake
    the executor now and then with a timer, since a signal is seen only between two callbacks.  With
    ``rejections`` exceptions are reported there; with ``unfinished`` the executor spins on for a
    moment after ``finish()`` while it is true.
    """
    arguments = list(sys.argv if args is None else args)
    unwritable = folder_without_logs()
    if unwritable:
        arguments += ["--ros-args", "--disable-external-lib-logs"]
    try:
        # rclpy's own handlers shut the middleware down at once, and the last command could not be
        # sent any more
        rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
    # rclpy has several kinds of errors, and none says more than its text
    except Exception as error:  # noqa: BLE001
        print(f"error: {unreadable(arguments) or error}", file=sys.stderr)
        return 1
    # a thread that prepares a payload or a trajectory gives the interpreter back this soon, in
    # place of 5 ms
    sys.setswitchinterval(SWITCH)
    node = None
    finished = False
    shown = warnings.showwarning
    warnings.showwarning = partial(_log_once, set())
    try:
        if stop:
            return 0
        node = make_node()
        gc.enable()
        for sentence in for_other_nodes(arguments, node.get_fully_qualified_name()):
            node.get_logger().warning(sentence)
        if unwritable:
            node.get_logger().warning(
                f"there is no log file: {unwritable}. Set ROS_LOG_DIR to a folder that can be "
                "written."
            )
        report = getattr(getattr(node, "rejections", None), "report", _print)
        guard_services(node, report)
        executor = _executor(node.parameters.get("executor", "single_threaded"), node)
        while not stop:
            _spin_once(executor, report)
        finished = True
        node.finish()
        if getattr(node, "unfinished", False):
            _spin_while(lambda: node.unfinished, LAST_WORDS, executor, report)
            # rclpy answers in callbacks that follow
            _spin_while(lambda: True, DELIVERY, executor, report)
        executor.remove_node(node)
        return 0
    except ExternalShutdownException:
        return 0
    except RobotDynamicsError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    finally:
        warnings.showwarning = shown
        stop.close()
        try:
            if node is not None:
                if not finished:
                    node.finish()
                node.destroy_node()
        finally:
            rclpy.try_shutdown()


def _spin_once(
    executor: Executor,
    report: Callable[[str, str], None],
    timeout: float | None = None,
) -> None:
    """One callback.

    An exception in it, caused by a message or a request, is reported, and the node goes on.
    """
    try:
        executor.spin_once(timeout_sec=timeout)
    except ExternalShutdownException:
        raise
    except Exception as error:  # noqa: BLE001
        where = traceback.extract_tb(error.__traceback__)[-1]
        report(
            "unexpected_error",
            f"unexpected {type(error).__name__} in {where.filename}, line {where.lineno}: "
            f"{error}; the node continues",
        )


def _spin_while(
    condition: Callable[[], bool],
    timeout: float,
    executor: Executor,
    report: Callable[[str, str], None],
) -> None:
    deadline = time.monotonic() + timeout
    while condition() and time.monotonic() < deadline:
        _spin_once(executor, report, 0.01)


def _print(_cause: str, text: str) -> None:
    print(f"warning: {text}", file=sys.stderr)


def folder_without_logs() -> str:
    """A sentence about the folder of log files if it cannot be written, as on a read-only file
    system, where rclpy would refuse to start; empty if it can be.
    """
    folder = get_logging_directory()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return f"{folder}: {error.strerror}"
    if not os.access(folder, os.W_OK):
        return f"{folder} cannot be written"
    return ""


def unreadable(args: Sequence[str]) -> str:
    """A sentence about the first parameter file among the arguments that cannot be read; empty if
    all can be.
    """
    for name in _files(args):
        try:
            with open(name, encoding="utf-8") as file:
                yaml.load(file, yaml.BaseLoader)
        except OSError as error:
            return f"parameter file {name}: {error.strerror}"
        except UnicodeDecodeError:
            return f"parameter file {name}: it is not UTF-8 text"
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            if mark is not None:
                line = f", line {mark.line + 1}"
            else:
                line = ""
            return f"parameter file {name}{line}: {getattr(error, 'problem', None) or error}"
    return ""


def for_other_nodes(args: Sequence[str], node: str) -> Iterator[str]:
    """A sentence about each parameter file that has nothing for ``node``, named with its namespace,
    but for others.
    """
    for name in _files(args):
        with open(name, encoding="utf-8") as file:
            addresses = list(_addresses(yaml.load(file, yaml.BaseLoader)))
        if addresses and not any(_pattern(address).fullmatch(node) for address in addresses):
            yield (
                f"parameter file {name} has nothing for {node}, only for {', '.join(addresses)}; "
                f"name it {node} or /** there"
            )


def _files(args: Sequence[str]) -> list[str]:
    return [name for option, name in itertools.pairwise(args) if option == "--params-file"]


def _addresses(tree: object, path: str = "") -> Iterator[str]:
    if isinstance(tree, dict):
        for key, value in tree.items():
            if key == "ros__parameters":
                yield path
            else:
                yield from _addresses(value, f"{path}/{str(key).strip('/')}")


def _pattern(address: str) -> re.Pattern[str]:
    """The names of nodes that an address reaches: ``**`` is any namespaces, ``*`` one word."""
    words = {"**": "(/[^/]+)*", "*": "/[^/]+"}
    return re.compile(
        "".join(words.get(word, "/" + re.escape(word)) for word in address.split("/")[1:])
    )
