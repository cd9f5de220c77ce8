"""Where a command computes: in this process, in several, or on a cluster."""

from __future__ import annotations

import argparse

from robot_dynamics_ros.cli.arguments import at_least_one, option
from robot_dynamics_ros.workers import Workers, on_cluster, on_processes


def add_workers(parser: argparse.ArgumentParser, what: str) -> None:
    """The options ``--processes`` and ``--scheduler``."""
    group = parser.add_mutually_exclusive_group()
    option(group, "--processes", at_least_one, f"processes to spread the {what} over (default: one, this one)", 1)
    option(group, "--scheduler", "ADDRESS", f"scheduler of a Dask cluster to spread the {what} over", "")


def workers_of(options: argparse.Namespace) -> Workers:
    """The workers asked for.

    Raises:
        BackendError: a cluster is wanted, and its package is not installed.
    """
    if options.scheduler:
        return on_cluster(options.scheduler)
    return on_processes(options.processes) if options.processes > 1 else None
