"""Names of symbols: what a compiler replaces before it reads the code is refused."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from robot_dynamics_ros.equations.names import check_identifier
from robot_dynamics_ros.errors import ArgumentError

# of the exported code and of its test program
HEADERS = ("math.h", "stdio.h", "stdlib.h", "string.h")
COMPILERS = {"c": ("cc", "-std=gnu99"), "c++": ("c++", "-std=gnu++17")}


@pytest.mark.parametrize("language", COMPILERS)
def test_macros_of_the_compiler_are_refused(language: str) -> None:
    """The compiler itself lists them."""
    program, standard = COMPILERS[language]
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    source = "".join(f"#include <{header}>\n" for header in HEADERS)
    command = [program, standard, "-x", language, "-dM", "-E", "-"]
    listed = subprocess.run(command, input=source, capture_output=True, text=True, check=True)
    names = re.findall(r"^#define ([A-Za-z]\w*)", listed.stdout, re.M)
    assert len(names) > 40
    taken = []
    for name in names:
        try:
            check_identifier(name, "symbol")
        except ArgumentError:
            continue
        taken.append(name)
    assert taken == []


@pytest.mark.parametrize(
    "name", ["M_1", "m1", "E", "EI", "I1", "J_2", "W", "W_1", "FP", "le1", "k"]
)
def test_usual_symbols_are_taken(name: str) -> None:
    assert check_identifier(name, "symbol") == name
