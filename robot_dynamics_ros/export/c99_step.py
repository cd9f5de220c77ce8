"""The simulation step in C99: friction, motors, an explicit Runge-Kutta method, and quaternions of unit length."""

from __future__ import annotations

import math
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
    friction = "viscous friction" if any(plan.viscous) else "no friction"
    if any(plan.dry):
        friction += f" and dry friction (smoothed over {plan.smooth_velocity:g})"
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
    out: list[str] = []
    if plan.quaternions:
        out += _floating(plan, real)
    out += _rates(plan, real)
    step = _semi_implicit(plan, real) if plan.integrator == "semi_implicit_euler" else _runge_kutta(plan, real)
    return [*out, *step, ""]


def _floating(plan: Plan, real: str) -> list[str]:
    """Helpers for floating joints."""
    f = "f" if real == "float" else ""
    upper, p = plan.prefix.upper(), plan.prefix
    two, half = c_number(2.0, real), c_number(0.5, real)
    out = [f"static void {p}_normalize({real} q[{upper}_NQ])", "{"]
    for at, _ in plan.quaternions:
        x = [f"q[{at + 3 + k}]" for k in range(4)]
        out += [
            "    {",
            f"        const {real} n = sqrt{f}({' + '.join(f'{c} * {c}' for c in x)});",
            *(f"        {c} /= n;" for c in x),
            "    }",
        ]
    out += [
        "}",
        "",
        f"static void {p}_floating_rates(const {real} q[{upper}_NQ], const {real} v[{upper}_NV], "
        f"{real} dq[{upper}_NQ])",
        "{",
    ]
    for at, vat in plan.quaternions:
        out += [
            "    {",
            *(f"        const {real} {c} = q[{at + 3 + k}];" for k, c in enumerate("xyzw")),
            *(f"        const {real} {c} = v[{vat + k}];" for k, c in enumerate(("wx", "wy", "wz", "vx", "vy", "vz"))),
            f"        const {real} n = {two} / (x * x + y * y + z * z + w * w);",
            f"        const {real} cx = y * vz - z * vy, cy = z * vx - x * vz, cz = x * vy - y * vx;",
            f"        dq[{at}] = vx + n * (w * cx + y * cz - z * cy);",
            f"        dq[{at + 1}] = vy + n * (w * cy + z * cx - x * cz);",
            f"        dq[{at + 2}] = vz + n * (w * cz + x * cy - y * cx);",
            f"        dq[{at + 3}] = {half} * (w * wx + y * wz - z * wy);",
            f"        dq[{at + 4}] = {half} * (w * wy + z * wx - x * wz);",
            f"        dq[{at + 5}] = {half} * (w * wz + x * wy - y * wx);",
            f"        dq[{at + 6}] = -{half} * (x * wx + y * wy + z * wz);",
            "    }",
        ]
    return [*out, "}", ""]


def _position_rates(plan: Plan, indent: str) -> list[str]:
    """Statements that set dq from v (and q, at floating joints)."""
    upper = plan.prefix.upper()
    if not plan.quaternions:
        return [f"{indent}for (k = 0; k < {upper}_NV; k++) {{", f"{indent}    dq[k] = v[k];", f"{indent}}}"]
    model = plan.model
    floating = {at for at, _ in plan.quaternions}
    out = []
    for name in model.joint_names:
        a, b = model.q_slice(name), model.v_slice(name)
        if a.start not in floating:
            out += [f"{indent}dq[{a.start + k}] = v[{b.start + k}];" for k in range(a.stop - a.start)]
    return [*out, f"{indent}{plan.prefix}_floating_rates(q, v, dq);"]


