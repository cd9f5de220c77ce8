"""Faults of a recording, or of the model that it is compared with: the cause that explains efforts
best.

Each hypothesis changes the recording or the model: two columns exchanged, a sign, gravity, zeros of
the joints, lengths of links. With each, bodies, rotors and friction are estimated near the prior,
friction that brakes only. Hypotheses are compared by the profile of their likelihood, penalized by
the distance from the prior. Successive rows count for one in every ``_NEWS_APART_S`` seconds.

Source: MacKay, Neural Computation 4 (1992) (comparison of hypotheses by evidence).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.dynamics import joint_torque_regressor
from robot_dynamics_ros.dynamics.parameters import inertial_parameters
from robot_dynamics_ros.identification.samples import MotionSamples
from robot_dynamics_ros.model.description import Array, Pose
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.recordings.damage import ReadingMistake, reading_mistakes, runs
from robot_dynamics_ros.workers import Tell, silent

# A hypothesis is judged by so many rows, far apart: more take longer and decide the same.
_ROWS_JUDGED = 400
# s: motion and efforts are smoothed by polynomials over at least this time.
_CAUSE_WINDOW_S = 0.12
# s: rows that are closer together tell nothing new.
_NEWS_APART_S = 0.15
# Share of a joint's efforts that every model leaves unexplained: none is better.
_EFFORT_FLOOR_SHARE = 0.004
# Efforts beyond this many times what the model expects tell nothing about how far parameters may be
# from it.
_LARGEST_EXPECTED_RATIO = 3.0
# Share of a joint's usual efforts that a parameter may well explain beyond the prior.
_FAR_EFFORT_SHARE = 0.3
# Logarithm of the likelihood ratio from which on a hypothesis is believed. Wrong ones that explain
# reach 25 on 802 healthy pieces of 37 recordings of eleven real arms, the true cause 67 or more on
# 156 damaged recordings.
_CLEAR_LOG_LIKELIHOOD = 35.0
# The same for efforts that are all too small. What speaks for it is how light the bodies would be,
# the same in a short recording as in a long one: 20 for efforts of a fiftieth, below -50 on the
# same healthy pieces.
_CLEAR_SMALL_LOG_LIKELIHOOD = 18.0
# Causes of the same joints are as likely as one another if the same logarithm differs by less.
_AS_LIKELY_LOG_LIKELIHOOD = 3.0
# Scales of one joint's efforts that are tried.
_SCALES_OF_ONE = (0.1, 0.3, 3.0, 10.0, 30.0, 100.0, 300.0, 1e3)
# Scales of all joints' efforts: also N mm in place of N m, and currents of small motors.
_SCALES_OF_ALL = (1e-3, 3e-3, 0.01, 0.03, *_SCALES_OF_ONE)
# Logarithm of the factor by which all bodies may well be lighter.
_LIGHTER_LOG = 0.7
# s: efforts that are later or earlier may be wrong instead: causes are also tried without a delay.
_SUSPECT_DELAY_S = 0.05
# s: a smaller delay of the efforts is usual, and not remarked on.
_REMARKED_DELAY_S = 0.012
# s, over which misfits are averaged.
_MISFIT_AVERAGED_S = 0.6
# s that a stretch of misfits lasts at least: shorter ones are knocks, which identification leaves
# out.
_STRETCH_LASTS_S = 1.0
# Misfits above this share of the usual efforts are large:
_LARGE_EFFORT_SHARE = 0.7
# their stretch lasts at least so many seconds.
_LARGE_STRETCH_LASTS_S = 0.5
# Rows whose misfit is below this many medians are fitted alone, to see which stretches differ.
_FITTED_MEDIANS = 2.0
# A stretch differs if its misfit is this many times the usual one,
_STRETCH_MEDIANS = 5.0
# and at least this share of the usual efforts.
_STRETCH_EFFORT_SHARE = 0.25
# Steps of the search for a cause that has a size, each a linear fit.
_CAUSE_STEPS = 4
# Fits of bodies and of the noise of each joint, in turns: more change nothing.
_NOISE_FITS = 6
# The first guess of that noise, as a share of a joint's efforts.
_NOISE_GUESS_SHARE = 0.1
# Fewer rows do not tell one cause from another.
_FEWEST = 50
# A joint slower than this share of its fastest speed may stick.
_STICKS_SPEED_SHARE = 0.02
# Dry friction changes over these shares of a joint's fastest speed.
_FRICTION_STEPS = (0.005, 0.05, 0.2)
# s: delays of the efforts that are tried, negative where positions are late.
_DELAYS_S = np.arange(-0.2, 0.41, 0.04)
# Times that the step of such a list is halved beside the best: to about a millisecond, and to a
# hundredth of a clock's pace.
_HALVINGS = 5
# rad or m: an error of a joint's zero that is smaller is not named.
_NAMED_ZERO_ERROR = 0.02
# rad or m: a usual size of such an error; larger ones have to explain more.
_USUAL_ZERO_ERROR = 0.2
# A length is named if it is off by this share: healthy recordings of a UR10 show up to 9 %.
_LENGTH_ERROR_SHARE = 0.1
# A usual size of that share.
_USUAL_LENGTH_ERROR_SHARE = 0.3
# Other lengths are believed if this share is between:
_BELIEVED_SHORTENING = -0.65
_BELIEVED_LENGTHENING = 1.0
# rad: a smaller tilt of the base is not named.
_NAMED_BASE_TILT_RAD = math.radians(4.0)
# Shares of a recording after which a change of the load is tried.
_LOAD_CHANGES = np.linspace(0.15, 0.85, 15)
# A load is named if its mass is at least this share of the robot's.
_LOAD_MASS_SHARE = 0.01
# A usual size of that share.
_USUAL_LOAD_MASS_SHARE = 0.1
# m: usual distance of a load's centre of mass from its link.
_CAUSE_REACH = 0.2
# A load that comes or goes explains a little of almost any recording: it has to be clearer.
_CLEAR_LOAD_LOG_LIKELIHOOD = 3.5 * _CLEAR_LOG_LIKELIHOOD
# Paces of a clock that are tried, true seconds for each of its own; beyond the last it looks like
# no gravity.
_PACES = np.geomspace(0.09, 3.0, 10)
# The least pace, or its inverse, that is named: nearer to 1 it looks like other lengths.
_PACE_NAMED = 1.35
# A cause must leave this many times less of some joint's efforts: where healthy pieces pass the
# limit of likelihood, at most 1.46 times less remain, with the true cause at least 1.99 times.
_EXPLAINS_RATIO = 1.7
# So many causes are named where the motion does not show which it is.
_MOST_RIVALS_SAID = 3
# The true cause leaves a smaller share of the efforts: of each joint that it concerns, or of most
# joints if it concerns all.
_TRUE_CAUSE_LEAVES_SHARE = 0.25
# A larger share of a joint's efforts that nothing explains is remarked on.
_REMARKED_UNEXPLAINED_SHARE = 0.7
_UNITS = (
    "Give N m and N at the joint: multiply currents by torque constant and gear ratio, divide N "
    "mm by 1000. If the URDF's masses "
    "are meaningless: plausibility='accept'."
)
_ABSOLUTE = "the efforts of no joint change their sign: they are absolute values"
_SIGNED = "Record efforts with their sign."
# Efforts change their sign if they reach farther to the other side than this share of the largest.
_BOTH_SIGNS_SHARE = 0.05
# The robot's own efforts surely do if it is this share: masses may be wrong.
_SURELY_BOTH_SIGNS_SHARE = 0.2


@dataclass(frozen=True, eq=False)
class Cause:
    """A likely fault of some joints, with its remedy."""

    text: str
    remedy: str
    joints: tuple[str, ...]
    # logarithm of the likelihood ratio to the recording as it is
    gain: float
    # (nv,) share of each joint's efforts that is not explained with it
    left: Array
    # robot and recording after the remedy, if it is one that can be tried
    remedied: tuple[RobotModel, _Rows] | None = None


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """Faults, delay and unusable stretches of a recording."""

    # s, by which efforts are late
    delay: float
    # the fault that explains efforts clearly better than none, if there is one
    cause: Cause | None
    # the recording, without the efforts of stretches in which something else acted
    motion: MotionSamples
    # sentences about delay and these stretches
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class _Rows:
    """States and efforts (k, nv) and which of the efforts count."""

    q: Array
    v: Array
    a: Array
    effort: Array
    use: NDArray[np.bool_]

    def of_joints(self, joints: NDArray[np.intp]) -> _Rows:
        fields = {name: getattr(self, name)[:, joints] for name in ("q", "v", "a", "effort", "use")}
        return _Rows(**fields)

    def without(self, mistake: ReadingMistake) -> _Rows:
        order = mistake.order(self.q.shape[1])
        factor = mistake.factor(self.q.shape[1])
        fields = ("q", "v", "a") * ("positions" in mistake.columns) + ("effort",) * (
            "efforts" in mistake.columns
        )
        changes = {name: getattr(self, name)[:, order] * factor for name in fields}
        if mistake.exchanged and "effort" in fields:
            use = self.use[:, order]
        else:
            use = self.use
        return dataclasses.replace(self, use=use, **changes)


class _Hypothesis(NamedTuple):
    """Rows as they would be without a fault, the joints that it concerns, the fault and its
    remedy; ``scales``: bodies of another size explain the efforts as well; ``small``: these are
    lighter.
    """

    rows: _Rows
    joints: tuple[str, ...]
    text: str
    remedy: str
    scales: bool = False
    small: bool = False


@dataclass(frozen=True, eq=False)
class _CauseFit:
    score: float
    bodies: Array
    extra: Array
    extra_error: Array
    left: Array
    drives: NDArray[np.bool_]


def _rms_effort(rows: _Rows) -> Array:
    """(nv,) root mean square of the efforts."""
    usual = np.sqrt(np.mean(rows.effort**2, axis=0))
    return np.maximum(usual, 1e-12 * max(float(usual.max()), 1e-12))


def _friction(v: Array) -> list[Array]:
    """Columns (k, ...) of joints' friction, the same in any unit: viscous, and dry friction that
    changes over shares of a joint's fastest speed.
    """
    fastest = np.maximum(np.abs(v).max(axis=0, initial=0.0), 1e-300)
    return [v, *(np.tanh(v / (step * fastest)) for step in _FRICTION_STEPS)]


@dataclass(frozen=True, eq=False)
class _Reduced:
    """Columns of each joint without what friction, rotor and offset explain of them.

    Attributes:
        use: (k, nv) which efforts count; that of the rows.
        W: (nv, k, c) the columns, zero where an effort does not count.
        Q: (nv, k, own) orthonormal columns of friction, rotor and offset.
        parts: (nv, own, c) what these are of W.
        gram: (nv, c, c) products of the columns without these parts.
        speed: (nv, own) the power of friction as a function of parts.
        error: (nv,) standard error of this power for one unit of noise.
    """

    use: NDArray[np.bool_]
    W: Array
    Q: Array
    parts: Array
    gram: Array
    speed: Array
    error: Array

    @classmethod
    def of(cls, W: Array, rows: _Rows, brakes: bool, worth: float) -> _Reduced:
        """Of columns (k, nv, c); without friction unless it ``brakes``."""
        use = rows.use.T[..., None]
        W = np.where(use, W.transpose(1, 0, 2), 0.0)
        columns = [rows.a, np.ones_like(rows.a), *(_friction(rows.v) if brakes else ())]
        # (nv, k, own)
        own = np.where(use, np.stack(columns, axis=-1).transpose(1, 0, 2), 0.0)
        Q, R = np.linalg.qr(own)
        size = np.maximum(np.abs(R).max(axis=(1, 2), initial=0.0), 1e-300)
        R = R + 1e-12 * size[:, None, None] * np.eye(R.shape[1])
        power = np.zeros(R.shape[:2])
        count = rows.use.sum(axis=0)
        enough = brakes & (count >= _FEWEST)
        power[:, 2:] = np.einsum("jkc,kj->jc", own[..., 2:], rows.v) / np.maximum(count, 1)[:, None]
        power[~enough] = 0.0
        speed = np.linalg.solve(R.transpose(0, 2, 1), power[..., None])[..., 0]
        parts = Q.transpose(0, 2, 1) @ W
        gram = W.transpose(0, 2, 1) @ W - parts.transpose(0, 2, 1) @ parts
        error = 2.0 * np.linalg.norm(speed, axis=1) / math.sqrt(worth)
        return cls(rows.use, W, Q, parts, gram, speed, error)

    def products(self, y: Array) -> tuple[Array, Array]:
        """Products (nv, c + 1, c + 1) of each joint's columns [W, y], efforts y (k, nv) last, and
        (nv, c + 1) the power of friction as a function of the same columns.
        """
        # (nv, k, 1)
        last = np.where(self.use, y, 0.0).T[..., None]
        part = self.Q.transpose(0, 2, 1) @ last
        parts = np.concatenate([self.parts, part], axis=2)
        column = self.W.transpose(0, 2, 1) @ last - self.parts.transpose(0, 2, 1) @ part
        corner = (last * last).sum(axis=1) - (part * part).sum(axis=1)
        grams = np.empty((len(parts), parts.shape[2], parts.shape[2]))
        grams[:, :-1, :-1] = self.gram
        grams[:, :-1, -1] = grams[:, -1, :-1] = column[..., 0]
        grams[:, -1, -1] = corner[:, 0]
        return grams, np.einsum("jr,jrc->jc", self.speed, parts)


class _CauseProblem:
    """Fits of one recording; ``worth``: how many independent rows there are for one that is used.

    Attributes:
        rows, Y, plain: the recording as it is, its regressor (k, nv, p), and its fit.
    """

    plain: _CauseFit

    def __init__(self, model: RobotModel, rows: _Rows, worth: float) -> None:
        self.model = model
        self.rows = rows
        self.worth = worth
        self._kept: dict[bool, _Reduced] = {}
        self.prior, self.Y = inertial_parameters(model), self.regressor(rows)
        expected = np.sqrt(np.mean((self.Y @ self.prior) ** 2, axis=0))
        self.expected = expected = np.maximum(expected, 1e-2 * max(float(expected.max()), 1e-9))
        scale = np.clip(_rms_effort(rows), expected, _LARGEST_EXPECTED_RATIO * expected)
        self.hold = (
            np.sqrt(np.mean((self.Y / scale[:, None]) ** 2, axis=0).sum(axis=0)) / _FAR_EFFORT_SHARE
        )
        # what no effort shows stays as it is
        self.hold = np.maximum(self.hold, 1e-6 * float(self.hold.max()))

    def regressor(self, rows: _Rows) -> Array:
        return np.asarray(joint_torque_regressor(self.model, rows.q, rows.v, rows.a))

    def cause(
        self,
        text: str,
        remedy: str,
        joints: tuple[str, ...],
        fit: _CauseFit,
        cost: float = 0.0,
        remedied: tuple[RobotModel, _Rows] | None = None,
    ) -> Cause:
        gain = self.plain.score - fit.score - cost
        return Cause(text, remedy, joints, gain, fit.left, remedied)

    def fit(
        self,
        Y: Array,
        rows: _Rows,
        extra: Array | None = None,
        extra_far: Array | None = None,
        driving: bool = False,
    ) -> _CauseFit:
        """Bodies with regressor Y (k, nv, p) near the prior, friction, which may be ``driving``,
        and rotors of each joint, and extra columns (k, nv, m), of parameters that are usually as
        large as ``extra_far`` (m,).
        """
        p = Y.shape[2]
        if extra is None:
            W = Y
        else:
            W = np.concatenate([Y, extra], axis=2)
        if extra_far is None:
            hold = self.hold
        else:
            hold = np.concatenate([self.hold, 1.0 / extra_far])
        start = np.concatenate([self.prior, np.zeros(W.shape[2] - p)])
        y = rows.effort - W @ start
        reduced = self._reduced(W, rows, brakes=True)
        grams, friction = reduced.products(y)
        x, N, sigma = self._solve(grams, rows, hold)
        drives = friction @ np.append(-x, 1.0) < -reduced.error * sigma
        if drives.any() and not driving:
            # friction that would drive is none
            own = np.flatnonzero(drives)
            if self._recorded(W, rows):
                grams[own] = self._reduced(W, rows, brakes=False).products(y)[0][own]
            else:
                without = self._reduced(W[:, own], rows.of_joints(own), brakes=False)
                grams[own] = without.products(y[:, own])[0]
            x, N, sigma = self._solve(grams, rows, hold)
        misfit = (rows.use.sum(axis=0) * np.log(sigma / _rms_effort(rows))).sum()
        score = float(self.worth * misfit + 0.5 * ((hold * x) ** 2).sum())
        if extra is None:
            error = np.zeros(0)
        else:
            error = np.sqrt(np.maximum(np.linalg.inv(N).diagonal(), 0.0))[p:]
        return _CauseFit(score, start[:p] + x[:p], x[p:], error, sigma / _rms_effort(rows), drives)

    def _recorded(self, W: Array, rows: _Rows) -> bool:
        """Whether columns are those of the recorded motion, whatever the efforts."""
        own = self.rows
        return W is self.Y and rows.v is own.v and rows.a is own.a and rows.use is own.use

    def _reduced(self, W: Array, rows: _Rows, brakes: bool) -> _Reduced:
        """Columns (k, nv, c) reduced by friction, if it ``brakes``, rotor and offset; those of the
        recorded motion are kept, as most hypotheses change the efforts alone.
        """
        if not self._recorded(W, rows):
            return _Reduced.of(W, rows, brakes, self.worth)
        kept = self._kept.get(brakes)
        if kept is None or kept.use is not rows.use:
            kept = self._kept[brakes] = _Reduced.of(W, rows, brakes, self.worth)
        return kept

    def _solve(self, grams: Array, rows: _Rows, hold: Array) -> tuple[Array, Array, Array]:
        """Weighted least squares with a prior, the noise of each joint estimated along with it.

        Args:
            grams: (nv, c, c) products of each joint's columns, efforts last; see
                :meth:`_Reduced.products`.
            rows: those that the products are of.
            hold: (c − 1,) inverse standard deviations of the parameters about the prior.

        Returns:
            (c − 1,) estimates x, (c − 1, c − 1) their information N, and (nv,) standard deviations
            of what x leaves of each joint's efforts.
        """
        counts = np.maximum(rows.use.sum(axis=0), 1)
        usual = _rms_effort(rows)
        sigma = _NOISE_GUESS_SHARE * usual
        floor = (_EFFORT_FLOOR_SHARE * usual) ** 2
        for _ in range(_NOISE_FITS):
            # of all joints' columns, each joint weighted by its noise
            M = np.tensordot(self.worth / sigma**2, grams, 1)
            N = M[:-1, :-1] + np.diag(hold**2)
            x = np.linalg.solve(N, M[:-1, -1])
            # what is left is [W, y] (x, −1), of the square (x, −1)ᵀ G (x, −1)
            left = np.append(x, -1.0)
            sigma = np.sqrt(np.maximum(grams @ left @ left, 0.0) / counts + floor)
        return np.asarray(x, np.float64), N, sigma

    def residual(self, rows: _Rows, fit: _CauseFit, known: NDArray[np.bool_]) -> Array:
        """(k, nv) efforts that bodies, and friction, rotors and offsets by the ``known`` ones,
        leave; NaN where they do not count.
        """
        out = np.full(rows.effort.shape, np.nan)
        for j, use in enumerate(rows.use.T):
            own = np.column_stack([*_friction(rows.v[:, j]), rows.a[:, j], np.ones(len(rows.v))])
            y = rows.effort[:, j] - self.Y[:, j] @ fit.bodies
            fitted = known[:, j]
            x = np.linalg.lstsq(own[fitted], y[fitted], rcond=1e-9)[0]
            out[use, j] = (y - own @ x)[use]
        return out


def diagnose(
    model: RobotModel,
    motion: MotionSamples,
    slow: Array,
    delay: float | None = None,
    currents: bool = False,
    tell: Tell = silent,
) -> Diagnosis:
    """Compare hypotheses about a recording.

    Args:
        slow: (nv,) rad/s or m/s: a joint slower than this stands, and its effort is not used.
        delay: s, by which efforts are late, if it is known.
        currents: whether efforts were made of currents: sign and scale of each joint's are then not
            in question.
    """
    inner = np.concatenate([_inner(motion.t[part]) + part.start for part in motion.parts])
    if len(inner) < _FEWEST:
        return Diagnosis(delay or 0.0, None, motion, ())
    indices = inner[
        np.unique(np.linspace(0, len(inner) - 1, min(_ROWS_JUDGED, len(inner))).astype(int))
    ]
    speed = np.abs(motion.v[indices])
    slow = np.maximum(slow, _STICKS_SPEED_SHARE * speed.max(axis=0))
    use = (speed > slow) & ~motion.unusable[indices]
    # a joint that stands tells nothing
    use &= use.sum(axis=0) >= _FEWEST
    # one joint of several: too little to compare causes
    if use.any(axis=0).sum() < min(2, model.nv):
        return Diagnosis(delay or 0.0, None, motion, ())
    # the window of the motion was chosen by efforts that may be wrong
    effort = motion.smoothed(motion.effort, _CAUSE_WINDOW_S)[0]
    q, v, a = motion.smoothed(motion.q, _CAUSE_WINDOW_S, 2)
    rows = _Rows(q[indices], v[indices], a[indices], effort[indices], use)
    problem = _CauseProblem(model, rows, min(1.0, motion.duration / _NEWS_APART_S / len(indices)))
    if _absolute(problem):
        names = model.joint_names
        left = np.ones(model.nv)
        cause = Cause(_ABSOLUTE, _SIGNED, names, math.inf, left)
        return Diagnosis(delay or 0.0, cause, motion, ())
    late, rows = _delay(problem, motion.t, effort, indices, delay)
    notes = list(delay_notes(late) if delay is None else ())
    rows = dataclasses.replace(rows, use=rows.use.copy())
    unusable = motion.unusable.copy()
    for j, first, last in _stretches(problem, rows, motion.duration / len(indices)):
        rows.use[first:last, j] = False
        unusable[indices[first] : indices[last - 1] + 1, j] = True
        notes.append(
            f"from {motion.t[indices[first]]:.1f} to {motion.t[indices[last - 1]]:.1f} s the "
            f"effort of joint {model.joint_names[j]} is far from "
            "what explains the rest of the recording: contact, a load, or a fault? This stretch "
            "is not used for this joint"
        )
    problem.rows = rows
    problem.plain = problem.fit(problem.Y, rows)
    causes = _causes(problem, list(_hypotheses(model, rows, currents)), tell)
    kept = dataclasses.replace(motion, unusable=unusable)
    best = max(causes, key=lambda cause: cause.gain, default=None)
    # wrong efforts may look late; but what is found with the delay stands if it leaves less
    if delay is None and late != 0.0 and (best is not None or abs(late) > _SUSPECT_DELAY_S):
        prompt = diagnose(model, motion, slow, 0.0, currents, tell)
        left = problem.plain.left if best is None else best.left
        if prompt.cause is not None and _left(prompt.cause.left) < _left(left):
            return prompt
    if best is not None:
        rivals = _rivals(problem, best, causes, currents)
        if not rivals:
            return Diagnosis(late, _worded(model, rows, best, causes), kept, tuple(notes))
        texts = "; ".join(cause.text for cause in (best, *rivals[:_MOST_RIVALS_SAID]))
        notes.append(
            "the efforts do not fit the robot, and the cause is not known: this motion does not "
            f"show which of these it is: {texts}. Record another motion, see robot_dynamics excite"
        )
    notes += _unexplained_remarks(problem)
    return Diagnosis(late, None, kept, tuple(notes))


def _unexplained_remarks(problem: _CauseProblem) -> list[str]:
    """One for each joint whose efforts nothing that is known explains."""
    return [
        f"{left:.0%} of the efforts of joint {name} are explained by nothing that is known: is "
        "this its column?"
        for name, left in zip(problem.model.joint_names, problem.plain.left, strict=True)
        if left > _REMARKED_UNEXPLAINED_SHARE
    ]


def _causes(
    problem: _CauseProblem,
    hypotheses: Sequence[_Hypothesis],
    tell: Tell,
) -> list[Cause]:
    """The causes that explain the recording clearly better than none, and some joint's efforts
    much better.
    """
    causes = list(_of_compensation(problem))
    # these change the efforts of many joints by a little each, or as bodies of another size do
    spread = [*_of_lengths(problem), *_of_gravity(problem)]
    small: list[Cause] = []
    for k, hypothesis in enumerate(hypotheses):
        tell(0.5 * k / len(hypotheses), "is the recording of this robot?")
        if hypothesis.small:
            kind = small
        elif hypothesis.scales:
            kind = spread
        else:
            kind = causes
        kind.append(_of_rows(problem, hypothesis))
    for k, f in enumerate(_FITTED):
        tell(0.5 + 0.5 * k / len(_FITTED), "units, gravity, zeros, lengths of links, loads, clocks")
        causes += list(f(problem))
    explaining = [
        cause for cause in causes if (problem.plain.left / cause.left).max() > _EXPLAINS_RATIO
    ]
    return [
        *(cause for cause in (*explaining, *spread) if cause.gain > _CLEAR_LOG_LIKELIHOOD),
        *(cause for cause in small if cause.gain > _CLEAR_SMALL_LOG_LIKELIHOOD),
    ]


def _rivals(
    problem: _CauseProblem,
    best: Cause,
    causes: Sequence[Cause],
    currents: bool,
) -> list[Cause]:
    """Causes that the recording does not tell from the best one: those of other joints that are as
    likely, and those that it has once the best one is put right.
    """
    rivals = [
        cause
        for cause in causes
        if cause.joints != best.joints and cause.gain > best.gain - _CLEAR_LOG_LIKELIHOOD
    ]
    if rivals or best.remedied is None:
        return rivals
    model, rows = best.remedied
    after = _CauseProblem(model, rows, problem.worth)
    after.plain = after.fit(after.Y, rows)
    return _causes(after, list(_hypotheses(model, rows, currents)), silent)


def _left(shares: Array) -> float:
    """Logarithm of the shares (nv,) of the joints' efforts that are not explained, on average."""
    return float(np.mean(np.log(shares)))


