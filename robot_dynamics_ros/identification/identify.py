"""Identification of a robot's inertial parameters and friction from recorded motion and efforts."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics import inverse_dynamics
from robot_dynamics_ros.errors import ArgumentError, RobotDynamicsError, UnknownNameError
from robot_dynamics_ros.friction.bounded import (
    COMPENSATION_NUMBERS,
    CompensatedFriction,
    IdentifiedFriction,
)
from robot_dynamics_ros.friction.compensation import Friction
from robot_dynamics_ros.friction.effects import JointEffects
from robot_dynamics_ros.friction.law import COUPLING, EFFECTS, OF_SENSORS, OF_SPEED
from robot_dynamics_ros.identification.causes import Diagnosis, delay_notes, diagnose
from robot_dynamics_ros.identification.consistent import (
    ConsistentEstimate,
    consistent_parameters,
    with_left_out,
)
from robot_dynamics_ros.identification.effort_parameters import EffortParameters, FrictionTerms
from robot_dynamics_ros.identification.held_out import (
    GAIN,
    better,
    held_out_bodies,
    held_out_least_squares,
    root_mean_square,
    stretch_squares,
)
from robot_dynamics_ros.identification.least_squares import (
    BaseEstimate,
    Identifiable,
    identifiable_parameters,
    interval_factor,
    pieces,
    weighted_least_squares,
)
from robot_dynamics_ros.identification.plausibility import check_prediction, check_result
from robot_dynamics_ros.identification.robot import urdf_of, with_parameters
from robot_dynamics_ros.identification.samples import (
    STILL_SMOOTHINGS,
    Blocks,
    MotionSamples,
    blocks,
)
from robot_dynamics_ros.identification.selection import Selection, select_effects
from robot_dynamics_ros.identification.torque_constants import (
    EFFORT_SCALE_ERROR_SHARE,
    KnownLoad,
    TorqueConstants,
    find_torque_constants,
)
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.per_joint import expect, per_joint, settings_or_default
from robot_dynamics_ros.recordings.plausible_motion import Implausible
from robot_dynamics_ros.recordings.recording import Recording
from robot_dynamics_ros.workers import Tell, Workers, part, run_tasks, silent

# Estimates more, if errors of sensors are of the robot found before.
_AGAIN = 2
# Effects of a joint are left out if its error with them is more than this many times that without.
_NEEDLESS = 1.1
# Standard error of friction on another day, as a share: it depends on the temperature. By so much
# more than their intervals say do 21 pairs of recordings of a UR10e differ, from days to weeks
# apart.
_FRICTION_CHANGE_SHARE = 0.02
# effects that take power out of a joint
_BRAKING = (*OF_SPEED, "load")
# effects of speed that can nearly cancel: each is a part of dry friction near rest
_CANCELLING = ("stribeck", "step")
_SENSORS = "Predictions and `wrenches` have this, controllers and the simulator do not"
_LIMITED = {
    "gain": f"its torque constant does not fit those of the other joints. {_SENSORS}",
    "crosstalk": f"its torque sensor reads moments across its axis (crosstalk). {_SENSORS}",
    "coupled": "it is coupled: a motor whose friction it feels turns with a neighbour, too. "
    "Predictions and `wrenches` have this; "
    "controllers and the simulator have its friction, not its rotor",
}
# A joint moves one way if a smaller share of the blocks goes the other way.
_ONE_WAY = 0.01
# A fit of fewer rows for a parameter says nothing about its error.
_FEW = 3.0


@dataclass(frozen=True, slots=True)
class IdentificationSettings:
    """Settings of an identification.

    Attributes:
        terms: which parameters the joints have.
        friction: which forms of friction are tried for each joint, and kept where they predict
            better: names out of "presliding", "stribeck", "step", "asymmetry", "quadratic", "load",
            "position", "position2", "sigmoid", "coupled", "rotor", "gain", "crosstalk"; "auto": all
            but the sigmoid; "simple": Coulomb and viscous friction as in ``terms``, nothing tried.
        window: s, of the local polynomials that smooth and differentiate positions; ``None``:
            chosen from the data.
        block: s, over which rows are averaged.
        slow: (nv,) or one number, rad/s or m/s: a joint slower than this counts as standing, and is
            not used (it may stick); ``None``: 0.1 % of the velocity limit.
        delay: s, by which recorded efforts are late; ``None``: found from the data.
        confidence: of the intervals.
        tolerance: share, compared with fast random motion, below which a parameter counts as
            unseen.
        unseen: "refuse" a motion that does not show every base parameter, or "keep" the prior
            values of the others.
        spread: expected distance of a body from its prior, as a Riemannian distance; 0.7 is a
            factor of 2 in mass; ``None``: found from the data.
        currents: ``None``: efforts are N m or N at the joints.  Otherwise they are motor currents
            in any unit and sign, and this is joint → torque constant (N m or N at the joint for one
            unit), of the joints whose constant is known; the others are estimated, see
            :func:`~robot_dynamics_ros.identification.find_torque_constants`.
        known_load: recordings of currents with a load of known mass, which show the size of the
            torque constants.
        plausibility: "refuse" recordings that do not fit the robot and impossible results, or
            "accept" them.
    """

    terms: FrictionTerms = dataclasses.field(default_factory=FrictionTerms)
    friction: str | tuple[str, ...] = "auto"
    window: float | None = None
    block: float = 0.05
    slow: ArrayLike | None = None
    delay: float | None = None
    confidence: float = 0.95
    tolerance: float = 1e-3
    unseen: str = "refuse"
    spread: float | None = None
    currents: Mapping[str, float] | None = None
    known_load: KnownLoad | None = None
    plausibility: str = "refuse"

    def __post_init__(self) -> None:
        for name, low, high in (
            ("window", 0.0, 10.0),
            ("block", 0.0, 10.0),
            ("confidence", 0.0, 1.0),
            ("tolerance", 0.0, 1.0),
            ("spread", 0.0, 100.0),
        ):
            value = getattr(self, name)
            good = (value is None and name in ("window", "spread")) or low < value < high
            expect(good, f"a number between {low:g} and {high:g}", value, name, "")
        for name, value, other in (
            ("unseen", self.unseen, "keep"),
            ("plausibility", self.plausibility, "accept"),
        ):
            expect(value in ("refuse", other), f"'refuse' or {other!r}", value, name, "")
        for name in self.forms:
            if name not in ("presliding", *EFFECTS):
                identifiable = ("presliding", *EFFECTS, "auto", "simple")
                raise UnknownNameError("form of friction", name, identifiable, where="friction")
        if self.known_load is not None and self.currents is None:
            problem = "a known load shows torque constants, and efforts are no currents"
            raise ArgumentError(
                problem, where="known_load", remedy="Give currents, too: {} or --currents."
            )
        expect(
            self.delay is None or abs(self.delay) < 1.0,
            "less than a second",
            self.delay,
            "delay",
            "",
        )

    @property
    def forms(self) -> tuple[str, ...]:
        """The forms of friction that are tried."""
        # the constants of currents are found before, gains and all
        if isinstance(self.friction, str) and self.friction == "auto":
            automatic = (
                n
                for n, e in EFFECTS.items()
                if e.automatic and (n != "gain" or self.currents is None)
            )
            return ("presliding", *automatic)
        if isinstance(self.friction, str):
            if self.friction == "simple":
                return ()
            return (self.friction,)
        return tuple(self.friction)


@dataclass(frozen=True, eq=False)
class Identification:
    """Result of :func:`identify`.

    Attributes:
        prior: the robot as it was known.
        model: the identified robot: physically possible bodies, with viscous and Coulomb friction.
            Where other effects of speed were found, these two are no more than all together.
        friction: joint friction as a function of speed, for control: the largest of the form that
            controllers have, nowhere above ``friction_certain`` of what was identified.
        offset: (nv,) constant efforts, N m or N.
        base: base parameters with confidence intervals.
        full: all parameters, in the order of ``parameters``.
        parameters, identifiable: names of the parameters, form of each joint's friction, the part
            that the motion shows.
        delay: s, by which the recorded efforts are late.
        window: s, of the local polynomials that were used.
        rms: (nv,) root mean square of the unexplained part of the block-averaged efforts, N m or N.
        prior_rms: (nv,) the same of the prior.
        effort_rms: (nv,) root mean square of the efforts themselves.
        prediction_rms: (nv,) error of prediction of each twelfth of the recording from the others.
        simple_rms: (nv,) the same with Coulomb and viscous friction alone.
        used: (nv,) share of the blocks in which the joint moved.
        duration: s of motion.
        controller_rms: (nv,) root mean square that the two files leave as controllers read them:
            the bodies, and ``friction`` with ``offset``.
        least_squares_rms: (nv,) error of prediction, as ``prediction_rms``, of weighted least
            squares for the base parameters, with the same forms of friction.
        friction_certain: (nv,) share of a joint's friction, from 0 to 1, that is left at the lower
            end of its interval, on average over the motion.
        notes: remarks for the reader, in sentences.
        torque_constants: where efforts were recorded as currents.
    """

    prior: RobotModel
    model: RobotModel
    friction: Friction
    offset: Array
    base: BaseEstimate
    full: ConsistentEstimate
    parameters: EffortParameters
    identifiable: Identifiable
    delay: float
    window: float
    rms: Array
    prior_rms: Array
    effort_rms: Array
    prediction_rms: Array
    simple_rms: Array
    used: Array
    duration: float
    controller_rms: Array
    least_squares_rms: Array
    friction_certain: Array
    notes: tuple[str, ...] = ()
    torque_constants: TorqueConstants | None = None

    def with_efforts(self, motion: MotionSamples) -> MotionSamples:
        """A motion as recorded with efforts in N m or N, where currents were recorded."""
        constants = self.torque_constants
        if constants is None:
            return motion
        return constants.applied(motion)

    @property
    def effects(self) -> tuple[JointEffects, ...]:
        """(nv,) the form of each joint's friction."""
        return self.parameters.effects

    @property
    def body_covariance(self) -> Array:
        """(10 nb, 10 nb) covariance of the bodies' inertial parameters, [m, h, I] each in SI units
        and the body's frame.
        """
        bodies = self.parameters.bodies
        return self.full.covariance[bodies, bodies]

    @property
    def effort_error(self) -> float:
        """Share by which all efforts, and so all bodies, may be too large or too small together (1
        standard deviation): that of the best known torque constant; 0.05 where no currents were
        recorded.
        """
        constants = self.torque_constants
        if constants is None:
            return EFFORT_SCALE_ERROR_SHARE
        return float(constants.error[constants.known].min())

    def value(self, joint: int, name: str) -> float:
        """A joint's parameter, 0 where it has none of this name."""
        index = self.parameters.index(joint, name)
        if index >= 0:
            return float(self.full.values[index])
        return 0.0

    def predict(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *,
        in_order: bool = True,
    ) -> Array:
        """Motor efforts for a motion: inverse dynamics, friction and offset, as the URDF and all of
        the friction file have them.

        Args:
            q, v, a: (..., nv).
            in_order: whether rows (n, nv) follow one another in time, so that presliding friction
                can be followed; otherwise it is a function of speed.

        Returns:
            (..., nv) N m or N.
        """
        q, v, a = np.broadcast_arrays(*(np.asarray(x, dtype=np.float64) for x in (q, v, a)))
        parts = (slice(0, len(q)),) if in_order and q.ndim == 2 and len(q) > 1 else ()
        columns = self.parameters.joint_columns(q, v, a, parts)
        joints = columns @ self.full.values[self.parameters.bodies.stop :]
        # rotors are among the others
        rigid = inverse_dynamics(self.model, q, v, a) - self.model.rotor_effort(a)
        return np.asarray(rigid + joints + self.parameters.fixed_effort(v, a))

    def urdf(self) -> str:
        """URDF text of ``model``; visuals, limits and the like are those of the prior's URDF, if it
        is at hand.
        """
        return urdf_of(self.model, self.prior.description.source)


