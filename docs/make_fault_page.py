"""Put the rows that `make test-faults` measured into docs/reference/faults.md:
``docs/make_fault_page.py ROWS``.
"""

from __future__ import annotations

import sys
from pathlib import Path

BEGIN = "<!-- faults -->\n"
END = "<!-- end of faults -->\n"
HEAD = (
    "\n| node | fault | reaction | counted as | recovery | works again, s "
    "|\n|---|---|---|---|---|---|\n"
)


def main() -> int:
    """Replace the table between the two comments."""
    rows = list(dict.fromkeys(Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()))
    page = Path(__file__).parent / "reference" / "faults.md"
    before, rest = page.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    page.write_text(
        f"{before}{BEGIN}{HEAD}" + "\n".join(rows) + f"\n\n{END}{after}", encoding="utf-8"
    )
    print(f"{page}: {len(rows)} faults")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
