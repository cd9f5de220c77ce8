"""Tables of measured figures in the pages, from the result files that the benchmarks wrote: never
typed by hand.

    python -m docs.generate.figures

writes them anew wherever a page says ``<!-- figures: NAME -->``.  A test holds the pages to the
result files.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
ROBOTS = {
    "ur5": "ur5, 6 joints",
    "panda": "panda, 8 joints",
    "talos_reduced": "talos, 32 joints",
    "chain10": "chain, 10 joints",
    "oblique_chain10": "oblique chain, 10 joints",
    "chain100": "chain, 100 joints",
}
FUNCTIONS = {"inverse": "inverse dynamics", "forward": "forward dynamics", "mass": "mass matrix"}
BY_LINK = {
    "jacobian": "`rd.jacobian`",
    "link_pose": "`rd.link_pose`",
    "joint_wrenches": "`rd.joint_wrenches`",
}


def results(name: str) -> dict[str, Any]:
    """The figures of one result file."""
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return found


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Markdown."""
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def number(value: float | None) -> str:
    """Three significant digits; a dash where nothing was measured."""
    if value is None:
        return "–"
    digits = max(0, 2 - int(f"{value:e}".partition("e")[2]))
    return f"{value:.{digits}f}"


def surroundings(found: dict[str, Any]) -> str:
    """What the figures hold for."""
    made = found["made with"]
    versions = (
        f"Pinocchio {made['pin']}, MuJoCo {made['mujoco']}, NumPy {made['numpy']}, llvmlite "
        f"{made['llvmlite']}"
    )
    return f"Python {made['python']}, {made['processors']} processors, one thread; {versions}."


def calls(robots: Iterable[str], functions: Iterable[str]) -> str:
    """Microseconds a call."""
    found = results("dynamics")
    rows = []
    for robot in robots:
        for what in functions:
            row = found["per call"][robot][what]
            figures = (row["plain"], row["kernel"], row["pinocchio"], row.get("mujoco"))
            rows.append([ROBOTS[robot], FUNCTIONS[what], *map(number, figures)])
    head = ("robot", "function", "plain call, µs", "kernel, µs", "Pinocchio, µs", "MuJoCo, µs")
    return f"{table(head, rows)}\n\n{surroundings(found)}"


def by_link() -> str:
    """Microseconds a call of functions of one link."""
    rows = [
        [ROBOTS[robot], BY_LINK[what], number(row["plain"]), number(row["pinocchio"])]
        for robot, functions in results("dynamics")["by link"].items()
        for what, row in functions.items()
    ]
    return table(("robot", "function", "plain call, µs", "Pinocchio, µs"), rows)


def batches() -> str:
    """Million states a second."""
    rows = [
        [
            FUNCTIONS[what],
            number(row["ours, 1 threads"]),
            number(row["ours, 2 threads"]),
            number(row.get("pinocchio, 1 threads")),
            number(row.get("pinocchio, 2 threads")),
        ]
        for what, row in results("dynamics")["batch"].items()
    ]
    head = (
        "million states a second, ur5",
        "one thread",
        "two threads",
        "Pinocchio, one thread",
        "Pinocchio, two threads",
    )
    return table(head, rows)


def batches_on_threads() -> str:
    """One thread, two threads, and two processes that know nothing of each other."""
    rows = [
        [
            f"{what}, {size.partition(',' + ' ')[0]}",
            "new arrays" if size.endswith("new") else "`out=`",
            number(row["one thread, M/s"]),
            number(row["two threads, M/s"]),
            f"{row['two threads, M/s'] / row['one thread, M/s']:.2f}",
            f"{row['two processes over one']:.2f}",
        ]
        for what, sizes in results("batches")["batches"].items()
        for size, row in sizes.items()
    ]
    head = (
        "states",
        "results in",
        "one thread, M/s",
        "two threads, M/s",
        "two over one",
        "two processes over one",
    )
    return with_source(table(head, rows), "batches")


