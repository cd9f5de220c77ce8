"""Every public function has an example in the reference, and the examples do what they say."""

from __future__ import annotations

import doctest
import inspect
import re
import warnings
from pathlib import Path

import pytest

import robot_dynamics_ros as rd

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(not (ROOT / "docs" / "generate").is_dir(), reason="not a source checkout")


@pytest.fixture
def examples(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    from docs.generate import examples, library

    assert not set(examples.EXAMPLES) - {name for part in library.PARTS for name in library.public_names(part)}
    return examples


@pytest.mark.slow
def test_the_examples_of_the_reference_run(examples, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    failures = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found: dict = {}
        for name, text in examples.EXAMPLES.items():
            given = found if name in examples.AFTER_IDENTIFY else {}
            test = doctest.DocTestParser().get_doctest(examples.GIVEN + text, given, name, None, 0)
            doctest.DocTestRunner(verbose=False).run(test, out=failures.append, clear_globs=False)
            if name == "identify":
                found = test.globs
    assert not failures, "".join(failures)


def test_every_public_function_has_an_example(examples):
    """In its docstring, in the list of examples, or on a page whose Python is run."""
    pages = [path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md")]
    code = "\n".join(block for page in pages for block in re.findall(r"```python.*?\n(.*?)```", page, re.DOTALL))
    missing = [
        name
        for home in rd.PARTS
        for name in getattr(__import__(f"robot_dynamics_ros.{home}", fromlist=["x"]), "__all__", ())
        if inspect.isfunction(function := getattr(rd, name))
        and ">>>" not in (inspect.getdoc(function) or "")
        and name not in examples.EXAMPLES
        and not re.search(rf"\brd\.{name}\(", code)
    ]
    assert not missing, f"add an example to docs/generate/examples.py: {missing}"
