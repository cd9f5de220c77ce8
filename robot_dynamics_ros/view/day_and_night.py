"""Light and dark looks of a page, as the person's system asks for (``prefers-color-scheme``).

Scenes are the same in both: their background is light enough that arrows, balls and robots of any
colour are seen on it.
"""

# viser reads this when it starts, and would read light from a replay's own setting
_SCRIPT = """
Object.defineProperty(window, "__VISER_EMBED_CONFIG__", {
  get: () => ({darkMode: matchMedia("(prefers-color-scheme: dark)").matches}), set() {}});
"""
# ink of texts, paper of the legend and of plots, lines
_STYLE = """
:root { --rd-ink: rgb(60, 64, 70); --rd-paper: rgb(255, 255, 255, 0.72); --rd-sheet: white;
  --rd-plot: #fafafa; --rd-line: #ccc; --rd-strong: #444; }
@media (prefers-color-scheme: dark) {
  :root { --rd-ink: rgb(225, 228, 232); --rd-paper: rgb(52, 56, 62, 0.72); --rd-sheet: #242424;
    --rd-plot: #2e2e2e; --rd-line: #555; --rd-strong: #ccc; }
  canvas[data-engine] { background: #757c86; }
  .replay-plots polyline, .replay-plots .keys span { filter: brightness(1.35); }
}
"""
LOOK = f"<style>{_STYLE}</style><script>{_SCRIPT}</script>"
"""For the head of a page, before viser's own script."""
