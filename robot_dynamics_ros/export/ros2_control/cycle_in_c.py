"""The control cycle of one robot as C: steps, observer and laws, written from the routines and laws of the Python controller."""

from __future__ import annotations

import dataclasses
import functools
from itertools import product

import numpy as np

from robot_dynamics_ros.control import observer
from robot_dynamics_ros.control.cycle import verdicts
from robot_dynamics_ros.control.cycle.cycle import BETWEEN_CYCLES, begin_law, cycle
from robot_dynamics_ros.control.cycle.disturbance import scale_rejection
from robot_dynamics_ros.control.cycle.law import without_friction
from robot_dynamics_ros.control.cycle.limits import narrow_limits
from robot_dynamics_ros.control.cycle.loading import trace_law
from robot_dynamics_ros.control.cycle.memory import CycleMemory, law_input_shapes
from robot_dynamics_ros.control.cycle.runner import CycleRunner
from robot_dynamics_ros.control.cycle.wrenches import compute_wrenches
from robot_dynamics_ros.control.laws import ComputedTorque, Law
from robot_dynamics_ros.control.laws.registry import LAWS, gain_fields
from robot_dynamics_ros.control.options import ControllerOptions
from robot_dynamics_ros.control.reference.tracks import ROUTINES, TracksMemory
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
from robot_dynamics_ros.friction.compensation import Friction

LAW_NAMES: dict[type[Law], tuple[str, ...]] = {
    law: (name, *(gain_fields(law).get(x, "") for x in "pid")) for name, law in LAWS.items() if law.straight_line
}
"""Law → its name, and its fields for the gains p, i, d."""
FRICTION = ("none", "reference", "measured")  # ways to compensate it


#: kernel of the cycle → how the exported functions give it
KERNELS = {
    "inverse_dynamics": "{0}_inverse_dynamics(&robot->numbers, q, v, a, nothing, efforts);",
    "gravity_forces": "{0}_gravity_forces(&robot->numbers, q, efforts);",
    "bias_forces": "{0}_bias_forces(&robot->numbers, q, v, nothing, efforts);",
    "mass_matrix": "{0}_mass_matrix(&robot->numbers, q, inertia);",
    "gravity_that_the_robot_adds": "{0}_gravity_forces(&robot->unloaded, q, efforts);",
    "bias_that_the_robot_adds": "{0}_bias_forces(&robot->unloaded, q, v, nothing, efforts);",
    "efforts_of_wrenches": """double pushed[{1}];
    {0}_bias_forces(&robot->numbers, q, nothing, nothing, efforts);
    {0}_bias_forces(&robot->numbers, q, nothing, external, pushed);
    for (int i = 0; i < {1}; ++i) {{
        efforts[i] -= pushed[i];
    }}""",
    "inverse_dynamics_wrenches": """{0}_inverse_dynamics(&robot->numbers, q, v, a, nothing, efforts);
    {0}_joint_wrenches(&robot->numbers, q, v, a, nothing, wrenches);""",
    "forward_dynamics": "{0}_forward_dynamics(&robot->numbers, q, v, net, nothing, wrench_acceleration);",
    "wrenches_under_load": """(void)efforts;
    {0}_joint_wrenches(&robot->numbers, q, v, wrench_acceleration, external, wrenches);""",
}


def _kernels(plan: Plan) -> list[str]:
    """Functions that the cycle calls, made of those that are exported."""
    prefix, n, declared = plan.prefix, plan.model.nv, fields(CycleMemory)
    lines = [f"static const double nothing[{max(n, 6 * len(plan.external))}];", ""]
    for name, body in KERNELS.items():
        arrays = (
            f"double *{x[4:]}" if x.startswith("out ") else f"const double *{x}" for x in declared[name].arguments
        )
        head = f"static void {prefix}_cycle_{name}(const {prefix}_robot *robot, {', '.join(arrays)})"
        lines += [head, "{", f"    {body.format(prefix, n)}", "}", ""]
    return lines


@functools.lru_cache(maxsize=4)
def _routines(nv: int, loaded: int, prefix: str) -> tuple[CText, ...]:
    steps = (cycle, compute_wrenches, possible_inertia, narrow_limits, scale_rejection, begin_law, *BETWEEN_CYCLES)
    sizes = {"nv": nv, "nb": loaded, "nl": loaded}  # known wrenches: a row for each loaded link
    kernels = {name: f"{prefix}_cycle_{name}" for name in KERNELS}
    others = (
        ("observer", observer.ObserverMemory, (observer.observe, without_friction, observer.forget)),
        ("collision", observer.CollisionMemory, (observer.watch, observer.lower)),
        ("tracks", TracksMemory, ROUTINES),
    )
    return (
        routines_in_c(
            read_routines(CycleMemory, sizes, steps), f"{prefix}_cycle", kernels, context=f"const {prefix}_robot"
        ),
        *(routines_in_c(read_routines(x, {"nv": nv}, steps), f"{prefix}_{name}") for name, x, steps in others),
    )


