"""Draw the import layers of the package as they are: ``python docs/images/layers.py`` writes layers.svg beside it."""

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
WIDTH, ROW, LEFT, RIGHT = 920, 34, 10, 250


def picture() -> str:
    """The SVG: cli on top; an arc on the right for every layer used besides the one right below."""
    n = len(layers.LAYERS)
    uses: dict[int, set[int]] = {k: set() for k in range(n)}
    for module in layers.FILES:
        own = layers.layer_of(module)
        if own is not None:
            uses[own] |= {k for name in layers.imported(module) if (k := layers.layer_of(name)) is not None and k < own}

    def y(k: int) -> int:
        return 10 + (n - 1 - k) * ROW

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{n * ROW + 20}" font-family="sans-serif">',
        f'<rect width="{WIDTH}" height="{n * ROW + 20}" fill="#ffffff"/>',
    ]
    for k, layer in enumerate(layers.LAYERS):
        shade = "#dcebdc" if layer[0].startswith("dynamics") else "#e6ecf5"
        width = WIDTH - RIGHT - LEFT
        out += [
            f'<rect x="{LEFT}" y="{y(k)}" width="{width}" height="{ROW - 6}" rx="4" fill="{shade}" stroke="#6a7a90"/>',
            f'<text x="{LEFT + 10}" y="{y(k) + 19}" font-size="14" font-weight="bold">{", ".join(layer)}</text>',
            f'<text x="{LEFT + 270}" y="{y(k) + 19}" font-size="12" fill="#333333">{SAID[layer[0]]}</text>',
        ]
    edge = WIDTH - RIGHT
    for k in range(n):
        for used in sorted(uses[k]):
            start, end, bulge = y(k) + 14, y(used) + 14, 14 * (k - used)
            out.append(
                f'<path d="M {edge} {start} C {edge + bulge} {start}, {edge + bulge} {end}, {edge + 6} {end}" fill="none" '
                f'stroke="#44546a" stroke-opacity="0.45"/><path d="M {edge} {end} l 7 -3 l 0 6 z" fill="#44546a"/>'
            )
    return "\n".join([*out, "</svg>", ""])


if __name__ == "__main__":
    (HERE / "layers.svg").write_text(picture(), encoding="utf-8")
