"""URDFs that are not quite right and load all the same, with one warning: what other parsers take,
and as they take it.
"""

import warnings

import numpy as np
import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import ModelWarning, UrdfError

pin = pytest.importorskip("pinocchio")

INERTIA = '<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.025"/>'
INERTIAL = f'<inertial><origin xyz="0.1 0.2 0"/><mass value="2"/>{INERTIA}</inertial>'
LIMIT = '<limit lower="-1" upper="2" effort="30" velocity="4"/>'
ORIGIN = '<origin xyz="0 0 1" rpy="0 0.5 0"/>'
AXIS = '<axis xyz="0 0 1"/>'
GOOD = f"""<?xml version="1.0"?>
<robot name="r"><link name="base"/><link name="arm">{INERTIAL}</link>
<joint name="j" type="revolute">{ORIGIN}<parent link="base"/><child link="arm"/>{AXIS}
{LIMIT}</joint></robot>"""


def changed(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new, 1)


# what is odd → (text, what the warning says)
AS_OTHERS = {
    "second axis": (
        changed(AXIS, AXIS + '<axis xyz="1 0 0"/>'),
        r"'j' <axis> \(line 3\): a second <axis> is ignored",
    ),
    "second inertial": (
        changed(INERTIAL, INERTIAL + INERTIAL.replace('"2"', '"3"')),
        "second <inertial> is ignored",
    ),
    "second origin": (
        changed(ORIGIN, ORIGIN + '<origin xyz="5 5 5"/>'),
        "second <origin> is ignored",
    ),
    "second limit": (
        changed(LIMIT, LIMIT + LIMIT.replace("30", "60")),
        "second <limit> is ignored",
    ),
    "second mass": (
        changed('<mass value="2"/>', '<mass value="2"/><mass value="7"/>'),
        "second <mass> is ignored",
    ),
    "second parent": (
        changed('<parent link="base"/>', '<parent link="base"/><parent link="none"/>'),
        "second <parent>",
    ),
    "blanks first": ("\n\t " + GOOD, "blanks before the XML declaration"),
    "empty name": (changed('name="r"', 'name=""'), "the robot has no name"),
    "long axis": (
        changed(AXIS, '<axis xyz="0 3 4"/>'),
        r"<axis>: it has length 5; it is divided by that",
    ),
    "unknown element": (changed(AXIS, AXIS + "<colour/>"), "<colour> is unknown and ignored"),
    "exchanged limits": (
        changed('lower="-1" upper="2"', 'lower="2" upper="-1"'),
        "exceeds upper = -1; they are exchanged",
    ),
    "limits in degrees": (
        changed('lower="-1" upper="2"', 'lower="-170" upper="90"'),
        "-170 to 90 rad are many turns; are they degrees",
    ),
    "mimic of nobody": (
        changed(LIMIT, LIMIT + '<mimic joint="k"/>'),
        "joint 'k' does not exist; .* its own",
    ),
    "triangle": (
        changed('izz="0.025"', 'izz="0.0525"'),
        r"triangle inequality.*by 5.0 %\); the nearest possible ones are",
    ),
}


@pytest.mark.parametrize("case", AS_OTHERS)
@pytest.mark.parametrize("as_bytes", [False, True], ids=["text", "bytes"])
def test_loads_with_one_warning_and_as_in_pinocchio(case, as_bytes):
    text, said = AS_OTHERS[case]
    with pytest.warns(ModelWarning, match=said) as record:
        model = rd.load_urdf(text.encode() if as_bytes else text)
    assert len(record) == 1 and len(record[0].message.findings) == 1
    theirs = pin.buildModelFromXML(text)
    data = theirs.createData()
    q = np.array([0.4])
    v = np.array([-1.2])
    a = np.array([2.5])
    assert rd.inverse_dynamics(model, q, v, a) == pytest.approx(
        pin.rnea(theirs, data, q, v, a), rel=1e-12
    )
    assert rd.mass_matrix(model, q) == pytest.approx(pin.crba(theirs, data, q), rel=1e-12)
    assert sorted([model.lower[0], model.upper[0]]) == sorted(
        [*theirs.lowerPositionLimit, *theirs.upperPositionLimit]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if case in ("triangle", "limits in degrees") else "error")
        # to_urdf writes a robot with nothing odd about it
        assert rd.load_urdf(rd.to_urdf(model)).upper == model.upper


