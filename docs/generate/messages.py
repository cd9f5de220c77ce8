"""The page about error messages: every error that the package raises on purpose, its remedy, and
what raises it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import robot_dynamics_ros as rd
from robot_dynamics_ros import errors

PACKAGE = Path(rd.__file__).parent
KINDS = [name for name in errors.__all__ if name.endswith("Error")]
PARTS = {
    "model": "Robot descriptions",
    "dynamics": "Dynamics",
    "control": "Control",
    "simulation": "Simulation",
    "identification": "Identification",
    "recordings": "Recordings",
    "commissioning": "Commissioning",
    "equations": "Equations in symbols",
    "export": "Export",
    "frameworks": "JAX, CasADi, PyTorch",
    "view": "Pictures and browser",
    "ros": "Nodes",
    "cli": "Command line",
}
LONGEST = 28
"""Placeholders longer than this are shown as an ellipsis."""
SAID = "as the message says"
"""Remedy of a message that names what would be right."""

HEAD = """# Error messages

Made from the code. Parts in ‹brackets› are filled in. An error whose class is
`UnknownNameError` also names the nearest valid names. All classes are in
[Errors](library/errors.md); `except rd.RobotDynamicsError` catches all of them, and their
attributes `where`, `got` and `remedy` hold the parts of the message. Where the remedy is
"as the message says", the message itself names what would be right.
"""


@dataclass(frozen=True, order=True)
class Message:
    """One place that makes an error."""

    part: str
    kind: str
    text: str
    remedy: str


def placeholder(node: ast.expr) -> str:
    """What is filled in, in a word or two."""
    match node:
        case ast.Attribute(value=ast.Call(func=ast.Name(id="type"), args=[given]), attr="__name__"):
            return f"‹type of {ast.unparse(given)}›"
        case ast.Call(
            func=ast.Attribute(value=ast.Constant(), attr="join"), args=[ast.Name(id=name)]
        ):
            return f"‹{name.lower().replace('_', ' ')}›"
        case ast.Call(func=ast.Name(id="str" | "repr" | "len" | "sorted" | "list"), args=[given]):
            return placeholder(given)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return f"‹{name.lower().strip('_').replace('_', ' ')}›"
    name = ast.unparse(node)
    return f"‹{name}›" if re.fullmatch(r"[\w. ]+", name) and len(name) <= LONGEST else "‹…›"


def wording(node: ast.expr | None) -> str:
    """Text of a string in the code, what is filled in as ‹name›."""
    match node:
        case None:
            return ""
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(wording(value) for value in values)
        case ast.FormattedValue(value=value):
            return placeholder(value)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return wording(left) + wording(right)
        case ast.IfExp(body=body, orelse=orelse):
            one = wording(body)
            other = wording(orelse)
            return f"{one} / {other}" if one and other else one or other
        case _:
            return placeholder(node)


def messages() -> Iterator[Message]:
    """Those of all files."""
    for path in sorted(PACKAGE.rglob("*.py")):
        part = path.relative_to(PACKAGE).parts[0]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not node.args or part not in PARTS:
                continue
            kind = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if kind not in KINDS:
                continue
            named = {keyword.arg: keyword.value for keyword in node.keywords}
            where = wording(named.get("where"))
            if kind == "UnknownNameError":
                text = f"unknown {wording(node.args[0])} ‹name›"
                remedy = "One of the valid names, which the message lists."
            else:
                text = wording(node.args[0])
                remedy = wording(named.get("remedy"))
            text = f"{where}: {text}" if where else text
            if text.replace("‹", "").replace("›", "") not in ("message", "text", "problem"):
                yield Message(part, kind, text, remedy)


def implied(text: str) -> str:
    """Remedy of a message that says what was expected, or how a value must be; empty if it says
    neither.
    """
    if match := re.search(r"\bexpected (.+?)(?:, got .*)?$", text):
        return f"Give {match[1]}."
    if match := re.search(r"\bmust be ((?:an?|three) [^;]+)$", text):
        return f"Give {match[1]}."
    if (match := re.search(r"\bmust (not )?be ([^;]+)$", text)) and " and the " not in match[2]:
        return f"Give a value that is {match[1] or ''}{match[2]}."
    return ""


def cell(text: str) -> str:
    """As it can stand in a table."""
    return re.sub(r"([|*_\[\]`])", r"\\\1", " ".join(text.split())).replace("<", "&lt;")


def page() -> str:
    """The whole page."""
    found = sorted(set(messages()))
    lines = [HEAD]
    for part, title in PARTS.items():
        rows = [m for m in found if m.part == part]
        if rows:
            lines += [f"\n## {title}\n", "| message | remedy | class |", "|---|---|---|"]
            lines += [
                f"| {cell(m.text)} | {cell(m.remedy or implied(m.text)) or SAID} | `{m.kind}` |"
                for m in rows
            ]
    return "\n".join(lines) + "\n"


def pages() -> dict[str, str]:
    """Path in the site → text."""
    return {"reference/error_messages.md": page()}
