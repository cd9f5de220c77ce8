"""Whether a compiler is installed, and what to install where there is none."""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import os
import re
import sys
import sysconfig
from pathlib import Path

OLDEST_LLVMLITE = (0, 39)
REQUIREMENT = f"llvmlite>={'.'.join(map(str, OLDEST_LLVMLITE))}"
TOO_OLD = {("ubuntu", "22.04"), ("ubuntu", "20.04"), ("debian", "11")}
"""Distributions whose package python3-llvmlite is older than that."""


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
    """How to get llvmlite for the Python that runs this: by apt or by pip, as root or as a user."""
    return _remedy(
        sys.executable or "python3",
        in_environment=sys.prefix != sys.base_prefix,
        of_system=sys.base_prefix == "/usr",
        externally_managed=Path(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED").exists(),
        root=hasattr(os, "geteuid") and os.geteuid() == 0,
        release=_os_release(),
        pip=importlib.util.find_spec("pip") is not None,
    )


def _remedy(
    python: str,
    *,
    in_environment: bool,
    of_system: bool,
    externally_managed: bool,
    root: bool,
    release: dict[str, str],
    pip: bool,
) -> str:
    by_pip = f"{python} -m pip install '{REQUIREMENT}'"
    if in_environment and pip:
        return by_pip
    family = {release.get("ID", ""), *release.get("ID_LIKE", "").split()}
    apt = family & {"debian", "ubuntu"} and (release.get("ID", ""), release.get("VERSION_ID", "")) not in TOO_OLD
    if in_environment or not of_system or not apt:
        if not pip:
            return f"{python} -m ensurepip && {by_pip}"
        user = "" if in_environment or root or not of_system else " --user"
        managed = " --break-system-packages" if externally_managed and not in_environment else ""
        return by_pip.replace("install", f"install{user}{managed}", 1)
    install = "apt install python3-llvmlite"
    if "ubuntu" in family:
        install += " (component universe)"
    if root:
        return install
    own = f"{python} -m venv --system-site-packages ~/robot && ~/robot/bin/python -m pip install '{REQUIREMENT}'"
    if pip:
        managed = " --break-system-packages" if externally_managed else ""
        own = by_pip.replace("install", f"install --user{managed}", 1)
    return f"sudo {install}; without root: {own}"


@functools.cache
def _os_release() -> dict[str, str]:
    """Name of the distribution (from the file os-release)."""
    for path in ("/etc/os-release", "/usr/lib/os-release"):
        try:
            text = Path(path).read_text(encoding="utf-8")
        except OSError:
            continue
        return {k: v.strip("\"'") for k, _, v in (line.partition("=") for line in text.splitlines()) if v}
    return {}
