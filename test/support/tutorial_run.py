"""A tutorial's steps in a process that sees no more packages than one install line brings.

python -m support.tutorial_run PAGE FOLDER
"""

from __future__ import annotations

import re
import shlex
import sys
import warnings
from collections.abc import Mapping, Sequence
from importlib import metadata
from importlib.machinery import ModuleSpec
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PACKAGE = "robot_dynamics_ros"
NO_COMPILER = 77
"""Exit code of a page that needs a C compiler where there is none."""


def install_line(page: Path) -> list[str]:
    """What the first shell block of a page installs: requirements, with ``.`` for the package."""
    first = re.search(
        r"^```(?:bash|sh)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    lines = [line for line in first[1].splitlines() if "pip install" in line] if first else []
    assert len(lines) == 1, (
        f"{page.name}: expected one install line in the first shell block, got {lines}"
    )
    words = shlex.split(lines[0], comments=True)
    return [re.sub(r"^\.(?=\[|$)", PACKAGE, word) for word in words[words.index("install") + 1 :]]


def brought_by(requirements: Sequence[str]) -> set[str]:
    """Names of the distributions that requirements bring, their own requirements included."""
    done: set[tuple[str, frozenset[str]]] = set()
    waiting = [Requirement(text) for text in requirements]
    while waiting:
        asked = waiting.pop()
        key = (canonicalize_name(asked.name), frozenset(asked.extras))
        if key in done:
            continue
        done.add(key)
        try:
            needs = metadata.requires(asked.name) or []
        except metadata.PackageNotFoundError:
            continue
        for need in map(Requirement, needs):
            if need.marker is None or any(
                need.marker.evaluate({"extra": extra}) for extra in ("", *asked.extras)
            ):
                waiting.append(need)
    return {name for name, _ in done}


class OnlyThese:
    """Finds no module of a distribution that is not among those allowed."""

    def __init__(self, allowed: set[str], owners: Mapping[str, Sequence[str]]) -> None:
        self.refused = {
            module
            for module, names in owners.items()
            if allowed.isdisjoint(map(canonicalize_name, names))
        }

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name.partition(".")[0] in self.refused:
            raise ModuleNotFoundError(
                f"No module named {name!r}: the install line does not bring it", name=name
            )
        return None


def main(page: str, folder: str) -> int:
    guard = OnlyThese(brought_by(install_line(Path(page))), metadata.packages_distributions())
    for name in [name for name in sys.modules if name.partition(".")[0] in guard.refused]:
        del sys.modules[name]
    sys.meta_path.insert(0, guard)
    warnings.simplefilter("ignore")
    from docs.generate import tutorials

    try:
        ran = tutorials.run(Path(page), Path(folder))
    except tutorials.NoCompiler as error:
        print(error)
        return NO_COMPILER
    print(f"{ran} steps")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