def delay_notes(late: float) -> tuple[str, ...]:
    """Remarks on efforts that are ``late`` s late; none on a usual delay."""
    if abs(late) <= _REMARKED_DELAY_S:
        return ()
    return (
        f"the efforts are {abs(1e3 * late):.0f} ms {'late' if late > 0 else 'early'}: this is "
        "taken into account",
    )


def _inner(t: Array) -> NDArray[np.int64]:
    """Rows of a stretch (n,) that polynomials over ``_CAUSE_WINDOW_S`` differentiate well: none at
    its ends.
    """
    return np.flatnonzero(
        (t >= t[0] + 0.5 * _CAUSE_WINDOW_S) & (t <= t[-1] - 0.5 * _CAUSE_WINDOW_S)
    )


def _sign_changes(rows: _Rows, j: int, share: float = _BOTH_SIGNS_SHARE) -> bool:
    """Whether efforts of a joint have both signs, the smaller at least this share of the larger."""
    effort = rows.effort[rows.use[:, j], j]
    small, large = sorted(
        (abs(float(effort.min(initial=0.0))), abs(float(effort.max(initial=0.0))))
    )
    return small > share * large


def _absolute(problem: _CauseProblem) -> bool:
    """Whether no joint's efforts change their sign, and all have the same, although those of the
    robot's bodies surely do.
    """
    rows = problem.rows
    signs = np.sign(np.where(rows.use, rows.effort, 0.0).sum(axis=0))
    n = len(signs)
    if n < 2 or abs(signs.sum()) < n or any(_sign_changes(rows, j) for j in range(n)):
        return False
    expected = dataclasses.replace(rows, effort=problem.Y @ problem.prior)
    return any(_sign_changes(expected, j, _SURELY_BOTH_SIGNS_SHARE) for j in range(n))


