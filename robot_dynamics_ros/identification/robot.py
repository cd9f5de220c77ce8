"""A robot with other parameters: the model, and its URDF with everything else left as it is."""

from __future__ import annotations

import dataclasses
import io
import warnings
from typing import Any
from xml.etree import ElementTree

import numpy as np

from robot_dynamics_ros.dynamics.parameters import inertial_parameters
from robot_dynamics_ros.errors import ModelError, ModelWarning, RobotDynamicsError, level_of_caller
from robot_dynamics_ros.identification.consistent import is_consistent
from robot_dynamics_ros.identification.effort_parameters import EffortParameters
from robot_dynamics_ros.model.description import Array, Inertia, Joint, JointType, Link, Pose
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.model.to_urdf import add_inertial, to_urdf
from robot_dynamics_ros.model.urdf import load_urdf
from robot_dynamics_ros.model.xml_guard import decoded


def _inertias_of_links(parameters: EffortParameters, values: Array) -> dict[str, Inertia]:
    """Link → its inertia, of those that the parameters change."""
    model = parameters.model
    inertias: dict[str, Inertia] = {}
    bodies = values[parameters.bodies].reshape(-1, 10)
    for b, joint in enumerate(model.moving_joint_names):
        first = model.joint(joint).child
        others = [
            i
            for i, name in enumerate(model.link_names)
            if model.link_body[i] == b and name != first
        ]
        known = {i: model.link(model.link_names[i]).inertia for i in others}
        fixed = np.zeros(10)
        for i, body in known.items():
            fixed += _parameters(
                body.in_parent(Pose(model.link_rotation[i], model.link_position[i]))
            )
        if others:
            share = _share_kept(bodies[b], fixed)
        else:
            share = 1.0
        if share < 1.0:
            for i, body in known.items():
                inertias[model.link_names[i]] = Inertia(
                    share * body.mass, body.com, share * body.rotational
                )
        inertias[first] = _inertia(bodies[b] - share * fixed)
    return inertias


def with_parameters(parameters: EffortParameters, values: Array) -> RobotModel:
    """The robot of ``parameters`` with these values (p,), which are consistent.

    A body of several links: those fixed to the first keep what is known of them if the first can
    then exist; otherwise they keep as large a share of it as lets the first exist. Offsets have no
    place in a model.
    """
    model = parameters.model
    inertias = _inertias_of_links(parameters, values)
    words = {"viscous": "damping", "coulomb": "friction", "armature": "armature"}

    def joint_with(joint: Joint) -> Joint:
        if joint.name in model.joint_names:
            j = model.joint_names.index(joint.name)
        else:
            j = -1
        if j < 0 and (joint.mimic is None or max(model.mimic_master) < 0):
            return joint

        def own(name: str) -> float:
            index = parameters.index(j, name)
            # a mimic's master has it all
            if index >= 0:
                return max(float(values[index]), 0.0)
            return 0.0

        changes: dict[str, Any] = {
            words[kind]: own(kind) for kind in parameters.kinds if kind in words
        }
        if j >= 0 and "armature" in changes:
            # identified together with the armature
            changes["rotor_inertia"] = 0.0
        elif j >= 0:
            changes["armature"] = joint.armature + own("rotor")
        if joint.coupling is not None and j >= 0:
            damping = own("coupled_viscous")
            friction = own("coupled_coulomb")
            changes["coupling"] = dataclasses.replace(
                joint.coupling, damping=damping, friction=friction
            )
        return dataclasses.replace(joint, **changes)

    description = dataclasses.replace(
        model.description,
        links=tuple(
            Link(link.name, inertias.get(link.name, link.inertia))
            for link in model.description.links
        ),
        joints=tuple(joint_with(joint) for joint in model.description.joints),
        source="",
    )
    return model.replace(description=description)


def _share_kept(body: Array, fixed: Array) -> float:
    """Largest share of ``fixed`` (10,), from 0 to 1, that leaves the rest of ``body`` (10,) a
    body.
    """
    if bool(is_consistent(body - fixed, 1e-6)):
        return 1.0
    low = 0.0
    high = 1.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (
            (middle, high) if bool(is_consistent(body - middle * fixed, 1e-6)) else (low, middle)
        )
    return 0.9 * low