def derivatives() -> str:
    """Derivatives beside Pinocchio's, and their first calls."""
    rows = []
    for robot, row in results("derivatives")["per call"].items():
        cells = [robot.replace("_", " ")]
        for what in ("inverse", "forward"):
            ours = row[what]
            theirs = row[f"{what}, Pinocchio"]
            cells += [
                number(ours),
                number(theirs),
                f"{theirs / ours:.1f}",
                f"{row[f'{what}, first call, s']:.2f}",
            ]
        rows.append(cells)
    head = ["robot"]
    for what in ("inverse", "forward"):
        head += [f"{what} dynamics, µs", "Pinocchio, µs", "ratio", "first call, s"]
    return with_source(table(head, rows), "derivatives")


def long_trajectories() -> str:
    """How soon long trajectories are accepted, and what the commands feel of it."""
    windows = [
        (
            f"{topic}, {what}, {share}, ms",
            f"{topic}, {words}{', nine in ten' if share == '90 %' else ''}, ms",
        )
        for topic in ("joint states", "commands")
        for what, words in (("nothing", "nothing arrives"), ("arriving", "a trajectory arrives"))
        for share in (("median", "90 %") if topic == "commands" else ("median",))
    ]
    rows = [
        [
            points,
            f"{row['MB']:.1f}",
            f"{row['accepted, s']:.3f}",
            *(f"{row[key]:.1f}" for key, _ in windows),
        ]
        for points, row in results("long_trajectory")["points"].items()
    ]
    head = ["points", "size, MB", "accepted after, s", *(words for _, words in windows)]
    return with_source(table(head, rows), "long_trajectory")


def start() -> str:
    """From the start of the process to the first command."""
    found = results("start")
    rows = [
        [name, f"{row['seconds']:.2f}", f"{row['processor']:.2f}"]
        for name, row in found["rows"].items()
    ]
    head = (f"medians of {found['times']} starts", "to the first command, s", "processor, s")
    return with_source(table(head, rows), "start")


def measured(name: str) -> str:
    """When, where and how a result file was measured."""
    made = results(name)["measured"]
    return (
        f"{made['date']}, {made['machine']}, load average {made['load']:g} before: "
        f"`{made['command']}`."
    )


def share(value: float) -> str:
    """In per cent."""
    return f"{100.0 * value:.0f} %"


def power(value: float | None) -> str:
    """One digit and a power of ten; a dash where nothing was measured."""
    return "–" if value is None else f"{value:.0e}"


def short(value: float | None) -> str:
    """Two significant digits."""
    return "–" if value is None else f"{value:.2g}"


def with_source(text: str, name: str) -> str:
    """A table and below it the circumstances of its measurement."""
    return f"{text}\n\n{measured(name)}"


SIMULATED = {"six_axis": "six_axis", "seven_axis": "seven_axis", "chain30": "chain of 30"}
PEERS = {
    "Plant, moreau": "mj_step",
    "Plant, semi_implicit_euler": "mj_step",
    "Plant, rk4": "mj_step",
    "Plant, moreau, compiled=False": "mj_step",
    "Plant.run, one call": "mj_step, one call",
}
"""What is simulated → what is called in the same way in MuJoCo."""


def simulation_speed() -> str:
    """Thousand steps a second."""
    rates = results("simulation")["thousand steps a second"]
    rows = [
        [name, *(number(rates[robot][name]) for robot in SIMULATED)]
        for name in (*PEERS, *sorted(set(PEERS.values())))
    ]
    return with_source(table(("", *SIMULATED.values()), rows), "simulation")


def simulation_ratios() -> str:
    """Against MuJoCo."""
    rates = results("simulation")["thousand steps a second"]
    rows = [
        [name, *(number(rates[robot][name] / rates[robot][peer]) for robot in SIMULATED)]
        for name, peer in PEERS.items()
    ]
    return table(("", *SIMULATED.values()), rows)