def _rates(plan: Plan, real: str) -> list[str]:
    upper, p = plan.prefix.upper(), plan.prefix
    f = "f" if real == "float" else ""
    out = [_rates_prototype(plan, real), "{"]
    if any(plan.viscous):
        out.append(f"    {_array('viscous', plan.viscous, real, f'{upper}_NV')}")
    if any(plan.dry):
        out.append(f"    {_array('dry', plan.dry, real, f'{upper}_NV')}")
    out += [f"    {real} tau[{upper}_NV];"]
    if plan.quaternions:
        out.append(f"    {real} unit[{upper}_NQ];")
    out += ["    int k;", f"    for (k = 0; k < {upper}_NV; k++) {{", "        tau[k] = command[k];", "    }"]
    for m, motor in enumerate(plan.motors):
        out += _motor(plan, m, real)
        del motor
    if any(plan.viscous) or any(plan.dry):
        out.append(f"    for (k = 0; k < {upper}_NV; k++) {{")
        if any(plan.viscous):
            out.append("        tau[k] -= viscous[k] * v[k];")
        if any(plan.dry):
            out.append(
                f"        tau[k] -= dry[k] * v[k] / sqrt{f}(v[k] * v[k] + {c_number(plan.smooth_velocity**2, real)});"
            )
        out.append("    }")
    given = (["p"] if plan.parameters else []) + ["unit" if plan.quaternions else "q", "v", "tau"]
    given += ["external"] if plan.external else []
    if plan.quaternions:
        out += [
            f"    for (k = 0; k < {upper}_NQ; k++) {{",
            "        unit[k] = q[k];",
            "    }",
            f"    {p}_normalize(unit);",
        ]
    out += _position_rates(plan, "    ")
    return [*out, f"    {p}_forward_dynamics({', '.join([*given, 'dv'])});", "}", ""]


def _motor(plan: Plan, number: int, real: str) -> list[str]:
    motor = plan.motors[number]
    c, at = motor.constants, motor.index

    def n(x: float) -> str:
        return c_number(x, real)

    def clamped(name: str, limit: float) -> list[str]:
        if math.isinf(limit):
            return []
        return [
            f"        if ({name} > {n(limit)}) {{",
            f"            {name} = {n(limit)};",
            f"        }} else if ({name} < -{n(limit)}) {{",
            f"            {name} = -{n(limit)};",
            "        }",
        ]

    emf = f"{n(c.emf * c.gear_ratio)} * v[{at}]"
    out = [
        "    {",
        f"        {real} voltage = command[{at}];",
        f"        {real} current;",
        *clamped("voltage", c.max_voltage),
    ]
    if c.inductance:
        out += [
            f"        current = i[{number}];",
            f"        di[{number}] = (voltage - {n(c.resistance)} * current - {emf}) / {n(c.inductance)};",
        ]
        if not math.isinf(c.max_current):
            limit = n(c.max_current)
            out += [
                f"        if ((current >= {limit} || current <= -{limit}) && di[{number}] * current > {n(0.0)}) {{",
                f"            di[{number}] = {n(0.0)};",
                "        }",
            ]
    else:
        out += [f"        current = (voltage - {emf}) / {n(c.resistance)};", f"        di[{number}] = {n(0.0)};"]
    out += clamped("current", c.max_current)
    return [*out, f"        tau[{at}] = {n(c.torque_constant * c.gear_ratio)} * current;", "    }"]


def _parts(plan: Plan) -> list[tuple[str, str, str]]:
    """(state array, its rate, its length) of every part of the state."""
    upper = plan.prefix.upper()
    parts = [("q", "dq", f"{upper}_NQ"), ("v", "dv", f"{upper}_NV")]
    return [*parts, ("i", "di", f"{upper}_NM")] if plan.motors else parts


def _call(plan: Plan, state: dict[str, str], rate: dict[str, str]) -> str:
    given = ["p"] if plan.parameters else []
    given += [state[s] for s, _, _ in _parts(plan)] + ["command"] + (["external"] if plan.external else [])
    return f"{plan.prefix}_state_rates({', '.join([*given, *(rate[r] for _, r, _ in _parts(plan))])});"


def _semi_implicit(plan: Plan, real: str) -> list[str]:
    """v first, then q with the new v."""
    parts = _parts(plan)
    out = [_step_prototype(plan, real), "{"]
    out += [f"    {real} {r}[{size}];" for _, r, size in parts]
    out += ["    int k;", f"    {_call(plan, {s: s for s, _, _ in parts}, {r: r for _, r, _ in parts})}"]
    for s, r, size in parts[1:]:
        out += [f"    for (k = 0; k < {size}; k++) {{", f"        {s}[k] += h * {r}[k];", "    }"]
    out += _position_rates(plan, "    ")
    out += [f"    for (k = 0; k < {plan.prefix.upper()}_NQ; k++) {{", "        q[k] += h * dq[k];", "    }"]
    return [*out, *([f"    {plan.prefix}_normalize(q);"] if plan.quaternions else []), "}"]


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
    call = _call(plan, {n: f"{n}s" for n, _, _ in parts}, {r: f"{r}[stage]" for _, r, _ in parts})
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
    return [*out, *([f"    {plan.prefix}_normalize(q);"] if plan.quaternions else []), "}"]
