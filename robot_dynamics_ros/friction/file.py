"""Joint friction beside the URDF: what ``<dynamics damping friction>`` cannot hold, in a JSON file.

``{"trust": …, "joints": {"<joint>": {"viscous": …, "coulomb": …, "breakaway": …, "stribeck_speed":
…, "smoothing": …, "presliding": …, "presliding_ratio": …, "sigmoid_width": …, "sigmoid_shift": …,
"offset": …, "rotor_inertia": …, "effects": {…}, "compensation": {…}}}}`` with the names of
:class:`~robot_dynamics_ros.friction.effects.JointEffects`; what a joint leaves out is the URDF's,
and ``trust`` is 0 (see :class:`~robot_dynamics_ros.friction.compensation.Friction`).
``"compensation"`` has the first five entries again, as controllers take them: nowhere above the
friction of all the others (:mod:`~robot_dynamics_ros.friction.bounded`).  It is made of them where
it is left out.  Identification writes such a file; controllers and the simulator have
``"compensation"``, coupled motors and the offset; ``wrenches`` takes all but ``"compensation"``,
along the motion.  Crosstalk (``crosstalk1``, ``crosstalk2``) is
an error of torque sensors: neither controllers nor the simulator have it.
"""

from __future__ import annotations

import itertools
import json
import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics_ros.errors import ArgumentError, ModelWarning, check_name
from robot_dynamics_ros.friction.bounded import (
    COMPENSATION_NUMBERS,
    CompensatedFriction,
    IdentifiedFriction,
)
from robot_dynamics_ros.friction.compensation import Friction
from robot_dynamics_ros.friction.effects import JointEffects, direction, joint_loads
from robot_dynamics_ros.friction.law import COUPLING, EFFECTS, JointMotion
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.per_joint import expect
from robot_dynamics_ros.whole_files import write_whole_text

_FILE_NUMBERS = (
    *COMPENSATION_NUMBERS,
    "presliding",
    "presliding_ratio",
    "offset",
    "rotor_inertia",
)
_AT_LEAST = {"presliding_ratio": 1.0}
# share of friction that a compensation may be above it: rounding of a file's numbers
_ROUNDING_OF_FILES = 1e-6


def _parameters() -> dict[str, str]:
    """Parameter → its effect."""
    return {name: word for word, effect in EFFECTS.items() for name in effect.columns}


