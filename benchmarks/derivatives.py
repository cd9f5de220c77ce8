"""Derivatives of inverse and forward dynamics beside Pinocchio's, per call from Python, in one run.

    python -m benchmarks.derivatives [--only panda,straight_chain32]

The least of several rounds in turns, as in :mod:`benchmarks.dynamics`; the first call is that of a
new process without any code in the cache, on the clock and in seconds of processor, which other
programs disturb less.  Nothing is subtracted.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np

import robot_dynamics_ros as rd
from benchmarks._results import write
from benchmarks.dynamics import example, least, straight_chain

ROBOTS = (
    "panda",
    "talos_reduced",
    *(f"straight_chain{n}" for n in (7, 12, 20, 32)),
    "oblique_chain7",
    "oblique_chain32",
)
FIRST = """
import sys, time
from benchmarks.derivatives import made
import numpy as np, robot_dynamics_ros as rd
model = made(sys.argv[1])
q, zeros = model.initial_configuration(), np.zeros(model.nv)
start, processor = time.perf_counter(), time.process_time()
getattr(rd, sys.argv[2] + "_dynamics_derivatives")(model, q, zeros, zeros)
print(time.perf_counter() - start, time.process_time() - processor)
"""


def made(name: str) -> rd.RobotModel:
    """The robot of that name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if "chain" not in name:
            return rd.load_urdf(example(f"{name}.urdf"))
        kind, _, count = name.partition("_chain")
        return (straight_chain if kind == "straight" else rd.chain)(int(count))


def first_call(name: str, function: str) -> tuple[float, float]:
    """Seconds of the first call in a new process with an empty cache, and seconds of processor."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "ROBOT_DYNAMICS_CACHE": cache}
        run = [sys.executable, "-c", FIRST, name, function]
        told = subprocess.run(
            run, env=environment, capture_output=True, text=True, check=True
        ).stdout
        seconds, processor = map(float, told.split())
        return seconds, processor


def per_call(model: rd.RobotModel) -> dict[str, float]:
    """Microseconds a call: ours, and Pinocchio's at a state of the same kind."""
    import pinocchio as pin

    rng = np.random.default_rng(0)
    theirs = pin.buildModelFromXML(rd.to_urdf(model))
    data = theirs.createData()
    x = pin.randomConfiguration(theirs, -np.ones(theirs.nq), np.ones(theirs.nq))
    q = rng.uniform(-1, 1, model.nq)
    v, a = rng.normal(size=(2, model.nv))
    w, b = rng.normal(size=(2, theirs.nv))
    calls = {
        "inverse": lambda: rd.inverse_dynamics_derivatives(model, q, v, a),
        "forward": lambda: rd.forward_dynamics_derivatives(model, q, v, a),
        "inverse, Pinocchio": lambda: pin.computeRNEADerivatives(theirs, data, x, w, b),
        "forward, Pinocchio": lambda: pin.computeABADerivatives(theirs, data, x, w, b),
    }
    # rounds shorter than a time slice: other programs disturb few of them
    return least(calls, 0.0005, 200)


def main() -> None:
    """Print and write the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default=",".join(ROBOTS), help="robots, separated by commas")
    figures = {}
    print(f"{'robot':18} function    ours, us  Pinocchio, us  ratio  first call, s  of processor")
    for name in parser.parse_args().only.split(","):
        figures[name] = times = per_call(made(name))
        for function in ("inverse", "forward"):
            ours = times[function]
            theirs = times[f"{function}, Pinocchio"]
            first, processor = first_call(name, function)
            times[f"{function}, first call, s"] = first
            times[f"{function}, first call, s of processor"] = processor
            numbers = (
                f"{ours:10.2f} {theirs:14.2f} {theirs / ours:6.2f} {first:15.2f} {processor:14.2f}"
            )
            print(f"{name:18} {function:9} {numbers}", flush=True)
    write("derivatives", {"per call": figures})


if __name__ == "__main__":
    main()
