"""Run all benchmarks, or those named: ``python -m benchmarks [dynamics] [wrenches] … [--options of one]``."""

from __future__ import annotations

import importlib
import pkgutil
import sys

import benchmarks


def main() -> int:
    known = [m.name for m in pkgutil.iter_modules(benchmarks.__path__) if not m.name.startswith("_")]
    named, options = sys.argv[1:], []
    if len(named) > 1 and named[1].startswith("-"):
        named, options = named[:1], named[1:]
    wanted = named or known
    unknown = [name for name in wanted if name not in known]
    if unknown:
        print(f"no benchmark {unknown[0]!r}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    worst = 0
    for name in wanted:
        print(f"── {name} " + "─" * (70 - len(name)))
        sys.argv = [f"benchmarks.{name}", *options]
        worst = max(worst, importlib.import_module(f"benchmarks.{name}").main() or 0)
    return worst


if __name__ == "__main__":
    raise SystemExit(main())
