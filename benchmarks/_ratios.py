"""Ratios of the benchmarks in one file, so that the next person sees what has changed.

A benchmark hands its ratios to :func:`keep`; with ``ROBOT_DYNAMICS_RATIOS=FILE`` they are written
there, and what differs from the file that is checked in is printed.  Ratios are of two things
measured in the same run; absolute figures are not kept.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
from pathlib import Path
from typing import Any

CHECKED_IN = Path(__file__).parent / "results" / "ratios.json"
WRITE_TO = "ROBOT_DYNAMICS_RATIOS"
NOTABLE = 0.05
"""Changes smaller than this share are taken for noise."""


def keep(benchmark: str, ratios: dict[str, float]) -> None:
    """Compare ratios with those checked in, print what has changed, and write them where the
    environment says.

    Args:
        benchmark: its name.
        ratios: what → ratio.  The name says which way is better.
    """
    before = _read(CHECKED_IN).get(benchmark, {})
    known = before.get("ratios", {})
    if before:
        print(
            f"\nbeside {CHECKED_IN.name} ({before['date']}, load {before['load']:.1f}, "
            f"{before['machine']}):"
        )
    changed = 0
    for name, value in ratios.items():
        old = known.get(name)
        if old is None:
            print(f"  {name}: {value:.3g} (new)")
        elif abs(value - old) > NOTABLE * abs(old):
            changed += 1
            print(
                f"  {name}: {old:.3g} → {value:.3g} ({value / old - 1.0:+.0%})"
                if old
                else f"  {name}: 0 → {value:.3g}"
            )
    for name in known.keys() - ratios.keys():
        print(f"  {name}: {known[name]:.3g} → not measured")
    if before and not changed:
        print(f"  nothing by more than {NOTABLE:.0%}")
    target = os.environ.get(WRITE_TO)
    if target:
        path = Path(target)
        found = _read(path)
        found[benchmark] = {
            **circumstances(os.getloadavg()[0]),
            "ratios": {name: float(f"{value:.4g}") for name, value in ratios.items()},
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text()) if path.exists() else {}


def circumstances(load: float) -> dict[str, Any]:
    """Date and machine of a measurement, and the load average that it was made at."""
    today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    return {"date": today, "machine": _machine(), "load": round(load, 2)}


def _machine() -> str:
    """The processor and how many of it, Python."""
    name = platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        models = [
            line.partition(":")[2].strip()
            for line in info.read_text().splitlines()
            if line.startswith("model name")
        ]
        name = models[0] if models else name
    return f"{os.cpu_count()} x {name}, Python {platform.python_version()}"
