"""Where a URDF comes from: text, bytes, a file, a ``package://`` address, a xacro file."""

from __future__ import annotations

import os
import re
import shlex
import stat
from collections.abc import Mapping
from pathlib import Path

from robot_dynamics_ros.errors import ArgumentError, UrdfError
from robot_dynamics_ros.model.packages import path_of_address
from robot_dynamics_ros.model.xacro_file import expand_xacro
from robot_dynamics_ros.model.xml_guard import decoded

_ARGUMENT = re.compile(r"(?<=\s)[A-Za-z_][\w.-]*:=")

UrdfInput = str | bytes | os.PathLike[str]


def read_source(
    source: UrdfInput,
    *,
    max_bytes: int,
    xacro_arguments: Mapping[str, str] | None = None,
) -> tuple[bytes | str, str]:
    """The document and what to call it in messages.

    A ``str`` is text if it starts with ``<``, holds a line break or is longer than any path; else
    it is a path or a ``file://`` or ``package://`` address
    (:mod:`~robot_dynamics_ros.model.packages`).  A file whose name ends in ``.xacro`` is processed
    by the xacro package; arguments may follow the path: ``"arm.xacro tool:=gripper"``.
    """
    if isinstance(source, (bytes, bytearray)):
        return decoded(bytes(source)), "URDF text"
    if isinstance(source, str):
        head = source[:64].lstrip("\ufeff \t\r\n")
        if not head or head.startswith("<") or "\n" in source or len(source) > 4000:
            return decoded(source), "URDF text"
        address, arguments = split_arguments(source)
        path = path_of_address(address)
        xacro_arguments = {**arguments, **(xacro_arguments or {})}
    elif isinstance(source, os.PathLike):
        path = Path(source)
    else:
        problem = f"expected URDF text or a path, got {type(source).__name__}"
        remedy = "Pass the URDF as a string, or the path of its file as a string or a pathlib.Path."
        raise ArgumentError(problem, where="load_urdf", remedy=remedy)
    data = _read_file(path, max_bytes)
    if path.name.endswith(".xacro"):
        return expand_xacro(path, xacro_arguments), str(path)
    if xacro_arguments:
        problem = "only xacro files take arguments"
        remedy = (
            "Leave out "
            + " ".join(f"{name}:=…" for name in xacro_arguments)
            + ", or name the .xacro file."
        )
        raise ArgumentError(
            problem, where=f"file {str(path)!r}", got=sorted(xacro_arguments), remedy=remedy
        )
    return decoded(data), str(path)


def split_arguments(text: str) -> tuple[str, dict[str, str]]:
    """A path and the xacro arguments that follow it, as in ``"arm.xacro tool:=gripper side:='left
    arm'"``.
    """
    match = _ARGUMENT.search(text)
    if match is None or not text[: match.start()].strip():
        return text, {}
    try:
        words = shlex.split(text[match.start() :])
    except ValueError as error:
        raise ArgumentError(
            f"its arguments cannot be read ({error})",
            where=repr(text[:80]),
            got=text,
            remedy="Close all quotes.",
        ) from None
    pairs = [word.partition(":=") for word in words]
    if not all(between for _, between, _ in pairs):
        remedy = "Quote values that hold blanks: arm.xacro side:='left arm'."
        raise ArgumentError(
            "expected NAME:=VALUE after the path", where=repr(text[:80]), got=text, remedy=remedy
        )
    return text[: match.start()].rstrip(), {name: value for name, _, value in pairs}


def with_arguments(path: Path, arguments: Mapping[str, str]) -> str:
    """The inverse of :func:`split_arguments`."""
    return " ".join(
        [str(path), *(f"{name}:={shlex.quote(value)}" for name, value in arguments.items())]
    )


def _read_file(path: Path, max_bytes: int) -> bytes:
    where = f"file {str(path)!r}"
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            if stat.S_ISDIR(status.st_mode):
                kind = "a directory"
            else:
                kind = "not a regular file"
            raise UrdfError(
                f"it is {kind}", where=where, got=str(path), remedy="Name the URDF file itself."
            )
        if status.st_size > max_bytes:
            remedy = "If the file is genuine, pass a larger max_bytes."
            raise UrdfError(
                f"{status.st_size} bytes are more than the {max_bytes} allowed",
                where=where,
                remedy=remedy,
            )
        with path.open("rb") as file:
            return file.read(max_bytes + 1)
    except UrdfError:
        raise
    except FileNotFoundError:
        remedy = (
            f"Check the path (the current directory is {os.getcwd()}), or pass the URDF's text."
        )
        raise UrdfError("it does not exist", where=where, got=str(path), remedy=remedy) from None
    # RuntimeError: a loop of symbolic links, before Python 3.13
    except (
        OSError,
        RuntimeError,
    ) as error:
        problem = f"it cannot be read ({getattr(error, 'strerror', None) or error})"
        raise UrdfError(
            problem, where=where, got=str(path), remedy="Check the path and its permissions."
        ) from None
    except ValueError:
        raise UrdfError(
            "it is neither URDF text nor a path",
            where=f"{str(path)[:60]!r}",
            remedy="URDF text starts with '<'.",
        ) from None
