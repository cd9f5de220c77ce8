"""Files that bear their names only once they are whole.

What is written lies beside its place first and is renamed at the end, which the file system does in
one step.  A process that is killed, or a disk that is full, leaves the former file as it was.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """A place beside ``path`` to write to; what is there at the end becomes ``path``.

    An error leaves ``path`` as it was.
    """
    path = Path(path)
    # a link is followed: the file that it names is replaced
    target = path.resolve()
    if target.exists() and not target.is_file():
        # a pipe or a device is written to directly
        yield target
        return
    # the suffix stays: writers of pictures choose the format by it
    part = target.with_name(f".{target.stem}.part{target.suffix}")
    try:
        yield part
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def write_whole_text(path: str | Path, text: str) -> None:
    """Write a text as UTF-8; an OSError leaves the former one as it was."""
    with whole_file(path) as part:
        part.write_text(text, encoding="utf-8")


@contextmanager
def whole_files(folder: str | Path) -> Iterator[Path]:
    """A place inside ``folder``, which is made, for files and folders that belong together; at the
    end they replace those of the same names.

    An error leaves the folder as it was.  What has other names stays.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / ".part"
    # of a process that was killed
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    try:
        yield part
        for made in sorted(part.iterdir()):
            _replace(made, folder / made.name)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _replace(made: Path, place: Path) -> None:
    """Rename a file or folder to a place where something may be already."""
    if not (place.is_dir() and not place.is_symlink()) and not made.is_dir():
        made.replace(place)
        return
    # a folder that is not empty is not replaced in one step: the former one leaves first
    former = made.with_name(f".former_{made.name}")
    if place.exists() or place.is_symlink():
        place.replace(former)
    made.replace(place)
