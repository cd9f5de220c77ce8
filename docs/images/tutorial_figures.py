"""The pictures of the tutorials, drawn by the code in their pages: ``python -m
docs.images.tutorial_figures``.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from docs.generate.tutorials import TUTORIALS, run

HERE = Path(__file__).parent
DRAWN = re.compile(r'savefig\("([^"]+)"')


def main() -> None:
    """Run every tutorial that draws, and keep its pictures."""
    for page in sorted(TUTORIALS.glob("*.md")):
        names = DRAWN.findall(page.read_text(encoding="utf-8"))
        if not names:
            continue
        print(page.name, *names, flush=True)
        before = Path.cwd()
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            os.chdir(folder)
            try:
                run(page, Path(folder))
                for name in names:
                    shutil.copyfile(name, HERE / name)
            finally:
                os.chdir(before)


if __name__ == "__main__":
    main()
