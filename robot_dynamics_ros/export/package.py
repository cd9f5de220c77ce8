"""The entry point of code export; and how many operations a function takes: as written, after
folding, after sharing.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from robot_dynamics_ros.dynamics.engine.codegen.c_source import REALS
from robot_dynamics_ros.dynamics.engine.codegen.graph import (
    Expr,
    Graph,
    Key,
    Operand,
    count_operations,
)
from robot_dynamics_ros.dynamics.engine.elementary_tree import NumericTree
from robot_dynamics_ros.errors import check_name
from robot_dynamics_ros.export.c99 import (
    c_header,
    c_source,
    c_test,
    cmake,
    eigen_call,
    eigen_header,
)
from robot_dynamics_ros.export.numpy_module import numpy_module
from robot_dynamics_ros.export.plan import (
    DEFAULT_FUNCTIONS,
    ExportOptions,
    Plan,
    make_plan,
    trace_request,
    tree_of,
)
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.whole_files import whole_file

if TYPE_CHECKING:
    from typing_extensions import Unpack

LANGUAGES = ("c99", "cpp", "python")


@dataclass(frozen=True, eq=False)
class ExportedCode:
    """Emitted ``files``: file name, with folders before it → text; ``plan``: of what was
    emitted.
    """

    files: Mapping[str, str]
    plan: Plan

    def write(self, directory: str | Path) -> list[Path]:
        """Write all files into a directory, which is made if need be, and return their paths."""
        paths = [Path(directory) / name for name in self.files]
        for path, text in zip(paths, self.files.values(), strict=True):
            path.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(path) as part:
                part.write_bytes(text.encode("utf-8"))
        return paths

    def operations(self) -> list[OperationCount]:
        """How many operations each function takes, before and after folding and sharing."""
        return count_all(self.plan)

    def report(self) -> str:
        """The same as a table."""
        return report_text(self.operations())


def export_code(
    model: RobotModel,
    functions: Iterable[str] = DEFAULT_FUNCTIONS,
    *,
    language: str = "c99",
    real: str = "double",
    **options: Unpack[ExportOptions],
) -> ExportedCode:
    """Source code of a robot's dynamics that does not need this package at run time.

    The same arguments give the same bytes, on every run.

    Args:
        functions: keys of :data:`~robot_dynamics_ros.export.plan.FUNCTIONS`, and ``"step"``.
        language: ``"c99"``: header, source, test program and CMake file; ``"cpp"``: these and a C++
            header with Eigen signatures; ``"python"``: one module on NumPy.
        real: ``"double"`` or ``"float"`` (C and C++).
        options: those that follow, by name.
        prefix: of all names in C, and the files' name; the robot's name if not given.
        links: links of the functions about a link (jacobian, link_pose, …); the last link if not
            given.
        symbols: numbers to be changed at run time: parameter → name or ``"auto"``, as
            :func:`robot_dynamics_ros.symbolic` takes them; they become members of a structure that
            every function takes.
        external: links on which known wrenches act; the functions then take an array of
            (len(external), 6).
        motors: joint → motor; the rotors' inertia is added to all functions, and the step takes
            voltages there.
        integrator: of the step: ``"semi_implicit_euler"`` or an explicit Runge-Kutta method by
            name; ``"rk4"`` if not given.
        friction: joint friction in the step: ``"none"``, ``"viscous"`` (if not given), or
            ``"smooth"``, which adds dry friction F v / √(v² + smooth_velocity²).
        smooth_velocity: rad/s or m/s, for the dry friction of ``"smooth"``; 0.001 if not given.
        rename: joint or link → identifier, where the one made of its name clashes.
        max_operations: refuse functions that take more; 100,000 if not given.

    Raises:
        UnknownNameError: a function, link, joint, parameter, integrator, … that does not exist.
        ArgumentError: names that are keywords or clash.
        ModelError: a robot without joints, a function that this robot does not have, or one that is
            too large.
        TypeError: an option that does not exist.

    >>> import robot_dynamics_ros as rd
    >>> sorted(rd.export_code(rd.limb(2), ["mass_matrix"], prefix="limb").files)
    ['CMakeLists.txt', 'limb.c', 'limb.h', 'limb_test.c']
    """
    for kind, word, known in (("language", language, LANGUAGES), ("real type", real, REALS)):
        check_name(kind, word, known)
    plan = make_plan(model, functions, options)
    prefix = plan.prefix
    if language == "python":
        return ExportedCode({f"{prefix}.py": numpy_module(plan)}, plan)
    files = {
        f"{prefix}.h": c_header(plan, real),
        f"{prefix}.c": c_source(plan, real),
        f"{prefix}_test.c": c_test(plan, real),
        "CMakeLists.txt": cmake(plan, eigen=language == "cpp"),
    }
    if language == "cpp":
        files |= {
            f"{prefix}.hpp": eigen_header(plan, real),
            f"{prefix}_eigen_test.cpp": c_test(plan, real, f"{prefix}.hpp", eigen_call),
        }
    return ExportedCode(files, plan)


def operation_report(model: RobotModel, functions: Iterable[str] = DEFAULT_FUNCTIONS) -> str:
    """A table of operation counts of functions for a robot: as written, folded, shared.

    Args:
        functions: as :func:`export_code`, which says what is refused.
    """
    return export_code(model, functions, language="python", prefix="robot").report()


# -- operation counts ------------------------------------------------------------------------------


@dataclass(frozen=True)
class OperationCount:
    """Operations of one function."""

    name: str
    # that the general algorithm performs on this robot, zeros and ones included
    written: int
    # after constants are folded and zeros and ones have vanished
    folded: int
    # after equal expressions are computed once: what is emitted
    shared: int
    # ``shared`` by kind of operation
    kinds: dict[str, int]


class _Counted:
    """A scalar that counts what is done to it."""

    __slots__ = ("tally",)

    def __init__(self, tally: list[int]) -> None:
        self.tally = tally

    def _did(self, *_: object) -> _Counted:
        self.tally[0] += 1
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _did
    sin = cos = sqrt = _did

    def __neg__(self) -> _Counted:
        return self


class _Unshared(Graph):
    """A graph in which equal expressions stay apart."""

    def _node(
        self,
        key: Hashable,
        op: str,
        a: Operand | Key,
        b: Expr | None = None,
    ) -> Expr:
        return super()._node(key if op in ("const", "leaf") else object(), op, a, b)


def count_all(plan: Plan) -> list[OperationCount]:
    counts = []
    for t in plan.traced:
        tally = [0]
        graph = _Unshared()
        inputs = {a.name: [_Counted(tally) for _ in range(a.size)] for a in t.request.inputs}
        t.request.run(NumericTree(plan.model), inputs)
        apart = trace_request(t.request, tree_of(plan.geometry, graph), graph)
        folded = count_operations(apart.flat())["total"]
        kinds = count_operations(t.flat())
        counts.append(OperationCount(t.request.name, tally[0], folded, kinds.pop("total"), kinds))
    return counts


def report_text(counts: Iterable[OperationCount]) -> str:
    order = ("add", "sub", "mul", "div", "sin", "cos", "sqrt")
    head = ["function", "as written", "folded", "shared", *order]
    rows = [
        [
            c.name,
            str(c.written),
            str(c.folded),
            str(c.shared),
            *(str(c.kinds.get(k, 0)) for k in order),
        ]
        for c in counts
    ]
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = [
        "  ".join(
            [
                row[0].ljust(widths[0]),
                *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True)),
            ]
        )
        for row in [head, ["-" * w for w in widths], *rows]
    ]
    return "\n".join(line.rstrip() for line in lines) + "\n"
