"""Verdicts of the cycle in words: why goals end, or why the safe command goes out."""

from __future__ import annotations

from dataclasses import dataclass

from robot_dynamics_ros.control.cycle.ladder import SURPRISES
from robot_dynamics_ros.control.cycle.memory import CycleMemory
from robot_dynamics_ros.control.cycle.verdicts import Verdict
from robot_dynamics_ros.control.reference.goal import REASONS
from robot_dynamics_ros.control.reference.trajectory import NANOSECONDS
from robot_dynamics_ros.model.robot_model import RobotModel

_WRONG_STATE = "sign or unit of the driver's joint state is wrong, or it belongs to another joint"
# times its inertia: with so large an assumed rotor a joint that has none may run away at first
_LARGE_ROTOR_INERTIAS = 10.0
_TIME_WENT_WRONG = {
    Verdict.FIRST: "first",
    Verdict.BACKWARDS: "backwards",
    Verdict.RECOVERED: "recovered",
}


@dataclass(frozen=True)
class _BadJoint:
    """The joint that a verdict is about, and its state as a sentence names it."""

    i: int
    joint: str
    unit: str
    unit_of_speed: str
    unit_of_effort: str
    position: str
    speed: str

    @classmethod
    def of(cls, p: CycleMemory, model: RobotModel) -> _BadJoint:
        i = p.bad_joint[0]
        name = model.joint_names[i]
        unit, unit_of_speed, unit_of_effort = model.joint(name).type.units
        position = f"{p.arrived[0, i]:.4g} {unit}"
        speed = f"{p.arrived[1, i]:.4g} {unit_of_speed}"
        return cls(i, f"joint {name!r}", unit, unit_of_speed, unit_of_effort, position, speed)


def words_of_surprise(p: CycleMemory, model: RobotModel) -> str:
    """The last reason for which the plain law has taken joints over, or ""."""
    name = model.joint_names[p.surprised_joint[0]]
    unit, unit_of_speed, _ = model.joint(name).type.units
    return SURPRISES[p.surprise[0]].words.format(
        joint=f"joint {name!r}",
        value=p.surprise_value[0],
        bound=p.surprise_value[1],
        unit=unit,
        speed_unit=unit_of_speed,
    )


def words_of_jump(p: CycleMemory, model: RobotModel) -> str:
    """Why a state was dropped: the arm cannot have come there."""
    bad = _BadJoint.of(p, model)
    dt = (p.time[0] - p.last[0]) / NANOSECONDS
    way = f"from {p.q[bad.i]:.4g} to {bad.position} in {dt:.4g} s, at a speed of {bad.speed}"
    return f"the joint state has jumped: {bad.joint} {way}"


def words_of_verdict(
    verdict: Verdict, p: CycleMemory, model: RobotModel, jump: str, state_timeout: float
) -> str:
    """One sentence; "" where the reason has the words (:data:`REASONS`).

    Args:
        jump: why the last state was dropped, or "".
        state_timeout: s.
    """
    match verdict:
        case Verdict.FIRST | Verdict.BACKWARDS | Verdict.RECOVERED:
            return jump or f"the joint state's time went wrong: {_TIME_WENT_WRONG[verdict]}"
        case Verdict.RELOCATED:
            return f"{jump}; the states since agree with each other: holding there"
        case Verdict.LOST:
            return f"{jump}, in motion, and no state that follows came within {state_timeout:g} s"
        case Verdict.PATH_VIOLATED | Verdict.GOAL_LATE:
            return _words_of_violation(verdict, p, _BadJoint.of(p, model))
        case Verdict.FROZEN | Verdict.UNMOVED:
            return _words_of_still_joint(verdict, p, _BadJoint.of(p, model))
    return _words_of_fault(verdict, p, _BadJoint.of(p, model))


def _words_of_violation(verdict: Verdict, p: CycleMemory, bad: _BadJoint) -> str:
    error = p.bad_value[0]
    tolerance = p.bad_value[1]
    field = p.bad_field[0]
    what = ("position", "velocity")[field]
    unit = (bad.unit, bad.unit_of_speed)[field]
    after = ""
    if verdict == Verdict.GOAL_LATE:
        after = f" {p.bad_value[2]:.3f} s after it was due"
    words = REASONS[p.ended[1]].words
    error_of = f"{what} error of {bad.joint}"
    return f"{words}: {error_of} is {error:.6g} {unit}, tolerance {tolerance:g} {unit}{after}"


def _words_of_still_joint(verdict: Verdict, p: CycleMemory, bad: _BadJoint) -> str:
    # of a joint that was let go: what a new goal asks for
    effort = f"{p.previous[bad.i] or p.asked[bad.i]:.4g} {bad.unit_of_effort}"
    at = f"{bad.position} with a velocity of {bad.speed} and an effort of {effort}"
    cause = "is its encoder dead, its brake closed, or its way blocked?"
    text = f"{bad.joint} stands still at {at}: {cause}"
    if verdict == Verdict.UNMOVED:
        text += "; it gets no effort until it is seen to move"
    return text


def _words_of_fault(verdict: Verdict, p: CycleMemory, bad: _BadJoint) -> str:
    i = bad.i
    match verdict:
        case Verdict.CONTRADICTED:
            return f"{bad.joint} moves against its velocity {bad.speed}: {_WRONG_STATE}"
        case Verdict.RUNAWAY:
            cut = ""
            if any(p.saturated[k] != 0.0 or p.taut[k] != 0.0 for k in range(p.nv)):
                cut = "; or the motion needs more effort than the limits allow"
            return (
                f"{bad.joint} runs away from its reference at {bad.speed}: "
                f"{_WRONG_STATE}{cut}{_large_rotor(p, i)}"
            )
        case Verdict.ELSEWHERE:
            return (
                f"{bad.joint} is at {bad.position}, its limits are {p.lower[i]:.4g} and "
                f"{p.upper[i]:.4g} {bad.unit}: {_WRONG_STATE}"
            )
        case Verdict.TOO_FAST:
            return (
                f"{bad.joint} moves at {bad.speed}, its velocity limit is "
                f"{p.rated_speed[i]:.4g} {bad.unit_of_speed}{_in_vain(p, i)}{_large_rotor(p, i)}"
            )
    return ""


def _in_vain(p: CycleMemory, i: int) -> str:
    """That joint ``i`` was braked before a fault, or ""."""
    braked = p.obeys[i] == 1 and p.robust[0] == 1
    return ", and it does not brake" if braked else ""


def _large_rotor(p: CycleMemory, i: int) -> str:
    """Another cause that a fault of joint ``i`` may have, or ""."""
    assumed = p.assumed_rotor[i]
    own = p.inertia[i, i]
    if p.robust[0] == 0 or assumed <= _LARGE_ROTOR_INERTIAS * own:
        return ""
    return (
        f"; or it has no rotor: robustness.rotor_share assumes one of {assumed:.2g} beside its "
        f"inertia of {own:.2g}"
    )
