"""Many robots: one experiment over random model errors, its figures in a table; and many plants at
once on all processors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.arrays import real_array_or_nan
from robot_dynamics_ros.dynamics.engine.parallel import threads
from robot_dynamics_ros.errors import ArgumentError, RobotDynamicsError
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.simulation.model_error import random_model_error
from robot_dynamics_ros.simulation.simulated_robot import PlantPath, SimulatedRobot
from robot_dynamics_ros.workers import Workers, run_tasks

Experiment = Callable[[RobotModel, int], Mapping[str, float]]


@dataclass(frozen=True, slots=True, eq=False)
class BatchResult:
    """Result of :func:`monte_carlo`.

    Attributes:
        figures: name → (N,) values, NaN for runs that failed.
        failures: run number → message of the error it ended with.
    """

    figures: Mapping[str, np.ndarray]
    failures: Mapping[int, str]

    def __len__(self) -> int:
        if self.figures:
            return len(next(iter(self.figures.values())))
        return len(self.failures)

    def table(self) -> str:
        """Mean, spread, 5th, 50th and 95th percentile and extremes of every figure, one a line."""
        columns = ("mean", "std", "min", "5 %", "50 %", "95 %", "max")
        width = max([len(name) for name in self.figures] + [6])
        lines = [f"{'figure':{width}}" + "".join(f"{c:>12}" for c in columns)]
        for name, values in self.figures.items():
            good = values[np.isfinite(values)]
            if not len(good):
                lines.append(f"{name:{width}}  no run finished")
                continue
            numbers = (
                good.mean(),
                good.std(),
                good.min(),
                *np.percentile(good, (5, 50, 95)),
                good.max(),
            )
            lines.append(f"{name:{width}}" + "".join(f"{x:12.4g}" for x in numbers))
        if self.failures:
            first = next(iter(self.failures.items()))
            lines.append(
                f"{len(self.failures)} of {len(self)} runs failed, the first of them run "
                f"{first[0]}: {first[1]}"
            )
        return "\n".join(lines)


def monte_carlo(
    model: RobotModel,
    experiment: Experiment,
    runs: int,
    *,
    seed: int = 0,
    spread: Mapping[str, float] | None = None,
    executor: Workers = None,
    progress: Callable[[int, int], None] | None = None,
) -> BatchResult:
    """Run an experiment on ``runs`` robots that differ from ``model`` by random errors.

    Args:
        model: the robot as described.
        experiment: ``experiment(robot, number) -> {figure: value}``; usually a simulation of
            ``robot`` under a control law made for ``model``.  Errors of this package it raises are
            recorded; others end the batch.
        runs: how many.
        seed: run k depends only on ``seed`` and k.
        spread: see :func:`~robot_dynamics_ros.simulation.model_error.random_model_error`.
        executor: runs experiments in parallel (they must be importable): a
            ``concurrent.futures.Executor``, or what opens one, as
            :func:`~robot_dynamics_ros.workers.on_processes` and
            :func:`~robot_dynamics_ros.workers.on_cluster` give: a lost worker then costs a retry.
            ``None`` runs them here, one after the other.  Results are the same.
        progress: called with (runs done, runs) after every run.

    Raises:
        ArgumentError: no runs.
    """
    if runs < 1:
        raise ArgumentError("must be at least 1", where="runs", got=runs)
    tasks = [(model, experiment, k, seed, dict(spread or {})) for k in range(runs)]
    outcomes = run_tasks(_one, tasks, executor, progress=progress)
    figures = [{} if isinstance(outcome, str) else outcome for outcome in outcomes]
    names = list(dict.fromkeys(name for found in figures for name in found))
    values = {
        name: np.array([float(found.get(name, math.nan)) for found in figures]) for name in names
    }
    return BatchResult(values, {k: o for k, o in enumerate(outcomes) if isinstance(o, str)})


def _one(
    task: tuple[RobotModel, Experiment, int, int, dict[str, float]],
) -> Mapping[str, float] | str:
    model, experiment, number, seed, spread = task
    robot = random_model_error(model, np.random.default_rng((seed, number)), **spread)
    try:
        return dict(experiment(robot, number))
    except RobotDynamicsError as error:
        return str(error)


def run_plants(
    plants: Sequence[SimulatedRobot],
    commands: ArrayLike,
    steps: int | None = None,
    *,
    record: bool = True,
) -> PlantPath | None:
    """Advance all plants by the same number of control periods, on all processors.

    The results are those of single runs.  Machine code runs in parallel; plants that need Python
    run in sequence.

    Args:
        plants: N different plants of equal numbers of coordinates.
        commands: (N, steps, nv); or (N, nv), held for all ``steps``.
        steps: how many, if the commands do not say.
        record: whether to return the states of all steps.

    Returns:
        (N, steps, …) states, see :class:`PlantPath`.

    Raises:
        ArgumentError: no plants, one given twice, plants of different size, commands of another
            shape.
        SimulationError: a plant diverges; the first is named, and all others have done their steps.
    """
    plants = list(plants)
    if not plants or len({id(plant) for plant in plants}) < len(plants):
        raise ArgumentError(
            "expected one or more different plants", where="plants", got=len(plants)
        )
    sizes = {(plant.model.nq, plant.model.nv) for plant in plants}
    if len(sizes) > 1:
        problem = "all must have the same number of coordinates"
        remedy = "Run plants of other robots on their own."
        raise ArgumentError(problem, where="plants", got=sorted(sizes), remedy=remedy)
    rows_of_all = real_array_or_nan(commands)
    if rows_of_all.ndim not in (2, 3) or len(rows_of_all) != len(plants):
        shapes = f"({len(plants)}, steps, nv) numbers, or ({len(plants)}, nv) together with steps"
        raise ArgumentError(f"expected {shapes}", where="commands", got=np.shape(commands))
    checked = [
        plant._commands(rows, steps) for plant, rows in zip(plants, rows_of_all, strict=True)
    ]
    count = checked[0][1]
    model = plants[0].model
    if record:
        path = np.empty((len(plants), count, model.nq + 2 * model.nv))
    else:
        path = None

    def work(k: int) -> None:
        plants[k]._run(checked[k][0], count, {}, None if path is None else path[k])

    with ThreadPoolExecutor(min(threads(), len(plants))) as pool:
        for job in [pool.submit(work, k) for k in range(len(plants))]:
            job.result()
    return None if path is None else PlantPath.of(model, path)
