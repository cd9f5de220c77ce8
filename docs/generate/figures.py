"""Tables of measured figures in the pages, from the result files that the benchmarks wrote: never typed by hand.

    python -m docs.generate.figures

writes them anew wherever a page says ``<!-- figures: NAME -->``.  A test holds the pages to the result files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
ROBOTS = {
    "ur5": "ur5, 6 joints",
    "panda": "panda, 8 joints",
    "talos_reduced": "talos, 32 joints",
    "chain100": "chain, 100 joints",
}
FUNCTIONS = {"inverse": "inverse dynamics", "forward": "forward dynamics", "mass": "mass matrix"}
BY_LINK = {"jacobian": "`rd.jacobian`", "link_pose": "`rd.link_pose`", "joint_wrenches": "`rd.joint_wrenches`"}


def results(name: str) -> dict[str, Any]:
    """The figures of one result file."""
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return found


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Markdown."""
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def number(value: float | None) -> str:
    """Three significant digits; a dash where nothing was measured."""
    if value is None:
        return "–"
    digits = max(0, 2 - int(f"{value:e}".partition("e")[2]))
    return f"{value:.{digits}f}"


def surroundings(found: dict[str, Any]) -> str:
    """What the figures hold for."""
    made = found["made with"]
    versions = f"Pinocchio {made['pin']}, MuJoCo {made['mujoco']}, NumPy {made['numpy']}, llvmlite {made['llvmlite']}"
    return f"Python {made['python']}, {made['processors']} processors, one thread; {versions}."


def calls(robots: Iterable[str], functions: Iterable[str]) -> str:
    """Microseconds a call."""
    found = results("dynamics")
    rows = []
    for robot in robots:
        for what in functions:
            row = found["per call"][robot][what]
            figures = (row["plain"], row["kernel"], row["pinocchio"], row.get("mujoco"))
            rows.append([ROBOTS[robot], FUNCTIONS[what], *map(number, figures)])
    head = ("robot", "function", "plain call, µs", "kernel, µs", "Pinocchio, µs", "MuJoCo, µs")
    return f"{table(head, rows)}\n\n{surroundings(found)}"


def by_link() -> str:
    """Microseconds a call of functions of one link."""
    rows = [
        [ROBOTS[robot], BY_LINK[what], number(row["plain"]), number(row["pinocchio"])]
        for robot, functions in results("dynamics")["by link"].items()
        for what, row in functions.items()
    ]
    return table(("robot", "function", "plain call, µs", "Pinocchio, µs"), rows)


def batches() -> str:
    """Million states a second."""
    rows = [
        [FUNCTIONS[what], number(row["ours, 1 threads"]), number(row.get("pinocchio, 1 threads"))]
        for what, row in results("dynamics")["batch"].items()
    ]
    return table(("function, ur5", "million states a second", "Pinocchio's parallel function, one thread"), rows)


TABLES: dict[str, Callable[[], str]] = {
    "short": lambda: calls(("ur5", "talos_reduced"), ("inverse", "forward", "mass")),
    "calls": lambda: calls(ROBOTS, FUNCTIONS),
    "by link": by_link,
    "batches": batches,
}
MARK = re.compile(r"(<!-- figures: ([\w ]+) -->\n).*?(\n<!-- end of figures -->)", re.DOTALL)
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))


def renewed(text: str) -> str:
    """The page with its tables made anew."""
    return MARK.sub(lambda match: match[1] + "\n" + TABLES[match[2]]() + "\n" + match[3], text)


def main() -> None:
    """Write all pages."""
    for page in PAGES:
        before = page.read_text(encoding="utf-8")
        after = renewed(before)
        if after != before:
            page.write_text(after, encoding="utf-8")
            print(page.relative_to(ROOT))


if __name__ == "__main__":
    main()