def _memories(plan: Plan, friction: Friction) -> list[str]:
    """The memories of a controller with default settings, before its first state: limits as described, shares of a robustness 1."""
    options = ControllerOptions(robustness=Robustness(rotor_share=1.0, rejected_effort=1.0))
    runner = CycleRunner(plan.model, ComputedTorque(friction=friction), options, None, estimates=False)
    runner.guards.describe(runner.memory)
    runner.memory["want_wrenches"][0] = 1
    return [
        *_initial(f"{plan.prefix}_cycle", runner.memory),
        *_initial(f"{plan.prefix}_observer", observer.MomentumObserver(plan.model, friction=friction).memory),
        *_initial(f"{plan.prefix}_tracks", runner.motion.memory),
    ]


def _initial(prefix: str, memory: Memory[Declared]) -> list[str]:
    """Whatever is not zero, and does not depend on how Python runs the cycle."""

    def constant(x: float) -> str:
        text = str(x) if isinstance(x, int) else c_number(x, "double")
        return text.replace("inf", "INFINITY")

    lines = [f"const {prefix}_memory {prefix}_initial = {{"]
    for name, _ in memory.layout.slots:
        array = memory[name]
        if array.any() and name not in ("own_law", "robust") and not name.startswith("answer"):
            lines.append(f"    .{name} = {{{', '.join(map(constant, array.ravel().tolist()))}}},")
    return [*lines, "};", ""]


def _payload(prefix: str) -> list[str]:
    """The function that attaches a payload to a body, traced from its equations."""
    graph = Graph()
    leaves = symbols(graph, {"body": (10,), "placement": (4, 3), "payload": (10,)})
    moments = np.array([[0, 1, 2], [1, 3, 4], [2, 4, 5]])
    (m1, c1, I1), (m2, c2, I2) = ((x[0], x[1:4], x[4:][moments]) for x in (leaves["body"], leaves["payload"]))
    R, position = leaves["placement"][:3], leaves["placement"][3]
    c2 = position + R @ c2
    d, total = c2 - c1, m1 + m2
    # both bodies about the common centre of mass: parallel axes
    inertia = I1 + R @ I2 @ R.T + (np.eye(3) * np.dot(d, d) - np.outer(d, d)) * (m1 * m2 / total)
    flat = [total, *((c1 * m1 + c2 * m2) / total), *inertia[np.triu_indices(3)]]
    body = c_function_body([("body", flat)], lambda key: f"{list(leaves)[key[0]]}[{key[1]}]", "double")
    head = f"void {prefix}_attach(double body[10], const double placement[12], const double payload[10])"
    return [head, "{", *(f"    {line}" for line in body), "}", ""]


def cycle_header(plan: Plan, package: str) -> str:
    """The memory of cycle, observer and reference, their steps and verdicts, and the laws."""
    prefix, upper = plan.prefix, plan.prefix.upper()
    texts = _routines(plan.model.nv, len(plan.external), plan.prefix)
    includes = sorted({name for text in texts for name in text.includes})
    words = [f"    {upper}_{name} = {number}" for name, number in vars(verdicts).items() if isinstance(number, int)]
    return "\n".join(
        [
            "/* The control cycle: generated by robot_dynamics_ros from the one that runs in Python. */",
            f"#ifndef {upper}_CYCLE_H",
            f"#define {upper}_CYCLE_H",
            "",
            *(f"#include <{name}>" for name in includes),
            "",
            f'#include "{package}/{prefix}.h"',
            "",
            "#ifdef __cplusplus",
            'extern "C" {',
            "#endif",
            "",
            "/* Steps at which a cycle may begin, and what it may return. */",
            "enum {",
            ",\n".join(words),
            "};",
            "",
            "/* The robot's numbers with and without payload. */",
            "typedef struct {",
            f"    {prefix}_parameters numbers, unloaded;",
            f"}} {prefix}_robot;",
            "",
            *(f"{text.declarations}\n" for text in texts),
            "/* Memories to start from: those of a controller with default settings; see narrow_limits and scale_rejection. */",
            *(f"extern const {prefix}_{x}_memory {prefix}_{x}_initial;" for x in ("cycle", "observer", "tracks")),
            "",
            "/* Attach a payload to a body; both are mass, centre of mass, and xx xy xz yy yz zz of the inertia about it.",
            " * placement: rotation by rows and position of the payload's frame in the body's. */",
            f"void {prefix}_attach(double body[10], const double placement[12], const double payload[10]);",
            "",
            f"/* Evaluate a law ({', '.join(row[0] for row in LAW_NAMES.values())}), friction compensated at a speed ({', '.join(FRICTION)}),",
            " * with gains p, i, d of the joints. */",
            f"void {prefix}_use_law({prefix}_cycle_memory *p, int law, int friction, const double *const gains[3]);",
            "",
            "#ifdef __cplusplus",
            "}",
            "#endif",
            "",
            "#endif",
            "",
        ]
    )


