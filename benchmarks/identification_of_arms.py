"""Identification of two real arms: ``python -m benchmarks.identification_of_arms --ur10e FOLDER
--tx40 FOLDER``.

- UR10e: FOLDER is a clone of github.com/shamilmamedov/dynamic_calibration: positions, velocities
  and motor currents, 94 rows a
  second.  Torques are the currents times the authors' drive gains.  Two motions are identified (30
  s and 50 s), a third of 40 s is predicted.  Then the same from the currents alone: the errors are
  brought to N m by the authors' gains.
- Stäubli TX40: FOLDER is a clone of github.com/thanhndv212/figaroh-examples.  Its last motor turns
  with the sum of the speeds of joints 5 and 6.  The first 70 % of the rows are identified, the last
  30 % predicted.

Nothing of either is part of this package.  The URDFs are those of the recordings.  Measured and
predicted efforts are averaged over 0.05 s, efforts as late as identification finds them, as
``--validate`` compares them.  Those of a joint that stands are left out, because what holds it then
no model of motion tells.  Plain least squares have a rotor on every joint.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np

import robot_dynamics_ros as rd
from benchmarks._results import write
from benchmarks.identification import plain_least_squares, row
from robot_dynamics_ros.identification import IdentificationSettings, identify_recordings
from robot_dynamics_ros.identification.effort_parameters import EffortParameters
from robot_dynamics_ros.identification.samples import MotionSamples, blocks
from robot_dynamics_ros.recordings import Recording

GAINS = np.array([14.87, 13.26, 11.13, 10.62, 11.03, 11.47])
"""N m for one A, by the authors of the recordings of the UR10e."""
UR10E = ("20_02_10-30sec_12harm", "20_02_12-50sec_12harm"), "20_02_12-40sec_12harm"
RATIOS = (32.0, 32.0, 45.0, -48.0, 45.0, 32.0)
"""Of the gears of the TX40."""


def loaded(path: Path) -> rd.RobotModel:
    """A robot whose last link may have no inertia."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return rd.load_urdf(path.read_text(encoding="utf-8"), inertia_check="repair")


def ur10e(folder: Path, name: str) -> tuple[np.ndarray, ...]:
    """Times (n,), positions, velocities and currents (n, 6)."""
    path = folder / "dataset_ur10e" / "identification_data" / f"ur-{name}.csv"
    rows = np.genfromtxt(path, delimiter=",", invalid_raise=False)
    rows = rows[np.isfinite(rows[:, :19]).all(axis=1)]
    return rows[:, 0] - rows[0, 0], rows[:, 1:7], rows[:, 7:13], rows[:, 13:19]


def tx40(folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times (n,), positions and torques (n, 6): of every fifth row of 5 kHz."""
    data = folder / "examples" / "staubli_TX40" / "data"
    q, effort = (
        np.genfromtxt(data / f"{x}_data.csv", delimiter=",", skip_header=1)
        for x in ("pos_read", "curr")
    )
    motors = np.diag(RATIOS)
    torques = np.diag(RATIOS)
    motors[5, 4] = torques[4, 5] = RATIOS[5]
    q = q @ np.linalg.inv(motors).T + np.array([0.0, -0.5, 0.5, 0.0, 0.0, 0.0]) * np.pi
    return 2e-4 * np.arange(len(q))[::5], q[::5], (effort @ torques.T)[::5]


def compare(
    arm: rd.RobotModel,
    training: list[tuple[np.ndarray | None, ...]],
    test: tuple[np.ndarray | None, ...],
    unit: np.ndarray | float = 1.0,
    **settings: object,
) -> dict[str, dict[str, list[float]]]:
    """Print and return what every model leaves of the test.

    Args:
        training, test: times, positions, velocities (``None`` if not recorded) and efforts.
        unit: N m for one unit of the efforts.
    """
    recordings = [Recording.of(arm, *rows) for rows in training]  # type: ignore[arg-type]
    clock = time.process_time()
    found = identify_recordings(arm, recordings, IdentificationSettings(**settings))  # type: ignore[arg-type]
    took = time.process_time() - clock
    constants = 1.0 if found.torque_constants is None else found.torque_constants.values
    motions = [
        MotionSamples.of_recordings(arm, [recording]).earlier(found.delay)
        for recording in (*recordings, Recording.of(arm, *test))  # type: ignore[arg-type]
    ]
    rows = tuple(
        np.concatenate([getattr(m, x) for m in motions]) for x in ("q", "v", "a", "effort")
    )
    last = motions[-1]
    count = len(last.t)
    slow = 0.2 * EffortParameters(arm).smoothing
    use = blocks(found.parameters, last, slow=slow).use
    plain = plain_least_squares(
        arm, rows, slice(0, -count), rotors=True, use=np.abs(rows[1]) > slow
    )[-count:]
    predictions = {
        "URDF": rd.inverse_dynamics(arm, last.q, last.v, last.a) / constants,
        "`identify`": found.predict(last.q, last.v, last.a) / constants,
        "plain least squares with rotors": plain,
    }
    left = {
        name: np.where(use, last.mean((x - last.effort) * unit, 0.05), np.nan)
        for name, x in predictions.items()
    }
    for note in found.notes:
        print(f"  {note}")
    more = {"`identify`": f"{took:.1f} s of processor time"}
    return {name: row(name, difference, more.get(name, "")) for name, difference in left.items()}


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ur10e", type=Path, help="clone of shamilmamedov/dynamic_calibration")
    parser.add_argument("--tx40", type=Path, help="clone of thanhndv212/figaroh-examples")
    options = parser.parse_args()
    figures = {}
    if options.ur10e is not None:
        arm = loaded(options.ur10e / "URe" / "urdf" / "ur10e.urdf")
        names, last = UR10E
        training = [ur10e(options.ur10e, name) for name in names]
        test = ur10e(options.ur10e, last)
        print("UR10e, torques")
        torques = [(t, q, v, i * GAINS) for t, q, v, i in (*training, test)]
        figures["UR10e, torques"] = compare(arm, torques[:-1], torques[-1])
        print("UR10e, currents")
        figures["UR10e, currents"] = compare(arm, training, test, GAINS, currents={})
    if options.tx40 is not None:
        print("TX40")
        arm = loaded(options.tx40 / "examples" / "staubli_TX40" / "urdf" / "tx40_mdh_modified.urdf")
        t, q, effort = tx40(options.tx40)
        n = int(0.7 * len(t))
        figures["TX40"] = compare(
            arm, [(t[:n], q[:n], None, effort[:n])], (t[n:], q[n:], None, effort[n:])
        )
    if figures:
        write("identification_of_arms", figures)
    else:
        print("left out: needs the folders of recordings, see the docstring")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
