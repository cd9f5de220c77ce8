"""Reading XML that may come from anywhere, into a small tree of nodes.

Document type declarations are refused outright, which closes the door on entity expansion ("billion laughs"), external
entities and every network access an XML parser could be talked into.  Size, depth and number of elements are bounded.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import NoReturn
from xml.parsers import expat

from robot_dynamics_ros.errors import UrdfError

MAX_BYTES = 4 * 1024 * 1024
MAX_DEPTH = 64
MAX_ELEMENTS = 400_000


@dataclass(slots=True)
class Node:
    """One element: ``text`` is the character data directly inside, ``line`` that of its start tag, from 1."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Node] = field(default_factory=list)
    text: str = ""

    @property
    def name(self) -> str:
        """The attribute of this name; ``""`` if there is none."""
        return self.attributes.get("name", "")

    def all(self, *tags: str) -> list[Node]:
        """The children that are called so."""
        return [child for child in self.children if child.tag in tags]


def parse_xml(data: bytes | str, *, source: str, max_bytes: int = MAX_BYTES) -> Node:
    """The root element, ``<robot>``, of a document; ``source`` is what errors call it."""
    size = len(data)
    if size > max_bytes:
        remedy = "If the file is genuine, pass a larger max_bytes."
        raise UrdfError(f"{size} bytes are more than the {max_bytes} allowed", where=source, remedy=remedy)
    if not data.strip():
        raise UrdfError("it is empty", where=source, remedy="Give a URDF: an XML document whose root is <robot>.")
    builder = _Builder(source)
    data = without_blanks(data)[0]
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
    (root,) = builder.open[0].children
    if root.tag != "robot":
        remedy = "Give a URDF document; other robot formats must be converted first."
        problem = f"the root element is <{root.tag}>, not <robot>"
        raise UrdfError(problem, where=f"{source}, line {root.line}", remedy=remedy)
    return root


def without_blanks(data: bytes | str) -> tuple[bytes | str, bool]:
    """The document from its first ``<`` on, and whether something that XML does not allow there stood before it."""
    if isinstance(data, str):
        text = data.lstrip("\ufeff \t\r\n")
        return text, text.startswith("<?xml") and len(text) < len(data.lstrip("\ufeff"))
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):  # UTF-16: the mark says which
        return data, False
    bare = data.removeprefix(b"\xef\xbb\xbf")
    short = bare.lstrip(b" \t\r\n")
    return short, short.startswith(b"<?xml") and len(short) < len(bare)


def root_element(data: bytes | str) -> str:
    """Name of the root element; ``""`` if the text is no XML as far as there."""
    names: list[str] = []
    parser = expat.ParserCreate()
    parser.StartElementHandler = lambda tag, _: names.append(tag)
    with contextlib.suppress(expat.ExpatError, LookupError, ValueError):
        parser.Parse(data.lstrip()[:100_000], False)
    return names[0] if names else ""


class _Builder:
    """Expat's callbacks; ``open``: the document and its open elements."""

    def __init__(self, source: str) -> None:
        self.source, self.count = source, 0
        self.open = [Node("", {}, 0)]
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = lambda _: self.open.pop()
        self.parser.CharacterDataHandler = self.characters
        self.parser.StartDoctypeDeclHandler = self.doctype

    def refuse(self, problem: str, remedy: str) -> NoReturn:
        raise UrdfError(problem, where=f"{self.source}, line {self.parser.CurrentLineNumber}", remedy=remedy)

    def doctype(self, *_: object) -> None:
        self.refuse(
            "document type and entity declarations (<!DOCTYPE …>) are not accepted",
            "A URDF needs none: remove the declaration and write the values out.",
        )

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if len(self.open) > MAX_DEPTH:
            self.refuse(f"elements are nested more than {MAX_DEPTH} deep", "A URDF is nested a few levels only.")
        if self.count > MAX_ELEMENTS:
            self.refuse(f"there are more than {MAX_ELEMENTS} elements", "Is this really one robot?")
        node = Node(tag, attributes, self.parser.CurrentLineNumber)
        self.open[-1].children.append(node)
        self.open.append(node)

    def characters(self, text: str) -> None:
        self.open[-1].text += text


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
    remedy = "Give the text of a URDF or the path of one; `xmllint --noout FILE` shows every fault of a file."
    return UrdfError(f"it is not well-formed XML ({expat.ErrorString(error.code)})", where=where, remedy=remedy)
