"""LLVM assembly for compilers older than opaque pointers (LLVM 14 and 15: llvmlite 0.41 to 0.44).

The emitters of this package write the one pointer type ``ptr``.  Here it becomes ``i8*``, with a
cast to the type that each instruction works on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_WORD = re.compile(r"\bptr\b")
_LOAD = re.compile(r"^(\s*%\S+ = load )(.+?), ptr (%[\w.]+)(.*)$")
_STORE = re.compile(r"^(\s*store )(<\d+ x \w+>|\S+) (.+), ptr (%[\w.]+)(.*)$")
_ELEMENT = re.compile(r"^\s*(%\S+) = getelementptr (inbounds )?(.+?), ptr ([%@][\w.]+), (.*)$")
_ALLOCA = re.compile(r"^\s*(%\S+) = alloca (.+?)(, align \d+)?$")
_GLOBAL = re.compile(r"^(@\w+) = private constant (\[\d+ x i64\])")
_INDIRECT = re.compile(r"^(\s*(?:%\S+ = )?(?:tail )?call )(\w+) (%[\w.]+)\((.*)\)$")
_MASKED = re.compile(
    r"^(.*@llvm\.masked\.\w+\.v(\d+)f64\.)(p0|v\d+p0)\((<\d+ x double>[^,]*), (?:<\d+ x )?ptr>?( "
    r"%\S+)?, (.*)$"
)


def _plain(text: str, globals_: Mapping[str, str]) -> str:
    """``i8*`` for every ``ptr``; ``globals_``: name → type of what stands there."""
    text = _WORD.sub("i8*", text)
    for name, kind in globals_.items():
        text = re.sub(rf"i8\* {name}\b", f"i8* bitcast ({kind}* {name} to i8*)", text)
    return text


def with_typed_pointers(source: str) -> str:
    """The same module, for a compiler that does not know ``ptr``."""
    source = source.replace("llvm.memset.p0.i64", "llvm.memset.p0i8.i64")
    globals_: dict[str, str] = {}
    out: list[str] = []
    casts = 0

    def plain(text: str) -> str:
        return _plain(text, globals_)

    def pointer(kind: str, name: str) -> str:
        """``kind* name`` for the address that ``name`` holds."""
        nonlocal casts
        if kind == "i8":
            return f"i8* {name}"
        casts += 1
        out.append(f"  %cast{casts} = bitcast {plain(f'ptr {name}')} to {kind}*")
        return f"{kind}* %cast{casts}"

    for line in source.split("\n"):
        if "ptr" not in line and "alloca" not in line and not line.startswith("@"):
            out.append(line)
        elif match := _GLOBAL.match(line):
            globals_[match[1]] = match[2]
            out.append(line)
        elif match := _MASKED.match(line):
            vector = f"<{match[2]} x double>"
            # one address for all lanes, or one for each
            if match[3] != "p0":
                to = f"<{match[2]} x double*>{match[5] or ''}"
                suffix = f"{match[3]}f64"
            else:
                to = pointer(vector, match[5].strip()) if match[5] else f"{vector}*"
                suffix = f"{match[3]}v{match[2]}f64"
            out.append(f"{match[1]}{suffix}({match[4]}, {to}, {match[6]}")
        elif match := _LOAD.match(line):
            kind = plain(match[2])
            out.append(f"{match[1]}{kind}, {pointer(kind, match[3])}{match[4]}")
        elif match := _STORE.match(line):
            kind = plain(match[2])
            out.append(f"{match[1]}{kind} {match[3]}, {pointer(kind, match[4])}{match[5]}")
        elif match := _ELEMENT.match(line):
            name = match[1]
            kind = plain(match[3])
            address = f"getelementptr {match[2] or ''}{kind}, {pointer(kind, match[4])}, {match[5]}"
            # the latter: several addresses at once
            if kind == "i8" or match[5].startswith("<"):
                out.append(f"  {name} = {address}")
            else:
                cast = f"  {name} = bitcast {kind}* {name}.t to i8*"
                out += [f"  {name}.t = {address}", cast]
        elif match := _ALLOCA.match(line):
            out.append(f"  {match[1]}.t = alloca {match[2]}{match[3] or ''}")
            out.append(f"  {match[1]} = bitcast {match[2]}* {match[1]}.t to i8*")
        elif match := _INDIRECT.match(line):
            kinds = ", ".join(x.strip().rsplit(" ", 1)[0] for x in match[4].split(","))
            kind = plain(f"{match[2]} ({kinds})")
            function = pointer(kind, match[3]).rsplit(" ", 1)[1]
            out.append(f"{match[1]}{plain(match[2])} {function}({plain(match[4])})")
        else:
            out.append(plain(line))
    return "\n".join(out)