def _worded(model: RobotModel, rows: _Rows, best: Cause, causes: Sequence[Cause]) -> Cause:
    """The likeliest cause with what else has to be said: others that are as likely, and efforts
    that it does not explain.
    """
    names = model.joint_names
    own = np.isin(model.joint_names, best.joints)
    if (np.median(best.left) if own.all() else best.left[own].min()) < _TRUE_CAUSE_LEAVES_SHARE:
        others = [
            c
            for c in causes
            if c is not best
            and c.joints == best.joints
            and c.gain > best.gain - _AS_LIKELY_LOG_LIKELIHOOD
        ]
        text = "; or, as likely, ".join([best.text, *(c.text for c in others)])
        j = int(np.argmax(best.left))
        if best.left[j] > _REMARKED_UNEXPLAINED_SHARE:
            text += (
                f"; with that, {best.left[j]:.0%} of the efforts of joint {names[j]} remain "
                "unexplained"
            )
        return dataclasses.replace(best, text=text)
    j = int(np.argmax(np.where(own, best.left, 0.0)))
    if _sign_changes(rows, j):
        hint = ""
    else:
        hint = f" Those of {names[j]} do not change their sign: are they absolute values?"
    text = (
        f"{best.left[j]:.0%} of the efforts of joint {names[j]} are explained by nothing that is "
        "known. The most likely of the causes "
    )
    text += f"that were tried, which is not enough: {best.text}"
    remedy = f"Look at this joint's columns, or record again.{hint}"
    return dataclasses.replace(best, text=text, remedy=remedy, joints=(names[j],))


