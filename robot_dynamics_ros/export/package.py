"""The entry point of code export."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from robot_dynamics_ros.dynamics.engine.codegen.c_source import REALS
from robot_dynamics_ros.dynamics.engine.codegen.graph import Graph
from robot_dynamics_ros.equations.geometry import Geometry
from robot_dynamics_ros.equations.names import identifier_of
from robot_dynamics_ros.equations.parameters import Symbols
from robot_dynamics_ros.errors import ArgumentError, UnknownNameError
from robot_dynamics_ros.export.c99 import c_header, c_source
from robot_dynamics_ros.export.c99_test import c_test, cmake
from robot_dynamics_ros.export.eigen_header import eigen_call, eigen_header
from robot_dynamics_ros.export.functions import DEFAULT, requests_for, run_on, trace_request
from robot_dynamics_ros.export.numpy_module import numpy_module
from robot_dynamics_ros.export.plan import Plan, check_names, check_rename, check_size, checked_prefix, tree_of
from robot_dynamics_ros.export.report import OperationCount, count_all, report_text
from robot_dynamics_ros.export.step import Joints, composed_step, parts_of_step
from robot_dynamics_ros.model.description import JointType
from robot_dynamics_ros.model.motors import DCMotor, add_rotors, check_motors
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.simulation.integrators.methods import TABLEAUS

LANGUAGES = ("c99", "cpp", "python")
FRICTIONS = ("none", "viscous", "smooth")
INTEGRATORS = ("semi_implicit_euler", *TABLEAUS)
MAX_OPERATIONS = 100_000


@dataclass(frozen=True, eq=False)
class ExportedCode:
    """Emitted files.

    Attributes:
        files: file name, with folders before it → text.
        plan: what was emitted.
    """

    files: Mapping[str, str]
    plan: Plan

    def write(self, directory: str | Path) -> list[Path]:
        """Write all files into a directory, which is made if need be, and return their paths."""
        target = Path(directory)
        target.mkdir(parents=True, exist_ok=True)
        paths = []
        for name, text in self.files.items():
            path = target / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode("utf-8"))
            paths.append(path)
        return paths

    def operations(self) -> list[OperationCount]:
        """How many operations each function takes, before and after folding and sharing."""
        return count_all(self.plan)

    def report(self) -> str:
        """The same as a table."""
        return report_text(self.operations())


def export_code(
    model: RobotModel,
    functions: Iterable[str] = DEFAULT,
    *,
    language: str = "c99",
    real: str = "double",
    prefix: str | None = None,
    links: Iterable[str] | None = None,
    symbols: Symbols = None,
    external: Iterable[str] = (),
    motors: Mapping[str, DCMotor] | None = None,
    integrator: str = "rk4",
    friction: str = "viscous",
    smooth_velocity: float = 1e-3,
    rename: Mapping[str, str] | None = None,
    max_operations: int = MAX_OPERATIONS,
) -> ExportedCode:
    """Source code of a robot's dynamics that does not need this package at run time.

    The same arguments give the same bytes, on every run.

    Args:
        functions: keys of :data:`~robot_dynamics_ros.export.functions.FUNCTIONS`, and ``"step"``.
        language: ``"c99"``: header, source, test program and CMake file; ``"cpp"``: these and a C++ header with Eigen
            signatures; ``"python"``: one module on NumPy.
        real: ``"double"`` or ``"float"`` (C and C++).
        prefix: of all names in C, and the files' name; the robot's name if not given.
        links: links of the functions about a link (jacobian, link_pose, …); the last link if not given.
        symbols: numbers to be changed at run time: parameter → name or ``"auto"``, as :func:`robot_dynamics_ros.symbolic`
            takes them; they become members of a structure that every function takes.
        external: links on which known wrenches act; the functions then take an array of (len(external), 6).
        motors: joint → motor; the rotors' inertia is added to all functions, and the step takes voltages there.
        integrator: of the step: ``"semi_implicit_euler"`` or an explicit Runge-Kutta method by name.
        friction: joint friction in the step: ``"none"``, ``"viscous"``, or ``"smooth"``, which adds dry friction
            F v / √(v² + smooth_velocity²).
        smooth_velocity: rad/s or m/s, for the dry friction of ``"smooth"``.
        rename: joint or link → identifier, where the one made of its name clashes.
        max_operations: refuse functions that take more.

    Returns:
        the files.

    Raises:
        UnknownNameError: a function, link, joint, parameter, integrator, … that does not exist.
        ArgumentError: names that are keywords or clash.
        ModelError: a robot without joints, a function that this robot does not have, or one that is too large.

    >>> import robot_dynamics_ros as rd
    >>> sorted(rd.export_code(rd.limb(2), ["mass_matrix"], prefix="limb").files)
    ['CMakeLists.txt', 'limb.c', 'limb.h', 'limb_test.c']
    """
    for kind, word, known in (
        ("language", language, LANGUAGES),
        ("real type", real, REALS),
        ("integrator", integrator, INTEGRATORS),
        ("friction", friction, FRICTIONS),
    ):
        if word not in known:
            raise UnknownNameError(kind, word, known)
    if not smooth_velocity > 0.0:
        raise ArgumentError("must be positive", where="smooth_velocity", got=smooth_velocity)
    prefix, words = checked_prefix(model, prefix), dict(rename or {})
    check_rename(model, words)
    names = list(dict.fromkeys(functions))
    step = "step" in names
    if step:
        names.remove("step")
        if "forward_dynamics" not in names:
            names.insert(0, "forward_dynamics")
    if motors:
        model = add_rotors(model, motors)
    geometry, loaded = Geometry(model, symbols), tuple(dict.fromkeys(external))
    joint_words = tuple((name, words.get(name) or identifier_of(name)) for name in model.joint_names)
    chosen = tuple(dict.fromkeys(links)) if links is not None else (model.link_names[-1],)
    for link in chosen:
        model.link_index(link)
    requests = requests_for(model, names, chosen, loaded, words)
    check_names(prefix, joint_words, requests, step)
    check_size(model, [r.kind for r in requests], max_operations)
    graph = Graph()
    tree = tree_of(geometry, graph)
    zero = [0.0] * model.nv
    joints = Joints(
        zero if friction == "none" else model.damping.tolist(),
        model.friction.tolist() if friction == "smooth" else zero,
        smooth_velocity,
        tuple((n, model.v_slice(n).start, motors[n]) for n in check_motors(model, motors)) if motors else (),
        tuple(model.q_slice(n).start for n in model.joint_names if model.joint(n).type is JointType.FLOATING),
    )
    plan = Plan(
        model=model,
        prefix=prefix,
        traced=tuple(trace_request(r, partial(run_on, r, tree), graph) for r in requests),
        joint_words=joint_words,
        stepping=tuple(trace_request(*part, graph) for part in parts_of_step(tree, joints)) if step else (),
        composed=composed_step(model, joints, loaded, integrator) if step else (),
        joints=joints,
        external=loaded,
        geometry=geometry,
    )
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


def operation_report(model: RobotModel, functions: Iterable[str] = DEFAULT) -> str:
    """A table of operation counts of functions for a robot: as written, folded, shared.

    Args:
        functions: as :func:`export_code`.

    Raises:
        RobotDynamicsError: as :func:`export_code`.
    """
    return export_code(model, functions, language="python", prefix="robot").report()
