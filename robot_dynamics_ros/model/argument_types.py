"""Python's errors of wrong types and unknown arguments, said of the argument at fault.

Arguments are looked at only after a function has failed, so that a right call costs nothing: where
one of them is unknown, missing, or does not have the type that the function's signature gives, the
error names it.  Where all of them fit, the error is passed on as it is.
"""

from __future__ import annotations

import builtins
import ctypes
import functools
import inspect
import re
import sys
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, get_args

import numpy as np

from robot_dynamics_ros.errors import ArgumentError, RobotDynamicsError, UnknownNameError

# the largest index that an array may have, plus one
_LARGEST_WHOLE = 2**63
_OF_THE_LAW = "Friction is part of the law: rd.ComputedTorque(kp=100.0, kd=20.0, friction=True)."
USUAL_ARGUMENTS: Mapping[str, Mapping[str, str]] = {
    "inverse_kinematics": dict.fromkeys(("q0", "q", "guess", "seed_q"), "It is start here."),
    "simulate": dict.fromkeys(("T", "t", "time", "t_end"), "It is duration here."),
    "bind": {"friction": _OF_THE_LAW},
    "JointController": {"friction": _OF_THE_LAW},
    "Payload": {"link": "For example Payload('tool0', 2.0, com=(0, 0, 0.1))."},
}
"""Function → an argument that other libraries have, or that is easily left out → what to write
instead.
"""

# what a wrong type leads to somewhere inside
_OF_WRONG_TYPES = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    # of compiled code that is called by address
    ctypes.ArgumentError,
)
# words of annotations and what they mean to a reader
_WORDS = {
    "str": "a text",
    "bool": "True or False",
    "int": "a whole number",
    "float": "a number",
    "ArrayLike": "numbers",
    "Array": "an array of numbers",
    "np.ndarray": "an array of numbers",
    "Mapping": "a mapping",
    "Sequence": "a list",
    "Iterable": "a list",
    "list": "a list",
    "tuple": "a list",
    "Callable": "a function",
    "None": "None",
}


