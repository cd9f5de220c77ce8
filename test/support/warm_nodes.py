"""Node processes that need not import everything anew: forks of one process that has.

Most of a node's start is the same for all: imports, libraries of message types, the files of the
control cycle's and the plant's routines.  A test of what a running node does loses nothing by such
a start; a test of the start itself begins a process of its own.

The process that forks reads one JSON object a line, ``{"words", "environment", "folder", "log"}``,
and writes one a line: ``{"pid"}`` of a child that runs, ``{"pid", "code"}`` of one that has ended.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from robot_dynamics_ros.cli.processes import NodeProcess

WARM = ("controller.node", "simulator.node", "effort_gate", "run")
"""Modules of ``robot_dynamics_ros.ros`` that are imported before the first fork."""
MESSAGES = re.compile(r"\w+\.(msg|srv)\._\w+")
"""Modules of message types."""
# s
ANSWER_S = 60.0
LOOK_AGAIN_S = 0.01


class WarmNodes:
    """The process that forks, as seen by a test."""

    def __init__(self) -> None:
        self._parent = subprocess.Popen(
            [sys.executable, "-m", "support.warm_nodes"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[1],
            start_new_session=True,
        )
        self.codes: dict[int, int] = {}
        self._rest = b""

    def start(self, name: str, arguments: Sequence[str], log: Path) -> WarmNode:
        """A node with the present environment and folder, its output in a file."""
        # whoever reads it may be there before the node
        log.write_bytes(b"")
        asked = {
            "words": [name, *arguments],
            "environment": dict(os.environ),
            "folder": os.getcwd(),
            "log": str(log),
        }
        self._parent.stdin.write(json.dumps(asked).encode() + b"\n")
        self._parent.stdin.flush()
        deadline = time.monotonic() + ANSWER_S
        begun = None
        while begun is None:
            assert self._parent.poll() is None and time.monotonic() < deadline, "no node was forked"
            begun = self.listen(LOOK_AGAIN_S)
        return WarmNode(self, name, begun, log)

    def listen(self, seconds: float = 0.0) -> int | None:
        """Take in what the process that forks has said; the number of a child that it began."""
        pipe = self._parent.stdout.fileno()
        begun = None
        while select.select([pipe], [], [], seconds)[0]:
            heard = os.read(pipe, 65536)
            if not heard:
                break
            *lines, self._rest = (self._rest + heard).split(b"\n")
            for line in map(json.loads, lines):
                if "code" in line:
                    self.codes[line["pid"]] = line["code"]
                else:
                    begun = line["pid"]
            seconds = 0.0
        return begun

    def close(self) -> None:
        """End the process that forks; its children are stopped before."""
        self._parent.stdin.close()
        self._parent.wait(ANSWER_S)
        self._parent.stdout.close()


class ForkedProcess:
    """What :class:`NodeProcess` uses of a process, for a fork of another one."""

    def __init__(self, nodes: WarmNodes, pid: int) -> None:
        self._nodes = nodes
        self.pid = pid

    def poll(self) -> int | None:
        self._nodes.listen()
        return self._nodes.codes.get(self.pid)

    def wait(self, timeout: float = ANSWER_S) -> int:
        deadline = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(str(self.pid), timeout)
            time.sleep(LOOK_AGAIN_S)
        return code

    def send_signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class WarmNode(NodeProcess):
    """A node that was forked."""

    def __init__(self, nodes: WarmNodes, name: str, pid: int, log: Path) -> None:
        self.name = name
        self.log = log
        self._process = ForkedProcess(nodes, pid)


# -- the process that forks -----------------------------------------------------------------------


def forked() -> list[str] | None:
    """The words of a node in each child; ``None`` in the parent, when nobody asks any more.

    Children do not outlive that: a test run that was killed stops none of its nodes.
    """
    running: set[int] = set()
    noticed, notice = os.pipe()
    os.set_blocking(notice, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(notice)
    unread = b""
    while True:
        ready = select.select([0, noticed], [], [])[0]
        if noticed in ready:
            os.read(noticed, 4096)
            ended = ended_children()
            running -= ended.keys()
            for pid, code in ended.items():
                say({"pid": pid, "code": code})
        if 0 not in ready:
            continue
        heard = os.read(0, 65536)
        if not heard:
            for pid in running:
                os.kill(pid, signal.SIGKILL)
            return None
        *lines, unread = (unread + heard).split(b"\n")
        for asked in map(json.loads, lines):
            pid = os.fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                os.close(noticed)
                os.close(notice)
                become(asked)
                return asked["words"]
            running.add(pid)
            say({"pid": pid})


def say(what: Mapping[str, int]) -> None:
    # whoever asked may be gone: the end of its questions says so, too
    with contextlib.suppress(BrokenPipeError):
        os.write(1, json.dumps(what).encode() + b"\n")


def ended_children() -> dict[int, int]:
    """Exit codes of the children that have ended; minus the signal's number if a signal killed
    one.
    """
    codes: dict[int, int] = {}
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            codes[pid] = os.waitstatus_to_exitcode(status)
    return codes


def become(asked: Mapping[str, object]) -> None:
    """Have session, folder, environment and output of a process begun as usual."""
    os.setsid()
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    nothing = os.open(os.devnull, os.O_RDONLY)
    log = os.open(asked["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    for file, place in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(file, place)
    os.close(nothing)
    os.close(log)
    sys.stdout.reconfigure(write_through=True)


def get_warm() -> None:
    """Do once what every node does at its start."""
    import inspect
    from importlib import import_module

    import numpy as np
    from rclpy.type_support import check_for_type_support

    import robot_dynamics_ros as rd

    for module in WARM:
        import_module(f"robot_dynamics_ros.ros.{module}")
    for name, module in list(sys.modules.items()):
        if MESSAGES.fullmatch(name):
            for kind in vars(module).values():
                if isinstance(kind, type) and hasattr(type(kind), "__import_type_support__"):
                    check_for_type_support(kind)
    # what is imported when the first one is made, the compiler, and routines as they are read
    model = rd.load_robot("two_link")
    rd.Plant(model, 1e-3)
    rd.JointController(model)
    # imports when it is first called
    np.percentile([0.0], 50.0)
    # where modules are, which the logger looks up for the first line that it writes
    inspect.getframeinfo(inspect.currentframe())


def main() -> int:
    import gc

    from robot_dynamics_ros.ros.main import EXECUTABLES

    get_warm()
    # a collection would look through, and copy, every page that parent and children share
    gc.collect()
    gc.freeze()
    words = forked()
    if words is None:
        return 0
    sys.argv[1:] = words[1:]
    return EXECUTABLES[words[0]]()


if __name__ == "__main__":
    sys.exit(main())
