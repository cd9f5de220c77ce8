"""Files that are replaced: the former ones stay until the new ones are whole."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from robot_dynamics_ros.whole_files import whole_file, whole_files, write_whole_text

PROGRAM = """
import os, sys
from robot_dynamics_ros.whole_files import whole_files
with whole_files(sys.argv[1]) as place:
    for name in "abc":
        (place / name).write_text("new")
        if sys.argv[2] == name:
            os.kill(os.getpid(), 9)
    (place / "bag").mkdir()
    (place / "bag" / "data").write_text("new")
"""


def contents(folder: Path) -> dict[str, str]:
    """Name → text of the files that a user sees."""
    files = (path for path in folder.rglob("*") if path.is_file())
    shown = {str(path.relative_to(folder)): path.read_text() for path in files}
    return {name: text for name, text in shown.items() if not name.startswith(".")}


@pytest.mark.parametrize("killed", ["a", "b", "c", "never"])
def test_a_killed_process_leaves_the_former_files(tmp_path: Path, killed: str) -> None:
    former = {"a": "old", "b": "old", "bag/data": "old", "bag/more": "old", "other": "old"}
    for name, text in former.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path), killed], check=False)
    if killed != "never":
        assert contents(tmp_path) == former
        subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path), "never"], check=True)
    new = {"a": "new", "b": "new", "c": "new", "bag/data": "new", "other": "old"}
    assert contents(tmp_path) == new
    # nothing hidden is left
    assert sorted(os.listdir(tmp_path)) == ["a", "b", "bag", "c", "other"]


KILLED_IN_A_RENAME = """
import os, pathlib
rename = pathlib.Path.replace
left = int(sys.argv[3])
def replace(self, target):
    global left
    if left == 0:
        os.kill(os.getpid(), 9)
    left -= 1
    return rename(self, target)
pathlib.Path.replace = replace
"""


@pytest.mark.parametrize("renames", range(5))
def test_killed_between_renames_every_file_is_whole(tmp_path: Path, renames: int) -> None:
    """What no file system does in one step: several files.  Each of them is the former one or the
    new one, and the next run writes all of them.
    """
    former = {"a": "old", "b": "old", "bag/data": "old"}
    for name, text in former.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    program = PROGRAM.replace("with ", f"{KILLED_IN_A_RENAME}\nwith ", 1)
    command = [sys.executable, "-c", program, str(tmp_path), "never"]
    killed = subprocess.run([*command, str(renames)], check=False)
    assert killed.returncode == -9
    assert set(contents(tmp_path).values()) <= {"old", "new"}
    shown = {name: text for name, text in contents(tmp_path).items() if "/." not in f"/{name}"}
    assert {"a", "b"} <= set(shown)
    assert sum(text == "new" for name, text in shown.items() if "/" not in name) <= renames
    subprocess.run([*command, "99"], check=True)
    assert contents(tmp_path) == {"a": "new", "b": "new", "c": "new", "bag/data": "new"}
    assert sorted(os.listdir(tmp_path)) == ["a", "b", "bag", "c"]


def test_an_error_leaves_the_former_file(tmp_path: Path) -> None:
    path = tmp_path / "figures.csv"
    write_whole_text(path, "old")
    with pytest.raises(OSError, match="full"), whole_file(path) as part:
        part.write_text("half")
        raise OSError("the disk is full")
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["figures.csv"]
    with pytest.raises(OSError, match="full"), whole_files(tmp_path) as place:
        (place / "figures.csv").write_text("half")
        raise OSError("the disk is full")
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["figures.csv"]


def test_a_link_stays_a_link_and_a_device_a_device(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_whole_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real").read_text() == "new"
    write_whole_text("/dev/null", "text")
    assert Path("/dev/null").is_char_device()
