"""A motor that turns with two joints: declared once, the same in plant, controller and MuJoCo."""

import numpy as np
import pytest

import robot_dynamics_ros as rd

RATIO = -0.8
DRY = 1.5
VISCOUS = 0.4
ROTOR = 0.02
# speed of the second motor per speed of the joints
TURNS = np.array([RATIO, 1.0])
OFF = 'ixy="0" ixz="0" iyz="0"'
WRIST = f"""<robot name="wrist">
  <link name="arm"/>
  <link name="fork"><inertial><mass value="1"/><inertia ixx="0.05" iyy="0.05" izz="0.05" {OFF}/>
  </inertial></link>
  <link name="hand"><inertial><mass value="1"/><inertia ixx="0.03" iyy="0.03" izz="0.03" {OFF}/>
  </inertial></link>
  <joint name="a" type="continuous"><parent link="arm"/><child link="fork"/><axis xyz="0 0 1"/>
  </joint>
  <joint name="b" type="continuous"><parent link="fork"/><child link="hand"/><axis xyz="1 0 0"/>
    <coupling joint="a" ratio="{RATIO}" friction="{DRY}" {{more}}/></joint>
</robot>"""
# of bodies about orthogonal axes, the hand a sphere
INERTIA = np.diag([0.08, 0.03]) + ROTOR * np.outer(TURNS, TURNS)
# the joints can move so without turning the motor
FREE = np.array([1.0, -RATIO])


def wrist(viscous=0.0):
    return rd.load_urdf(WRIST.format(more=f'armature="{ROTOR}" damping="{viscous}"'))


@pytest.mark.parametrize("integrator", ["moreau", "semi_implicit_euler"])
@pytest.mark.parametrize("compiled", [True, False])
def test_a_motor_slides_or_sticks_as_in_closed_form(integrator, compiled):
    plant = rd.Plant(wrist(), 1e-3, integrator=integrator, compiled=compiled)
    tau = np.array([0.4, 3.0])
    plant.run(tau, 200)
    # the motor turns forward
    acceleration = np.linalg.solve(INERTIA, tau - DRY * TURNS)
    np.testing.assert_allclose(plant.v, 0.2 * acceleration, rtol=1e-9)
    np.testing.assert_allclose(plant.acceleration(), acceleration, rtol=1e-9)
    plant.reset()
    # the load of the motor stays below breakaway
    tau = np.array([0.4, 1.0])
    plant.run(tau, 200)
    acceleration = FREE * (FREE @ tau) / (FREE @ INERTIA @ FREE)
    np.testing.assert_allclose(plant.v, 0.2 * acceleration, rtol=1e-9)
    assert abs(TURNS @ plant.v) < 1e-10


def test_energy_goes_into_the_motor_s_friction_alone():
    model = wrist(VISCOUS)
    plant = rd.Plant(model, 2e-4, v0=[3.0, -2.0])
    states = plant.run(np.zeros(2), 2000)
    v = np.vstack([[3.0, -2.0], states.v])
    u = 0.5 * (v[1:] + v[:-1]) @ TURNS
    lost = 2e-4 * np.sum(DRY * np.abs(u) + VISCOUS * u**2)
    assert plant.energy()[0] == pytest.approx(0.5 * v[0] @ INERTIA @ v[0] - lost, abs=1e-6)
    assert abs(u[-1]) < 1e-10 and lost > 0.4


def test_mujoco_has_the_same_motor():
    pytest.importorskip("mujoco")
    arm = rd.load_robot("six_axis")
    before, last = arm.joint_names[-2:]
    text = rd.to_urdf(arm).replace(
        f'<child link="{arm.joint(last).child}" />',
        f'<child link="{arm.joint(last).child}" /><coupling joint="{before}" ratio="{RATIO}" '
        f'friction="{DRY}" '
        f'damping="{VISCOUS}" armature="{ROTOR}"/>',
    )
    model = rd.load_urdf(text)
    assert rd.load_urdf(rd.to_urdf(model)).coupling.tolist() == model.coupling.tolist()
    start = np.full(6, 0.3)
    ends = []
    options = {"q0": start, "limiter": False}
    plants = (
        rd.Plant(model, **options),
        rd.MujocoPlant(model, substeps=4, geometry="none", **options),
    )
    for plant in plants:
        for k in range(300):
            push = np.array([0, 0, 0, 0, 6 * np.sin(0.02 * k), 9 * np.cos(0.03 * k)])
            plant.step(rd.gravity_forces(model, plant.q) + push)
        ends.append(np.concatenate([plant.q - start, 0.1 * plant.v]))
    np.testing.assert_allclose(*ends, atol=1e-3)
    # the joints move
    assert np.abs(ends[0][10:]).min() > 0.05


def test_a_controller_of_the_same_description_follows():
    """Inverse dynamics and friction of the one description take the plant along the motion, and
    only they.
    """
    model = wrist(VISCOUS)
    plain = rd.load_urdf(WRIST.format(more="").replace(f'friction="{DRY}"', ""))
    errors = []
    for drawn in (model, plain):
        law = rd.bind(drawn, rd.ComputedTorque(kp=400.0, kd=40.0, friction=rd.Friction.of(drawn)))
        plant = rd.Plant(model, 1e-3, v0=[1.0, 2.0])
        error = 0.0
        for k in range(500):
            t = 1e-3 * k
            wanted = (
                np.sin([t, 2 * t]),
                np.array([np.cos(t), 2 * np.cos(2 * t)]),
                -np.array([np.sin(t), 4 * np.sin(2 * t)]),
            )
            plant.step(law(plant.q, plant.v, *wanted))
            error = max(error, np.abs(plant.q - np.sin([t + 1e-3, 2 * t + 2e-3])).max())
        errors.append(error)
    assert errors[0] < 5e-3 and errors[1] > 10 * errors[0]


def test_locking_one_of_the_joints_leaves_the_motor_to_the_other():
    model = wrist(VISCOUS)
    first = model.lock("b")
    second = model.lock("a")
    assert first.friction[0] == -RATIO * DRY and second.friction[0] == DRY
    assert rd.mass_matrix(first, [0.0])[0, 0] == pytest.approx(INERTIA[0, 0])
    assert rd.mass_matrix(second, [0.0])[0, 0] == pytest.approx(INERTIA[1, 1])


def test_couplings_that_no_robot_has_are_refused():
    for wrong in ('ratio="0"', 'friction="-1"', 'joint="c"', 'joint="b"'):
        name = wrong.split("=")[0]
        text = WRIST.format(more="").replace(
            WRIST[WRIST.index(f"{name}=", WRIST.index("<coupling")) :].split()[0], wrong
        )
        with pytest.raises(rd.RobotDynamicsError, match="joint 'b'"):
            rd.load_urdf(text)
    with pytest.raises(rd.ArgumentError, match="time stepping"):
        rd.Plant(wrist(), integrator="rk4")


def test_the_equations_have_the_rotor():
    model = wrist()
    q, v, a = np.random.default_rng(0).uniform(-1, 1, (3, 2))
    np.testing.assert_allclose(rd.mass_matrix(model, q), INERTIA, atol=1e-12)
    np.testing.assert_allclose(rd.inverse_dynamics(model, q, v, a), INERTIA @ a, atol=1e-12)
    assert rd.kinetic_energy(model, q, v) == pytest.approx(0.5 * v @ INERTIA @ v)
    np.testing.assert_allclose(rd.forward_dynamics(model, q, v, INERTIA @ a), a, atol=1e-12)