def explained(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function; where it fails with an error of Python's own because an argument is unknown,
    missing or of a wrong type, an error of this package names that argument.
    """

    @functools.wraps(function)
    def guarded(*arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except RobotDynamicsError:
            raise
        except _OF_WRONG_TYPES as error:
            wrong = unknown_argument(function, arguments, options)
            if wrong is None:
                wrong = wrong_argument(function, arguments, options)
            if wrong is None:
                raise
            raise wrong from error

    return guarded


def check_takes(function: Callable[..., Any], arguments: Sequence[str], where: str) -> None:
    """Raise an ArgumentError if a function of the user cannot be called with these arguments."""
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError as error:
        text = f"expected a function of {', '.join(arguments)}: {error}"
        remedy = f"Begin it with lambda {', '.join(arguments)}: or def f({', '.join(arguments)}):"
        raise ArgumentError(text, where=where, got=function, remedy=remedy) from None
    except ValueError:
        # compiled code may not say
        return


def unknown_argument(
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    options: Mapping[str, Any],
) -> RobotDynamicsError | None:
    """An error that names the first argument that the function does not have, or one that it needs
    and did not get; ``None`` if there is neither.
    """
    signature = inspect.signature(function)
    parameters = {name: p for name, p in signature.parameters.items() if name != "self"}
    name_of_function = _title(function).removeprefix("rd.")
    usual = USUAL_ARGUMENTS.get(name_of_function, {})
    any_name = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    for name in options:
        if name not in parameters and not any_name:
            return UnknownNameError(
                "argument",
                name,
                tuple(parameters),
                where=name_of_function,
                remedy=usual.get(name, ""),
            )
    try:
        given = signature.bind_partial(*arguments, **options).arguments
    # more arguments than the function takes: Python's error counts them
    except TypeError:
        return None
    for name, parameter in parameters.items():
        needed = parameter.default is parameter.empty
        several = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        if needed and not several and name not in given:
            remedy = usual.get(name, f"See help({_title(function)}).")
            return ArgumentError("is not given", where=f"{name_of_function}, {name}", remedy=remedy)
    return None


def wrong_argument(
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    options: Mapping[str, Any],
) -> ArgumentError | None:
    """An error that names the first argument without the type that the signature gives; ``None`` if
    there is none, or Python's own error is about the names of arguments.
    """
    try:
        bound = inspect.signature(function).bind(*arguments, **options)
    except TypeError:
        return None
    space = getattr(inspect.unwrap(function), "__globals__", {})
    for name, value in bound.arguments.items():
        parameter = bound.signature.parameters[name]
        kind = str(parameter.annotation)
        if name == "self" or parameter.annotation is parameter.empty:
            continue
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if not fits(value, kind, space):
            text = f"expected {_meant(kind)}, got {type(value).__name__}"
            if isinstance(value, (str, int, float)):
                text += f" {_short(value)}"
            return ArgumentError(
                text, where=name, got=value, remedy=f"See help({_title(function)})."
            )
    return None


def _short(value: str | float) -> str:
    """A value in at most 60 characters; Python refuses to write whole numbers of thousands of
    digits.
    """
    if isinstance(value, int) and abs(value) >= _LARGEST_WHOLE:
        return "that is too large"
    return f"{value!r:.60}"


def _meant(kind: str) -> str:
    """An annotation in words."""
    words = []
    for part in _parts(kind):
        name = _name(part)
        word = _WORDS.get(name, name)
        entries = _entries(name, part)
        if word == "a list" and entries:
            word += f" with {_meant(entries)} in each entry"
        words.append(word)
    return " or ".join(words)


def fits(value: object, kind: str, space: Mapping[str, Any], depth: int = 0) -> bool:
    """Whether a value is of the type that the text of an annotation names; so is every value where
    the text means nothing here.
    """
    return any(_is_of(value, part, space, depth) for part in _parts(kind))


def _parts(kind: str, between: str = "|") -> list[str]:
    """The alternatives of an annotation: ``"str | Mapping[str, int] | None"`` has three; or what
    stands between commas.
    """
    parts = [""]
    depth = 0
    for character in kind.strip("'\""):
        depth += (character in "[(") - (character in "])")
        if character == between and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def _name(part: str) -> str:
    """The part before the brackets of an annotation, without the modules of typing."""
    return re.sub(r"\[.*", "", part, flags=re.DOTALL).removeprefix("typing.")


def _is_of(value: object, part: str, space: Mapping[str, Any], depth: int) -> bool:
    name = _name(part)
    if name == "None":
        return value is None
    if name == "str":
        return isinstance(value, str)
    if name == "bool":
        return isinstance(value, (bool, np.bool_))
    if name in ("int", "float"):
        return _is_number(value, whole=name == "int")
    if name in ("ArrayLike", "Array", "np.ndarray", "NDArray"):
        return _are_numbers(value)
    if name == "Callable":
        return callable(value)
    if name == "Mapping":
        return isinstance(value, Mapping) and _are_values(value, part, space, depth)
    if name in ("Sequence", "Iterable", "list", "tuple"):
        return _is_list_of(value, name, part, space, depth)
    return _is_of_named(value, name, space, depth)


def _is_number(value: object, *, whole: bool) -> bool:
    """Whether it is a number that arrays can hold, or an array of one without dimensions."""
    if isinstance(value, np.ndarray):
        return value.ndim == 0 and value.dtype.kind in ("iu" if whole else "iuf")
    if isinstance(value, bool) or not isinstance(value, Integral if whole else Real):
        return False
    if isinstance(value, Integral):
        return abs(int(value)) < (_LARGEST_WHOLE if whole else sys.float_info.max)
    return True


def _is_list_of(
    value: object,
    name: str,
    part: str,
    space: Mapping[str, Any],
    depth: int,
) -> bool:
    if isinstance(value, str) or not isinstance(value, Iterable):
        return False
    if name in ("Sequence", "list", "tuple") and not isinstance(value, (Sequence, np.ndarray)):
        return False
    # an array without dimensions cannot be iterated over
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return False
    entries = _entries(name, part)
    if not entries or not isinstance(value, (Sequence, np.ndarray)) or depth > 2:
        return True
    several = _parts(part.partition("[")[2].removesuffix("]"), ",")
    if name == "tuple" and several[-1] != "..." and len(value) != len(several):
        return False
    return all(fits(entry, entries, space, depth + 1) for entry in value)


def _are_values(
    value: Mapping[Any, Any],
    part: str,
    space: Mapping[str, Any],
    depth: int,
) -> bool:
    """Whether a mapping's values are what an annotation as ``"Mapping[str, float]"`` says."""
    _, _, inside = part.partition("[")
    _, _, kind = inside.removesuffix("]").partition(",")
    if not kind or depth > 2:
        return True
    return all(fits(entry, kind.strip(), space, depth + 1) for entry in value.values())


def _entries(name: str, part: str) -> str:
    """The annotation of all entries of a list; empty where they have none in common."""
    _, _, inside = part.partition("[")
    kind = inside.removesuffix("]")
    if name != "tuple":
        return kind
    kinds = set(_parts(kind, ",")) - {"..."}
    return kinds.pop() if len(kinds) == 1 else ""


def _is_of_named(value: object, name: str, space: Mapping[str, Any], depth: int) -> bool:
    """Of a class, or of what another name stands for."""
    meaning: Any = space
    for word in name.split("."):
        if isinstance(meaning, Mapping):
            meaning = meaning.get(word, getattr(builtins, word, None))
        else:
            meaning = getattr(meaning, word, None)
    if isinstance(meaning, type):
        # a protocol cannot always be asked
        try:
            return isinstance(value, meaning)
        except TypeError:
            return True
    if meaning is None or depth > 2:
        return True
    text = str(meaning).replace("collections.abc.", "").replace("typing.", "")
    if text.startswith("Optional[") or "TypeVar" in text or text.startswith("~"):
        return True
    text = re.sub(r"[\w.]+\.(?=[A-Z]\w*)", "", text)
    # the module with the function need not have imported the classes that an alias is made of
    of_alias = {part.__name__: part for part in get_args(meaning) if isinstance(part, type)}
    return fits(value, text, {**space, **of_alias}, depth + 1)


def _are_numbers(value: object) -> bool:
    if isinstance(value, (str, bytes, Mapping)) or value is None:
        return False
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        return False
    return array.dtype.kind in "biuf" or not array.size


def _title(function: Callable[..., Any]) -> str:
    inner = inspect.unwrap(function)
    name = getattr(inner, "__qualname__", "")
    if isinstance(inner, types.FunctionType) and name.endswith(".__init__"):
        name = name.removesuffix(".__init__")
    return f"rd.{name}"
