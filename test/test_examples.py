"""Every public function and class has an example that ``help`` shows, and the examples do what they
say.
"""

from __future__ import annotations

import doctest
import inspect
import re
import warnings

import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.model.published import examples

AFTER_IDENTIFY = list(examples())[list(examples()).index("identify") :]
"""The last ones of the file go on with what the example of ``identify`` made."""


def documented(name: str) -> str:
    return inspect.getdoc(getattr(rd, name)) or ""


def failures_of(names, space=()):
    """What the examples of these names print beside what they say, and the names that the last one
    made.
    """
    failures = []
    made = dict(space)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            test = doctest.DocTestParser().get_doctest(documented(name), dict(space), name, None, 0)
            doctest.DocTestRunner(verbose=False).run(test, out=failures.append, clear_globs=False)
            made = test.globs
    return "".join(failures), made


PUBLIC = [name for name in dir(rd) if name not in AFTER_IDENTIFY and ">>>" in documented(name)]


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_the_examples_that_help_shows_do_what_they_say(part, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    failures, _ = failures_of(PUBLIC[part::4])
    assert not failures, failures


@pytest.mark.slow
def test_so_do_those_that_go_on_with_the_example_of_identify(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    failures, made = failures_of(["identify"])
    failures += failures_of(AFTER_IDENTIFY[1:], made)[0]
    assert not failures, failures


def test_every_argument_of_a_public_function_is_described():
    missing = [
        f"{name}: {argument}"
        for name in dir(rd)
        if inspect.isfunction(function := getattr(rd, name))
        for argument in inspect.signature(function).parameters
        if not re.search(rf"^    (.*, )?{argument}(, .*)?:", documented(name), re.M)
    ]
    assert not missing, missing


def test_every_public_function_and_class_has_an_example():
    assert not examples().keys() - set(dir(rd)), "an example of a name that is not public"
    missing = [
        name
        for name in dir(rd)
        if (inspect.isfunction(value := getattr(rd, name)) or inspect.isclass(value))
        and not issubclass(value if inspect.isclass(value) else int, BaseException)
        and ">>>" not in documented(name)
    ]
    assert not missing, f"add an example to robot_dynamics_ros/model/examples.txt: {missing}"