@dataclass(frozen=True, eq=False)
class FrictionFile:
    """Friction of a robot's joints as a file has it: name → numbers, and ``"effects"`` → parameter
    → number; how far it is trusted; ``source`` for messages.
    """

    joints: Mapping[str, Mapping[str, Any]]
    trust: float = 0.0
    source: str = "friction file"

    @classmethod
    def read(cls, path: str | Path, model: RobotModel) -> FrictionFile:
        """Read a file; ArgumentError: unreadable, not of this form, or a number that is not finite
        or has an impossible sign; UnknownNameError: a joint that the robot does not have, or an
        unknown entry.
        """
        try:
            document = json.loads(Path(path).expanduser().read_text(encoding="utf-8"))
            rows = {name: dict(row) for name, row in document["joints"].items()}
            trust = float(document.get("trust", 0.0))
        except (OSError, UnicodeDecodeError) as error:
            raise ArgumentError(
                f"cannot be read: {error}", where=str(path), remedy="Check the path."
            ) from None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            remedy = 'It is JSON: {"joints": {"<joint>": {"viscous": 1.0, "coulomb": 2.0}}}.'
            raise ArgumentError(
                f"is no friction file: {error!r}", where=str(path), remedy=remedy
            ) from None
        expect(0.0 <= trust <= 1.0, "a number from 0 to 1", trust, f"{path}, trust")
        entries = dict.fromkeys(
            (
                *_FILE_NUMBERS,
                *itertools.chain.from_iterable(e.numbers for e in EFFECTS.values()),
                "effects",
                "compensation",
            )
        )
        parameters = _parameters()
        signed = {
            "offset",
            *parameters,
            *itertools.chain.from_iterable(e.signed for e in EFFECTS.values()),
        }
        for name, row in rows.items():
            where = f"{path}, joint {name!r}"
            check_name("joint", name, model.joint_names, where=str(path))
            effects = row.get("effects", {})
            compensation = row.get("compensation", {})
            for kind, keys, known in (
                ("entry", row, entries),
                ("effect", effects, parameters),
                ("entry of compensation", compensation, dict.fromkeys(COMPENSATION_NUMBERS)),
            ):
                for key in keys:
                    check_name(kind, key, known, where=where)
            for key, value in [*row.items(), *effects.items(), *compensation.items()]:
                if key not in ("effects", "compensation") and not (
                    isinstance(value, int | float)
                    and math.isfinite(value)
                    and (key in signed or value >= _AT_LEAST.get(key, 0.0))
                ):
                    raise ArgumentError(
                        f"{key} is {value!r}",
                        where=where,
                        got=value,
                        remedy="Give a finite number of the right sign.",
                    )
            missing = [key for key in COMPENSATION_NUMBERS if key not in compensation]
            if compensation and missing:
                raise ArgumentError(
                    f"compensation lacks {', '.join(missing)}",
                    where=where,
                    remedy="Give all of them, or leave compensation out.",
                )
        return cls(rows, trust, str(path))

    def write(self, path: str | Path) -> None:
        """Write the file."""
        document = {**({"trust": self.trust} if self.trust else {}), "joints": self.joints}
        write_whole_text(path, json.dumps(document, indent=2, allow_nan=False) + "\n")

    def friction(
        self,
        model: RobotModel,
        who: str = "controllers do not compensate",
    ) -> Friction:
        """The friction that controllers compensate and the simulator has: of the form that they
        know, nowhere above that of all effects of speed; and the offset.

        A :class:`~robot_dynamics_ros.errors.ModelWarning` names the effects that are left out,
        after the words ``who``.  ArgumentError: a breakaway below the Coulomb friction, or a
        ``compensation`` above the joint's friction.
        """
        known_effects = ("rise", "rotor", *COUPLING[3:])
        out: dict[str, list[str]] = {}
        for name in model.joint_names:
            for effect, value in self.joints.get(name, {}).get("effects", {}).items():
                if value and effect not in known_effects:
                    out.setdefault(effect, []).append(name)
        if out:
            text = "; ".join(f"{effect} of {', '.join(names)}" for effect, names in out.items())
            warnings.warn(ModelWarning(f"{self.source}: {who} {text}", (text,)), stacklevel=2)
        identified = self._of_speeds(model)
        joints = [
            self._compensation(name, identified, j, float(model.velocity_limit[j]))
            for j, name in enumerate(model.joint_names)
        ]
        numbers: dict[str, Any] = {
            key: [getattr(joint, key) for joint in joints] for key in COMPENSATION_NUMBERS
        }
        numbers["offset"] = identified.offset
        return Friction.of(
            model,
            coupling=self._coupling(model),
            trust=self.trust,
            **numbers,
        )

    def _compensation(
        self,
        name: str,
        friction: Friction,
        j: int,
        fastest: float,
    ) -> CompensatedFriction:
        """Friction that controllers compensate at joint ``j``, of this name."""
        row = self.joints.get(name, {})
        curve = self._curve(name, friction, j, fastest)
        if "compensation" not in row:
            return curve.compensated()
        given = CompensatedFriction(**{key: float(x) for key, x in row["compensation"].items()})
        v = curve.speeds(1000)
        above = given.effort(v) - (1.0 + _ROUNDING_OF_FILES) * curve.brakes(v)
        k = int(np.argmax(above))
        if above[k] > _ROUNDING_OF_FILES * float(curve.brakes(v).max()):
            raise ArgumentError(
                f"compensation is {above[k]:.3g} above the joint's friction at {v[k]:.3g} rad/s "
                "or m/s: it would drive the joint",
                where=f"{self.source}, joint {name!r}",
                remedy="Leave the entry compensation out: it is then made of the others.",
            )
        return given

    def _curve(
        self,
        name: str,
        friction: Friction,
        j: int,
        fastest: float,
    ) -> IdentifiedFriction:
        """A joint's friction with all effects of its speed."""
        row = self.joints.get(name, {})
        values = {
            **row.get("effects", {}),
            "viscous": float(friction.viscous[j]),
            "coulomb": float(friction.coulomb[j]),
            "rise": float(friction.breakaway[j] - friction.coulomb[j]),
        }
        effect_of = _parameters()
        effects = tuple(
            dict.fromkeys(effect_of[key] for key, x in values.items() if x and key in effect_of)
        )
        numbers = {**row, "stribeck_speed": float(friction.stribeck_speed[j])}
        form = JointEffects(float(friction.smoothing[j]), effects=effects, numbers=numbers)
        return IdentifiedFriction(form, values, fastest)

    def _coupling(self, model: RobotModel) -> list[dict[str, float]]:
        """Numbers of each joint, motors that turn with two joints among them: the model's, unless
        the file has some.
        """
        rows = [self.joints.get(name, {}) for name in model.joint_names]
        numbers = [{**row, **row.get("effects", {})} for row in rows]
        if any(row.get(name) for row, name in itertools.product(numbers, COUPLING[3:])):
            return numbers
        return [dict(zip(COUPLING, column, strict=False)) for column in model.coupling.T.tolist()]

    def _of_speeds(self, model: RobotModel) -> Friction:
        """The part that is a function of speeds, and the offset; what the file leaves out is the
        model's, or usual.
        """
        n = model.nv
        rows = [self.joints.get(name, {}) for name in model.joint_names]
        usual: dict[str, Any] = {
            "viscous": model.damping,
            "coulomb": model.friction,
            "smoothing": [0.02] * n,
        }
        usual |= {"stribeck_speed": [0.1] * n, "offset": [0.0] * n}
        numbers: dict[str, Any] = {
            key: [float(row.get(key, x)) for row, x in zip(rows, values, strict=True)]
            for key, values in usual.items()
        }
        numbers["breakaway"] = [
            float(row.get("breakaway", x)) for row, x in zip(rows, numbers["coulomb"], strict=True)
        ]
        return Friction.of(model, coupling=self._coupling(model), trust=self.trust, **numbers)

    def efforts(
        self,
        model: RobotModel,
        q: Array,
        v: Array,
        a: Array,
        parts: tuple[slice, ...] = (),
    ) -> Array:
        """(n, nv) efforts of friction, offsets and rotors beyond the model's along a motion (n,
        nv), N m or N;
        ``parts``: stretches in order of time, along which presliding is followed."""
        friction = self._of_speeds(model)
        out = np.zeros(v.shape)
        effect_of = _parameters()
        forms = []
        values = []
        couplings = self._coupling(model)
        for j, name in enumerate(model.joint_names):
            motor = couplings[j]
            row = {**self.joints.get(name, {}), **{n: motor[n] for n in COUPLING[:3] if n in motor}}
            rotor = max(
                float(row.get("rotor_inertia", model.armature[j])) - float(model.armature[j]), 0.0
            )
            x = {n: motor.get(n, 0.0) for n in COUPLING[3:]}
            x |= {
                **row.get("effects", {}),
                "rise": float(friction.breakaway[j] - friction.coulomb[j]),
                "rotor": rotor,
            }
            values.append(x)
            effects = tuple(dict.fromkeys(effect_of[key] for key, value in x.items() if value))
            numbers = {**row, "stribeck_speed": float(friction.stribeck_speed[j])}
            way = float(row.get("presliding", 0.0))
            ratio = float(row.get("presliding_ratio", 1.0))
            forms.append(JointEffects(float(friction.smoothing[j]), way, effects, numbers, ratio))
        d = direction(tuple(forms), q, v, parts)
        load = joint_loads(model, itertools.chain.from_iterable(f.effects for f in forms), q, v, a)
        for j, (form, motion) in enumerate(
            zip(forms, JointMotion.of_joints(q, v, a, d, load), strict=True)
        ):
            out[:, j] = friction.viscous[j] * v[:, j] + friction.coulomb[j] * d[:, j]
            for key, column in form.columns(motion).items():
                out[:, j] += values[j].get(key, 0.0) * column
        return out + (0.0 if friction.offset is None else friction.offset)
