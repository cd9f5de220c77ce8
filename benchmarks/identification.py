"""Identification of a real arm: ``python -m benchmarks.identification FOLDER``.

FOLDER is a clone of github.com/marcocognetti/FrankaEmikaPandaDynModel (Gaz, Cognetti, Oliva,
Robuffo Giordano and De Luca, IEEE RA-L 4(4), 2019): a recording of a Franka Panda at 1 kHz and the
authors' identified model.  Nothing of it is part of this package.

The first 70 % of the rows are identified, the last 30 % predicted.  Measured and predicted efforts
are compared on a regular grid of 1 ms; positions and efforts pass the same zero-phase low-pass
filter of 10 Hz (Butterworth, order 4), velocities and accelerations are central differences of the
filtered positions.  Rows, in N m:

- the URDF without its hand (example-robot-data);
- ``identify`` with default options, from the rows as recorded;
- the authors' model;
- plain least squares for base parameters, Coulomb and viscous friction and offset, from the
  filtered rows; the same with a rotor on every joint.

The same with the recorded velocities: all rows have these, filtered, earlier by as much as they are
    late beside the positions
in the training rows, and their central differences as accelerations.  Stamps that are wrong cost
accelerations much less then.

The same with the log's times repaired (:meth:`Recording.repaired`), as ``robot_dynamics identify``
does by default: the logger polled at a rate of its own.

Then, for poor data: the first seconds of the recording alone, with what they do not show kept from
    the URDF.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import re
import resource
import time
import warnings
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from scipy.signal import butter, filtfilt

import robot_dynamics_ros as rd
from benchmarks._results import write
from benchmarks.dynamics import example
from robot_dynamics_ros.identification import FrictionTerms, IdentificationSettings, identify
from robot_dynamics_ros.recordings import Recording

SHARE = 0.7
CUTOFF = 10.0
STEP = 1e-3
EDGE = 0.1
HAND = {"panda_hand", "panda_leftfinger", "panda_rightfinger", "panda_hand_tcp"}
LOG = "matlab/data/Exciting_Traj/Trajectory_1/rbt_log/exciting_traj_{}.txt"
MODEL = "matlab/dyn_model_panda/get_{}.m"


def without_hand(path: Path, gravity: float = 9.81) -> rd.RobotModel:
    """The arm up to its flange."""
    root = ElementTree.parse(path).getroot()
    for element in list(root):
        child = element.find("child")
        names = {element.get("name"), None if child is None else child.get("link")}
        if names & HAND or element.tag not in ("link", "joint"):
            root.remove(element)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return rd.load_urdf(
            ElementTree.tostring(root, encoding="unicode"), gravity=(0.0, 0.0, -gravity)
        )


def recorded(folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Times (n,), positions, velocities and efforts (n, 7)."""
    t = np.loadtxt(folder / LOG.format("time"))
    q, v, effort = (
        np.loadtxt(folder / LOG.format(x)).reshape(-1, 7)
        for x in ("positions", "velocity", "torques")
    )
    return t, q, v, effort


def expression(path: Path, q: np.ndarray) -> np.ndarray:
    """(n, k) the vector of elementwise expressions that a generated MATLAB function builds of q (n,
    7).
    """
    text = re.sub(r"%.*", "", path.read_text(encoding="latin-1")).replace("...\n", "")
    known = {"cos": np.cos, "sin": np.sin, **{f"q{i + 1}": q[:, i] for i in range(7)}}
    plain = re.compile(r"[\w\s.*+\-/();\[\],]*")
    for name, value in re.findall(r"^\s*(\w+)\s*=\s*([^=]*?);\s*$", text, re.M | re.S):
        value = value.replace(".^", "**").replace(".*", "*").replace("./", "/").strip()
        if re.fullmatch(r"q\d", name) or "_hat(" in value:
            continue
        if not plain.fullmatch(value):
            raise SystemExit(f"{path}: not a plain expression: {value[:60]}")
        vector = value.startswith("[")
        code = f"({value[1:-1].replace(';', ',')},)" if vector else value
        # checked above: numbers, names, operators
        known[name] = eval(code, {"__builtins__": {}}, known)
        if vector:
            return np.stack([np.broadcast_to(x, len(q)) for x in known[name]], axis=1)
    raise SystemExit(f"{path}: holds no vector")


