"""What a node says where the computer has no room for it: memory, threads, open files, a log."""

from __future__ import annotations

import errno
import os

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from types import SimpleNamespace

from std_msgs.msg import String

from robot_dynamics_ros.ros import main
from robot_dynamics_ros.ros.run import folder_without_logs
from robot_dynamics_ros.ros.transport.robot import DescriptionSource


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)),
        OSError(errno.EMFILE, os.strerror(errno.EMFILE), "urdf"),
        ImportError("a_library.so: failed to map segment from shared object"),
        RuntimeError("can't start new thread"),
        RuntimeError("pthread_create failed: Resource temporarily unavailable"),
    ],
    ids=lambda error: f"{type(error).__name__} {error}"[:40],
)
def test_a_full_computer_is_named_without_a_traceback(monkeypatch, capsys, error) -> None:
    def fails(_stop, _args) -> int:
        raise error

    monkeypatch.setattr(main, "StopRequest", object)
    assert main._started(fails, []) == 1
    said = capsys.readouterr().err
    assert said.startswith("error: this computer has no memory, threads or open files")
    assert len(said.splitlines()) == 1


def test_other_errors_keep_their_traceback(monkeypatch) -> None:
    def fails(_stop, _args) -> int:
        raise ValueError("a mistake of this package")

    monkeypatch.setattr(main, "StopRequest", object)
    with pytest.raises(ValueError, match="mistake"):
        main._started(fails, [])


def test_a_folder_for_logs_is_looked_at(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path / "new"))
    assert folder_without_logs() == ""
    # nobody can make a folder there
    monkeypatch.setenv("ROS_LOG_DIR", "/proc/none")
    assert "/proc/none" in folder_without_logs()


@pytest.mark.middleware
def test_a_node_starts_without_a_log_file(monkeypatch, peer, start) -> None:
    monkeypatch.setenv("ROS_LOG_DIR", "/proc/none")
    node = start("effort_gate", robot_description_file="two_link")
    assert node.wait_for_output("there is no log file: /proc/none", 60.0)
    assert node.exit_code is None


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_an_empty_description_is_said(text) -> None:
    said: list[str] = []
    used: list[str] = []
    source = DescriptionSource.__new__(DescriptionSource)
    source.text = ""
    source._changed = used.append
    source._log = SimpleNamespace(warning=said.append)
    source._on_message(String(data=text))
    assert used == []
    assert said == ["an empty robot_description has arrived; it is not used"]
