"""Public functions: each calls the kernel of the model that it is called with."""

from __future__ import annotations

import threading
import types
import weakref
from typing import TYPE_CHECKING, Any

from robot_dynamics_ros.dynamics.engine.backends import evaluator
from robot_dynamics_ros.dynamics.engine.evaluate import Argument, Kernel
from robot_dynamics_ros.dynamics.engine.registry import Options
from robot_dynamics_ros.model.published import check_model
from robot_dynamics_ros.model.robot_model import RobotModel

if TYPE_CHECKING:
    from robot_dynamics_ros.dynamics.engine.codegen.native import Router


class Public:
    """One function of the registry for every model: ``run(model, *inputs)``, or with the output, or
    ``None``, last; or for
    every model and link: ``run(model, link, *inputs)``.

    >>> import robot_dynamics_ros as rd
    >>> gravity_forces = Public("gravity_forces")
    >>> gravity_forces.run(rd.limb(2), [0.0, 0.0], None).shape
    (2,)

    As soon as a model has compiled call wrappers ``run`` is a compiled router, which finds them
    without a step of Python. They are kept as long as their models live.  Take ``run`` first and
    call it then: Python 3.11 takes 0.1 µs for an attribute that is called where it stands.
    """

    __slots__ = ("_keys", "_lock", "_name", "_options", "_router", "_wrappers", "run")
    checks_its_model = True

    def __init__(self, name: str, options: Options = (), *, of_link: bool = False) -> None:
        self._name = name
        self._options = options
        self._keys = 2 if of_link else 1
        self._wrappers: dict[
            int, tuple[weakref.ref[RobotModel], dict[str, tuple[str, Kernel]]]
        ] = {}
        self._lock = threading.RLock()
        self._router: Router | None = None
        self.run: Kernel = self._first

    def _first(self, model: RobotModel, *arguments: Argument) -> Any:
        """Calls for which the router has no call wrapper."""
        more = self._keys - 1
        return self._wrapper(model, *arguments[:more])(*arguments[more:])

    def _wrapper(self, model: RobotModel, chosen: Any = "") -> Kernel:
        of_model = self._wrappers.get(id(model))
        if of_model is None:
            check_model(model)
        try:
            held, wrapper = of_model[1][chosen] if of_model is not None else (None, None)
        except (KeyError, TypeError):
            # the latter: not hashable, so no name
            held = None
            wrapper = None
        if wrapper is None:
            of_link = (("link", model.link_index(chosen)),) if self._keys == 2 else ()
            evaluate = evaluator(model, self._name, tuple(sorted((*self._options, *of_link))))
            wrapper = evaluate.engine.wrapper(evaluate, finite=True)
        if not isinstance(wrapper, types.BuiltinFunctionType):
            return self._keep(model, chosen, wrapper)
        with self._lock:
            if self._router is None:
                from robot_dynamics_ros.dynamics.engine.codegen.native import Router

                self._router = Router(self._name, self._keys, self._first)
                self.run = self._router.call
            # equal names: the router knows but one, which is held
            if held is not None and held is not chosen:
                self._router.remove(id(model), id(held))
            self._keep(model, chosen, wrapper)
            self._router.add((id(model), id(chosen))[: self._keys], wrapper)
        return wrapper

    def _keep(self, model: RobotModel, chosen: str, wrapper: Kernel) -> Kernel:
        key = id(model)
        of_model = self._wrappers.get(key)
        if of_model is None:
            of_model = self._wrappers.setdefault(
                key, (weakref.ref(model, lambda _: self._forget(key)), {})
            )
        of_model[1][chosen] = (chosen, wrapper)
        return wrapper

    def _forget(self, key: int) -> None:
        """A model is gone.  Called whenever the collector runs, so it takes no lock."""
        if self._router is not None:
            self._router.remove(key)
        self._wrappers.pop(key, None)
