"""The tool's reference and Cartesian impedance of one robot as C: the same routines that the Python
controller runs, with memories to start from.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics_ros.control.cycle.limits import default_deceleration
from robot_dynamics_ros.control.cycle.task_law import (
    TASK_LAW_ROUTINES,
    TaskLawMemory,
    TaskLawRoutine,
)
from robot_dynamics_ros.control.laws import CartesianImpedance
from robot_dynamics_ros.control.reference.task.memory import TaskMemory
from robot_dynamics_ros.control.reference.task.settings import TaskSettings
from robot_dynamics_ros.control.reference.task.tool import TASK_ROUTINES, ToolReference
from robot_dynamics_ros.dynamics.engine.codegen.declared import Declared
from robot_dynamics_ros.dynamics.engine.codegen.routine_c import CText, routines_in_c
from robot_dynamics_ros.dynamics.engine.codegen.routine_source import read_routines
from robot_dynamics_ros.dynamics.engine.routines import Memory
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.export.plan import Plan
from robot_dynamics_ros.friction.compensation import Friction
from robot_dynamics_ros.model.robot_model import RobotModel

TASK_FUNCTIONS = ("link_pose", "jacobian")
"""The robot's functions that they call beside those of the controller."""


@dataclass(frozen=True, eq=False)
class ExportedTask:
    """A tool to be moved, and the impedance that holds its link.

    Attributes:
        settings: of the tool; of ``link`` and ``offset`` too.
        law: Cartesian impedance of the link.
        named: whether somebody asked for a tool: the controller then listens to its targets.
    """

    settings: TaskSettings
    law: CartesianImpedance
    named: bool

    @classmethod
    def of(
        cls,
        model: RobotModel,
        settings: TaskSettings | None,
        law: CartesianImpedance | None,
        friction: Friction,
    ) -> ExportedTask:
        """With the defaults where nothing is given.

        UnknownNameError: a link that does not exist; ArgumentError: two links.
        """
        named = settings is not None or law is not None
        if settings is None and law is not None:
            settings = TaskSettings(link=law.link)
        settings = settings or TaskSettings()
        link = settings.link_of(model)
        law = law or CartesianImpedance(link=link)
        if law.link != link:
            raise ArgumentError(
                f"the impedance holds {law.link!r}, the tool belongs to {link!r}",
                where="cartesian",
                got=law.link,
                remedy="Name the same link in both.",
            )
        checked = dataclasses.replace(law, friction=friction).check(model)
        assert isinstance(checked, CartesianImpedance)
        return cls(settings, checked, named)

    def memories(self, model: RobotModel) -> dict[str, Memory[Declared]]:
        """Name → memory as it is before the first target: limits of the description."""
        tool = ToolReference(model, self.settings, compiled=False)
        sharpest = default_deceleration(model.velocity_limit)
        tool.limit(model.lower, model.upper, model.velocity_limit, sharpest)
        routine = TaskLawRoutine(model, self.law.link, compiled=False)
        routine.load(self.law)
        return {"task": tool.memory, "task_law": routine.memory}

    @property
    def words(self) -> dict[str, str]:
        """The words that the parameters begin with."""
        s = self.settings
        offset: list[float] = []
        if s.offset is not None:
            offset = [*s.pose.position.tolist(), *s.pose.rpy()]
        damping: list[float] = []
        if self.law.damping is not None:
            damping = np.ravel(self.law.damping).tolist()
        lists: dict[str, Sequence[float]] = {
            "task_offset": offset,
            "task_speed": s.speed,
            "task_acceleration": s.acceleration,
            "task_jerk": s.jerk,
            "task_wrench": s.wrench,
            "stiffness": np.ravel(self.law.stiffness).tolist(),
            "damping": damping,
        }
        return {
            "tool_link": self.law.link,
            "task_link": self.law.link if self.named else "",
            "posture_rate": repr(float(s.posture_rate)),
            "cartesian_axes": self.law.axes,
            "damping_ratio": repr(float(self.law.damping_ratio[0])),
            **{name: json.dumps([float(x) for x in values]) for name, values in lists.items()},
        }


def task_texts(plan: Plan) -> tuple[CText, ...]:
    """C of the routines; their kernels are in :func:`task_kernels`."""
    n = plan.model.nv
    prefix = plan.prefix
    common = {"rows": 0, "couples": 0, "by_impulse": False}
    context = f"const {prefix}_robot"
    of_task = {name: f"{prefix}_task_{name}" for name in ("link_pose", "link_jacobian")}
    of_law = of_task | {
        name: f"{prefix}_cycle_{name}" for name in ("mass_matrix", "inverse_dynamics")
    }
    return (
        routines_in_c(
            read_routines(TaskMemory, {"nv": n + 1, "n": n, **common}, TASK_ROUTINES),
            f"{prefix}_task",
            of_task,
            context=context,
        ),
        routines_in_c(
            read_routines(TaskLawMemory, {"nv": n, **common}, TASK_LAW_ROUTINES),
            f"{prefix}_task_law",
            of_law,
            context=context,
        ),
    )


def task_kernels(plan: Plan) -> str:
    """C functions that bring the robot's kinematics into the form that the routines call."""
    prefix = plan.prefix
    n = plan.model.nv
    pose, jacobian = (
        next(x.name for x in plan.requests if x.name.startswith(name)) for name in TASK_FUNCTIONS
    )
    return f"""static void {prefix}_task_link_pose(
    const {prefix}_robot *robot, const double *q, double *pose)
{{
    {prefix}_{pose}(&robot->numbers, q, pose);
}}

/* The Jacobian of a point of the link, from that of its origin. */
static void {prefix}_task_link_jacobian(
    const {prefix}_robot *robot, const double *q, const double *point, double *J)
{{
    double pose[16], r[3];
    {prefix}_{pose}(&robot->numbers, q, pose);
    {prefix}_{jacobian}(&robot->numbers, q, J);
    for (int k = 0; k < 3; ++k) {{
        r[k] = pose[4 * k] * point[0] + pose[4 * k + 1] * point[1] + pose[4 * k + 2] * point[2];
    }}
    for (int i = 0; i < {n}; ++i) {{
        const double x = J[i], y = J[{n} + i], z = J[{2 * n} + i];
        J[{3 * n} + i] += y * r[2] - z * r[1];
        J[{4 * n} + i] += z * r[0] - x * r[2];
        J[{5 * n} + i] += x * r[1] - y * r[0];
    }}
}}
"""
