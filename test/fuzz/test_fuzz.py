"""Whatever is written into a file, sent as a message or typed: an answer or an error of ours, and finite efforts.

``FUZZ=N`` tries N inputs of each kind instead of some hundred.  Inputs that ever failed lie in ``corpus/<kind>/`` and are
tried first; a new one is written to ``build/fuzz/<kind>/``, to be looked at, mended and moved there.
"""

from __future__ import annotations

import hashlib
import importlib
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.fuzz_targets import TARGETS

CORPUS = Path(__file__).parent / "corpus"
FOUND = Path(__file__).parents[2] / "build" / "fuzz"
EXAMPLES = int(os.environ.get("FUZZ") or 200)
KNOWN = sorted(path for path in CORPUS.glob("*/*") if path.is_file())


def run(kind, data, folder):
    target = TARGETS[kind]
    if target.needs:
        pytest.importorskip(target.needs)
    target.run(data, folder)


@pytest.mark.parametrize("path", KNOWN, ids=[f"{p.parent.name}-{p.name}" for p in KNOWN])
def test_what_failed_once(path, tmp_path):
    run(path.parent.name, path.read_bytes(), tmp_path)


@pytest.mark.parametrize("kind", TARGETS)
def test_the_good_ones_are_taken(kind, tmp_path, monkeypatch):
    """Without this a target that refuses everything would pass."""
    import contextlib

    if TARGETS[kind].needs:
        importlib.import_module(TARGETS[kind].needs) if TARGETS[kind].needs != "rclpy" else pytest.importorskip("rclpy")
    monkeypatch.setattr("support.fuzz_targets.ours", contextlib.nullcontext)
    for seed in TARGETS[kind].seeds()[:1]:
        run(kind, seed, tmp_path)


@st.composite
def spoilt(draw, seeds, tokens):
    """A good input with some pieces replaced, taken away, doubled or put in; or any bytes at all."""
    if draw(st.integers(0, 19)) == 0:
        return draw(st.binary(max_size=300))
    data = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(1, 5))):
        at = draw(st.integers(0, len(data)))
        gone = draw(st.sampled_from((0, 0, 1, 2, 4, 8, 30)))
        kinds = [st.binary(max_size=8), st.integers(0, len(data)).map(lambda k, data=data: data[k : k + 20])]
        if tokens:
            kinds.insert(0, st.sampled_from(tokens))
        data = data[:at] + draw(st.one_of(kinds)) + data[at + gone :]
    return data


@pytest.mark.timeout(0 if "FUZZ" in os.environ else 300)  # 100 000 inputs take longer than any test may
@pytest.mark.parametrize("kind", TARGETS)
def test_anything(kind, tmp_path):
    target = TARGETS[kind]
    if target.needs:
        pytest.importorskip(target.needs)

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize="FUZZ" not in os.environ,
        suppress_health_check=list(HealthCheck),
    )
    @given(spoilt(target.seeds(), target.tokens))
    def holds(data):
        try:
            target.run(data, tmp_path)
        except Exception:
            folder = FOUND / kind
            folder.mkdir(parents=True, exist_ok=True)
            (folder / hashlib.sha256(data).hexdigest()[:12]).write_bytes(data)
            raise

    holds()
