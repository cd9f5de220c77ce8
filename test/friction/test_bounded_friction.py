"""Controllers never compensate more friction than was identified, whatever effects describe it."""

import json
import warnings

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import robot_dynamics_ros as rd
from robot_dynamics_ros.friction.bounded import CompensatedFriction, IdentifiedFriction
from robot_dynamics_ros.friction.effects import JointEffects
from robot_dynamics_ros.friction.file import FrictionFile

# a rise towards rest and a step that takes it away again, as a real arm once had them, N m
CANCELLING = {"viscous": 20.0, "coulomb": 4.0, "rise": 40.4, "step": 45.0}
NUMBERS = {"stribeck_speed": 0.1, "step_width": 0.12}


def curve(values, numbers, smoothing=0.05, fastest=2.0):
    names = ("stribeck", "step", "asymmetry", "quadratic")
    return IdentifiedFriction(
        JointEffects(smoothing, effects=names, numbers=numbers), values, fastest
    )


def by_hand(values, numbers, smoothing, v):
    """The law as the how-to states it."""
    d = np.tanh(v / smoothing)
    n = numbers
    return (
        values["viscous"] * v
        + d * (values["coulomb"] + values["rise"] * np.exp(-((v / n["stribeck_speed"]) ** 2)))
        + values["step"] * (np.tanh(v / n["step_width"]) - d)
        + values["asymmetry"] * np.abs(d)
        + values["quadratic"] * v * (np.abs(v) - n["quadratic_speed"])
    )


@settings(max_examples=15, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(
    st.floats(0.0, 20.0),
    st.floats(0.0, 10.0),
    st.floats(0.0, 50.0),
    st.floats(0.0, 80.0),
    st.floats(-3.0, 3.0),
    st.floats(-5.0, 5.0),
    st.floats(0.02, 0.5),
    st.floats(0.005, 0.3),
)
def test_compensation_is_nowhere_above(
    viscous, coulomb, rise, step, asymmetry, quadratic, stribeck_speed, step_width
):
    values = {
        "viscous": viscous,
        "coulomb": coulomb,
        "rise": rise,
        "step": step,
        "asymmetry": asymmetry,
        "quadratic": quadratic,
    }
    numbers = {
        "stribeck_speed": stribeck_speed,
        "step_width": step_width,
        "quadratic_speed": 1.4,
    }
    found = curve(values, numbers).compensated()
    v = np.geomspace(1e-4, 2.0, 3000)
    there = by_hand(values, numbers, 0.05, v)
    back = -by_hand(values, numbers, 0.05, -v)
    limit = np.maximum(np.minimum(there, back), 0.0)
    assert (found.effort(v) <= limit + 1e-4 * max(limit.max(), 1.0)).all()


def test_effects_that_cancel_do_not_drive():
    values = {**CANCELLING, "asymmetry": 0.0, "quadratic": 0.0}
    identified = curve(values, {**NUMBERS, "quadratic_speed": 1.4})
    v = np.array([0.08])
    of_controllers = CompensatedFriction(20.0, 4.0, 44.4, 0.1, 0.05).effort(v)[0]
    assert of_controllers > 2.5 * identified.effort(v)[0]
    found = identified.compensated()
    assert 0.0 < found.effort(v)[0] <= identified.effort(v)[0]
    # at speeds where the two effects are gone it is all there
    fast = np.array([1.5])
    assert found.effort(fast)[0] > 0.9 * identified.effort(fast)[0]


def test_friction_that_controllers_know_is_kept_as_it_is():
    values = {"viscous": 0.3, "coulomb": 0.6, "rise": 0.9}
    form = JointEffects(0.02, effects=("stribeck",), numbers={"stribeck_speed": 0.15})
    found = IdentifiedFriction(form, values, 2.0).compensated()
    assert found == CompensatedFriction(0.3, 0.6, 1.5, 0.15, 0.02)


def test_compensation_is_never_negative():
    """The linear program's solver had a viscous coefficient of -4e-10 here, and the friction of a
    healthy recording was refused.
    """
    values = {"viscous": 0.0, "coulomb": 0.42, "rise": 0.157, "step": 0.127}
    numbers = {"stribeck_speed": 0.06, "step_width": 0.015}
    form = JointEffects(0.03, effects=("step", "stribeck"), numbers=numbers)
    found = IdentifiedFriction(form, values, 4.2).compensated()
    assert found.viscous >= 0.0
    assert found.breakaway >= found.coulomb >= 0.0


def joint_file(tmp_path, **more):
    row = {
        "viscous": 20.0,
        "coulomb": 4.0,
        "breakaway": 44.4,
        "smoothing": 0.05,
        **NUMBERS,
        "effects": {"rise": 40.4, "step": 45.0},
        **more,
    }
    path = tmp_path / "friction.json"
    path.write_text(json.dumps({"joints": {"elbow": row}}))
    return path


def test_a_file_with_effects_that_cancel_is_read_safely(tmp_path):
    model = rd.load_robot("two_link")
    file = FrictionFile.read(joint_file(tmp_path), model)
    with pytest.warns(rd.ModelWarning, match="step of elbow"):
        friction = file.friction(model)
    v = np.geomspace(1e-3, float(model.velocity_limit[1]), 500)
    both = np.column_stack([np.zeros_like(v), v])
    none = np.zeros_like(both)
    identified = file.efforts(model, none, both, none)[:, 1]
    assert (friction.effort(both)[:, 1] <= identified * (1.0 + 1e-4) + 1e-9).all()


def test_a_joint_under_gravity_compensation_is_not_driven(tmp_path):
    """Friction as identified takes more power than its compensation gives, at every speed."""
    model = rd.load_robot("two_link").replace(gravity=(0.0, 0.0, 0.0))
    file = FrictionFile.read(joint_file(tmp_path), model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rd.ModelWarning)
        friction = file.friction(model)
    state = np.array([0.0, 0.265])
    dt = 1e-3
    speeds = []
    for _ in range(500):
        none = np.zeros((1, 2))
        resisting = file.efforts(model, none, state[None], none)[0]
        given = friction.effort(state)
        inertia = rd.mass_matrix(model, np.zeros(2))[1, 1]
        state = state + dt * np.array([0.0, (given - resisting)[1] / inertia])
        speeds.append(abs(state[1]))
    assert (np.diff([0.265, *speeds]) <= 1e-9).all()


@pytest.mark.parametrize(
    ("compensation", "match"),
    [
        ({"viscous": 1.0}, "compensation lacks coulomb"),
        ({"viscosity": 1.0}, "viscosity"),
        (
            dict(viscous=0.0, coulomb=60.0, breakaway=60.0, stribeck_speed=0.1, smoothing=0.05),
            "above the joint's friction",
        ),
    ],
)
def test_compensation_that_cannot_be_is_refused(compensation, match, tmp_path):
    model = rd.load_robot("two_link")
    path = joint_file(tmp_path, compensation=compensation)
    with pytest.raises(rd.RobotDynamicsError, match=match), warnings.catch_warnings():
        warnings.simplefilter("ignore", rd.ModelWarning)
        FrictionFile.read(path, model).friction(model)
