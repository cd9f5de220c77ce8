"""A program in C99 that holds the emitted functions to values computed when they were emitted, and how to build it."""

from __future__ import annotations

from collections.abc import Iterable

from robot_dynamics_ros.dynamics.engine.codegen.c_source import c_number
from robot_dynamics_ros.export.functions import Request
from robot_dynamics_ros.export.plan import Plan
from robot_dynamics_ros.export.reference import cases_of, step_cases

TOLERANCE = {"double": 1e-12, "float": 1e-4}
"""Largest error, over the largest value of an output or one, where the mass matrix is well conditioned."""


def _array(name: str, values: Iterable[float], real: str, indent: str) -> list[str]:
    numbers = [c_number(x, real) for x in values]
    rows = [", ".join(numbers[k : k + 4]) for k in range(0, len(numbers), 4)]
    body = f",\n{indent}    ".join(rows)
    return [f"{indent}static const {real} {name}[{len(numbers)}] = {{", f"{indent}    {body}", f"{indent}}};"]


def c_test(plan: Plan, real: str) -> str:
    """The program: prints the largest error of each function, and fails if one is too large."""
    prefix = plan.prefix
    f = "f" if real == "float" else ""
    zero, one = c_number(0.0, real), c_number(1.0, real)
    out = [
        f"/* Holds the functions of {prefix}.h to reference values. */",
        "#include <math.h>",
        "#include <stdio.h>",
        "#include <stdlib.h>",
        "",
        f'#include "{prefix}.h"',
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
    for t in plan.traced:
        out += _function(plan, t.request, real)
    if plan.step:
        out += _step(plan, real)
    out += ["int main(void)", "{", "    int failures = 0;"]
    names = [t.request.name for t in plan.traced] + (["step"] if plan.step else [])
    for name in names:
        out += [f"    test_{name}();", f'    failures += report("{prefix}_{name}");']
    return "\n".join([*out, "    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;", "}"]) + "\n"


def _function(plan: Plan, request: Request, real: str) -> list[str]:
    defaults = [f"&{plan.prefix}_default_parameters"] if plan.parameters else []
    out = [f"static void test_{request.name}(void)", "{"]
    for case in cases_of(plan, request):
        out.append("    {")
        for name, values in case.inputs.items():
            out += _array(name, values, real, "        ")
        for a, values in zip(request.outputs, case.outputs, strict=True):
            out += _array(f"{a.name}_expected", values, real, "        ")
            out.append(f"        {real} {a.name}_got[{a.size}];")
        arguments = [*defaults, *(a.name for a in request.inputs)]
        call = f"{plan.prefix}_{request.name}"
        if request.returns:
            out.append(f"        {request.outputs[0].name}_got[0] = {call}({', '.join(arguments)});")
        else:
            out.append(f"        {call}({', '.join([*arguments, *(f'{a.name}_got' for a in request.outputs)])});")
        loss = c_number(case.loss, real)
        out += [f"        compare({a.name}_got, {a.name}_expected, {a.size}, {loss});" for a in request.outputs]
        out.append("    }")
    return [*out, "}", ""]


def _step(plan: Plan, real: str) -> list[str]:
    out = ["static void test_step(void)", "{"]
    names = [a.name for a in (*plan.state, *plan.held)]
    for case in step_cases(plan):
        out.append("    {")
        for a, before, after in zip(plan.state, case.before, case.after, strict=False):
            out += [line.replace("static const ", "") for line in _array(a.name, before, real, "        ")]
            out += _array(f"{a.name}_expected", after, real, "        ")
        for a, values in zip(plan.held, (case.command, case.external), strict=False):
            out += _array(a.name, values, real, "        ")
        arguments = [f"&{plan.prefix}_default_parameters"] if plan.parameters else []
        out.append(f"        {plan.prefix}_step({', '.join([*arguments, *names, c_number(case.h, real)])});")
        loss = c_number(1.0, real)
        out += [f"        compare({a.name}, {a.name}_expected, {a.size}, {loss});" for a in plan.state]
        out.append("    }")
    return [*out, "}", ""]


def c_cmake(plan: Plan) -> str:
    """A CMake file for the library and the test program."""
    p = plan.prefix
    return f"""cmake_minimum_required(VERSION 3.10)
project({p} C)

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
