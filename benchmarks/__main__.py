"""Run the benchmarks whose ratios are kept, in about ten minutes, or those named.

python -m benchmarks [dynamics] [wrenches] … [--options of one]
"""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from time import monotonic

import benchmarks

KEPT = {
    "dynamics": (),
    "public_functions": (),
    "batches": ("--quick",),
    "wrenches": (),
    "simulation": (),
    "engines": ("--quick",),
    "constraints": (),
    "cycle": (),
    "observer": ("0.5",),
    "start": ("--times", "3"),
    "round_trip": (),
    "effort_gate": (),
    "realtime": (),
    "long_trajectory": (),
    "viewer": ("--pictures", "500", "--blocks", "2", "--ways", "second,page"),
}
"""Benchmarks that fill the file of ratios, with the options that keep them short."""


def main() -> int:
    known = [
        m.name for m in pkgutil.iter_modules(benchmarks.__path__) if not m.name.startswith("_")
    ]
    named = sys.argv[1:]
    options = []
    if len(named) > 1 and named[1].startswith("-"):
        options = named[1:]
        named = named[:1]
    unknown = [name for name in named if name not in known]
    if unknown:
        print(f"no benchmark {unknown[0]!r}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    worst = 0
    begin = monotonic()
    for name in named or KEPT:
        print(f"── {name} " + "─" * (70 - len(name)), flush=True)
        words = options if named else KEPT[name]
        worst = max(
            worst,
            abs(
                subprocess.run(
                    [sys.executable, "-m", f"benchmarks.{name}", *words], check=False
                ).returncode
            ),
        )
    if not named:
        print(
            f"{monotonic() - begin:.0f} s; not run: "
            f"{', '.join(name for name in known if name not in KEPT)}"
        )
    return worst


if __name__ == "__main__":
    raise SystemExit(main())
