"""Identification: from recorded motion to inertias that can exist, to friction, and to their
confidence intervals.
"""

from robot_dynamics_ros.identification.comparison import (
    Comparison,
    Estimates,
    Validation,
    compare,
    compare_estimators,
    validate,
)
from robot_dynamics_ros.identification.effort_parameters import FrictionTerms, effort_regressor
from robot_dynamics_ros.identification.excitation import (
    DesignSettings,
    Excitation,
    design_excitation,
)
from robot_dynamics_ros.identification.floating_base import SegmentIdentification, identify_segments
from robot_dynamics_ros.identification.identify import (
    Identification,
    IdentificationSettings,
    identify,
    identify_each,
    identify_recordings,
)
from robot_dynamics_ros.identification.least_squares import PoorExcitation
from robot_dynamics_ros.identification.payload import (
    PayloadEstimate,
    estimate_payload,
    estimate_payload_at_rest,
    payload_motion,
)
from robot_dynamics_ros.identification.report import (
    findings,
    friction_file,
    plot_identification,
    plot_joint,
    report_html,
    report_json,
    report_text,
)
from robot_dynamics_ros.identification.torque_constants import (
    KnownLoad,
    TorqueConstants,
    find_torque_constants,
)
from robot_dynamics_ros.model.published import publish
from robot_dynamics_ros.recordings.plausible_motion import Implausible

__all__ = [
    "identify",
    "identify_recordings",
    "identify_each",
    "Identification",
    "IdentificationSettings",
    "report_text",
    "report_json",
    "report_html",
    "plot_identification",
    "plot_joint",
    "friction_file",
    "design_excitation",
    "DesignSettings",
    "Excitation",
    "estimate_payload",
    "estimate_payload_at_rest",
    "payload_motion",
    "PayloadEstimate",
    "find_torque_constants",
    "TorqueConstants",
    "KnownLoad",
    "validate",
    "Validation",
    "compare",
    "Comparison",
    "compare_estimators",
    "Estimates",
    "findings",
    "identify_segments",
    "SegmentIdentification",
    "FrictionTerms",
    "effort_regressor",
    "PoorExcitation",
    "Implausible",
]

publish(__name__)
