"""Parameter files on the command line: a sentence for each of their mistakes."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

import yaml


def unreadable(args: Sequence[str]) -> str:
    """A sentence about the first parameter file among the arguments that cannot be read; empty if all can be."""
    for name in _files(args):
        try:
            with open(name, encoding="utf-8") as file:
                yaml.load(file, yaml.BaseLoader)
        except OSError as error:
            return f"parameter file {name}: {error.strerror}"
        except UnicodeDecodeError:
            return f"parameter file {name}: it is not UTF-8 text"
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            line = f", line {mark.line + 1}" if mark is not None else ""
            return f"parameter file {name}{line}: {getattr(error, 'problem', None) or error}"
    return ""


def for_other_nodes(args: Sequence[str], node: str) -> Iterator[str]:
    """A sentence about each parameter file, all of them readable, whose parameters are all addressed to other nodes than
    ``node``, with its namespace."""
    for name in _files(args):
        with open(name, encoding="utf-8") as file:
            addresses = list(_addresses(yaml.load(file, yaml.BaseLoader)))
        if addresses and not any(_pattern(address).fullmatch(node) for address in addresses):
            yield (
                f"parameter file {name} has nothing for {node}, only for {', '.join(addresses)}; "
                f"name it {node} or /** there"
            )


def _files(args: Sequence[str]) -> list[str]:
    return [name for option, name in itertools.pairwise(args) if option == "--params-file"]


def _addresses(tree: object, path: str = "") -> Iterator[str]:
    if isinstance(tree, dict):
        for key, value in tree.items():
            if key == "ros__parameters":
                yield path
            else:
                yield from _addresses(value, f"{path}/{str(key).strip('/')}")


def _pattern(address: str) -> re.Pattern[str]:
    """The names of nodes that an address reaches: ``**`` is any namespaces, ``*`` one word."""
    words = {"**": "(/[^/]+)*", "*": "/[^/]+"}
    return re.compile("".join(words.get(word, "/" + re.escape(word)) for word in address.split("/")[1:]))