def energy_drift() -> str:
    """Error of the energy of each integrator."""
    rows = []
    for name, row in results("energy_drift")["integrators"].items():
        late = (
            power(row["after 200 s"])
            if row["diverged at, s"] is None
            else f"diverged at {row['diverged at, s']:.0f} s"
        )
        rows.append([f"`{name}`", power(row["after 10 s"]), late])
    return with_source(
        table(("integrator", "error after 10 s", "error after 200 s"), rows), "energy_drift"
    )


def energy() -> str:
    """A million steps without dissipation."""
    found = results("energy")
    keys = ("rise", "standard error of the rise", "oscillation")
    rows = [[name, *(power(row[key]) for key in keys)] for name, row in found["robots"].items()]
    head = (f"{found['steps']:,} steps of {1e3 * found['dt, s']:g} ms", *keys)
    return with_source(table(head, rows), "energy")


def engines() -> str:
    """Plant beside MujocoPlant."""
    columns = ("accelerations", "joint wrenches", "1 s, both rk4", "1 s, both default")
    rows = [
        [
            name,
            str(row["joints"]),
            *(power(row[key]) for key in columns[:3]),
            short(row[columns[3]]),
        ]
        + [number(row[key]) for key in ("Plant, µs a step", "MujocoPlant, µs a step")]
        for name, row in results("engines")["robots"].items()
    ]
    head = ("robot", "joints", *columns, "`Plant.step`, µs", "`MujocoPlant.step`, µs")
    return with_source(table(head, rows), "engines")


def finer_steps() -> str:
    """Plant beside MujocoPlant with more steps."""
    head = ("robot", "one MuJoCo step", "four MuJoCo steps")
    keys = ("1 s, both default", "1 s, both default, 4 MuJoCo steps")
    found = results("engines")["robots"]
    return table(head, [[name, *(short(row[key]) for key in keys)] for name, row in found.items()])


def comparison_of_simulators() -> str:
    """Largest difference from rk4."""
    found = results("comparison")["largest difference from rk4, rad"]
    names = ("MuJoCo", "Exudyn", "this package, moreau")
    rows = [[title, *(power(row.get(name)) for name in names)] for title, row in found.items()]
    return with_source(
        table(("motion", "MuJoCo RK4", "Exudyn RK44", "`moreau` of this package"), rows),
        "comparison",
    )


def real_time() -> str:
    """The node at 1 kHz."""
    found = results("realtime")
    rows = [
        [
            "simulator, periods within 1 ± 0.1 ms",
            share(found["simulator: share of regular periods"]),
        ],
        ["simulator, median period", f"{found['simulator: median period, ms']:.3f} ms"],
        [
            "simulator, 99th percentile of the period",
            f"{found['simulator: 99th percentile of the period, ms']:.2g} ms",
        ],
        ["simulated less real time at the end", f"{found['simulated less real time, ms']:.0f} ms"],
        ["given up after halts of more than 0.1 s", f"{found['given up after halts, ms']:.0f} ms"],
        ["processor time of the simulator", share(found["simulator: share of a processor"])],
        ["processor time of the controller", share(found["controller: share of a processor"])],
    ]
    for what, word in (("", ""), (", all wrenches published", ", all joint wrenches published")):
        whole, sending = (
            found.get(f"controller: median of {key}{what}, ms", math.nan)
            for key in ("computing", "publishing the command, a part of it")
        )
        rows.append([f"controller, median of a cycle{word}", f"{whole:.2g} ms"])
        rows.append(["of it: the middleware, for publishing the command", f"{sending:.2g} ms"])
    loop = found.get("C loop: share of regular periods")
    if loop is not None:
        rows.insert(1, ["loop in C beside them, periods within 1 ± 0.1 ms", share(loop)])
    return with_source(table((f"six_axis, {found['seconds']:.0f} s", ""), rows), "realtime")


#: What ``benchmarks.steady_time`` measures → its heading.
STEADY = {
    "states unanswered": "unanswered",
    "periods within 10 %": "within 10 %",
    "C loop, periods within 10 %": "loop in C",
    "99th percentile of the simulator's period, ms": "simulator, 99 %, ms",
    "99th percentile of the controller's period, ms": "controller, 99 %, ms",
    "median of computing, ms": "computing, median, ms",
    "load": "load",
}


