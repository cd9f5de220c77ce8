"""Whether a compiler is installed, and what to install where there is none."""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import re
import sys

OLDEST_LLVMLITE = (0, 39)
REQUIREMENT = f"llvmlite>={'.'.join(map(str, OLDEST_LLVMLITE))}"


def compiler_missing() -> str | None:
    """Why there is no compiler here, in a few words; ``None`` if there is one, which is then loaded."""
    if importlib.util.find_spec("llvmlite") is None:
        return "llvmlite is not installed"
    try:
        version = importlib.metadata.version("llvmlite")
    except importlib.metadata.PackageNotFoundError:
        version = "999"  # installed without a record: the first compilation will tell
    if tuple(int(x) for x in re.findall(r"\d+", version)[:2]) < OLDEST_LLVMLITE:
        return f"llvmlite {version} is too old, {'.'.join(map(str, OLDEST_LLVMLITE))} or later is needed"
    return _cannot_be_loaded()


@functools.cache
def _cannot_be_loaded() -> str | None:
    """Why LLVM's library cannot be loaded: damaged, of another processor, more memory than the process may have."""
    try:
        importlib.import_module("llvmlite.binding")
    except Exception as error:  # noqa: BLE001 (whatever it is, there is no compiler)
        return f"llvmlite cannot be loaded ({type(error).__name__}: {error})"
    return None


def remedy() -> str:
    """How to get llvmlite for the Python that runs this."""
    by_pip = f"{sys.executable or 'python3'} -m pip install '{REQUIREMENT}'"
    if sys.prefix != sys.base_prefix:
        return by_pip
    return f"apt install python3-llvmlite (Ubuntu 24.04, Debian 12 and later), or in a virtual environment {by_pip}"
