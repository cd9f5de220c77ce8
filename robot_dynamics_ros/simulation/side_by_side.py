"""Many plants at once, each with its own parameters, on all processors."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.arrays import real_array_or_nan
from robot_dynamics_ros.dynamics.engine.parallel import threads
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.simulation.simulated_robot import PlantPath, SimulatedRobot


def run_plants(
    plants: Sequence[SimulatedRobot], commands: ArrayLike, steps: int | None = None, *, record: bool = True
) -> PlantPath | None:
    """Advance all plants by the same number of control periods, on all processors.

    The results are those of single runs.  Machine code runs in parallel; plants that need Python run in sequence.

    Args:
        plants: N different plants of equal numbers of coordinates.
        commands: (N, steps, nv); or (N, nv), held for all ``steps``.
        steps: how many, if the commands do not say.
        record: whether to return the states of all steps.

    Returns:
        (N, steps, …) states, see :class:`PlantPath`.

    Raises:
        ArgumentError: no plants, one given twice, plants of different size, commands of another shape.
        SimulationError: a plant diverges; the first is named, and all others have done their steps.
    """
    plants = list(plants)
    if not plants or len({id(plant) for plant in plants}) < len(plants):
        raise ArgumentError("expected one or more different plants", where="plants", got=len(plants))
    sizes = {(plant.model.nq, plant.model.nv) for plant in plants}
    if len(sizes) > 1:
        problem = "all must have the same number of coordinates"
        remedy = "Run plants of other robots on their own."
        raise ArgumentError(problem, where="plants", got=sorted(sizes), remedy=remedy)
    rows_of_all = real_array_or_nan(commands)
    if rows_of_all.ndim not in (2, 3) or len(rows_of_all) != len(plants):
        shapes = f"({len(plants)}, steps, nv) numbers, or ({len(plants)}, nv) together with steps"
        raise ArgumentError(f"expected {shapes}", where="commands", got=np.shape(commands))
    checked = [plant._commands(rows, steps) for plant, rows in zip(plants, rows_of_all, strict=True)]
    count, model = checked[0][1], plants[0].model
    path = np.empty((len(plants), count, model.nq + 2 * model.nv)) if record else None

    def work(k: int) -> None:
        plants[k]._run(checked[k][0], count, {}, None if path is None else path[k])

    with ThreadPoolExecutor(min(threads(), len(plants))) as pool:
        for job in [pool.submit(work, k) for k in range(len(plants))]:
            job.result()
    return None if path is None else PlantPath.of(model, path)
