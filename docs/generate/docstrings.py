"""Extension of Griffe: docstrings of this package as Markdown, each with its example.

References such as ``:func:`load_urdf``` become links where the site has the name, ``code`` in
double backquotes becomes code, and arguments and examples are completed as ``help`` shows them.
"""

from __future__ import annotations

import re
from typing import Any

from griffe import Alias, Extension, Object

from docs.generate.library import PARTS, public_names
from robot_dynamics_ros.model.published import completed

HOME = {
    name: f"robot_dynamics_ros.{part}.{name}"
    for part in reversed(PARTS)
    for name in public_names(part)
}
"""Public name → its identifier in the site."""

ROLE = re.compile(r":(?:func|class|data|meth|mod|attr):`~?([^`]+)`")
"""A reference in a docstring."""


def as_markdown(text: str) -> str:
    """The docstring with Markdown's references and code."""

    def link(match: re.Match[str]) -> str:
        short = match[1].rpartition(".")[2]
        return f"[`{short}`][{HOME[short]}]" if short in HOME else f"`{match[1]}`"

    return re.sub(r"``([^`]+)``", r"`\1`", ROLE.sub(link, text))


class PlainRoles(Extension):
    """Rewrites every docstring once, when its object is read."""

    def on_object(self, *, obj: Object | Alias, **_: Any) -> None:
        """Called by Griffe for each object of the package."""
        if obj.is_alias or obj.docstring is None:
            return
        value = obj.docstring.value
        public = (
            obj.name in HOME
            and (obj.is_function or obj.is_class)
            and obj.parent is not None
            and obj.parent.is_module
        )
        if public:
            value = completed(obj.name, value, [parameter.name for parameter in obj.parameters])
        obj.docstring.value = as_markdown(value)
