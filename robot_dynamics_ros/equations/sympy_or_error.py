"""SymPy, which is an extra."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from robot_dynamics_ros.errors import BackendError


def require_sympy() -> Any:
    """The module."""
    try:
        return import_module("sympy")
    except ImportError:
        raise BackendError(
            "equations in symbols need SymPy, which is not installed",
            where="sympy",
            remedy="pip install 'robot_dynamics_ros[symbolic]', or pip install sympy.",
        ) from None
