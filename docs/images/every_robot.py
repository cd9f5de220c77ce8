"""Every robot of example-robot-data in the viewer, as a contact sheet: ``python -m
docs.images.every_robot [FILE] [PART OF A NAME]``.

One browser opens them one after the other.  A page that reports an error, loses its graphics or
does not show the robot is named, and the exit code is then 1.
"""

from __future__ import annotations

import sys
import warnings
from importlib import metadata
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.view.film import open_page, painter, settled
from robot_dynamics_ros.view.headless import Browser
from robot_dynamics_ros.view.viewer import Page

HERE = Path(__file__).parent
WIDTH = 200
HEIGHT = 150
TITLE = 14
COLUMNS = 8


def robots(part: str) -> list[Path]:
    """URDFs of the package, by name; a file that a link leads to is taken once."""
    files = metadata.files("example-robot-data") or []
    paths = {
        Path(str(file.locate())).resolve()
        for file in files
        if file.suffix == ".urdf" and part in file.name
    }
    return sorted(paths, key=lambda path: (path.name, str(path)))


def look(path: Path, browser: Browser) -> tuple[Image.Image | None, str]:
    """A picture of one robot, and what is wrong with it; a file that is no robot has neither."""
    try:
        model = rd.load_urdf(path, inertia_check="repair")
    except RobotDynamicsError:
        return None, ""
    browser.leave()
    with rd.view(model, port=0) as viewer:
        page = open_page(viewer.address, browser, lambda: viewer.pages)
        return inspect(page, browser)


def inspect(page: Page, browser: Browser) -> tuple[Image.Image, str]:
    """A picture of a page, and what is wrong with it: an error, graphics that are lost, a robot
    that is not in the picture.
    """
    paint = painter(page.client, WIDTH, HEIGHT, page.view_point(WIDTH / HEIGHT))
    settled(paint, browser)
    pictures = []
    # the ground and the arrows stay: what changes is the robot
    for shown in (False, True):
        for view in page.views:
            for name in view.nodes.bodies.default_layers:
                view.nodes.bodies.layer(name, shown)
        page.client.flush()
        pictures.append(settled(paint, browser))
    without, image = pictures
    seen = (np.abs(image.astype(int) - without).sum(axis=2) > 30).sum()
    lost = browser.run("document.querySelector('canvas').getContext('webgl2').isContextLost()")
    faults = [*browser.errors[:1]]
    faults += ["its graphics are lost"] if lost is not False else []
    faults += ["the robot is not in the picture"] if seen < 0.002 * WIDTH * HEIGHT else []
    return Image.fromarray(image), "; ".join(faults)


def write_sheet(tiles: list[tuple[str, Image.Image]], target: str) -> None:
    """Pictures with their names, in rows."""
    rows = -(-len(tiles) // COLUMNS)
    sheet = Image.new("RGB", (COLUMNS * WIDTH, rows * (HEIGHT + TITLE)), "white")
    draw = ImageDraw.Draw(sheet)
    for k, (name, image) in enumerate(tiles):
        x = k % COLUMNS * WIDTH
        y = k // COLUMNS * (HEIGHT + TITLE)
        sheet.paste(image, (x, y + TITLE))
        draw.text((x + 4, y + 1), name[:32], fill="black")
    sheet.save(target, quality=72, optimize=True)


def main(target: str = str(HERE / "every_robot.jpg"), part: str = "") -> int:
    """Draw the sheet; 1 if a robot is not drawn as it should be."""
    # of inertias, and of meshes that are not there
    warnings.simplefilter("ignore")
    tiles: list[tuple[str, Image.Image]] = []
    faults: dict[str, str] = {}
    with Browser(240, 160, pause=0.05) as browser:
        for path in robots(part):
            try:
                image, fault = look(path, browser)
            # the last: the page is gone
            except (
                RobotDynamicsError,
                TimeoutError,
                RuntimeError,
            ) as error:
                image = Image.new("RGB", (WIDTH, HEIGHT), "white")
                fault = str(error)
            print(f"{path.name:45} {fault or ('drawn' if image else 'no robot')}", flush=True)
            if fault:
                faults[path.name] = fault
            if image:
                tiles.append((path.stem, image))
                # what is drawn is kept if the run is cut short
                write_sheet(tiles, target)
    print(f"{len(tiles)} robots, {len(faults)} not as they should be, in {target}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