class PublishedModel:
    """The authors' model: mass matrix, gravity and friction as published.

    Velocity terms follow from the mass matrix; they are taken from the inertial parameters that
    reproduce it.
    """

    def __init__(self, folder: Path, arm: rd.RobotModel) -> None:
        self.arm = arm
        self.friction = self._friction(folder / MODEL.format("FrictionTorque"))
        self.mass, self.gravity = (
            folder / MODEL.format("MassMatrix"),
            folder / MODEL.format("GravityVector"),
        )
        rng = np.random.default_rng(0)
        q = rng.uniform(arm.lower, arm.upper, (400, 7))
        a = rng.normal(size=q.shape) * 3.0
        Y = rd.joint_torque_regressor(arm, q, 0.0 * a, a).reshape(-1, 10 * arm.nb)
        self.parameters = np.linalg.lstsq(Y, self._rigid(q, a).ravel(), rcond=1e-10)[0]

    @staticmethod
    def _friction(path: Path) -> np.ndarray:
        block = re.search(r"fp\s*=\s*\[(.*?)\]", path.read_text().replace("...\n", ""), re.S)
        if block is None:
            raise SystemExit(f"{path}: holds no friction parameters")
        return np.array([[float(x) for x in row.split(",")] for row in block.group(1).split(";")])

    def _rigid(self, q: np.ndarray, a: np.ndarray) -> np.ndarray:
        entries = expression(self.mass, q)
        M = np.zeros((len(q), 7, 7))
        rows, columns = np.tril_indices(7)
        M[:, rows, columns] = M[:, columns, rows] = entries
        return np.einsum("nij,nj->ni", M, a) + expression(self.gravity, q)

    def efforts(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """(n, 7) N m."""
        rest, moving = (rd.joint_torque_regressor(self.arm, q, x, a) for x in (0.0 * v, v))
        velocity = (moving - rest) @ self.parameters
        size, _, shift, slope = self.friction

        def sigmoid(x: np.ndarray) -> np.ndarray:
            return size / (1.0 + np.exp(-slope * (x + shift)))

        return self._rigid(q, a) + velocity + sigmoid(v) - sigmoid(0.0 * v)


def filtered(
    t: np.ndarray, q: np.ndarray, effort: np.ndarray, v: np.ndarray | None = None
) -> tuple[np.ndarray, ...]:
    """Position, velocity, acceleration and effort on a grid of 1 ms, low-passed."""
    grid = np.arange(t[0], t[-1], STEP)
    b, a = butter(4, 2.0 * CUTOFF * STEP)

    def smooth(x: np.ndarray, late: float = 0.0) -> np.ndarray:
        return filtfilt(
            b,
            a,
            np.stack([np.interp(grid + late, t, x[:, i]) for i in range(x.shape[1])], axis=1),
            axis=0,
        )

    position = smooth(q)
    velocity = np.gradient(position, STEP, axis=0)
    if v is not None:
        read = smooth(v)
        training = slice(round(EDGE / STEP), int(SHARE * len(grid)))
        rate, missing = (
            x[training].ravel() for x in (np.gradient(read, STEP, axis=0), velocity - read)
        )
        velocity = smooth(v, late=float(rate @ missing / (rate @ rate)))
    return position, velocity, np.gradient(velocity, STEP, axis=0), smooth(effort)


def plain_least_squares(
    arm: rd.RobotModel,
    rows: tuple[np.ndarray, ...],
    training: slice,
    *,
    rotors: bool = False,
    use: np.ndarray | float = 1.0,
) -> np.ndarray:
    """(n, nv) efforts by base parameters, weighted joint by joint, from the training rows.

    Args:
        use: (n, nv) 0 where a joint's effort does not count.
    """
    q, v, a, effort = rows
    base = rd.base_parameters(arm).independent
    nv = arm.nv
    kinds = 4 if rotors else 3
    Y = np.zeros((len(q), nv, len(base) + kinds * nv))
    Y[..., : len(base)] = rd.joint_torque_regressor(arm, q, v, a)[..., base]
    for j in range(nv):
        for k, x in enumerate((np.sign(v[:, j]), v[:, j], np.ones(len(q)), a[:, j])[:kinds]):
            Y[:, j, len(base) + kinds * j + k] = x
    weight = np.ones(nv)
    for _ in range(4):
        w = (use * np.ones_like(effort))[training] * weight
        A = (Y[training] * w[..., None])[::5]
        b = (effort[training] * w)[::5]
        x = np.linalg.lstsq(A.reshape(-1, A.shape[-1]), b.ravel(), rcond=1e-10)[0]
        weight = 1.0 / np.sqrt(np.mean((use * (effort - Y @ x))[training] ** 2, axis=0))
    return np.asarray(Y @ x)


def row(name: str, left: np.ndarray, more: str = "") -> dict[str, list[float]]:
    """One line of rms per joint and in all, one of peaks; the same returned.

    NaN does not count.
    """
    rms = np.sqrt(np.nanmean(left**2, axis=0))
    peak = np.nanmax(np.abs(left), axis=0)
    print(
        f"{name:<26}"
        + "".join(f"{x:7.3f}" for x in (*rms, np.sqrt(np.nanmean(left**2))))
        + f"  {more}"
    )
    print(f"{'  peak':<26}" + "".join(f"{x:7.2f}" for x in peak), flush=True)
    return {
        "rms, N m": [*rms.tolist(), float(np.sqrt(np.nanmean(left**2)))],
        "largest, N m": peak.tolist(),
    }


PEAK = re.compile(r"^VmHWM:\s+(\d+) kB", re.M)


def forget_peak() -> None:
    """Let the peak of memory begin anew, so that it is not that of the models compared with."""
    gc.collect()
    # Linux alone has it
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def memory() -> float:
    """Largest memory of this process since :func:`forget_peak`, MB."""
    status = Path("/proc/self/status")
    found = PEAK.search(status.read_text()) if status.exists() else None
    return (
        float(found.group(1)) / 1024.0
        if found
        else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    )


def compare(
    arm: rd.RobotModel,
    published: PublishedModel,
    t: np.ndarray,
    q: np.ndarray,
    effort: np.ndarray,
    v: np.ndarray | None = None,
) -> tuple[tuple[np.ndarray, ...], dict[str, dict[str, list[float]]]]:
    """Identify the first rows and print what every model leaves of the last; these rows and figures
    are returned.
    """
    count = int(SHARE * len(t))
    forget_peak()
    clock = time.perf_counter()
    found = identify(arm, t[:count], q[:count], effort[:count], v=None if v is None else v[:count])
    took = time.perf_counter() - clock
    used = memory()
    rows = filtered(t, q, effort, v)
    n = len(rows[0])
    edge = round(EDGE / STEP)
    training = slice(edge, int(SHARE * n))
    test = slice(int(SHARE * n), n - edge)
    last = tuple(x[test] for x in rows)
    qt, vt, at, measured = last
    print(f"{'':<26}" + "".join(f"{name:>7}" for name in (*(f"J{j}" for j in range(1, 8)), "all")))
    left = {
        "URDF without hand": rd.inverse_dynamics(arm, qt, vt, at) - measured,
        "`identify`": found.predict(qt, vt, at) - measured,
        "published model": published.efforts(qt, vt, at) - measured,
        "plain least squares": (plain_least_squares(arm, rows, training) - rows[3])[test],
        "the same with rotors": (plain_least_squares(arm, rows, training, rotors=True) - rows[3])[
            test
        ],
    }
    more = {"`identify`": f"{took:.1f} s, {used:.0f} MB"}
    return last, {
        name: row(name, difference, more.get(name, "")) for name, difference in left.items()
    }


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "folder", type=Path, nargs="?", help="clone of marcocognetti/FrankaEmikaPandaDynModel"
    )
    parser.add_argument(
        "--urdf", type=Path, default=None, help="URDF of the Panda (default: example-robot-data's)"
    )
    options = parser.parse_args()
    if options.folder is None:
        print("left out: needs the folder of a recording, see the docstring")
        return 0
    path = options.urdf or example("panda.urdf")
    arm = without_hand(path)
    t, q, v, effort = recorded(options.folder)
    published = PublishedModel(options.folder, without_hand(path, 9.80665))
    before = memory()
    print(
        f"{len(t)} rows, {t[-1]:.1f} s; rms and peak of what is left of the last 30 %, N m; "
        f"{before:.0f} MB before\n"
    )
    print("times as recorded")
    (qt, vt, at, measured), as_recorded = compare(arm, published, t, q, effort)
    print("\ntimes as recorded, with the recorded velocities")
    _, with_velocities = compare(arm, published, t, q, effort, v)
    clock = time.perf_counter()
    repaired = Recording.of(arm, t, q, None, effort)
    print(f"\ntimes repaired ({time.perf_counter() - clock:.1f} s): {'; '.join(repaired.notes)}")
    _, on_repaired = compare(arm, published, repaired.t, repaired.q, repaired.effort)
    figures = {
        "times as recorded": as_recorded,
        "with velocities": with_velocities,
        "times repaired": on_repaired,
    }
    write("identification", figures)
    print("\npoor data: the first seconds alone, what they do not show kept from the URDF")
    for seconds in (0.8, 1.5, 3.0, 6.0):
        few = int(np.searchsorted(t, seconds))
        settings = IdentificationSettings(terms=FrictionTerms(), unseen="keep")
        try:
            poor = identify(arm, t[:few], q[:few], effort[:few], settings)
        except rd.ArgumentError as error:
            print(f"{seconds:g} s: refused: {error}")
            continue
        row(f"identify, {seconds:g} s", poor.predict(qt, vt, at) - measured)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
