"""Reading XML that may come from anywhere, into a small tree of nodes.

Only elements that a schema names are kept; everything else is passed over without being stored.
Document type declarations are refused outright, which closes the door on entity expansion ("billion
laughs"), external entities and every network access an XML parser could be talked into.  Size,
depth and number of elements are bounded.
"""

from __future__ import annotations

import codecs
import contextlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

from robot_dynamics_ros.errors import UrdfError

# Bytes of a description: those of large robots have some 100 kB. Users can raise it.
MAX_BYTES = 4 * 1024 * 1024
# Elements within one another: URDF needs six. Deeper nesting overflows the parser's stack.
MAX_DEPTH = 64
# Elements in all: each takes some hundred bytes of memory.
MAX_ELEMENTS = 400_000

# the declaration of an encoding, in the first line of a document
_DECLARED_ENCODING = re.compile(r"""<\?xml\s[^>]*?encoding\s*=\s*(["'])([A-Za-z][\w.-]*)\1""")
# byte order marks, and what UTF-16 begins with where it has none; longer ones first
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
    b"<\0": "utf-16-le",
    b"\0<": "utf-16-be",
}
Schema = Mapping[str, Any]
"""Nested mapping: element name → schema of its children."""


@dataclass(slots=True)
class Node:
    """One element that was kept: ``text`` is the character data directly inside, ``line`` that of
    its start tag, from 1.
    """

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Node] = field(default_factory=list)
    text: str = ""

    def all(self, tag: str) -> list[Node]:
        """The children called ``tag``."""
        return [child for child in self.children if child.tag == tag]


def parse_xml(
    data: bytes | str,
    schema: Schema,
    *,
    source: str = "XML text",
    max_bytes: int = MAX_BYTES,
    on_skipped: Callable[[tuple[Node, ...], str, int], None] | None = None,
) -> Node:
    """Read a document and keep what ``schema`` names, a nested mapping with one entry, the root
    element.

    ``on_skipped`` is called with (kept ancestors from the root on, tag, line) for each topmost
    element that is passed over.
    """
    size = len(data)
    if size > max_bytes:
        remedy = "If the file is genuine, pass a larger max_bytes."
        raise UrdfError(
            f"{size} bytes are more than the {max_bytes} allowed", where=source, remedy=remedy
        )
    if not data.strip():
        raise UrdfError(
            "it is empty",
            where=source,
            remedy="Give a URDF: an XML document whose root is <robot>.",
        )
    builder = _Builder(schema, source, on_skipped)
    try:
        builder.parser.Parse(data, True)
    except expat.ExpatError as error:
        raise _not_xml(data, source, error) from None
    except (LookupError, ValueError) as error:
        if isinstance(error, UrdfError):
            raise
        raise UrdfError(
            f"its text cannot be decoded ({error})", where=source, remedy="Save the file as UTF-8."
        ) from None
    assert builder.root is not None
    return builder.root


def decoded(data: bytes | str) -> bytes | str:
    """The document as text: by its byte order mark, the encoding that it declares, or UTF-8, and
    with the declaration of UTF-8, so that whoever writes or encodes it again says the truth.  Bytes
    that this does not decode are returned as they are: the parser names the place.
    """
    if not isinstance(data, str):
        codec = _codec(data)
        try:
            text = data.decode(codec)
        except (UnicodeError, LookupError):
            return data
    else:
        text = data
    match = _DECLARED_ENCODING.match(text.lstrip("\ufeff \t\r\n"))
    if match is None or match[2].lower() in ("utf-8", "utf8"):
        return text
    start = text.index(match[0]) + match.start(2)
    return text[:start] + "utf-8" + text[start + len(match[2]) :]


def _codec(data: bytes) -> str:
    """Name of the encoding of an XML document."""
    for mark, codec in _MARKS.items():
        if data.startswith(mark):
            return codec
    match = _DECLARED_ENCODING.match(data[:400].lstrip(b" \t\r\n").decode("latin-1"))
    return match[2] if match is not None else "utf-8"


