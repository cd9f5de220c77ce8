"""Formulas of the site: LaTeX in the pages, which GitHub typesets by itself, becomes MathML here.

Browsers draw MathML themselves, so that the site needs no script and no network for it.  A block in
``math`` is a formula of its own, ``$…$`` one within a line.
"""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert

# what the extension arithmatex makes of $…$
IN_A_LINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)


def block(source: str, *_: Any, **__: Any) -> str:
    """A block in ``math``, as superfences calls it."""
    return f'<div class="formula">{convert(source.strip(), display="block")}</div>'


def typeset(page: str) -> str:
    """A page in HTML, with the formulas within its lines in MathML."""
    return IN_A_LINE.sub(lambda found: convert(html.unescape(found[1])), page)
