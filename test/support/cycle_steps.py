"""Steps of the control cycle, run as they are written, on the memory of one robot."""

from robot_dynamics_ros.control.cycle.limits import Guards
from robot_dynamics_ros.control.cycle.memory import cycle_memory


def limited(model, settings=None, idle=None):
    """The memory of a cycle with the limits of a robot, as Python sees it."""
    memory, _ = cycle_memory(model)
    if idle is not None:
        memory["commanded"][idle] = 0
    Guards(model, settings).load(memory)
    return memory.python


def put(p, **rows):
    """Write numbers into arrays of the memory, by name; a matrix is given as its rows."""
    for name, values in rows.items():
        array = getattr(p, name)
        for i, value in enumerate(values):
            if hasattr(value, "__len__"):
                for j, entry in enumerate(value):
                    array[i, j] = float(entry)
            else:
                array[i] = value if isinstance(array[i], int) else float(value)
    return p
