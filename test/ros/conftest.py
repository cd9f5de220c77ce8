"""Fixtures of the tests that run nodes over the real middleware; ``HALTS=SEED`` halts those nodes
at random.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator

import pytest
from support.domains import private_domain
from support.halts import halted_at_random
from support.warm_nodes import WarmNodes

from robot_dynamics_ros.cli.processes import NodeProcess


@pytest.fixture(scope="session", autouse=True)
def halts() -> Iterator[None]:
    """``HALTS=SEED``: the tests' processes are halted at random moments."""
    if "HALTS" not in os.environ:
        yield
        return
    with halted_at_random(os.environ["HALTS"]):
        yield


@pytest.fixture
def domain(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A ROS domain of the test's own; processes it starts inherit it."""
    with private_domain() as number:
        monkeypatch.setenv("ROS_DOMAIN_ID", str(number))
        yield number


@pytest.fixture
def peer(domain: int) -> Iterator[object]:
    """This process as a node: a :class:`support.peer.Peer`."""
    from support.peer import Peer

    with Peer(domain) as node:
        yield node


@pytest.fixture(scope="session")
def forking() -> Iterator[WarmNodes]:
    nodes = WarmNodes()
    yield nodes
    nodes.close()


@pytest.fixture
def warm(forking: WarmNodes) -> Callable[..., NodeProcess]:
    """Modules whose tests use it start nodes that need not import everything anew."""
    return forking.start


@pytest.fixture
def start(
    domain: int, tmp_path, request: pytest.FixtureRequest
) -> Iterator[Callable[..., NodeProcess]]:
    """``start("simulator", parameter=value, …)``: a node in a process of its own, ended after the
    test.

    Double underscores in parameter names stand for dots; ``remap={"from": "to"}`` remaps;
    ``cold`` begins a process that imports everything, whatever the module asks for.  A
    controller waits a minute for joint states if nothing else is given: a machine that stops this
    process for a moment must not bring the safe command.  A simulator has no brakes if nothing else
    is given: what tests push and let fall must move.
    """
    running: list[NodeProcess] = []
    make = request.getfixturevalue("warm") if "warm" in request.fixturenames else NodeProcess

    def text(value: object) -> str:
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, list | tuple):
            return "[" + ", ".join(text(item) for item in value) + "]"
        return str(value)

    def begin(
        name: str,
        remap: dict[str, str] | None = None,
        params_file: object = None,
        cold: bool = False,
        **parameters: object,
    ) -> NodeProcess:
        if name == "controller":
            parameters = {"state_timeout": 60.0, **parameters}
        if name == "simulator":
            parameters = {"holding_brakes": False, **parameters}
        arguments = ["--ros-args", *(["--params-file", str(params_file)] if params_file else [])]
        for key, value in parameters.items():
            arguments += ["-p", f"{key.replace('__', '.')}:={text(value)}"]
        for old, new in (remap or {}).items():
            arguments += ["-r", f"{old}:={new}"]
        begin_process = NodeProcess if cold else make
        process = begin_process(name, arguments, tmp_path / f"{name}{len(running)}.log")
        running.append(process)
        return process

    yield begin
    for process in running:
        process.stop(signal.SIGTERM, 20.0)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Show what the nodes wrote when a test fails."""
    outcome = yield
    report = outcome.get_result()
    directory = item.funcargs.get("tmp_path") if hasattr(item, "funcargs") else None
    if report.failed and directory is not None:
        for log in sorted(directory.glob("*.log")):
            report.sections.append((log.name, log.read_text(errors="replace")[-6000:]))
