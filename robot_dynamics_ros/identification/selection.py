"""Choice of a form of friction for each joint: the one that best predicts the part of a recording that it was not fitted to.

The recording is cut into twelve stretches.  Each is predicted from the others, for every form that is tried: over
which speed Coulomb friction is smoothed, or over which distance it builds up (presliding), then, one after the other, the
effects of :data:`~robot_dynamics_ros.control.joint_effects.EFFECTS`.  An effect is kept only if it predicts
better.  All needed of the data are products of columns, stretch by stretch and joint by joint, so that a
trial costs one small linear solution per stretch.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from robot_dynamics_ros.control.joint_effects import EFFECTS, JointEffects, joint_loads, presliding
from robot_dynamics_ros.identification.effort_parameters import AT_MOST, NOT_NEGATIVE
from robot_dynamics_ros.identification.identifiable import Identifiable
from robot_dynamics_ros.identification.samples import Blocks, Motion
from robot_dynamics_ros.model.description import Array, JointType

__all__ = ["Selection", "select_effects"]

_FOLDS = 12
#: speeds that belong to an effect, which it is tried with several of
_OF = {"stribeck": ("stribeck_speed",), "sigmoid": ("sigmoid_width", "sigmoid_shift")}
_SPEEDS = 14  # Stribeck speeds tried
_SIGMOIDS, _SHIFTS = 6, np.array([-1.0, -0.5, 0.0, 0.5, 1.0])  # widths of sigmoids, and shifts as shares of these
_RANGE = 1.0  # rad that a joint must move for its effort to be known as a function of its position
_MOST = 0.55  # of the stretches: seven of twelve
_WIDTHS = np.array([0.001, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.15])  # of the velocity limit
_WAYS = np.array([5e-4, 1e-3, 2e-3, 3e-3, 5e-3, 0.01, 0.02])  # rad
_METRES = 0.1  # m for a radian
_GAIN = 0.02  # of a joint's squared error of prediction that an effect must explain
_LEAST = 2e-3  # of the usual efforts; less is not worth a parameter
_RIDGE = 0.3  # share of the usual efforts that a parameter may well explain beyond the prior


@dataclass(frozen=True, eq=False)
class Selection:
    """The chosen forms of friction.

    Attributes:
        effects: (nv,) the form of each joint's friction.
        error: (nv,) root mean square error of prediction over blocks, each stretch predicted from the others, N m or N.
        simple_error: (nv,) the same with the form that the selection began with.
        tried: number of forms tried.
    """

    effects: tuple[JointEffects, ...]
    error: Array
    simple_error: Array
    tried: int


class _Trials:
    """Cross-validation of any subset of candidate columns of one joint, the others' being given.

    Args:
        candidates: (m, k) block averages of candidate columns, joint after joint.
        noise: (nv,) standard deviation of one block's efforts.
        prior: (p,) values of the parameters as they were known.
    """

    def __init__(self, known: Identifiable, data: Blocks, candidates: list[Array], noise: Array, prior: Array) -> None:
        parameters, independent = known.parameters, known.base.independent
        bodies = independent[independent < parameters.bodies.stop]
        self.size, self.weight, self.scale = len(bodies), 1.0 / noise**2, known.effort_scale
        self.scale = np.maximum(self.scale, np.sqrt(np.mean(data.effort**2, axis=0)))
        held = (known.strength[bodies] / _RIDGE) ** 2
        self.held, self.pull = np.diag(held), held * known.base.values(prior)[: len(bodies)]
        m = len(data.effort)
        fold = np.arange(m) * _FOLDS // max(m, 1)
        self.products: list[Array] = []  # of each joint: (folds, bodies + candidates + effort, the same)
        for j, columns in enumerate(candidates):
            W = np.column_stack([data.Y[:, j, bodies], columns, data.effort[:, j]])
            stretches = [W[(fold == f) & data.use[:, j]] for f in range(_FOLDS)]
            self.products.append(np.stack([rows.T @ rows for rows in stretches]))
        self.training = [p.sum(axis=0) - p for p in self.products]
        self.ridges = [
            np.maximum(np.mean(c**2, axis=0), 1e-300) / (_RIDGE * self.scale[j]) ** 2 for j, c in enumerate(candidates)
        ]
        self.tried = 0

    def _normal(self, j: int, columns: list[int]) -> tuple[Array, Array]:
        """(folds, n, n) and (folds, n): normal equations of a joint's training rows, [bodies, columns]."""
        own = [*range(self.size), *(self.size + c for c in columns)]
        G = self.weight[j] * self.training[j][:, own][:, :, [*own, -1]]
        G[:, range(self.size, len(own)), range(self.size, len(own))] += self.ridges[j][columns]
        return G[:, :, :-1], G[:, :, -1]

    def others(self, chosen: list[list[int]], joint: int) -> tuple[Array, Array]:
        """Normal equations of the bodies from the other joints' rows, their own columns eliminated."""
        n = self.size
        N, b = np.tile(self.held, (_FOLDS, 1, 1)), np.tile(self.pull, (_FOLDS, 1))
        for j, columns in enumerate(chosen):
            if j != joint:
                A, c = self._normal(j, columns)
                share = np.linalg.solve(A[:, n:, n:], A[:, n:, :n])
                N += A[:, :n, :n] - A[:, :n, n:] @ share
                b += c[:, :n] - np.einsum("fkn,fk->fn", share, c[:, n:])
        return N, b

    def solve(self, joint: int, columns: list[int], others: tuple[Array, Array]) -> Array:
        """(folds, n) ridge estimates of [bodies, columns] from all stretches but one."""
        A, c = self._normal(joint, columns)
        A[:, : self.size, : self.size] += others[0]
        c[:, : self.size] += others[1]
        return np.asarray(np.linalg.solve(A, c[..., None])[..., 0])

    def errors(self, joint: int, columns: list[int], others: tuple[Array, Array]) -> tuple[Array, Array]:
        """(folds,) squared errors of prediction of the joint, and the estimates (folds, columns)."""
        self.tried += 1
        x = self.solve(joint, columns, others)
        y = np.concatenate([x, np.full((_FOLDS, 1), -1.0)], axis=1)
        own = [*range(self.size), *(self.size + c for c in columns), -1]
        P = self.products[joint][:, own][:, :, own]
        return np.maximum(np.einsum("fi,fij,fj->f", y, P, y), 0.0), x[:, self.size :]

    def helps_all(self, chosen: list[list[int]], joint: int, more: list[int]) -> bool:
        """Whether more columns of a joint leave the other joints predicted as well, on the whole, as without.

        Moments across an axis resemble what bodies do: with few data they would take their place.
        """
        new = [[*columns, *more] if j == joint else columns for j, columns in enumerate(chosen)]
        return self._rest(new, joint) <= self._rest(chosen, joint)

    def _rest(self, chosen: list[list[int]], joint: int) -> float:
        """Squared errors of prediction of all joints but one, divided by their variance of noise."""
        return sum(
            float(self.weight[j] * self.errors(j, columns, self.others(chosen, j))[0].sum())
            for j, columns in enumerate(chosen)
            if j != joint
        )


