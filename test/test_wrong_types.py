"""Each public function, class and method, called with wrong types: an error of this package that
names the argument, never a raw one of Python.
"""

from __future__ import annotations

import enum
import inspect
import warnings
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import RobotDynamicsError

MODEL = rd.load_robot("two_link")
Q = np.array([0.3, -0.2])
# an array of one object is None in disguise, and has no length
WRONG = ("no", None, object(), np.ones((2, 3, 4)), np.array(None), np.zeros((0, 2)))
RIGHT = {
    "model": MODEL,
    "q": Q,
    "v": Q,
    "a": Q,
    "tau": Q,
    "effort": Q,
    "link": MODEL.link_names[-1],
    "frame": MODEL.link_names[-1],
    "payload": rd.Payload(MODEL.link_names[-1], 1.0),
    "mass": 1.0,
    "dt": 0.01,
    "steps": 2,
    "density": 1000.0,
}
# what opens windows, starts processes or takes seconds has tests of its own
LEFT_OUT = {
    "view",
    "show",
    "film",
    "export",
    "export_controller",
    "monte_carlo",
    "design_excitation",
}
FUNCTIONS = {
    name: getattr(rd, name)
    for name in rd.__all__
    if callable(getattr(rd, name))
    and not inspect.isclass(getattr(rd, name))
    and name not in LEFT_OUT
}


def calls(function: Callable) -> Iterator[tuple[str, dict[str, object]]]:
    """One wrong argument at a time where the others are known, else all of them at once."""
    parameters = {
        name: p
        for name, p in inspect.signature(function).parameters.items()
        if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    }
    needed = [name for name, p in parameters.items() if p.default is p.empty]
    for wrong in WRONG:
        yield f"all {wrong!r:.20}", dict.fromkeys(needed, wrong)
        right = {name: RIGHT.get(name, wrong) for name in needed}
        yield f"unknown ones {wrong!r:.20}", right
        for name in parameters:
            yield f"{name} = {wrong!r:.20}", {**right, name: wrong}


def raw_errors(function: Callable) -> list[str]:
    found = {}
    for what, words in calls(function):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = function(**words)
            # a viewer that stays open hears, and counts, what belongs to the next test's
            if hasattr(result, "close"):
                result.close()
        except RobotDynamicsError:
            pass
        except Exception as error:  # noqa: BLE001 - it is what is looked for
            line = error.__traceback__
            while line.tb_next is not None:
                line = line.tb_next
            place = f"{line.tb_frame.f_code.co_filename[-40:]}:{line.tb_lineno}"
            found.setdefault(f"{type(error).__name__}: {error} at {place}"[:200], what)
    return [f"{what}: {text}" for text, what in found.items()]


# of errors and enumerations Python itself makes the objects
CLASSES = {
    name: getattr(rd, name)
    for name in rd.__all__
    if inspect.isclass(getattr(rd, name))
    and not issubclass(getattr(rd, name), (BaseException, enum.Enum))
}
# opens a picture
OPENS_A_PICTURE = {"show"}


def objects() -> dict[str, object]:
    """One of each of the classes whose methods users call."""
    controller = rd.JointController(MODEL)
    controller.activate(0, Q, 0.0 * Q)
    return {
        "model": MODEL,
        "description": MODEL.description,
        "controller": controller,
        "plant": rd.Plant(MODEL, dt=1e-3),
        "trajectory": rd.Trajectory.from_waypoints(MODEL.joint_names, [0.0, 1.0], [Q, 2.0 * Q]),
        "formulas": rd.symbolic(MODEL),
        "run": rd.simulate(MODEL, duration=0.02, dt=0.01),
        "law": rd.bind(MODEL, rd.ComputedTorque(kp=100.0, kd=20.0)),
        "constraints": rd.Constraints(
            MODEL, [rd.gear_constraint("g", *MODEL.joint_names, ratio=1.0)]
        ),
        "pose": rd.Pose.from_rpy(),
        "friction": rd.Friction.of(MODEL, viscous=0.1),
    }


def methods_of(thing: object) -> dict[str, Callable]:
    return {
        name: getattr(thing, name)
        for name in dir(thing)
        if not name.startswith("_")
        and name not in OPENS_A_PICTURE
        and inspect.isroutine(getattr(thing, name))
        and hasattr(getattr(thing, name), "__wrapped__")
    }


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_constructors(name: str, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert raw_errors(CLASSES[name]) == []


def test_methods(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = []
    tried = 0
    for name, thing in objects().items():
        for method, function in methods_of(thing).items():
            found += [f"{name}.{method}: {text}" for text in raw_errors(function)]
            tried += 1
    assert found == []
    # as many as the classes above have
    assert tried > 60


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_value_of_another_type_is_an_error_of_this_package(
    name: str, tmp_path, monkeypatch
) -> None:
    # some take a text for the name of a file to write
    monkeypatch.chdir(tmp_path)
    assert raw_errors(FUNCTIONS[name]) == []


TOO_LARGE = 10**400


@pytest.mark.parametrize(
    ("where", "call"),
    [
        ("dt", lambda: rd.Plant(MODEL, dt=TOO_LARGE)),
        ("duration", lambda: rd.simulate(MODEL, duration=TOO_LARGE)),
        ("reach", lambda: rd.random_configuration(MODEL, 0, reach=TOO_LARGE)),
        ("size", lambda: rd.random_configuration(MODEL, 0, size=TOO_LARGE)),
        ("damping", lambda: rd.operational_space_inertia(MODEL, Q, "tip", damping=TOO_LARGE)),
        ("mass", lambda: rd.robot_model_error(MODEL, mass=TOO_LARGE)),
        ("tolerance", lambda: rd.base_parameters(MODEL, tolerance=TOO_LARGE)),
        ("seconds", lambda: rd.nanoseconds(TOO_LARGE)),
    ],
)
def test_a_whole_number_that_no_double_holds_is_named(where, call) -> None:
    with pytest.raises(RobotDynamicsError, match=where):
        call()


@pytest.mark.parametrize(
    ("where", "options"),
    [
        ("control", {"control": lambda t: 0.0}),
        ("control", {"control": len}),
        ("external", {"external": lambda t, q: {}}),
        ("external_world", {"external_world": lambda: {}}),
        ("user_effort", {"user_effort": lambda q, v: q}),
    ],
)
def test_a_function_of_other_arguments_is_named_before_it_is_called(where, options) -> None:
    with pytest.raises(RobotDynamicsError, match=f"{where}.*expected a function of t"):
        rd.simulate(MODEL, duration=0.01, **options)


def test_names_that_no_file_and_no_computer_has() -> None:
    for name in ("a\0b", "\ud800"):
        with pytest.raises(RobotDynamicsError):
            rd.load_constraints(MODEL, name)
        with pytest.raises(RobotDynamicsError):
            rd.view(MODEL, host=name)
