"""The control cycle of one robot as C: steps, observer and laws, written from the routines and laws
of the Python controller.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable
from itertools import product

import numpy as np

from robot_dynamics_ros.control import observer
from robot_dynamics_ros.control.adjustable import AdjustableController
from robot_dynamics_ros.control.cycle.cycle import BETWEEN_CYCLES, begin_law, cycle
from robot_dynamics_ros.control.cycle.disturbance import scale_rejection
from robot_dynamics_ros.control.cycle.law import without_friction
from robot_dynamics_ros.control.cycle.limits import narrow_limits
from robot_dynamics_ros.control.cycle.loading import trace_law
from robot_dynamics_ros.control.cycle.memory import CycleMemory, law_input_shapes
from robot_dynamics_ros.control.cycle.verdicts import Step, Verdict
from robot_dynamics_ros.control.cycle.wrenches import compute_wrenches
from robot_dynamics_ros.control.laws import LAWS, ComputedTorque, Law, gain_fields
from robot_dynamics_ros.control.options import ControllerOptions
from robot_dynamics_ros.control.reference.task import memory as task_memory
from robot_dynamics_ros.control.reference.tracks import TracksMemory
from robot_dynamics_ros.control.reference.upsampling import REFERENCE_ROUTINES
from robot_dynamics_ros.control.robustness import Robustness
from robot_dynamics_ros.dynamics.engine.codegen.c_source import c_function_body, c_number
from robot_dynamics_ros.dynamics.engine.codegen.declared import Declared, fields
from robot_dynamics_ros.dynamics.engine.codegen.graph import Graph, reachable
from robot_dynamics_ros.dynamics.engine.codegen.routine_c import CText, routines_in_c
from robot_dynamics_ros.dynamics.engine.codegen.routine_source import read_routines
from robot_dynamics_ros.dynamics.engine.routines import Memory
from robot_dynamics_ros.dynamics.engine.trace import symbols
from robot_dynamics_ros.dynamics.payload import possible_inertia
from robot_dynamics_ros.export.plan import Plan
from robot_dynamics_ros.export.ros2_control.task_in_c import ExportedTask, task_kernels, task_texts
from robot_dynamics_ros.friction.compensation import Friction

LAW_NAMES: dict[type[Law], tuple[str, ...]] = {
    law: (name, *(gain_fields(law).get(x, "") for x in "pid")) for name, law in LAWS.items()
}
"""Law → its name, and its fields for the gains p, i, d."""
# numbers of the tool's memory that the controller compares with
TASK_NUMBERS = ("HOLD_POSE", "NOT_FOLLOWED", "WRENCH_RESISTED")
# ways to compensate it
FRICTION_COMPENSATIONS = ("none", "reference", "measured")


def _routines(nv: int, loaded: int, prefix: str) -> tuple[CText, ...]:
    steps = (
        cycle,
        compute_wrenches,
        possible_inertia,
        narrow_limits,
        scale_rejection,
        begin_law,
        *BETWEEN_CYCLES,
    )
    # known wrenches: a row for each loaded link
    sizes = {"nv": nv, "nb": loaded, "nl": loaded}
    kernels = {
        name: f"{prefix}_cycle_{name}"
        for name, x in fields(CycleMemory).items()
        if x.kind == "kernel" and not name.startswith("law_")
    }
    others = (
        (
            "observer",
            observer.ObserverMemory,
            (observer.observe, without_friction, observer.forget),
        ),
        ("collision", observer.CollisionMemory, (observer.watch, observer.lower)),
        ("tracks", TracksMemory, REFERENCE_ROUTINES),
    )
    return (
        routines_in_c(
            read_routines(CycleMemory, sizes, steps),
            f"{prefix}_cycle",
            kernels,
            context=f"const {prefix}_robot",
        ),
        *(
            routines_in_c(read_routines(x, {"nv": nv}, steps), f"{prefix}_{name}")
            for name, x, steps in others
        ),
    )


def _memories(plan: Plan, friction: Friction, task: ExportedTask) -> list[str]:
    """The memories of a controller with default settings, before its first state: limits as
    described, shares of a robustness 1.
    """
    options = ControllerOptions(robustness=Robustness(rotor_share=1.0, rejected_effort=1.0))
    controller = AdjustableController(plan.model, ComputedTorque(friction=friction), options)
    controller.guards.describe(controller.memory)
    of_task = task.memories(plan.model)
    return [
        *_initial(f"{plan.prefix}_cycle", controller.memory),
        *_initial(
            f"{plan.prefix}_observer",
            observer.MomentumObserver(plan.model, friction=friction).memory,
        ),
        *_initial(f"{plan.prefix}_tracks", controller.motion.memory),
        *itertools.chain.from_iterable(
            _initial(f"{plan.prefix}_{name}", tool) for name, tool in of_task.items()
        ),
    ]


def _initial(prefix: str, memory: Memory[Declared]) -> list[str]:
    """Whatever is not zero, and does not depend on how Python runs the cycle."""

    def constant(x: float) -> str:
        if isinstance(x, int):
            text = str(x)
        else:
            text = c_number(x, "double")
        return text.replace("inf", "INFINITY")

    lines = [f"const {prefix}_memory {prefix}_initial = {{"]
    for name, _ in memory.layout.slots:
        array = memory[name]
        if array.any() and name not in ("own_law", "robust") and not name.startswith("answer"):
            lines.append(f"    .{name} = {{{', '.join(map(constant, array.ravel().tolist()))}}},")
    return [*lines, "};", ""]


def _attach() -> list[str]:
    """Statements that attach a payload to a body, traced from its equations."""
    graph = Graph()
    leaves = symbols(graph, {"body": (10,), "placement": (4, 3), "payload": (10,)})
    moments = np.array([[0, 1, 2], [1, 3, 4], [2, 4, 5]])
    (m1, c1, I1), (m2, c2, I2) = (
        (x[0], x[1:4], x[4:][moments]) for x in (leaves["body"], leaves["payload"])
    )
    R = leaves["placement"][:3]
    position = leaves["placement"][3]
    c2 = position + R @ c2
    d = c2 - c1
    total = m1 + m2
    # both bodies about the common centre of mass: parallel axes
    inertia = I1 + R @ I2 @ R.T + (np.eye(3) * np.dot(d, d) - np.outer(d, d)) * (m1 * m2 / total)
    flat = [total, *((c1 * m1 + c2 * m2) / total), *inertia[np.triu_indices(3)]]
    return c_function_body(
        [("body", flat)], lambda key: f"{list(leaves)[key[0]]}[{key[1]}]", "double"
    )


def _indented(lines: Iterable[str]) -> str:
    return "\n".join(f"    {line}" for line in lines)


def words_of_cycle(plan: Plan, friction: Friction, task: ExportedTask) -> dict[str, str]:
    """The words that the templates of the cycle leave open; ``friction``: what the laws
    compensate; ``task``: the tool that has a reference of its own.
    """
    upper = plan.prefix.upper()
    n = plan.model.nv
    loaded = len(plan.external)
    texts = _routines(n, loaded, plan.prefix)
    texts += task_texts(plan)
    includes = sorted(set(itertools.chain.from_iterable(text.includes for text in texts)))
    numbers = [
        f"{upper}_{name} = {number},"
        for name, number in (*Step.__members__.items(), *Verdict.__members__.items())
    ]
    numbers += [f"{upper}_{name} = {vars(task_memory)[name]}," for name in TASK_NUMBERS]
    return {
        "n": str(n),
        "size_of_nothing": str(max(n, 6 * loaded)),
        "includes": "\n".join(f"#include <{name}>" for name in includes),
        "verdicts": _indented(numbers).removesuffix(","),
        "declarations": "".join(f"{text.declarations}\n\n" for text in texts).removesuffix("\n"),
        "definitions": "".join(f"{text.definitions}\n\n" for text in texts).removesuffix("\n"),
        "memories": "\n".join(_memories(plan, friction, task)),
        "task_kernels": f"{task_kernels(plan)}\n",
        **task.words,
        "attach": _indented(_attach()),
        "laws": ", ".join(row[0] for row in LAW_NAMES.values()),
        "frictions": ", ".join(FRICTION_COMPENSATIONS),
        "law_count": str(len(LAW_NAMES)),
        "friction_count": str(len(FRICTION_COMPENSATIONS)),
        **_laws(plan, friction),
    }


def _laws(plan: Plan, friction: Friction) -> dict[str, str]:
    """The two halves of each law, their arguments, and a table of what each asks for."""
    prefix = plan.prefix
    n = plan.model.nv
    inputs = list(law_input_shapes(n))
    parameters = ", ".join(
        [f"const {prefix}_robot *robot", *(f"const double *{x}" for x in inputs), "double *out"]
    )
    asked = ("gravity", "inertia", "motion", "motion_of_reference")
    functions = []
    rows = []
    for kind, way in product(LAW_NAMES, FRICTION_COMPENSATIONS):
        word, *gains = LAW_NAMES[kind]
        options: dict[str, object] = {field: np.ones(1) for field in gains if field}
        if way != "none":
            places = {field.name for field in dataclasses.fields(kind)} & {"friction_at"}
            options |= {"friction": friction, **dict.fromkeys(places, way)}
        law = kind(**options)
        traced = trace_law(law, n)
        if traced is None:
            # evaluated by whoever runs the cycle
            tracks = f"{int(kind.tracks)}, {int(kind.inverts_dynamics)}"
            rows.append(f"{{0, 0, {{-1, -1, -1}}, 1, 0, 0, 0, 0, {tracks}}}")
            continue
        row = []
        for half, flat in (("before", traced.asked), ("after", traced.efforts)):
            row.append("0" if flat is None else f"{prefix}_{word}_{way}_{half}")
            if flat is not None:
                used = {inputs[node.a[0]] for node in reachable(flat) if node.op == "leaf"}
                body = [f"(void){x};" for x in ("robot", *inputs) if x not in used]
                body += c_function_body(
                    [("out", flat)], lambda key: f"{inputs[key[0]]}[{key[1]}]", "double"
                )
                functions += [f"static void {row[-1]}({parameters})", "{", _indented(body), "}", ""]
        row.append("{" + ", ".join(str(law.gain_names.index(x) if x else -1) for x in gains) + "}")
        flags = [False, *(x in traced.used for x in asked), kind.tracks, kind.inverts_dynamics]
        row += [str(int(flag)) for flag in flags]
        rows.append("{" + ", ".join(row) + "}")
    k = len(FRICTION_COMPENSATIONS)
    return {
        "law_inputs": parameters,
        "halves_of_laws": "\n".join(functions),
        "table_of_laws": _indented(
            f"{{{', '.join(rows[i : i + k])}}}," for i in range(0, len(rows), k)
        ),
    }