def steady_time() -> str:
    """Simulator and controller with one measure for steady time less or more."""
    return _rows_of("steady_time", [key for key in STEADY if key != "states unanswered"])


def closed_loop_500() -> str:
    """Three minutes at 500 Hz."""
    left_out = ("99th percentile of the simulator's period, ms", "median of computing, ms")
    return _rows_of("closed_loop_500", [key for key in STEADY if key not in left_out])


def middleware() -> str:
    """The cycle's computing time under settings of the middleware."""
    return _rows_of(
        "middleware", ["median of computing, ms", "99th percentile of the controller's period, ms"]
    )


def _rows_of(name: str, keys: list[str]) -> str:
    """A table of what ``benchmarks.steady_time`` wrote."""
    found = results(name)

    def shown(key: str, value: float | None) -> str:
        if value is None:
            return "–"
        if key == "states unanswered":
            return f"{100.0 * value:.2f} %"
        return (
            f"{100.0 * value:.1f} %"
            if "within" in key
            else f"{value:.3f}"
            if "computing" in key
            else f"{value:.3g}"
        )

    head = (
        f"{found['rate']:.0f} Hz, {found['seconds']:.0f} s each",
        *(STEADY[key] for key in keys),
    )
    rows = [
        [row, *(shown(key, values[key]) for key in keys)] for row, values in found["rows"].items()
    ]
    return with_source(table(head, rows), name)


def round_trip() -> str:
    """The controller beside an empty node."""
    found = results("round_trip")
    keys = ("controller, µs", "empty node, µs", "ratio, least", "ratio, largest")
    rows = [
        [label, *(f"{row[key]:.0f}" for key in keys[:2]), *(f"{row[key]:.2f}" for key in keys[2:])]
        for label, row in found["percentiles"].items()
    ]
    text = table((f"{found['runs']} runs of {found['cycles']} cycles", *keys), rows)
    return with_source(text, "round_trip")


def viewer_cost() -> str:
    """A picture's cost, and, where it has been measured, the controller alone and beside what looks
    on.
    """
    found = results("viewer")
    pictures = [
        [f"processor time of a state with all wrenches, {who} watching, ms", number(spent)]
        for who, spent in found["a state, ms of processor"].items()
    ]
    pictures += [
        ["pictures a second while the arm moves", number(found["pictures a second"])],
        ["memory before, MB", f"{found['memory before, MB']:.0f}"],
        [f"memory after {found['pictures']} states, MB", f"{found['memory after, MB']:.0f}"],
    ]
    parts = [_beside_the_controller(found["round trip"])] if "round trip" in found else []
    return "\n\n".join(
        [*parts, with_source(table(("the viewer alone, six_axis", ""), pictures), "viewer")]
    )


def _beside_the_controller(trips: Mapping[str, Mapping[str, float]]) -> str:
    median = "median, µs"
    late = "99th percentile, µs"
    spent = "processor time of the controller a state, µs"
    bases = {"alone": "to alone", "a second subscriber": "to a second subscriber"}
    bases = {way: head for way, head in bases.items() if way in trips}
    rows = [
        [
            way,
            f"{row[median]:.0f}",
            f"{row[median] / trips['alone'][median]:.2f}",
            f"{row[late]:.0f}",
            *(f"{row[late] / trips[base][late]:.2f}" for base in bases),
            f"{row[spent]:.0f}",
        ]
        for way, row in trips.items()
    ]
    heads = (
        "beside the controller",
        median,
        "to alone",
        late,
        *bases.values(),
        "the controller's processor time a state, µs",
    )
    return table(heads, rows)


def viewer_memory() -> str:
    """Memory of the viewer over minutes."""
    found = results("viewer_memory")
    rows = [
        [what, f"{found[what]:.4g}"]
        for what in (
            "minutes",
            "memory after the first seconds, MB",
            "memory at most, MB",
            "memory at the end, MB",
            "threads grown",
            "file handles grown",
        )
    ]
    return with_source(table(("a moving six_axis on one page", ""), rows), "viewer_memory")