def _stretches(
    problem: _CauseProblem,
    rows: _Rows,
    step: float,
) -> list[tuple[int, int, int]]:
    """Joint, first row and the one after the last of stretches that differ from all others;
    ``step``: s between two rows.
    """
    from scipy.ndimage import uniform_filter1d

    width = max(3, round(_MISFIT_AVERAGED_S / step))
    clean = rows
    # rows that differ bend the fit
    for _ in range(_CAUSE_STEPS):
        residual = problem.residual(rows, problem.fit(problem.Y, clean), clean.use)
        size = np.abs(residual)
        medians = [
            np.median(x[own]) if own.any() else 0.0
            for x, own in zip(size.T, rows.use.T, strict=True)
        ]
        clean = dataclasses.replace(
            rows, use=rows.use & (size < _FITTED_MEDIANS * np.array(medians))
        )
    out: list[tuple[int, int, int]] = []
    for j, (row, usual) in enumerate(zip(residual.T, _rms_effort(rows), strict=True)):
        finite = np.isfinite(row)
        if not finite.any():
            continue
        share = uniform_filter1d(finite.astype(np.float64), width)
        power = uniform_filter1d(np.where(finite, row**2, 0.0), width) / np.maximum(share, 0.5)
        far = power > max(
            _STRETCH_MEDIANS**2 * float(np.median(power[finite])),
            (_STRETCH_EFFORT_SHARE * usual) ** 2,
        )
        for a, b in runs(far) if far.mean() < 0.25 else ():
            large = float(power[a:b].max()) > (_LARGE_EFFORT_SHARE * usual) ** 2
            if (b - a) * step >= (_LARGE_STRETCH_LASTS_S if large else _STRETCH_LASTS_S):
                out.append((j, a, b))
    return out


