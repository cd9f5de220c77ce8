"""Names of joints and links as parts of topic names: for the nodes, and for layouts that name their
topics.
"""

from __future__ import annotations

import re


def topic_token(name: str) -> str:
    """A joint or link name as one part of a topic name, which allows letters, digits and
    underscores only.
    """
    token = re.sub(r"[^A-Za-z0-9_]", "_", name)
    token = re.sub(r"__+", "_", token)
    if token[:1].isdigit() or not token:
        return f"_{token}"
    return token
