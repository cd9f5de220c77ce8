#!/usr/bin/env python3
"""Makes the virtual environment of ``make demo`` and ``make test``, and says every few seconds how
far it is.

It needs nothing but Python's standard library.  ``uv`` installs several times as fast as ``pip``:
it is used where it is there, and fetched first (17 MB) where ``pip`` can fetch it; where it fails,
``pip`` does the work.

    python3 environment.py .venv --expect 640 -- --editable '.[ros,view,viz]'
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

# s between two lines
REPORT_PERIOD = 5.0
# bytes in what is called MB here, as du counts
BYTES_A_MEGABYTE = 2**20


def size(folder: Path) -> int:
    """MB that the files of a folder take."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(place, name)).st_blocks * 512
            except OSError:
                # it was moved while we looked
                continue
    return total // BYTES_A_MEGABYTE


class Reporter:
    """Says what is done, for how long, and how large the environment is; as a context manager."""

    def __init__(self, folder: Path, expected: int) -> None:
        self.folder = folder
        self.expected = expected
        self.doing = "starting"
        # uv fetches into its cache first: what it has grown by is on its way into the folder
        self.cache: Path | None = None
        self._cached_before = 0
        self._started = time.monotonic()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._report, daemon=True)

    def __enter__(self) -> Reporter:
        print(
            f"installing  into {self.folder}: about {self.expected} MB, about a minute", flush=True
        )
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._over.set()
        self._thread.join()
        if kind is None:
            seconds = time.monotonic() - self._started
            print(f"installed   {size(self.folder)} MB in {seconds:.0f} s", flush=True)

    def watch_cache(self, cache: Path) -> None:
        """Count what a folder grows by from now on."""
        self._cached_before = size(cache)
        self.cache = cache

    def _done(self) -> int:
        """MB that are in the folder, or on their way there."""
        here = size(self.folder)
        if self.cache is None:
            return here
        return max(here, size(self.cache) - self._cached_before)

    def _report(self) -> None:
        while not self._over.wait(REPORT_PERIOD):
            seconds = time.monotonic() - self._started
            share = f"{self._done()} of about {self.expected} MB"
            print(f"installing  {seconds:3.0f} s: {self.doing}; {share}", flush=True)


def run(command: list[str], *, quiet: bool = False) -> bool:
    """Whether a command succeeds; its output is shown if it fails, unless ``quiet``."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode and not quiet:
        print(done.stdout, file=sys.stderr)
    return done.returncode == 0


def find_uv(folder: Path) -> str:
    """The program uv: installed, or fetched into ``folder`` with this Python's pip; or ``""``."""
    installed = shutil.which("uv")
    if installed:
        return installed
    fetch = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--no-deps"]
    if not run([*fetch, "--target", str(folder), "uv"], quiet=True):
        return ""
    program = folder / "bin" / "uv"
    return str(program) if program.exists() else ""


def install_with_uv(reporter: Reporter, words: list[str]) -> bool:
    """Make the environment and install with uv; False if that cannot be done."""
    with tempfile.TemporaryDirectory() as folder:
        reporter.doing = "fetching uv"
        uv = find_uv(Path(folder))
        if not uv:
            return False
        python = reporter.folder / "bin" / "python"
        if not python.exists():
            make = [sys.executable, "-m", "venv", "--without-pip", str(reporter.folder)]
            if not run(make):
                return False
        reporter.doing = "fetching and unpacking with uv"
        asked = subprocess.run([uv, "cache", "dir"], capture_output=True, text=True)
        if asked.returncode == 0 and asked.stdout.strip():
            reporter.watch_cache(Path(asked.stdout.strip()))
        return run([uv, "pip", "install", "--quiet", "--python", str(python), *words], quiet=True)


def install_with_pip(reporter: Reporter, words: list[str]) -> bool:
    """The same with pip, which every Python brings."""
    python = reporter.folder / "bin" / "python"
    reporter.doing = "making the environment"
    if not run([sys.executable, "-m", "venv", str(reporter.folder)]):
        return False
    reporter.doing = "fetching and unpacking with pip"
    # bytecode is made of what is imported, when it is imported
    return run([str(python), "-m", "pip", "install", "--quiet", "--no-compile", *words])


def main() -> int:
    parser = argparse.ArgumentParser(description="Make or complete a virtual environment.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--expect", type=int, default=700, help="MB that it will have")
    parser.add_argument("words", nargs="+", help="what pip install takes, after --")
    options = parser.parse_args()
    with Reporter(options.folder, options.expect) as reporter:
        if not install_with_uv(reporter, options.words) and not install_with_pip(
            reporter, options.words
        ):
            raise SystemExit("error: the environment could not be made; see above")
    return 0


if __name__ == "__main__":
    sys.exit(main())
