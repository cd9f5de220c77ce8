"""From whatever a URDF holds to what dynamics needs: links, inertias, joints, in a form that cannot
surprise.

Descriptions in the field carry meshes, sensors, transmissions, simulator extensions and odd
attributes; parsers trip over them although the mechanics is sound.  Here everything else is left
out, what is kept is checked with the line it stands on, and elements nobody knows (a misspelt
``<inertial>``, say) are reported instead of vanishing.
"""

from __future__ import annotations

import difflib
import itertools
import math
from typing import Any
from xml.etree import ElementTree

from robot_dynamics_ros.errors import UrdfError
from robot_dynamics_ros.model.description import Coupling, JointType
from robot_dynamics_ros.model.urdf_origin import NEWEST_VERSION, rotation_of_origin, urdf_version
from robot_dynamics_ros.model.xml_guard import MAX_BYTES, Node, parse_xml

JOINT_TYPES = {kind.name.lower(): kind for kind in JointType}

_INERTIA = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
# Limits that URDF has from 1.2 on.  They are read in every version: a limit is stricter, never
# wrong.
RATES = ("acceleration", "deceleration", "jerk")
_SOFT = ("soft_lower_limit", "soft_upper_limit")
_TRANSMISSION_COUPLING = ("ratio", "damping", "friction", "armature", "width")
_PLACE = {"xyz": ("vector", False), "rpy": ("vector", False)}

# element → attribute → (kind, required); kinds: text, joint type, number, limit (may be infinite),
# vector
_ATTRIBUTES: dict[str, dict[str, tuple[str, bool]]] = {
    "robot": {"name": ("text", False)},
    "link": {"name": ("text", True)},
    "joint": {"name": ("text", True), "type": ("joint type", True)},
    "inertial": {},
    # as Drake has it
    "frame": {"name": ("text", True), "link": ("text", True), **_PLACE},
    # and quat_xyzw, which is kept as rpy
    "origin": _PLACE,
    "mass": {"value": ("number", True)},
    "inertia": {name: ("number", True) for name in _INERTIA},
    "parent": {"link": ("text", True)},
    "child": {"link": ("text", True)},
    "axis": {"xyz": ("vector", True)},
    "limit": {
        name: ("limit", name in ("effort", "velocity"))
        for name in ("effort", "velocity", "lower", "upper", *RATES)
    },
    "dynamics": {"damping": ("number", False), "friction": ("number", False)},
    "mimic": {
        "joint": ("text", True),
        "multiplier": ("number", False),
        "offset": ("number", False),
    },
    # our own
    "coupling": {
        "joint": ("text", True),
        **dict.fromkeys(_TRANSMISSION_COUPLING, ("number", False)),
    },
}
_JOINT_CHILDREN = (
    "origin",
    "parent",
    "child",
    "axis",
    "limit",
    "dynamics",
    "mimic",
    "coupling",
    "safety_controller",
)
_URDF_SCHEMA: dict[str, dict[str, Any]] = {
    "robot": {
        "link": {"inertial": {"origin": {}, "mass": {}, "inertia": {}}},
        "joint": {tag: {} for tag in _JOINT_CHILDREN},
        "frame": {},
        "ros2_control": {"joint": {"state_interface": {"param": {}}}},
        "transmission": {
            "joint": {},
            "actuator": {"drake:rotor_inertia": {}, "drake:gear_ratio": {}},
        },
    }
}
_REQUIRED = {"inertial": ("mass", "inertia"), "joint": ("parent", "child")}
# Elements that belong where they are and say nothing about dynamics.
_HARMLESS = {
    "robot": "material gazebo sensor group mujoco loop_joint self_collision_checking",
    "link": "visual collision contact self_collision_checking collision_checking self_filter "
    "sensor surface gravity kinematic "
    "material gazebo capsule audio",
    "joint": "calibration hardwareInterface physics sensor gazebo",
}
_URDF_NO_LIMIT = 1e300


def _without_blanks(data: bytes | str) -> tuple[bytes | str, bool]:
    """The document from its first ``<`` on, and whether something that XML does not allow there
    stood before it.
    """
    if isinstance(data, str):
        text = data.lstrip("\ufeff \t\r\n")
        return text, text.startswith("<?xml") and len(text) < len(data.lstrip("\ufeff"))
    # UTF-16: the mark says which
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data, False
    bare = data.removeprefix(b"\xef\xbb\xbf")
    short = bare.lstrip(b" \t\r\n")
    return short, short.startswith(b"<?xml") and len(short) < len(bare)