def select_effects(
    known: Identifiable,
    data: Blocks,
    motion: Motion,
    block: float,
    noise: Array,
    prior: Array,
    allowed: tuple[str, ...],
) -> Selection:
    """Choose the form of each joint's friction.

    Args:
        known: the parameters with the form to begin with.
        data, motion, block: block averages, the motion that they are of, and their length in s.
        noise: (nv,) standard deviation of one block's efforts.
        prior: (p,) values of the parameters as they were known.
        allowed: effects that may be chosen, out of :data:`EFFECTS` and ``"presliding"``.
    """
    parameters = known.parameters
    model, nv = parameters.model, parameters.model.nv
    effects = list(parameters.effects)
    fixed = [kind for kind in parameters.kinds if kind != "coulomb"]
    coulomb = "coulomb" in parameters.kinds
    limit = np.where(np.isfinite(model.velocity_limit) & (model.velocity_limit > 0), model.velocity_limit, 2.0)
    metres = np.array([_METRES if model.joint(n).type is JointType.PRISMATIC else 1.0 for n in model.joint_names])
    width = np.minimum(limit, 3.0)[:, None] * _WIDTHS

    # candidates of the direction: as it is, smoothed over speeds, built up over ways
    directions: list[Array] = []
    for j in range(nv):
        q, v = motion.q[:, j], motion.v[:, j]
        out = [np.tanh(v / effects[j].smoothing)[:, None], np.tanh(v[:, None] / width[j])]
        slid = np.empty((len(v), len(_WAYS)))
        for part in motion.parts:
            start = np.repeat(np.tanh(v[part][:1] / effects[j].smoothing), len(_WAYS))
            slid[part] = presliding(q[part], _WAYS * metres[j], start)
        directions.append(np.concatenate([*out, slid], axis=1))
    averaged = [motion.mean(d, block) for d in directions]
    plain = [data.Y[:, j, [parameters.at(j, kind) for kind in fixed]] for j in range(nv)]
    trials = _Trials(known, data, [np.column_stack([p, d]) for p, d in zip(plain, averaged, strict=True)], noise, prior)
    first = len(fixed)
    base = list(range(first))
    chosen = [[*base, *([first] if coulomb else [])] for _ in range(nv)]
    simple = np.array([trials.errors(j, chosen[j], trials.others(chosen, j))[0].sum() for j in range(nv)])
    least = data.use.sum(axis=0) * (_LEAST * trials.scale) ** 2
    statics = range(first, first + 1 + len(_WIDTHS))
    slides = range(statics.stop, statics.stop + len(_WAYS))
    for _ in range(2 if coulomb and allowed else 0):
        for j in range(nv):
            others = trials.others(chosen, j)
            errors = {c: trials.errors(j, [*base, c], others)[0] for c in [*statics, *slides]}
            static = min(statics, key=lambda c: errors[c].sum())
            if not _better(errors[static], errors[first], 0.005, 0.0):
                static = first
            way = min(slides, key=lambda c: errors[c].sum())
            slides_too = "presliding" in allowed and _better(errors[way], errors[static], _GAIN, least[j])
            chosen[j] = [*base, way if slides_too else static]
            effects[j] = JointEffects(
                effects[j].smoothing if static == first else float(width[j, static - first - 1]),
                float(_WAYS[way - slides.start] * metres[j]) if slides_too else 0.0,
            )

    # effects one after the other, each only if it predicts better
    fastest, span = np.abs(motion.v).max(axis=0), np.ptp(motion.q, axis=0)
    trial_effects: list[list[JointEffects]] = []
    candidates: list[Array] = []
    places: list[list[list[int]]] = []
    load = joint_loads(parameters.loaded, allowed, motion.q, motion.v, motion.a)
    for j in range(nv):
        d = directions[j][:, chosen[j][-1] - first] if coulomb else np.zeros(len(motion.t))
        own: list[JointEffects] = []
        for name in (n for n in EFFECTS if n in allowed):
            if name == "stribeck":
                low, high = 2.0 * effects[j].smoothing, 0.5 * fastest[j]
                for speed in np.geomspace(low, high, _SPEEDS) if high > 1.5 * low and coulomb else ():
                    own.append(dataclasses.replace(effects[j], stribeck_speed=float(speed), effects=(name,)))
            elif name == "sigmoid":
                for wide in np.geomspace(0.05, 0.7, _SIGMOIDS) * fastest[j] if fastest[j] > 0.0 else ():
                    for shift in _SHIFTS * wide:
                        form = {"sigmoid_width": float(wide), "sigmoid_shift": float(shift)}
                        own.append(dataclasses.replace(effects[j], effects=(name,), **form))
            elif (
                (name in ("asymmetry", "load") and not coulomb)
                or (name.startswith("position") and (metres[j] != 1.0 or span[j] < _RANGE))
                or (name == "crosstalk" and (metres[j] != 1.0 or not load[:, j, 1:].any()))
            ):
                continue
            elif not (name == "rotor" and "armature" in parameters.kinds):
                own.append(dataclasses.replace(effects[j], effects=(name,)))
        columns = [plain[j], *([averaged[j][:, chosen[j][-1] - first][:, None]] if coulomb else [])]
        at, where = sum(c.shape[1] for c in columns), []
        for e in own:
            new = [
                e.column(name, motion.q[:, j], motion.v[:, j], motion.a[:, j], d, load[:, j]) for name in e.parameters
            ]
            columns.append(motion.mean(np.column_stack(new), block))
            where.append(list(range(at, at + len(new))))
            at += len(new)
        trial_effects.append(own)
        places.append(where)
        candidates.append(np.column_stack(columns))
    again = _Trials(known, data, candidates, noise, prior)
    chosen = [list(range(first + int(coulomb))) for _ in range(nv)]
    for j in range(nv):
        others = again.others(chosen, j)
        best, _ = again.errors(j, chosen[j], others)
        while True:
            pick, now = -1, best
            for k, e in enumerate(trial_effects[j]):
                taken = effects[j].effects
                if e.effects[0] in taken or (e.effects[0] == "position2" and "position" not in taken):
                    continue
                error, values = again.errors(j, [*chosen[j], *places[j][k]], others)
                if _better(error, best, _GAIN, least[j]) and error.sum() < now.sum() and _possible(values, e):
                    # after all friction, and only if the bodies are no worse for it
                    if e.effects[0] == "crosstalk" and (pick >= 0 or not again.helps_all(chosen, j, places[j][k])):
                        continue
                    pick, now = k, error
            if pick < 0:
                break
            e, best = trial_effects[j][pick], now
            chosen[j] = [*chosen[j], *places[j][pick]]
            own_speeds = {field: getattr(e, field) for field in _OF.get(e.effects[0], ())}
            effects[j] = dataclasses.replace(effects[j], effects=(*effects[j].effects, e.effects[0]), **own_speeds)
    error = np.array([again.errors(j, chosen[j], again.others(chosen, j))[0].sum() for j in range(nv)])
    used = np.maximum(data.use.sum(axis=0), 1)
    return Selection(tuple(effects), np.sqrt(error / used), np.sqrt(simple / used), trials.tried + again.tried)


def _better(new: Array, old: Array, gain: float, least: float) -> bool:
    """Whether (folds,) squared errors are less in all, by a share of the old ones, and in most stretches."""
    won = float(old.sum() - new.sum())
    return bool(won > max(gain * float(old.sum()), least) and (new < old).mean() >= _MOST)


def _possible(values: Array, effect: JointEffects) -> bool:
    """Whether the estimates (folds, ...), of which the last are the effect's, have the sign and size that it can have."""
    means = values[:, values.shape[1] - len(effect.parameters) :].mean(axis=0)
    return all(
        (x > 0.0 or name not in NOT_NEGATIVE) and abs(x) < AT_MOST.get(name, np.inf)
        for name, x in zip(effect.parameters, means, strict=True)
    )
