"""The fault matrix: what is done to the nodes, and what must come of it.

After every fault the same holds: the process lives (or its successor works), every message it sent
    was finite, complete
and within bounds, the fault was counted under the cause named, and everything works as before,
after a time that the report tells. ``FAULTS=all`` runs all of them, otherwise every fifth;
``FAULT_REPORT=FILE`` writes the table of the documentation.
"""

from __future__ import annotations

import contextlib
import math
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from lifecycle_msgs.msg import Transition
from rcl_interfaces.msg import ParameterValue
from rcl_interfaces.srv import GetParameters
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger
from support.domains import private_domain
from support.fault_stack import ControllerStack, GateStack, Q, SimulatorStack, Stack, point
from support.peer import SIMULATOR

pytestmark = pytest.mark.middleware
NAN = math.nan
INF = math.inf


@dataclass(frozen=True)
class Fault:
    """One row.

    Attributes:
        name: what happens.
        inject: does it.
        reaction: what the node does.
        cause: under which it is counted in /diagnostics; empty: it is answered or corrected without
            being counted.
        recovery: who or what ends it.
    """

    name: str
    inject: Callable[[Any], Any]
    reaction: str
    cause: str = ""
    recovery: str = "by itself"


def _noise(size: int, seed: int) -> bytes:
    return random.Random(seed).randbytes(size)


REFUSED = "refused; the last good one still counts"
NO_MOTION = "refused, with the reason; the arm holds"
STATE = "joint state: "
TRAJECTORY = "trajectory: "
LONG_LIST = [f"joint_{k}" for k in range(5000)]