class CleanUrdf:
    """A URDF reduced to mechanics, from ``data`` parsed under guard.

    Attributes:
        text: URDF text that holds only links, inertias and joints, checked.
        link_lines, joint_lines: line of each, in order.
        armature: joint name → reflected rotor inertia, from ``<drake:rotor_inertia>``.
        couplings: joint name → motor that turns with a neighbour, from ``<coupling>``.
        rates: joint name → limits of :data:`RATES`, those that are given.
        soft_limits: joint name → lower and upper, from ``<safety_controller>``.
        initial_positions: joint name → position, from ``<ros2_control>``.
        findings: what was odd, one sentence each.
    """

    def __init__(
        self,
        data: bytes | str,
        *,
        source: str = "URDF text",
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self.source = source
        self.link_lines: list[int] = []
        self.joint_lines: list[int] = []
        self.armature: dict[str, float] = {}
        self.couplings: dict[str, Coupling] = {}
        self.rates: dict[str, dict[str, float]] = {}
        self.soft_limits: dict[str, tuple[float, float]] = {}
        self.initial_positions: dict[str, float] = {}
        self.findings: list[str] = []
        data, blanks = _without_blanks(data)
        if blanks:
            self.findings.append("blanks before the XML declaration are ignored")
        root = parse_xml(
            data, _URDF_SCHEMA, source=self.source, max_bytes=max_bytes, on_skipped=self.skipped
        )
        name = root.attributes.get("name", "")
        if not name.strip():
            self.findings.append("the robot has no name; it is called 'unnamed'")
            name = "unnamed"
        self.version = urdf_version(root)
        if self.version > NEWEST_VERSION:
            self.findings.append(
                f"the description says URDF {root.attributes['version'].strip()}; "
                f"{'.'.join(map(str, NEWEST_VERSION))} is the newest known here"
            )
        robot = ElementTree.Element("robot", {"name": name})
        for node in root.children:
            if node.tag in ("link", "joint"):
                self.copy(node, robot, f"{node.tag} {node.attributes.get('name', '')!r}")
                (self.link_lines if node.tag == "link" else self.joint_lines).append(node.line)
            elif node.tag == "frame":
                self.add_frame(node, robot)
            elif node.tag == "ros2_control":
                self.read_initial_positions(node)
            else:
                self.read_armature(node)
        self.text = ElementTree.tostring(robot, encoding="unicode")

    # -- copying what is kept ----------------------------------------------------------------------

    def copy(self, node: Node, parent: ElementTree.Element, owner: str) -> None:
        where = self.where(node, owner)
        element = ElementTree.SubElement(parent, node.tag)
        kinds = _ATTRIBUTES[node.tag]
        for name, (kind, required) in kinds.items():
            if name not in node.attributes:
                if required:
                    element.set(name, self.default(node, parent, name, where))
                continue
            element.set(name, self.value(node.attributes[name], kind, f"{where} {name}"))
        if node.tag == "origin" and "quat_xyzw" in node.attributes:
            self.quaternion(node, element, where)
        for name in node.attributes.keys() - kinds.keys():
            near = difflib.get_close_matches(name, kinds, n=1, cutoff=0.8)
            if near:
                self.findings.append(
                    f"{where}: attribute {name!r} is unknown and ignored; is {near[0]!r} meant?"
                )
        line_of: dict[str, int] = {}
        for child in node.children:
            # urdfdom, and all that is built on it, asks for the first child of a name
            if child.tag in line_of:
                self.findings.append(
                    f"{self.where(child, owner)}: a second <{child.tag}> is ignored; the first, "
                    "on line "
                    f"{line_of[child.tag]}, counts"
                )
                continue
            line_of[child.tag] = child.line
            if child.tag == "safety_controller":
                self.read_soft_limits(child, node.attributes.get("name", ""))
                continue
            if not (node.tag == "joint" and self.superfluous(node, child)):
                self.copy(child, element, owner)
                # which no other parser knows
                if child.tag == "coupling":
                    values = element[-1].attrib
                    numbers = {
                        name: float(value) for name, value in values.items() if name != "joint"
                    }
                    self.couplings[node.attributes["name"]] = Coupling(values["joint"], **numbers)
                    element.remove(element[-1])
                elif child.tag == "limit":
                    values = element[-1].attrib
                    self.rates[node.attributes["name"]] = {
                        name: float(values.pop(name)) for name in RATES if name in values
                    }
        for tag in _REQUIRED.get(node.tag, ()):
            if tag in line_of:
                continue
            if tag != "inertia":
                raise UrdfError(f"<{tag}> is missing", where=where, remedy=self.example(tag))
            self.findings.append(f"{where}: <inertia> is missing; the mass counts as a point")
            ElementTree.SubElement(element, "inertia", dict.fromkeys(_INERTIA, "0"))

    def quaternion(self, node: Node, element: ElementTree.Element, where: str) -> None:
        """The orientation in the angles that every parser knows."""
        try:
            pose = rotation_of_origin(node.attributes, self.version)
        except ValueError as error:
            raise UrdfError(
                str(error),
                where=where,
                got=node.attributes["quat_xyzw"],
                remedy='No rotation is quat_xyzw="0 0 0 1".',
            ) from None
        if pose is None:
            self.findings.append(
                f"{where}: quat_xyzw is ignored, as other parsers do: it needs <robot "
                'version="1.1"> or later'
            )
        else:
            element.set("rpy", " ".join(map(repr, pose.rpy())))

    def default(
        self,
        node: Node,
        parent: ElementTree.Element,
        name: str,
        where: str,
    ) -> str:
        """Default of a missing attribute, reported; an error if there is none."""
        # an effort or a velocity
        if node.tag == "limit":
            if parent.get("type") in ("revolute", "prismatic"):
                self.findings.append(
                    f"{where}: attribute {name!r} is missing; no {name} limit is assumed"
                )
            return "inf"
        if node.tag == "inertia" and name in ("ixy", "ixz", "iyz"):
            self.findings.append(f"{where}: attribute {name!r} is missing; it counts as zero")
            return "0"
        raise UrdfError(
            f"attribute {name!r} is missing", where=where, remedy=self.example(node.tag)
        )

    @staticmethod
    def superfluous(joint: Node, child: Node) -> bool:
        """Elements without meaning at fixed and floating joints; they need not be well formed."""
        kind = joint.attributes.get("type")
        return (
            kind == "fixed" and child.tag in ("axis", "limit", "dynamics", "mimic", "coupling")
        ) or (kind == "floating" and child.tag in ("axis", "mimic", "coupling"))

    def value(self, text: str, kind: str, where: str) -> str:
        if kind == "text":
            if not text.strip():
                raise UrdfError("it is empty", where=where, got=text, remedy="Give a name.")
            return text
        if kind == "joint type":
            if text not in JOINT_TYPES:
                remedy = f"The types of URDF are {', '.join(JOINT_TYPES)}."
                raise UrdfError(
                    f"unknown joint type {text!r}", where=where.removesuffix(" type"), remedy=remedy
                )
            return text
        if kind == "vector":
            parts = text.split()
            if len(parts) != 3:
                remedy = 'Separate them by spaces, as in "0 0 1".'
                raise UrdfError(f"expected three numbers, got {text!r}", where=where, remedy=remedy)
            return " ".join(self.value(part, "number", where) for part in parts)
        number = self.number(text, where)
        if kind == "limit" and not math.isnan(number):
            if abs(number) >= _URDF_NO_LIMIT:
                return repr(math.copysign(math.inf, number))
            return repr(number)
        if not math.isfinite(number):
            raise UrdfError(
                f"{text!r} is not a finite number", where=where, remedy="Give a finite number."
            )
        return repr(number)

    @staticmethod
    def number(text: str, where: str) -> float:
        try:
            # Python reads 1_000 and the digits of all alphabets
            if "_" in text or not text.isascii():
                raise ValueError
            return float(text)
        except ValueError:
            if "," in text:
                remedy = "Write decimals with a point, and blanks between numbers."
            else:
                remedy = "Give a number."
            if not text.isascii():
                remedy = "Write it with the digits 0 to 9."
            if "${" in text or "$(" in text:
                remedy = (
                    "This is a xacro expression: expand the file with `xacro`, or load it as a "
                    ".xacro file."
                )
            raise UrdfError(f"{text!r} is not a number", where=where, remedy=remedy) from None

    def read_soft_limits(self, node: Node, joint: str) -> None:
        """Both limits of a ``<safety_controller>``; what is no interval is named and left out."""
        words = [node.attributes.get(name) for name in _SOFT]
        if None in words:
            return
        where = self.where(node, f"joint {joint!r}")
        try:
            lower, upper = (self.number(str(word), where) for word in words)
        except UrdfError as error:
            self.findings.append(f"{where}: {error.problem}; the soft limits are ignored")
            return
        # 0 and 0 stand for none
        if lower < upper:
            self.soft_limits[joint] = (lower, upper)
        elif lower != upper or lower != 0.0:
            self.findings.append(
                f"{where}: soft limits {lower:g} to {upper:g} are no interval; they are ignored"
            )

    # -- extensions that are read ------------------------------------------------------------------

    def read_initial_positions(self, control: Node) -> None:
        for joint in control.all("joint"):
            name = joint.attributes.get("name", "")
            interfaces = [
                x for x in joint.all("state_interface") if x.attributes.get("name") == "position"
            ]
            for param in itertools.chain.from_iterable(
                interface.all("param") for interface in interfaces
            ):
                if param.attributes.get("name") == "initial_value":
                    where = self.where(param, f"<ros2_control> joint {name!r}")
                    position = self.number(param.text.strip(), where)
                    if not math.isfinite(position):
                        raise UrdfError(
                            "it is not finite",
                            where=where,
                            got=position,
                            remedy="Give a finite number.",
                        )
                    self.initial_positions[name] = position

    def add_frame(self, node: Node, robot: ElementTree.Element) -> None:
        """A named frame is a link without mass, fixed to another."""
        place = ElementTree.Element("places")
        self.copy(node, place, f"frame {node.attributes.get('name', '')!r}")
        frame = place[0].attrib
        ElementTree.SubElement(robot, "link", {"name": frame["name"]})
        joint = ElementTree.SubElement(
            robot, "joint", {"name": f"{frame['name']}_joint", "type": "fixed"}
        )
        ElementTree.SubElement(
            joint, "origin", {key: frame[key] for key in ("xyz", "rpy") if key in frame}
        )
        ElementTree.SubElement(joint, "parent", {"link": frame["link"]})
        ElementTree.SubElement(joint, "child", {"link": frame["name"]})
        self.link_lines.append(node.line)
        self.joint_lines.append(node.line)

    def read_armature(self, transmission: Node) -> None:
        joints = transmission.all("joint")
        total = 0.0
        for actuator in transmission.all("actuator"):
            values = {}
            for child in actuator.children:
                where = self.where(
                    child, f"transmission {transmission.attributes.get('name', '')!r}"
                )
                value = self.number(child.attributes.get("value", ""), where)
                if not math.isfinite(value) or (child.tag == "drake:rotor_inertia" and value < 0.0):
                    raise UrdfError(
                        f"{value!r} is not possible", where=where, remedy="Give a finite number."
                    )
                values[child.tag] = value
            ratio = values.get("drake:gear_ratio", 1.0)
            # overflows to infinity, where ** raises
            total += ratio * ratio * values.get("drake:rotor_inertia", 0.0)
        if not math.isfinite(total):
            raise UrdfError(
                "rotor inertia and gear ratio give more armature than a number can hold",
                where=self.where(
                    transmission, f"transmission {transmission.attributes.get('name', '')!r}"
                ),
                got=total,
                remedy="Correct the numbers: kg m^2, and turns of the motor for one of the joint.",
            )
        if total > 0.0 and len(joints) == 1:
            name = joints[0].attributes.get("name", "")
            self.armature[name] = self.armature.get(name, 0.0) + total
        elif total > 0.0:
            self.findings.append(
                f"{self.where(transmission, 'robot')}: rotor inertia is ignored, since not one "
                "joint alone is driven"
            )

    # -- what is passed over -----------------------------------------------------------------------

    def skipped(self, ancestors: tuple[Node, ...], tag: str, line: int) -> None:
        if tag.startswith("xacro:"):
            remedy = (
                "Expand the file with `xacro FILE > robot.urdf`, or give load_urdf the path of "
                "the .xacro file."
            )
            raise UrdfError(
                f"<{tag}> is xacro, not URDF", where=f"{self.source}, line {line}", remedy=remedy
            )
        schema = _URDF_SCHEMA
        for node in ancestors:
            if node.tag in ("ros2_control", "transmission"):
                # others' business
                return
            schema = schema[node.tag]
        parent = ancestors[-1]
        if tag in _HARMLESS.get(parent.tag, "").split() or ":" in tag:
            return
        owner = next((n for n in reversed(ancestors) if n.tag in ("link", "joint")), ancestors[0])
        near = difflib.get_close_matches(tag, schema, n=1, cutoff=0.7)
        hint = f"; is <{near[0]}> meant?" if near else ""
        inside = "" if parent is owner else f" <{parent.tag}>"
        self.findings.append(
            f"{owner.tag} {owner.attributes.get('name', '')!r}{inside} (line {line}): "
            f"element <{tag}> is unknown and ignored{hint}"
        )

    def where(self, node: Node, owner: str) -> str:
        if node.tag in ("link", "joint") and node.attributes.get("name"):
            part = ""
        else:
            part = f" <{node.tag}>"
        return f"{owner}{part} (line {node.line})"

    @staticmethod
    def example(tag: str) -> str:
        values = {
            "text": "NAME",
            "joint type": "revolute",
            "number": "0.1",
            "limit": "1.5",
            "vector": "0 0 1",
        }
        attributes = " ".join(
            f'{name}="{values[kind]}"' for name, (kind, _) in _ATTRIBUTES[tag].items()
        )
        return f"Write it like <{tag} {attributes}/>."