def _delay(
    problem: _CauseProblem,
    t: Array,
    effort: Array,
    indices: NDArray[np.int64],
    stated: float | None,
) -> tuple[float, _Rows]:
    """How late efforts are, s, and rows with efforts as early as they should be."""

    def rows(late: float) -> _Rows:
        return dataclasses.replace(problem.rows, effort=_later(t, effort, indices, late))

    if stated is not None:
        return stated, rows(stated)
    prompt = problem.fit(problem.Y, rows(0.0))
    best, fit = _search(lambda late: problem.fit(problem.Y, rows(late)), prompt, _DELAYS_S.tolist())
    clear = fit.score < prompt.score - _CLEAR_LOG_LIKELIHOOD
    # at the end of what is tried it is no delay, but something else
    inside = _DELAYS_S[0] < best < _DELAYS_S[-1]
    best = best if clear and inside else 0.0
    return best, rows(best)


def _search(
    fit: Callable[[float], _CauseFit],
    at_zero: _CauseFit,
    grid: Sequence[float],
) -> tuple[float, _CauseFit]:
    """Where the score is lowest, and the fit there: zero and the grid are tried, then half the
    distance beside the best, again and again.
    """
    fits = {0.0: at_zero} | {x: fit(x) for x in grid}
    best = min(fits, key=lambda x: fits[x].score)
    step = grid[1] - grid[0]
    for _ in range(_HALVINGS):
        step *= 0.5
        fits |= {x: fit(x) for x in (best - step, best + step)}
        best = min(fits, key=lambda x: fits[x].score)
    return best, fits[best]