# what urdfdom refuses, and what is taken for it
BEYOND = {
    "no limit": (
        changed(LIMIT, ""),
        "<limit> is missing; no limits",
        (-np.inf, np.inf, np.inf, np.inf),
    ),
    "no effort": (
        changed('effort="30" ', ""),
        "'effort' is missing; no effort limit",
        (-1, 2, 4, np.inf),
    ),
    "no velocity": (changed('velocity="4"', ""), "'velocity' is missing", (-1, 2, np.inf, 30)),
    "zero effort and velocity": (
        changed('effort="30" velocity="4"', 'effort="0" velocity="0"'),
        "effort and velocity are 0, as if not known",
        (-1, 2, np.inf, np.inf),
    ),
    "zeros only": (
        changed(LIMIT, '<limit lower="0" upper="0" effort="0" velocity="0"/>'),
        "all limits are 0",
        (-np.inf, np.inf, np.inf, np.inf),
    ),
    "a joint that nobody drives": (
        changed('effort="30"', 'effort="0"'),
        "cannot be driven",
        (-1, 2, 4, 0),
    ),
    "no name": (changed(' name="r"', ""), "the robot has no name", (-1, 2, 4, 30)),
    "products missing": (
        changed('ixy="0" ixz="0" ', ""),
        "'ixy' is missing; it counts as zero",
        (-1, 2, 4, 30),
    ),
    "no inertia": (
        changed(INERTIA, ""),
        "<inertia> is missing; the mass counts as a point",
        (-1, 2, 4, 30),
    ),
}


@pytest.mark.parametrize("case", BEYOND)
def test_loads_although_others_refuse(case):
    text, said, limits = BEYOND[case]
    with pytest.warns(ModelWarning, match=said) as record:
        model = rd.load_urdf(text)
    assert len(record) == 1
    assert (
        model.lower[0],
        model.upper[0],
        model.velocity_limit[0],
        model.effort_limit[0],
    ) == limits
    assert model.total_mass == 2.0


@pytest.mark.parametrize("number", ["１", "٣", "1_0", "½", "−1"])
def test_numbers_are_written_with_the_digits_0_to_9(number):
    with pytest.raises(UrdfError, match="is not a number"):
        rd.load_urdf(changed('lower="-1"', f'lower="{number}"'))


def test_limits_of_a_mimic_joint_that_would_hold_its_master_are_ignored():
    """As a vendor's gripper has it: both fingers 0 to 0.5, the second one turning the other way."""
    finger = (
        '<joint name="{}" type="revolute"><parent link="base"/><child link="{}"/>{}{}{}</joint>'
    )
    limit = '<limit lower="0" upper="0.5" effort="5" velocity="1"/>'
    links = "".join(f'<link name="{n}">{INERTIAL}</link>' for n in ("left", "right"))
    joints = finger.format("l", "left", AXIS, limit, "") + finger.format(
        "r", "right", AXIS, limit, '<mimic joint="l" multiplier="-1"/>'
    )
    with pytest.warns(
        ModelWarning, match="'r' <limit>: 0 to 0.5 leave 'l', .* multiplier -1, no room"
    ):
        model = rd.load_urdf(f'<robot name="r"><link name="base"/>{links}{joints}</robot>')
    assert model.lower == 0.0 and model.upper == 0.5
    run = rd.simulate(model, lambda t, q, v: np.array([1.0]), q0=[0.1], duration=0.05, dt=1e-3)
    assert run.q[-1, 0] > 0.104
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = rd.load_urdf(rd.to_urdf(model))
    assert again.upper == model.upper


def test_a_warning_has_at_most_some_ten_lines():
    many = "".join(
        f'<link name="l{i}">{INERTIAL.replace("0.025", "0.9")}</link><joint name="j{i}" '
        'type="continuous">'
        f'<parent link="{f"l{i - 1}" if i else "base"}"/><child link="l{i}"/>{AXIS}</joint>'
        for i in range(30)
    )
    text = f'<robot name="r"><link name="base"/>{many}</robot>'
    with pytest.warns(ModelWarning) as record:
        rd.load_urdf(text)
    assert len(str(record[0].message).splitlines()) <= 11 and "… and 22 more" in str(
        record[0].message
    )
    for policy, bad in (("error", text), ("warn", text.replace('ixy="0"', 'ixy="9"'))):
        with pytest.raises(UrdfError) as caught:
            rd.load_urdf(bad, inertia_check=policy)
        lines = str(caught.value).splitlines()
        assert (
            len(lines) <= 11
            and sum("link 'l" in line for line in lines) == 6
            and "… and 24 more" in lines[-2]
        )
