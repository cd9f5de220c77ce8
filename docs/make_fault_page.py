"""Write docs/reference/faults.md from the rows that `make test-faults` measured: ``docs/make_fault_page.py ROWS``."""

from __future__ import annotations

import sys
from pathlib import Path

HEAD = """# Faults and reactions

Written by `make test-faults` from a run over the real middleware: a node in a process of its own, one fault at a time.
During and after each fault the process lives (or its successor works), and every command or joint state that it sends is
finite, complete and within bounds. `make test` runs every third of these.

"Counted as" is the cause in `/diagnostics`; a dash: the request is answered with the reason, or the fault is no error.
"Works again" is the time from the end of the fault to the first command or state that is as before.

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
