"""Every robot of example-robot-data on one picture: ``python docs/images/robot_figures.py`` (needs a browser and that
package; some ten minutes without a graphics processor).  A page with an error ends it."""

import tempfile
import warnings
from importlib import metadata
from pathlib import Path

from PIL import Image, ImageDraw

import robot_dynamics_ros as rd
from robot_dynamics_ros.view.film import write_picture
from robot_dynamics_ros.view.headless import Browser
from robot_dynamics_ros.view.source import PoseSource
from robot_dynamics_ros.view.viewer import Viewer

HERE = Path(__file__).parent
WIDTH, HEIGHT, COLUMNS = 200, 168, 9


def load(path: Path) -> rd.RobotModel | None:
    try:
        return rd.load_urdf(path, inertia_check="repair")
    except rd.RobotDynamicsError as error:
        print(f"{path.name}: no robot ({error})")  # one file has no links
        return None


files = (Path(str(file.locate())).resolve() for file in metadata.files("example-robot-data") or ())
warnings.simplefilter("ignore", rd.ModelWarning)
robots = [(p.stem, load(p)) for p in sorted(files, key=lambda p: p.name) if p.suffix == ".urdf"]
robots = [(name, model) for name, model in robots if model is not None]
rows = -(-len(robots) // COLUMNS)
sheet = Image.new("RGB", (COLUMNS * WIDTH, rows * (HEIGHT + 14)), "white")
draw = ImageDraw.Draw(sheet)
with tempfile.TemporaryDirectory() as folder, Browser(240, 160, pause=0.05) as browser:
    for row in range(rows):
        some = robots[row * COLUMNS : (row + 1) * COLUMNS]
        sources = [PoseSource(model) for _, model in some]
        for number, source in enumerate(sources):
            source.name = f"robot {number}"
        with Viewer(sources, port=0) as viewer:
            shown = list(viewer.robots)
            for column, robot in enumerate(shown):
                for other in shown:
                    other.nodes.visible(other is robot)
                viewer.robots[:] = [robot]  # the camera sees those in the list
                eye = viewer.view_point(WIDTH / HEIGHT)
                file = write_picture(viewer.window, eye, Path(folder) / "robot.png", 2 * WIDTH, 2 * HEIGHT, browser)
                with Image.open(file) as picture:
                    small = picture.convert("RGB").resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS)
                x, y = column * WIDTH, row * (HEIGHT + 14)
                sheet.paste(small, (x, y))
                draw.text((x + 0.5 * WIDTH, y + HEIGHT), some[column][0][:32], fill=(60, 60, 60), anchor="ma")
                print(row, column, some[column][0], flush=True)
        assert not browser.errors, (some, browser.errors)
        browser.leave()
sheet.quantize(96, dither=Image.Dither.NONE).save(HERE / "view_robots.png", optimize=True)
