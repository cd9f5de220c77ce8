"""The simulation step in C99: friction, motors, an explicit Runge-Kutta method, and quaternions of unit length."""

from __future__ import annotations

from collections.abc import Iterable

from robot_dynamics_ros.dynamics.engine.codegen.c_source import c_comment, c_number
from robot_dynamics_ros.export.plan import Plan
from robot_dynamics_ros.simulation.integrators.tableaus import TABLEAUS

__all__ = ["step_prototypes", "step_source"]


def _arguments(plan: Plan, real: str, state: str) -> list[str]:
    """Leading arguments of both functions; ``state`` is "const " or "" for the state's arrays."""
    upper = plan.prefix.upper()
    given = [f"const {plan.prefix}_parameters *p"] if plan.parameters else []
    given += [f"{state}{real} q[{upper}_NQ]", f"{state}{real} v[{upper}_NV]"]
    if plan.motors:
        given.append(f"{state}{real} i[{upper}_NM]")
    given.append(f"const {real} command[{upper}_NV]")
    if plan.external:
        given.append(f"const {real} external[{6 * len(plan.external)}]")
    return given


def _rates_prototype(plan: Plan, real: str) -> str:
    upper = plan.prefix.upper()
    given = [*_arguments(plan, real, "const "), f"{real} dq[{upper}_NQ]", f"{real} dv[{upper}_NV]"]
    if plan.motors:
        given.append(f"{real} di[{upper}_NM]")
    return f"void {plan.prefix}_state_rates({', '.join(given)})"


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
    written = ", ".join(c_number(float(x), real) for x in values)
    return f"static const {real} {name}[{size}] = {{{written}}};"


def step_source(plan: Plan, real: str) -> list[str]:
    """Definitions."""
    step = _semi_implicit(plan, real) if plan.integrator == "semi_implicit_euler" else _runge_kutta(plan, real)
    return [*_rates(plan, real), *step, ""]


def _call(plan: Plan, name: str, *arguments: str) -> str:
    return f"{plan.prefix}_{name}({', '.join([*(['p'] if plan.parameters else []), *arguments])});"


def _normalize(plan: Plan) -> list[str]:
    return [f"    {_call(plan, 'normalized', 'q', 'q')}"] if plan.floating else []


def _rates(plan: Plan, real: str) -> list[str]:
    upper = plan.prefix.upper()
    currents, rates = (["i"], ["di"]) if plan.motors else ([], [])
    lines = [f"{real} tau[{upper}_NV];", *([f"{real} unit[{upper}_NQ];"] if plan.floating else [])]
    lines += [_call(plan, "normalized", "q", "unit")] if plan.floating else []
    lines += [
        _call(plan, "position_rates", "q", "v", "dq"),
        _call(plan, "applied_efforts", "v", *currents, "command", "tau", *rates),
    ]
    external = ["external"] if plan.external else []
    lines.append(_call(plan, "forward_dynamics", "unit" if plan.floating else "q", "v", "tau", *external, "dv"))
    return [_rates_prototype(plan, real), "{", *(f"    {line}" for line in lines), "}", ""]


def _parts(plan: Plan) -> list[tuple[str, str, str]]:
    """(state array, its rate, its length) of every part of the state."""
    upper = plan.prefix.upper()
    parts = [("q", "dq", f"{upper}_NQ"), ("v", "dv", f"{upper}_NV")]
    return [*parts, ("i", "di", f"{upper}_NM")] if plan.motors else parts


def _call_rates(plan: Plan, state: dict[str, str], rate: dict[str, str]) -> str:
    given = [state[s] for s, _, _ in _parts(plan)] + ["command"] + (["external"] if plan.external else [])
    return _call(plan, "state_rates", *given, *(rate[r] for _, r, _ in _parts(plan)))


def _semi_implicit(plan: Plan, real: str) -> list[str]:
    """v first, then q with the new v."""
    parts = _parts(plan)
    out = [_step_prototype(plan, real), "{"]
    out += [f"    {real} {r}[{size}];" for _, r, size in parts]
    out += ["    int k;", f"    {_call_rates(plan, {s: s for s, _, _ in parts}, {r: r for _, r, _ in parts})}"]
    for s, r, size in parts[1:]:
        out += [f"    for (k = 0; k < {size}; k++) {{", f"        {s}[k] += h * {r}[k];", "    }"]
    out.append(f"    {_call(plan, 'position_rates', 'q', 'v', 'dq')}")
    out += [f"    for (k = 0; k < {plan.prefix.upper()}_NQ; k++) {{", "        q[k] += h * dq[k];", "    }"]
    return [*out, *_normalize(plan), "}"]


def _runge_kutta(plan: Plan, real: str) -> list[str]:
    tableau, parts = TABLEAUS[plan.integrator], _parts(plan)
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
    call = _call_rates(plan, {n: f"{n}s" for n, _, _ in parts}, {r: f"{r}[stage]" for _, r, _ in parts})
    out += [f"        {call}", "    }"]
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