def _later(t: Array, x: Array, indices: NDArray[np.int64], late: float) -> Array:
    """(k, m) signals (n, m) ``late`` s after rows, each from its own recording: several may overlap
    in time.
    """
    # time goes back where the next one begins
    recording = np.cumsum(np.diff(t, prepend=t[0]) < 0.0)
    out = np.empty((len(indices), x.shape[1]))
    for k in range(int(recording[-1]) + 1):
        own = recording == k
        rows = recording[indices] == k
        for j, column in enumerate(x[own].T):
            out[rows, j] = np.interp(t[indices[rows]] + late, t[own], column)
    return out


def _hypotheses(model: RobotModel, rows: _Rows, currents: bool) -> Iterator[_Hypothesis]:
    """Recordings as they would be without a fault."""
    names = model.joint_names
    nv = model.nv
    for mistake in reading_mistakes(nv):
        # constants of any sign: the sign of a joint's efforts, or of its positions alone, is not in
        # question
        if currents and mistake.columns != "positions and efforts" and not mistake.exchanged:
            continue
        if mistake.exchanged:
            remedy = "Check the names of the columns, or the order of the joints."
        else:
            remedy = (
                "Change the sign, or the joint's axis in the URDF. Efforts are those of motors "
                "on joints, not of the load."
            )
        joints = tuple(names[j] for j in mistake.joints)
        yield _Hypothesis(rows.without(mistake), joints, mistake.sentence(names), remedy)
    for joints in (*((name,) for name in names), names):
        if joints is names:
            whose = "all joints"
            scales: tuple[float, ...] = _SCALES_OF_ALL
        else:
            whose = f"joint {joints[0]}"
            scales = _SCALES_OF_ONE
        # the scale of currents is not in question: torque constants are found anyway
        if currents:
            scales = ()
        own = np.isin(names, joints)
        for times in scales:
            text = (
                f"the efforts of {whose} have another scale: they are about {times:g} times as "
                "large as the robot's"
            )
            scaled = dataclasses.replace(rows, effort=rows.effort * np.where(own, 1.0 / times, 1.0))
            every = joints is names
            yield _Hypothesis(scaled, joints, text, _UNITS, every, every and times < 1.0)
        turns = np.where(own, 2.0 * math.pi, 1.0)
        turned = dataclasses.replace(rows, q=rows.q * turns, v=rows.v * turns, a=rows.a * turns)
        text = f"the positions of {whose} are in revolutions"
        yield _Hypothesis(turned, joints, text, "Multiply them by 2π.")


