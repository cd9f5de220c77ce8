"""A program in C99 that holds the emitted functions to values computed when they were emitted, and how to build it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from robot_dynamics_ros.dynamics.engine.codegen.c_source import c_number
from robot_dynamics_ros.export.functions import Request
from robot_dynamics_ros.export.plan import Plan
from robot_dynamics_ros.export.reference import cases_of

TOLERANCE = {"double": 1e-12, "float": 1e-4}
"""Largest error, over the largest value of an output or one, where the mass matrix is well conditioned."""


def _array(kind: str, name: str, values: Iterable[float], real: str) -> list[str]:
    numbers = [c_number(x, real) for x in values]
    rows = [", ".join(numbers[k : k + 4]) for k in range(0, len(numbers), 4)]
    body = ",\n            ".join(rows)
    return [f"        {kind} {name}[{len(numbers)}] = {{", f"            {body}", "        };"]


def _call(plan: Plan, request: Request, given: Sequence[str], got: Sequence[str]) -> list[str]:
    """A call of a function in C.

    Args:
        given: what is handed over for each input.
        got: the arrays for each result.
    """
    numbers = [f"&{plan.prefix}_default_parameters"] if plan.parameters else []
    name = f"{plan.prefix}_{request.name}"
    if request.returns:
        return [f"{got[0]}[0] = {name}({', '.join([*numbers, *given])});"]
    return [f"{name}({', '.join([*numbers, *given, *got])});"]


def c_test(plan: Plan, real: str, header: str = "", call: Callable[..., list[str]] = _call) -> str:
    """The program: prints the largest error of each function, and fails if one is too large.

    Args:
        header: that declares the functions, if it is not the one in C.
        call: writes a call of a function of that header, as :func:`_call`.
    """
    header = header or f"{plan.prefix}.h"
    prefix = plan.prefix
    f = "f" if real == "float" else ""
    zero, one = c_number(0.0, real), c_number(1.0, real)
    out = [
        f"/* Holds the functions of {header} to reference values. */",
        "#include <math.h>",
        "#include <stdio.h>",
        "#include <stdlib.h>",
        "",
        f'#include "{header}"',
        "",
        f"static {real} worst;",
        "",
        f"static void compare(const {real} *got, const {real} *expected, int n, {real} loss)",
        "{",
        f"    {real} scale = {one};",
        "    int k;",
        "    for (k = 0; k < n; k++) {",
        f"        if (fabs{f}(expected[k]) > scale) {{",
        f"            scale = fabs{f}(expected[k]);",
        "        }",
        "    }",
        "    for (k = 0; k < n; k++) {",
        f"        const {real} error = fabs{f}(got[k] - expected[k]) / (scale * loss);",
        "        if (!(error <= worst)) {",
        "            worst = error;",
        "        }",
        "    }",
        "}",
        "",
        "static int report(const char *name)",
        "{",
        f"    const int good = worst <= {c_number(TOLERANCE[real], real)};",
        '    printf("%-40s %.3e %s\\n", name, (double)worst, good ? "ok" : "FAILED");',
        f"    worst = {zero};",
        "    return good ? 0 : 1;",
        "}",
        "",
    ]
    for request in plan.requests:
        out += _function(plan, request, real, call)
    out += ["int main(void)", "{", "    int failures = 0;"]
    for name in (request.name for request in plan.requests):
        out += [f"    test_{name}();", f'    failures += report("{prefix}_{name}");']
    return "\n".join([*out, "    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;", "}"]) + "\n"


def _function(plan: Plan, request: Request, real: str, call: Callable[..., list[str]]) -> list[str]:
    out = [f"static void test_{request.name}(void)", "{"]
    place = {a.name: f"{a.name}_got" if a in request.replaced else a.name for a in request.inputs}
    given = [place[a.name] + ("" if a.shape else "[0]") for a in request.inputs]
    for case in cases_of(plan, request):
        out.append("    {")
        for name, values in case.inputs.items():
            out += _array(real if place[name] != name else f"static const {real}", place[name], values, real)
        for a, values in zip(request.outputs, case.outputs, strict=True):
            out += _array(f"static const {real}", f"{a.name}_expected", values, real)
        out += [f"        {real} {a.name}_got[{a.size}];" for a in request.results]
        out += [f"        {line}" for line in call(plan, request, given, [f"{a.name}_got" for a in request.results])]
        loss = c_number(case.loss, real)
        out += [f"        compare({a.name}_got, {a.name}_expected, {a.size}, {loss});" for a in request.outputs]
        out.append("    }")
    return [*out, "}", ""]


def cmake(plan: Plan, *, eigen: bool) -> str:
    """A CMake file for the library and the test program, and those of the Eigen header, where Eigen is installed."""
    p = plan.prefix
    c = f"""cmake_minimum_required(VERSION 3.10)
project({p} C{" CXX" if eigen else ""})

set(CMAKE_C_STANDARD 99)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()

add_library({p} {p}.c)
target_include_directories({p} PUBLIC $<BUILD_INTERFACE:${{CMAKE_CURRENT_SOURCE_DIR}}>)
if(UNIX)
  target_link_libraries({p} PUBLIC m)
endif()

enable_testing()
add_executable({p}_test {p}_test.c)
target_link_libraries({p}_test PRIVATE {p})
add_test(NAME {p}_test COMMAND {p}_test)
"""
    header = f"""
find_package(Eigen3 QUIET NO_MODULE)
if(Eigen3_FOUND)
  add_library({p}_eigen INTERFACE)
  target_compile_features({p}_eigen INTERFACE cxx_std_14)
  target_link_libraries({p}_eigen INTERFACE {p} Eigen3::Eigen)
  add_executable({p}_eigen_test {p}_eigen_test.cpp)
  target_link_libraries({p}_eigen_test PRIVATE {p}_eigen)
  add_test(NAME {p}_eigen_test COMMAND {p}_eigen_test)
else()
  message(STATUS "Eigen3 is not installed: {p}.hpp is not tested")
endif()
"""
    return c + header if eigen else c
