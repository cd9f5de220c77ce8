"""Draw the import layers of the package as they are: ``python docs/images/layers.py`` writes
layers.svg beside it.
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "test"))

from support import layers  # noqa: E402

SAID = {
    "arrays": "what everybody speaks; spatial.py alone fixes conventions",
    "model": "URDF text → constant RobotModel",
    "wrench": "a wrench that knows its frame; one style for figures",
    "dynamics.algorithms": "one algorithm a file, on a typed Tree of any scalar",
    "dynamics.engine.codegen": "traces → machine code, C, Python",
    "dynamics.engine": "registry, tracing, backends; the only caches",
    "dynamics": "the functions people call",
    "friction": "of joints: compensated, estimated, in files",
    "control": "laws, reference, guards, estimation, the controller",
    "simulation": "plant, integrators, friction, stops, contact, sensors",
    "recordings": "read, resample, compute, write",
    "identification": "excitation, regression, consistent parameters",
    "equations": "equations of motion in symbols",
    "export": "C99 and NumPy source",
    "commissioning": "from a new arm to a tuned one: findings, steps, report",
    "view": "drawings of robots, motions, wrenches",
    "ros": "nodes and transport: the only folder that imports rclpy",
    "cli": "what a person types",
}
WIDTH = 940
ROW = 46
LEFT = 10
TOP = 34
COLUMN = 19
EDGE = 590


def picture() -> str:
    """The SVG: cli on top, a line of text below each name; beside each layer, dots in the columns
    of the layers it uses.
    """
    n = len(layers.LAYERS)
    uses: dict[int, set[int]] = {k: set() for k in range(n)}
    for module in layers.FILES:
        own = layers.layer_of(module)
        if own is not None:
            uses[own] |= {
                k
                for name in layers.imported(module)
                if (k := layers.layer_of(name)) is not None and k < own
            }
    height = TOP + n * ROW + 10
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        'font-family="sans-serif">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="{EDGE}" y="14" font-size="12" fill="#333333">uses</text>',
    ]
    for k, layer in enumerate(layers.LAYERS):
        y = TOP + (n - 1 - k) * ROW
        x = EDGE + COLUMN * k + 14
        shade = "#dcebdc" if layer[0].startswith("dynamics") else "#e6ecf5"
        out += [
            f'<rect x="{LEFT}" y="{y}" width="{EDGE - LEFT - 10}" height="{ROW - 6}" rx="4" '
            f'fill="{shade}" stroke="#6a7a90"/>',
            f'<text x="{LEFT + 8}" y="{y + 25}" font-size="13" fill="#333333">{k + 1}</text>',
            f'<text x="{LEFT + 34}" y="{y + 17}" font-size="13" '
            f'font-weight="bold">{", ".join(layer)}</text>',
            f'<text x="{LEFT + 34}" y="{y + 33}" font-size="12" '
            f'fill="#333333">{SAID[layer[0]]}</text>',
            (
                f'<text x="{x}" y="{TOP - 6}" font-size="11" fill="#333333" '
                f'text-anchor="middle">{k + 1}</text>'
            )
            if k < n - 1
            else "",
        ]
        for below in range(k):
            size, colour = (5, "#2b4a78") if below in uses[k] else (1, "#a0a8b4")
            middle = EDGE + COLUMN * below + 14
            out.append(
                f'<circle cx="{middle}" cy="{y + ROW // 2 - 3}" r="{size}" fill="{colour}"/>'
            )
    return "\n".join([*filter(None, out), "</svg>", ""])


if __name__ == "__main__":
    (HERE / "layers.svg").write_text(picture(), encoding="utf-8")