def gate_cost() -> str:
    """The round trip without and with the effort gate."""
    rows = [
        [label, f"{row['without, ms']:.2f}", f"{row['with, ms']:.2f}"]
        for label, row in results("effort_gate")["round trip"].items()
    ]
    return with_source(
        table(("round trip", "without the gate, ms", "with the gate, ms"), rows), "effort_gate"
    )


def cycle() -> str:
    """One control cycle."""
    rows = []
    for name, row in results("cycle")["cycles"].items():
        compiled = row["compiled, µs"]
        as_python = row["as written, µs"]
        rows.append([name, number(compiled), number(as_python), number(as_python / compiled)])
    return with_source(
        table(("robot and law", "compiled, µs", "run as Python, µs", "ratio"), rows), "cycle"
    )


def wrench_cost() -> str:
    """Joint wrenches beside efforts."""
    rows = []
    for name, row in results("wrenches")["robots"].items():
        one = row["call"]
        efforts = one["efforts, ns"]
        both = one["with wrenches, ns"]
        rows.append(
            [
                name,
                f"{efforts:.0f}",
                f"{both:.0f}",
                f"{both / efforts:.2f}",
                f"{one['all, world axes, ns']:.0f}",
            ]
        )
    head = (
        "robot",
        "efforts, ns",
        "efforts and joint wrenches, ns",
        "ratio",
        "every joint, world axes, ns",
    )
    return with_source(table(head, rows), "wrenches")


def constraint_cost() -> str:
    """Closed loops beside Pinocchio."""
    rows = [
        [name, number(row["ours, µs"]), number(row["Pinocchio, µs"])]
        for name, row in results("constraints")["mechanisms"].items()
    ]
    return with_source(
        table(("mechanism", "this package, µs", "Pinocchio's `constraintDynamics`, µs"), rows),
        "constraints",
    )


ERRORS = "error of all joints and largest error, mrad"
BY_RATE = "largest error, mrad, and speed while standing, mrad/s"
STABLE = "highest stable frequency, rad/s, at once and late"
ARMS = {"six_axis": "six axes", "seven_axis": "seven axes"}


def tracking(robot: str, which: int) -> str:
    """Root mean square (0) or largest (1) error of each law in each case."""
    found = results("control_laws")[ERRORS][robot]
    cases = list(next(iter(found.values())))
    text = table(
        ("law", *cases),
        [[law, *(short(row[case][which]) for case in cases)] for law, row in found.items()],
    )
    return with_source(text, "control_laws") if (robot, which) == ("six_axis", 0) else text


def by_rate(part: str, which: int, form: str) -> str:
    """A figure of each law for each arm and rate."""
    found = results("control_laws")[part]
    rates = list(next(iter(found["six_axis"].values())))
    head = ["law"] + [f"{arm}, {rate} Hz" for arm in ARMS.values() for rate in rates]
    rows = [
        [law, *(format(found[robot][law][rate][which], form) for robot in ARMS for rate in rates)]
        for law in found["six_axis"]
    ]
    return table(head, rows)


PUSHES = (
    ("push of 10 N at the flange, median error", "pushes of 10 N", "median error, N", "N"),
    (
        "push of 10 N, 95th percentile of the error",
        "pushes of 10 N",
        "95th percentile of the error, N",
        "N",
    ),
    ("push of 30 N, median error", "pushes of 30 N", "median error, N", "N"),
    (
        "push of 30 N, 95th percentile of the error",
        "pushes of 30 N",
        "95th percentile of the error, N",
        "N",
    ),
    ("delay to 63 % of a push of 30 N", "pushes of 30 N", "delay to 63 %, ms", "ms"),
    ("delay of the flag", "pushes of 30 N", "delay of the flag, ms", "ms"),
)