def identify(
    model: RobotModel,
    t: ArrayLike,
    q: ArrayLike,
    effort: ArrayLike,
    settings: IdentificationSettings | None = None,
    *,
    v: ArrayLike | None = None,
) -> Identification:
    """Identify inertial parameters and friction from recorded motion.

    Args:
        model: the robot; its kinematics must be right, its inertias are the start values.
        t: (n,) times, s, at which the robot was in these states.  Stamps of a logger are less
            exact: :func:`identify_recordings` repairs them.
        q: (n, nv) recorded positions.
        effort: (n, nv) recorded motor efforts, gravity included, N m or N.
        v: (n, nv) recorded velocities, used if they are better than the derivative of the
            positions.

    Raises:
        PoorExcitation: the motion does not show some base parameters; they are named.
        ArgumentError: data of the wrong shape, not finite, too few; or settings that do not fit.
    """
    s = settings_or_default(IdentificationSettings, settings, "settings")
    # refuses robots that cannot be identified before it looks at the data
    EffortParameters(model, s.terms)
    check = s.plausibility == "refuse"
    return _identify(
        model, MotionSamples.of(model, t, q, effort, v, window=s.window, check=check), s
    )


def identify_recordings(
    model: RobotModel,
    recordings: Recording | Sequence[Recording],
    settings: IdentificationSettings | None = None,
    workers: Workers = None,
    progress: Tell = silent,
) -> Identification:
    """The same from one recording or several, each at its own rate.

    Args:
        recordings: as :func:`~robot_dynamics_ros.recordings.read_csv`, ``read_bag`` or
            ``Recording.of`` give them: with times repaired.
        workers: that smooth and differentiate several recordings side by side, see
            :func:`~robot_dynamics_ros.workers.run_tasks`; the result is the same wherever they are.
        progress: called with the share that is done, from 0 to 1, and what is done next.

    Raises:
        PoorExcitation: the motions do not show some base parameters; they are named.
        ArgumentError: a recording without efforts, with too few rows; or settings that do not fit.
    """
    s = settings_or_default(IdentificationSettings, settings, "settings")
    EffortParameters(model, s.terms)
    if isinstance(recordings, Recording):
        several = [recordings]
    else:
        several = list(recordings)
    check = s.plausibility == "refuse"
    motion = MotionSamples.of_recordings(
        model, several, window=s.window, check=check, workers=workers
    )
    return _identify(model, motion, s, progress)


