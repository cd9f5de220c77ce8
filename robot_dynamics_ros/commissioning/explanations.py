"""Search for the mistakes that explain efforts at rest: single ones first, then one more beside the best of them, three at most."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from robot_dynamics_ros.commissioning.evidence import PARAMETERS_OF, Explanation, Fit, Weighing
from robot_dynamics_ros.identification.reading_mistakes import ReadingMistake, reading_mistakes

ADEQUATE = 1.6  # misfit of an explanation that leaves nothing
_CLEAR = 6.0  # by which a further mistake must raise the score
_WIDTH = 5  # explanations from which a further mistake is looked for
_MOST = 3  # mistakes
_COST = 3.0  # logarithm of how unlikely a mistake is, beside the number of its kind
_ZERO, _ZERO_USUAL, _TILT = 0.012, 0.15, 0.06  # rad: named, usual; rad, named
_UNIT, _UNIT_WIDTH = math.log(1.2), 4.0  # logarithm of the least factor that is another unit; cost of each factor
_ODD = math.log(1.8)  # units that differ by less are rare: that cost counts twice
_FAMILY = math.log(4.0)  # a common factor below that is another robot's, beyond it another unit
_LIGHTEST = 0.11  # share of a link's mass that is named
_HEAVIEST = 3.0  # times its mass: a link is lighter
_ONCE = ("link_mass", "effort_unit")  # several of them are another robot, or all efforts in another unit
_STEPS = 4


@dataclass(frozen=True)
class Guess:
    """One mistake.

    Attributes:
        kind: of :data:`~robot_dynamics_ros.commissioning.findings.KINDS`.
        joints: their numbers; of ``link_mass`` and ``payload`` the number of the body; empty: the whole arm.
        reading: the mistake of readings, if it is one.
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
    nv, nb = weighing.model.nv, len(weighing.parameters)
    for reading in reading_mistakes(nv):
        sign = "position_sign" if reading.of_positions else "effort_sign"
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
    x = Explanation.as_described(weighing.model)
    fit = weighing.fit(x)
    tried = [Scored((), x, fit, fit.score)]
    every = list(guesses(weighing))
    count = {guess.kind: sum(other.kind == guess.kind for other in every) for guess in every}
    best, front = tried[0], tried[:1]
    for number in range(_MOST):
        if number and best.fit.misfit < ADEQUATE and number > len(best.guesses):
            break
        level = []
        seen: set[frozenset[Guess]] = set()
        for scored in front:
            for guess in every:
                both = frozenset((*scored.guesses, guess))
                if both in seen:
                    continue
                seen.add(both)
                further = _further(weighing, scored, guess, count[guess.kind])
                if further is not None:
                    level.append(further)
        tried += level
        level.sort(key=lambda s: -s.score)
        front = _distinct(level)[:_WIDTH]
        front += [s for s in level if s.guesses == (Guess("effort_unit"),) and s not in front]  # it hides all others
        if not front or front[0].score < best.score + _CLEAR:
            if number or best.fit.misfit < ADEQUATE:
                break
            continue
        best = front[0]
    tried.append(_other_robot(weighing))
    return sorted(tried, key=lambda s: -(s.score - _CLEAR * len(s.guesses)))


def _distinct(ordered: list[Scored]) -> list[Scored]:
    first: dict[frozenset[tuple[str, tuple[int, ...]]], Scored] = {}
    for scored in ordered:
        first.setdefault(scored.name, scored)
    return list(first.values())


def _other_robot(weighing: Weighing) -> Scored:
    x = dataclasses.replace(Explanation.as_described(weighing.model), other_robot=True)
    fit = weighing.fit(x)
    return Scored((Guess("wrong_robot"),), x, fit, fit.score - _COST)


def _further(weighing: Weighing, base: Scored, guess: Guess, count: int) -> Scored | None:
    """``base`` with one more mistake; None if that is none, or too small to be named."""
    for other in base.guesses:
        again = not guess.joints or guess.kind in _ONCE or set(other.joints) & set(guess.joints)
        if other.kind == guess.kind and again:
            return None
    changed = _with(weighing, base.explanation, guess)
    if changed is None:
        return None
    x, width = changed
    fit = weighing.fit(x)
    if not _heavy(x, fit):
        return None
    spent = base.fit.score - base.score
    return Scored((*base.guesses, guess), x, fit, fit.score - spent - _COST - math.log(count) - width)


def _with(weighing: Weighing, x: Explanation, guess: Guess) -> tuple[Explanation, float] | None:
    """An explanation with one more mistake, and what the width of its parameters costs; None: too small to be named."""
    if guess.reading is not None:
        return x.without(guess.reading), 0.0
    if x.other_robot or (x.compensated and guess.kind != "payload"):  # nothing else shows then
        return None
    match guess.kind:
        case "gravity_compensated_by_driver":
            plain = not (x.held or x.bodies or x.q_shift.any()) and np.array_equal(x.gravity, weighing.model.gravity)
            return (dataclasses.replace(x, compensated=True), 0.0) if plain else None
        case "held_joint":
            return dataclasses.replace(x, held=(*x.held, *guess.joints)), 0.0
        case "link_mass" | "payload":
            return dataclasses.replace(x, bodies=(*x.bodies, (guess.kind, guess.joints[0]))), 0.0
        case "wrong_robot":
            return _family(weighing, x)
        case "effort_unit":
            return _unit(weighing, x, guess.joints)
    return _mounting(weighing, x) if guess.kind == "mounting" else _zero(weighing, x, guess.joints[0])


