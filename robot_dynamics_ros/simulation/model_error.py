"""Models with intended errors: for a controller with a wrong model, or a robot that differs from
its description.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from robot_dynamics_ros.errors import ArgumentError, check_name
from robot_dynamics_ros.model.description import Inertia, Joint, Link
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.per_joint import generator

Factor = float | Mapping[str, float]


def robot_model_error(
    model: RobotModel,
    *,
    mass: Factor = 1.0,
    com: Factor = 1.0,
    inertia: Factor = 1.0,
    damping: Factor = 1.0,
    friction: Factor = 1.0,
    armature: Factor = 1.0,
) -> RobotModel:
    """The robot with its parameters multiplied.  Each factor is one number, or a mapping of names
    (others 1).

    Args:
        model: the robot.
        mass: factor of link masses (by link name); rotational inertias about the centre of mass
            scale along.
        com: factor of the distance of the centres of mass from their link's origin.
        inertia: further factor of the rotational inertias about the centre of mass.
        damping, friction, armature: factors by joint name.

    Raises:
        ArgumentError: a factor that is negative or not finite.
        UnknownNameError: a name the robot does not have.

    >>> import robot_dynamics_ros as rd
    >>> rd.robot_model_error(rd.limb(3), mass=1.1).total_mass / rd.limb(3).total_mass
    1.1
    """
    links = tuple(link.name for link in model.description.links)
    joints = tuple(joint.name for joint in model.description.joints)
    m, c, i = (
        _factors(f, links, "link", w)
        for f, w in ((mass, "mass"), (com, "com"), (inertia, "inertia"))
    )
    of_joints = {"damping": damping, "friction": friction, "armature": armature}
    factors = {word: _factors(f, joints, "joint", word) for word, f in of_joints.items()}
    factors["rotor_inertia"] = factors["armature"]

    def changed_link(link: Link) -> Link:
        old = link.inertia
        new = Inertia(
            m[link.name] * old.mass,
            c[link.name] * old.com,
            m[link.name] * i[link.name] * old.rotational,
        )
        return dataclasses.replace(link, inertia=new)

    def changed_joint(joint: Joint) -> Joint:
        return dataclasses.replace(
            joint, **{w: f[joint.name] * getattr(joint, w) for w, f in factors.items()}
        )

    description = dataclasses.replace(
        model.description,
        links=tuple(changed_link(link) for link in model.description.links),
        joints=tuple(changed_joint(joint) for joint in model.description.joints),
        source="",
    )
    return model.replace(description=description)


def random_model_error(
    model: RobotModel,
    seed: int | np.random.Generator,
    *,
    mass: float = 0.0,
    com: float = 0.0,
    inertia: float = 0.0,
    damping: float = 0.0,
    friction: float = 0.0,
    armature: float = 0.0,
) -> RobotModel:
    """A random variation of a robot: every parameter times exp(s z), z standard normal, s its
    spread.

    Args:
        model: the robot.
        seed: seed or generator.
        mass, com, inertia, damping, friction, armature: spreads s; 0.1 is about ten percent.
    """
    rng = generator(seed)
    factors: dict[str, Factor] = {}
    spreads = dict(
        mass=mass, com=com, inertia=inertia, damping=damping, friction=friction, armature=armature
    )
    for word, spread in spreads.items():
        if not 0.0 <= spread < 10.0:
            raise ArgumentError("must be a spread of at least 0", where=word, got=spread)
        of_links = word in ("mass", "com", "inertia")
        names = [
            x.name for x in (model.description.links if of_links else model.description.joints)
        ]
        factors[word] = dict(
            zip(names, np.exp(spread * rng.standard_normal(len(names))).tolist(), strict=True)
        )
    return robot_model_error(model, **factors)


def _factors(
    factor: Factor,
    names: tuple[str, ...],
    kind: str,
    word: str,
) -> dict[str, float]:
    if isinstance(factor, Mapping):
        factors = factor
    else:
        factors = dict.fromkeys(names, factor)
    for name, value in factors.items():
        check_name(kind, name, names, where=f"model error of {word}")
        if not (np.isfinite(value) and value >= 0.0):
            problem = "a factor must be finite and not negative"
            remedy = "1 leaves the figure as it is."
            raise ArgumentError(problem, where=f"model error of {word}", got=value, remedy=remedy)
    return {name: float(factors.get(name, 1.0)) for name in names}
