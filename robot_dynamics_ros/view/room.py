"""The picture of a room that viser's page takes its first light from."""

# The page begins with it, and a replay returns to it whenever it starts over, until our own lights have come.  Without a
# graphics processor it takes seconds each time.
WITHOUT_ROOM = """
const load = fetch;
window.fetch = (what, ...more) =>
    String(what.url ?? what).startsWith("data:image/jpeg") ? new Promise(() => {}) : load(what, ...more);
"""