def check_efforts(
    model: RobotModel,
    recording: Recording,
    progress: Tell = silent,
    *,
    causes: bool = True,
) -> None:
    """Compare recorded efforts with the robot as it is described: all that
    :func:`identify_recordings` says of a recording before it estimates anything.

    What only an estimate shows is not judged: friction that would drive a joint, efforts that no
    bodies explain, and predictions that are worse than none.

    Args:
        recording: with the efforts of all joints.
        progress: called with the share that is done, from 0 to 1, and what is done next.
        causes: ``False``: only whether the efforts were measured, without a comparison with the
            robot, whose time grows with the third power of its joints.

    Raises:
        ArgumentError: too few rows; ``where`` is ``effort`` if the efforts were not measured.
        Implausible: ``where`` is ``recording``: recording and robot contradict each other; the most
            likely cause.
    """
    s = IdentificationSettings()
    parameters = EffortParameters(model, s.terms)
    motion = MotionSamples.of_recordings(model, [recording], window=s.window)
    if causes:
        _diagnosed(parameters, motion, s, progress)


def identify_each(
    model: RobotModel,
    recordings: Sequence[Recording],
    settings: IdentificationSettings | None = None,
    workers: Workers = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Identification | RobotDynamicsError]:
    """Identify a robot from each recording separately, in parallel if there are workers: arms of
    one kind, or one arm on several days.

    Args:
        recordings: as :func:`identify_recordings`.
        progress: called with (recordings done, recordings).

    Returns:
        for each recording in order, the result, or the error with which it was refused.
    """
    return run_tasks(partial(_one, model, settings), recordings, workers, progress=progress)


