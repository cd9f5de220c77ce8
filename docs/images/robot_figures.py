"""Every robot of example-robot-data on one picture, ``python docs/images/robot_figures.py`` (needs a browser and that
package; a quarter of an hour without a graphics processor).  A page with an error ends it."""

import tempfile
import warnings
from importlib import metadata
from pathlib import Path

from PIL import Image, ImageDraw

import robot_dynamics_ros as rd
from robot_dynamics_ros.view.film import write_picture
from robot_dynamics_ros.view.headless import Browser

HERE = Path(__file__).parent
WIDTH, HEIGHT, COLUMNS = 200, 168, 9

files = [file for file in metadata.files("example-robot-data") or () if file.suffix == ".urdf"]
pictures: list[tuple[str, Image.Image]] = []
warnings.simplefilter("ignore", rd.ModelWarning)
with tempfile.TemporaryDirectory() as folder, Browser(240, 160, pause=0.05) as browser:
    for path in sorted((Path(str(file.locate())).resolve() for file in files), key=lambda path: path.name):
        try:
            model = rd.load_urdf(path, inertia_check="repair")
        except rd.RobotDynamicsError as error:
            print(f"{path.name}: no robot ({error})")  # one file has no links
            continue
        with rd.view(model, port=0) as viewer:
            viewer.robots[0].layers._boxes["centres"].value = False
            viewer.update()
            file = write_picture(viewer, Path(folder) / "robot.png", 2 * WIDTH, 2 * HEIGHT, browser)
        assert not browser.errors, (path.name, browser.errors)
        with Image.open(file) as picture:
            small = picture.convert("RGB").resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS)
        pictures.append((path.stem, small))
        print(f"{len(pictures)} {path.name}", flush=True)

rows = -(-len(pictures) // COLUMNS)
sheet = Image.new("RGB", (COLUMNS * WIDTH, rows * (HEIGHT + 14)), "white")
draw = ImageDraw.Draw(sheet)
for k, (name, picture) in enumerate(pictures):
    x, y = k % COLUMNS * WIDTH, k // COLUMNS * (HEIGHT + 14)
    sheet.paste(picture, (x, y))
    draw.text((x + 0.5 * WIDTH, y + HEIGHT), name[:32], fill=(60, 60, 60), anchor="ma")
sheet.quantize(96, dither=Image.Dither.NONE).save(HERE / "view_robots.png", optimize=True)
