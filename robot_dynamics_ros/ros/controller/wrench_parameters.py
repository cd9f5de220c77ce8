"""The controller's parameters about wrenches beside those of ``joint_wrenches``: parts, fixed joints, tool flange."""

from __future__ import annotations

from robot_dynamics_ros.control.flange import CONTACTS
from robot_dynamics_ros.ros.transport.parameters import Param

_CONFIGURE = "at the next configure"

#: parameter value → what the control core calls it
ACCELERATION_SOURCES = {
    "commanded": "commanded",
    "model": "measured_effort",
    "differentiated": "differentiated",
    "reference": "reference",
}

# fmt: off
WRENCH_PARAMETERS = (
    Param("joint_wrenches.rate_divisor", 1,
        "Publish joint wrenches, their parts and the flange wrench with every this-many-th joint state.", lower=1,
        upper=100000),
    Param("joint_wrenches.acceleration_source", "commanded",
        "Acceleration the wrenches are computed with: what the commanded effort gives by the model, what the measured "
        "effort gives by the model, the filtered derivative of the measured velocity, or the reference's.",
        choices=tuple(ACCELERATION_SOURCES), applies=_CONFIGURE),
    Param("joint_wrenches.differentiation_cutoff", 30.0,
        "Cut-off frequency of the differentiated velocity; its delay is 1 / (2 pi cut-off) and half a period of the "
        "joint states.", unit="Hz", lower=0.1, upper=10000.0, applies=_CONFIGURE),
    Param("joint_wrenches.fixed_joints", (),
        "Fixed joints to publish wrenches of as well: names or patterns with * and ?.", applies=_CONFIGURE),
    Param("wrench_parts.joints", (),
        "Joints to publish the parts of the balance of wrenches of, on ~/wrench_parts/<joint>/<part>: names or "
        "patterns, fixed joints too.", applies=_CONFIGURE),
    Param("wrench_parts.observer", "",
        "The link (or 'world') from which the parts are seen and in whose axes they are; empty: the link before each "
        "joint.", applies=_CONFIGURE),
    Param("flange.joint", "",
        "Joint at which ~/wrench is read as by a force/torque sensor, usually the fixed joint of the tool; empty: "
        "none.", applies=_CONFIGURE),
    Param("flange.frame", "",
        "Link about whose origin and in whose axes ~/wrench is; empty: the child link of the joint.",
        applies=_CONFIGURE),
    Param("flange.subtract_gravity_and_inertia", False,
        "Subtract weight and inertia of everything beyond the joint from ~/wrench, so that what the surroundings press "
        "on it remains.", applies=_CONFIGURE),
    Param("flange.contact", "estimated",
        "Source of the contact beyond the flange: estimated from the efforts that the model does not explain, or the "
        "known external wrenches.", choices=CONTACTS, applies=_CONFIGURE),
    Param("flange.observer_gain", 50.0, "Gain of the momentum observer that estimates it; its delay is the inverse.",
        unit="1/s", lower=0.1, upper=10000.0, applies=_CONFIGURE),
)
# fmt: on
