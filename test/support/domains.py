"""A ROS domain that nobody else on this machine uses, for as long as a test needs it."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# domains above 101 would use ports that Linux hands out to anybody
_DOMAINS = range(2, 101)


@contextmanager
def private_domain() -> Iterator[int]:
    """Lock one domain id against other test runs."""
    first = os.getpid() % len(_DOMAINS)
    for i in range(len(_DOMAINS)):
        domain = _DOMAINS[(first + i) % len(_DOMAINS)]
        path = Path(tempfile.gettempdir()) / f"robot_dynamics_ros_domain_{domain}_{os.getuid()}"
        handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            continue
        try:
            yield domain
        finally:
            os.close(handle)
        return
    raise RuntimeError("all ROS domains are in use by other test runs")
