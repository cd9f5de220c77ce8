"""The tool's reference and Cartesian impedance of one robot as C: the same routines that the Python
controller runs, with memories to start from.
"""

from __future__ import annotations

from dataclasses import dataclass

from robot_dynamics_ros.control.cycle.limits import default_deceleration
from robot_dynamics_ros.control.cycle.task_law import (
    TaskLawMemory,
    TaskLawRoutine,
    evaluate_task_law,
)
from robot_dynamics_ros.control.laws import CartesianImpedance
from robot_dynamics_ros.control.reference.task.memory import TaskMemory
from robot_dynamics_ros.control.reference.task.settings import TaskSettings
from robot_dynamics_ros.control.reference.task.tool import TASK_ROUTINES, ToolReference
from robot_dynamics_ros.dynamics.engine.codegen.declared import Declared
from robot_dynamics_ros.dynamics.engine.codegen.routine_c import CText, routines_in_c
from robot_dynamics_ros.dynamics.engine.codegen.routine_source import read_routines
from robot_dynamics_ros.dynamics.engine.routines import Memory
from robot_dynamics_ros.export.plan import Plan
from robot_dynamics_ros.friction.compensation import Friction
from robot_dynamics_ros.model.robot_model import RobotModel

TASK_FUNCTIONS = ("link_pose", "jacobian")
"""The robot's functions that they call beside those of the controller."""


@dataclass(frozen=True, eq=False)
class ExportedTask:
    """A tool to be moved, and the impedance that holds its link.

    Attributes:
        settings: of the tool.
        law: Cartesian impedance of the link; its gains can be changed in its memory.
    """

    settings: TaskSettings
    law: CartesianImpedance

    @classmethod
    def of(
        cls, model: RobotModel, settings: TaskSettings, law: CartesianImpedance | None
    ) -> ExportedTask:
        """With the defaults where no law is given; UnknownNameError: a link that does not exist."""
        link = settings.link_of(model)
        law = law or CartesianImpedance(link=link, friction=Friction.of(model))
        checked = law.check(model)
        assert isinstance(checked, CartesianImpedance)
        return cls(settings, checked)

    def memories(self, model: RobotModel) -> dict[str, Memory[Declared]]:
        """Name → memory as it is before the first target: limits of the description."""
        tool = ToolReference(model, self.settings)
        sharpest = default_deceleration(model.velocity_limit)
        tool.limit(model.lower, model.upper, model.velocity_limit, sharpest)
        routine = TaskLawRoutine(model, self.law.link)
        routine.load(self.law)
        return {"task": tool.memory, "task_law": routine.memory}


def task_texts(plan: Plan, task: ExportedTask) -> tuple[CText, ...]:
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
            read_routines(TaskLawMemory, {"nv": n, **common}, (evaluate_task_law,)),
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
