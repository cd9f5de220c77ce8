"""Write docs/reference/faults.md from the rows that `make test-faults` measured: ``docs/make_fault_page.py ROWS``."""

from __future__ import annotations

import sys
from pathlib import Path

HEAD = """# Faults and reactions

`make test-faults` writes this page from a run over the real middleware. The node runs in a process of its own. The test
injects one fault at a time. Two things must hold during and after each fault:

- The process continues, or a new process replaces it and works.
- Every command or joint state that it sends is finite, complete and within bounds.

`make test` runs every third of these faults.

| column | meaning |
|---|---|
| counted as | The causes that rise in `/diagnostics`. A dash: the sender gets the reason as the answer, or the fault is no error |
| recovery | The action that ends the reaction |
| works again, s | Time from the end of the fault to the first normal command or state |

| node | fault | reaction | counted as | recovery | works again, s |
|---|---|---|---|---|---|
"""


def main() -> int:
    """Write the page."""
    rows = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
    page = Path(__file__).parent / "reference" / "faults.md"
    page.write_text(HEAD + "\n".join(dict.fromkeys(rows)) + "\n", encoding="utf-8")
    print(f"{page}: {len(rows)} faults")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
