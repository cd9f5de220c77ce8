"""How well a robot predicts the efforts of a motion; estimators of the base parameters side by
side, and what each effect is worth.

Noise of positions is in the regressor, too, and biases least squares; the more so the noisier the
positions are.  Two estimators avoid it.  Both simulate the closed loop of identified robot and
controller along the commanded positions, which have no noise:

- instrumental variables: the columns of the simulated motion select what least squares of the
  recorded motion must explain;
- closed-loop output error: the recorded efforts are explained by the simulated motion; recorded
  positions are not used.

Sources: Janot, Vandanjon and Gautier, *A generic instrumental variable approach for industrial
robot identification*, IEEE Transactions on Control Systems Technology 22(1), 2014; Gautier, Janot
and Vandanjon, *A new closed-loop output error method for parameter identification of robot
dynamics*, the same 21(2), 2013.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics import inverse_dynamics, mass_matrix
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.friction.compensation import Friction
from robot_dynamics_ros.friction.law import EFFECTS
from robot_dynamics_ros.identification.consistent import consistent_parameters
from robot_dynamics_ros.identification.held_out import (
    held_out_bodies,
    held_out_least_squares,
    root_mean_square,
)
from robot_dynamics_ros.identification.identify import (
    Identification,
    efforts_as_controllers_read,
)
from robot_dynamics_ros.identification.least_squares import BaseEstimate, weighted_least_squares
from robot_dynamics_ros.identification.robot import with_parameters
from robot_dynamics_ros.identification.samples import Blocks, MotionSamples, blocks
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.recordings.recording import Recording
from robot_dynamics_ros.simulation import JointPD, Plant
from robot_dynamics_ros.simulation.coordinates import per_joint

# s: step of the simulations.
_STEP = 1e-3
# rad/s: bandwidth of a controller that is not known.
_BANDWIDTH = 50.0
# Rounds of the output error: each simulates the robot that the one before has found.
_OUTPUT_ERROR_ROUNDS = 2
# s that a recording may be longer than its reference.
_LONGER_RECORDING_S = 0.1


@dataclass(frozen=True, eq=False)
class Validation:
    """Root mean squares over blocks in which the joint was not too slow, N m or N.

    Attributes:
        effort: (nv,) of the recorded efforts.
        prior: (nv,) of the efforts that the prior does not explain.
        identified: (nv,) of the efforts that the identified robot does not explain: the URDF with
            all of the friction file.
        controllers: (nv,) of those that the two files as controllers read them do not explain: the
            bodies, friction in the controllers' form, and offsets.
        noise: (nv,) noise that the identification found, for comparison.
    """

    effort: Array
    prior: Array
    identified: Array
    controllers: Array
    noise: Array


def validate(
    result: Identification,
    t: ArrayLike,
    q: ArrayLike,
    effort: ArrayLike,
    *,
    v: ArrayLike | None = None,
    block: float = 0.05,
) -> Validation:
    """Compare predicted with recorded efforts.

    Args:
        t: (n,) s.
        q, effort: (n, nv) recorded positions and motor efforts.
        v: (n, nv) velocities, if recorded.

    Raises:
        ArgumentError: data of the wrong shape, not finite, or too few.
    """
    return _validation(
        result, MotionSamples.of(result.prior, t, q, effort, v, window=result.window), block
    )[0]


def _validation(
    result: Identification,
    motion: MotionSamples,
    block: float,
) -> tuple[Validation, MotionSamples]:
    """The same of a motion that is smoothed already, and this motion with efforts in time."""
    parameters = result.parameters
    motion = result.with_efforts(motion).earlier(result.delay)
    data = blocks(parameters, motion, block)
    # what is no parameter is known, and the same in both
    prior = data.Y @ parameters.values()
    values = result.full.values
    read = efforts_as_controllers_read(parameters, values, result.friction, result.offset, data)
    size, before, after, controllers = (
        data.rms(x)
        for x in (
            data.effort,
            data.effort - prior,
            data.effort - data.Y @ values,
            data.effort - read,
        )
    )
    return Validation(size, before, after, controllers, result.base.noise), motion


@dataclass(frozen=True, eq=False)
class Comparison:
    """Measured efforts and predictions of them along one recording.

    Attributes:
        source: the recording.
        t: (n,) s, from its start.
        q, v: (n, nv) smoothed motion, earlier by the delay of the efforts.
        measured: (n, nv) recorded efforts, N m or N.
        prior: (n, nv) efforts of the robot before the identification, its friction included.
        identified: (n, nv) efforts of the identified robot.
        rigid: (n, nv) efforts of its bodies alone, without friction, offsets and rotors of the
            joints.
        parts: stretches without gaps.
        check: root mean squares of these, over blocks in which the joint is not too slow.
    """

    source: str
    t: Array
    q: Array
    v: Array
    measured: Array
    prior: Array
    identified: Array
    rigid: Array
    parts: tuple[slice, ...]
    check: Validation


def compare(
    result: Identification,
    recording: Recording,
    *,
    block: float = 0.05,
) -> Comparison:
    """Predict the efforts of a recording.

    Args:
        recording: with efforts.
        result: what was identified, from this recording or another one.

    Raises:
        ArgumentError: a recording without efforts, or with too few rows.
    """
    motion = MotionSamples.of_recordings(result.prior, [recording], window=result.window)
    check, motion = _validation(result, motion, block)
    q = motion.q
    v = motion.v
    a = motion.a
    # rotors are among the efforts that are no parameters
    before = inverse_dynamics(result.prior, q, v, a) - result.prior.rotor_effort(a)
    parameters = result.parameters
    values = parameters.values(result.prior)[parameters.bodies.stop :]
    prior = (
        before
        + parameters.fixed_effort(v, a)
        + parameters.joint_columns(q, v, a, motion.parts) @ values
    )
    identified = np.concatenate([result.predict(q[p], v[p], a[p]) for p in motion.parts])
    rigid = inverse_dynamics(result.model, q, v, a) - result.model.rotor_effort(a)
    return Comparison(
        recording.source,
        motion.t - recording.t[0],
        q,
        v,
        motion.effort,
        prior,
        identified,
        rigid,
        motion.parts,
        check,
    )


@dataclass(frozen=True, eq=False)
class Estimates:
    """Base parameters by several estimators.

    Attributes:
        names: (k,) of the estimators.
        parameters: (nbase,) names.
        values, standard_error: (k, nbase).
        condition: (k,) condition numbers of the regressors, columns in proportion to their
            sensitivity.
        error: (k, nv) root mean square error of prediction of each twelfth from the others, N m or
            N.
        without: what is left out → (nv,) the same of weighted least squares.
    """

    names: tuple[str, ...]
    parameters: tuple[str, ...]
    values: Array
    standard_error: Array
    condition: Array
    error: Array
    without: Mapping[str, Array]

    @property
    def change(self) -> Array:
        """(k,) root mean square difference from weighted least squares, divided by the standard
        errors of these.
        """
        weighted = self.names.index("weighted least squares")
        error = self.standard_error[weighted]
        seen = np.isfinite(error) & (error > 0.0)
        z = (self.values - self.values[weighted])[:, seen] / error[seen]
        return np.asarray(np.sqrt(np.mean(z**2, axis=1)))


def compare_estimators(
    result: Identification,
    recordings: Sequence[Recording],
    references: Sequence[Recording] = (),
    controller: JointPD | None = None,
    *,
    block: float = 0.05,
) -> Estimates:
    """Estimate the base parameters by least squares, plain and weighted, and from commanded
    positions.

    Args:
        result: whose form of friction and delay all estimators have.
        recordings: those that it was identified from.
        references: commanded positions, one for each recording and by the same clock; without them
            there is neither instrumental variables nor output error.
        controller: stiffness and damping of the arm's controller, which knows the robot as it was
            before; 50 rad/s with critical damping if not given.  Output error needs the right ones.

    Raises:
        ArgumentError: a recording without efforts, or references that do not fit the recordings.
        SimulationError: the closed loop cannot be simulated.
    """
    if references and len(references) != len(recordings):
        text = f"expected one for each of {len(recordings)} recordings, got {len(references)}"
        raise ArgumentError(
            text, where="references", remedy="Give them in the order of the recordings."
        )
    motions = [
        result.with_efforts(
            MotionSamples.of_recordings(result.prior, [r], window=result.window)
        ).earlier(result.delay)
        for r in recordings
    ]
    identifiable = result.identifiable
    data = blocks(result.parameters, MotionSamples.joined(motions), block)

    def least_squares(
        data: Blocks,
        passes: int = 3,
        instruments: Array | None = None,
    ) -> BaseEstimate:
        return weighted_least_squares(
            identifiable,
            data,
            unseen="keep",
            passes=passes,
            instruments=instruments,
            confidence=result.base.confidence,
        )

    def error(instruments: Array | None = None) -> Array:
        held_out = held_out_least_squares(identifiable, data, weighted, instruments=instruments)
        return root_mean_square(held_out)

    weighted = least_squares(data)
    noise = weighted.noise * np.sqrt(weighted.correlation)
    columns = identifiable.base.regressor(data.Y)
    rows: dict[str, tuple[BaseEstimate, Array]] = {
        "least squares": (least_squares(data, 1, columns), error(columns)),
        "weighted least squares": (weighted, error()),
    }
    if references:
        other = _along_commands(result, motions, references, controller, data, noise, block)
        instruments = identifiable.base.regressor(other.Y) / weighted.noise[:, None] ** 2
        rows["instrumental variables"] = (least_squares(data, 3, instruments), error(instruments))
        output = least_squares(other)
        residual = held_out_least_squares(identifiable, other, output)
        rows["output error"] = (output, root_mean_square(residual))
    bodies = held_out_bodies(identifiable, data, noise, result.full)
    K = identifiable.base.combination
    spread = np.sqrt(np.einsum("ij,jk,ik->i", K, result.full.covariance, K).clip(0.0))
    own = dataclasses.replace(
        weighted, values=identifiable.base.values(result.full.values), standard_error=spread
    )
    rows["bodies that can exist"] = own, root_mean_square(bodies)
    of_parameters, errors = zip(*rows.values(), strict=True)
    fields = ("values", "standard_error", "condition")
    values, spread, condition = (np.stack([getattr(e, x) for e in of_parameters]) for x in fields)
    without = _without(result, MotionSamples.joined(motions), data, weighted, block)
    return Estimates(
        tuple(rows), identifiable.names, values, spread, condition, np.stack(errors), without
    )


def _along_commands(
    result: Identification,
    motions: Sequence[MotionSamples],
    references: Sequence[Recording],
    controller: JointPD | None,
    data: Blocks,
    noise: Array,
    block: float,
) -> Blocks:
    """``data`` with the regressor along a simulated motion in place of the recorded one.

    In each round the robot of the round before is simulated under the commands, and identified
    anew from that motion and the recorded efforts.

    Args:
        motions, references: recorded motions and commanded positions, one of each a recording.
        controller: of the joints, which follows the commands.
        noise: (nv,) of the efforts.
    """
    model = result.model
    for k in range(_OUTPUT_ERROR_ROUNDS):
        pairs = zip(motions, references, strict=True)
        simulated = MotionSamples.joined(
            [_simulated(model, result, m, r, controller) for m, r in pairs]
        )
        other = dataclasses.replace(data, Y=blocks(result.parameters, simulated, block).Y)
        if k < _OUTPUT_ERROR_ROUNDS - 1:
            spread = result.full.spread
            share = result.full.share
            full = consistent_parameters(
                result.identifiable, other, noise, spread=spread, share=share
            )
            model = with_parameters(result.parameters, full.values)
    return other


def _simulated(
    model: RobotModel,
    result: Identification,
    motion: MotionSamples,
    reference: Recording,
    controller: JointPD | None,
) -> MotionSamples:
    """The motion of ``model`` under a controller that knows the prior, at the times of
    ``motion``.
    """
    from scipy.interpolate import make_interp_spline

    t = reference.t
    prior = result.prior
    if motion.t[0] < t[0] - _LONGER_RECORDING_S or motion.t[-1] > t[-1] + _LONGER_RECORDING_S:
        problem = (
            f"it is from {t[0]:.6g} s to {t[-1]:.6g} s, and the recording from {motion.t[0]:.6g} "
            f"s to {motion.t[-1]:.6g} s"
        )
        remedy = "Record commanded and measured positions by the same clock, from start to end."
        raise ArgumentError(problem, where=reference.source, remedy=remedy)
    grid = np.arange(t[0], t[-1], _STEP)
    spline = make_interp_spline(t, reference.q, k=5)
    q = spline(grid)
    v = spline(grid, 1)
    a = spline(grid, 2)
    inertia = np.diagonal(np.asarray(mass_matrix(prior, q[0])))
    drive = controller or JointPD(_BANDWIDTH**2 * inertia, 2.0 * _BANDWIDTH * inertia)
    kp = per_joint(drive.p, prior, "controller p")
    kd = per_joint(drive.d, prior, "controller d")
    ahead = inverse_dynamics(prior, q, v, a) + Friction.of(prior).effort(v)
    plant = Plant(
        model, _STEP, springs=JointPD(kp, kd), stops=None, limiter=False, q0=q[0], v0=v[0]
    )
    path = plant.run(ahead + kp * q + kd * v)
    assert path is not None
    times = np.clip(motion.t - result.delay, grid[0], grid[-1])
    speeds = np.concatenate([v[:1], path.v[:-1]])
    states = np.concatenate([q[:1], path.q[:-1]]), speeds, np.gradient(speeds, _STEP, axis=0)
    q, v, a = (np.column_stack([np.interp(times, grid, x) for x in state.T]) for state in states)
    return dataclasses.replace(motion, q=q, v=v, a=a)


def _without(
    result: Identification,
    motion: MotionSamples,
    data: Blocks,
    base: BaseEstimate,
    block: float,
) -> dict[str, Array]:
    """Error of prediction of weighted least squares without one kind of parameters, presliding or
    the delay.
    """
    identifiable = result.identifiable
    parameters = result.parameters
    words = [name.rpartition(".")[2] for name in parameters.names]
    names = [words[k] if k >= parameters.bodies.stop else "" for k in identifiable.base.independent]
    kinds: dict[str, tuple[str, ...]] = {kind: (kind,) for kind in parameters.kinds}
    kinds |= {
        name: tuple(EFFECTS[name].columns) for form in parameters.effects for name in form.effects
    }
    out = {}
    for kind, columns in kinds.items():
        mask = np.isin(names, columns)
        if mask.any():
            out[kind] = held_out_least_squares(identifiable, data, base, without=mask)
    if any(form.presliding for form in parameters.effects):
        forms = tuple(dataclasses.replace(form, presliding=0.0) for form in parameters.effects)
        other = blocks(parameters.with_effects(forms), motion, block)
        out["presliding"] = held_out_least_squares(identifiable, other, base)
    if result.delay:
        late = blocks(parameters, motion.earlier(-result.delay), block)
        out["delay"] = held_out_least_squares(identifiable, late, base)
    return {kind: root_mean_square(residual) for kind, residual in out.items()}