def _one(
    model: RobotModel,
    settings: IdentificationSettings | None,
    recording: Recording,
) -> Identification | RobotDynamicsError:
    try:
        return identify_recordings(model, recording, settings)
    except RobotDynamicsError as error:
        return error


@dataclass(frozen=True, eq=False)
class _Fit:
    """Base parameters of one form of all joints' friction; the motion is with its efforts ``delay``
    s earlier.
    """

    identifiable: Identifiable
    delay: float
    motion: MotionSamples
    data: Blocks
    base: BaseEstimate

    @property
    def scarce(self) -> bool:
        """Whether there are so few rows for each parameter that a fit says little about its
        error.
        """
        return self.scarcity >= 0.3

    @property
    def scarcity(self) -> float:
        """From 0, many rows for each parameter, to 1, so few that a fit says nothing about its
        error.
        """
        return min(1.0, _FEW * len(self.base.values) / max(int(self.data.use.sum()), 1))

    def block_noise(self, selection: Selection) -> Array:
        """(nv,) noise of one block: what the fit leaves, and the more of what predictions miss the
        fewer rows there are.
        """
        missed = np.maximum(selection.error**2 - self.base.noise**2, 0.0)
        return np.asarray(
            np.sqrt((self.base.noise**2 + self.scarcity * missed) * self.base.correlation)
        )

    def least_squares_left(self, instruments: Array | None = None) -> Array:
        """(m, nv) what least squares leave of stretches that they are not made from."""
        return held_out_least_squares(
            self.identifiable, self.data, self.base, instruments=instruments
        )


class _Fits:
    """Fits of a motion, with one form of friction after another."""

    def __init__(
        self,
        model: RobotModel,
        motion: MotionSamples,
        slow: Array,
        settings: IdentificationSettings,
    ) -> None:
        self.model = model
        self.motion = motion
        self.slow = slow
        self.settings = settings
        # of the rigid robot: dry friction that builds up late would look like late efforts
        rigid = inverse_dynamics(model, motion.q, motion.v, motion.a)
        self.rate = motion.mean(motion.smoothed(rigid)[1], settings.block)

    def base(
        self,
        identifiable: Identifiable,
        data: Blocks,
        unseen: str = "keep",
        instruments: Array | None = None,
    ) -> BaseEstimate:
        """Least squares for the base parameters."""
        s = self.settings
        return weighted_least_squares(
            identifiable,
            data,
            confidence=s.confidence,
            tolerance=s.tolerance,
            unseen=unseen,
            instruments=instruments,
        )

    def aligned(
        self,
        identifiable: Identifiable,
        delay: float,
        times: int,
        unseen: str = "keep",
    ) -> _Fit:
        """With the delay that the residual shows, corrected some times."""
        for k in range(times + 1):
            shifted = self.motion.earlier(delay)
            data = blocks(
                identifiable.parameters, shifted, length=self.settings.block, slow=self.slow
            )
            fit = _Fit(identifiable, delay, shifted, data, self.base(identifiable, data, unseen))
            if self.settings.delay is None and k < times:
                delay += _delay_correction(fit, self.rate)
        return fit

    def of_form(self, fit: _Fit, identifiable: Identifiable) -> _Fit:
        """The same motion with other parameters of the joints."""
        data = fit.data.with_parameters(identifiable.parameters, fit.motion, self.settings.block)
        return dataclasses.replace(
            fit, identifiable=identifiable, data=data, base=self.base(identifiable, data)
        )

    def with_rotors(self, fit: _Fit) -> _Fit:
        """With a rotor on every joint, if least squares predict clearly better by them."""
        parameters = fit.identifiable.parameters
        forms = tuple(
            e if "rotor" in e.effects else dataclasses.replace(e, effects=(*e.effects, "rotor"))
            for e in parameters.effects
        )
        if "armature" in parameters.kinds or forms == parameters.effects:
            return fit
        more = self.of_form(fit, identifiable_parameters(parameters.with_effects(forms)))
        before, after = (
            stretch_squares(f.least_squares_left() / fit.base.noise, pieces(f.data))
            for f in (fit, more)
        )
        if better(after, before, GAIN, 0.0):
            return more
        return fit


