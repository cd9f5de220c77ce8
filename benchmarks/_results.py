"""Figures of the benchmarks as result files, from which ``docs/generate/figures.py`` fills the
tables of the pages.

With ``ROBOT_DYNAMICS_RESULTS=FOLDER`` a benchmark writes ``FOLDER/<name>.json``; ``make figures``
runs them all so.
"""

from __future__ import annotations

import json
import math
import os
import platform
import sys
from pathlib import Path
from typing import Any

from benchmarks._ratios import circumstances

WRITE_TO = "ROBOT_DYNAMICS_RESULTS"
LOAD = os.getloadavg()[0]
"""Load average when the benchmark began: what else the machine had to do."""


def write(benchmark: str, figures: dict[str, Any]) -> None:
    """Write figures where the environment says, with the circumstances of the measurement under
    ``measured``.

    Args:
        benchmark: name of the file, without ``.json``.
        figures: anything that JSON holds; numbers get five significant digits, those that are not
            finite become null.
    """
    folder = os.environ.get(WRITE_TO)
    if not folder:
        return
    measured = {
        **circumstances(LOAD),
        "python": platform.python_version(),
        "processors": os.cpu_count(),
        "command": " ".join(["python", "-m", *_words()]),
    }
    path = Path(folder) / f"{benchmark}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        json.dumps({"measured": measured, **_rounded(figures)}, indent=1) + "\n", encoding="utf-8"
    )
    print(f"written: {path}")


def _words() -> list[str]:
    """The command line, without folders of this machine."""
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    name = spec.name if spec is not None else Path(sys.argv[0]).stem
    return [name, *(word for word in sys.argv[1:] if "/" not in word)]


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(item) for item in value]
    if isinstance(value, (str, bool, int)) or value is None:
        return value
    return float(f"{float(value):.5g}") if math.isfinite(value) else None