def _of_rows(problem: _CauseProblem, hypothesis: _Hypothesis) -> Cause:
    rows, joints, text, remedy, *_ = hypothesis
    fit = problem.fit(problem.Y if rows.q is problem.rows.q else problem.regressor(rows), rows)
    # bodies of which some weigh next to nothing are farther from the prior than the distance of the
    # scores says
    plainly, now = (
        max(math.log(float(np.max(problem.expected / _rms_effort(x)))), 0.0)
        for x in (problem.rows, rows)
    )
    cost = 0.5 * (now**2 - plainly**2) / _LIGHTER_LOG**2
    return problem.cause(text, remedy, joints, fit, cost, (problem.model, rows))


def _of_compensation(problem: _CauseProblem) -> Iterator[Cause]:
    """Efforts from which more friction was subtracted than there is: friction drives."""
    fit = problem.fit(problem.Y, problem.rows, driving=True)
    joints = tuple(np.array(problem.model.joint_names)[fit.drives])
    if joints:
        text = (
            f"the friction of {', '.join(joints)} drives instead of braking: more friction was "
            "compensated for in the efforts than there is"
        )
        remedy = (
            "Record the efforts of the motors, not those that a controller adds to its "
            "compensation of friction."
        )
        yield problem.cause(text, remedy, joints, fit)


def _of_gravity(problem: _CauseProblem) -> Iterator[Cause]:
    """Gravity in any direction, or none."""
    model = problem.model
    rows = problem.rows
    Y = problem.Y
    g = float(np.linalg.norm(model.gravity))
    if g == 0.0:
        return
    zero = 0.0 * rows.q
    own = np.asarray(joint_torque_regressor(model, rows.q, zero, zero))
    text = (
        "the efforts do not hold gravity: they are compensated for it, or the robot is weightless"
    )
    remedy = "Record efforts with gravity, or load the URDF with --gravity 0,0,0."
    fit = problem.fit(Y - own, rows)
    weightless = _briefly(model.replace(gravity=(0.0, 0.0, 0.0)))
    causes = [problem.cause(text, remedy, model.joint_names, fit, 0.0, (weightless, rows))]
    up = model.gravity / g
    across = np.linalg.svd(up[None])[2][1:]
    others = [_briefly(model.replace(gravity=tuple(g * d))) for d in across]
    G = np.stack(
        [own, *(np.asarray(joint_torque_regressor(m, rows.q, zero, zero)) for m in others)]
    )
    ends = []
    for start in (np.array([1.0, 0.0, 0.0]), np.array([-1.0, 0.0, 0.0])):
        x = start
        fit = problem.plain
        for _ in range(_CAUSE_STEPS):
            if fit is problem.plain:
                bodies = problem.prior
            else:
                bodies = fit.bodies
            columns = np.stack([c @ bodies for c in G], axis=-1)
            step = problem.fit(Y - own + np.einsum("c,ckjp->kjp", x, G), rows, columns, np.ones(3))
            x = x + step.extra
            x = x / max(float(np.linalg.norm(x)), 1e-9)
            fit = problem.fit(Y - own + np.einsum("c,ckjp->kjp", x, G), rows)
        ends.append((x, fit))
    x, fit = min(ends, key=lambda end: end[1].score)
    tilt = math.acos(float(np.clip(x[0], -1.0, 1.0)))
    if tilt > _NAMED_BASE_TILT_RAD:
        direction = g * (x[0] * up + x[1:] @ across)
        if tilt <= math.radians(170.0):
            way = f"{math.degrees(tilt):.0f}° from where the model has it"
        else:
            way = "the other way"
        text = (
            f"gravity points {way}: along {', '.join(f'{c:.2f}' for c in direction)} m/s² in the "
            "base's axes"
        )
        remedy = "Check how the robot is mounted: --gravity X,Y,Z."
        tilted = _briefly(model.replace(gravity=tuple(direction)))
        causes.append(problem.cause(text, remedy, model.joint_names, fit, 0.0, (tilted, rows)))
    yield max(causes, key=lambda cause: cause.gain)


def _briefly(model: RobotModel) -> RobotModel:
    """A robot of which some hundreds of states are computed: compiling would take longer."""
    if model.backend == "auto":
        return model.with_backend("interpreted")
    return model


