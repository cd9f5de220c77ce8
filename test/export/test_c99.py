"""Emitted C: compiled with every warning an error, held to the Python numbers, clean under valgrind
and sanitizers.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.c_code import COMPILERS, Library, compile_c, needs_compiler
from support.example_robots import name_of, sound_example_urdfs
from support.pinocchio_bridge import PinocchioBridge
from support.random_trees import ALL_TYPES, ONE_DOF, random_model, random_state

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import ModelWarning
from robot_dynamics_ros.export.plan import EXPORTED_FUNCTIONS
from robot_dynamics_ros.model import DCMotor
from robot_dynamics_ros.simulation import JointFriction

pytestmark = needs_compiler

MOTORS = {
    "shoulder": DCMotor(
        2.0, 0.12, 0.11, inductance=4e-3, gear_ratio=30, rotor_inertia=2e-5, max_voltage=8.0
    ),
    "elbow": DCMotor(3.0, 0.08, gear_ratio=20, rotor_inertia=1e-5, max_current=1.5),
}
EVERYTHING = [*EXPORTED_FUNCTIONS, "step"]


def close(got, expected, tolerance=1e-12):
    assert_allclose(
        got, expected, rtol=tolerance, atol=tolerance * max(1.0, np.abs(expected).max(initial=0.0))
    )


def compare(library, model, rng, count=20, functions=EXPORTED_FUNCTIONS):
    """Every function at random states against the Python one."""
    n = model.nv
    link = model.link_names[-1]
    for _ in range(count):
        q, v, a = random_state(model, rng)
        tau = rng.normal(size=n) * 5
        A, B = rd.linearize(model, q, v, tau)
        Av, _ = rd.linearize(model, q, v, tau, viscous=True)
        word = next(x for x in dir_of(library, "jacobian"))
        nj = len(model.joint_names)
        cases = {
            "inverse_dynamics": ([q, v, a], [rd.inverse_dynamics(model, q, v, a)]),
            "forward_dynamics": ([q, v, tau], [rd.forward_dynamics(model, q, v, tau)]),
            "mass_matrix": ([q], [rd.mass_matrix(model, q)]),
            "mass_matrix_inverse": ([q], [rd.mass_matrix_inverse(model, q)]),
            "bias_forces": ([q, v], [rd.bias_forces(model, q, v)]),
            "gravity_forces": ([q], [rd.gravity_forces(model, q)]),
            "coriolis_matrix": ([q, v], [rd.coriolis_matrix(model, q, v)]),
            f"jacobian_{word}": ([q], [rd.jacobian(model, q, link)]),
            f"jacobian_rate_{word}": ([q, v], [rd.jacobian_derivative(model, q, v, link)]),
            f"link_pose_{word}": ([q], [rd.link_pose(model, q, link)]),
            "center_of_mass": ([q], [rd.center_of_mass(model, q)]),
            "joint_wrenches": ([q, v, a], [rd.joint_wrenches(model, q, v, a).reshape(nj, 6)]),
            "inverse_dynamics_derivatives": (
                [q, v, a],
                list(rd.inverse_dynamics_derivatives(model, q, v, a)),
            ),
            "linearization": ([q, v, tau], [A, B]),
            "linearization_with_friction": ([q, v, tau], [Av, B])
            if not model.damping.any()
            else None,
        }
        for name, case in cases.items():
            if case is None:
                continue
            inputs, expected = case
            got = library.call(name, inputs, *(e.shape for e in expected))
            for x, y in zip(got if len(expected) > 1 else [got], expected, strict=True):
                # what divides by M loses the digits that M's condition costs, in both
                loss = np.linalg.cond(rd.mass_matrix(model, q)) if name in DIVIDE else 1.0
                close(x, y, 1e-12 * max(1.0, loss / 100))
        close(library.call("kinetic_energy", [q, v]), rd.kinetic_energy(model, q, v))
        close(library.call("potential_energy", [q]), rd.potential_energy(model, q))


DIVIDE = {"forward_dynamics", "mass_matrix_factors", "mass_matrix_inverse", "mass_matrix_solve"}


def dir_of(library, kind):
    return [library.word]


def built(tmp_path, model, functions=EVERYTHING, **options):
    code = rd.export_code(model, functions, prefix="bot", **options)
    library = Library(code, tmp_path, options.get("real", "double"))
    library.word = next(
        (
            t.request.name[len("jacobian_") :]
            for t in code.plan.traced
            if t.request.kind == "jacobian"
        ),
        "",
    )
    return library


ROBOTS = {
    "three_link": lambda: rd.load_robot("three_link"),
    "random tree": lambda: random_model(4, 4, types=ONE_DOF, armature=True),
    "floating and planar": lambda: random_model(
        2, 3, types=ALL_TYPES, floating_base=True, armature=True
    ),
    "mimics": lambda: random_model(3, 4, types=ONE_DOF, mimic=0.5, friction=True),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ROBOTS)
def test_every_function_at_random_states(name, tmp_path):
    model = ROBOTS[name]()
    compare(built(tmp_path, model), model, np.random.default_rng(1))


def test_a_six_axis_arm(tmp_path):
    model = rd.load_robot("six_axis")
    names = ["inverse_dynamics", "forward_dynamics", "mass_matrix", "jacobian"]
    library = built(tmp_path, model, names)
    rng = np.random.default_rng(0)
    for _ in range(50):
        q, v, a = random_state(model, rng)
        close(
            library.call("inverse_dynamics", [q, v, a], (6,)), rd.inverse_dynamics(model, q, v, a)
        )
        tau = rd.inverse_dynamics(model, q, v, a)
        M = rd.mass_matrix(model, q)
        close(
            M @ library.call("forward_dynamics", [q, v, tau], (6,)),
            M @ rd.forward_dynamics(model, q, v, tau),
            1e-11,
        )
        close(library.call("mass_matrix", [q], (6, 6)), M)
        close(
            library.call(f"jacobian_{library.word}", [q], (6, 6)),
            rd.jacobian(model, q, model.link_names[-1]),
        )


# inertias that must be repaired first; Pinocchio computes with them as they are
IRREGULAR = ("romeo.urdf", "romeo_laas_small.urdf")
# the last one has forward dynamics in spite of its size
REAL_ROBOTS = [
    path
    for k, path in enumerate(sound_example_urdfs())
    if k % 6 == 0 or path.name in (*IRREGULAR, "icub.urdf")
]


@pytest.mark.slow
@pytest.mark.parametrize("path", REAL_ROBOTS, ids=name_of)
def test_real_robots_pass_their_own_test_and_agree_with_pinocchio(path, tmp_path):
    """Angles written with 9 to 12 digits give rotations that are almost, and not quite, by a right
    angle.
    """
    pytest.importorskip("pinocchio")
    irregular = path.name in IRREGULAR
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        model = rd.load_urdf(path, inertia_check="repair" if irregular else "warn")
    if model.nv == 0:
        pytest.skip("no moving joint")
    names = [
        "inverse_dynamics",
        *(["forward_dynamics"] if model.nv < 10 or path.stem == "icub" else []),
    ]
    library = built(tmp_path, model, names)
    program = compile_c(tmp_path, ["bot_test.c", "./library.so"], "test", "-O0")
    done = subprocess.run([program], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    if irregular:
        return
    q, v, a = random_state(model, 1)
    expected = PinocchioBridge(model, path.read_text()).inverse_dynamics(q, v, a)
    close(library.call("inverse_dynamics", [q, v, a], (model.nv,)), expected)
    close(rd.inverse_dynamics(model, q, v, a), expected)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("real", ["double", "float"])
def test_the_test_program_passes_and_notices_a_wrong_number(tmp_path, compiler, real):
    code = rd.export_code(rd.load_robot("three_link"), EVERYTHING, prefix="arm", real=real)
    code.write(tmp_path)
    test = compile_c(tmp_path, ["arm_test.c"], "arm_test.o", "-O0", "-c", compiler=compiler).name
    program = compile_c(tmp_path, ["arm.c", test], "good", "-O0", compiler=compiler)
    done = subprocess.run([program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and "FAILED" not in done.stdout
    # state_rates comes with the step
    assert done.stdout.count(" ok") == len(EVERYTHING) + 1
    source = (tmp_path / "arm.c").read_text()
    suffix = "f" if real == "float" else ""
    body = source[source.index("_gravity_forces(") :]
    number = re.search(r"= (\d+\.\d{3,}f?) \*", body)[1]
    changed = body.replace(number, f"{float(number.rstrip('f')) * 2.0!r}{suffix}", 1)
    (tmp_path / "arm.c").write_text(source.replace(body, changed))
    program = compile_c(tmp_path, ["arm.c", test], "bad", "-O0", compiler=compiler)
    done = subprocess.run([program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1 and "FAILED" in done.stdout


def test_optimized_and_as_cpp_header(tmp_path):
    code = rd.export_code(
        rd.load_robot("two_link"), EVERYTHING, prefix="arm", symbols="auto", motors=MOTORS
    )
    code.write(tmp_path)
    program = compile_c(tmp_path, ["arm.c", "arm_test.c"], "t", "-O3")
    assert subprocess.run([program], capture_output=True, timeout=60, check=False).returncode == 0
    if shutil.which("g++"):
        (tmp_path / "use.cpp").write_text(
            '#include "arm.h"\nint main() { double q[2] = {0, 0}, M[4]; '
            "arm_mass_matrix(&arm_default_parameters, q, M); return M[0] > 0 ? 0 : 1; }\n"
        )
        subprocess.run(["gcc", "-std=c99", "-c", "arm.c"], cwd=tmp_path, check=True, timeout=60)
        subprocess.run(
            ["g++", "-Wall", "-Wextra", "-Werror", "use.cpp", "arm.o", "-lm", "-o", "cpp"],
            cwd=tmp_path,
            check=True,
            timeout=60,
        )
        subprocess.run([tmp_path / "cpp"], check=True, timeout=60)


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="no valgrind here")
def test_valgrind_finds_nothing(tmp_path):
    code = rd.export_code(
        random_model(2, 1, types=ALL_TYPES, floating_base=True), EVERYTHING, prefix="bot"
    )
    code.write(tmp_path)
    program = compile_c(tmp_path, ["bot.c", "bot_test.c"], "t", "-O0", "-g")
    done = subprocess.run(
        ["valgrind", "--error-exitcode=9", "--leak-check=full", program],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_sanitizers_find_nothing(tmp_path):
    code = rd.export_code(
        rd.load_robot("two_link"),
        EVERYTHING,
        prefix="arm",
        motors=MOTORS,
        friction="smooth",
        external=["tip"],
    )
    code.write(tmp_path)
    program = compile_c(
        tmp_path,
        ["arm.c", "arm_test.c"],
        "t",
        "-O1",
        "-g",
        "-fsanitize=address,undefined",
        "-fno-sanitize-recover=all",
    )
    done = subprocess.run([program], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nm") is None, reason="no nm here")
def test_nothing_but_math_is_needed(tmp_path):
    code = rd.export_code(
        random_model(2, 1, types=ALL_TYPES, floating_base=True),
        EVERYTHING,
        prefix="bot",
        friction="smooth",
    )
    code.write(tmp_path)
    subprocess.run(
        [COMPILERS[0], "-std=c99", "-O0", "-c", "bot.c"], cwd=tmp_path, check=True, timeout=200
    )
    listed = subprocess.run(
        ["nm", "-u", "bot.o"], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    needed = {line.split()[-1] for line in listed.splitlines()}
    assert needed <= {
        "sin",
        "cos",
        "sincos",
        "sqrt",
        "memcpy",
        "memset",
        "_GLOBAL_OFFSET_TABLE_",
        "__stack_chk_fail",
    }


@pytest.mark.skipif(
    shutil.which("cmake") is None or shutil.which("make") is None, reason="no CMake here"
)
def test_the_cmake_file_builds_and_tests(tmp_path):
    rd.export_code(rd.load_robot("two_link"), prefix="arm").write(tmp_path)
    for command in (
        ["cmake", "-S", ".", "-B", "build"],
        ["cmake", "--build", "build"],
        ["ctest", "--test-dir", "build", "--output-on-failure"],
    ):
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, timeout=200, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert "100% tests passed" in done.stdout


def test_outputs_may_be_inputs(tmp_path):
    model = rd.load_robot("three_link")
    library = built(tmp_path, model, ["forward_dynamics", "jacobian"])
    q, v, tau = np.random.default_rng(0).normal(size=(3, 3))
    expected = rd.forward_dynamics(model, q, v, tau)
    buffer = tau.copy()
    pointer = [x.ctypes.data_as(ctypes.c_void_p) for x in (q, v, buffer, buffer)]
    library.library.bot_forward_dynamics(*pointer)
    close(buffer, expected)


def test_parameters_are_changed_at_run_time(tmp_path):
    model = rd.load_robot("two_link")
    chosen = {
        "mass:forearm": "m2",
        "com:forearm.x": "lc2",
        "origin:elbow.x": "l1",
        "gravity": "g",
        "inertia:forearm.yy": "I2",
    }
    library = built(
        tmp_path,
        model,
        ["inverse_dynamics", "mass_matrix", "potential_energy", "jacobian", "step"],
        symbols=chosen,
    )
    header = (tmp_path / "bot.h").read_text()
    order = re.findall(r"^    double (\w+); /\*", header, re.MULTILINE)
    assert sorted(order) == sorted(chosen.values())
    values = {"m2": 3.1, "lc2": 0.22, "l1": 0.61, "g": 3.7, "I2": 0.036}
    import dataclasses

    d = model.description
    links = [
        dataclasses.replace(
            x, inertia=rd.Inertia(3.1, np.array([0.22, 0, 0]), np.diag([0.0031, 0.036, 0.0349]))
        )
        if x.name == "forearm"
        else x
        for x in d.links
    ]
    joints = [
        dataclasses.replace(j, origin=rd.Pose(j.origin.rotation, np.array([0.61, 0, 0])))
        if j.name == "elbow"
        else j
        for j in d.joints
    ]
    changed = model.replace(
        description=dataclasses.replace(d, links=tuple(links), joints=tuple(joints)),
        gravity=(0, 0, -3.7),
    )
    given = np.array([values[name] for name in order])
    rng = np.random.default_rng(5)
    default = ctypes.addressof(
        (ctypes.c_double * len(order)).in_dll(library.library, "bot_default_parameters")
    )
    for _ in range(5):
        q, v, a = rng.normal(size=(3, 2))
        for pointer, robot in ((given.ctypes.data, changed), (default, model)):
            close(
                library.call("inverse_dynamics", [q, v, a], (2,), parameters=pointer),
                rd.inverse_dynamics(robot, q, v, a),
            )
            close(
                library.call("mass_matrix", [q], (2, 2), parameters=pointer),
                rd.mass_matrix(robot, q),
            )
            close(
                library.call(f"jacobian_{library.word}", [q], (6, 2), parameters=pointer),
                rd.jacobian(robot, q, model.link_names[-1]),
            )


def test_external_wrenches(tmp_path):
    model = rd.load_robot("three_link")
    library = built(
        tmp_path,
        model,
        ["inverse_dynamics", "forward_dynamics", "joint_wrenches", "step"],
        external=["tool0", "upper_arm"],
    )
    rng = np.random.default_rng(0)
    q, v, a = rng.normal(size=(3, 3))
    wrenches = rng.normal(size=(2, 6))
    external = {"tool0": wrenches[0], "upper_arm": wrenches[1]}
    close(
        library.call("inverse_dynamics", [q, v, a, wrenches], (3,)),
        rd.inverse_dynamics(model, q, v, a, external=external),
    )
    close(
        library.call("forward_dynamics", [q, v, a, wrenches], (3,)),
        rd.forward_dynamics(model, q, v, a, external=external),
    )
    close(
        library.call("joint_wrenches", [q, v, a, wrenches], (3, 6)),
        rd.joint_wrenches(model, q, v, a, external=external),
    )


@pytest.mark.parametrize("integrator", ["rk4", "rk8", "midpoint"])
def test_the_step_follows_the_plant(tmp_path, integrator):
    model = rd.load_robot("three_link")
    library = built(tmp_path, model, ["step"], integrator=integrator)
    plant = rd.Plant(
        model,
        1e-3,
        integrator=integrator,
        friction=JointFriction(coulomb=0.0),
        stops=None,
        limiter=False,
        q0=[0.3, -0.4, 0.8],
        v0=[0.5, 0.0, -1.0],
    )
    state = [plant.q, plant.v]
    for k in range(400):
        command = np.array([np.sin(k / 50), -8.0, 2.0])
        plant.step(command)
        state = library.step(state, command, 1e-3)
    assert_allclose(state[0], plant.q, atol=1e-10)
    assert_allclose(state[1], plant.v, atol=1e-10)


def test_the_step_of_a_floating_robot_follows_the_plant(tmp_path):
    model = random_model(1, 2, types=ONE_DOF, floating_base=True)
    library = built(tmp_path, model, ["step"])
    q, v, _ = random_state(model, np.random.default_rng(0))
    plant = rd.Plant(
        model, 1e-3, integrator="rk4", friction=False, stops=None, limiter=False, q0=q, v0=v
    )
    state = [plant.q, plant.v]
    for _ in range(200):
        plant.step(np.zeros(model.nv))
        state = library.step(state, np.zeros(model.nv), 1e-3)
    assert_allclose(state[0], plant.q, atol=1e-9)
    assert_allclose(state[1], plant.v, atol=1e-9)


def test_motors_follow_the_plant(tmp_path):
    """Voltages in, one motor with inductance and one without, saturating in voltage and current."""
    model = rd.load_robot("two_link")
    library = built(tmp_path, model, ["step"], motors=MOTORS)
    plant = rd.Plant(
        model,
        2e-4,
        integrator="rk4",
        motors=MOTORS,
        friction=JointFriction(coulomb=0.0),
        stops=None,
        limiter=False,
        q0=[0.2, 0.1],
    )
    state = [plant.q, plant.v, np.zeros(2)]
    for k in range(1500):
        command = np.array([12.0 * np.sin(k / 300), 7.0 * np.cos(k / 200)])
        plant.step(command)
        state = library.step(state, command, 2e-4)
    assert_allclose(state[0], plant.q, atol=1e-8)
    assert_allclose(state[1], plant.v, atol=1e-7)
    assert_allclose(state[2][0], plant.currents[0], atol=1e-8)
