"""Rows of Pfaffian constraints A(q) q̇ = 0 from formulas as text, with their rates.

A formula is read by Python's own parser and worked out in dual numbers (x, ẋ), so that a
coefficient comes with its rate.  Only numbers, names of joints, + − * / ** and five functions have
a meaning: nothing of a file is ever run.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.spatial import cos, exp, sin, sqrt


class Dual(NamedTuple):
    """A value and its rate of change."""

    x: Any
    rate: Any

    def __add__(self, other: Any) -> Dual:
        return Dual(self.x + other.x, self.rate + other.rate)

    def __sub__(self, other: Any) -> Dual:
        return Dual(self.x - other.x, self.rate - other.rate)

    def __mul__(self, other: Any) -> Dual:
        return Dual(self.x * other.x, self.rate * other.x + other.rate * self.x)

    def __truediv__(self, other: Any) -> Dual:
        ratio = self.x / other.x
        return Dual(ratio, (self.rate - ratio * other.rate) / other.x)

    def __neg__(self) -> Dual:
        return Dual(-self.x, -self.rate)


def _tangent(a: Dual) -> Dual:
    value = sin(a.x) / cos(a.x)
    return Dual(value, a.rate * (value * value + 1.0))


def _root(a: Dual) -> Dual:
    value = sqrt(a.x)
    return Dual(value, a.rate * 0.5 / value)


def _power_of_e(a: Dual) -> Dual:
    value = exp(a.x)
    return Dual(value, a.rate * value)


FUNCTIONS: Mapping[str, Callable[[Dual], Dual]] = {
    "sin": lambda a: Dual(sin(a.x), a.rate * cos(a.x)),
    "cos": lambda a: Dual(cos(a.x), a.rate * sin(a.x) * -1.0),
    "tan": _tangent,
    "sqrt": _root,
    "exp": _power_of_e,
}
_OPERATIONS: Mapping[type[ast.operator], Callable[[Dual, Dual], Dual]] = {
    ast.Add: Dual.__add__,
    ast.Sub: Dual.__sub__,
    ast.Mult: Dual.__mul__,
    ast.Div: Dual.__truediv__,
}
_LARGEST_POWER = 9


def check_formula(text: str, names: frozenset[str], where: str) -> set[str]:
    """The names that a formula uses; ArgumentError: no formula, or a name that is not known."""
    used: set[str] = set()

    def known(name: str) -> Dual:
        if name not in names:
            remedy = f"Names may be pi and {', '.join(sorted(names))}."
            raise ArgumentError(f"{name!r} is unknown", where=where, got=text, remedy=remedy)
        used.add(name)
        # an array, for which the root of a negative number is no error
        return Dual(np.full(1, 0.7), np.ones(1))

    with np.errstate(all="ignore"):
        formula(text, known, where)
    return used


def _function_called(node: ast.Call) -> Callable[[Dual], Dual] | None:
    """The function of one argument that is called, if it is known."""
    if not isinstance(node.func, ast.Name) or len(node.args) != 1 or node.keywords:
        return None
    return FUNCTIONS.get(node.func.id)


def formula(text: str, value_of: Callable[[str], Dual], where: str = "formula") -> Dual:
    """A formula and its rate, with the values of its names."""

    def refused(problem: str) -> ArgumentError:
        remedy = f"Use numbers, joints, + - * / ** and {', '.join(FUNCTIONS)}."
        return ArgumentError(problem, where=where, got=text, remedy=remedy)

    def of(node: ast.expr) -> Dual:
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            number = float(ast.unparse(node))
            # 1e999 is read as infinity
            if math.isfinite(number):
                return Dual(number, 0.0)
        if isinstance(node, ast.Name):
            return Dual(math.pi, 0.0) if node.id == "pi" else value_of(node.id)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            operand = of(node.operand)
            return -operand if isinstance(node.op, ast.USub) else operand
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            return power(of(node.left), node.right)
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
            return _OPERATIONS[type(node.op)](of(node.left), of(node.right))
        if isinstance(node, ast.Call):
            function = _function_called(node)
            if function is not None:
                return function(of(node.args[0]))
        raise refused(f"{ast.unparse(node)!r} has no meaning in {text!r}")

    def power(base: Dual, exponent: ast.expr) -> Dual:
        number = getattr(exponent, "value", None)
        if type(number) is not int or not 1 <= number <= _LARGEST_POWER:
            raise refused(f"the power in {text!r} is no whole number from 1 to {_LARGEST_POWER}")
        result = base
        for _ in range(number - 1):
            result = result * base
        return result

    try:
        return of(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ArithmeticError, RecursionError, MemoryError):
        raise refused(f"{text!r} is no formula") from None
