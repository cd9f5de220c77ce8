"""The plant as an instrument: true wrenches, external forces, refusals, reset, repeatability,
divergence.
"""

import numpy as np
import pytest
from support.random_trees import random_model, random_state
from support.simple_robots import cuboid_pendulum, free_body, slider

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import ArgumentError, SimulationError, UnknownNameError
from robot_dynamics_ros.model import DCMotor
from robot_dynamics_ros.model.description import JointType
from robot_dynamics_ros.simulation import (
    CompliantStops,
    GroundContact,
    JointFriction,
    JointPD,
    Plant,
    RigidStops,
)


@pytest.mark.parametrize(
    "options",
    [{}, {"mimic": 0.4}, {"floating_base": True}, {"armature": True}],
    ids=["plain", "mimic", "floating", "armature"],
)
@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "rk4"])
def test_acceleration_and_inverse_dynamics_agree(options, integrator):
    """forward∘inverse = identity, with friction, springs and outside wrenches all in it."""
    model = random_model(17, 5, limits=False, friction=True, **options)
    q, v, _ = random_state(model, 2)
    link = model.link_names[-1]
    wrench = np.array([0.5, -0.3, 0.2, 3.0, -2.0, 1.0])
    plant = Plant(model, 1e-3, integrator=integrator, q0=q, v0=v, springs=JointPD(d=0.2))
    tau = np.linspace(-2.0, 2.0, model.nv)
    plant.hold(tau, external={link: wrench})
    expected = tau - (model.damping + 0.2) * v - model.friction * np.sign(v)
    np.testing.assert_allclose(
        rd.inverse_dynamics(model, q, v, plant.acceleration(), external={link: wrench}),
        expected,
        atol=1e-9,
    )
    np.testing.assert_allclose(plant.joint_effort(), expected, atol=1e-9)
    np.testing.assert_allclose(
        plant.joint_wrenches(),
        rd.joint_wrenches(model, q, v, plant.acceleration(), external={link: wrench}),
        atol=1e-9,
    )


def test_wrench_component_along_the_axis_is_the_net_effort():
    model = random_model(3, 5, types=(JointType.REVOLUTE,), limits=False, friction=True)
    plant = Plant(model, 1e-3, integrator="rk4", v0=np.linspace(-1, 1, 5))
    for _ in range(10):
        plant.step(np.linspace(2.0, -2.0, 5))
    axes = np.array([model.joint(name).axis for name in model.joint_names])
    np.testing.assert_allclose(
        np.sum(axes * plant.joint_wrenches()[:, :3], axis=1), plant.joint_effort(), atol=1e-10
    )


def test_wrenches_of_a_standing_arm_are_statics():
    """Held by friction at rest, the base joint carries the whole weight, wherever the arm is."""
    model = random_model(9, 4, limits=False)
    plant = Plant(model, 1e-3, friction=JointFriction(coulomb=1e4), q0=np.full(4, 0.4))
    plant.step(np.zeros(4))
    first = int(np.flatnonzero(model.parent == -1)[0])
    carried = plant.joint_wrenches()[first, 3:]
    roots = np.flatnonzero(model.parent == -1)
    if len(roots) == 1:
        assert np.linalg.norm(carried) == pytest.approx(9.81 * model.body_mass.sum(), rel=1e-9)


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "rk4", "variational"])
def test_external_wrench_in_link_and_in_world_axes(integrator):
    """A force on a free body: in world axes it flies straight; in link axes the force turns with
    the body.
    """
    model = free_body(mass=2.0, moments=(0.4, 0.4, 0.4))
    dt = 4e-3
    steps = 250
    push = [0, 0, 0, 4.0, 0, 0]
    still = Plant(model, dt, integrator=integrator)
    spinning = Plant(model, dt, integrator=integrator, v0=[0, 0, 2 * np.pi, 0, 0, 0])
    moved = Plant(model, dt, integrator=integrator, v0=[0, 0, 2 * np.pi, 0, 0, 0])
    for _ in range(steps):
        still.step(np.zeros(6), external_world={"body": push})
        spinning.step(np.zeros(6), external={"body": push})
        moved.step(np.zeros(6), external_world={"body": push})
    assert still.v[3] == pytest.approx(2.0, rel=1e-9)
    # one full turn: in link axes the impulses cancel, within the method's reach
    tolerance = {"semi_implicit_euler": 2e-2, "rk4": 1e-6, "variational": 2e-4}[integrator]
    for plant, expected in ((spinning, [0.0, 0.0, 0.0]), (moved, [2.0, 0.0, 0.0])):
        R = rd.link_pose(model, plant.q, "body")[:3, :3]
        np.testing.assert_allclose(R @ plant.v[3:], expected, atol=tolerance)


