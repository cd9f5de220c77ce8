"""One rule for numbers that mean nothing, over every public function.

NaN, infinities, complex numbers, words, dates, lists of unequal length and wrong shapes are refused
by an error of ours. Every function of the package is in one of two tables: those that take numbers,
and those that take none.
"""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.recordings import ExternalWrench, Recording
from robot_dynamics_ros.recordings.compute import compute

MODEL = rd.load_robot("two_link").with_backend("numpy")
TIP = MODEL.link_names[-1]
Q = [0.3, -0.4]
V = [0.5, 0.2]
A = [1.0, -2.0]
SPACE = np.linalg.inv(rd.link_pose(MODEL, Q, MODEL.root_link)) @ rd.link_pose(MODEL, Q, TIP)
WRENCH = [0.1, 0.2, 0.3, 1.0, 2.0, 3.0]
X3 = [0.1, 0.2, 0.3]
T = np.arange(400) * 0.01
MOVED = np.column_stack([np.sin(T), np.cos(T)])
FLOATING = rd.load_urdf(
    rd.robot_path("two_link"), floating_base=True, inertia_check="repair"
).with_backend("numpy")
FLIGHT = np.column_stack([MOVED, np.zeros((400, 4)), np.ones(400), MOVED])
PLATE = ExternalWrench(TIP, T, np.ones((400, 6)))
TRIANGLES = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]
CORNERS = [[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]


def of_model(name, /, **fixed):
    """A call of a function whose first argument is the model, with numbers by name."""
    return lambda **numbers: getattr(rd, name)(MODEL, **fixed, **numbers)


def plain(name, /, **fixed):
    return lambda **numbers: getattr(rd, name)(**fixed, **numbers)


q = {"q": Q}
v = {"v": V}
a = {"a": A}
tau = {"tau": A}
NUMBERS = {
    **{
        n: (of_model(n), q)
        for n in (
            [
                "center_of_mass",
                "center_of_mass_jacobian",
                "centroidal_momentum_matrix",
                "christoffel_symbols",
                "clamp_to_limits",
                "configuration_space_form",
                "gravity_compensation",
                "gravity_forces",
                "link_poses",
                "mass_matrix",
                "mass_matrix_factors",
                "mass_matrix_inverse",
                "potential_energy",
                "draw",
            ]
        )
    },
    **{
        n: (of_model(n), q | v)
        for n in (
            [
                "bias_forces",
                "centroidal_momentum",
                "coriolis_forces",
                "coriolis_matrix",
                "kinetic_energy",
                "link_velocities",
                "subtree_state",
                "linearize",
            ]
        )
    },
    "center_of_mass_paths": (of_model("center_of_mass_paths"), {"q": [Q, Q], "v": [V, V]}),
    **{
        n: (of_model(n), q | v | a)
        for n in (
            [
                "inverse_dynamics",
                "center_of_mass_motion",
                "inverse_dynamics_derivatives",
                "joint_torque_regressor",
                "joint_wrenches",
                "link_accelerations",
                "effort_regressor",
            ]
        )
    },
    **{n: (of_model(n), q | v | tau) for n in ("forward_dynamics", "forward_dynamics_derivatives")},
    "computed_torque": (of_model("computed_torque"), q | v | {"q_d": Q, "v_d": V, "a_d": A}),
    "joint_impedance": (of_model("joint_impedance", stiffness=10.0), q | v | {"q_d": Q, "v_d": V}),
    **{
        n: (of_model(n), q | v | {"q_d": Q, "v_d": V, "kp": [1.0, 2.0], "kd": [1.0, 2.0]})
        for n in ("feedforward_pd", "pd_gravity")
    },
    **{
        n: (of_model(n, link=TIP), q) for n in ("analytical_jacobian", "link_pose", "inertia_about")
    },
    **{n: (of_model(n, link=TIP), q | v) for n in ("analytical_jacobian_derivative",)},
    "jacobian": (of_model("jacobian", link=TIP), q | {"offset": X3}),
    "jacobian_derivative": (of_model("jacobian_derivative", link=TIP), q | v | {"offset": X3}),
    "operational_space_inertia": (
        of_model("operational_space_inertia", link=TIP, damping=1e-3),
        q | {"offset": X3},
    ),
    "cartesian_impedance": (
        lambda **n: rd.cartesian_impedance(MODEL, **n, link=TIP),
        q | v | {"q_d": Q},
    ),
    "contact_wrench": (of_model("contact_wrench", link=TIP), q | {"effort": A}),
    "euler_matrix": (plain("euler_matrix"), {"inertia": np.diag([2.0, 2.0, 1.0]).tolist()}),
    "body_wrenches": (lambda q, w: rd.body_wrenches(MODEL, {TIP: w}, q), q | {"w": WRENCH}),
    "link_wrenches": (lambda q, w: rd.link_wrenches(MODEL, {TIP: w}, q), q | {"w": WRENCH}),
    "external_efforts": (lambda q, w: rd.external_efforts(MODEL, q, {TIP: w}), q | {"w": WRENCH}),
    "wrench_on_link": (
        of_model("wrench_on_link", link=TIP),
        q | {"force": X3, "moment": X3, "offset": X3},
    ),
    "wrench_balance": (of_model("wrench_balance", link=TIP), q | v | a),
    "joint_wrench": (of_model("joint_wrench", joint=MODEL.joint_names[0]), q | v | a),
    "force_residual": (of_model("force_residual"), q | v | a | tau),
    "difference": (of_model("difference"), {"q0": Q, "q1": V}),
    "integrate": (of_model("integrate"), q | {"dv": V}),
    "inverse_kinematics": (
        of_model("inverse_kinematics", link=TIP, starts=1, orientation=False),
        {"pose": SPACE, "start": Q},
    ),
    "motion": (of_model("motion", point_on=TIP), q | v | a | {"offset": X3, "offset_velocity": X3}),
    "plan_move": (of_model("plan_move"), {"q0": Q, "q1": V}),
    "payload_motion": (of_model("payload_motion", link=TIP, duration=1.0, tries=1), {"q0": Q}),
    "rollout": (of_model("rollout", dt=1e-3, steps=2), q | v | tau),
    "swap_halves": (rd.swap_halves, {"x": WRENCH}),
    **{
        n: (plain(n, library="mujoco"), {"q": [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], "v": WRENCH})
        for n in ("floating_base_to", "floating_base_from")
    },
    "simulate": (of_model("simulate", duration=0.002), {"q0": Q, "v0": V}),
    "velocity_products": (plain("velocity_products"), v),
    "identify": (of_model("identify"), {"t": T, "q": MOVED, "effort": MOVED}),
    "identify_segments": (
        lambda **n: rd.identify_segments(FLOATING, **n, external=[PLATE]),
        {"t": T, "q": FLIGHT},
    ),
    "estimate_payload": (
        of_model("estimate_payload", link=TIP),
        {"t": T, "q": MOVED, "effort": MOVED},
    ),
    "estimate_payload_at_rest": (
        of_model("estimate_payload_at_rest", link=TIP),
        {"q": MOVED[:60], "effort": MOVED[:60]},
    ),
    "discretize": (plain("discretize", dt=0.01), {"A": np.eye(2), "B": np.eye(2)}),
    "lqr": (plain("lqr"), {"A": np.eye(2), "B": np.eye(2), "Q": np.eye(2), "R": np.eye(2)}),
    "check_finite": (plain("check_finite"), {"values": Q}),
    "inertia_of_cuboid": (plain("inertia_of_cuboid", mass=1.0), {"size": X3}),
    "inertia_of_ellipsoid": (plain("inertia_of_ellipsoid", mass=1.0), {"semi_axes": X3}),
    "inertia_of_mesh": (
        plain("inertia_of_mesh", triangles=TRIANGLES, mass=1.0),
        {"vertices": CORNERS},
    ),
    "inertia_of_density": (
        plain("inertia_of_density", density=lambda *x: 1.0, tolerance=1e-2),
        {"lower": [0.0, 0, 0], "upper": X3},
    ),
    **{
        f"inertia_of_{n}": (plain(f"inertia_of_{n}"), {"radius": 0.1, **more, "density": 10.0})
        for n, more in (
            ("capsule", {"length": 0.2}),
            ("cone", {"height": 0.2}),
            ("cylinder", {"length": 0.2}),
            ("sphere", {}),
        )
    },
    **{
        f"{n}_constraint": (plain(f"{n}_constraint", name="c", a="a", b="b"), more)
        for n, more in (
            ("point", {"point_a": X3, "point_b": X3}),
            ("hinge", {"point_a": X3, "axis_a": X3}),
            ("weld", {"point_b": X3, "rpy_a": X3}),
            ("distance", {"point_a": X3, "length": 0.2}),
            ("gear", {"ratio": 2.0, "offset": 0.1}),
        )
    },
    "rolling_constraint": (
        plain("rolling_constraint", name="c", plane="world", wheel="b"),
        {"radius": 0.1, "center": X3, "normal": X3},
    ),
    "nanoseconds": (plain("nanoseconds"), {"seconds": 1.5}),
    "independent_columns": (plain("independent_columns", tolerance=1e-9), {"W": np.eye(3)}),
    "limb": (lambda **n: rd.limb(2, **n), {"lengths": V, "masses": V, "gravity": X3}),
    "chain": (lambda **n: rd.chain(2, **n), {"length": 0.2, "mass": 1.0, "gravity": X3}),
    "load_urdf": (lambda **n: rd.load_urdf(rd.robot_path("two_link"), **n), {"gravity": X3}),
    "from_denavit_hartenberg": (
        lambda rows: rd.from_denavit_hartenberg(rows),
        {"rows": [[0.1, 0.2, 0.3, 0.4]]},
    ),
    "run_plants": (
        lambda commands: rd.run_plants([rd.Plant(MODEL)], commands, 2),
        {"commands": [A]},
    ),
}

NO_NUMBERS = set(
    [
        "add_rotors",
        "all_joint_names",
        "array_functions",
        "available_backends",
        "backend_of",
        "backend_status",
        "base_parameters",
        "bind",
        "carrying",
        "casadi_function",
        "combined_inertia",
        "compare",
        "compare_estimators",
        "denavit_hartenberg",
        "design_excitation",
        "export_code",
        "export_controller",
        "find_robot",
        "find_torque_constants",
        "findings",
        "friction_file",
        "identify_each",
        "identify_recordings",
        "inertia_of_mesh_file",
        "inertial_parameters",
        "jax_functions",
        "kernel",
        "load_constraints",
        "load_robot",
        "make_integrator",
        "monte_carlo",
        "neutral",
        "open_view",
        "operation_report",
        "parameter_names",
        "parse_urdf",
        "pfaffian_constraint",
        "plot_identification",
        "plot_joint",
        "plot_run",
        "prepare",
        "prepared",
        "random_configuration",
        "random_model_error",
        "report_html",
        "report_json",
        "report_text",
        "robot_model_error",
        "robot_names",
        "robot_path",
        "symbolic",
        "to_urdf",
        "validate",
    ]
)
"""Functions of models, names, files, and of what others have checked: settings, recordings and
results.
"""


def spoiled(value, how):
    """``value`` made unusable."""
    array = np.array(value, dtype=float)
    if how in ("nan", "inf"):
        array[(-1,) * array.ndim] = float(how)
        return array if array.ndim else float(array)
    return {
        "complex": lambda: array + 1j,
        "words": lambda: np.full(array.shape, "a").tolist(),
        "dates": lambda: np.full(array.shape, "2020-01-01", dtype="datetime64[D]"),
        "objects": lambda: [object()] * max(1, array.size),
        "shape": lambda: (
            np.concatenate([array, array[..., :1]], axis=-1) if array.ndim else np.ones(7)
        ),
    }[how]()


BAD = ("nan", "inf", "complex", "words", "dates", "objects", "shape")
ANY_LENGTH = {
    ("discretize", "B"),
    ("lqr", "B"),
    ("check_finite", "values"),
    ("velocity_products", "v"),
    ("independent_columns", "W"),
    ("identify", "t"),
    ("identify_segments", "t"),
    ("nanoseconds", "seconds"),
}


def test_every_public_function_is_in_one_of_the_tables():
    functions = {n for n in dir(rd) if not n.startswith("_") and inspect.isroutine(getattr(rd, n))}
    assert functions == set(NUMBERS) | NO_NUMBERS
    assert not set(NUMBERS) & NO_NUMBERS


@pytest.mark.parametrize("name", sorted(NUMBERS))
def test_numbers_that_mean_nothing_are_refused(name):
    call, numbers = NUMBERS[name]
    wrong = []
    for word in numbers:
        for how in BAD:
            if how == "shape" and (name, word) in ANY_LENGTH:
                continue
            try:
                call(**{**numbers, word: spoiled(numbers[word], how)})
            except RobotDynamicsError as error:
                if len(str(error)) < 16:
                    wrong.append((word, how, "says nothing", str(error)))
            except Exception as error:  # noqa: BLE001
                wrong.append((word, how, repr(error)[:150]))
            else:
                wrong.append((word, how, "taken"))
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize("name", sorted(NUMBERS))
def test_good_numbers_are_taken(name):
    call, numbers = NUMBERS[name]
    if name in (
        "draw",
        "identify",
        "estimate_payload",
        "estimate_payload_at_rest",
        "identify_segments",
        "payload_motion",
    ):
        pytest.skip("tested where it belongs: a picture, or data that must tell something")
    try:
        call(**numbers)
    except rd.BackendError as error:
        pytest.skip(f"needs an extra: {error}")


RECORDING = Recording.of(MODEL, T, MOVED)


@pytest.mark.parametrize("wrong", [{"window": 3}, np.zeros(3), "default", 0, []], ids=type)
@pytest.mark.parametrize(
    ("call", "word", "kind"),
    [
        (lambda s: rd.identify(MODEL, T, MOVED, MOVED, s), "settings", "IdentificationSettings"),
        (
            lambda s: rd.identify_recordings(MODEL, RECORDING, s),
            "settings",
            "IdentificationSettings",
        ),
        (lambda s: rd.design_excitation(MODEL, s), "settings", "DesignSettings"),
        (lambda s: compute(MODEL, RECORDING, s), "settings", "Settings"),
        (lambda s: rd.Guards(MODEL, s), "settings", "GuardSettings"),
        (lambda s: rd.JointController(MODEL, guards=s), "guards", "GuardSettings"),
        (lambda s: rd.JointController(MODEL, options=s), "options", "ControllerOptions"),
        (lambda s: rd.Sensors(MODEL, s), "settings", "SensorSettings"),
    ],
)
def test_what_is_no_settings_is_refused_by_name(call, word, kind, wrong):
    with pytest.raises(
        rd.ArgumentError, match=rf"^{word}.*expected {kind} or None, got.*{word}={kind}\(…\)"
    ):
        call(wrong)
