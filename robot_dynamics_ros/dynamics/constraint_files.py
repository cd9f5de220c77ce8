"""Constraints from files: YAML beside a URDF, and the ``<equality>`` elements of an MJCF file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics import constraints as made
from robot_dynamics_ros.dynamics.algorithms.constraint_rows import ROWS
from robot_dynamics_ros.dynamics.constraints import Constraint, Constraints
from robot_dynamics_ros.dynamics.kinematics import link_pose
from robot_dynamics_ros.dynamics.reference_frame import WORLD
from robot_dynamics_ros.errors import ArgumentError, check_name, optional_package
from robot_dynamics_ros.model.description import Array, JointType, Pose, joint_pose
from robot_dynamics_ros.model.mjcf import compile_mjcf, is_mjcf, mujoco_name, mujoco_rotation
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.per_joint import expect
from robot_dynamics_ros.yaml_text import load_yaml

__all__ = ["load_constraints"]


def load_constraints(
    model: RobotModel,
    source: str | Path,
    *,
    reference: ArrayLike | None = None,
) -> Constraints:
    """Constraints from a YAML or MJCF file.

    ::

        constraints:
          - {type: hinge, name: closure, a: coupler, b: rocker, point_a: [0.3, 0, 0], axis_a: [0, 0,
            1]}
          - {type: gear, name: fingers, a: left, b: right, ratio: -1}

    Keys are the arguments of :func:`point_constraint`, :func:`hinge_constraint`,
    :func:`weld_constraint`, :func:`distance_constraint`, :func:`gear_constraint`,
    :func:`rolling_constraint` (``plane`` and ``wheel`` instead of ``a`` and ``b``) and
    :func:`pfaffian_constraint`.

    Of an MJCF file the active elements of ``<equality>`` are read, bodies being links of the same
    name: ``connect`` is a point, ``weld`` a weld (between bodies or sites), ``joint`` a gear (a
    weld, if it holds one joint still), ``tendon`` a distance (a spatial tendon between two sites)
    or a gear (a fixed one of two joints).  They hold exactly: ``solref``, ``solimp`` and
    ``torquescale`` have no meaning here.  A coupling that is a mimic joint of the model already is
    left out.

    Args:
        source: a path, or the text itself.
        reference: see :class:`Constraints`; a YAML file may have ``reference: {joint: position}``.

    Raises:
        ArgumentError: not a file of this kind, or an element with no counterpart here; the entry
            and key at fault are named.  Or the frame of an MJCF body is not that of the link of its
            name.
        UnknownNameError: no such link or joint.
        BackendError: PyYAML, or for MJCF MuJoCo, is not installed.
    """
    text, path = _text(source)
    if is_mjcf(text):
        return Constraints(model, _Equalities(model, text, path).read(), reference=reference)
    entries, positions = _entries(text, path or "constraints")
    constraints = [_constraint(k, entry) for k, entry in enumerate(entries)]
    if reference is None and positions:
        reference = model.neutral()
        for name, value in positions.items():
            check_name("joint", name, model.joint_names, where="reference")
            reference[model.q_slice(name)] = value
    return Constraints(model, constraints, reference=reference)


def _text(source: str | Path) -> tuple[str, str]:
    """The text, and the path it is from; ``""`` if the text itself is given."""
    text = str(source)
    if not isinstance(source, Path) and ("\n" in text or is_mjcf(text)):
        return text, ""
    try:
        return Path(source).read_text(encoding="utf-8"), text
    except (OSError, ValueError) as error:
        if isinstance(error, OSError):
            why = error.strerror
        elif isinstance(error, UnicodeDecodeError):
            why = "it is not text in UTF-8"
        else:
            why = "that is no name of a file"
        raise ArgumentError(
            f"cannot be read: {why}",
            where=text.encode(errors="replace").decode().replace("\0", "?"),
            got=text,
            remedy="Check the path and its permissions.",
        ) from None


# -- YAML ------------------------------------------------------------------------------------------


def _constraint(k: int, entry: object) -> Constraint:
    where = f"constraint {k + 1}"
    if not isinstance(entry, Mapping):
        raise ArgumentError("expected a mapping with type, name, a and b", where=where, got=entry)
    words = dict(entry)
    kind = words.pop("type", None)
    check_name("type of constraint", kind, tuple(ROWS), where=where)
    words.setdefault("name", f"{kind}_{k + 1}")
    make: Callable[..., Constraint] = getattr(made, f"{kind}_constraint")
    try:
        return make(**words)
    except TypeError as error:
        raise ArgumentError(
            str(error).split("() ")[-1],
            where=f"{where} ({words['name']})",
            got=entry,
            remedy="See docs/reference for the fields of each type.",
        ) from None


def _entries(text: str, where: str) -> tuple[list[object], Mapping[str, ArrayLike]]:
    yaml = optional_package("yaml", "files of constraints need", "load_constraints", "pyyaml")
    try:
        content = load_yaml(text, "files of constraints need", "load_constraints")
    except yaml.YAMLError as error:
        raise ArgumentError(
            f"is not YAML: {' '.join(str(error).split())}",
            where=where,
            remedy="Correct the line named; strings with colons need quotes.",
        ) from None
    good = isinstance(content, Mapping) and isinstance(content.get("constraints"), list)
    remedy = "constraints:\n  - {type: hinge, name: closure, a: link_a, b: link_b}"
    expect(good, "a list under 'constraints'", content, where, remedy)
    for key in content:
        check_name("key", key, ("constraints", "reference"), where=where)
    return content["constraints"], content.get("reference") or {}


# -- MJCF ------------------------------------------------------------------------------------------

# mjtJoint
_FREE_JOINT = 0
_SLIDE = 2
_HINGE = 3
# mjtObj, mjtWrap
_SITE = 6
_TENDON_JOINT = 1
_TENDON_SITE = 3
# mjtEq
_CONNECT, _WELD, _JOINT, _TENDON = range(4)
# m and rad by which a body's frame may differ from its link's, as decimals in files make them
_FRAMES_APART = 1e-4


class _Equalities:
    """Equality constraints as MuJoCo's compiler has read them, made constraints between links."""

    def __init__(self, model: RobotModel, text: str, path: str) -> None:
        self.model = model
        self.label = path or "MJCF text"
        self.mujoco, self.m = compile_mjcf(text, path)
        self.data = self.mujoco.MjData(self.m)
        self.q = model.neutral()
        self._to_neutral()

    def read(self) -> list[Constraint]:
        m = self.m
        constraints = []
        for e in range(m.neq):
            if m.eq_active0[e]:
                constraints += self._constraint(e, int(m.eq_type[e]), self._name("equality", e))
        return constraints

    def _name(self, kind: str, i: int) -> str:
        return mujoco_name(self.mujoco, self.m, kind, i)

    def _refused(self, name: str, why: str, remedy: str) -> ArgumentError:
        return ArgumentError(why, where=f"{self.label}, equality {name!r}", got=name, remedy=remedy)

    def _constraint(self, e: int, kind: int, name: str) -> list[Constraint]:
        m = self.m
        first = int(m.eq_obj1id[e])
        second = int(m.eq_obj2id[e])
        numbers: Array = np.array(m.eq_data[e], dtype=np.float64)
        if kind in (_CONNECT, _WELD):
            if int(m.eq_objtype[e]) == _SITE:
                (a, at_a), (b, at_b) = self._site(first), self._site(second)
            else:
                a = self._name("body", first)
                b = self._name("body", second)
                at_a = Pose(position=numbers[:3])
                at_b = Pose(position=numbers[3:6])
                # the anchor is body 2's, the relative pose is seen from body 1
                if kind == _WELD:
                    at_a = Pose(mujoco_rotation(numbers[6:10]), numbers[3:6])
                    at_b = Pose(position=numbers[:3])
            self._check_frames(name, a, b)
            points = {"point_a": at_a.position, "point_b": at_b.position}
            if kind == _CONNECT:
                return [made.point_constraint(name, a, b, **points)]
            return [made.weld_constraint(name, a, b, **points, rpy_a=at_a.rpy(), rpy_b=at_b.rpy())]
        if kind == _JOINT:
            return self._coupling(name, first, second, numbers)
        if kind == _TENDON:
            return self._tendon(name, first, second, numbers)
        raise self._refused(name, "bodies that bend are not read", "Take the element out.")

    def _coupling(
        self,
        name: str,
        follower: int,
        leader: int,
        numbers: Array,
    ) -> list[Constraint]:
        """q₁ − q₁₀ = c₀ + c₁ (q₂ − q₂₀)."""
        m = self.m
        b = self._joint(name, follower)
        offset = float(m.qpos0[m.jnt_qposadr[follower]] + numbers[0])
        if leader < 0:
            return [self._held(name, b, offset)]
        if numbers[2:5].any():
            raise self._refused(
                name,
                "joints are coupled by a polynomial of higher degree than one",
                "Only ratio and offset can be had: polycoef='c0 c1 0 0 0'.",
            )
        a = self._joint(name, leader)
        ratio = float(numbers[1])
        offset -= ratio * float(m.qpos0[m.jnt_qposadr[leader]])
        mimic = self.model.joint(b).mimic
        own = (ratio, offset)
        if (
            mimic is not None
            and mimic.joint == a
            and np.allclose((mimic.multiplier, mimic.offset), own, 1e-6, 1e-6)
        ):
            return []
        return [made.gear_constraint(name, a, b, ratio=ratio, offset=offset)]

    def _held(self, name: str, joint: str, position: float) -> Constraint:
        """A joint that stands still: its links are one body."""
        j = self.model.joint(joint)
        child = j.origin @ joint_pose(j, np.array([position]))
        zero = (0, 0, 0)
        return made.weld_constraint(
            name,
            j.parent,
            j.child,
            point_a=child.position,
            rpy_a=child.rpy(),
            point_b=zero,
            rpy_b=zero,
        )

    def _tendon(
        self,
        name: str,
        tendon: int,
        other: int,
        numbers: Array,
    ) -> list[Constraint]:
        m = self.m
        if other >= 0:
            raise self._refused(
                name, "two tendons are coupled", "Only the length of one tendon can be held."
            )
        parts = range(
            int(m.tendon_adr[tendon]), int(m.tendon_adr[tendon]) + int(m.tendon_num[tendon])
        )
        kinds = {int(m.wrap_type[k]) for k in parts}
        if len(parts) != 2 or kinds not in ({_TENDON_SITE}, {_TENDON_JOINT}):
            raise self._refused(
                name,
                f"its tendon {self._name('tendon', tendon)!r} passes over more than two sites or "
                "joints, or over a geom",
                "Only a straight line between two sites, or two joints, can be had.",
            )
        length = float(m.tendon_length0[tendon] + numbers[0])
        if kinds == {_TENDON_SITE}:
            (a, at_a), (b, at_b) = (self._site(int(m.wrap_objid[k])) for k in parts)
            self._check_frames(name, a, b)
            return [
                made.distance_constraint(
                    name, a, b, point_a=at_a.position, point_b=at_b.position, length=length
                )
            ]
        (a, c_a), (b, c_b) = (
            (self._joint(name, int(m.wrap_objid[k])), float(m.wrap_prm[k])) for k in parts
        )
        if c_b == 0.0:
            raise self._refused(
                name,
                f"joint {b!r} has no part in its tendon",
                "Give it a coefficient other than 0.",
            )
        return [made.gear_constraint(name, a, b, ratio=-c_a / c_b, offset=length / c_b)]

    def _joint(self, name: str, j: int) -> str:
        joint = self._name("joint", j)
        check_name(
            "joint", joint, self.model.moving_joint_names, where=f"{self.label}, equality {name!r}"
        )
        return joint

    def _site(self, i: int) -> tuple[str, Pose]:
        m = self.m
        return self._name("body", int(m.site_bodyid[i])), Pose(
            mujoco_rotation(m.site_quat[i]), np.array(m.site_pos[i])
        )

    def _to_neutral(self) -> None:
        """Move MuJoCo's joints to the model's neutral configuration: poses of links agree there."""
        m = self.m
        model = self.model
        data = self.data
        for j in range(m.njnt):
            name = self._name("joint", j)
            address = int(m.jnt_qposadr[j])
            if name not in model.moving_joint_names:
                continue
            i = model.body_index(name)
            kind = model.joint(name).type
            if int(m.jnt_type[j]) == _FREE_JOINT and kind is JointType.FLOATING:
                data.qpos[address : address + 7] = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
            elif int(m.jnt_type[j]) in (_SLIDE, _HINGE) and kind.nq == 1:
                data.qpos[address] = (
                    model.mimic_multiplier[i] * self.q[model.q_index[i]] + model.mimic_offset[i]
                )
        self.mujoco.mj_kinematics(m, data)

    def _check_frames(self, name: str, a: str, b: str) -> None:
        """Points are given in the frames of bodies, so these must be the links'."""
        ours = []
        theirs = []
        for body in (a, b):
            if body != WORLD:
                check_name(
                    "link", body, self.model.link_names, where=f"{self.label}, equality {name!r}"
                )
            ours.append(np.eye(4) if body == WORLD else link_pose(self.model, self.q, body))
            placed = np.eye(4)
            placed[:3, :3] = self.data.body(body).xmat.reshape(3, 3)
            placed[:3, 3] = self.data.body(body).xpos
            theirs.append(placed)
        one, other = (np.linalg.inv(x) @ y for x, y in (ours, theirs))
        apart = np.abs(one - other).max()
        if apart > _FRAMES_APART:
            raise self._refused(
                name,
                f"seen from {a!r}, body {b!r} is not where the link {b!r} is: they differ by "
                f"{apart:.3g} m or rad",
                "Write the constraint in YAML, with points in the frames of the URDF's links.",
            )
