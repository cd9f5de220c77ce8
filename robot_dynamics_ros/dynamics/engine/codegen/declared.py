"""Memory of routines, declared once as a class: names, shapes, units and meaning.

    class Oscillator(Declared):
        \"\"\"Masses on springs.\"\"\"

        nv: int
        x: Vector = numbers("nv", unit="m", meaning="elongation")
        axes: Matrix = numbers("nv", 3, meaning="directions of the springs")
        mass_matrix: Kernel = kernel("x", "out M")

A number without a value, such as ``nv``, is a constant: its value is given when the memory is made,
and compiled routines have it built in.  Classes may inherit from several others: the memory has the
arrays of all.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol, TypeAlias, TypeVar, cast, overload
from weakref import WeakKeyDictionary

import numpy as np

__all__ = [
    "Constant",
    "Declared",
    "Integers",
    "Kernel",
    "KernelTable",
    "Matrix",
    "Vector",
    "constant",
    "integers",
    "kernel",
    "kernels",
    "numbers",
    "row",
]

Constant: TypeAlias = int | float | bool
Size: TypeAlias = int | str
"""A length: a number, or an expression of constants such as ``"3 * nv"``."""
_C = TypeVar("_C", int, float, bool)
_CONSTANTS = ("int", "float", "bool")
# annotation → kind and number of dimensions
_DECLARED = {
    **dict.fromkeys(_CONSTANTS, ("constant", 0)),
    **{"Vector": ("numbers", 1), "Matrix": ("numbers", 2), "Integers": ("integers", 1)},
    **{"Kernel": ("kernel", 0), "KernelTable": ("kernels", 0)},
}


class Vector(Protocol):
    """An array of numbers in one dimension."""

    def __getitem__(self, i: int, /) -> float: ...
    def __setitem__(self, i: int, value: float, /) -> None: ...


class Matrix(Protocol):
    """An array of numbers in two dimensions, row after row."""

    def __getitem__(self, entry: tuple[int, int], /) -> float: ...
    def __setitem__(self, entry: tuple[int, int], value: float, /) -> None: ...


class Integers(Protocol):
    """An array of integers of 64 bits in one dimension."""

    def __getitem__(self, i: int, /) -> int: ...
    def __setitem__(self, i: int, value: int, /) -> None: ...


class Kernel(Protocol):
    """A function on arrays: those of a robot, or code that is exchanged while it is in use."""

    def __call__(self, *arrays: Vector | Matrix | Integers) -> None: ...


class KernelTable(Protocol):
    """Several functions on the same arrays; the first argument chooses one."""

    def __call__(self, number: int, /, *arrays: Vector | Matrix | Integers) -> None: ...


class Declared:
    """Base of the classes that declare what routines work on."""


@dataclass(frozen=True)
class DeclaredField:
    """One declaration: "constant", "numbers", "integers", "kernel" or "kernels".

    The shape of an array has numbers, or expressions of constants; of a kernel's arguments an
    output begins with "out ".
    """

    kind: str
    shape: tuple[Size, ...] = ()
    unit: str = ""
    meaning: str = ""
    arguments: tuple[str, ...] = ()


@overload
def numbers(length: Size, /, *, unit: str = "", meaning: str = "") -> Vector: ...
@overload
def numbers(rows: Size, columns: Size, /, *, unit: str = "", meaning: str = "") -> Matrix: ...
def numbers(*shape: Size, unit: str = "", meaning: str = "") -> object:
    """Declare an array of numbers in one or two dimensions, zero at first."""
    return DeclaredField("numbers", shape, unit, meaning)


def integers(length: Size, /, *, unit: str = "", meaning: str = "") -> Integers:
    """Declare an array of integers, zero at first."""
    return cast(Integers, DeclaredField("integers", (length,), unit, meaning))


def kernel(*arguments: str, meaning: str = "") -> Kernel:
    """Declare a function by the names of its arguments; outputs follow inputs, as ``"out
    name"``.
    """
    return cast(Kernel, DeclaredField("kernel", arguments=arguments, meaning=meaning))


def kernels(*arguments: str, meaning: str = "") -> KernelTable:
    """Declare several functions with the same arguments."""
    return cast(KernelTable, DeclaredField("kernels", arguments=arguments, meaning=meaning))


def constant(_kind: type[_C], meaning: str, unit: str = "") -> _C:
    """Declare a constant that needs words: ``links: int = constant(int, "number of links")``."""
    return cast(_C, DeclaredField("constant", unit=unit, meaning=meaning))


def row(matrix: Matrix, i: int) -> Vector:
    """Row ``i`` of a matrix, to be handed to a kernel or to another routine; it is not a copy."""
    return cast(Vector, np.asarray(matrix)[i].data)


_FIELDS: WeakKeyDictionary[type[Declared], Mapping[str, DeclaredField]] = WeakKeyDictionary()


def fields(declared: type[Declared]) -> Mapping[str, DeclaredField]:
    """Name → declaration, those of base classes first; a class is read once."""
    found = _FIELDS.get(declared)
    if found is None:
        found = MappingProxyType(_read_fields(declared))
        _FIELDS[declared] = found
    return found


def _read_fields(declared: type[Declared]) -> dict[str, DeclaredField]:
    declarations: dict[str, DeclaredField] = {}
    for part in reversed(declared.__mro__):
        for name, annotation in inspect.get_annotations(part).items():
            field = getattr(declared, name, None)
            word = annotation_name(annotation)
            if field is None and word in _CONSTANTS:
                field = DeclaredField("constant")
            if not isinstance(field, DeclaredField) or _DECLARED.get(word) != (
                field.kind,
                len(field.shape),
            ):
                raise TypeError(
                    f"{part.__name__}.{name}: {word} does not fit what it is declared as"
                )
            declarations[name] = field
    return declarations


def annotation_name(annotation: object) -> str:
    """The last name of an annotation, which is a type or, where annotations are postponed, its
    text.
    """
    return str(getattr(annotation, "__name__", annotation)).rpartition(".")[2]


def shape_of(field: DeclaredField, constants: Mapping[str, Constant]) -> tuple[int, ...]:
    """The shape of an array for these values of the constants."""
    return tuple(
        size if isinstance(size, int) else int(eval(size, {"__builtins__": {}}, dict(constants)))
        for size in field.shape
    )
