"""Values worked out once for each model and kept as long as the model lives."""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable
from typing import TypeVar

from robot_dynamics_ros.model.robot_model import RobotModel

Value = TypeVar("Value")


def once_per_model(make: Callable[[RobotModel], Value]) -> Callable[[RobotModel], Value]:
    """Decorator: ``make(model)`` runs once for each model, whatever number of threads ask for it.

    The value must not refer to the model, or neither is ever freed.
    """
    values: weakref.WeakKeyDictionary[RobotModel, Value] = weakref.WeakKeyDictionary()
    lock = threading.RLock()

    @functools.wraps(make)
    def get(model: RobotModel) -> Value:
        value = values.get(model)
        if value is None:
            with lock:
                value = values.get(model)
                if value is None:
                    value = values[model] = make(model)
        return value

    return get
