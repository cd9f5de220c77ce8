"""Nodes as child processes: started, watched, and stopped by their own id."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from robot_dynamics_ros.cli.signals import held_back


class NodeProcess:
    """One node in a process of its own, its output in a file; ``environment`` is added to that of
    this process.
    """

    def __init__(
        self,
        name: str,
        arguments: Sequence[str],
        log: Path,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.log = log
        # once it runs, it is known to us
        with held_back(), open(log, "wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "robot_dynamics_ros.ros.main", name, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, "PYTHONUNBUFFERED": "1", **(environment or {})},
                # Ctrl-C reaches this process only, which then stops its children in order
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """``None`` while it runs; minus the signal's number if a signal killed it."""
        return self._process.poll()

    def output(self) -> str:
        """Everything that it has written so far."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def send(self, number: int) -> None:
        """Send a signal, if it still runs."""
        if self.exit_code is None:
            self._process.send_signal(number)

    def wait(self, timeout: float) -> int | None:
        """Wait for its end; ``None`` if it goes on running."""
        try:
            return self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            return None

    def stop(self, number: int = signal.SIGINT, timeout: float = 10.0) -> int:
        """Ask it to stop, wait, kill it if it does not; its exit code."""
        # a second Ctrl-C must not leave it running
        with held_back():
            self.send(number)
            code = self.wait(timeout)
            if code is None:
                self._process.kill()
                code = self._process.wait()
        return code

    def kill(self) -> None:
        """End it at once; only for one that nothing depends on."""
        with held_back():
            if self.exit_code is None:
                self._process.kill()
                self._process.wait()

    def wait_for_output(self, text: str, timeout: float) -> bool:
        """Wait until it has written ``text``; ``False`` if it ends or time is up before."""
        deadline = time.monotonic() + timeout
        while True:
            if text in self.output():
                return True
            if self.exit_code is not None or time.monotonic() > deadline:
                return text in self.output()
            time.sleep(0.02)

    def __enter__(self) -> NodeProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


# s that processes of an interrupted command get to end by themselves
INTERRUPTED_PATIENCE = 0.4


def end_at_once(processes: Iterable[NodeProcess]) -> None:
    """End processes of a command that a person has interrupted: all are asked together, and what
    still starts or compiles is killed.  Only for a robot that is simulated.
    """
    running = [process for process in processes if process.exit_code is None]
    with held_back():
        for process in running:
            process.send(signal.SIGINT)
        deadline = time.monotonic() + INTERRUPTED_PATIENCE
        for process in running:
            if process.wait(max(0.0, deadline - time.monotonic())) is None:
                process.kill()