def test_torque_free_precession():
    """A symmetric top precesses about its momentum at H/I1 and spins against it: Euler's closed
    form, to 1e-9.
    """
    model = free_body(moments=(0.3, 0.3, 0.5))
    w0 = np.array([0.4, 0.0, 2.0])
    plant = Plant(model, 1e-2, integrator="rk8", v0=[*w0, 0, 0, 0])
    for _ in range(500):
        plant.step(np.zeros(6))
    # of ω about the body's axis
    rate = (0.5 - 0.3) / 0.3 * w0[2]
    np.testing.assert_allclose(
        plant.v[:3], [0.4 * np.cos(rate * plant.t), 0.4 * np.sin(rate * plant.t), 2.0], atol=1e-9
    )
    R = rd.link_pose(model, plant.q, "body")[:3, :3]
    np.testing.assert_allclose(
        R @ (np.diag([0.3, 0.3, 0.5]) @ plant.v[:3]), [0.12, 0.0, 1.0], atol=1e-9
    )


def test_thrown_body_flies_a_parabola():
    model = free_body(mass=2.0, com=(0.0, 0.0, 0.0), gravity=(0, 0, -9.81))
    plant = Plant(model, 1e-2, integrator="rk4", v0=[1.0, 2.0, 3.0, 4.0, 0.0, 5.0])
    for _ in range(100):
        plant.step(np.zeros(6))
    np.testing.assert_allclose(plant.q[:3], [4.0, 0.0, 5.0 - 9.81 / 2], atol=1e-7)


@pytest.mark.parametrize("kind", ["planar", "mimic"])
def test_energy_kept_by_every_kind_of_joint(kind):
    options = (
        {"types": (JointType.PLANAR, JointType.REVOLUTE)} if kind == "planar" else {"mimic": 0.5}
    )
    model = random_model(12, 4, limits=False, **options)
    v0 = np.linspace(-0.5, 0.5, model.nv)
    run = rd.simulate(model, v0=v0, duration=0.5, dt=1e-3, integrator="rk4")
    assert np.abs(run.energy - run.energy[0]).max() < 1e-7 * run.kinetic_energy.max()


def test_mass_on_spring_in_closed_form():
    plant = Plant(
        slider(mass=2.0),
        1e-2,
        integrator="rk8",
        q0=[0.3],
        springs=JointPD(p=50.0, d=1.0, position=0.1, velocity=0.2, effort=0.5),
    )
    # m ẍ = p (x0 − x) + d (v0 − ẋ) + f: a damped oscillation about x0 + (d v0 + f)/p
    for _ in range(150):
        plant.step([0.0])
    rest = 0.1 + (0.2 + 0.5) / 50.0
    rate = 1.0 / 4.0
    w = np.sqrt(25.0 - rate**2)
    decay = np.exp(-rate * plant.t)
    x0 = 0.3 - rest
    x = rest + decay * (x0 * np.cos(w * plant.t) + rate * x0 / w * np.sin(w * plant.t))
    assert plant.q[0] == pytest.approx(x, abs=1e-13)


def test_user_effort_is_a_function_of_the_state():
    plant = Plant(
        slider(mass=2.0), 1e-2, integrator="rk8", user_effort=lambda t, q, v: -8.0 * q, q0=[1.0]
    )
    for _ in range(100):
        plant.step([0.0])
    assert plant.q[0] == pytest.approx(np.cos(2.0), abs=1e-13)
    broken = Plant(slider(), integrator="radau", user_effort=lambda t, q, v: np.array([np.nan]))
    with pytest.raises(ArgumentError, match="user_effort"):
        broken.step([0.0])


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ([0.0], "2 numbers"),
        ([0.0, np.nan], "entry 1 is nan"),
        ([np.inf, 0.0], "entry 0"),
        ("ab", "2 numbers"),
        ([[0.0, 0.0]], "2 numbers"),
        (None, "2 numbers"),
    ],
)
def test_bad_commands_are_refused_and_nothing_moves(command, words):
    plant = Plant(rd.limb(2), q0=[0.3, 0.4])
    plant.step([0.1, 0.2])
    before = plant.state()
    with pytest.raises(ArgumentError, match=words):
        plant.step(command)
    np.testing.assert_array_equal(plant.state()["y"], before["y"])
    np.testing.assert_array_equal(plant.command, [0.1, 0.2])
    assert plant.t == before["t0"] + 1e-3


