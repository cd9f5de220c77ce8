"""The demo of every arm that has a profile, with its vendor's own description: ``python -m
benchmarks.vendor_arms FOLDER [ARM …]``.

FOLDER holds checkouts of the vendors' repositories, under their own names.  Controller and
simulator are two processes in real time; the simulator behaves as the arm's driver does.  An arm
arrives if it is within 3 mrad (or mm) of the goal and stands.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks._results import write
from benchmarks._ros import ros_missing
from robot_dynamics_ros.model.arm_profile import ArmProfile, arm_names, load_arm_profile
from robot_dynamics_ros.model.packages import package_directory
from robot_dynamics_ros.model.urdf_source import with_arguments

TOLERANCE = 0.003


def demo(profile: ArmProfile, checkouts: Path) -> dict[str, object]:
    """How the demo of one arm ended: whether it arrived, and the largest errors, mrad or mm."""
    source = profile.description
    folder = checkouts / source.repository.rpartition("/")[2]
    if not folder.is_dir():
        return {"arrived": None, "reason": f"no checkout of {source.repository}"}
    description = with_arguments(
        package_directory(source.package, folder) / source.file, source.arguments
    )
    with tempfile.TemporaryDirectory() as output:
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "robot_dynamics_ros.cli.main",
                "demo",
                description,
                "--arm",
                profile.name,
                "--no-picture",
                "--no-view",
                "--json",
                "--tolerance",
                str(TOLERANCE),
                "--output",
                output,
            ],
            capture_output=True,
            text=True,
            timeout=300,
        )
    start = done.stdout.find("{")
    if start < 0:
        return {"arrived": False, "reason": done.stderr.strip()[-300:]}
    report, _ = json.JSONDecoder().raw_decode(done.stdout[start:])
    return {
        "arrived": report["arrived"],
        "goal": 1e3 * report["goal_error"],
        "way": max(joint["largest"] for joint in report["joints"]),
    }


def main() -> int:
    """Print a row an arm; 1 if one has not arrived."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.vendor_arms", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("folder", type=Path, help="checkouts of the vendors' repositories")
    parser.add_argument(
        "arms", nargs="*", metavar="ARM", help="profiles; all that take efforts by default"
    )
    options = parser.parse_args()
    if ros_missing():
        return 0
    profiles = [load_arm_profile(name) for name in options.arms or arm_names()]
    rows = {}
    print(f"{'arm':28}{'at the goal':>14}{'on the way':>14}  mrad or mm")
    for profile in profiles:
        if not profile.commands_efforts:
            print(f"{profile.name:28}takes no efforts")
            continue
        rows[profile.name] = row = demo(profile, options.folder)
        if "goal" in row:
            print(
                f"{profile.name:28}{row['goal']:14.2f}{row['way']:14.2f}  "
                f"{'' if row['arrived'] else 'NOT ARRIVED'}",
                flush=True,
            )
        else:
            print(f"{profile.name:28}{row['reason']}", flush=True)
    write("vendor_arms", {"arms": rows})
    return 0 if all(row["arrived"] for row in rows.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