def cycle_source(plan: Plan, package: str, friction: Friction) -> str:
    """The functions; ``friction``: what the laws compensate."""
    texts = _routines(plan.model.nv, len(plan.external), plan.prefix)
    return "\n".join(
        [
            f'#include "{package}/{plan.prefix}_cycle.h"',
            "",
            "#include <string.h>",
            "",
            *_kernels(plan),
            *(f"{text.definitions}\n" for text in texts),
            *_memories(plan, friction),
            *_payload(plan.prefix),
            *_laws(plan, friction),
        ]
    )


def _laws(plan: Plan, friction: Friction) -> list[str]:
    """The two halves of each law, a table of what it asks for, and the function that puts one into the memory."""
    prefix, n = plan.prefix, plan.model.nv
    inputs = list(law_input_shapes(n))
    parameters = ", ".join([f"const {prefix}_robot *robot", *(f"const double *{x}" for x in inputs), "double *out"])
    asked = ("gravity", "inertia", "motion", "motion_of_reference")
    flags = (*(f"uses_{x}" for x in asked), "tracks", "inverts")
    functions, rows = [], []
    for kind, way in product(LAW_NAMES, FRICTION):
        word, *gains = LAW_NAMES[kind]
        options: dict[str, object] = {field: np.ones(1) for field in gains if field}
        if way != "none":
            places = {field.name for field in dataclasses.fields(kind)} & {"friction_at"}
            options |= {"friction": friction, **dict.fromkeys(places, way)}
        law = kind(**options)
        traced = trace_law(law, n)
        assert traced is not None, word
        row = []
        for half, flat in (("before", traced.asked), ("after", traced.efforts)):
            row.append("0" if flat is None else f"{prefix}_{word}_{way}_{half}")
            if flat is not None:
                used = {inputs[node.a[0]] for node in reachable(flat) if node.op == "leaf"}
                body = [f"(void){x};" for x in ("robot", *inputs) if x not in used]
                body += c_function_body([("out", flat)], lambda key: f"{inputs[key[0]]}[{key[1]}]", "double")
                functions += [f"static void {row[-1]}({parameters})", "{", *(f"    {line}" for line in body), "}", ""]
        row.append("{" + ", ".join(str(law.gain_names.index(x) if x else -1) for x in gains) + "}")
        row += [str(int(x in traced.used)) for x in asked] + [str(int(kind.tracks)), str(int(kind.inverts_dynamics))]
        rows.append("{" + ", ".join(row) + "}")
    return [
        *functions,
        "static const struct { /* a law: its halves, the rows of its gains p, i, d, -1: it has none, and what it asks for */",
        f"    void (*before)({parameters});",
        f"    void (*after)({parameters});",
        "    int rows[3];",
        f"    int {', '.join(flags)};",
        f"}} laws[{len(LAW_NAMES)}][{len(FRICTION)}] = {{",
        *(f"    {{{', '.join(rows[3 * k : 3 * k + 3])}}}," for k in range(len(LAW_NAMES))),
        "};",
        "",
        f"void {prefix}_use_law({prefix}_cycle_memory *p, int law, int friction, const double *const gains[3])",
        "{",
        "    const int *const rows = laws[law][friction].rows;",
        "    p->law_before = laws[law][friction].before;",
        "    p->law_after = laws[law][friction].after;",
        *(f"    p->{x}[0] = laws[law][friction].{x};" for x in flags),
        "    p->rubs[0] = friction > 0;",
        "    for (int k = 0; k < 3; ++k) {",
        "        if (rows[k] >= 0) {",
        f"            memcpy(p->gains + {n} * rows[k], gains[k], {n} * sizeof(double));",
        "        }",
        "    }",
        f"    {prefix}_cycle_begin_law(p, rows[1] >= 0 ? gains[1] : nothing);",
        "}",
        "",
    ]