def _remarks(diagnosis: Diagnosis, s: IdentificationSettings) -> tuple[str, ...]:
    """Remarks of the diagnosis on the recording.

    Raises:
        Implausible: it has a mistake, and that is to be refused.
    """
    cause = diagnosis.cause
    if cause is None:
        return diagnosis.notes
    if s.plausibility == "refuse":
        raise Implausible(cause.text, where="recording", got=cause.joints, remedy=cause.remedy)
    return f"{cause.text}, as it seems. {cause.remedy}", *diagnosis.notes


def _in_efforts(
    model: RobotModel,
    motion: MotionSamples,
    s: IdentificationSettings,
) -> tuple[TorqueConstants | None, MotionSamples]:
    """Torque constants where currents were recorded, and the motion with efforts in N m or N."""
    if s.currents is None:
        return None, motion
    load = s.known_load
    constants = find_torque_constants(model, motion, s.currents, block=s.block, load=load)
    return constants, constants.applied(motion)


def _check_plausible(
    model: RobotModel,
    fit: _Fit,
    unexplained: Array,
    before: Array,
    error: Array,
) -> None:
    """Refuse a result that no robot has, or that predicts worse than the model before."""
    data = fit.data
    effort = data.rms(data.effort)
    power = np.zeros(model.nv)
    if not fit.scarce:
        power = _friction_power(fit)
    speed = np.sqrt(np.mean(data.v**2, axis=0))
    check_result(model.joint_names, effort, speed, fit.base.noise, unexplained, power)
    if not fit.scarce:
        check_prediction(model.joint_names, error, before, effort)


def _standing_speed(
    parameters: EffortParameters,
    s: IdentificationSettings,
    dry: bool,
) -> Array:
    """(nv,) rad/s or m/s, below which a joint stands: its dry friction is not known there."""
    model = parameters.model
    if s.slow is None:
        slow = STILL_SMOOTHINGS * parameters.smoothing
    else:
        slow = per_joint(s.slow, model.nv, "slow")
    if dry:
        return slow
    return np.where(model.friction > 0.0, slow, 0.0)


def _diagnosed(
    parameters: EffortParameters,
    motion: MotionSamples,
    s: IdentificationSettings,
    tell: Tell = silent,
) -> tuple[Array, Diagnosis, tuple[str, ...]]:
    """(nv,) rad/s or m/s below which a joint stands, the diagnosis of the recording, and its
    remarks.
    """
    slow = _standing_speed(parameters, s, "coulomb" in parameters.kinds)
    diagnosis = diagnose(parameters.model, motion, slow, s.delay, s.currents is not None, tell)
    return slow, diagnosis, _remarks(diagnosis, s)