def _heavy(x: Explanation, fit: Fit) -> bool:
    """Whether masses of bodies are large enough to be named, and not too large."""
    first = 0
    for kind, _ in x.bodies:
        mass, error = fit.extra[first], fit.error[first]
        if not (mass > 2.0 * error if kind == "payload" else abs(mass) > _LIGHTEST and 0.0 < 1.0 + mass < _HEAVIEST):
            return False
        first += PARAMETERS_OF[kind]
    return True


def _unit(weighing: Weighing, x: Explanation, joints: tuple[int, ...]) -> tuple[Explanation, float] | None:
    """Factors of the efforts of one joint, of each, or one of all, and what they cost."""
    r = weighing.readings
    g, effort = weighing.gravity(x, x.positions(r.q)), x.efforts(r.effort)
    along = np.sum(g * effort, axis=0) / weighing.limit**2
    squares, own = np.sum(g * g, axis=0) / weighing.limit**2, np.sum(effort**2, axis=0) / weighing.limit**2
    factor = np.ones(len(along))
    if not joints:
        alike = along.sum() > 0.5 * math.sqrt(squares.sum() * own.sum())
        factor[:] = squares.sum() / along.sum() if alike else math.sqrt(squares.sum() / max(own.sum(), 1e-300))
    else:
        chosen = list(joints)
        clear = along[chosen] > 0.7 * np.sqrt(squares[chosen] * own[chosen])
        clear &= squares[chosen] > 1e-3 * squares.max()
        if not clear.any():
            return None
        factor[chosen] = np.where(clear, squares[chosen] / np.where(clear, along[chosen], 1.0), 1.0)
        if len(chosen) > 1:
            factor[chosen] = np.where(clear, factor[chosen], np.exp(np.mean(np.log(factor[chosen][clear]))))
    size = np.abs(np.log(factor))
    if size.max() < _UNIT or (len(joints) != 1 and abs(float(np.mean(np.log(factor)))) < _FAMILY):
        return None
    odd = _UNIT_WIDTH if size.max() < _ODD else 0.0
    width = odd + _UNIT_WIDTH * len(np.unique(factor[factor != 1.0]))
    return dataclasses.replace(x, e_factor=factor * x.e_factor), width


def _family(weighing: Weighing, x: Explanation) -> tuple[Explanation, float] | None:
    """A heavier or lighter robot of the same family: all weights times a factor."""
    r = weighing.readings
    g, effort = weighing.gravity(x, x.positions(r.q)), x.efforts(r.effort)
    along = float(np.sum(g * effort / weighing.limit**2))
    factor = along / max(float(np.sum((g / weighing.limit) ** 2)), 1e-300)
    if not (factor > 0.0 and _UNIT < abs(math.log(factor)) < _FAMILY):
        return None
    return dataclasses.replace(x, gravity=factor * x.gravity, other_robot=True), _UNIT_WIDTH


def _zero(weighing: Weighing, x: Explanation, j: int) -> tuple[Explanation, float] | None:
    """The zero of a joint moved to where efforts are explained best, and the logarithm of what that width costs."""
    q, step = weighing.readings.q, 1e-3
    e = np.eye(len(x.q_shift))[j]
    start = x.q_shift
    error = _ZERO_USUAL
    for _ in range(_STEPS):
        true = x.positions(q)
        column = -(weighing.gravity(x, true + step * e) - weighing.gravity(x, true - step * e)) / (2.0 * step)
        own = weighing.fit(x, -column[None], np.array([_ZERO_USUAL]))
        move, error = float(own.extra[-1]), float(own.error[-1])
        x = dataclasses.replace(x, q_shift=x.q_shift + float(np.clip(move, -0.3, 0.3)) * e)
        if abs(move) < 0.1 * error:
            break
    shift = float((x.q_shift - start)[j])
    if abs(shift) < max(_ZERO, 3.0 * error) or abs(shift) > 1.5:
        return None
    return x, math.log(_ZERO_USUAL / error) + 0.5 * (shift / _ZERO_USUAL) ** 2


def _mounting(weighing: Weighing, x: Explanation) -> tuple[Explanation, float] | None:
    """Gravity in the direction that explains efforts best, and the logarithm of what its width costs."""
    r = weighing.readings
    q, effort = x.positions(r.q), x.efforts(r.effort)
    columns = np.stack([weighing.gravity(dataclasses.replace(x, gravity=e), q) for e in np.eye(3)])
    weight = 1.0 / weighing.limit
    A, b = (columns * weight).reshape(3, -1), (effort * weight).ravel()
    G = np.linalg.lstsq(A.T, b, rcond=1e-4)[0]
    if not np.linalg.norm(G) > 0.2 * weighing.g:
        return None
    error = np.ones(2)
    for _ in range(_STEPS):
        G = G * weighing.g / max(float(np.linalg.norm(G)), 1e-9)
        across = np.linalg.svd(G[None])[2][1:]
        x = dataclasses.replace(x, gravity=G)
        tangent = weighing.g * np.einsum("cx,xkj->ckj", across, columns)
        fit = weighing.fit(x, tangent, np.ones(2))
        move, error = fit.extra[-2:], fit.error[-2:]
        G = G + weighing.g * np.clip(move, -0.5, 0.5) @ across
        if np.abs(move).max() < 0.1 * error.min():
            break
    own = np.asarray(weighing.model.gravity)
    if np.linalg.norm(G / np.linalg.norm(G) - own / max(float(np.linalg.norm(own)), 1e-9)) < _TILT:
        return None
    return x, -float(np.log(error).sum())