CONTROLLER_FAULTS = (
    Fault(
        STATE + "a position is NaN",
        lambda s: s.say(s.state(position=[0.3, NAN])),
        REFUSED,
        "not_finite",
    ),
    Fault(
        STATE + "a position is infinite",
        lambda s: s.say(s.state(position=[INF, 0.0])),
        REFUSED,
        "not_finite",
    ),
    Fault(
        STATE + "a velocity is NaN",
        lambda s: s.say(s.state(velocity=[NAN, 0.0])),
        REFUSED,
        "not_finite",
    ),
    Fault(
        STATE + "a velocity is −∞",
        lambda s: s.say(s.state(velocity=[0.0, -INF])),
        REFUSED,
        "not_finite",
    ),
    Fault(
        STATE + "a velocity of 1e100",
        lambda s: s.say(s.state(velocity=[1e100, 0.0])),
        REFUSED,
        "absurd",
    ),
    Fault(
        STATE + "a position that no motion explains",
        lambda s: s.say(s.state(position=[1.3, 0.1])),
        REFUSED,
        "state_jump",
    ),
    Fault(STATE + "two robots on one topic", lambda s: s.second_robot(1.2), REFUSED, "state_jump"),
    Fault(
        STATE + "a jump that lasts",
        lambda s: s.elsewhere(1.0),
        "refused for 20 ms; then the arm holds its position",
        "jump_followed",
    ),
    Fault(
        STATE + "efforts are NaN",
        lambda s: s.say(s.state(effort=[NAN, NAN])),
        "treated as not measured",
    ),
    Fault(
        STATE + "a joint is missing",
        lambda s: s.say(s.state(name=s.joints[:1], position=[0.3], velocity=[0.0], effort=[])),
        REFUSED,
        "missing_joint",
    ),
    Fault(
        STATE + "a joint is named twice",
        lambda s: s.say(
            s.state(
                name=[*s.joints, s.joints[0]], position=[0.3] * 3, velocity=[0.0] * 3, effort=[]
            )
        ),
        REFUSED,
        "duplicate_joint",
    ),
    Fault(
        STATE + "too few positions",
        lambda s: s.say(s.state(position=[0.3])),
        REFUSED,
        "wrong_length",
    ),
    Fault(
        STATE + "too many velocities",
        lambda s: s.say(s.state(velocity=[0.0] * 3)),
        REFUSED,
        "wrong_length",
    ),
    Fault(STATE + "no positions", lambda s: s.say(s.state(position=[])), REFUSED, "wrong_length"),
    Fault(
        STATE + "no velocities", lambda s: s.say(s.state(velocity=[])), REFUSED, "missing_velocity"
    ),
    Fault(
        STATE + "only joints of another robot",
        lambda s: s.say(s.state(name=["left", "right"])),
        "ignored",
        "unrelated",
    ),
    Fault(
        STATE + "5000 joints of another robot",
        lambda s: s.say(s.state(name=LONG_LIST, position=[0.0] * 5000, velocity=[], effort=[])),
        "ignored",
        "unrelated",
    ),
    Fault(
        STATE + "no names at all",
        lambda s: s.say(s.state(name=[], position=[], velocity=[], effort=[])),
        "ignored",
        "unrelated",
    ),
    Fault(STATE + "no bytes", lambda s: s.say(b""), "refused", ""),
    Fault(STATE + "three bytes", lambda s: s.say(b"\x00\x01\x00"), "refused", ""),
    Fault(
        STATE + "200 random bytes",
        lambda s: s.say(b"\x00\x01\x00\x00" + _noise(200, 1)),
        REFUSED,
        "malformed",
    ),
    Fault(
        STATE + "a length of 2³²−1",
        lambda s: s.say(b"\x00\x01\x00\x00" + b"\x00" * 8 + b"\xff" * 4 + b"\x00" * 60),
        REFUSED,
        "malformed",
    ),
    Fault(
        STATE + "the stamp stands still for 0.4 s",
        lambda s: s.stamp_stands_still(0.4),
        "safe command",
        "time_still",
    ),
    Fault(
        STATE + "the stamp is an hour late",
        lambda s: s.say(s.shifted(-3600)),
        "the arm holds its position",
        "time_backwards",
    ),
    Fault(
        STATE + "the stamp is an hour early",
        lambda s: s.say(s.shifted(3600)),
        "the arm holds its position",
        "time_backwards",
    ),
    Fault(STATE + "silence of 0.5 s", lambda s: s.silence(0.5), "safe command", "stale_state"),
    Fault(STATE + "500 states at once", lambda s: s.burst(500), "the newest one counts"),
    Fault(
        TRAJECTORY + "unknown joint",
        lambda s: s.follow(s.trajectory(point(Q), joint_names=["nobody", s.joints[1]])),
        NO_MOTION,
        "trajectory",
    ),
    Fault(
        TRAJECTORY + "a joint twice",
        lambda s: s.follow(s.trajectory(point(Q), joint_names=[s.joints[0]] * 2)),
        NO_MOTION,
        "trajectory",
    ),
    Fault(
        TRAJECTORY + "too few positions",
        lambda s: s.follow(s.trajectory(point([0.3]))),
        NO_MOTION,
        "trajectory",
    ),
    Fault(
        TRAJECTORY + "a position is NaN",
        lambda s: s.follow(s.trajectory(point([NAN, 0.0]))),
        NO_MOTION,
        "trajectory",
    ),
    Fault(
        TRAJECTORY + "a position is infinite",
        lambda s: s.follow(s.trajectory(point([0.3, INF]))),
        NO_MOTION,
        "trajectory",
    ),
    Fault(
        TRAJECTORY + "a position beyond the limit",
        lambda s: s.follow(s.trajectory(point([0.3, 9.0]))),
        NO_MOTION,
        "trajectory",
    ),
    Fault(
        TRAJECTORY + "no positions",
        lambda s: s.follow(s.trajectory(point([]))),
        NO_MOTION,
        "trajectory",
    ),
    Fault(
        TRAJECTORY + "no joint names",
        lambda s: s.follow(s.trajectory(point(Q), joint_names=[])),
        NO_MOTION,
        "trajectory",
    ),
    Fault(
        TRAJECTORY + "times that decrease",
        lambda s: s.follow(s.trajectory(point(Q, 2.0), point(Q, 1.0))),
        NO_MOTION,
        "trajectory",
    ),
    Fault(
        TRAJECTORY + "a negative time",
        lambda s: s.follow(s.trajectory(point(Q, -1.0))),
        NO_MOTION,
        "trajectory",
    ),
    Fault(
        TRAJECTORY + "a last point that moves",
        lambda s: s.follow(s.trajectory(point(Q, 1.0, velocities=[0.1, 0.0]))),
        NO_MOTION,
        "trajectory",
    ),
    Fault(
        TRAJECTORY + "a velocity of 1e300",
        lambda s: s.follow(s.trajectory(point(Q, 1.0, [1e300, 0.0]), point(Q, 2.0, [0.0, 0.0]))),
        NO_MOTION,
        "trajectory",
    ),
    Fault(
        TRAJECTORY + "an acceleration of 1e308",
        lambda s: s.follow(s.trajectory(point(Q, 1.0, [0.0, 0.0], [1e308, 0.0]))),
        NO_MOTION,
        "trajectory",
    ),
    Fault(
        TRAJECTORY + "a velocity is NaN",
        lambda s: s.follow(s.trajectory(point(Q, 1.0, [NAN, 0.0]))),
        NO_MOTION,
        "trajectory",
    ),
    Fault(
        TRAJECTORY + "one joint only",
        lambda s: s.follow(s.trajectory(point([0.3]), joint_names=s.joints[:1])),
        NO_MOTION,
        "trajectory",
    ),
    Fault(
        TRAJECTORY + "a jump of 1 rad at once",
        lambda s: s.follow(s.trajectory(point(Q + 1.0, 0.0))),
        NO_MOTION,
        "trajectory",
    ),
    Fault(TRAJECTORY + "no points", lambda s: s.follow(s.trajectory()), "the arm holds"),
    Fault(
        TRAJECTORY + "200 random bytes",
        lambda s: s.follow(b"\x00\x01\x00\x00" + _noise(200, 2)),
        "dropped by the middleware",
    ),
    Fault(
        TRAJECTORY + "0.5 rad in a nanosecond",
        lambda s: s.follow(s.trajectory(point(Q + 0.5, 1e-9))),
        NO_MOTION,
        "trajectory",
    ),
    Fault(
        "set-point: too few positions",
        lambda s: s.stream(point([0.3], 0.0)),
        NO_MOTION,
        "joint_references",
    ),
    Fault(
        "set-point: NaN", lambda s: s.stream(point([NAN, 0.0], 0.0)), NO_MOTION, "joint_references"
    ),
    Fault(
        "set-point: a velocity of 1e300",
        lambda s: s.stream(point(Q, 0.0, [1e300, 0.0])),
        NO_MOTION,
        "joint_references",
    ),
    Fault(
        "set-point: 1 rad away",
        lambda s: s.stream(point(Q + 1.0, 0.0)),
        NO_MOTION,
        "joint_references",
    ),
    Fault(
        "set-point: no numbers", lambda s: s.stream(point([], 0.0)), NO_MOTION, "joint_references"
    ),
    Fault(
        "set-points stop",
        lambda s: s.stream(point(Q, 0.0, [0.0, 0.0])),
        "the arm comes to a stop and holds",
    ),
    Fault(
        "external wrench on an unknown link",
        lambda s: s.push("nowhere", 1.0),
        NO_MOTION,
        "external_wrench",
    ),
    Fault(
        "external wrench without a link", lambda s: s.push("", 1.0), NO_MOTION, "external_wrench"
    ),
    Fault(
        "external wrench of NaN",
        lambda s: s.push(s.model.link_names[-1], NAN),
        NO_MOTION,
        "external_wrench",
    ),
    Fault(
        "external wrench of 1e300 N",
        lambda s: s.push(s.model.link_names[-1], 1e300),
        NO_MOTION,
        "external_wrench",
    ),
    Fault(
        "external wrenches stop",
        lambda s: s.push(s.model.link_names[-1], 2.0),
        "its effort is faded out",
        "external_wrench_expired",
    ),
    Fault(
        "life cycle: configure while active",
        lambda s: s.change(Transition.TRANSITION_CONFIGURE),
        "the request fails",
    ),
    Fault(
        "life cycle: a transition that does not exist", lambda s: s.change(99), "the request fails"
    ),
    Fault(
        "life cycle: deactivated and activated by hand",
        lambda s: [
            s.change(Transition.TRANSITION_DEACTIVATE),
            s.change(Transition.TRANSITION_ACTIVATE),
        ],
        "safe command; then the arm holds its position",
        recovery="activate",
    ),
    Fault(
        "life cycle: cleaned up, configured and activated",
        lambda s: [
            s.change(number)
            for number in (
                Transition.TRANSITION_DEACTIVATE,
                Transition.TRANSITION_CLEANUP,
                Transition.TRANSITION_CONFIGURE,
                Transition.TRANSITION_ACTIVATE,
            )
        ],
        "safe command; then the arm holds its position",
        recovery="configure and activate",
    ),
    Fault(
        "parameter: wrong type",
        lambda s: s.refused_parameter("gains.shoulder.p", "high"),
        "refused, with the reason",
    ),
    Fault(
        "parameter: out of bounds",
        lambda s: s.refused_parameter("gains.shoulder.p", -1.0),
        "refused, with the reason",
    ),
    Fault(
        "parameter: NaN",
        lambda s: s.refused_parameter("gains.shoulder.d", NAN),
        "refused, with the reason",
    ),
    Fault(
        "parameter: read-only",
        lambda s: s.refused_parameter("autostart", False),
        "refused, with the reason",
    ),
    Fault(
        "parameter: unknown",
        lambda s: s.refused_parameter("no_such_parameter", 1.0),
        "refused, with the reason",
    ),
    Fault("parameter: unset", lambda s: _unset(s, "law"), "refused, with the reason"),
    Fault(
        "parameter: a law that does not exist",
        lambda s: s.refused_parameter("law", "magic"),
        "refused, with the reason",
    ),
    Fault(
        "parameter: payload on an unknown link",
        lambda s: s.refused_parameter("payload.link", "nowhere"),
        "refused, with the reason",
    ),
    Fault(
        "parameter: negative payload",
        lambda s: s.refused_parameter("payload.mass", -1.0),
        "refused, with the reason",
    ),
    Fault(
        "another publisher of commands",
        lambda s: s.rival(1.5),
        "reported by name",
        "second_publisher",
        "when the other publisher ends",
    ),
    Fault(
        "process halted for 0.5 s",
        lambda s: s.freeze(0.5),
        "no command is sent; then the arm holds its position",
    ),
    Fault(
        "process killed and started again",
        lambda s: s.kill(),
        "the arm holds its position",
        recovery="a new process",
    ),
)

