"""The launch file started for real, in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from robot_dynamics_ros.resources import share_directory

LAUNCH_FILE = share_directory() / "launch" / "bringup.launch.py"


@contextmanager
def launched(tmp_path: Path, **arguments: str) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """A launch in a process of its own, as ``ros2 launch`` does it, and its log."""
    script = tmp_path / "bringup.py"
    script.write_text(
        textwrap.dedent(f"""
        import sys
        from launch import LaunchDescription, LaunchService
        from launch.actions import IncludeLaunchDescription
        from launch.launch_description_sources import PythonLaunchDescriptionSource
        service = LaunchService(argv=[])
        service.include_launch_description(LaunchDescription([IncludeLaunchDescription(
            PythonLaunchDescriptionSource({str(LAUNCH_FILE)!r}),
            launch_arguments={arguments!r}.items(),
        )]))
        sys.exit(service.run())
    """)
    )
    package = _package_prefix(tmp_path)
    environment = {
        **os.environ,
        "AMENT_PREFIX_PATH": f"{package}{os.pathsep}{os.environ.get('AMENT_PREFIX_PATH', '')}",
    }
    log = tmp_path / "launch.log"
    with open(log, "wb") as output:
        process = subprocess.Popen(
            [sys.executable, str(script)],
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
    try:
        yield process, log
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


def press_ctrl_c(process: subprocess.Popen[bytes]) -> None:
    """What a terminal does: SIGINT to the launch and to all that it has started.

    Sent to the launch alone, the signal would not be passed on: launch expects that the others have
    got it too, and sends SIGTERM after five seconds.
    """
    os.killpg(process.pid, signal.SIGINT)


def _package_prefix(tmp_path: Path) -> Path:
    """An ament prefix in which the executables are, as colcon would have made it."""
    prefix = tmp_path / "prefix"
    (prefix / "share" / "ament_index" / "resource_index" / "packages").mkdir(parents=True)
    (
        prefix / "share" / "ament_index" / "resource_index" / "packages" / "robot_dynamics_ros"
    ).touch()
    (prefix / "share" / "robot_dynamics_ros").mkdir()
    library = prefix / "lib" / "robot_dynamics_ros"
    library.mkdir(parents=True)
    for name in ("controller", "effort_gate", "simulator", "viewer"):
        script = library / name
        script.write_text(
            f"#!{sys.executable}\nimport sys\nfrom robot_dynamics_ros.ros.main import "
            f"{name}\nsys.exit({name}())\n"
        )
        script.chmod(0o755)
    return prefix
