"""Weighing: efforts at rest in some poses, compared with gravity; nothing is sent.

The mistakes that explain efforts are searched for: single ones first, then one more beside the best
of them, three at most.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.arrays import real_array_or_nan
from robot_dynamics_ros.commissioning.evidence import (
    PARAMETERS_OF,
    RESOLVED_LIMIT_SHARE,
    Explanation,
    Fit,
    Readings,
    Weighing,
    effort_scale,
    without_compiling,
)
from robot_dynamics_ros.commissioning.findings import Finding, StepReport, mistake
from robot_dynamics_ros.dynamics import gravity_forces
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.measured_effort import MeasuredEffort, motor_effort
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.recordings.damage import ReadingMistake, reading_mistakes

# An explanation whose misfit, divided by the noise, is below this leaves nothing to explain.
ADEQUATE = 1.6
# A further mistake has to raise the score, a logarithm of likelihood, by this much: half of it
# names mistakes that are not there, twice as much leaves small ones unnamed.
_FURTHER_MISTAKE_SCORE = 6.0
# A further mistake is looked for beside so many explanations, the best ones.
_EXPLANATIONS_EXTENDED = 5
# An explanation has at most so many mistakes.
_MOST_MISTAKES = 3
# Logarithm of how unlikely a mistake is; the number of mistakes of its kind comes on top.
_MISTAKE_COST = 3.0
# rad: a joint's zero that is wrong by less is not named: poses of an arm do not show it reliably.
_NAMED_ZERO_RAD = 0.012
# rad: usual error of a zero that is wrong; a search begins with steps of that size.
_ZERO_USUAL = 0.15
# rad: an arm that is tilted by less from its description is mounted as described.
_USUAL_TILT_RAD = 0.06
# Logarithm of the smallest factor that is another unit: a smaller one is an error of masses.
_LEAST_UNIT_LOG = math.log(1.2)
# Logarithm of the largest factor that is a unit, mA of a small motor for N m: efforts beyond it are
# none, as on brakes.
_LARGEST_UNIT_LOG = math.log(1e5)
# What each different factor costs an explanation: without it, one factor a joint explains all.
_UNIT_WIDTH = 4.0
# Logarithm: units that differ by a smaller factor are rare, and that cost counts twice.
_RARE_UNIT_LOG = math.log(1.8)
# Logarithm of the largest factor between robots of one family; a larger one is another unit.
_LARGEST_FAMILY_LOG = math.log(4.0)
# A link is named if its mass is wrong by more than this share,
_NAMED_MASS_SHARE = 0.11
# and if it weighs less than this many times what is described.
_LARGEST_MASS_RATIO = 3.0
# Kinds of which an explanation has one at most: several wrong masses are another robot, and several
# wrong units are efforts that are all in another unit.
_ONE_OF_A_KIND = ("link_mass", "effort_unit")
# Gauss-Newton steps about a guess, which begins near the solution.
_REFINING_STEPS = 4
# Fewer poses tell no mistake from another.
_FEWEST_POSES = 3
# As many poses tell most of what any number would; each further one takes seconds.
_USUAL_POSES = 12
# A finding that is at least as certain is named alone, without its rival.
_NAMED_CERTAINTY = 0.95
# Squared standard errors between what two explanations expect in a pose: three standard errors
# decide between them, so the arm goes there.
_DECIDES = 9.0
# Another mass of a link that raises the score by this much is mentioned, though not found.
_MENTIONED_SCORE = 3.0
# rad or m: poses keep this distance from the position limits.
_WEIGHING_MARGIN_RAD = 0.1
# Share of the effort limits that gravity takes at most in a pose: the rest bears an unknown load.
_CARRIED_LIMIT_SHARE = 0.6
# Poses that are drawn; the few that tell most are taken of them.
_CANDIDATES = 300
# rad or m: a joint that moves farther while the arm rests is not held.
_SAG_NAMED_RAD = 0.02
# Friction is named from this many times the described one on, and from
_NAMED_FRICTION_RATIO = 1.9
# this share of the effort limit on: gears rub more in the cold.
_NAMED_FRICTION_LIMIT_SHARE = 0.04
# The same share where the description has no friction.
_NAMED_UNDESCRIBED_LIMIT_SHARE = 0.16
# Friction that is expected at least of each joint, as a share of its effort limit.
_EXPECTED_FRICTION_LIMIT_SHARE = 0.03


@dataclass(frozen=True)
class Guess:
    """One mistake: its kind, numbers of joints, or of the body of ``link_mass`` and ``payload``
    (empty: the whole arm), and the mistake of readings, if it is one.
    """

    kind: str
    joints: tuple[int, ...] = ()
    reading: ReadingMistake | None = None


@dataclass(frozen=True, eq=False)
class Scored:
    """An explanation with its mistakes, its fit, and its score less what its mistakes cost."""

    guesses: tuple[Guess, ...]
    explanation: Explanation
    fit: Fit
    score: float

    @property
    def name(self) -> frozenset[tuple[str, tuple[int, ...]]]:
        """Kinds and joints of the mistakes, however they are explained."""
        return frozenset((guess.kind, guess.joints) for guess in self.guesses)


def guesses(weighing: Weighing) -> Iterator[Guess]:
    """Every single mistake."""
    nv = weighing.model.nv
    nb = len(weighing.parameters)
    for reading in reading_mistakes(nv):
        if "positions" in reading.columns:
            sign = "position_sign"
        else:
            sign = "effort_sign"
        yield Guess("joints_exchanged" if reading.exchanged else sign, reading.joints, reading)
    for j in range(nv):
        yield Guess("effort_unit", (j,))
        yield Guess("zero_offset", (j,))
        yield Guess("held_joint", (j,))
    for kind in ("effort_unit", "gravity_compensated_by_driver", "mounting", "wrong_robot"):
        yield Guess(kind)
    if nv > 1:
        yield Guess("effort_unit", tuple(range(nv)))
    moment = np.linalg.norm(weighing.parameters, axis=1)
    for b in range(nb):
        if moment[b] > 1e-3 * moment.max():
            yield Guess("link_mass", (b,))
    yield Guess("payload", (nb - 1,))


def search(weighing: Weighing) -> list[Scored]:
    """Explanations that were tried, the best first."""
    described = Explanation.as_described(weighing.model)
    tried = [_scored(weighing, (), described)]
    every = list(guesses(weighing))
    count = Counter(guess.kind for guess in every)
    best = tried[0]
    front = tried[:1]
    for number in range(_MOST_MISTAKES):
        # beside the best explanation, where one guess more makes the same of several
        pairs = {
            frozenset((*s.guesses, guess)): (s, guess)
            for s, guess in itertools.product(reversed(front), every)
        }
        level = [
            s
            for base, guess in pairs.values()
            if (s := _further(weighing, base, guess, count[guess.kind]))
        ]
        tried += level
        front = _best_of_each(level)[:_EXPLANATIONS_EXTENDED]
        if front and front[0].score >= best.score + _FURTHER_MISTAKE_SCORE:
            best = front[0]
        elif number or best.fit.misfit < ADEQUATE:
            break
    tried.append(
        _scored(
            weighing,
            (Guess("wrong_robot"),),
            dataclasses.replace(described, other_robot=True),
            _MISTAKE_COST,
        )
    )
    return sorted(tried, key=lambda s: -(s.score - _FURTHER_MISTAKE_SCORE * len(s.guesses)))


def _scored(
    weighing: Weighing,
    found: tuple[Guess, ...],
    x: Explanation,
    cost: float = 0.0,
) -> Scored:
    fit = weighing.fit(x)
    return Scored(found, x, fit, fit.score - cost)


def _best_of_each(scored: list[Scored]) -> list[Scored]:
    """The best explanation by each set of mistakes, the best first."""
    first: dict[frozenset[tuple[str, tuple[int, ...]]], Scored] = {}
    for s in sorted(scored, key=lambda s: -s.score):
        first.setdefault(s.name, s)
    return list(first.values())


def _further(weighing: Weighing, base: Scored, guess: Guess, count: int) -> Scored | None:
    """``base`` with one more mistake; None if that is none, or too small to be named."""
    for other in base.guesses:
        again = (
            not guess.joints
            or guess.kind in _ONE_OF_A_KIND
            or set(other.joints) & set(guess.joints)
        )
        if other.kind == guess.kind and again:
            return None
    changed = _with(weighing, base.explanation, guess)
    if changed is None:
        return None
    x, width = changed
    cost = base.fit.score - base.score + _MISTAKE_COST + math.log(count) + width
    further = _scored(weighing, (*base.guesses, guess), x, cost)
    return further if _weights_named(x, further.fit) else None


def _with(
    weighing: Weighing,
    x: Explanation,
    guess: Guess,
) -> tuple[Explanation, float] | None:
    """An explanation with one more mistake, and what the range that the mistake's parameters may
    have costs its score; None: the mistake is too small to be named.
    """
    if guess.reading is not None:
        return x.without(guess.reading), 0.0
    # gravity of another robot, or none, hides every other mistake
    if x.other_robot or (x.compensated and guess.kind != "payload"):
        return None
    match guess.kind:
        case "gravity_compensated_by_driver":
            plain = not (x.held or x.bodies or x.q_shift.any()) and np.array_equal(
                x.gravity, weighing.model.gravity
            )
            if plain:
                return (dataclasses.replace(x, compensated=True), 0.0)
            return None
        case "held_joint":
            return dataclasses.replace(x, held=(*x.held, *guess.joints)), 0.0
        case "link_mass" | "payload":
            return dataclasses.replace(x, bodies=(*x.bodies, (guess.kind, guess.joints[0]))), 0.0
        case "wrong_robot":
            return _family(weighing, x)
        case "effort_unit":
            return _unit(weighing, x, guess.joints)
        case "mounting":
            return _mounting(weighing, x)
    return _zero(weighing, x, guess.joints[0])


def _weights_named(x: Explanation, fit: Fit) -> bool:
    """Whether masses of bodies are large enough to be named, and not too large."""
    first = 0
    for kind, _ in x.bodies:
        mass = fit.extra[first]
        error = fit.error[first]
        if not (
            mass > 2.0 * error
            if kind == "payload"
            else abs(mass) > _NAMED_MASS_SHARE and 0.0 < 1.0 + mass < _LARGEST_MASS_RATIO
        ):
            return False
        first += PARAMETERS_OF[kind]
    return True


def _unit(
    weighing: Weighing,
    x: Explanation,
    joints: tuple[int, ...],
) -> tuple[Explanation, float] | None:
    """Factors of the efforts of one joint, of each, or one of all, and what they cost."""
    g, effort = weighing.expected_and_read(x)
    along = np.sum(g * effort, axis=0) / weighing.limit**2
    squares = np.sum(g * g, axis=0) / weighing.limit**2
    own = np.sum(effort**2, axis=0) / weighing.limit**2
    factor = np.ones(len(along))
    resembles = np.abs(along).sum() > 0.5 * math.sqrt(squares.sum() * own.sum())
    if not resembles and math.sqrt(own.max() / len(effort)) < RESOLVED_LIMIT_SHARE:
        # noise about zero, as of an arm on its brakes
        return None
    if not joints:
        alike = along.sum() > 0.5 * math.sqrt(squares.sum() * own.sum())
        factor[:] = (
            squares.sum() / along.sum()
            if alike
            else math.sqrt(squares.sum() / max(own.sum(), 1e-300))
        )
    else:
        chosen = list(joints)
        clear = along[chosen] > 0.7 * np.sqrt(squares[chosen] * own[chosen])
        clear &= squares[chosen] > 1e-3 * squares.max()
        if not clear.any():
            return None
        factor[chosen] = np.where(clear, squares[chosen] / np.where(clear, along[chosen], 1.0), 1.0)
        if len(chosen) > 1:
            factor[chosen] = np.where(
                clear, factor[chosen], np.exp(np.mean(np.log(factor[chosen][clear])))
            )
    size = np.abs(np.log(factor))
    if not _LEAST_UNIT_LOG <= size.max() <= _LARGEST_UNIT_LOG or (
        len(joints) != 1 and abs(float(np.mean(np.log(factor)))) < _LARGEST_FAMILY_LOG
    ):
        return None
    odd = _UNIT_WIDTH if size.max() < _RARE_UNIT_LOG else 0.0
    width = odd + _UNIT_WIDTH * len(np.unique(factor[factor != 1.0]))
    return dataclasses.replace(x, e_factor=factor * x.e_factor), width


def _family(weighing: Weighing, x: Explanation) -> tuple[Explanation, float] | None:
    """A heavier or lighter robot of the same family: all weights times a factor."""
    g, effort = weighing.expected_and_read(x)
    along = float(np.sum(g * effort / weighing.limit**2))
    factor = along / max(float(np.sum((g / weighing.limit) ** 2)), 1e-300)
    if not (factor > 0.0 and _LEAST_UNIT_LOG < abs(math.log(factor)) < _LARGEST_FAMILY_LOG):
        return None
    return dataclasses.replace(x, gravity=factor * x.gravity, other_robot=True), _UNIT_WIDTH


def _zero(weighing: Weighing, x: Explanation, j: int) -> tuple[Explanation, float] | None:
    """The zero of a joint moved to where efforts are explained best, and the logarithm of what that
    width costs.
    """
    q = weighing.readings.q
    step = 1e-3
    e = np.eye(len(x.q_shift))[j]
    start = x.q_shift
    error = _ZERO_USUAL
    for _ in range(_REFINING_STEPS):
        true = x.positions(q)
        column = -(weighing.gravity(x, true + step * e) - weighing.gravity(x, true - step * e)) / (
            2.0 * step
        )
        own = weighing.fit(x, -column[None], np.array([_ZERO_USUAL]))
        move = float(own.extra[-1])
        error = float(own.error[-1])
        x = dataclasses.replace(x, q_shift=x.q_shift + float(np.clip(move, -0.3, 0.3)) * e)
        if abs(move) < 0.1 * error:
            break
    shift = float((x.q_shift - start)[j])
    if abs(shift) < max(_NAMED_ZERO_RAD, 3.0 * error) or abs(shift) > 1.5:
        return None
    return x, math.log(_ZERO_USUAL / error) + 0.5 * (shift / _ZERO_USUAL) ** 2


def _mounting(weighing: Weighing, x: Explanation) -> tuple[Explanation, float] | None:
    """Gravity of the described size in the direction that explains efforts best, and what the range
    that it may have costs the score; None: the efforts hold no gravity, or it is as described.
    """
    r = weighing.readings
    q = x.positions(r.q)
    effort = x.efforts(r.effort)
    columns = np.stack([weighing.gravity(dataclasses.replace(x, gravity=e), q) for e in np.eye(3)])
    weight = 1.0 / weighing.limit
    A = (columns * weight).reshape(3, -1)
    b = (effort * weight).ravel()
    # any direction and size
    G = np.linalg.lstsq(A.T, b, rcond=1e-4)[0]
    if not np.linalg.norm(G) > 0.2 * weighing.g:
        return None
    error = np.ones(2)
    for _ in range(_REFINING_STEPS):
        G = G * weighing.g / max(float(np.linalg.norm(G)), 1e-9)
        # two directions across, in which it can be turned
        across = np.linalg.svd(G[None])[2][1:]
        x = dataclasses.replace(x, gravity=G)
        tangent = weighing.g * np.einsum("cx,xkj->ckj", across, columns)
        fit = weighing.fit(x, tangent, np.ones(2))
        move = fit.extra[-2:]
        error = fit.error[-2:]
        G = G + weighing.g * np.clip(move, -0.5, 0.5) @ across
        if np.abs(move).max() < 0.1 * error.min():
            break
    own = np.asarray(weighing.model.gravity)
    if (
        np.linalg.norm(G / np.linalg.norm(G) - own / max(float(np.linalg.norm(own)), 1e-9))
        < _USUAL_TILT_RAD
    ):
        return None
    return x, -float(np.log(error).sum())


def weigh(
    model: RobotModel,
    poses: ArrayLike,
    efforts: ArrayLike,
    *,
    moved: ArrayLike | None = None,
    asked: ArrayLike | None = None,
    measured: MeasuredEffort | None = None,
) -> StepReport:
    """Compare efforts at rest with gravity, and name the mistake that explains the difference.

    Readings are those of the driver, as it publishes them, in the order of ``model.joint_names``.

    Args:
        model: the robot as described.
        poses: (k, nv) positions at rest, rad or m.
        efforts: (k, 2, nv) while each pose is passed slowly, with rising and with falling positions
            of all joints: their mean lacks friction, half their difference is friction.  Or (k, nv)
            at rest: friction is then noise.
        moved: (k, nv) how far each joint moved during the rest, rad or m; ``None``: nobody looked.
        asked: (k, nv) poses that the arm was asked for; ``None``: it was moved by hand.
        measured: the meaning of efforts that is set; ``None``: torques.

    Returns:
        Findings; ``numbers``: ``gravity``, ``friction``, ``misfit`` of each joint; ``next_pose``,
        if a further one would tell more.

    Raises:
        ArgumentError: shapes that do not agree, numbers that are not finite, a floating joint.

    >>> import numpy as np, robot_dynamics_ros as rd
    >>> model = rd.load_robot("six_axis")
    >>> poses = rd.commissioning.weighing_poses(model, 12)
    >>> efforts = rd.gravity_forces(model, poses)
    >>> efforts[:, 1] *= -1.0
    >>> print(rd.commissioning.weigh(model, poses, efforts).findings[0].sentence)
    the efforts of joint shoulder_lift_joint have the opposite sign
    """
    model = without_compiling(model)
    q = _checked(model, poses, "poses")
    effort = _checked(model, efforts, "efforts")
    if len(q) != len(effort):
        text = f"{len(q)} poses and {len(effort)} efforts"
        remedy = "One row of efforts for each pose."
        raise ArgumentError(text, where="efforts", got=effort.shape, remedy=remedy)
    kind = MeasuredEffort() if measured is None else measured
    kind.need("weighing")
    both = effort if effort.ndim == 3 else effort[:, None]
    both = motor_effort(kind, both, applied=both, gravity=gravity_forces(model, q)[:, None])
    readings = _readings(model, q, both)
    weighing = Weighing(model, readings)
    apart = _without_model(model, q, moved, asked)
    if len(q) < _FEWEST_POSES:
        pose = weighing_poses(model, len(q) + 1)[-1]
        return StepReport(
            "weigh",
            tuple(apart),
            _numbers(weighing, None),
            False,
            pose,
            ("needs three poses or more",),
        )
    tried = search(weighing)
    best = tried[0]
    each = _best_of_each(tried)
    rival = next((s for s in each if s.name != best.name), None)
    own = next(s.score for s in each if s.name == best.name)
    certainty = 1.0 / sum(math.exp(s.score - own) for s in each)
    findings = [*apart, *_findings(weighing, best, certainty), *_friction(weighing, best)]
    notes = []
    if readings.band is None:
        notes.append(
            "each pose was approached once: friction is not known, small mistakes do not show"
        )
    if not best.guesses:
        lighter = [s for s in tried if [g.kind for g in s.guesses] == ["link_mass"]]
        for scored in sorted(lighter, key=lambda s: -s.fit.score)[:2]:
            if scored.fit.score > best.fit.score + _MENTIONED_SCORE:
                perhaps = _finding(weighing, scored, scored.guesses[0]).sentence
                notes.append(f"perhaps {perhaps}: the evidence is too weak to say so")
    pose = None
    if certainty < _NAMED_CERTAINTY and rival is not None:
        pose = _deciding(weighing, best, rival)
        instead = "; ".join(_finding(weighing, rival, guess).sentence for guess in rival.guesses)
        notes.append(f"it may be instead: {instead or 'all is well'}")
    return StepReport(
        "weigh", tuple(findings), _numbers(weighing, best), pose is None, pose, tuple(notes)
    )


def _checked(model: RobotModel, values: ArrayLike, where: str) -> Array:
    array = real_array_or_nan(values)
    wrong = (
        array.ndim not in ((2, 3) if where == "efforts" else (2,))
        or array.shape[-1] != model.nv
        or not len(array)
    )
    if (
        wrong
        or (array.ndim == 3 and array.shape[1] != 2)
        or model.nq != model.nv
        or not np.isfinite(array).all()
    ):
        if where == "efforts":
            more = " or (poses, 2, joints)"
        else:
            more = ""
        text = (
            f"expected finite numbers of shape (poses, {model.nv}){more}, got shape {array.shape}"
        )
        remedy = (
            "Give one row for each pose, in the order of model.joint_names; no joint may float."
        )
        raise ArgumentError(text, where=where, got=values, remedy=remedy)
    return array


def _readings(model: RobotModel, q: Array, both: Array) -> Readings:
    """Mean, friction band and spread of efforts (k, 1 or 2, nv)."""
    limit = effort_scale(model)
    if both.shape[1] == 1:
        spread = np.maximum(model.friction, _EXPECTED_FRICTION_LIMIT_SHARE * limit)
        return Readings(q, both[:, 0], None, spread)
    half = 0.5 * (both[:, 0] - both[:, 1])
    band = np.median(half, axis=0)
    if len(q) > 2:
        spread = np.std(half, axis=0)
    else:
        spread = 0.3 * np.abs(band)
    return Readings(q, both.mean(axis=1), band, spread + 0.1 * np.abs(band))


def _without_model(
    model: RobotModel,
    q: Array,
    moved: ArrayLike | None,
    asked: ArrayLike | None,
) -> list[Finding]:
    """Joints that sag, and joints whose position is frozen."""
    names = model.joint_names
    findings = []
    if moved is not None:
        sag = np.abs(_checked(model, moved, "moved")).max(axis=0)
        for j in np.flatnonzero(sag > _SAG_NAMED_RAD):
            text = f"joint {names[j]} is not held: it moves by {sag[j]:.2g} while the arm rests"
            findings.append(mistake("brake", names[j], text, sag[j], certainty=0.99))
    if asked is not None and len(q) > 1:
        asked_for = np.ptp(_checked(model, asked, "asked"), axis=0)
        for j in np.flatnonzero((np.ptp(q, axis=0) == 0.0) & (asked_for > 0.05)):
            text = (
                f"the position of joint {names[j]} is frozen: it was asked to move by "
                f"{asked_for[j]:.2g}"
            )
            findings.append(mistake("frozen_joint", names[j], text, asked_for[j], certainty=0.99))
    return findings


def _findings(weighing: Weighing, best: Scored, certainty: float) -> list[Finding]:
    if best.guesses:
        other = tuple(guess for guess in best.guesses if guess.kind == "wrong_robot")
        return [_finding(weighing, best, guess, certainty) for guess in other or best.guesses]
    if best.fit.misfit < 2.0 * ADEQUATE:
        return []
    times = math.sqrt(best.fit.misfit)
    text = f"efforts differ from gravity {times:.1f} times as much as usual, for no single cause"
    return [mistake("unexplained", (), text, times, certainty=certainty)]


_Value: TypeAlias = float | str | tuple[float | str, ...] | None

_OTHER_ROBOT = (
    "no error of one joint or link explains the efforts, other bodies do: the description is of "
    "another robot"
)


def _of_reading(
    reading: ReadingMistake,
    model: RobotModel,
    names: tuple[str, ...],
) -> tuple[float, _Value, str]:
    """Number, value and line of a finding: columns that are exchanged, or of the other sign."""
    if reading.exchanged:
        return math.nan, tuple(model.joint_names[j] for j in reading.order(model.nv)), ""
    if reading.columns != "efforts":
        return -1.0, "the opposite direction", ""
    line = ""
    if len(names) == 1:
        line = f"measured_effort_factor.{names[0]}"
    return -1.0, -1.0, line


def _of_unit(factors: Array, names: tuple[str, ...]) -> tuple[float, _Value, str, str]:
    """Number, value, sentence and line of a finding: efforts in another unit."""
    number = 1.0 / float(np.exp(np.mean(np.log(factors))))
    whose = "all joints"
    line = ""
    if len(factors) == 1:
        whose = f"joint {names[0]}"
        line = f"measured_effort_factor.{names[0]}"
    value: _Value = tuple(factors.tolist())
    if len(set(factors.tolist())) == 1:
        value = 1.0 / number
    text = (
        f"the efforts of {whose} are {number:.3g} times as large as gravity: another unit, "
        "or currents"
    )
    return number, value, text, line


def _finding(
    weighing: Weighing,
    scored: Scored,
    guess: Guess,
    certainty: float = 1.0,
) -> Finding:
    """The finding of one guess of an explanation."""
    model = weighing.model
    x = scored.explanation
    kind = guess.kind
    joints = guess.joints
    of_body = kind in ("link_mass", "payload")
    if of_body:
        every = model.moving_joint_names
    else:
        every = model.joint_names
    names = tuple(every[j] for j in joints)
    number = math.nan
    line = ""
    value: _Value = None
    if guess.reading is not None:
        text = guess.reading.sentence(model.joint_names)
        number, value, line = _of_reading(guess.reading, model, names)
    elif kind == "effort_unit":
        factors = np.abs(x.e_factor[list(joints or range(model.nv))])
        number, value, text, line = _of_unit(factors, names)
    elif kind == "gravity_compensated_by_driver":
        why = "the driver compensates it, or brakes hold the arm"
        text = f"efforts do not change with gravity: {why}"
        value = "robot"
    elif kind == "held_joint":
        text = (
            f"the effort of joint {names[0]} does not change with gravity: a brake or something "
            "else holds it"
        )
    elif kind == "mounting":
        number = math.acos(
            float(np.clip(np.asarray(model.gravity) @ x.gravity / weighing.g**2, -1.0, 1.0))
        )
        value = tuple(float(f"{c:.3f}") for c in x.gravity)
        direction = ", ".join(f"{c:.2f}" for c in x.gravity)
        text = (
            f"the arm is mounted {math.degrees(number):.0f}° from its description: gravity is "
            f"({direction}) m/s² in the base's axes"
        )
    elif kind == "zero_offset":
        shift = float(x.q_shift[joints[0]])
        value = shift
        number = -shift
        unit = model.joint(names[0]).type.units[0]
        text = (
            f"the zero of joint {names[0]} is off: its true position is {shift:+.3f} {unit} "
            "from the one that is read"
        )
    elif of_body:
        text, number, value = _of_body(weighing, scored, guess)
        if kind == "link_mass":
            line = f"link[{model.joint(names[0]).child}]/inertial/mass"
    else:
        number = float(np.linalg.norm(x.gravity)) / weighing.g
        text = _OTHER_ROBOT
        if number != 1.0:
            text = (
                f"efforts are {number:.2f} times what the description weighs: it is of another "
                "robot, or efforts are in another unit"
            )
    return mistake(kind, names, text, number, value, certainty=certainty, line=line)


def _of_body(weighing: Weighing, scored: Scored, guess: Guess) -> tuple[str, float, float]:
    """Sentence, number, and the mass to set, kg."""
    body = guess.joints[0]
    earlier = scored.explanation.bodies
    first = sum(PARAMETERS_OF[kind] for kind, _ in earlier[: earlier.index((guess.kind, body))])
    model = weighing.model
    value = scored.fit.extra[first:]
    error = 2.0 * scored.fit.error[first]
    link = model.joint(model.moving_joint_names[body]).child
    if guess.kind == "link_mass":
        factor = float(1.0 + value[0])
        text = f"link {link} has {factor:.2f} ± {error:.2f} times the mass of its description"
        return text, factor, factor * float(weighing.parameters[body, 0])
    com = ", ".join(f"{h / value[0]:.3f}" for h in value[1:4])
    text = (
        f"link {link} carries {value[0]:.2f} ± {error:.2f} kg more than its description says, at "
        f"({com}) m"
    )
    return text, float(value[0]), float(value[0])


def _friction(weighing: Weighing, best: Scored) -> list[Finding]:
    """Joints with far more friction than the description says."""
    r = weighing.readings
    model = weighing.model
    if r.band is None:
        return []
    x = best.explanation
    band = np.abs(x.e_factor * r.band[x.e_order])
    error = np.abs(x.e_factor) * r.spread[x.e_order] / math.sqrt(len(r.q))
    claimed = np.asarray(model.friction)
    more = np.maximum(_NAMED_FRICTION_RATIO * claimed, _NAMED_FRICTION_LIMIT_SHARE * weighing.limit)
    usual = np.where(claimed > 0.0, more, _NAMED_UNDESCRIBED_LIMIT_SHARE * weighing.limit)
    out = []
    for j in np.flatnonzero(band - error > usual):
        name = model.joint_names[j]
        size = float(band[j])
        unit = model.joint(name).type.units[2]
        if claimed[j] > 0.0:
            than = f"{size / claimed[j]:.1f} times the description's"
        else:
            than = "the description has none"
        out.append(
            mistake(
                "friction",
                name,
                f"joint {name} has {size:.3g} {unit} of friction: {than}",
                size,
                size,
            )
        )
    return out


def _numbers(weighing: Weighing, best: Scored | None) -> dict[str, Array | float]:
    """Usual gravity, friction and what is left of efforts, of each joint."""
    r = weighing.readings
    model = weighing.model
    if best is None:
        x = Explanation.as_described(model)
    else:
        x = best.explanation
    g, effort = weighing.expected_and_read(x)
    rest = effort - (0.0 if x.compensated else 1.0) * g
    numbers = {
        "gravity": np.sqrt(np.mean(g**2, axis=0)),
        "misfit": np.sqrt(np.mean(rest**2, axis=0)),
    }
    if r.band is not None:
        numbers["friction"] = np.abs(x.e_factor * r.band[x.e_order])
    return numbers


def weighing_poses(
    model: RobotModel,
    count: int = _USUAL_POSES,
    *,
    around: ArrayLike | None = None,
    span: float = math.inf,
    still: Sequence[str] = (),
) -> Array:
    """Poses whose efforts at rest tell most, spread over the workspace.

    Nobody checks collisions: look at each pose before the arm moves there.

    Args:
        model: the robot.
        count: how many.
        around: (nv,) configuration from which no joint is farther than ``span``; ``None``: the
            whole range.
        span: rad or m.
        still: names of joints that stay as they are ``around``: those whose position is frozen.

    Returns:
        (count, nv), each within limits, and with no more effort than the joints can carry.
    """
    model = without_compiling(model)
    q = _candidates(
        model, around, [0.0 if name in still else span for name in model.joint_names], 0
    )
    x = Explanation.as_described(model)
    weighing = Weighing(model, Readings(q[:1], 0.0 * q[:1], None, 0.05 * effort_scale(model)))
    Z, size = weighing.tolerances(x, *weighing.columns(q, x.gravity), 0.0 * weighing.limit)
    A = 10.0 * Z * size / (0.02 * weighing.limit)[:, None]
    covariance = np.eye(A.shape[2])
    chosen: list[int] = []
    for _ in range(count):
        S = np.eye(model.nv) + np.einsum("kjc,cd,kid->kji", A, covariance, A)
        gain = np.linalg.slogdet(S)[1]
        gain[chosen] = -math.inf
        best = int(np.argmax(gain))
        chosen.append(best)
        B = A[best] @ covariance
        covariance = covariance - B.T @ np.linalg.solve(S[best], B)
    return q[chosen]


def _candidates(
    model: RobotModel,
    around: ArrayLike | None,
    span: ArrayLike,
    seed: int,
) -> Array:
    """Random configurations within limits that the joints can carry."""
    if around is None:
        middle = np.zeros(model.nv)
    else:
        middle = np.asarray(around, dtype=np.float64)
    near = middle - np.asarray(span, dtype=np.float64)
    far = middle + np.asarray(span, dtype=np.float64)
    low = np.maximum(
        np.where(np.isfinite(model.lower), model.lower + _WEIGHING_MARGIN_RAD, -math.pi),
        np.maximum(near, -math.pi),
    )
    high = np.minimum(
        np.where(np.isfinite(model.upper), model.upper - _WEIGHING_MARGIN_RAD, math.pi),
        np.minimum(far, math.pi),
    )
    low = np.where(near == far, middle, low)
    high = np.where(near == far, middle, high)
    high = np.maximum(high, low)
    q = low + np.random.default_rng(seed).random((_CANDIDATES, model.nv)) * (high - low)
    load = np.max(np.abs(gravity_forces(model, q)) / effort_scale(model), axis=1)
    fit = load < _CARRIED_LIMIT_SHARE
    if fit.sum() > _CANDIDATES // 5:
        return q[fit]
    return q[np.argsort(load)[: _CANDIDATES // 5]]


def _deciding(weighing: Weighing, best: Scored, rival: Scored) -> Array | None:
    """The pose, as it is read, at which two explanations expect efforts that differ most; ``None``:
    no pose would decide.
    """
    q = _candidates(weighing.model, None, math.inf, 1)
    expected = []
    for scored in (best, rival):
        x = scored.explanation
        true = x.positions(q)
        tau = (0.0 if x.compensated else 1.0) * weighing.gravity(x, true)
        columns, _ = weighing.extra_columns(x, *weighing.columns(true, x.gravity))
        tau = tau + sum(
            (c * value for c, value in zip(columns, scored.fit.extra, strict=False)), 0.0 * tau
        )
        tau = np.where(np.isin(np.arange(weighing.model.nv), x.held), 0.0, tau)
        expected.append(x.read_efforts(tau))
    noise = weighing.readings.spread + 0.01 * weighing.limit
    apart = np.sum(((expected[0] - expected[1]) / noise) ** 2, axis=1)
    if apart.max() > _DECIDES:
        return q[int(np.argmax(apart))]
    return None