def _parameters(body: Inertia) -> Array:
    I = body.about_origin()  # noqa: E741 - the book's name
    return np.concatenate(
        [[body.mass], body.mass * body.com, I[[0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]]
    )


def _inertia(p: Array) -> Inertia:
    m = float(p[0])
    c = p[1:4] / p[0]
    I = np.array([[p[4], p[5], p[6]], [p[5], p[7], p[8]], [p[6], p[8], p[9]]])  # noqa: E741
    return Inertia(m, c, I - m * (c @ c * np.eye(3) - np.outer(c, c)))


def released(model: RobotModel, original: RobotModel) -> RobotModel:
    """``original`` with the figures of ``model``, which is the same robot with some joints locked.

    Where bodies cannot be distinguished again, ``model`` itself: the locked joints are then fixed.
    """
    links = {link.name: link for link in model.description.links}
    joints = {joint.name: joint for joint in model.description.joints}

    def joint_with(joint: Joint) -> Joint:
        new = joints[joint.name]
        if new.type is not joint.type:
            return joint
        words = ("damping", "friction", "armature", "rotor_inertia")
        return dataclasses.replace(joint, **{word: getattr(new, word) for word in words})

    description = dataclasses.replace(
        original.description,
        links=tuple(links[link.name] for link in original.description.links),
        joints=tuple(joint_with(joint) for joint in original.description.joints),
        source="",
    )
    try:
        return original.replace(description=description)
    except ModelError:
        return model


def urdf_of(model: RobotModel, source: str = "") -> str:
    """URDF text of a model, which loads as the same robot; rotor inertias have no place in it.

    Args:
        source: the URDF that the model was made from: all else in it (meshes, limits,
            transmissions, comments) is kept.  Where that cannot be, a
            :class:`~robot_dynamics_ros.errors.ModelWarning` says so.
    """
    if source:
        try:
            text = _edited(model, source)
            joints = model.description.joints
            added = any(j.type is JointType.FLOATING and f'"{j.name}"' not in text for j in joints)
            check = model.description.inertia_check
            gravity = model.gravity.tolist()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ModelWarning)
                again = load_urdf(text, gravity=gravity, inertia_check=check, floating_base=added)
            if _alike(model, again):
                return text
            problem = "the result would not be the same robot"
        except (ElementTree.ParseError, RobotDynamicsError, UnicodeError) as error:
            problem = str(error)
        warnings.warn(
            f"robot {model.name!r}: what only the original URDF holds (meshes, limits, "
            "transmissions) is left out of the "
            f"new one: {problem}",
            ModelWarning,
            stacklevel=level_of_caller(),
        )
    return to_urdf(model)


def _alike(one: RobotModel, two: RobotModel) -> bool:
    if one.link_names != two.link_names or one.joint_names != two.joint_names:
        return False
    a, b = (np.concatenate([inertial_parameters(m), m.damping, m.friction]) for m in (one, two))
    return np.allclose(a, b, rtol=1e-9, atol=1e-12)


def _edited(model: RobotModel, source: str) -> str:
    # the source has passed the reader, which refuses document type declarations
    text = decoded(source)
    assert isinstance(text, str)
    source = text
    for _, (prefix, address) in ElementTree.iterparse(
        io.BytesIO(source.encode()), events=("start-ns",)
    ):
        if prefix and not prefix.startswith("ns"):
            ElementTree.register_namespace(prefix, address)
    parser = ElementTree.XMLParser(target=ElementTree.TreeBuilder(insert_comments=True))
    root = ElementTree.fromstring(source.encode(), parser)
    _leave_namespace(root)
    links = {link.name: link.inertia for link in model.description.links}
    joints = {joint.name: joint for joint in model.description.joints}
    for element in root.findall("link"):
        _edit_link(element, links[element.get("name", "")])
    for element in root.findall("joint"):
        joint = joints[element.get("name", "")]
        old = element.find("dynamics")
        if joint.damping or joint.friction or old is not None:
            if old is None:
                dynamics = ElementTree.SubElement(element, "dynamics")
            else:
                dynamics = old
            dynamics.tail = dynamics.tail or "\n    "
            dynamics.set("damping", repr(float(joint.damping)))
            dynamics.set("friction", repr(float(joint.friction)))
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        + ElementTree.tostring(root, encoding="unicode")
        + "\n"
    )


def _leave_namespace(root: ElementTree.Element) -> None:
    """Take the document's default namespace from its elements: URDF has none."""
    namespace, closing, _ = root.tag.rpartition("}")
    if not closing:
        return
    for element in root.iter():
        # comments have a function in place of a tag
        if isinstance(element.tag, str):
            element.tag = element.tag.removeprefix(namespace + closing)


def _edit_link(element: ElementTree.Element, inertia: Inertia) -> None:
    old = element.find("inertial")
    place, tail = (0, "\n    ") if old is None else (list(element).index(old), old.tail)
    if old is not None:
        element.remove(old)
    if inertia.mass != 0.0 or inertia.rotational.any():
        add_inertial(element, inertia)
        inertial = element[-1]
        element.remove(inertial)
        element.insert(place, inertial)
        ElementTree.indent(inertial, level=2)
        inertial.tail = tail