def test_bad_wrenches_are_refused():
    plant = Plant(rd.limb(2))
    with pytest.raises(UnknownNameError, match="segmnt"):
        plant.step([0.0, 0.0], external={"segmnt": np.zeros(6)})
    with pytest.raises(ArgumentError, match="external_world"):
        plant.step([0.0, 0.0], external_world={plant.model.link_names[-1]: [1.0, 2.0]})
    with pytest.raises(ArgumentError, match="mapping"):
        plant.step([0.0, 0.0], external=[1.0])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"dt": 0.0}, "dt"),
        ({"dt": -1.0}, "dt"),
        ({"dt": np.nan}, "dt"),
        ({"substeps": 0}, "substeps"),
        ({"substeps": 1.5}, "substeps"),
        ({"q0": [0.0]}, "q: expected 2"),
        ({"v0": [0.0, np.inf]}, "v0"),
        ({"springs": JointPD(p=-1.0)}, "spring"),
        ({"brake_effort": {"nobody": 1.0}}, "nobody"),
        ({"motors": {"nobody": DCMotor(1.0, 1.0)}}, "nobody"),
        ({"contacts": [GroundContact("nobody")]}, "nobody"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, words):
    with pytest.raises((ArgumentError, UnknownNameError), match=words):
        Plant(rd.limb(2), **options)


def test_negative_mass_is_found_out():
    model = slider(mass=2.0)
    assert model.body_mass[0] == 2.0
    with pytest.raises((SimulationError, rd.ModelError)):
        Plant(
            slider(mass=-2.0), 1e-3, integrator="rosenbrock", friction=JointFriction(coulomb=1.0)
        ).step([0.0])


# -- reset, restore, repeat ------------------------------------------------------------------------


def test_reset_while_moving():
    plant = Plant(rd.limb(3), integrator="rk4", q0=[0.1, 0.2, 0.3])
    for _ in range(50):
        plant.step([1.0, 0.0, 0.0])
    plant.reset()
    assert plant.t == 0.0
    np.testing.assert_array_equal(plant.q, [0.1, 0.2, 0.3])
    np.testing.assert_array_equal(plant.v, 0.0)
    plant.reset(q=[0.0, 0.0, 1.0], v=[1.0, 0.0, 0.0], t=5.0)
    assert plant.t == 5.0
    with pytest.raises(ArgumentError):
        plant.reset(q=[0.0, 0.0, np.nan])
    np.testing.assert_array_equal(plant.q, [0.0, 0.0, 1.0])


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "moreau", "rk4", "dop853"])
def test_runs_repeat_bit_for_bit_and_resume(integrator):
    model = random_model(2, 4, friction=True)

    def run(plant, steps):
        for k in range(steps):
            plant.step(3.0 * np.sin(0.1 * k + np.arange(4)))
        return plant.state()["y"]

    first, second = (Plant(model, 5e-3, integrator=integrator) for _ in range(2))
    np.testing.assert_array_equal(run(first, 60), run(second, 60))
    saved = first.state()
    ahead = run(first, 20)
    second.reset()
    second.restore(saved)
    np.testing.assert_array_equal(run(second, 20), ahead)
    assert second.t == first.t


def test_time_does_not_drift():
    plant = Plant(slider(), 1e-3)
    for _ in range(10_000):
        plant.step([0.0])
    assert plant.t == 10.0


def test_substeps_refine():
    model = cuboid_pendulum()
    errors = []
    for substeps in (1, 4):
        plant = Plant(model, 1e-2, integrator="semi_implicit_euler", substeps=substeps)
        for _ in range(100):
            plant.step([0.0])
        errors.append(abs(plant.q[0] + 3.134018551808591))
    assert errors[1] == pytest.approx(errors[0] / 4.0, rel=0.1)


# -- steps too large -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"springs": JointPD(p={"joint_2": 1e9})},
        {"friction": JointFriction(viscous={"joint_2": 1e6})},
        {"user_effort": lambda t, q, v: np.array([0.0, -1e9 * q[1]])},
    ],
    ids=["spring", "damping", "user effort"],
)
def test_step_too_large_for_the_stiffness_is_named_beforehand(options):
    model = rd.limb(2)
    second = model.joint_names[1]
    options = {
        key: (
            type(value)(
                **{
                    f: ({second: x["joint_2"]} if isinstance(x, dict) else x)
                    for f in value.__dataclass_fields__
                    if (x := getattr(value, f)) is not None
                }
            )
            if hasattr(value, "__dataclass_fields__")
            else value
        )
        for key, value in options.items()
    }
    with pytest.raises(SimulationError, match="too large for the stiffness") as caught:
        Plant(model, 1e-3, integrator="rk4", substeps=1, **options)
    assert second in str(caught.value)
    assert "substeps" in caught.value.remedy


