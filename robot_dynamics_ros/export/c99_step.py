"""The simulation step in C99: friction, motors, an explicit Runge-Kutta method, and quaternions of unit length."""

from __future__ import annotations

from collections.abc import Iterable

from robot_dynamics_ros.dynamics.engine.codegen.c_source import c_comment, c_number
from robot_dynamics_ros.export.plan import Plan
from robot_dynamics_ros.simulation.integrators.tableaus import TABLEAUS


def _arguments(plan: Plan, real: str, state: str) -> list[str]:
    """Leading arguments of both functions; ``state`` is "const " or "" for the state's arrays."""
    parameters = [f"const {plan.prefix}_parameters *p"] if plan.parameters else []
    parameters += [f"{state}{real} {a.name}[{a.size}]" for a in plan.state]
    return parameters + [f"const {real} {a.name}[{a.size}]" for a in plan.held]


def _rates_prototype(plan: Plan, real: str) -> str:
    rates = [f"{real} d{a.name}[{a.size}]" for a in plan.state]
    return f"void {plan.prefix}_state_rates({', '.join([*_arguments(plan, real, 'const '), *rates])})"


def _step_prototype(plan: Plan, real: str) -> str:
    return f"void {plan.prefix}_step({', '.join([*_arguments(plan, real, ''), f'{real} h'])})"


def step_prototypes(plan: Plan, real: str) -> list[str]:
    """Declarations with comments."""
    kinds = [
        f" *   command[{m.index}]: voltage of the motor of {c_comment(m.joint)}, V; i[{k}]: its current, A"
        for k, m in enumerate(plan.motors)
    ]
    friction = "viscous friction" if any(plan.drives.viscous) else "no friction"
    if any(plan.drives.dry):
        friction += f" and dry friction (smoothed over {plan.drives.width:g})"
    return [
        "/*",
        f" * Rates of the state, with {friction} at the joints.",
        " * command: efforts, N m or N" + ("; voltages at joints with a motor:" if kinds else ""),
        *kinds,
        " * The rate of a current is zero where the motor has no inductance: its current follows at once."
        if kinds
        else " *",
        " */",
        f"{_rates_prototype(plan, real)};",
        "",
        "/*",
        f" * Advance the state by h seconds, in place, under a constant command: {plan.integrator}.",
        " * There are no joint limits and no contacts.",
        " */",
        f"{_step_prototype(plan, real)};",
        "",
    ]


def _array(name: str, values: Iterable[float], real: str, size: str) -> str:
    numbers = ", ".join(c_number(float(x), real) for x in values)
    return f"static const {real} {name}[{size}] = {{{numbers}}};"


def step_source(plan: Plan, real: str) -> list[str]:
    """Definitions."""
    step = _semi_implicit(plan, real) if plan.integrator == "semi_implicit_euler" else _runge_kutta(plan, real)
    return [*_rates(plan, real), *step, ""]


def _call(plan: Plan, name: str, *arguments: str) -> str:
    return f"{plan.prefix}_{name}({', '.join([*(['p'] if plan.parameters else []), *arguments])});"


def _normalize(plan: Plan) -> list[str]:
    return [f"    {_call(plan, 'normalized', 'q', 'q')}"] if plan.floating else []


def _rates(plan: Plan, real: str) -> list[str]:
    model, unit = plan.model, "unit" if plan.floating else "q"
    currents, rates = (["i"], ["di"]) if plan.motors else ([], [])
    lines = [f"{real} tau[{model.nv}];"]
    if plan.floating:
        lines += [f"{real} unit[{model.nq}];", _call(plan, "normalized", "q", "unit")]
    lines += [
        _call(plan, "position_rates", "q", "v", "dq"),
        _call(plan, "applied_efforts", "v", *currents, "command", "tau", *rates),
        _call(plan, "forward_dynamics", unit, "v", "tau", *(a.name for a in plan.held[1:]), "dv"),
    ]
    return [_rates_prototype(plan, real), "{", *(f"    {line}" for line in lines), "}", ""]


def _call_rates(plan: Plan, suffix: str = "", stage: str = "") -> str:
    """Rates of the state in arrays of these names: those of the state with ``suffix``, of its rates with ``stage``."""
    state, rates = ([f"{x}{a.name}{y}" for a in plan.state] for x, y in (("", suffix), ("d", stage)))
    return _call(plan, "state_rates", *state, *(a.name for a in plan.held), *rates)


def _semi_implicit(plan: Plan, real: str) -> list[str]:
    """v first, then q with the new v."""

    def advance(name: str, size: int) -> list[str]:
        return [f"    for (k = 0; k < {size}; k++) {{", f"        {name}[k] += h * d{name}[k];", "    }"]

    q, *others = plan.state
    out = [_step_prototype(plan, real), "{"]
    out += [f"    {real} d{a.name}[{a.size}];" for a in plan.state]
    out += ["    int k;", f"    {_call_rates(plan)}", *(line for a in others for line in advance(a.name, a.size))]
    out += [f"    {_call(plan, 'position_rates', 'q', 'v', 'dq')}", *advance(q.name, q.size)]
    return [*out, *_normalize(plan), "}"]


def _runge_kutta(plan: Plan, real: str) -> list[str]:
    tableau, parts = TABLEAUS[plan.integrator], [(a.name, f"d{a.name}", a.size) for a in plan.state]
    s = tableau.stages
    rows = ",\n".join("        {" + ", ".join(c_number(float(x), real) for x in row) + "}" for row in tableau.A)
    out = [
        _step_prototype(plan, real),
        "{",
        f"    /* Stage coefficients and weights of the method of order {tableau.order}. */",
        f"    static const {real} A[{s}][{s}] = {{",
        rows,
        "    };",
        f"    {_array('b', tableau.b, real, str(s))}",
    ]
    for name, rate, size in parts:
        out.append(f"    {real} {name}s[{size}], {rate}[{s}][{size}];")
    out += ["    int stage, r, k;", f"    for (stage = 0; stage < {s}; stage++) {{"]
    for name, rate, size in parts:
        out += [
            f"        for (k = 0; k < {size}; k++) {{",
            f"            {real} rate = {c_number(0.0, real)};",
            "            for (r = 0; r < stage; r++) {",
            f"                rate += A[stage][r] * {rate}[r][k];",
            "            }",
            f"            {name}s[k] = {name}[k] + h * rate;",
            "        }",
        ]
    out += [f"        {_call_rates(plan, 's', '[stage]')}", "    }"]
    for name, rate, size in parts:
        out += [
            f"    for (k = 0; k < {size}; k++) {{",
            f"        {real} total = {c_number(0.0, real)};",
            f"        for (r = 0; r < {s}; r++) {{",
            f"            total += b[r] * {rate}[r][k];",
            "        }",
            f"        {name}[k] += h * total;",
            "    }",
        ]
    return [*out, *_normalize(plan), "}"]
