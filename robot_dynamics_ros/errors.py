"""Every error this package raises on purpose.

One base class, :class:`RobotDynamicsError`, so that a caller can catch the package's errors and
nothing else.  Each error says what was wrong, where, what would have been right, and what to do
about it; the parts are kept as attributes for programs, the message is for people.
"""

from __future__ import annotations

import copyreg
import difflib
import os
import sys
from collections.abc import Collection, Hashable, Iterable
from importlib import import_module
from types import FrameType, ModuleType

__all__ = [
    "ArgumentError",
    "BackendError",
    "ConstraintError",
    "ModelError",
    "ModelWarning",
    "RobotDynamicsError",
    "SimulationError",
    "TrajectoryError",
    "UnknownNameError",
    "UrdfError",
]


class RobotDynamicsError(Exception):
    """Base class of all errors raised by this package.

    Attributes:
        where: the element, argument or field at fault, e.g. ``"link 'elbow' <inertia>"``.
        got: the offending value, where the message does not show it.
        remedy: one sentence telling what to do.
        setting: (name, value) of the loading option or parameter with which the same request goes
            on; None: there is none.  The command line shows it as a command.
    """

    def __init__(
        self,
        problem: str,
        *,
        where: str = "",
        got: object = None,
        remedy: str = "",
        setting: tuple[str, str] | None = None,
    ) -> None:
        self.problem = problem
        self.where = where
        self.got = got
        self.remedy = remedy
        self.setting = setting
        text = f"{where}: {problem}" if where else problem
        if remedy:
            if "\n" in text:
                text = f"{text}\n{remedy}"
            else:
                text = f"{text.rstrip('.')}. {remedy}"
        super().__init__(text)

    # subclasses ask for arguments of their own; workers send errors back
    def __reduce__(self) -> tuple[object, ...]:
        # typeshed does not know this function of the standard library
        make = copyreg.__newobj__  # type: ignore[attr-defined]
        return make, (type(self), *self.args), self.__dict__


class ModelError(RobotDynamicsError, ValueError):
    """A robot whose dynamics cannot be computed: broken tree, impossible inertia, unsupported
    joint.
    """


class ModelWarning(UserWarning):
    """A robot that can be used, with something in its description that its author should know
    about.

    Attributes:
        findings: one sentence each.
    """

    def __init__(self, message: str, findings: Iterable[str] = ()) -> None:
        self.findings = tuple(findings)
        super().__init__(message)


def level_of_caller() -> int:
    """``stacklevel`` of a warning that names the line outside this package: between that line and
    the function that warns may stand functions that check arguments.
    """
    package = os.path.dirname(__file__) + os.sep
    frame: FrameType | None = sys._getframe(1)
    level = 1
    while frame is not None and frame.f_code.co_filename.startswith(package):
        frame = frame.f_back
        level += 1
    return level


class UrdfError(ModelError):
    """Text that is not a usable URDF."""


class ArgumentError(RobotDynamicsError, ValueError):
    """An argument of the wrong shape, type, range or finiteness."""


class TrajectoryError(ArgumentError):
    """A trajectory that cannot be followed as given."""


class SimulationError(RobotDynamicsError, RuntimeError):
    """A simulation that can no longer be trusted (diverged, step too large for the stiffness)."""


class ConstraintError(RobotDynamicsError, ValueError):
    """Constraints that cannot be satisfied: a loop that does not close, or a motion that violates
    it.
    """


class BackendError(RobotDynamicsError, RuntimeError):
    """A computing backend that was chosen by name and is not available."""


def optional_package(name: str, purpose: str, where: str, install: str) -> ModuleType:
    """A package, or a module in it, that not every installation has; a :class:`BackendError` if it
    is not installed.

    ``purpose`` begins the error's sentence: ``"figures need"``; ``install`` is what ``pip install``
    takes, and a way to do without.
    """
    try:
        return import_module(name)
    except ImportError:
        problem = f"{purpose} the package {name.partition('.')[0]}, which is not installed"
        raise BackendError(problem, where=where, remedy=f"pip install {install}.") from None


class UnknownNameError(RobotDynamicsError, KeyError):
    """A name that the model does not have; the error lists valid names, or says ``remedy`` instead.

    Attributes:
        name: the unknown name.
        valid: the names that would have been accepted.
    """

    def __init__(
        self,
        kind: str,
        name: object,
        valid: Iterable[str],
        *,
        where: str = "",
        remedy: str = "",
    ) -> None:
        self.name = name
        self.valid = tuple(valid)
        near = difflib.get_close_matches(str(name), self.valid, n=3)
        if remedy:
            pass
        elif near:
            remedy = f"Did you mean {' or '.join(repr(n) for n in near)}?"
        elif self.valid:
            shown = ", ".join(self.valid[:20]) + (", …" if len(self.valid) > 20 else "")
            remedy = f"Valid {kind} names: {shown}."
        else:
            remedy = f"There is no {kind} to name."
        super().__init__(f"unknown {kind} {name!r}", where=where, remedy=remedy)

    # KeyError would show the repr of the message
    def __str__(self) -> str:
        return str(self.args[0])


def check_name(kind: str, name: object, valid: Collection[str], *, where: str = "") -> None:
    """Raise :class:`UnknownNameError` unless ``name`` is one of ``valid``."""
    # an array or a dictionary is no name, and cannot even be looked for
    if not isinstance(name, Hashable) or name not in valid:
        raise UnknownNameError(kind, name, valid, where=where)