def observer() -> str:
    """Estimates of contacts."""
    found = results("observer")
    models = found["models"]
    minutes = f"{found['minutes']:g} minutes"
    rows = [
        [
            f"false alarms in {minutes}, threshold 5 %",
            *(str(row["false alarms, threshold 5 %"]) for row in models.values()),
        ]
    ]
    rows += [
        [what, *(f"{short(row[size][key])} {unit}" for row in models.values())]
        for what, size, key, unit in PUSHES
    ]
    rows.append(
        [
            "pushes of 30 N that raise the flag, threshold 10 %",
            *(
                share(row["pushes of 30 N"]["share that raises the flag"])
                for row in models.values()
            ),
        ]
    )
    rows.append(
        ["pushes of each size", *(str(row["pushes of 30 N"]["number"]) for row in models.values())]
    )
    rows.append(
        [
            "of these near a singular pose",
            *(str(row["pushes of 30 N"]["near singular poses"]) for row in models.values()),
        ]
    )
    return with_source(table((f"{minutes} of motion", *models), rows), "observer")


def observer_largest() -> str:
    """Largest estimate without contact."""
    models = results("observer")["models"]
    columns = [row["largest estimate, N m"] for row in models.values()]
    rows = [
        [str(k + 1), *(f"{column[k]:.1f}" for column in columns)] for k in range(len(columns[0]))
    ]
    return table(("joint", *models), rows)


def all_robots() -> str:
    """How the demonstration went, one row for files that behave alike."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for row in results("all_robots")["robots"]:
        figures = [short(row[key]) for key in ("seconds", "largest error", "left")]
        joints = "–" if row["joints"] is None else str(row["joints"])
        alike.setdefault((joints, *figures, row["outcome"].replace("|", "/")), []).append(
            row["robot"]
        )
    rows = [[", ".join(dict.fromkeys(names)), *cells] for cells, names in alike.items()]
    head = ("robot", "joints", "motion, s", "largest error", "error at the end", "outcome")
    return with_source(table(head, rows), "all_robots")


def all_robots_count() -> str:
    """How many arrived."""
    rows = results("all_robots")["robots"]
    arrived = [row["arrived"] for row in rows]
    return table(
        ("files", "arrived", "ended with a reason", "not tried: nothing moves"),
        [
            [
                str(len(rows)),
                str(arrived.count(True)),
                str(arrived.count(False)),
                str(arrived.count(None)),
            ]
        ],
    )


def payload_intervals() -> str:
    """How often 95 % intervals of payloads hold the truth."""
    head = ("arm", "`arm_error`", "mass held, %", "centre held, %", "± mass, %", "± centre, mm")
    rows = []
    for name, row in results("payload_intervals")["rows"].items():
        arm, case, given = name.split(", ")
        if arm == "all":
            held = [f"{100 * row[f'{what} held']:.0f}" for what in ("mass", "centre")]
            width = (100 * row["half width of the mass"], row["half width of the centre, mm"])
            rows.append([case, given, *held, *map(number, width)])
    return with_source(table(head, rows), "payload_intervals")


def real_arm(times: str, what: str) -> str:
    """The efforts of a real arm, predicted by four models."""
    found = results("identification")[times]
    digits = 3 if what.startswith("rms") else 2
    columns = len(next(iter(found.values()))[what])
    head = ("model", *(f"J{k + 1}" for k in range(7)), "all")[: columns + 1]
    text = table(
        head, [[name, *(f"{x:.{digits}f}" for x in row[what])] for name, row in found.items()]
    )
    return (
        with_source(text, "identification")
        if (times, what) == ("times as recorded", "rms, N m")
        else text
    )


def other_arms() -> str:
    """The efforts of two more real arms, predicted by three models."""
    arms = {
        name: rows for name, rows in results("identification_of_arms").items() if name != "measured"
    }
    rows = [
        [f"{arm}: {model}", *(f"{x:.3f}" for x in row["rms, N m"])]
        for arm, found in arms.items()
        for model, row in found.items()
    ]
    head = ("model", *(f"J{k + 1}" for k in range(6)), "all")
    return with_source(table(head, rows), "identification_of_arms")


LAWS = {
    "default": "the default",
    "computed_torque": "computed torque, 100/s², 20/s",
    "pd_gravity": "PD with gravity, as robots are sold",
    "trajectory_pid": "PID of joint_trajectory_controller",
    "inertia_floor": "rotors of 0.1 kg m², 20 rad/s, integral",
    "disturbance_observer": "the same with the momentum observer fed back",
    "adaptive": "adaptive (Slotine and Li)",
    "time_delay": "time-delay estimation",
}


def differing_robots() -> str:
    """Errors of each law on robots that differ from their description."""
    rows = [
        [
            LAWS[row["law"]],
            str(row["robots"]),
            *(f"{row[key]:.3g}" for key in ("within 5/20 %", "within 15/60 %", "stable %")),
            *(f"{x:.3g}" if x < 1e3 else f"{x:.0f}" for x in _or_lost(row["goal median/p98 mrad"])),
            *(f"{x:.3g}" if x < 1e3 else f"{x:.0f}" for x in _or_lost(row["way median/p98 mrad"])),
            f"{row['overshoot %']:.3g}",
        ]
        for row in results("differing_robots")["laws"]
    ]
    errors = [
        f"{what}, {share}, mrad"
        for what in ("goal error", "path error")
        for share in ("median", "98 %")
    ]
    within = [f"within {bars} mrad, %" for bars in ("5 and 20", "15 and 60")]
    head = (
        "law",
        "robots",
        *within,
        "at rest at the end, %",
        *errors,
        "swing when let go, 90 %, % of the push",
    )
    return with_source(table(head, rows).replace(" inf ", " – "), "differing_robots")


def tool_motion() -> str:
    """Errors of the tool on robots that differ from their description."""
    rows = [
        [
            row["law"],
            str(row["robots"]),
            number(row["way within 3 mm, 10 mrad %"]),
            number(row["rest within 1 mm %"]),
            *(number(x) for key in ("way mm", "way mrad", "rest mm") for x in row[key]),
        ]
        for row in results("tool_motion")["summary"]
    ]
    within = ("on the way within 3 mm and 10 mrad, %", "at rest within 1 mm, %")
    errors = [
        f"{what}, {share}"
        for what in ("way, mm", "way, mrad", "rest, mm")
        for share in ("median", "95 %")
    ]
    return with_source(table(("law", "robots", *within, *errors), rows), "tool_motion")


def _or_lost(values: Iterable[float | None]) -> Iterable[float]:
    """Values; infinite where the robot was lost."""
    return (math.inf if value is None else value for value in values)


def vendor_arms() -> str:
    """The demo of each arm with its vendor's description."""
    rows = [
        [f"`{name}`", f"{row['goal']:.2g}", f"{row['way']:.3g}"]
        for name, row in results("vendor_arms")["arms"].items()
    ]
    return with_source(
        table(("arm", "goal error, mrad or mm", "path error, mrad or mm"), rows), "vendor_arms"
    )