def test_substeps_are_chosen_where_damping_asks_for_them():
    """A light, well damped wrist: a rate of 4000 1/s, which RK4 cannot follow at 1 ms, and does at
    a quarter of it.
    """
    model = rd.load_robot("six_axis")
    assert 1 < Plant(model, 1e-3, integrator="rk4").substeps <= 8
    assert Plant(model, 1e-3).substeps == 1
    with pytest.raises(SimulationError, match="substeps"):
        Plant(rd.limb(2), 1e-3, integrator="rk4", springs=JointPD(p=1e12))


def test_the_order_is_kept_through_dozens_of_events():
    """Six joints with dry friction that stick and slip 85 times in a tenth of a second: RK4 stays
    of fourth order.
    """
    model = rd.load_robot("six_axis")
    ends = []
    for substeps in (40, 20, 10):
        plant = Plant(model, 1e-3, integrator="rk4", substeps=substeps)
        effort = rd.gravity_forces(model, plant.q) + 5.0
        for _ in range(100):
            plant.step(effort)
        assert plant.events > 50
        ends.append(plant.q)
    fine, coarse = (np.abs(q - ends[0]).max() for q in ends[1:])
    assert np.log2(coarse / fine) > 3.5


def test_stiff_stops_are_named_beforehand():
    from robot_dynamics_ros.model.description import JointLimits

    with pytest.raises(SimulationError, match="rail"):
        Plant(slider(limits=JointLimits(-1, 1)), 1e-2, integrator="rk4", stops=CompliantStops(1e8))
    Plant(slider(limits=JointLimits(-1, 1)), 1e-2, stops=CompliantStops(1e8))


def test_divergence_on_the_way_is_named_and_leaves_the_last_good_state():
    """Stiff only where it gets to later, so that no check at the start can know."""
    model = slider(mass=1.0)

    def wall(t, q, v):
        return np.array([-1e9 * (q[0] - 1.0) if q[0] > 1.0 else 0.0])

    plant = Plant(model, 1e-2, integrator="rk4", user_effort=wall, v0=[1.0])
    with pytest.raises(SimulationError, match=r"rail.*too large for the stiffness"):
        for _ in range(1000):
            plant.step([0.0])
    assert np.isfinite(plant.q).all() and np.isfinite(plant.v).all()
    assert plant.v[0] == pytest.approx(1.0, abs=1e-6)


def test_digital_controller_too_stiff_for_its_period_is_named():
    plant = Plant(slider(mass=1.0), 1e-2, integrator="rk4", v0=[0.1])
    with pytest.raises(SimulationError, match=r"too large for the stiffness of .* the control law"):
        for _ in range(2000):
            plant.step(-220.0 * plant.v)


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "moreau"])
@pytest.mark.parametrize(
    "option", [{"springs": JointPD(p=1e9, d=1e6)}, {"friction": JointFriction(viscous=1e6)}]
)
def test_time_stepping_is_stable_for_any_stiffness(option, integrator):
    plant = Plant(rd.limb(2), 1e-3, integrator=integrator, q0=[0.1, 0.2], v0=[1.0, -1.0], **option)
    for _ in range(500):
        plant.step([0.0, 0.0])
    assert np.abs(plant.v).max() < 0.1


def test_too_many_events_are_stepped_over():
    """Rebounds without end within one step: the step is finished by time stepping, not in an
    endless loop.
    """
    from robot_dynamics_ros.model.description import JointLimits

    model = slider(limits=JointLimits(-1e-6, 1e-6))
    plant = Plant(model, 1e-2, integrator="rk4", v0=[1.0], stops=RigidStops(1.0))
    for _ in range(5):
        plant.step([0.0])
    assert abs(plant.q[0]) <= 1e-6 + 1e-12


def test_an_unknown_option_is_named_with_those_there_are():
    model = rd.load_robot("two_link")
    with pytest.raises(UnknownNameError, match=r"frcition.*friction"):
        Plant(model, frcition=True)
    loops = rd.Constraints(rd.limb(3), [])
    with pytest.raises(UnknownNameError, match="integrator"):
        rd.ConstrainedPlant(loops, integrator="rk4")
