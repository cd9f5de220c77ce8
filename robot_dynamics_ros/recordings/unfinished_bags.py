"""Bags whose recorder was ended before it had finished them, made whole in a temporary folder.

A db3 file then has rows in SQLite's write-ahead log.  An mcap file lacks its end, and its last
record is cut off.  A folder lacks ``metadata.yaml``.  The recording itself is left as it is.

Source: the specification of MCAP, https://mcap.dev/spec: magic, then records of one byte that says
the kind, the length as uint64, and the content; all little endian.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import struct
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import BinaryIO

# both ends of an mcap file
_MCAP_MAGIC = b"\x89MCAP0\r\n"
# kind and length of a record
_RECORD = struct.Struct("<BQ")
# kinds of records: the last one of a file, a chunk of messages, and the end of all messages
_MCAP_FOOTER = 0x02
_MCAP_CHUNK = 0x06
_MCAP_DATA_END = 0x0F
_LARGEST_KIND = _MCAP_DATA_END
# of a chunk: times of its first and last message, size and check sum of its records
_CHUNK_HEAD = struct.Struct("<QQQI")
# a footer that says: there is no summary, read the file from its beginning
_MCAP_END = _RECORD.pack(_MCAP_FOOTER, 20) + bytes(20) + _MCAP_MAGIC


@contextmanager
def whole_bag(path: Path) -> Iterator[tuple[list[Path], list[str]]]:
    """Files that a reader of whole bags can read in place of a bag, and sentences about what was
    unfinished.
    """
    with tempfile.TemporaryDirectory() as folder:
        yield _made_whole(path, Path(folder))


def _made_whole(path: Path, folder: Path) -> tuple[list[Path], list[str]]:
    files = [path] if path.is_file() else sorted(p for p in path.iterdir() if p.is_file())
    bags = [p for p in files if p.suffix in (".mcap", ".db3")]
    repaired = {}
    notes = []
    for file in bags:
        if is_unfinished_mcap(file):
            repaired[file] = folder / file.name
            finish_mcap(file, repaired[file])
            notes.append(
                f"{file.name} is unfinished, its recorder was ended: what is there is read"
            )
        elif _has_rows_in_its_log(file):
            repaired[file] = folder / file.name
            _take_up_log(file, repaired[file])
    one_file = path.is_file()
    undescribed = bool(bags) and path / "metadata.yaml" not in files
    if undescribed and not one_file:
        notes.append("the bag has no metadata.yaml, its recorder was ended: its files are read")
    if one_file or undescribed:
        return [repaired.get(file, file) for file in bags or files], notes
    if not repaired:
        return [path], notes
    # metadata.yaml names the files: those that are whole stand beside the repaired ones
    for file in files:
        if file not in repaired:
            (folder / file.name).symlink_to(file.resolve())
    return [folder], notes


def is_unfinished_mcap(file: Path) -> bool:
    """Whether a file begins as an mcap file and does not end as one."""
    if file.suffix != ".mcap":
        return False
    with file.open("rb") as data:
        begins = data.read(len(_MCAP_MAGIC)) == _MCAP_MAGIC
        data.seek(-min(len(_MCAP_MAGIC), file.stat().st_size), os.SEEK_END)
        return begins and data.read() != _MCAP_MAGIC


def finish_mcap(file: Path, place: Path) -> None:
    """Write a copy of an unfinished mcap file that ends as it should: with its whole records, those
    within a chunk that is cut off included as far as they are not compressed.
    """
    size = file.stat().st_size
    with file.open("rb") as data, place.open("wb") as copy:
        end, kind = _end_of_records(data, len(_MCAP_MAGIC), size)
        data.seek(0)
        _copy(data, copy, end)
        if kind == _MCAP_CHUNK:
            start = _records_of_chunk(data, end)
            within, _ = _end_of_records(data, start, size)
            data.seek(start)
            _copy(data, copy, within - start)
        copy.write(_MCAP_END)


def _end_of_records(data: BinaryIO, start: int, size: int) -> tuple[int, int]:
    """Where the last whole record from ``start`` on ends, and the kind of what follows; 0: none."""
    end = start
    while True:
        data.seek(end)
        head = data.read(_RECORD.size)
        if len(head) < _RECORD.size:
            return end, 0
        kind, length = _RECORD.unpack(head)
        # a summary that was begun, or space that was never written
        if kind in (0, _MCAP_FOOTER, _MCAP_DATA_END) or kind > _LARGEST_KIND:
            return end, 0
        if end + _RECORD.size + length > size:
            return end, kind
        end += _RECORD.size + length


def _records_of_chunk(data: BinaryIO, start: int) -> int:
    """Where the records of a chunk begin; the end of the file if they are compressed or absent."""
    data.seek(start + _RECORD.size + _CHUNK_HEAD.size)
    length_of_name = data.read(4)
    # the name of the compression, empty if there is none; then the size of the records
    if length_of_name == bytes(4) and len(data.read(8)) == 8:
        return data.tell()
    return data.seek(0, os.SEEK_END)


def _copy(data: BinaryIO, copy: BinaryIO, count: int) -> None:
    """Copy so many bytes, or as many as there are."""
    block = 1 << 20
    while count > 0:
        part = data.read(min(block, count))
        if not part:
            return
        copy.write(part)
        count -= len(part)


def _has_rows_in_its_log(file: Path) -> bool:
    log = _log_of(file)
    return file.suffix == ".db3" and log.is_file() and log.stat().st_size > 0


def _take_up_log(file: Path, place: Path) -> None:
    """Write a copy of a database into which SQLite has brought the rows of its write-ahead log: the
    reader looks at the database alone.
    """
    shutil.copy(file, place)
    shutil.copy(_log_of(file), _log_of(place))
    with closing(sqlite3.connect(place)) as database:
        database.execute("pragma wal_checkpoint(truncate)")
        database.execute("pragma journal_mode=delete")


def _log_of(database: Path) -> Path:
    return database.with_name(f"{database.name}-wal")