def root_element(data: bytes | str) -> str:
    """Name of the root element; ``""`` if the text is no XML as far as there."""
    names: list[str] = []
    parser = expat.ParserCreate()
    parser.StartElementHandler = lambda tag, _: names.append(tag)
    with contextlib.suppress(expat.ExpatError, LookupError, ValueError):
        parser.Parse(data.lstrip()[:100_000], False)
    return names[0] if names else ""


class _Builder:
    """Expat's callbacks: builds kept nodes, counts everything."""

    def __init__(
        self,
        schema: Schema,
        source: str,
        on_skipped: Callable[[tuple[Node, ...], str, int], None] | None,
    ) -> None:
        self.root: Node | None = None
        self.source = source
        self.on_skipped = on_skipped
        self.open: list[tuple[Node, Schema]] = []
        self.root_schema = schema
        self.depth = 0
        self.count = 0
        # depth of the outermost element being passed over, 0 if none
        self.skipping_from = 0
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.characters
        parser.StartDoctypeDeclHandler = self.doctype
        parser.EntityDeclHandler = self.doctype
        parser.ExternalEntityRefHandler = self.external
        self.parser = parser

    def refuse(self, problem: str, remedy: str) -> UrdfError:
        return UrdfError(
            problem, where=f"{self.source}, line {self.parser.CurrentLineNumber}", remedy=remedy
        )

    def doctype(self, *_: object) -> None:
        raise self.refuse(
            "document type and entity declarations (<!DOCTYPE …>) are not accepted",
            "A URDF needs none: remove the declaration and write the values out.",
        )

    def external(self, *_: object) -> int:
        self.doctype()
        return 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Called at the beginning of each element: it becomes a node, or is passed over with all
        that is in it, if the schema does not know it there.
        """
        self.depth += 1
        self.count += 1
        if self.depth > MAX_DEPTH:
            raise self.refuse(
                f"elements are nested more than {MAX_DEPTH} deep",
                "A URDF is nested a few levels only.",
            )
        if self.count > MAX_ELEMENTS:
            raise self.refuse(
                f"there are more than {MAX_ELEMENTS} elements", "Is this really one robot?"
            )
        if self.skipping_from:
            return
        line = self.parser.CurrentLineNumber
        parent, children = self.open[-1] if self.open else (None, self.root_schema)
        if tag not in children:
            if parent is None:
                raise self.refuse(
                    f"the root element is <{tag}>, not <{next(iter(children))}>",
                    "Give a URDF document; other robot formats must be converted first.",
                )
            if self.on_skipped is not None:
                self.on_skipped(tuple(node for node, _ in self.open), tag, line)
            self.skipping_from = self.depth
            return
        node = Node(tag, attributes, line)
        if parent is None:
            self.root = node
        else:
            parent.children.append(node)
        self.open.append((node, children[tag]))

    def end(self, _tag: str) -> None:
        if not self.skipping_from:
            self.open.pop()
        elif self.skipping_from == self.depth:
            self.skipping_from = 0
        self.depth -= 1

    def characters(self, text: str) -> None:
        if self.open and not self.skipping_from:
            self.open[-1][0].text += text


def _not_xml(data: bytes | str, source: str, error: expat.ExpatError) -> UrdfError:
    where = f"{source}, line {error.lineno}, column {error.offset + 1}"
    if isinstance(data, bytes):
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as bad:
            if not data.startswith((b"\xff\xfe", b"\xfe\xff")):
                problem = f"byte 0x{data[bad.start]:02x} at offset {bad.start} is not UTF-8"
                remedy = "Save the file as UTF-8, or declare its encoding in the first line."
                return UrdfError(problem, where=where, remedy=remedy)
    remedy = (
        "Give the text of a URDF or the path of one; `xmllint --noout FILE` shows every fault of "
        "a file."
    )
    return UrdfError(
        f"it is not well-formed XML ({expat.ErrorString(error.code)})", where=where, remedy=remedy
    )
