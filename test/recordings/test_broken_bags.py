"""Bags of recorders that were killed: what is there is read, what is wrong is named."""

from __future__ import annotations

import re
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.recordings import read_bag

pytest.importorskip("rosbags")

from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

MODEL = rd.load_robot("three_link")
ROWS = 400
KIND = "sensor_msgs/msg/JointState"


def write(folder: Path, plugin: StoragePlugin, compressed: bool = False) -> Path:
    types = get_typestore(Stores.ROS2_JAZZY)
    state, header, time = (
        types.types[name] for name in (KIND, "std_msgs/msg/Header", "builtin_interfaces/msg/Time")
    )
    writer = Writer(folder, version=9, storage_plugin=plugin)
    if compressed:
        writer.set_compression(CompressionMode.MESSAGE, CompressionFormat.ZSTD)
    with writer:
        connection = writer.add_connection("/joint_states", KIND, typestore=types)
        for k in range(ROWS):
            t = 1_700_000_000_000_000_000 + k * 10_000_000
            q = np.sin(np.array([1.0, 2.0, 3.0]) * k * 0.01)
            stamp = time(sec=t // 10**9, nanosec=t % 10**9)
            names = list(MODEL.joint_names)
            message = state(header(stamp=stamp, frame_id=""), names, q, 0.0 * q, q)
            writer.write(connection, t, types.serialize_cdr(message, KIND))
    return folder


@pytest.mark.parametrize("whole_folder", [False, True])
def test_rows_in_the_write_ahead_log_are_read(tmp_path: Path, whole_folder: bool) -> None:
    bag = write(tmp_path / "bag", StoragePlugin.SQLITE3)
    work = shutil.copytree(bag, tmp_path / "work")
    file = work / "bag.db3"
    database = sqlite3.connect(file)
    database.execute("pragma journal_mode=wal")
    database.execute("pragma wal_autocheckpoint=0")
    rows = database.execute("select * from messages where id > 200").fetchall()
    database.execute("delete from messages where id > 200")
    database.commit()
    database.execute("pragma wal_checkpoint(truncate)")
    marks = ",".join("?" * len(rows[0]))
    database.executemany(f"insert into messages values({marks})", rows)
    database.commit()
    killed = shutil.copytree(work, tmp_path / "killed")
    database.close()
    before = {path.name: path.read_bytes() for path in killed.iterdir()}
    assert len(read_bag(killed if whole_folder else killed / "bag.db3", MODEL)) == ROWS
    # the recording itself is as it was
    assert {path.name: path.read_bytes() for path in killed.iterdir()} == before


def test_messages_that_the_metadata_count_are_missed(tmp_path: Path) -> None:
    bag = write(tmp_path / "bag", StoragePlugin.SQLITE3)
    database = sqlite3.connect(bag / "bag.db3")
    database.execute("delete from messages where id > 300")
    database.commit()
    database.close()
    recording = read_bag(bag, MODEL)
    assert len(recording) == 300
    assert any("300 of the 400 messages" in note for note in recording.notes)


# of the file that is left
SHARES = [0.03, 0.4, 0.9]


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("where", ["file", "folder", "folder without metadata"])
def test_an_unfinished_mcap_is_read_as_far_as_it_goes(
    tmp_path: Path, share: float, where: str
) -> None:
    bag = write(tmp_path / "bag", StoragePlugin.MCAP)
    whole = read_bag(bag, MODEL)
    file = bag / "bag.mcap"
    # all rows stand in one chunk, which is cut off
    cut = file.read_bytes()[: int(share * file.stat().st_size)]
    file.write_bytes(cut)
    if where == "folder without metadata":
        (bag / "metadata.yaml").unlink()
    part = read_bag(file if where == "file" else bag, MODEL)
    # no row is lost that the file holds whole
    least = int(share * ROWS * 0.85) - 2
    assert least <= len(part) <= int(share * ROWS * 1.15) + 2
    np.testing.assert_array_equal(part.q, whole.q[: len(part)])
    np.testing.assert_array_equal(part.t, whole.t[: len(part)])
    assert any("bag.mcap is unfinished" in note for note in part.notes)
    missed = any(f"of the {ROWS} messages" in note for note in part.notes)
    assert missed == (where == "folder")
    assert file.read_bytes() == cut


def test_chunks_before_the_cut_one_are_read(tmp_path: Path) -> None:
    bag = write(tmp_path / "bag", StoragePlugin.MCAP)
    data = (bag / "bag.mcap").read_bytes()
    file = tmp_path / "two_chunks.mcap"
    # the file up to the end of its chunk, then the beginning of a chunk that is compressed
    chunk = data.index(b"\x06", 9 + 8)
    while int.from_bytes(data[chunk + 1 : chunk + 9], "little") > len(data):
        chunk = data.index(b"\x06", chunk + 1)
    end = chunk + 9 + int.from_bytes(data[chunk + 1 : chunk + 9], "little")
    head = b"\x06" + (1000).to_bytes(8, "little") + bytes(28) + (4).to_bytes(4, "little") + b"zstd"
    file.write_bytes(data[:end] + head + bytes(100))
    assert len(read_bag(file, MODEL)) == ROWS


@pytest.mark.parametrize("size", [8, 12, 60])
def test_an_unfinished_mcap_without_a_message_is_called_so(tmp_path: Path, size: int) -> None:
    bag = write(tmp_path / "bag", StoragePlugin.MCAP)
    file = bag / "bag.mcap"
    file.write_bytes(file.read_bytes()[:size])
    with pytest.raises(ArgumentError, match=r"unfinished|cannot be read as a bag"):
        read_bag(file, MODEL)


@pytest.mark.parametrize("nothing", ["''", '""', ""])
def test_metadata_without_a_storage(tmp_path: Path, nothing: str) -> None:
    bag = write(tmp_path / "bag", StoragePlugin.MCAP)
    file = bag / "metadata.yaml"
    text = re.sub(r"storage_identifier: \S+", f"storage_identifier: {nothing}", file.read_text())
    file.write_text(text)
    with pytest.raises(ArgumentError, match=r"metadata\.yaml.*storage_identifier: mcap"):
        read_bag(bag, MODEL)
    assert len(read_bag(bag / "bag.mcap", MODEL)) == ROWS


def test_compressed_messages_need_their_folder(tmp_path: Path) -> None:
    bag = write(tmp_path / "bag", StoragePlugin.MCAP, compressed=True)
    assert len(read_bag(bag, MODEL)) == ROWS
    with pytest.raises(ArgumentError, match="folder of the bag"):
        read_bag(bag / "bag.mcap", MODEL)