def _identify(
    model: RobotModel,
    motion: MotionSamples,
    s: IdentificationSettings,
    tell: Tell = silent,
) -> Identification:
    constants, motion = _in_efforts(model, motion, s)
    parameters = EffortParameters(model, s.terms)
    dry = "coulomb" in parameters.kinds
    slow, diagnosis, remarks = _diagnosed(parameters, motion, s, part(tell, 0.0, 0.4))
    motion = diagnosis.motion
    first_delay = diagnosis.delay
    tell(0.4, "delay of the efforts")
    fits = _Fits(model, motion, slow, s)
    identifiable = identifiable_parameters(parameters)
    fit, selection = _formed(fits, identifiable, first_delay, part(tell, 0.45, 0.8))
    tell(0.8, "bodies that can exist")
    fit, full, residual = _bodies(fits, fit, selection)
    data = fit.data
    parameters = fit.identifiable.parameters
    identified = with_parameters(parameters, full.values)
    parameters = parameters.with_effects(parameters.effects, identified)
    error = root_mean_square(residual)

    # the first was a rough one
    if s.delay is None:
        rough = delay_notes(first_delay)
        remarks = delay_notes(fit.delay) + tuple(x for x in remarks if x not in rough)
    unexplained = data.rms(data.effort - data.Y @ full.values)
    before = data.rms(data.effort - data.Y @ parameters.values())
    if s.plausibility == "refuse":
        _check_plausible(model, fit, unexplained, before, error)
    offset = np.zeros(model.nv)
    if "offset" in parameters.kinds:
        offset = full.values[parameters.of("offset")].copy()
    notes = remarks + motion.notes + _notes(parameters, data, dry)
    notes += getattr(constants, "notes", ())
    friction = _joint_friction(parameters, data, full, s.confidence)
    compensated = friction.compensated(model)
    # what controllers get is certain for the day of the recording; intervals hold for other days
    doubts = _friction_at_other_times(fit, full), _of_other_forms(parameters, selection)
    fit, full = _with_doubts(fit, full, np.concatenate(doubts))
    by_controllers = efforts_as_controllers_read(parameters, full.values, compensated, offset, data)
    return Identification(
        model,
        _with_safe_friction(parameters, full.values, friction),
        compensated,
        offset,
        fit.base,
        full,
        parameters,
        fit.identifiable,
        float(fit.delay),
        motion.window,
        *(unexplained, before, data.rms(data.effort), error),
        selection.simple_error,
        data.use.mean(axis=0),
        motion.duration,
        data.rms(data.effort - by_controllers),
        root_mean_square(fit.least_squares_left()),
        friction.certain,
        notes,
        constants,
    )


def _formed(
    fits: _Fits,
    identifiable: Identifiable,
    delay: float,
    tell: Tell,
) -> tuple[_Fit, Selection]:
    """The fit with the form of friction that predicts best, and how it was chosen."""
    s = fits.settings
    parameters = identifiable.parameters
    fit = fits.aligned(identifiable, delay, 2, s.unseen)

    def chosen(
        identifiable: Identifiable,
        forms: tuple[str, ...],
        tell: Tell = silent,
    ) -> Selection:
        return select_effects(
            identifiable, fit.data, fit.motion, s.block, fit.base.noise, forms, tell
        )

    selection = chosen(identifiable, ())
    if s.forms:
        rough = consistent_parameters(
            identifiable, fit.data, fit.block_noise(selection), spread=s.spread
        )
        loaded = with_parameters(parameters, rough.values)
        parameters = parameters.with_effects(parameters.effects, loaded)
        if fit.scarce:
            forms = tuple(form for form in s.forms if form == "presliding")
        else:
            forms = s.forms
        selection = chosen(dataclasses.replace(identifiable, parameters=parameters), forms, tell)
        fit = fits.aligned(
            identifiable_parameters(parameters.with_effects(selection.effects)), fit.delay, 2
        )
    return fit if fit.scarce else fits.with_rotors(fit), selection


def _bodies(
    fits: _Fits,
    fit: _Fit,
    selection: Selection,
) -> tuple[_Fit, ConsistentEstimate, Array]:
    """Bodies that can exist, with effects of joints only where these predict better: the fit with
    its final form of friction, the estimate, and (m, nv) what such estimates leave of stretches
    that they are not made from.
    """
    s = fits.settings

    def bodies(fit: _Fit) -> ConsistentEstimate:
        return consistent_parameters(
            fit.identifiable, fit.data, fit.block_noise(selection), spread=s.spread
        )

    def predicted(fit: _Fit, full: ConsistentEstimate) -> Array:
        return held_out_bodies(fit.identifiable, fit.data, fit.block_noise(selection), full)

    full = bodies(fit)
    residual = predicted(fit, full)
    parameters = fit.identifiable.parameters
    needless = [
        len(e.effects) > 0 and x > _NEEDLESS * y
        for e, x, y in zip(
            parameters.effects, root_mean_square(residual), selection.simple_error, strict=True
        )
    ]
    # effects that the final estimate predicts worse with are left out
    if any(needless):
        plain = tuple(
            dataclasses.replace(e, effects=tuple(x for x in e.effects if x == "rotor"), numbers={})
            if bad
            else e
            for e, bad in zip(parameters.effects, needless, strict=True)
        )
        fit = fits.of_form(fit, identifiable_parameters(parameters.with_effects(plain)))
        full = bodies(fit)
        residual = predicted(fit, full)
    fewer = _without_uncertain(fit.identifiable.parameters, full, s.confidence)
    if fewer is not None:
        fit = fits.of_form(fit, identifiable_parameters(fewer))
        full = bodies(fit)
        residual = predicted(fit, full)
    # predictions, and the files that others read, take loads from the robot found: its parameters
    # must be of these loads
    forms = fit.identifiable.parameters.effects
    for _ in range(
        _AGAIN
        if any(name in form.effects for form, name in itertools.product(forms, OF_SENSORS))
        else 0
    ):
        identified = with_parameters(fit.identifiable.parameters, full.values)
        parameters = fit.identifiable.parameters.with_effects(forms, identified)
        fit = fits.of_form(fit, dataclasses.replace(fit.identifiable, parameters=parameters))
        full = bodies(fit)
    full = with_left_out(fit.identifiable, fit.data, fit.block_noise(selection), full)
    return fit, full, residual


