"""Rigid-body dynamics.

Three layers: the functions people call are the files here;
:mod:`~robot_dynamics_ros.dynamics.engine` compiles them for a robot;
:mod:`~robot_dynamics_ros.dynamics.algorithms` states them.

Every function takes a model first, then coordinates.  ``q`` is (..., nq); ``v``, ``a`` and ``tau``
are (..., nv); leading dimensions are a batch and follow NumPy's broadcasting.  ``external`` maps
link names to (..., 6) wrenches [moment; force] that the surroundings exert on the link, about the
link's origin, in the link's axes, or to :class:`Wrench` values (one or a list for each link) in any
frame, about any point.  ``base`` says how the root link moves: a pair of (..., 6) arrays, velocity
and acceleration [angular; linear] of its origin, in its axes.  ``out`` receives the result if
given: a C-contiguous float64 array of the exact shape.

Raised by all of them: :class:`ArgumentError` for wrong shapes, types or quaternions and for numbers
that are not finite, :class:`UnknownNameError` for names the model does not have. :func:`kernel`
lets NaN and infinities pass through instead.
"""

from robot_dynamics_ros.dynamics import (
    configuration,
    constraint_files,
    constraints,
    inertias,
    joint_space,
    kinematics,
    linearization,
    other_libraries,
    parameters,
    relative_motion,
    wrenches,
)
from robot_dynamics_ros.dynamics.configuration import *  # noqa: F403
from robot_dynamics_ros.dynamics.constraint_files import *  # noqa: F403
from robot_dynamics_ros.dynamics.constraints import *  # noqa: F403
from robot_dynamics_ros.dynamics.engine.arguments import check_finite
from robot_dynamics_ros.dynamics.engine.backends import (
    BackendStatus,
    available_backends,
    backend_of,
    backend_status,
    kernel,
    prepare,
    prepared,
)
from robot_dynamics_ros.dynamics.external_wrenches import (
    WrenchGatherer,
    body_wrenches,
    link_wrenches,
)
from robot_dynamics_ros.dynamics.inertias import *  # noqa: F403
from robot_dynamics_ros.dynamics.inverse_kinematics import (
    InverseKinematics,
    InverseKinematicsOptions,
    inverse_kinematics,
)
from robot_dynamics_ros.dynamics.joint_space import *  # noqa: F403
from robot_dynamics_ros.dynamics.kinematics import *  # noqa: F403
from robot_dynamics_ros.dynamics.linearization import *  # noqa: F403
from robot_dynamics_ros.dynamics.other_libraries import *  # noqa: F403
from robot_dynamics_ros.dynamics.parameters import *  # noqa: F403
from robot_dynamics_ros.dynamics.reference_frame import Frame
from robot_dynamics_ros.dynamics.relative_motion import *  # noqa: F403
from robot_dynamics_ros.dynamics.rollout import RolloutOptions, rollout
from robot_dynamics_ros.dynamics.wrenches import *  # noqa: F403
from robot_dynamics_ros.model.published import publish
from robot_dynamics_ros.wrench import Wrench

__all__ = [
    *joint_space.__all__,
    *kinematics.__all__,
    *wrenches.__all__,
    "body_wrenches",
    "link_wrenches",
    "WrenchGatherer",
    "Wrench",
    "Frame",
    "inverse_kinematics",
    "InverseKinematics",
    "InverseKinematicsOptions",
    *configuration.__all__,
    "rollout",
    "RolloutOptions",
    *constraints.__all__,
    *constraint_files.__all__,
    *linearization.__all__,
    *parameters.__all__,
    *relative_motion.__all__,
    *inertias.__all__,
    *other_libraries.__all__,
    "kernel",
    "prepare",
    "prepared",
    "backend_status",
    "BackendStatus",
    "backend_of",
    "available_backends",
    "check_finite",
]

publish(__name__)
