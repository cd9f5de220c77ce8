"""What all tests share."""

from __future__ import annotations

import gc
import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from robot_dynamics_ros.dynamics.engine.codegen.native import OPTIMIZE_ENVIRONMENT

# With Python's own 700, symbolic tests spend an eighth of their time on a search that finds little.
_OBJECTS_BEFORE_COLLECTION = 50_000
# what is compiled while tests are collected
os.environ[OPTIMIZE_ENVIRONMENT] = "off"
# nothing that a test starts may meet a robot, or another test run, on the network
os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
# what a test has JAX compile runs once or twice; fusing its loops takes longer than all the rest
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true "
    "--xla_cpu_use_fusion_emitters=false",
)
settings.register_profile(
    "package", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("package")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A SIGHUP that is ignored (nohup, or left so by a command that ended in the test before) is
    inherited by the processes that a test starts, and they respect that.

    Machine code is optimised where a test is about it, and where nodes run; elsewhere that takes
    longer than it saves.
    """
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    if in_real_time(item) or item.get_closest_marker("optimized"):
        os.environ.pop(OPTIMIZE_ENVIRONMENT, None)
    else:
        os.environ[OPTIMIZE_ENVIRONMENT] = "off"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests in real time come first: they wait more than they compute, so one worker has them while
    the others compute.

    Further in the order of their files, in whatever order these were collected.
    """
    items.sort(key=lambda item: (not in_real_time(item), item.path))


def pytest_collection_finish() -> None:
    """What was imported stays: the garbage collector need not look through it again and again, and
    seldom looks at all.

    Tests that collect garbage many times would take most of their time for that.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_OBJECTS_BEFORE_COLLECTION)


def in_real_time(item: pytest.Item) -> bool:
    """Whether a test drives nodes or a browser."""
    return any(item.get_closest_marker(name) for name in ("middleware", "browser"))


def pytest_configure(config: pytest.Config) -> None:
    _begin_elsewhere(config)
    if config.pluginmanager.hasplugin("rerunfailures"):
        config.pluginmanager.register(_SecondAttempts(), "second_attempts")


def _begin_elsewhere(config: pytest.Config) -> None:
    """Let each of several processes begin to collect with other files: they share the bytecode, so
    each file is compiled once and not by all at the same time.
    """
    worker = getattr(config, "workerinput", None)
    if worker is None or config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return
    files = sorted(Path(__file__).parent.rglob("test_*.py"))
    number = int(worker["workerid"].removeprefix("gw"))
    first = number * len(files) // int(worker["workercount"])
    config.args[:] = map(str, files[first:] + files[:first])


class _SecondAttempts:
    """A test that drives several processes in real time has a second attempt: a shared machine may
    stop any of them.

    No failure is hidden: the end of the run shows each first failure whole, also where the second
        attempt passes.
    """

    def __init__(self) -> None:
        self._failures: list[pytest.TestReport] = []

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            if in_real_time(item):
                item.add_marker(pytest.mark.flaky(reruns=1))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.outcome == "rerun":
            self._failures.append(report)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for report in self._failures:
            terminalreporter.section(f"failed at the first attempt: {report.nodeid}", sep="-")
            terminalreporter.write_line(report.longreprtext)
            for name, text in report.sections:
                terminalreporter.section(name, sep="-")
                terminalreporter.write_line(text)