def _friction_at_other_times(fit: _Fit, full: ConsistentEstimate) -> Array:
    """(nv, p) by how much friction may well change until another day: a row for each joint, all of
    whose friction grows or shrinks together.
    """
    parameters = fit.identifiable.parameters
    known = dict(zip(fit.identifiable.base.independent.tolist(), fit.base.values, strict=True))
    out = np.zeros((parameters.model.nv, len(parameters)))
    for j, form in enumerate(parameters.effects):
        of_effects = [n for e in form.effects if e in _BRAKING for n in EFFECTS[e].columns]
        for name in ("viscous", "coulomb", *of_effects, *COUPLING[3:]):
            index = parameters.index(j, name)
            if index >= 0:
                out[j, index] = _FRICTION_CHANGE_SHARE * known.get(index, full.values[index])
    return out


def _of_other_forms(parameters: EffortParameters, selection: Selection) -> Array:
    """(n, p) by how much other forms of friction, which may be the right ones, change the
    parameters.
    """
    numbers = {name: k for k, name in enumerate(parameters.names)}
    out = np.zeros((len(selection.choice), len(parameters)))
    for row, change in zip(out, selection.choice, strict=True):
        for name, by in change.items():
            if name in numbers:
                row[numbers[name]] = by
    return out


def _with_doubts(
    fit: _Fit,
    full: ConsistentEstimate,
    changes: Array,
) -> tuple[_Fit, ConsistentEstimate]:
    """Intervals that also hold ``changes`` (n, p) of the parameters, each of standard deviation
    1.
    """
    base = fit.base
    own = changes[:, fit.identifiable.base.independent]
    own = np.where(np.isfinite(base.covariance.diagonal()), own, 0.0)
    wider = base.with_covariance(base.covariance + own.T @ own)
    # bodies that can exist are held by what was known, too
    joints = changes.copy()
    joints[:, fit.identifiable.parameters.bodies] = 0.0
    full = dataclasses.replace(full, covariance=full.covariance + joints.T @ joints)
    return dataclasses.replace(fit, base=wider), full


def _without_uncertain(
    parameters: EffortParameters,
    full: ConsistentEstimate,
    confidence: float,
) -> EffortParameters | None:
    """Without the less certain of two effects of a joint that can nearly cancel, if its interval
    contains zero; or ``None`` if there is no such joint.

    Both shape dry friction near rest.  Where they nearly cancel their intervals are wide: one goes,
    and the other is estimated anew.
    """
    quantile = interval_factor(confidence)
    error = full.standard_error
    forms = []
    for j, form in enumerate(parameters.effects):
        certainty = {}
        for name in form.effects:
            if name in _CANCELLING:
                indices = [parameters.index(j, n) for n in EFFECTS[name].columns]
                ratios = np.abs(full.values[indices]) / np.maximum(error[indices], 1e-300)
                certainty[name] = float(ratios.max())
        least = min(certainty, key=lambda name: certainty[name], default="")
        if len(certainty) == len(_CANCELLING) and certainty[least] < quantile:
            kept = tuple(name for name in form.effects if name != least)
            form = dataclasses.replace(form, effects=kept)
        forms.append(form)
    if tuple(forms) == parameters.effects:
        return None
    return parameters.with_effects(tuple(forms))


def _notes(parameters: EffortParameters, data: Blocks, dry: bool) -> tuple[str, ...]:
    """Sentences about joints whose result has a limit."""
    model = parameters.model
    notes = []
    for j, name in enumerate(model.joint_names if dry and "offset" in parameters.kinds else ()):
        v = data.v[data.use[:, j], j]
        if len(v) and min((v > 0.0).mean(), (v < 0.0).mean()) < _ONE_WAY:
            notes.append(
                f"joint {name} moved one way only: its Coulomb friction and its offset cannot be "
                "distinguished"
            )
    for name, form in zip(model.joint_names, parameters.effects, strict=True):
        notes += [
            f"joint {name}: {what}" for effect, what in _LIMITED.items() if effect in form.effects
        ]
    return tuple(notes)


def _friction_power(fit: _Fit) -> Array:
    """(nv,) mean power that Coulomb and viscous friction take by the base parameters, W; of coupled
    joints their sum.
    """
    parameters = fit.identifiable.parameters
    data = fit.data
    values = dict(zip(fit.identifiable.base.independent.tolist(), fit.base.values, strict=True))
    out = np.zeros(parameters.model.nv)
    for j in range(parameters.model.nv):
        columns = [
            index
            for kind in ("viscous", "coulomb", *COUPLING[3:])
            if (index := parameters.index(j, kind)) >= 0
        ]
        if columns:
            own = [values.get(index, 0.0) for index in columns]
            out[j] = float(np.mean(data.Y[:, j, columns] @ own * data.v[:, j]))
    coupled = ["coupled" in form.effects for form in parameters.effects]
    # a motor takes power from one joint and gives some to the other
    return np.where(coupled, out[coupled].sum(), out)


