"""C99 source of traces: functions without branches that need math.h alone and allocate nothing."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence

import numpy as np

from robot_dynamics_ros.dynamics.engine.codegen.graph import Expr, Key, reachable

REALS = ("double", "float")
_BINARY = {"add": "+", "sub": "-", "mul": "*", "div": "/"}


_C = """
    auto break case char const continue default do double else enum extern float for goto if
    inline int long
    register restrict return short signed sizeof static struct switch typedef union unsigned
    void volatile while
    alignas alignof atomic_bool bool complex constexpr false imaginary main noreturn nullptr
    static_assert
    thread_local true typeof typeof_unqual
"""
C_KEYWORDS = frozenset(_C.split())
"""Keywords of C99 to C23, and ``main``."""

_CPP = """
    and and_eq asm bitand bitor catch class compl concept const_cast consteval constinit
    co_await co_return co_yield
    decltype delete dynamic_cast explicit export friend mutable namespace new noexcept not
    not_eq operator or or_eq
    private protected public reinterpret_cast requires static_cast template this throw try
    typeid typename using virtual
    wchar_t xor xor_eq
"""
CPP_KEYWORDS = frozenset(_CPP.split())
"""Keywords that C++ adds: headers are meant to be read by both."""


def c_number(value: float, real: str) -> str:
    """A constant, double or float, with as many digits as bring it back exactly."""
    if real == "float":
        text = str(np.float32(value))
    else:
        text = repr(float(value))
    if not any(c in text for c in ".en"):
        text += ".0"
    return f"{text}f" if real == "float" else text


def c_comment(text: str) -> str:
    """Text that may stand in a comment, whatever names it holds: ASCII, no comment marks, no
    trigraphs.
    """
    plain = unicodedata.normalize("NFKC", text).encode("ascii", "backslashreplace").decode("ascii")
    plain = "".join(c if c.isprintable() else " " for c in plain)
    for mark in ("*/", "/*", "??"):
        while mark in plain:
            plain = plain.replace(mark, f"{mark[0]} {mark[1]}")
    return plain.replace("\\", "/")


def c_function_body(
    outputs: Sequence[tuple[str, Sequence[Expr]]],
    leaf: Callable[[Key], str],
    real: str,
    returns: bool = False,
) -> list[str]:
    """Statements that compute flat output arrays, (name, expressions) each, or return the only one,
    which is a scalar.

    All inputs are read before the first output is written; ``leaf`` turns a leaf's key into C, e.g.
    ``"q[3]"``.
    """
    flat = [x for _, values in outputs for x in values]
    order = reachable(flat)
    suffix = "f" if real == "float" else ""
    names: dict[int, str] = {}
    lines: list[str] = []

    def text(x: Expr) -> str:
        if x.op == "const":
            return c_number(x.a, real)
        return names[x.id]

    for node in order:
        if node.op == "const":
            continue
        if node.op == "leaf":
            right = leaf(node.a)
        elif node.op in _BINARY:
            right = f"{text(node.a)} {_BINARY[node.op]} {text(node.b)}"
        elif node.op in ("min", "max"):
            one = text(node.a)
            other = text(node.b)
            right = f"{one} {'>' if node.op == 'min' else '<'} {other} ? {other} : {one}"
        elif node.op == "neg":
            right = f"-{text(node.a)}"
        else:
            right = f"{node.op}{suffix}({text(node.a)})"
        names[node.id] = f"t{len(names)}"
        lines.append(f"const {real} {names[node.id]} = {right};")
    if returns:
        return [*lines, f"return {text(flat[0])};"]
    for array, values in outputs:
        lines += [f"{array}[{k}] = {text(x)};" for k, x in enumerate(values)]
    return lines
