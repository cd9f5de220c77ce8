"""The cycle in machine code does what the statements do, and leaves to them whatever is out of the ordinary."""

import numpy as np
import pytest
from support.closed_loop import mid

import robot_dynamics_ros as rd
from robot_dynamics_ros.control import ControllerOptions, FeedforwardPD, Friction, GuardSettings, Tolerances
from robot_dynamics_ros.dynamics.engine.compiler import compiler_missing

pytestmark = pytest.mark.skipif(compiler_missing() is not None, reason="needs llvmlite")
PERIOD = 2_000_000
N = 6


def arm():
    return rd.load_robot("six_axis")


def friction():
    return Friction.of(arm(), viscous=0.5, coulomb=1.0, breakaway=1.5, offset=[0.1] * N)


LAWS = {
    "computed_torque": lambda: rd.ComputedTorque(ki=10.0, i_clamp=0.02, friction=friction()),
    "pd_gravity": lambda: rd.PDGravity(
        kp=np.arange(1.0, 7.0), kd=1.0, ki=2.0, friction=friction(), friction_at="measured"
    ),
    "feedforward": lambda: FeedforwardPD(kp=10.0, kd=1.0, friction=friction()),
    "impedance": lambda: rd.JointImpedance(stiffness=20.0),
    "damped_impedance": lambda: rd.JointImpedance(stiffness=20.0, damping=2.0),
    "by_hand": lambda: rd.GravityCompensation(damping=1.0, friction=friction().scaled(0.7)),
}


def both(law, **settings):
    """Two controllers: in machine code, and as written."""
    models = [arm(), arm().with_backend("numpy")]
    return [rd.JointController(model, law(), **settings) for model in models]


def compare(controllers, states, each=lambda controller, k: None):
    """Feed both the same states; every command, wrench, reference and count must agree.  Returns how often code ran."""
    compiled = 0
    for k, (q, v) in enumerate(states, start=1):
        for controller in controllers:
            each(controller, k)
            controller.update(k * PERIOD, q, v)
        own, other = controllers
        for name in ("command", "effort", "reference", "error", "wrenches", "wrench_acceleration"):
            np.testing.assert_allclose(getattr(own, name), getattr(other, name), rtol=1e-9, atol=1e-9, err_msg=name)
        assert (own.mode, own.fault, own.counts) == (other.mode, other.fault, other.counts)
        compiled += own.compiled
        assert not other.compiled
    return compiled


def states(count, q, seed=0, spread=1e-3):
    rng = np.random.default_rng(seed)
    return [(q + spread * rng.normal(size=N), 10.0 * spread * rng.normal(size=N)) for _ in range(count)]


@pytest.mark.parametrize("name", LAWS)
def test_every_law_gives_the_same_commands_and_wrenches_in_machine_code(name):
    controllers = both(LAWS[name])
    q = mid(arm())
    for controller in controllers:
        controller.activate(0, q, np.zeros(N))
        if controller.law.tracks:
            controller.accept_trajectory(rd.plan_move(controller.model, q, q + 0.05, duration=0.5), 0)
    assert compare(controllers, states(400, q)) > 390


def test_what_is_cut_is_left_to_the_statements():
    """Efforts at their limits and rates, joints near position and velocity limits, integrals that must not wind up."""
    settings = {
        "guards": GuardSettings(effort_scale=0.8, effort_rate=2e4),
        "options": ControllerOptions(blend_time=0.0, max_state_jump=0.0),
    }
    controllers = both(lambda: rd.ComputedTorque(ki=100.0), **settings)
    model = arm()
    rng = np.random.default_rng(5)
    visited = [
        (rng.uniform(model.lower, model.upper), rng.uniform(-1.1, 1.1, N) * model.velocity_limit * rng.integers(0, 2))
        for _ in range(150)
    ]
    for controller in controllers:
        controller.activate(0, mid(model), np.zeros(N))
    ran = compare(controllers, [*states(100, mid(model), spread=1e-5), *visited])
    assert 0 < ran < 150
    assert {"effort_limit", "effort_rate", "position_zone", "velocity_limit"} <= set(controllers[0].counts)


def test_a_violated_tolerance_stops_the_arm_in_the_same_cycle():
    controllers = both(rd.ComputedTorque, tolerances=Tolerances.uniform(N, path=0.05))
    q = mid(arm())
    goals = []
    for controller in controllers:
        controller.activate(0, q, np.zeros(N))
        goals.append(controller.accept_trajectory(rd.plan_move(controller.model, q, q + 0.5, duration=1.0), 0))
    assert compare(controllers, states(300, q)) > 100  # the arm stays where it is, the reference goes
    assert [goal.status.value for goal in goals] == ["aborted", "aborted"]
    assert goals[0].text == goals[1].text


def test_changes_on_the_way_take_effect_alike():
    """Payload, law, gains, a known wrench, and a robot that holds its own weight."""
    controllers = both(rd.ComputedTorque, options=ControllerOptions(gravity_compensated_by="robot", blend_time=0.01))
    q = mid(arm())
    for controller in controllers:
        controller.activate(0, q, np.zeros(N))

    def change(controller, k):
        if k == 40:
            controller.set_payload(rd.Payload("tool0", 1.5))
        elif k == 80:
            controller.set_external_wrench("tool0", [0.1, 0.2, 0.3, 1.0, 2.0, 3.0], k * PERIOD)
        elif k == 120:
            controller.set_external_wrench("tool0", None, k * PERIOD)
            controller.set_law(rd.PDGravity(kp=30.0, kd=3.0))
        elif k == 160:
            controller.set_gains(kp=40.0)
        elif k == 200:
            controller.set_guards(GuardSettings(effort_scale=0.5))
            controller.set_payload(None)

    assert compare(controllers, states(260, q), change) > 120


TURNTABLE = """<robot name="turntable"><link name="base"/>
<link name="disc"><inertial><mass value="2"/><origin xyz="0.1 0 0"/>
<inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="turn" type="continuous"><parent link="base"/><child link="disc"/><axis xyz="0 0 1"/>
<limit effort="1000" velocity="20"/></joint></robot>"""


def test_continuous_joints_take_the_short_way_round():
    model = rd.load_urdf(TURNTABLE)
    controllers = [
        rd.JointController(m, options=ControllerOptions(max_state_jump=0.0))
        for m in (model, model.with_backend("numpy"))
    ]
    for controller in controllers:
        controller.activate(0, np.array([3.0]), np.zeros(1))
    angles = [3.1, -3.1, 3.0 - np.pi - 1e-9, 3.0 + np.pi + 1e-9, 3.0 + 14 * np.pi, -40.0, 1e6]
    compiled = compare(controllers, [(np.array([angle]), np.zeros(1)) for angle in angles])
    assert compiled == len(angles) - 2  # the statements do the first cycle, and count turns where there are many
    assert abs(controllers[0].error[0, 0]) <= np.pi


def test_only_a_law_that_says_so_is_compiled():
    class Ramp(rd.PDGravity):
        """Branches on numbers."""

        def effort(self, x):
            return super().effort(x) * (0.5 if x.e[0] > 0.0 else 1.0)

    controllers = both(lambda: Ramp(kp=10.0, kd=1.0))
    q = mid(arm())
    for controller in controllers:
        controller.activate(0, q, np.zeros(N))
    assert compare(controllers, states(50, q)) == 0

    class Saying(Ramp):
        straight_line = True

    controllers = both(lambda: Saying(kp=10.0, kd=1.0))  # it is not true: found out, and left as written
    for controller in controllers:
        controller.activate(0, q, np.zeros(N))
    assert compare(controllers, states(50, q)) == 0
