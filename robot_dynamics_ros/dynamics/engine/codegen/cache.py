"""Compiled kernels on disk.

A file is used only if it lies in a directory and is itself a regular file that belong to the user
and that nobody else may write, and if its own checksum fits.  Anything else is ignored and made
anew; a cache that cannot be written is no error.  Files appear under their name at once (written
aside, then renamed), so processes may share the directory.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import stat
import tempfile
from pathlib import Path

CACHE_ENVIRONMENT = "ROBOT_DYNAMICS_CACHE"
_MAGIC = b"robot_dynamics kernel 1\n"
_log = logging.getLogger(__name__)


def cache_directory() -> Path | None:
    """Where kernels are kept: ``$ROBOT_DYNAMICS_CACHE``, else ``$XDG_CACHE_HOME`` or ``~/.cache``.

    ``None`` if the variable is ``off`` or no home directory is known.
    """
    named = os.environ.get(CACHE_ENVIRONMENT)
    if named:
        return None if named == "off" else Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    if base and os.path.isabs(base):
        return Path(base) / "robot_dynamics_ros"
    try:
        return Path.home() / ".cache" / "robot_dynamics_ros"
    except RuntimeError:
        return None


def _ours(info: os.stat_result) -> bool:
    return not hasattr(os, "getuid") or (
        info.st_uid == os.getuid() and not info.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    )


def load(key: str) -> bytes | None:
    """The code stored under ``key`` (a hexadecimal digest), or ``None``."""
    directory = cache_directory()
    if directory is None:
        return None
    path = directory / f"{key}.o"
    try:
        if not _ours(os.stat(directory)):
            _log.warning(
                "kernel cache %s belongs to, or can be written by, somebody else: not used",
                directory,
            )
            return None
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        with open(os.open(path, flags), "rb") as file:
            info = os.fstat(file.fileno())
            if not stat.S_ISREG(info.st_mode) or not _ours(info):
                _log.warning("kernel cache file %s is not the user's own: not used", path)
                return None
            data = file.read()
    except OSError:
        return None
    head = len(_MAGIC) + 32
    code = data[head:]
    if (
        not data.startswith(_MAGIC)
        or data[len(_MAGIC) : head] != hashlib.sha256(key.encode() + code).digest()
    ):
        _log.warning("kernel cache file %s is damaged: made anew", path)
        return None
    return code


def store(key: str, code: bytes) -> None:
    """Keep ``code`` under ``key``; quietly does nothing where that is not possible."""
    directory = cache_directory()
    if directory is None:
        return
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _ours(os.stat(directory)):
            return
        handle, temporary = tempfile.mkstemp(dir=directory, prefix=".new-")
        try:
            with open(handle, "wb") as file:
                file.write(_MAGIC + hashlib.sha256(key.encode() + code).digest() + code)
            os.replace(temporary, directory / f"{key}.o")
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError as error:
        _log.debug("kernel cache %s not written: %s", directory, error)


def clear() -> int:
    """Delete all cached kernels; returns how many there were."""
    directory = cache_directory()
    count = 0
    if directory is not None and directory.is_dir():
        for path in directory.glob("*.o"):
            with contextlib.suppress(OSError):
                path.unlink()
                count += 1
    return count