BOTH_WAYS = {"name": ["elbow", "shoulder"], "position": Q[::-1]}
CATCHABLE = (
    "SIGHUP",
    "SIGQUIT",
    "SIGABRT",
    "SIGUSR1",
    "SIGUSR2",
    "SIGALRM",
    "SIGVTALRM",
    "SIGPROF",
    "SIGTSTP",
    "SIGXCPU",
    "SIGPWR",
    "SIGIO",
    "SIGRTMIN",
)

MORE_CONTROLLER_FAULTS = (
    *(
        Fault(
            f"process ended by {name}",
            lambda s, name=name: s.end(getattr(signal, name)),
            "safe command as the last message; exit code 0",
            recovery="a new process",
        )
        for name in CATCHABLE
    ),
    *(
        Fault(f"{name}", lambda s, name=name: s.ignores(getattr(signal, name)), "ignored")
        for name in ("SIGTTIN", "SIGTTOU", "SIGPIPE", "SIGURG")
    ),
    Fault(
        STATE + "joints in another order", lambda s: s.say(s.state(**BOTH_WAYS)), "taken by name"
    ),
    Fault(
        STATE + "joints of a gripper among them",
        lambda s: s.say(
            s.state(
                name=["left", *s.joints, "right"],
                position=[9.0, *Q, 9.0],
                velocity=[9.0, 0.0, 0.0, 9.0],
                effort=[],
            )
        ),
        "taken by name",
    ),
    Fault(
        STATE + "a name that ends with a space",
        lambda s: s.say(s.state(name=[s.joints[0] + " ", s.joints[1]])),
        REFUSED,
        "missing_joint",
    ),
    Fault(
        STATE + "names in capitals",
        lambda s: s.say(s.state(name=[n.upper() for n in s.joints])),
        "ignored",
        "unrelated",
    ),
    Fault(STATE + "empty names", lambda s: s.say(s.state(name=["", ""])), "ignored", "unrelated"),
    Fault(
        STATE + "names that are not ASCII",
        lambda s: s.say(s.state(name=["Ellbögen", "肩"])),
        "ignored",
        "unrelated",
    ),
    Fault(
        STATE + "too many efforts",
        lambda s: s.say(s.state(effort=[0.0] * 5)),
        REFUSED,
        "wrong_length",
    ),
    Fault(
        STATE + "a position of 1e9",
        lambda s: s.say(s.state(position=[1e9, 0.0])),
        REFUSED,
        "absurd",
    ),
    Fault(
        STATE + "velocities of 5e-324",
        lambda s: s.say(s.state(velocity=[5e-324, -5e-324])),
        "taken",
    ),
    Fault(
        STATE + "the stamp is zero", lambda s: s.say(s.stamped(0, 0)), "the time of arrival counts"
    ),
    Fault(
        STATE + "the stamp is before 1970",
        lambda s: s.say(s.stamped(-5, 0)),
        "the arm holds its position",
        "time_backwards",
    ),
    Fault(
        STATE + "four billion nanoseconds in the stamp",
        lambda s: s.say(s.stamped(None, 4_000_000_000)),
        "the arm holds its position",
        "time_backwards",
    ),
    Fault(
        STATE + "the stamp is in the year 2038",
        lambda s: s.say(s.stamped(2**31 - 1, 0)),
        "the arm holds its position",
        "time_backwards",
    ),
    Fault(
        STATE + "a stamp of 1 ms ago between newer ones",
        lambda s: [s.say(s.late(0.001), 1) for _ in range(20)],
        "dropped",
        "time_late",
    ),
    Fault(
        STATE + "half of a message",
        lambda s: s.say(s.bytes()[: len(s.bytes()) // 2]),
        REFUSED,
        "malformed",
    ),
    Fault(
        STATE + "a message followed by 1000 bytes",
        lambda s: s.say(s.bytes() + bytes(1000)),
        "taken",
    ),
    Fault(STATE + "a frame of 100 000 letters", lambda s: s.say(s.framed("x" * 100_000)), "taken"),
    Fault(
        STATE + "another message type on the topic",
        lambda s: s.other_type("joint_states"),
        "does not arrive",
    ),
    Fault(
        TRAJECTORY + "two in the same moment",
        lambda s: s.follow_all(s.trajectory(point(Q + 9.0)), s.trajectory(point(Q))),
        "the newest one counts",
    ),
    Fault(
        TRAJECTORY + "300 of them at once",
        lambda s: s.follow_all(*[s.trajectory(point(Q))] * 300),
        "the newest ones count",
        "trajectory_flood",
    ),
    Fault(
        TRAJECTORY + "5000 points",
        lambda s: s.follow(s.trajectory(*[point(Q, 0.001 * k) for k in range(1, 5001)])),
        "followed",
    ),
    Fault(
        TRAJECTORY + "all points at the same time",
        lambda s: s.follow(s.trajectory(*[point(Q, 1.0)] * 10)),
        NO_MOTION,
        "trajectory",
    ),
    Fault(
        TRAJECTORY + "the last point in 68 years",
        lambda s: [s.follow(s.trajectory(point(Q, 2**31 - 1))), s.hold()],
        "followed; ended by ~/hold",
        recovery="~/hold",
    ),
    Fault(
        TRAJECTORY + "four billion nanoseconds in a time",
        lambda s: s.follow(s.trajectory(s.late_point())),
        "read as seconds and nanoseconds, or refused",
    ),
    Fault(
        TRAJECTORY + "too few accelerations",
        lambda s: s.follow(s.trajectory(point(Q, 1.0, [0.0, 0.0], [0.0]))),
        NO_MOTION,
        "trajectory",
    ),
    Fault(
        TRAJECTORY + "too many velocities",
        lambda s: s.follow(s.trajectory(point(Q, 1.0, [0.0] * 3))),
        NO_MOTION,
        "trajectory",
    ),
    Fault(
        TRAJECTORY + "names of 100 000 letters",
        lambda s: s.follow(s.trajectory(point(Q), joint_names=["a" * 100_000, "b"])),
        NO_MOTION,
        "trajectory",
    ),
    Fault(TRAJECTORY + "an hour old", lambda s: s.follow(s.dated(-3600)), NO_MOTION, "trajectory"),
    Fault(
        TRAJECTORY + "for the next hour",
        lambda s: [s.follow(s.dated(3600)), s.hold()],
        "waits; the arm holds",
        recovery="~/hold",
    ),
    Fault(
        STATE + "velocities with the wrong sign",
        lambda s: s.swing(0.8, lambda q, v: (q, -v)),
        "safe command, deactivates itself",
        "velocity_sign",
        "activate",
    ),
    *(
        Fault(
            STATE + f"{what}, from the first one on",
            fault,
            "safe command, deactivates itself",
            cause,
            "activate",
        )
        for what, fault, cause in (
            (
                "positions in degrees",
                lambda s: s.swing(0.8, lambda q, v: (np.degrees(q), v), first=True),
                "beyond_range",
            ),
            (
                "velocities in degrees",
                lambda s: s.swing(0.1, lambda q, v: (q, np.degrees(v)), first=True),
                "velocity_sign",
            ),
            (
                "positions with the wrong sign",
                lambda s: s.swing(0.8, lambda q, v: (-q, v), first=True),
                "velocity_sign",
            ),
            (
                "those of an arm that takes efforts with the wrong sign",
                lambda s: s.obey(-1.0),
                "fault",
            ),
        )
    ),
    *(
        Fault(
            STATE + f"position and velocity of the {which} joint are dead in a motion",
            lambda s, told=told: s.obey(1.0, 0.6, told=told, goal=Q + 0.8, fault=False),
            "the trajectory ends, the joint gets no effort, the other one is held",
            "unmoved_joint",
            "the joint is seen to move, or activate",
        )
        for which, told in (
            ("first", lambda q, v: ([Q[0], q[1]], [0.0, v[1]])),
            ("last", lambda q, v: ([q[0], Q[1]], [v[0], 0.0])),
        )
    ),
    Fault(
        STATE + "a speed far above the limit",
        lambda s: s.swing(2.0 * float(s.model.velocity_limit.max())),
        "safe command, deactivates itself",
        "overspeed",
        "activate",
    ),
    Fault(
        STATE + "a recording of an hour ago is played back on the topic",
        lambda s: s.played_back(0.6),
        "safe command, deactivates itself",
        "fault",
        "activate",
    ),
    Fault(
        STATE + "none, while the process is halted again and again",
        lambda s: s.silent_and_halted(0.08, 12),
        "safe command",
        "stale_state",
    ),
    Fault(
        "life cycle: shut down while active",
        lambda s: s.shut_down(),
        "safe command as the last message",
        "",
        "a new process",
    ),
    Fault(
        "set-point: an acceleration is NaN",
        lambda s: s.stream(point(Q, 0.0, [0.0, 0.0], [NAN, 0.0])),
        NO_MOTION,
        "joint_references",
    ),
    Fault(
        "set-point: too many velocities",
        lambda s: s.stream(point(Q, 0.0, [0.0] * 3)),
        NO_MOTION,
        "joint_references",
    ),
    Fault(
        "external wrench: a moment is infinite",
        lambda s: s.twist(INF),
        NO_MOTION,
        "external_wrench",
    ),
    Fault(
        "200 requests to ~/hold at once",
        lambda s: s.requests(Trigger, "hold", Trigger.Request(), 200),
        "all are answered",
    ),
    Fault(
        "500 parameters read that do not exist",
        lambda s: s.peer.call(
            GetParameters,
            f"{s.name}/get_parameters",
            GetParameters.Request(names=[f"p{k}" for k in range(500)]),
        ),
        "the request is answered",
    ),
    Fault(
        "parameter: 1e300 as a gain",
        lambda s: s.refused_parameter("gains.shoulder.p", 1e300),
        "refused, with the reason",
    ),
    Fault("parameter: no name", lambda s: s.refused_parameter("", 1.0), "refused, with the reason"),
    Fault(
        "parameter: use_sim_time without a clock",
        lambda s: s.sim_time(),
        "time comes from the stamps: nothing changes",
        recovery="set it back",
    ),
    Fault(
        "30 subscriptions to the commands come and go",
        lambda s: s.crowd(Float64MultiArray, "effort_controller/commands"),
        "nothing changes",
    ),
    Fault("no file may be opened for 1 s", lambda s: s.without_handles(1.0), "the cycle continues"),
    Fault(
        "process halted for 50 ms, ten times",
        lambda s: s.halting(0.05, 10),
        "the arm holds its position",
    ),
    Fault(
        "process moved to one processor with the lowest priority",
        lambda s: s.lowest(),
        "the cycle continues",
    ),
    Fault(
        STATE + "one of them comes again and again between the others",
        lambda s: s.repeated(0.6),
        "safe command, deactivates itself",
        "fault",
        "activate",
    ),
)

SIMULATOR_FAULTS = (
    Fault("command: too short", lambda s: s.command(s.array(1.0)), REFUSED, "command_wrong_length"),
    Fault(
        "command: too long",
        lambda s: s.command(s.array(1.0, 1.0, 1.0)),
        REFUSED,
        "command_wrong_length",
    ),
    Fault("command: empty", lambda s: s.command(s.array()), REFUSED, "command_wrong_length"),
    Fault("command: NaN", lambda s: s.command(s.array(NAN, 0.0)), REFUSED, "command_not_finite"),
    Fault(
        "command: infinite", lambda s: s.command(s.array(INF, -INF)), REFUSED, "command_not_finite"
    ),
    Fault(
        "command: 1e308 N m",
        lambda s: s.command(s.array(1e308, -1e308)),
        "limited to the joint's effort limit",
    ),
    Fault(
        "command: 5000 values",
        lambda s: s.command(s.array(*[1.0] * 5000)),
        REFUSED,
        "command_wrong_length",
    ),
    Fault(
        "command: 200 random bytes",
        lambda s: s.command(b"\x00\x01\x00\x00" + _noise(200, 3)),
        "dropped by the middleware",
    ),
    Fault(
        "command: 500 at once", lambda s: s.command(s.array(1.0, 0.5), 500), "the newest one counts"
    ),
    Fault(
        "commands stop for 0.5 s",
        lambda s: s.silence(0.5),
        "effort zero",
        recovery="with the next command",
    ),
    Fault(
        "external wrench on an unknown link",
        lambda s: s.push("nowhere", 1.0),
        "refused",
        "external_wrench",
    ),
    Fault(
        "external wrench of NaN",
        lambda s: s.push(s.model.link_names[-1], NAN),
        "refused",
        "external_wrench",
    ),
    Fault(
        "external wrench of 1e300 N",
        lambda s: s.push(s.model.link_names[-1], 1e300),
        "refused",
        "external_wrench",
    ),
    Fault(
        "external wrenches stop",
        lambda s: s.push(s.model.link_names[-1], 1.0),
        "the wrench ends after wrench_timeout",
    ),
    Fault(
        "state to set: unknown joint",
        lambda s: s.set_state(name=["nobody"], position=[0.0]),
        "refused",
        "set_joint_state",
    ),
    Fault(
        "state to set: NaN",
        lambda s: s.set_state(position=[NAN, 0.0]),
        "refused",
        "set_joint_state",
    ),
    Fault(
        "state to set: beyond a limit",
        lambda s: s.set_state(position=[0.0, 50.0]),
        "refused",
        "set_joint_state",
    ),
    Fault(
        "state to set: wrong length",
        lambda s: s.set_state(position=[0.0]),
        "refused",
        "set_joint_state",
    ),
    Fault(
        "state to set: a velocity of 1e300",
        lambda s: s.set_state(velocity=[1e300, 0.0]),
        "refused",
        "set_joint_state",
    ),
    Fault(
        "state to set: a joint twice",
        lambda s: s.set_state(name=[s.joints[0]] * 2, position=[0.0, 0.0]),
        "refused",
        "set_joint_state",
    ),
    Fault(
        "a step without a pause",
        lambda s: _not(s.peer.call(Trigger, f"{SIMULATOR}/step", Trigger.Request())),
        "the request fails",
    ),
    Fault(
        "reset under way",
        lambda s: s.peer.call(Trigger, f"{SIMULATOR}/reset_world", Trigger.Request()),
        "the robot is back at its start; time continues",
    ),
    Fault(
        "paused and resumed",
        lambda s: [
            s.peer.call(SetBool, f"{SIMULATOR}/set_pause", SetBool.Request(data=flag))
            for flag in (True, True, False, False)
        ],
        "the simulation stops, then continues",
    ),
    Fault(
        "disabled and enabled",
        lambda s: [
            s.peer.call(SetBool, f"{SIMULATOR}/set_enabled", SetBool.Request(data=flag))
            for flag in (False, True)
        ],
        "effort zero, then the commanded effort",
    ),
    Fault(
        "parameter: read-only",
        lambda s: s.refused_parameter("update_rate", 100.0),
        "refused, with the reason",
    ),
    Fault(
        "parameter: wrong type",
        lambda s: s.refused_parameter("command_timeout", "long"),
        "refused, with the reason",
    ),
    Fault(
        "parameter: out of bounds",
        lambda s: s.refused_parameter("command_timeout", -1.0),
        "refused, with the reason",
    ),
    Fault("parameter: unset", lambda s: _unset(s, "command_timeout"), "refused, with the reason"),
    Fault(
        "process halted for 0.5 s",
        lambda s: s.freeze(0.5),
        "missed steps are computed after a short delay, skipped after a long one",
    ),
    Fault(
        "process killed and started again",
        lambda s: s.kill(),
        "a new robot at its start",
        recovery="a new process",
    ),
)


MORE_SIMULATOR_FAULTS = (
    *(
        Fault(
            f"process ended by {name}",
            lambda s, name=name: s.end(getattr(signal, name)),
            "ends; exit code 0",
            recovery="a new process",
        )
        for name in ("SIGHUP", "SIGUSR1", "SIGTSTP")
    ),
    Fault("command: −0 and 5e-324", lambda s: s.command(s.array(-0.0, 5e-324)), "taken"),
    Fault(
        "command: another message type",
        lambda s: s.other_type("effort_controller/commands"),
        "does not arrive",
    ),
    Fault(
        "command: alternately the largest and the smallest",
        lambda s: [s.command(s.array(x, -x), 1) for x in (1e9, -1e9) * 20],
        "limited to the joint's effort limit",
    ),
    Fault(
        "200 requests to ~/set_enabled at once",
        lambda s: s.requests(SetBool, "set_enabled", SetBool.Request(data=True), 200),
        "all are answered",
    ),
    Fault(
        "50 requests to ~/reset_world at once",
        lambda s: s.requests(Trigger, "reset_world", Trigger.Request(), 50),
        "all are answered",
    ),
    Fault(
        "30 subscriptions to joint_states come and go",
        lambda s: s.crowd(JointState, "joint_states"),
        "nothing changes",
    ),
    Fault(
        "no file may be opened for 1 s",
        lambda s: s.without_handles(1.0),
        "the simulation continues",
    ),
    Fault(
        "process halted for 50 ms, ten times",
        lambda s: s.halting(0.05, 10),
        "missed steps are computed",
    ),
    Fault(
        "state to set: no names",
        lambda s: s.set_state(name=[], position=[0.0]),
        "refused",
        "set_joint_state",
    ),
)

GATE_FAULTS = (
    *(
        Fault(
            f"process ended by {name}",
            lambda s, name=name: s.end(getattr(signal, name)),
            "zero effort as the last message; exit code 0",
            recovery="a new process",
        )
        for name in ("SIGHUP", "SIGQUIT", "SIGABRT", "SIGUSR1", "SIGALRM", "SIGTSTP", "SIGRTMIN")
    ),
    Fault("command: NaN", lambda s: s.command(NAN, 0.0), REFUSED, "command_not_finite"),
    Fault("command: infinite", lambda s: s.command(INF, -INF), REFUSED, "command_not_finite"),
    Fault("command: 1e6 N m", lambda s: s.command(1e6, -1e6), "cut to the limit", "effort_limit"),
    Fault("command: too short", lambda s: s.command(1.0), REFUSED, "command_wrong_length"),
    Fault("command: too long", lambda s: s.command(1.0, 1.0, 1.0), REFUSED, "command_wrong_length"),
    Fault("command: empty", lambda s: s.command(), REFUSED, "command_wrong_length"),
    Fault(
        "command: 5000 values", lambda s: s.command(*[1.0] * 5000), REFUSED, "command_wrong_length"
    ),
    Fault(
        "command: 200 random bytes",
        lambda s: s.raw_command(b"\x00\x01\x00\x00" + _noise(200, 4)),
        "dropped by the middleware",
    ),
    Fault(
        "command: 500 at once", lambda s: s.command(1.0, 0.5, times=500), "the newest one counts"
    ),
    Fault(
        "command: another message type",
        lambda s: s.stopped_by_other_type(),
        "stopped, as by any second controller",
        "second_publisher",
        "~/reset",
    ),
    Fault(
        "commands stop for 0.5 s",
        lambda s: s.silence(0.5),
        "zero effort",
        "stale_command",
        "with the next command",
    ),
    Fault(
        "joint state: a velocity is NaN",
        lambda s: s.say(s.state(velocity=[NAN, 0.0])),
        "not used",
        "not_finite",
    ),
    Fault(
        "joint state: 200 random bytes",
        lambda s: s.say(b"\x00\x01\x00\x00" + _noise(200, 5)),
        "not used",
        "malformed",
    ),
    Fault(
        "joint state: another robot", lambda s: s.say(s.state(name=["left", "right"])), "ignored"
    ),
    Fault(
        "joint state: a joint is missing",
        lambda s: s.say(s.state(name=s.joints[:1], position=[0.3], velocity=[0.0], effort=[])),
        "not used",
        "missing_joint",
    ),
    Fault(
        "a joint is too fast",
        lambda s: s.stopped(lambda: s.say(s.state(velocity=[1e3, 0.0]), 10)),
        "stopped: zero effort",
        "velocity_limit",
        "~/reset",
    ),
    Fault(
        "~/stop is called",
        lambda s: s.stopped(lambda: s.peer.call(Trigger, "effort_gate/stop", Trigger.Request())),
        "stopped: zero effort",
        "stop_service",
        "~/reset",
    ),
    Fault(
        "a second controller",
        lambda s: s.stopped(s.rival),
        "stopped: zero effort",
        "second_publisher",
        "~/reset",
    ),
    Fault(
        "200 requests to ~/reset at once",
        lambda s: s.requests(Trigger, "reset", Trigger.Request(), 200),
        "all are answered",
    ),
    Fault(
        "parameter: a limit that is changed",
        lambda s: s.refused_parameter("limits.shoulder.effort", 1e6),
        "refused, with the reason",
    ),
    Fault("no file may be opened for 1 s", lambda s: s.without_handles(1.0), "commands pass"),
    Fault(
        "process halted for 0.5 s",
        lambda s: s.freeze(0.5),
        "zero effort; commands that have waited are dropped",
        "stale_command",
    ),
    Fault("process halted for 50 ms, ten times", lambda s: s.halting(0.05, 10), "commands pass"),
    Fault(
        "process killed and started again",
        lambda s: s.kill(),
        "zero effort until the first command",
        recovery="a new process",
    ),
)


def _unset(stack: Stack, name: str) -> None:
    assert not stack.set_parameter(name, ParameterValue()).successful


def _not(answer: Any) -> None:
    assert not answer.success and answer.message


def chosen(*tables: tuple[Fault, ...]) -> list[Any]:
    """All of them, or every fifth."""
    faults = [fault for table in tables for fault in table]
    picked = faults if os.environ.get("FAULTS") == "all" else faults[::5]
    return [pytest.param(fault, id=fault.name) for fault in picked]


@contextmanager
def running(kind: type[Stack], folder: Path) -> Iterator[Any]:
    with private_domain() as domain:
        stack = kind(domain, folder)
        try:
            yield stack
        finally:
            stack.close()


@pytest.fixture(scope="module")
def controller(tmp_path_factory) -> Iterator[ControllerStack]:
    with running(ControllerStack, tmp_path_factory.mktemp("controller")) as stack:
        yield stack


@pytest.fixture(scope="module")
def simulator(tmp_path_factory) -> Iterator[SimulatorStack]:
    with running(SimulatorStack, tmp_path_factory.mktemp("simulator")) as stack:
        yield stack


@pytest.fixture(scope="module")
def gate(tmp_path_factory) -> Iterator[GateStack]:
    with running(GateStack, tmp_path_factory.mktemp("gate")) as stack:
        yield stack


def examine(stack: Any, fault: Fault, part: str) -> None:
    stack.settle()
    stack.peer.wait(lambda: stack.diagnostics, "diagnostics")
    before = stack.counts()
    pid = stack.process.pid
    fault.inject(stack)
    begin = time.monotonic()
    # what was on its way
    stack.peer.spin_for(0.1)
    heard = len(stack.heard)
    stack.peer.wait(lambda: len(stack.heard) > heard and stack.good(), "recovery")
    recovery = time.monotonic() - begin
    stack.bounded()
    assert stack.process.exit_code is None, stack.process.output()[-2000:]
    if stack.process.pid == pid and fault.cause:

        def noticed() -> bool:
            return stack.counts()[fault.cause] > before[fault.cause]

        # a best-effort topic may lose what is published once
        for _ in range(4):
            with contextlib.suppress(AssertionError):
                stack.peer.wait(noticed, "", 2.5)
                break
            fault.inject(stack)
        stack.peer.wait(noticed, f"a count of {fault.cause}, not {stack.counts()}", 30.0)
    grown = (
        sorted(cause for cause, n in stack.counts().items() if n > before[cause])
        if stack.process.pid == pid
        else []
    )
    if report := os.environ.get("FAULT_REPORT"):
        with open(report, "a", encoding="utf-8") as file:
            file.write(
                f"| {part} | {fault.name} | {fault.reaction} | "
                f"{', '.join(f'`{c}`' for c in grown) or '–'} | "
                f"{fault.recovery} | {recovery:.2f} |\n"
            )


@pytest.mark.parametrize("fault", chosen(CONTROLLER_FAULTS, MORE_CONTROLLER_FAULTS))
def test_fault_at_the_controller(controller, fault):
    examine(controller, fault, "controller")


@pytest.mark.parametrize("fault", chosen(SIMULATOR_FAULTS, MORE_SIMULATOR_FAULTS))
def test_fault_at_the_simulator(simulator, fault):
    examine(simulator, fault, "simulator")


@pytest.mark.parametrize("fault", chosen(GATE_FAULTS))
def test_fault_at_the_gate(gate, fault):
    examine(gate, fault, "gate")


def test_no_fault_is_there_twice():
    for table in (
        CONTROLLER_FAULTS + MORE_CONTROLLER_FAULTS,
        SIMULATOR_FAULTS + MORE_SIMULATOR_FAULTS,
        GATE_FAULTS,
    ):
        names = [fault.name for fault in table]
        assert len(set(names)) == len(names) > 30
