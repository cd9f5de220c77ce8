"""Choice of a form of friction for each joint: the one that best predicts the part of a recording
that it was not fitted to.

The recording is cut into twelve stretches.  Each is predicted from the others, for every form that
is tried: over which speed Coulomb friction is smoothed, or over which distance it builds up
(presliding), then, one after the other, the effects of
:data:`~robot_dynamics_ros.friction.law.EFFECTS`.  An effect is kept only if it predicts better.
All needed of the data are products of columns, stretch by stretch and joint by joint, so that a
trial costs one small linear solution per stretch.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TypeAlias

import numpy as np

from robot_dynamics_ros.friction.effects import JointEffects, direction, joint_loads, presliding
from robot_dynamics_ros.friction.law import EFFECTS, OF_SENSORS, JointMotion
from robot_dynamics_ros.identification.effort_parameters import EffortParameters
from robot_dynamics_ros.identification.held_out import (
    FOLDS,
    GAIN,
    LEAST_EFFORT_SHARE,
    better,
)
from robot_dynamics_ros.identification.least_squares import Identifiable, pieces
from robot_dynamics_ros.identification.samples import Blocks, MotionSamples
from robot_dynamics_ros.model.description import Array, JointType
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.workers import Tell, silent

# Speeds over which the direction of friction may change, as shares of the velocity limit.
_WIDTHS = np.array([0.001, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.15])
# rad: distances over which it may build up after a reversal.
_DISTANCES = 1e-4 * 2.0 ** np.arange(9)
# Octaves by which the two distances of a joint lie below and above such a distance; 0: it has one.
_OCTAVES = (0, 2)
# m for a radian: distances of joints that slide.
_METRES = 0.1
# The other joints may lose at most this share of what errors of a joint's sensor explain.
_PRICE = 0.1
# Share of the usual efforts that a parameter may well explain beyond the prior.
_RIDGE = 0.3
# rad/s or m/s, and shares: columns of a joint that stands are no larger.
_STANDS = 1e-6


_Forms: TypeAlias = list[JointEffects]
_Columns: TypeAlias = list[list[int]]
"""Of each joint: numbers of columns."""
_Offers: TypeAlias = list[tuple[JointEffects, list[int]]]
"""Forms with one effect more, and the numbers of its columns."""


@dataclass(frozen=True, eq=False)
class Selection:
    """The chosen forms of friction."""

    # (nv,)
    effects: tuple[JointEffects, ...]
    # (nv,) root mean square over blocks, each stretch predicted from the others, N m or N
    error: Array
    # (nv,) the same with the form that the selection began with
    simple_error: Array
    # for each other form that might predict better: by how much it changes parameters, by name,
    # times the square root of its probability
    choice: tuple[dict[str, float], ...] = ()


class _Trials:
    """Cross-validation of any subset of candidate columns (m, k), block averages, of one joint, the
    others' being given.
    """

    def __init__(
        self,
        identifiable: Identifiable,
        data: Blocks,
        candidates: list[Array],
        noise: Array,
    ) -> None:
        parameters = identifiable.parameters
        independent = identifiable.base.independent
        bodies = independent[independent < parameters.bodies.stop]
        self.size = len(bodies)
        self.bodies = tuple(parameters.names[k] for k in bodies)
        self.weight = 1.0 / noise**2
        self.scale = identifiable.effort_scale
        self.scale = np.maximum(self.scale, np.sqrt(np.mean(data.effort**2, axis=0)))
        held = (identifiable.strength[bodies] / _RIDGE) ** 2
        self.held = np.diag(held)
        self.pull = held * identifiable.prior[: len(bodies)]
        fold = pieces(data)
        # of each joint: (folds, bodies + candidates + effort, the same)
        self.products: list[Array] = []
        for j, columns in enumerate(candidates):
            W = np.column_stack([data.Y[:, j, bodies], columns, data.effort[:, j]])
            parts = [W[(fold == f) & data.use[:, j]] for f in range(FOLDS)]
            self.products.append(np.stack([rows.T @ rows for rows in parts]))
        self.training = [p.sum(axis=0) - p for p in self.products]
        self.ridges = [
            np.maximum(np.mean(c**2, axis=0), _STANDS**2) / (_RIDGE * self.scale[j]) ** 2
            for j, c in enumerate(candidates)
        ]

    def _normal(self, j: int, columns: list[int]) -> tuple[Array, Array]:
        """(folds, n, n) and (folds, n): normal equations of a joint's training rows, [bodies,
        columns].
        """
        own = [*range(self.size), *(self.size + c for c in columns)]
        G = self.weight[j] * self.training[j][:, own][:, :, [*own, -1]]
        G[:, range(self.size, len(own)), range(self.size, len(own))] += self.ridges[j][columns]
        return G[:, :, :-1], G[:, :, -1]

    def others(self, chosen: list[list[int]], joint: int) -> tuple[Array, Array]:
        """Normal equations of the bodies from the other joints' rows, their own columns
        eliminated.
        """
        n = self.size
        N = np.tile(self.held, (FOLDS, 1, 1))
        b = np.tile(self.pull, (FOLDS, 1))
        for j, columns in enumerate(chosen):
            if j != joint:
                A, c = self._normal(j, columns)
                share = np.linalg.solve(A[:, n:, n:], A[:, n:, :n])
                N += A[:, :n, :n] - A[:, :n, n:] @ share
                b += c[:, :n] - np.einsum("fkn,fk->fn", share, c[:, n:])
        return N, b

    def errors(
        self,
        joint: int,
        columns: list[int],
        others: tuple[Array, Array],
    ) -> tuple[Array, Array]:
        """(folds,) squared errors of prediction of the joint, and the estimates (folds,
        columns), each from all stretches but one.
        """
        error, x = self.estimates(joint, columns, others)
        return error, x[:, self.size :]

    def estimates(
        self,
        joint: int,
        columns: list[int],
        others: tuple[Array, Array],
    ) -> tuple[Array, Array]:
        """The same, with the estimates (folds, bodies + columns)."""
        A, c = self._normal(joint, columns)
        A[:, : self.size, : self.size] += others[0]
        c[:, : self.size] += others[1]
        # ridge estimates of [bodies, columns] from all stretches but one
        x = np.asarray(np.linalg.solve(A, c[..., None])[..., 0], np.float64)
        y = np.concatenate([x, np.full((FOLDS, 1), -1.0)], axis=1)
        own = [*range(self.size), *(self.size + c for c in columns), -1]
        P = self.products[joint][:, own][:, :, own]
        return np.maximum(np.einsum("fi,fij,fj->f", y, P, y), 0.0), x

    def helps_all(
        self,
        chosen: list[list[int]],
        joint: int,
        more: list[int],
        won: float,
    ) -> bool:
        """Whether more columns of a joint, which win some of its squared error, cost the other
        joints hardly anything: errors of sensors resemble what bodies do, and with few data would
        take their place.
        """
        new = [[*columns, *more] if j == joint else columns for j, columns in enumerate(chosen)]
        rest = [j for j in range(len(chosen)) if j != joint]
        after, before = (
            (self.weight[rest] * self.each(columns, rest)).tolist() for columns in (new, chosen)
        )
        return sum(after) - sum(before) <= _PRICE * self.weight[joint] * won

    def each(self, chosen: list[list[int]], joints: Sequence[int]) -> Array:
        """Squared errors of prediction of each of these joints."""
        return np.array(
            [self.errors(j, chosen[j], self.others(chosen, j))[0].sum() for j in joints]
        )


def select_effects(
    identifiable: Identifiable,
    data: Blocks,
    motion: MotionSamples,
    block: float,
    noise: Array,
    allowed: tuple[str, ...],
    tell: Tell = silent,
) -> Selection:
    """Choose the form of each joint's friction.

    Args:
        identifiable: the parameters with the form to begin with.
        data, motion, block: block averages, the motion that they are of, and their length in s.
        noise: (nv,) standard deviation of one block's efforts.
        allowed: effects that may be chosen, out of :data:`~robot_dynamics_ros.friction.law.EFFECTS`
            and ``"presliding"``.
    """
    nv = identifiable.parameters.model.nv
    parameters = identifiable.parameters
    forms = list(parameters.effects)
    fixed = [kind for kind in parameters.kinds if kind != "coulomb"]
    coulomb = "coulomb" in parameters.kinds
    plain = [data.Y[:, j, [parameters.index(j, kind) for kind in fixed]] for j in range(nv)]
    candidates = _Directions(parameters, motion, block)
    averaged = candidates.columns
    both = [np.column_stack(pair) for pair in zip(plain, averaged, strict=True)]
    trials = _Trials(identifiable, data, both, noise)
    first = len(fixed)
    chosen = [list(range(first + int(coulomb))) for _ in range(nv)]
    simple = trials.each(chosen, range(nv))
    least = data.use.sum(axis=0) * (LEAST_EFFORT_SHARE * trials.scale) ** 2
    if coulomb and allowed:
        _choose_directions(trials, candidates, chosen, forms, first, "presliding" in allowed, tell)

    directions = np.zeros_like(motion.v)
    known_columns = plain
    if coulomb:
        directions = direction(tuple(forms), motion.q, motion.v, motion.parts)
        known = zip(plain, averaged, chosen, strict=True)
        known_columns = [np.column_stack([p, a[:, own[-1] - first]]) for p, a, own in known]
    columns = []
    offers = list[_Offers]()
    for table, forms_and_columns in zip(
        known_columns, _offered(parameters, forms, motion, directions, allowed), strict=True
    ):
        own = []
        for form, new in forms_and_columns:
            own.append((form, list(range(table.shape[1], table.shape[1] + new.shape[1]))))
            table = np.column_stack([table, motion.mean(new, block)])
        columns.append(table)
        offers.append(own)
    again = _Trials(identifiable, data, columns, noise)
    plainly = list(forms)
    chosen = [list(range(first + int(coulomb))) for _ in range(nv)]
    for j in range(nv):
        tell(0.5 + 0.5 * j / nv, f"effects at {parameters.model.joint_names[j]}")
        forms[j] = _add_effects(again, chosen, j, plainly[j], offers[j], least[j])
    for j in _coupled_alone(forms):
        chosen[j] = list(range(first + int(coulomb)))
        other = [(form, numbers) for form, numbers in offers[j] if form.effects[0] != "coupled"]
        forms[j] = _add_effects(again, chosen, j, plainly[j], other, least[j])
    used = np.maximum(data.use.sum(axis=0), 1)
    kinds = [*fixed, *(("coulomb",) if coulomb else ())]
    choice: list[dict[str, float]] = []
    for j, name in enumerate(parameters.model.joint_names):
        known_names = [f"{name}.{kind}" for kind in kinds]
        choice += _other_forms(again, chosen, j, forms[j], offers[j], known_names, least[j])
    return Selection(
        tuple(forms),
        np.sqrt(again.each(chosen, range(nv)) / used),
        np.sqrt(simple / used),
        tuple(choice),
    )


class _Directions:
    """Candidates of each joint's direction of dry friction: the present one, those that change over
    other speeds, and those that build up over distances (presliding).

    Attributes:
        columns: of each joint, (m, 1 + widths + octaves · distances) block averages, in this order.
    """

    def __init__(
        self,
        parameters: EffortParameters,
        motion: MotionSamples,
        block: float,
    ) -> None:
        limit = parameters.model.velocity_limit
        limit = np.where(np.isfinite(limit) & (limit > 0), limit, 2.0)
        self.width = np.minimum(limit, 3.0)[:, None] * _WIDTHS
        self.distance = np.where(_rotary(parameters.model), 1.0, _METRES)[:, None] * _DISTANCES
        self.smoothing, self.columns = parameters.smoothing, list[Array]()
        most = max(_OCTAVES)
        count = len(_DISTANCES)
        factors = 2.0 ** np.arange(-most, count + most)
        for j, form in enumerate(parameters.effects):
            q = motion.q[:, j]
            v = motion.v[:, j]
            slid = np.empty((len(v), len(factors)))
            for part in motion.parts:
                start = np.repeat(np.tanh(v[part][:1] / form.smoothing), len(factors))
                slid[part] = presliding(q[part], self.distance[j, 0] * factors, start)
            smooth = np.column_stack(
                [np.tanh(v / form.smoothing), np.tanh(v[:, None] / self.width[j])]
            )
            slid = motion.mean(slid, block)
            pairs = [
                0.5 * (slid[:, most - k : most - k + count] + slid[:, most + k : most + k + count])
                for k in _OCTAVES
            ]
            self.columns.append(np.column_stack([motion.mean(smooth, block), *pairs]))

    def form(self, joint: int, static: int, slide: int | None) -> JointEffects:
        """The friction of a joint by one or two of its candidates.

        Args:
            joint: its number.
            static: number among the candidates that change over speeds, the present one first.
            slide: number among those that build up over distances; ``None``: none of them.
        """
        smoothing = float([self.smoothing[joint], *self.width[joint]][static])
        if slide is None:
            return JointEffects(smoothing)
        octaves, distance = divmod(slide, len(_DISTANCES))
        return JointEffects(
            smoothing,
            float(self.distance[joint, distance]),
            presliding_ratio=4.0 ** _OCTAVES[octaves],
        )


def _rotary(model: RobotModel) -> Array:
    """(nv,) whether a position is an angle."""
    return np.array(
        [model.joint(name).type is not JointType.PRISMATIC for name in model.joint_names]
    )


def _choose_directions(
    trials: _Trials,
    candidates: _Directions,
    chosen: _Columns,
    forms: _Forms,
    first: int,
    may_slide: bool,
    tell: Tell,
) -> None:
    """Put the direction that predicts best into ``chosen`` and ``forms``; its candidates are the
    columns from ``first``.
    """
    base = list(range(first))
    statics = range(first, first + 1 + len(_WIDTHS))
    slides = range(statics.stop, statics.stop + len(_OCTAVES) * len(_DISTANCES))
    for k, j in enumerate([*range(len(forms))] * 2):
        tell(0.25 * k / len(forms), "dry friction of each joint")
        others = trials.others(chosen, j)
        errors = {c: trials.errors(j, [*base, c], others)[0] for c in [*statics, *slides]}
        static = min(statics, key=lambda c: errors[c].sum())
        if not better(errors[static], errors[first], 0.005, 0.0):
            static = first
        slide = min(slides[: len(_DISTANCES)], key=lambda c: errors[c].sum())
        pair = min(slides, key=lambda c: errors[c].sum())
        if better(errors[pair], errors[slide], GAIN, 0.0):
            slide = pair
        else:
            slide = slide
        slid = may_slide and better(errors[slide], errors[static], GAIN, 0.0)
        chosen[j] = [*base, slide if slid else static]
        forms[j] = candidates.form(j, static - first, slide - slides.start if slid else None)


def _offered(
    parameters: EffortParameters,
    forms: _Forms,
    motion: MotionSamples,
    directions: Array,
    allowed: tuple[str, ...],
) -> list[list[tuple[JointEffects, Array]]]:
    """Of each joint: forms with one effect more, and the columns (n, k) of that effect."""
    load = joint_loads(parameters.loaded, allowed, motion.q, motion.v, motion.a)
    rotary = _rotary(parameters.model)
    kinds = parameters.kinds
    offered = []
    motions = JointMotion.of_joints(motion.q, motion.v, motion.a, directions, load)
    for j, (form, states) in enumerate(zip(forms, motions, strict=True)):
        q = states.q
        v = states.v
        facts = {
            "": True,
            "coulomb": "coulomb" in kinds,
            "far": rotary[j] and np.ptp(q) >= 1.0,
            "moments": rotary[j] and load[:, j, 1:].any(),
            "rotors": "armature" not in kinds,
        }
        more = [
            dataclasses.replace(form, effects=(name,), numbers=numbers)
            for name, effect in EFFECTS.items()
            if name in allowed and facts[effect.needs]
            for numbers in effect.trials(form.smoothing, float(np.abs(v).max()))
        ]
        offered.append([(e, np.column_stack(list(e.columns(states).values()))) for e in more])
    return offered


def _add_effects(
    trials: _Trials,
    chosen: _Columns,
    j: int,
    form: JointEffects,
    offers: _Offers,
    least: float,
) -> JointEffects:
    """The form of joint ``j`` with effects added one after the other, each only if it predicts
    better; ``chosen`` follows.
    """
    others = trials.others(chosen, j)
    best, _ = trials.errors(j, chosen[j], others)
    while True:
        pick: tuple[JointEffects, list[int]] | None = None
        now = best
        for offer, numbers in offers:
            name = offer.effects[0]
            if name in form.effects or EFFECTS[name].after not in ("", *form.effects):
                continue
            error, values = trials.errors(j, [*chosen[j], *numbers], others)
            if (
                better(error, best, GAIN, least)
                and error.sum() < now.sum()
                and _possible(values, offer)
            ):
                # after all friction, and only if the bodies are no worse for it
                if name in OF_SENSORS and (
                    (pick is not None and pick[0].effects[0] not in OF_SENSORS)
                    or not trials.helps_all(chosen, j, numbers, float((best - error).sum()))
                ):
                    continue
                pick = (offer, numbers)
                now = error
        if pick is None:
            return form
        best = now
        chosen[j] = [*chosen[j], *pick[1]]
        both = {**form.numbers, **pick[0].numbers}
        form = dataclasses.replace(form, effects=form.effects + pick[0].effects, numbers=both)


def _other_forms(
    trials: _Trials,
    chosen: _Columns,
    j: int,
    form: JointEffects,
    offers: _Offers,
    known_names: list[str],
    least: float,
) -> list[dict[str, float]]:
    """Changes of the parameters by forms of joint ``j`` with one effect more, or one less; see
    :attr:`Selection.choice`.

    How likely another form is the better one, by the rule of :func:`better`, follows from how the
    gain varies among the stretches.

    Args:
        least: squared error that an effect has to explain.
    """
    own = chosen[j]
    joint = known_names[0].rpartition(".")[0]
    names = dict(enumerate(known_names))
    for offer, numbers in offers:
        own_names = (f"{joint}.{name}" for name in offer.parameters)
        names.update(zip(numbers, own_names, strict=True))
    others = trials.others(chosen, j)

    def tried(columns: list[int]) -> tuple[Array, Array, dict[str, float]]:
        """Squared errors, estimates of the columns, and the mean of all estimates by name."""
        error, x = trials.estimates(j, columns, others)
        means = x.mean(axis=0).tolist()
        every = (*trials.bodies, *(names[c] for c in columns))
        return error, x[:, trials.size :], dict(zip(every, means, strict=True))

    best, _, now = tried(own)
    likeliest: dict[str, tuple[float, dict[str, float]]] = {}
    for offer, numbers in offers:
        effect = offer.effects[0]
        if effect in form.effects:
            columns = [c for c in own if c not in numbers]
            possible = len(columns) < len(own)
        else:
            columns = [*own, *numbers]
            possible = EFFECTS[effect].after in ("", *form.effects)
        if not possible:
            continue
        error, values, there = tried(columns)
        added = len(columns) > len(own)
        if added and not _possible(values, offer):
            continue
        # what the effect explains, with it and without it, and has to
        won = best - error if added else error - best
        needed = max(GAIN * float((best if added else error).sum()), least)
        spread = max(float(won.std(ddof=1)) * math.sqrt(FOLDS), 1e-300)
        likely = NormalDist().cdf((float(won.sum()) - needed) / spread)
        if not added:
            likely = 1.0 - likely
        # of the numbers of one effect, such as its speed, the best
        if likely > likeliest.get(effect, (0.0, {}))[0]:
            root = math.sqrt(likely)
            change = {name: root * (there.get(name, 0.0) - value) for name, value in now.items()}
            likeliest[effect] = likely, change
    return [change for _, change in likeliest.values()]


def _coupled_alone(forms: list[JointEffects]) -> list[int]:
    """Joints that are coupled with a neighbour that is not coupled with them: a motor acts on
    both.
    """
    # with the joint before and with the one after it; None: with neither
    rows = [
        (f.numbers["coupled_before"], f.numbers["coupled_after"])
        if "coupled" in f.effects
        else None
        for f in forms
    ]

    def coupled(j: int, other: int) -> bool:
        """Whether joint j is coupled with its neighbour ``other``."""
        row = rows[j]
        if not 0 <= other < len(rows) or row is None:
            return False
        before, after = row
        return bool(before if other < j else after)

    def mutually(j: int, other: int) -> bool:
        return coupled(j, other) and coupled(other, j)

    return [
        j
        for j, row in enumerate(rows)
        if row is not None and not mutually(j, j - 1) and not mutually(j, j + 1)
    ]


def _possible(values: Array, effect: JointEffects) -> bool:
    """Whether the estimates (folds, ...), of which the last are the effect's, have the sign and
    size that it can have.
    """
    means = values[:, values.shape[1] - len(effect.parameters) :].mean(axis=0)
    rule = EFFECTS[effect.effects[0]]
    return bool(
        np.all(np.abs(means) < rule.at_most) and (not rule.not_negative or np.all(means > 0.0))
    )
