"""Whatever is written into a file, sent as a message or typed: an answer or an error of ours, and
finite efforts.

``FUZZ=N`` tries N inputs of each kind instead of some hundred, other ones each time; ``FUZZ_SEED``
repeats a run.  An input that is refused where none was before joins the good ones, so that later
inputs get behind the first checks.

Inputs that ever failed lie in ``corpus/<kind>/`` and are tried first.  A new one is cut down to
what fails and written to ``build/fuzz/<kind>/``, to be looked at, mended and moved there.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import random
import signal
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.fuzz_targets import REFUSALS, TARGETS

CORPUS = Path(__file__).parent / "corpus"
FOUND = Path(__file__).parents[2] / "build" / "fuzz"
EXAMPLES = int(os.environ.get("FUZZ") or 200)
SEED = int(
    os.environ.get("FUZZ_SEED")
    or (random.SystemRandom().randrange(2**32) if "FUZZ" in os.environ else 1)
)
#: Processor time after which an input counts as one that never ends, s.
PATIENCE = 20.0
#: Inputs that are tried at most to make one that fails shorter.
SHORTER = 400
KNOWN = sorted(path for path in CORPUS.glob("*/*") if path.is_file())


@pytest.fixture
def folder():
    """A folder in memory where there is one: on a disk, writing a file anew takes longer than
    reading it in.
    """
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
        yield Path(name)


def run(kind, data, folder):
    target = TARGETS[kind]
    if target.needs:
        pytest.importorskip(target.needs)
    target.run(data, folder)


@pytest.mark.parametrize("path", KNOWN, ids=[f"{p.parent.name}-{p.name}" for p in KNOWN])
def test_what_failed_once(path, folder):
    run(path.parent.name, path.read_bytes(), folder)


@pytest.mark.parametrize("kind", TARGETS)
def test_the_good_ones_are_taken(kind, folder, monkeypatch):
    """Without this a target that refuses everything would pass."""
    import contextlib

    if TARGETS[kind].needs:
        importlib.import_module(TARGETS[kind].needs) if TARGETS[
            kind
        ].needs != "rclpy" else pytest.importorskip("rclpy")
    monkeypatch.setattr("support.fuzz_targets.ours", contextlib.nullcontext)
    for seed in TARGETS[kind].seeds()[:1]:
        run(kind, seed, folder)


def spoilt(dice: random.Random, good: list[bytes], tokens: tuple[bytes, ...]) -> bytes:
    """A good input with some pieces replaced, taken away, doubled or put in; or any bytes at
    all.
    """
    if dice.randrange(20) == 0:
        return dice.randbytes(dice.randint(0, 300))
    data = dice.choice(good)
    for _ in range(dice.randint(1, 5)):
        at = dice.randint(0, len(data))
        gone = dice.choice((0, 0, 1, 2, 4, 8, 30))
        match dice.choice("atb" if tokens else "ab"):
            case "t":
                piece = dice.choice(tokens)
            case "a":
                begin = dice.randint(0, len(data))
                piece = data[begin : begin + 20]
            case _:
                piece = dice.randbytes(dice.randint(0, 8))
        data = data[:at] + piece + data[at + gone :]
    return data


class TookTooLong(Exception):
    """An input used more processor time than any may."""


@contextmanager
def processor_time(seconds: float) -> Iterator[None]:
    """Raise :class:`TookTooLong` after that much time of this process's own; other load does not
    count.
    """

    def stop(*_: Any) -> None:
        raise TookTooLong(f"more than {seconds:g} s of processor time")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)


def failure(target: Any, data: bytes, folder: Path) -> tuple[str, str] | None:
    """Where something is wrong with an input, if anywhere, and what."""
    try:
        with processor_time(PATIENCE):
            target.run(data, folder)
    except Exception as error:  # noqa: BLE001  whatever it is, it is a finding
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} {where.filename}:{where.lineno}", repr(error)
    return None


def shortened(data: bytes, still: Callable[[bytes], bool]) -> bytes:
    """The input with all pieces left out that are not needed."""
    left = SHORTER
    size = max(len(data) // 2, 1)
    while size and left > 0:
        at = 0
        while at < len(data) and left > 0:
            less = data[:at] + data[at + size :]
            left -= 1
            if still(less):
                data = less
            else:
                at += size
        size //= 2
    return data


# 100 000 inputs take longer than any test may
@pytest.mark.timeout(0 if "FUZZ" in os.environ else 300)
@pytest.mark.parametrize("kind", TARGETS)
def test_damaged_inputs_are_read_or_refused_with_a_reason(kind, folder):
    target = TARGETS[kind]
    if target.needs:
        pytest.importorskip(target.needs)
    dice = random.Random(f"{SEED} {kind}")
    good = list(target.seeds())
    REFUSALS.clear()
    places = 0
    found: dict[str, str] = {}
    for _ in range(EXAMPLES):
        data = spoilt(dice, good, target.tokens)
        wrong = failure(target, data, folder)
        if wrong is not None and wrong[0] not in found:
            where = wrong[0]
            data = shortened(
                data,
                lambda less, where=where: (failure(target, less, folder) or "")[:1] == (where,),
            )
            kept = FOUND / kind
            kept.mkdir(parents=True, exist_ok=True)
            path = kept / hashlib.sha256(data).hexdigest()[:12]
            path.write_bytes(data)
            found[where] = f"{path}: {data!r}: {where}: {wrong[1]}"
        if len(REFUSALS) > places:
            places = len(REFUSALS)
            good.append(data)
    assert not found, f"FUZZ_SEED={SEED}:\n" + "\n".join(found.values())