def _delay_correction(fit: _Fit, rate: Array) -> float:
    """Correction of the delay, to first order: τ(t − δ) ≈ τ(t) − δ τ̇, estimated together with the
    base parameters.
    """
    identifiable = fit.identifiable
    use = fit.data.use & np.isfinite(rate)
    w = np.broadcast_to(1.0 / fit.base.noise, rate.shape)[use]
    A = identifiable.base.regressor(fit.data.Y)[use] * w[:, None] / identifiable.sensitivity
    x = -rate[use] * w
    r = fit.base.residual[use] * w
    x -= A @ np.linalg.lstsq(A, x, rcond=1e-10)[0]
    power = float(x @ x)
    if power > 0.0:
        return float(np.clip(x @ r / power, -0.05, 0.05))
    return 0.0


@dataclass(frozen=True, eq=False)
class _JointFriction:
    """Friction of all joints as functions of their speeds.

    Attributes:
        curves: (nv,) as identified.
        below: (nv,) the largest of the controllers' form that lies nowhere above.
        certain: (nv,) shares of it, from 0 to 1, see :attr:`Identification.friction_certain`.
    """

    curves: tuple[IdentifiedFriction, ...]
    below: tuple[CompensatedFriction, ...]
    certain: Array

    def compensated(self, model: RobotModel) -> Friction:
        """Friction for controllers: nowhere above the certain share of what was identified."""
        joints = [
            found.scaled(share)
            for found, share in zip(self.below, self.certain.tolist(), strict=True)
        ]
        numbers: dict[str, Any] = {
            word: [getattr(joint, word) for joint in joints] for word in COMPENSATION_NUMBERS
        }
        coupling = [{**curve.form.all_numbers, **curve.values} for curve in self.curves]
        return Friction.of(model, coupling=coupling, **numbers)


def _joint_friction(
    parameters: EffortParameters,
    data: Blocks,
    full: ConsistentEstimate,
    confidence: float,
) -> _JointFriction:
    """Friction of speed, and the share of it that the interval leaves."""
    model = parameters.model
    fixed = {"viscous": model.damping, "coulomb": model.friction}
    quantile = interval_factor(confidence)
    curves = []
    certain = np.ones(model.nv)
    for j, form in enumerate(parameters.effects):
        values = {name: float(fixed[name][j]) for name in fixed}
        indices = {n: parameters.index(j, n) for n in (*fixed, *form.parameters)}
        values |= {n: float(full.values[k]) for n, k in indices.items() if k >= 0}
        curve = IdentifiedFriction(form, values, float(model.velocity_limit[j]))
        curves.append(curve)
        v = data.v[data.use[:, j], j]
        columns = curve.columns(v)
        known = [name for name in columns if indices[name] >= 0]
        if not len(v) or not known:
            continue
        # on average over the motion: how much it brakes
        mean = {name: float(np.mean(np.sign(v) * columns[name])) for name in columns}
        total = sum(values[name] * mean[name] for name in columns)
        own = np.array([mean[name] for name in known])
        at = [indices[name] for name in known]
        error = float(np.sqrt(max(own @ full.covariance[np.ix_(at, at)] @ own, 0.0)))
        certain[j] = float(np.clip(1.0 - quantile * error / max(total, 1e-300), 0.0, 1.0))
    below = tuple(curve.compensated() for curve in curves)
    return _JointFriction(tuple(curves), below, certain)


def efforts_as_controllers_read(
    parameters: EffortParameters,
    values: Array,
    friction: Friction,
    offset: Array,
    data: Blocks,
) -> Array:
    """(m, nv) efforts of the two files as controllers read them: the bodies, friction in the
    controllers' form, and offsets.
    """
    bodies = data.Y[..., parameters.bodies] @ values[parameters.bodies]
    efforts: Array = bodies + friction.effort(data.v) + offset
    return efforts


def _with_safe_friction(
    parameters: EffortParameters,
    values: Array,
    friction: _JointFriction,
) -> RobotModel:
    """The robot found, with the viscous and Coulomb friction that may be compensated alone: a URDF
    has no others.
    """
    safe = values.copy()
    for j, (curve, found) in enumerate(zip(friction.curves, friction.below, strict=True)):
        if curve.is_simple:
            continue
        for name in ("viscous", "coulomb"):
            index = parameters.index(j, name)
            if index >= 0:
                safe[index] = getattr(found, name)
    return with_parameters(parameters, safe)
