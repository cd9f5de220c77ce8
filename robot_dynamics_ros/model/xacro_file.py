"""URDF of a xacro file: packages are looked for around the file too, and an error names the file
and the line.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from robot_dynamics_ros.errors import UrdfError
from robot_dynamics_ros.model.packages import package_directory

_ONE_AT_A_TIME = threading.Lock()
"""xacro keeps the files that it is in, and its arguments, in variables of its modules."""

_IN_THE_TEXT = (
    (re.compile(r"when evaluating expression '(.*?)'", re.DOTALL), "{}"),
    (re.compile(r"Undefined substitution argument (\S+)"), "$(arg {})"),
    (re.compile(r"unknown macro name: (\S+)"), "<{}"),
    (re.compile(r"no ROS package '([^']+)'"), "$(find {})"),
)
"""What a message of xacro quotes, and how that stands in the file."""


def expand_xacro(path: Path, arguments: Mapping[str, str] | None = None) -> str:
    """The URDF that xacro makes of a file, as the command ``xacro`` prints it.

    ``$(find package)`` means the installed package, else the one around the file
    (:func:`~robot_dynamics_ros.model.packages.package_directory`).
    """
    try:
        import xacro
    except ImportError:
        raise UrdfError(
            "it is a xacro file, and the xacro package is not installed",
            where=f"file {str(path)!r}",
            remedy="Install it (`pip install xacro`, or your ROS distribution's xacro package), "
            "or expand the file "
            f"where xacro is: `xacro {path.name} > "
            f"{path.name.removesuffix('.xacro').removesuffix('.urdf')}.urdf`.",
        ) from None
    mappings = {str(name): str(value) for name, value in (arguments or {}).items()}
    with _ONE_AT_A_TIME, _packages_around(path.resolve().parent):
        try:
            return str(xacro.process_file(str(path), mappings=mappings).toprettyxml(indent="  "))
        # xacro evaluates the file's expressions: they may raise anything
        except Exception as error:  # noqa: BLE001
            raise _failure(error, path, xacro) from None


@contextmanager
def _packages_around(directory: Path) -> Iterator[None]:
    """xacro looks for packages in the ament index alone, and needs ament_index_python for it."""
    from xacro import substitution_args

    def find(package: str) -> str:
        return str(package_directory(package, directory))

    names: Any = substitution_args
    find_before = names._eval_find
    eval_before = names._eval_dict["find"]
    names._eval_find = names._eval_dict["find"] = find
    try:
        yield
    finally:
        names._eval_find = find_before
        names._eval_dict["find"] = eval_before


def _failure(error: Exception, path: Path, xacro: ModuleType) -> UrdfError:
    problem = _problem(error)
    macros = list(getattr(xacro, "macrostack", None) or [])
    files = [str(file) for file in reversed(getattr(xacro, "filestack", None) or []) if file]
    # its body stands in the file that defined it last
    for macro in macros:
        files = [
            str(file) for file in reversed(macro.history[-1] if macro.history else []) if file
        ] + files
    place = _place(problem, list(dict.fromkeys([*files, str(path)])))
    remedy = "Correct it there, or run `xacro` on the file."
    package = _inner(error)
    if isinstance(package, UrdfError):
        remedy = package.remedy
    undefined = re.search(r"Undefined substitution argument (\S+)", problem)
    if undefined:
        remedy = f"Add it after the file: {path.name} {undefined[1]}:=VALUE."
    if macros:
        called = (
            f" (macro {', in '.join(str(m.body.getAttribute('name')) for m in reversed(macros))})"
        )
    else:
        called = ""
    return UrdfError(
        f"xacro failed: {problem}{place}{called}", where=f"file {str(path)!r}", remedy=remedy
    )


def _inner(error: BaseException) -> BaseException:
    while isinstance(getattr(error, "exc", None), BaseException):
        error = error.exc  # type: ignore[attr-defined]
    return error


def _problem(error: BaseException) -> str:
    """The cause, each part once: xacro wraps errors in one another and repeats the inner ones by
    their classes.
    """
    inner = getattr(error, "exc", None)
    if error.args and error.args[0] is not None:
        own = str(error.args[0])
    else:
        own = ""
    if isinstance(error, UrdfError):
        return error.problem
    if isinstance(error, LookupError):
        return f"{type(error).__name__}: {error}"
    if not isinstance(inner, BaseException):
        return own or str(error) or type(error).__name__
    cause = _problem(inner)
    if own.startswith("<class") or cause in own or own in cause:
        outer = ""
    else:
        outer = own
    suffix = " ".join((getattr(error, "suffix", None) or "").split())
    return " ".join(part for part in (outer, cause, suffix) if part)


def _place(problem: str, files: list[str]) -> str:
    """``" in FILE, line N"`` of what the problem quotes; the innermost file alone where it quotes
    nothing that stands there.
    """
    quoted = [
        form.format(text) for pattern, form in _IN_THE_TEXT for text in pattern.findall(problem)
    ]
    for file in files:
        try:
            lines = Path(file).read_text("utf-8", "replace").splitlines()
        except OSError:
            continue
        for text in quoted:
            numbers = [str(k) for k, line in enumerate(lines, 1) if text in line]
            if numbers:
                shown = numbers[:3] + (["…"] if len(numbers) > 3 else [])
                return f", in {file}, line {' or '.join(shown)}"
    return f", in {files[0]}"
