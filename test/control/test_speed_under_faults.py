"""Faults of joint states in the middle of a motion, and from the first state on, on an arm that
MuJoCo moves: none lets it run away.

The driver of this arm holds the last effort it was given, which is the worst habit there is.
"""

import mujoco
import numpy as np
import pytest
from support.closed_loop import mid

import robot_dynamics_ros as rd
from robot_dynamics_ros.control import Mode

STEP = 0.0005
SECOND = 1_000_000_000
NAN = np.nan
INF = np.inf


@pytest.fixture(scope="module")
def arm():
    return rd.load_robot("six_axis")


def one(x, joint, value):
    return np.where(np.arange(len(x)) == joint, value, x)


# name → what a fault makes of (cycle, stamp in ns, q, v): the states that arrive, none, one or
# more
FAULTS = {
    "a position is NaN": lambda k, t, q, v: [(t, one(q, 1, NAN), v)],
    "a velocity is infinite": lambda k, t, q, v: [(t, q, one(v, 1, -INF))],
    "a velocity of 1e100": lambda k, t, q, v: [(t, q, one(v, 2, 1e100))],
    "every third position jumps": lambda k, t, q, v: [(t, q + (1.0 if k % 3 == 0 else 0.0), v)],
    "all positions are elsewhere": lambda k, t, q, v: [(t, q + 0.7, v)],
    "two robots on one topic": lambda k, t, q, v: [(t, q, v), (t + 1, -q, 0.0 * v)],
    "silence": lambda k, t, q, v: [],
    "the stamp stands still": lambda k, t, q, v: [(SECOND // 2, q, v)],
    "an hour late": lambda k, t, q, v: [(t - 3600 * SECOND, q, v)],
    "an hour early": lambda k, t, q, v: [(t + 3600 * SECOND, q, v)],
    "stamps in pairs, the older one last": lambda k, t, q, v: [(t, q, v), (t - 1_000_000, q, v)],
    "each state twice": lambda k, t, q, v: [(t, q, v)] * 2,
    "another robot with another clock": lambda k, t, q, v: [
        (t, q, v),
        (t - 3600 * SECOND, -q, 0.0 * v),
    ],
    "a recording is played back beside it": lambda k, t, q, v: [
        (t, q, v),
        (t - 3600 * SECOND, q + 0.7 * np.sin(0.02 * k), np.full(6, 7.0 * np.cos(0.02 * k))),
    ],
    "only every fortieth state": lambda k, t, q, v: [(t, q, v)] if k % 40 == 0 else [],
    "no velocity": lambda k, t, q, v: [(t, q, 0.0 * v)],
    "velocities of the neighbours": lambda k, t, q, v: [(t, q, np.roll(v, 1))],
    "a position slips by 0.05 rad": lambda k, t, q, v: [(t, one(q, 1, q[1] + 0.05), v)],
}


class Frozen:
    """What a dead encoder says of a joint from the first cycle of the fault on.

    Args:
        joint: its number.
        velocity: what is told of its velocity: "right", "last", that of the last position, or
            "zero".
    """

    def __init__(self, joint, velocity="right"):
        self.joint = joint
        self.velocity = velocity
        self.last = None
        self.cycle = -1

    def __call__(self, k, t, q, v):
        if self.last is None or k < self.cycle:
            self.last = q[self.joint], v[self.joint]
        self.cycle = k
        told = {"right": v[self.joint], "last": self.last[1], "zero": 0.0}[self.velocity]
        return [(t, one(q, self.joint, self.last[0]), one(v, self.joint, told))]


#: another unit or sign
UNITS = {
    "velocities in degrees": lambda k, t, q, v: [(t, q, np.degrees(v))],
    "positions in degrees": lambda k, t, q, v: [(t, np.degrees(q), v)],
    "the wrong sign of everything": lambda k, t, q, v: [(t, -q, -v)],
}

#: as a driver has it from its first state on, besides
DRIVERS = UNITS | {
    "all in degrees": lambda k, t, q, v: [(t, np.degrees(q), np.degrees(v))],
    "the wrong sign of velocities": lambda k, t, q, v: [(t, q, -v)],
    "the wrong sign of positions": lambda k, t, q, v: [(t, -q, v)],
    "the wrong sign of a heavy joint": lambda k, t, q, v: [(t, one(q, 1, -q[1]), one(v, 1, -v[1]))],
    "the wrong sign of a light joint": lambda k, t, q, v: [(t, one(q, 3, -q[3]), one(v, 3, -v[3]))],
}


def moved_by_mujoco(arm, fault, *, start=0.0, span=(0.5, 1.2), rate=500, efforts=1.0, safe="zero"):
    """The controller, and the largest speed as a share of the limit, after a motion with a fault
    within a span of time, s.

    It begins ``start`` rad beside the middle of the joints, and leads them 0.4 rad on, as the
    states say.  The driver takes ``efforts`` times the efforts.
    """
    period = 1.0 / rate
    substeps = round(period / STEP)
    highest = arm.effort_limit + 1e-9
    engine = mujoco.MjModel.from_xml_path(str(rd.robot_path("six_axis")))
    engine.opt.timestep = STEP
    data = mujoco.MjData(engine)
    data.qpos[:] = mid(arm) + start
    controller = rd.JointController(arm, options=rd.control.ControllerOptions(safe_command=safe))
    _, q, v = (
        fault(0, 0, data.qpos.copy(), np.zeros(6))[0]
        if span[0] == 0.0
        else (0, data.qpos.copy(), np.zeros(6))
    )
    controller.activate(0, q, v)
    # a person asks for a motion within the limits
    begin = np.clip(q, arm.lower, arm.upper)
    controller.accept_trajectory(
        rd.plan_move(arm, begin, begin + np.where(begin > 0.0, -0.4, 0.4), duration=1.5), 0
    )
    fastest = 0.0
    stamp = 0
    stamped = 0
    for k in range(1, round(2.5 / period)):
        t = round(k * period * 1e9)
        states = [(t, data.qpos.copy(), data.qvel.copy())]
        if span[0] < k * period < span[1]:
            states = fault(k, *states[0])
        for state in states:
            data.qfrc_applied[:] = efforts * controller.update(*state)
            # as the node has it: else time stands still
            if not 0 <= stamp - state[0] <= 100_000_000:
                stamp = state[0]
                stamped = t
        if k % 10 == 0 and (safe := controller.watch(stamp + t - stamped)) is not None:
            data.qfrc_applied[:] = efforts * safe
        # false for what is not finite, too
        assert (np.abs(data.qfrc_applied) <= highest).all()
        mujoco.mj_step(engine, data, substeps)
        fastest = max(fastest, float((np.abs(data.qvel) / arm.velocity_limit).max()))
    return controller, fastest


def test_positions_of_the_neighbours_throw_no_joint(arm):
    """All joints jump at once, each to where another one is.  How fast the fastest gets until that
    is a fault differs from run to run: 16 of them, with other starts.
    """

    def rolled(k, t, q, v):
        return [(t, np.roll(q, 1), v)]

    runs = [
        moved_by_mujoco(arm, rolled, start=start, span=(since, 1.2))
        for start in (-0.2, -0.1, -0.05, 0.0, 0.05, 0.1, 0.15, 0.2)
        for since in (0.4, 0.6)
    ]
    assert all(controller.fault for controller, _ in runs)
    fastest = [speed for _, speed in runs]
    assert np.median(fastest) <= 1.25 and max(fastest) <= 2.0


@pytest.mark.parametrize("fault", FAULTS)
def test_no_joint_is_faster_than_one_and_a_half_times_its_limit(arm, fault):
    _, fastest = moved_by_mujoco(arm, FAULTS[fault])
    assert fastest <= 1.5


@pytest.mark.parametrize(
    "fault", ["another robot with another clock", "a recording is played back beside it"]
)
def test_two_clocks_on_one_topic_are_a_fault_that_is_named(arm, fault):
    """States of the other clock say that time was set, and would be a new start each: nothing would
    hold the arm.
    """
    controller, _ = moved_by_mujoco(arm, FAULTS[fault])
    assert "clocks that differ" in controller.fault and controller.mode is Mode.SAFE


@pytest.mark.parametrize("rate", [250, 500, 1000])
@pytest.mark.parametrize("joint", range(6))
def test_a_dead_encoder_is_a_fault_before_the_joint_is_fast(arm, joint, rate):
    controller, fastest = moved_by_mujoco(arm, Frozen(joint), span=(0.3, 9.0), rate=rate)
    assert fastest <= 1.5
    assert "stands still" in controller.fault and arm.joint_names[joint] in controller.fault
    assert controller.mode is Mode.SAFE


@pytest.mark.parametrize("rate", [250, 1000])
@pytest.mark.parametrize("joint", range(6))
def test_a_joint_whose_velocity_stays_the_last_is_a_fault_before_it_is_fast(arm, joint, rate):
    """Its effort must have moved it, whatever its friction and rotor; and its velocity says that it
    moves.
    """
    controller, fastest = moved_by_mujoco(arm, Frozen(joint, "last"), span=(0.3, 9.0), rate=rate)
    assert fastest <= 1.5
    assert "stands still" in controller.fault and arm.joint_names[joint] in controller.fault
    assert controller.mode is Mode.SAFE


@pytest.mark.parametrize("rate", [250, 1000])
@pytest.mark.parametrize("since", [0.0, 0.3, 0.8])
@pytest.mark.parametrize("joint", range(6))
def test_a_joint_that_says_it_stands_is_let_go_before_it_is_fast_and_the_others_are_held(
    arm, joint, since, rate
):
    """A dead encoder, a closed brake and hardware that never moves say the same: no fault, but the
    goal ends.
    """
    controller, fastest = moved_by_mujoco(arm, Frozen(joint, "zero"), span=(since, 9.0), rate=rate)
    assert fastest <= 1.5
    assert not controller.fault
    assert controller.mode is Mode.HOLD
    assert controller.counts["unmoved_joint"] == 1
    assert controller.command[joint] == 0.0


@pytest.mark.parametrize("fault", UNITS)
def test_another_unit_ends_in_a_fault_before_the_arm_is_fast(arm, fault):
    controller, fastest = moved_by_mujoco(arm, UNITS[fault])
    assert fastest <= 1.5
    assert "jumped" in controller.fault and "in motion" in controller.fault
    assert controller.mode is Mode.SAFE


@pytest.mark.parametrize(("start", "rate"), [(0.0, 500), (0.3, 500), (0.0, 250), (0.3, 1000)])
@pytest.mark.parametrize("fault", DRIVERS)
def test_a_driver_with_another_unit_or_sign_ends_in_a_fault_before_the_arm_is_fast(
    arm, fault, start, rate
):
    controller, fastest = moved_by_mujoco(
        arm, DRIVERS[fault], start=start, span=(0.0, 9.0), rate=rate
    )
    assert fastest <= 1.5
    assert "sign or unit" in controller.fault
    assert controller.mode is Mode.SAFE


@pytest.mark.parametrize("start", [0.0, 0.3])
@pytest.mark.parametrize("fault", DRIVERS)
def test_gravity_of_a_pose_that_may_be_wrong_does_not_drive_the_arm(arm, fault, start):
    controller, fastest = moved_by_mujoco(
        arm, DRIVERS[fault], start=start, span=(0.0, 9.0), safe="gravity"
    )
    assert fastest <= 1.5
    assert controller.mode is Mode.SAFE


def test_a_position_that_cannot_be_right_has_no_gravity(arm):
    """Its gravity drove this arm to 5.7 times its speed limit; without effort it falls."""
    start = np.array((0.353, -0.878, 0.111, -0.457, 0.759, -0.872))
    controller, fastest = moved_by_mujoco(
        arm, DRIVERS["positions in degrees"], start=start, span=(0.0, 9.0), safe="gravity"
    )
    assert controller.counts["beyond_range"] and not controller.safe_command().any()
    assert fastest < 1.6


# of several hundred random starts, motions and faults those that were the fastest: fault,
# efforts, start
HARD = {
    "positions in degrees, beyond a limit": (
        "positions in degrees",
        1.0,
        (0.0, 0.09, -0.07, 0.09, -0.04, -0.02),
    ),
    "the wrong sign of the first joint's efforts": (
        "nothing",
        one(np.ones(6), 0, -1.0),
        (0.14, -0.23, -0.46, -0.48, 0.31, 0.41),
    ),
    "the wrong sign of a light joint's efforts": (
        "nothing",
        one(np.ones(6), 3, -1.0),
        (-0.72, -0.6, 0.94, -1.22, 0.3, 0.69),
    ),
    "the wrong sign of all efforts": ("nothing", -1.0, 0.3),
}


@pytest.mark.parametrize("rate", [250, 500])
@pytest.mark.parametrize("case", HARD)
def test_the_worst_of_random_starts_ends_in_a_fault_before_the_arm_is_fast(arm, case, rate):
    fault, efforts, start = HARD[case]
    told = DRIVERS.get(fault, lambda k, t, q, v: [(t, q, v)])
    controller, fastest = moved_by_mujoco(
        arm, told, start=np.array(start), span=(0.0, 9.0), rate=rate, efforts=efforts
    )
    assert fastest <= 1.5
    assert controller.fault
    assert controller.mode is Mode.SAFE
