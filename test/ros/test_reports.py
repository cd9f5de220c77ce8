"""Log lines about causes: one at once, then one in a while, each distinct reason at least once."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from rclpy.logging import get_logger

from robot_dynamics_ros.ros.transport.reports import Rejections


class Log:
    """Keeps what would be logged."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []

    def __getattr__(self, severity: str):
        return lambda text: self.lines.append((severity, text))


def test_a_flood_gives_one_line_and_a_new_reason_another():
    log = Log()
    reports = Rejections(log)
    for _ in range(100):
        reports.report("safe_command", "safe command: no state", distinct=True)
        reports.report("recovered", "recovered", "info")
    reports.report("safe_command", "safe command: the law failed", distinct=True)
    assert [severity for severity, _ in log.lines] == ["warning", "info", "warning"]
    assert "99 more" in log.lines[2][1] and "the law failed" in log.lines[2][1]
    assert reports.counts == {"safe_command": 101, "recovered": 100}


def test_the_logger_of_rclpy_takes_all_severities():
    """It allows one severity for each place in the source."""
    reports = Rejections(get_logger("test_reports"))
    for severity in ("warning", "info", "error", "info", "warning"):
        reports.report(severity, "a line", severity)
