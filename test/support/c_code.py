"""Compile emitted C and call it from Python."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

FLAGS = [
    "-std=c99",
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Wconversion",
    "-Wdouble-promotion",
    "-Wshadow",
    "-Wstrict-prototypes",
    "-Wmissing-prototypes",
    "-Werror",
]
COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]

needs_compiler = pytest.mark.skipif(not COMPILERS, reason="no C compiler here")


def compile_c(
    directory: Path, sources: list[str], target: str, *flags: str, compiler: str | None = None
) -> Path:
    """Compile with every warning an error; fail the test with what the compiler says."""
    command = [compiler or COMPILERS[0], *FLAGS, *flags, *sources, "-o", target, "-lm"]
    run_compiler(command, directory)
    return directory / target


class Library:
    """The functions of an emitted source, called with arrays."""

    def __init__(self, code, directory: Path, real: str = "double") -> None:
        code.write(directory)
        self.prefix = code.plan.prefix
        path = compile_c(directory, [f"{self.prefix}.c"], "library.so", "-O0", "-shared", "-fPIC")
        self.library = ctypes.CDLL(str(path))
        self.real = ctypes.c_double if real == "double" else ctypes.c_float
        self.dtype = np.float64 if real == "double" else np.float32

    def _given(self, arguments):
        arrays = [
            np.ascontiguousarray(a, dtype=self.dtype) if not isinstance(a, float) else a
            for a in arguments
        ]
        return [
            self.real(a) if isinstance(a, float) else a.ctypes.data_as(ctypes.c_void_p)
            for a in arrays
        ], arrays

    def call(self, name: str, inputs, *shapes, parameters=None):
        """Outputs of the given shapes, or the returned number if there are none."""
        outputs = [np.full(shape, np.nan, dtype=self.dtype) for shape in shapes]
        given, keep = self._given([*inputs, *outputs])
        if parameters is not None:
            given.insert(0, ctypes.c_void_p(parameters))
        function = getattr(self.library, f"{self.prefix}_{name}")
        function.restype = None if shapes else self.real
        result = function(*given)
        del keep
        return result if not shapes else outputs[0] if len(shapes) == 1 else outputs

    def step(self, state, command, h, external=None):
        """The state after a step."""
        state = [np.array(x, dtype=self.dtype) for x in state]
        arguments = [*state, np.asarray(command, dtype=self.dtype)]
        if external is not None:
            arguments.append(np.asarray(external, dtype=self.dtype))
        given = [a.ctypes.data_as(ctypes.c_void_p) for a in arguments]
        function = getattr(self.library, f"{self.prefix}_step")
        function.restype = None
        function(*given, self.real(h))
        return state


CPP_FLAGS = [
    "-std=c++17",
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Wconversion",
    "-Wshadow",
    "-Wdouble-promotion",
    "-Werror",
]
CPP_COMPILERS = [name for name in ("g++", "clang++") if shutil.which(name)]

needs_cpp = pytest.mark.skipif(
    not CPP_COMPILERS or not COMPILERS, reason="no C and C++ compilers here"
)


def compile_cpp(directory: Path, sources: list[str], target: str, *flags: str) -> Path:
    """The same for C++; ``.c`` files among the sources are compiled as C, ``.o`` files are
    linked.
    """
    objects = []
    for source in sources:
        name = Path(source)
        if name.suffix == ".o":
            objects.append(source)
            continue
        c = name.suffix == ".c"
        command = [COMPILERS[0], *FLAGS] if c else [CPP_COMPILERS[0], *CPP_FLAGS]
        objects.append(f"{name.stem}.o")
        run_compiler([*command, *flags, "-c", source, "-o", objects[-1]], directory)
    run_compiler([CPP_COMPILERS[0], *flags, *objects, "-o", target, "-lm"], directory)
    return directory / target


def run_compiler(command: list[str], directory: Path) -> None:
    """Run it; fail the test with what it says."""
    done = subprocess.run(
        command, cwd=directory, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr[:4000]


def run_program(program: Path, *arguments: str) -> str:
    """What a program prints; fail the test if it fails."""
    done = subprocess.run(
        [str(program), *arguments],
        cwd=program.parent,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout
