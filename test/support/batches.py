"""Work that workers in other processes can import."""

from __future__ import annotations

import os
import signal

import robot_dynamics_ros as rd

__all__ = ["FallAndDieOnce", "die", "fall", "refuse"]


def fall(robot, number):
    """An experiment: where a limb is after 0.1 s."""
    run = rd.simulate(robot, duration=0.1, dt=5e-3, q0=[0.3 + 0.1 * number, -0.2])
    return {"q1": run.q[-1, 0], "q2": run.q[-1, 1]}


class FallAndDieOnce:
    """The same, but the worker that gets number 3 is killed, the first time."""

    def __init__(self, folder):
        self.mark = str(folder / "killed")

    def __call__(self, robot, number):
        if number == 3:
            try:
                os.close(os.open(self.mark, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                pass
            else:
                os.kill(os.getpid(), signal.SIGKILL)
        return fall(robot, number)


def die(task):
    os.kill(os.getpid(), signal.SIGKILL)


def refuse(task):
    raise rd.ArgumentError(f"task {task}", where="test")