def _of_zeros(problem: _CauseProblem) -> Iterator[Cause]:
    """The position of one joint has another zero."""
    rows = problem.rows
    nv = problem.model.nv
    h = 1e-3

    def moved(by: Array) -> Array:
        return problem.regressor(dataclasses.replace(rows, q=rows.q + by))

    for name, e in zip(problem.model.joint_names, np.eye(nv), strict=True):
        shift = 0.0
        fit = problem.plain
        near = problem.Y
        for _ in range(_CAUSE_STEPS):
            column = (moved((shift + h) * e) - moved((shift - h) * e)) @ fit.bodies / (2.0 * h)
            step = problem.fit(near, rows, column[..., None], np.array([_USUAL_ZERO_ERROR])).extra[
                0
            ]
            shift = float(np.clip(shift + np.clip(step, -0.3, 0.3), -1.0, 1.0))
            near = moved(shift * e)
            fit = problem.fit(near, rows)
            if abs(step) < 0.1 * _NAMED_ZERO_ERROR:
                break
        if abs(shift) > _NAMED_ZERO_ERROR:
            text = f"the zero of joint {name} is off by {-shift:+.3f} (rad or m)"
            remedy = f"Calibrate it, or add {shift:+.3f} to its positions."
            right = dataclasses.replace(rows, q=rows.q + shift * e)
            cost = 0.5 * (shift / _USUAL_ZERO_ERROR) ** 2
            yield problem.cause(text, remedy, (name,), fit, cost, (problem.model, right))


def _of_lengths(problem: _CauseProblem) -> Iterator[Cause]:
    """Other lengths of the links: the URDF is of another robot."""
    d = problem.model.description
    rows = problem.rows
    model = problem.model
    moving = [
        name
        for name in model.joint_names
        if np.linalg.norm(model.joint(name).origin.position) > 0.02
    ][1:]
    if not moving:
        return

    def longer(name: str) -> Array:
        origin = model.joint(name).origin
        origin = Pose(origin.rotation, (1.0 + _LENGTH_ERROR_SHARE) * origin.position)
        joints = tuple(
            dataclasses.replace(j, origin=origin) if j.name == name else j for j in d.joints
        )
        other = _briefly(
            model.replace(description=dataclasses.replace(d, joints=joints, source=""))
        )
        return np.asarray(joint_torque_regressor(other, rows.q, rows.v, rows.a))

    columns = [
        (longer(name) - problem.Y) @ problem.plain.bodies / _LENGTH_ERROR_SHARE for name in moving
    ]
    fit = problem.fit(
        problem.Y,
        rows,
        np.stack(columns, axis=-1),
        np.full(len(columns), _USUAL_LENGTH_ERROR_SHARE),
    )
    wrong = (np.abs(fit.extra) > _LENGTH_ERROR_SHARE) & (np.abs(fit.extra) > 4.0 * fit.extra_error)
    if (
        not wrong.any()
        or not ((fit.extra > _BELIEVED_SHORTENING) & (fit.extra < _BELIEVED_LENGTHENING)).all()
    ):
        return
    joints = tuple(moving[k] for k in np.flatnonzero(wrong))
    which = ", ".join(
        f"{name} ({share:+.0%})" for name, share in zip(joints, fit.extra[wrong], strict=True)
    )
    text = (
        f"the links before these joints have other lengths than the URDF's: {which}; it is of "
        "another robot"
    )
    remedy = (
        "Load the URDF of the robot that was recorded. A clock that is a little too fast or slow "
        "looks like this, too."
    )
    yield problem.cause(text, remedy, joints, fit)


def _of_load(problem: _CauseProblem) -> Iterator[Cause]:
    """A load that hangs on the robot in one part of the recording only, as a point mass."""
    usual = _USUAL_LOAD_MASS_SHARE * problem.model.total_mass
    rows = problem.rows
    model = problem.model
    causes = []
    for body in sorted(set(range(model.nb)) - set(model.parent.tolist())):
        for share in _LOAD_CHANGES.tolist():
            columns = problem.Y[:, :, 10 * body : 10 * body + 4].copy()
            columns[: int(share * len(rows.q))] = 0.0
            fit = problem.fit(
                problem.Y,
                rows,
                columns,
                usual * np.array([1.0, _CAUSE_REACH, _CAUSE_REACH, _CAUSE_REACH]),
            )
            mass = float(fit.extra[0])
            if (
                abs(mass) > _LOAD_MASS_SHARE * model.total_mass
                and problem.plain.score - fit.score > _CLEAR_LOAD_LOG_LIKELIHOOD
            ):
                load = (
                    f"about {abs(mass):.1g} kg {'more' if mass > 0 else 'less'} beyond joint "
                    f"{model.moving_joint_names[body]}"
                )
                text = f"after {share:.0%} of the recording the robot carries {load} than before"
                remedy = "Record with one load, or cut the recording there."
                causes.append(problem.cause(text, remedy, model.joint_names, fit))
    if causes:
        yield max(causes, key=lambda cause: cause.gain)


def _of_pace(problem: _CauseProblem) -> Iterator[Cause]:
    """Time passes faster or slower in the recording than for the robot."""
    rows = problem.rows
    grid = np.log(_PACES).tolist()

    def slower(pace: float) -> _Rows:
        times = math.exp(pace)
        return dataclasses.replace(rows, v=rows.v * times, a=rows.a * times**2)

    def at(pace: float) -> _CauseFit:
        return problem.fit(problem.regressor(slower(pace)), slower(pace))

    best, fit = _search(at, problem.plain, grid)
    if math.log(_PACE_NAMED) <= abs(best) and best <= grid[-1]:
        text = f"time passes {math.exp(best):.2g} times as fast in the recording as for the robot"
        remedy = "Check the rate and the unit of the stamps."
        right = problem.model, slower(best)
        yield problem.cause(text, remedy, problem.model.joint_names, fit, 0.0, right)


_FITTED: tuple[Callable[[_CauseProblem], Iterator[Cause]], ...] = (
    _of_zeros,
    _of_load,
    _of_pace,
)