def commissioning() -> str:
    """Mistakes of stand-in arms, found before anything is sent."""
    rows = [
        [
            row["kind"].replace("_", " "),
            *(str(row[key]) for key in ("cases", "can show", "rightly named", "accused wrongly")),
        ]
        for row in results("commissioning")["table"]
    ]
    head = ("mistake", "cases", "can show", "rightly named", "something else is named")
    return with_source(table(head, rows), "commissioning")


def commissioning_bars() -> str:
    """The same, all kinds together."""
    names = {
        "single that can show": "one mistake that can show: rightly named",
        "single": "one mistake, also where it cannot show: rightly named",
        "pairs": "two mistakes: both rightly named, the second perhaps after the first is repaired",
        "pairs at once": "two mistakes: both rightly named at once",
        "healthy accused": "no mistake: something is named",
        "too fast": "floated: above a tenth of a speed limit, or more than 0.16 rad or m away",
    }
    summary = results("commissioning")["summary"]
    rows = [
        [text, *map(str, reversed(summary[key]))] for key, text in names.items() if key in summary
    ]
    return table(("cases", "number", "of these"), rows)


def commissioning_further(part: str) -> str:
    """Arms that cannot be weighed; tours."""
    rows = results(f"commissioning_{part}")["table"]
    if part == "tours":
        rows = [
            {key: value for key, value in row.items() if key not in ("named", "notes")}
            for row in rows
        ]
    cells = [[number(x) if isinstance(x, float) else str(x) for x in row.values()] for row in rows]
    return with_source(table(rows[0], cells), f"commissioning_{part}")


