"""A robot's functions in JAX, CasADi, PyTorch and libraries of the array-API standard: the public entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from robot_dynamics_ros.frameworks import array_forms as arrays
from robot_dynamics_ros.frameworks import casadi_forms as casadi
from robot_dynamics_ros.frameworks.functions import FrameworkFunctions
from robot_dynamics_ros.frameworks.traced import make_request, required
from robot_dynamics_ros.model.robot_model import RobotModel

if TYPE_CHECKING:
    import casadi as casadi_library


def jax_functions(model: RobotModel) -> FrameworkFunctions:
    """All functions of the registry on JAX arrays: pure, so ``jit``, ``vmap``, ``grad``, ``jacfwd``, ``scan`` apply.

    They compute in the type of their arguments: float32, or float64 where JAX's option ``jax_enable_x64`` is on.  They contain
    no callbacks, so they run where JAX runs.  Numbers are not checked: NaN goes through, and a quaternion must be of
    unit length.  See :class:`~robot_dynamics_ros.frameworks.functions.FrameworkFunctions` for how they are called.

    Small functions are written out for the robot.  For large robots the dynamics are scans over the levels of the tree,
    so that compiling takes as long for fifty joints as for ten.

    Raises:
        BackendError: JAX is not installed.
    """
    required("jax", "jax")
    from robot_dynamics_ros.frameworks.jax_forms import make_function

    return FrameworkFunctions(model, "jax", make_function)


def array_functions(model: RobotModel) -> FrameworkFunctions:
    """All functions of the registry on PyTorch tensors, or on arrays of any library of the array-API standard.

    The library is that of the arguments; results are of its type, on the same device, in the arguments' precision, and
    can be differentiated where the library can (PyTorch's autograd).  Every operation works on a whole batch, so
    batches should be large.  See :class:`~robot_dynamics_ros.frameworks.functions.FrameworkFunctions`.
    """
    return FrameworkFunctions(model, "array", arrays.make_function)


def casadi_function(
    model: RobotModel, name: str, *, external: bool = False, base: bool = False, **options: object
) -> casadi_library.Function:
    """A function of the registry as a ``casadi.Function`` of SX, with inputs and outputs named as there.

    Vectors are columns; ``external`` is (nb, 6), ``base`` (2, 6).  CasADi differentiates it, generates C of it, and takes
    it into SX and MX graphs.

    Args:
        name: of the function.
        external: with an input for wrenches on the moving bodies, where the function takes them.
        base: with an input for the motion of the root.
        options: of the function, e.g. ``link="tool0"``.

    Raises:
        BackendError: CasADi is not installed.
        UnknownNameError: no such function, link or frame.
        ArgumentError: an option is missing, or not one of this function; the robot is too large for it.
    """
    required("casadi", "casadi")
    present = [word for word, is_input in (("external", external), ("base", base)) if is_input]
    return casadi.make_function(model, make_request(model, name, options, present, where="casadi"))