TABLES: dict[str, Callable[[], str]] = {
    "vendor arms": vendor_arms,
    "differing robots": differing_robots,
    "tool motion": tool_motion,
    "commissioning": commissioning,
    "commissioning unweighed": lambda: commissioning_further("unweighed"),
    "commissioning tours": lambda: commissioning_further("tours"),
    "commissioning bars": commissioning_bars,
    "short": lambda: calls(("ur5", "talos_reduced"), ("inverse", "forward", "mass")),
    "calls": lambda: calls(ROBOTS, FUNCTIONS),
    "by link": by_link,
    "derivatives": derivatives,
    "long trajectories": long_trajectories,
    "batches": batches,
    "batches on threads": batches_on_threads,
    "start": start,
    "simulation speed": simulation_speed,
    "simulation ratios": simulation_ratios,
    "energy drift": energy_drift,
    "energy": energy,
    "engines": engines,
    "finer steps": finer_steps,
    "comparison of simulators": comparison_of_simulators,
    "real time": real_time,
    "steady time": steady_time,
    "closed loop at 500 Hz": closed_loop_500,
    "middleware": middleware,
    "round trip": round_trip,
    "viewer cost": viewer_cost,
    "viewer memory": viewer_memory,
    "gate cost": gate_cost,
    "cycle": cycle,
    "wrench cost": wrench_cost,
    "constraint cost": constraint_cost,
    "tracking six rms": lambda: tracking("six_axis", 0),
    "tracking six largest": lambda: tracking("six_axis", 1),
    "tracking seven rms": lambda: tracking("seven_axis", 0),
    "tracking seven largest": lambda: tracking("seven_axis", 1),
    "error by rate": lambda: by_rate(BY_RATE, 0, ".2g"),
    "speed by rate": lambda: by_rate(BY_RATE, 1, ".1f"),
    "stable at once": lambda: by_rate(STABLE, 0, "g"),
    "stable late": lambda: by_rate(STABLE, 1, "g"),
    "observer": observer,
    "observer largest": observer_largest,
    "all robots": all_robots,
    "all robots count": all_robots_count,
    "payload intervals": lambda: payload_intervals(),
    "real arm rms": lambda: real_arm("times as recorded", "rms, N m"),
    "real arm largest": lambda: real_arm("times as recorded", "largest, N m"),
    "real arm velocities rms": lambda: real_arm("with velocities", "rms, N m"),
    "real arm velocities largest": lambda: real_arm("with velocities", "largest, N m"),
    "real arm repaired rms": lambda: real_arm("times repaired", "rms, N m"),
    "real arm repaired largest": lambda: real_arm("times repaired", "largest, N m"),
    "other arms": other_arms,
}
MARK = re.compile(r"(<!-- figures: ([\w ]+) -->\n)(.*?)(\n<!-- end of figures -->)", re.DOTALL)
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))


def renewed(text: str, *, keep: bool = False) -> str:
    """The page with its tables made anew.

    Args:
        keep: keep a table as it is if its result file is missing.

    Raises:
        FileNotFoundError: a result file is missing.
    """

    def filled(match: re.Match[str]) -> str:
        try:
            return f"{match[1]}\n{TABLES[match[2]]()}\n{match[4]}"
        except FileNotFoundError as error:
            if not keep:
                raise
            print(f"not measured yet: {error.filename}")
            return match[0]

    return MARK.sub(filled, text)


def main() -> None:
    """Write all pages."""
    for page in PAGES:
        before = page.read_text(encoding="utf-8")
        after = renewed(before, keep=True)
        if after != before:
            page.write_text(after, encoding="utf-8")
            print(page.relative_to(ROOT))


if __name__ == "__main__":
    main()
