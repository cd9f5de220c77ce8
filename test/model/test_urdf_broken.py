"""Whatever is wrong with a URDF, the error is ours and names the element, the value and the way
out.
"""

import os
import random
import re
import string
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import ArgumentError, ModelError, RobotDynamicsError, UrdfError
from robot_dynamics_ros.model.library import robot_path

INERTIA = '<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.025"/>'
INERTIAL = f'<inertial><origin xyz="0 0 0"/><mass value="2"/>{INERTIA}</inertial>'
LIMIT = '<limit lower="-1" upper="2" effort="30" velocity="4"/>'
ARM = f'<link name="arm">{INERTIAL}</link>'
JOINT = f"""<joint name="elbow" type="revolute"><origin xyz="0 0 1" rpy="0 0 0"/>
  <parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>{LIMIT}</joint>"""
GOOD = f"""<robot name="r">
<link name="base"/>
{ARM}
{JOINT}
</robot>"""


def changed(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new, 1)


BOMB = """<!DOCTYPE robot [<!ENTITY a "aaaaaaaaaa">
<!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]><robot name="&b;"/>"""
EXTERNAL = (
    '<!DOCTYPE robot [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot name="r"><link '
    'name="&x;"/></robot>'
)
REMOTE = (
    '<!DOCTYPE robot SYSTEM "http://127.0.0.1:9/robot.dtd"><robot name="r"><link name="a"/></robot>'
)

CASES = {
    # the document
    "empty": ("", "it is empty"),
    "blank": (" \n\t ", "it is empty"),
    "no xml, several lines": ("hello\nworld", "not well-formed XML"),
    "cut off": (GOOD[:-20], "not well-formed XML"),
    "two roots elements": (GOOD + GOOD, "line 6"),
    "undefined entity": (changed('"r"', '"&r;"'), "undefined entity"),
    "another format": ("<sdf version='1.9'><model/></sdf>", "it is SDF"),
    "a link alone": ('<link name="a"/>', "root element is <link>"),
    "entity bomb": (BOMB, "<!DOCTYPE"),
    "external entity": (EXTERNAL, "<!DOCTYPE"),
    "remote document type": (REMOTE, "<!DOCTYPE"),
    "no utf-8": (
        GOOD.replace('"r"', '"é"').encode("latin-1"),
        "byte 0xe9 at offset 13 is not UTF-8",
    ),
    "unknown encoding": (b'<?xml version="1.0" encoding="klingon"?>' + GOOD.encode(), "encoding"),
    "lone surrogate": (GOOD.replace('"r"', '"\ud800"'), "UTF-8"),
    "null byte": (GOOD.replace('"r"', '"\0"'), "not well-formed"),
    "deep": ("<robot>" + "<a>" * 100 + "</a>" * 100 + "</robot>", "nested more than 64 deep"),
    # structure
    "no links": ('<robot name="r"/>', "no links"),
    "link without name": (
        changed('<link name="base"/>', "<link/>"),
        r"<link> \(line 2\).*'name' is missing",
    ),
    "link with empty name": (changed('<link name="base"/>', '<link name=" "/>'), "empty"),
    "joint without name": (changed('name="elbow" ', ""), "'name' is missing"),
    "joint without type": (changed('type="revolute"', ""), "joint 'elbow'.*'type' is missing"),
    "unknown joint type": (
        changed('"revolute"', '"ball"'),
        r"joint 'elbow' \(line 4\).*'ball'.*revolute, continuous",
    ),
    "no parent element": (
        changed('<parent link="base"/>', ""),
        "joint 'elbow'.*<parent> is missing",
    ),
    "no child element": (changed('<child link="arm"/>', ""), "joint 'elbow'.*<child> is missing"),
    "missing parent link": (
        changed('<parent link="base"/>', '<parent link="bass"/>'),
        "joint 'elbow'.*'bass'",
    ),
    "missing child link": (
        changed('<child link="arm"/>', '<child link="hand"/>'),
        "joint 'elbow'.*'hand'",
    ),
    "two roots": (
        changed('<link name="base"/>', '<link name="base"/><link name="lost"/>'),
        "2 root links: base, lost",
    ),
    "same link twice": (changed(ARM, ARM + ARM), "link 'arm': two links"),
    "same joint twice": (
        changed(JOINT, JOINT + f'<link name="b">{INERTIAL}</link>' + JOINT.replace('"arm"', '"b"')),
        "'elbow': two joints",
    ),
    "two parents": (
        changed(JOINT, JOINT + JOINT.replace('"elbow"', '"second"')),
        "'second'.*already hangs on joint 'elbow'",
    ),
    "own parent": (changed('<parent link="base"/>', '<parent link="arm"/>'), "cycle|root links"),
    "cycle": (
        changed(
            JOINT,
            JOINT
            + f"""<link name="b">{INERTIAL}</link><link name="c">{INERTIAL}</link>
          <joint name="x" type="fixed"><parent link="b"/><child link="c"/></joint>
          <joint name="y" type="fixed"><parent link="c"/><child link="b"/></joint>""",
        ),
        "cycle",
    ),
    "nothing but a cycle": (
        """<robot name="r"><link name="b"/><link name="c"/>
          <joint name="x" type="fixed"><parent link="b"/><child link="c"/></joint>
          <joint name="y" type="fixed"><parent link="c"/><child link="b"/></joint></robot>""",
        "cycle",
    ),
    # inertia
    "no mass": (changed('<mass value="2"/>', ""), "link 'arm' <inertial>.*<mass> is missing"),
    "mass without value": (changed('<mass value="2"/>', "<mass/>"), "'value' is missing"),
    "negative mass": (changed('"2"/>', '"-2"/>'), "link 'arm'.*mass -2 kg is negative"),
    "nan mass": (changed('"2"/>', '"nan"/>'), "link 'arm' <mass>.*'nan' is not a finite"),
    "infinite mass": (changed('"2"/>', '"inf"/>'), "link 'arm' <mass>.*finite"),
    "mass in other digits": (changed('"2"/>', '"２"/>'), "'２' is not a number.*digits 0 to 9"),
    "mass of words": (changed('"2"/>', '"two"/>'), "'two' is not a number"),
    "decimal comma": (changed('"2"/>', '"2,5"/>'), "point"),
    "xacro expression": (changed('"2"/>', '"${m}"/>'), "xacro"),
    "negative inertia": (changed('ixx="0.02"', 'ixx="-0.02"'), "link 'arm'.*not positive"),
    "indefinite inertia": (changed('ixy="0"', 'ixy="0.1"'), "link 'arm'.*not positive"),
    "nan inertia": (changed('ixz="0"', 'ixz="NaN"'), "link 'arm' <inertia>.*'NaN'"),
    "infinite origin": (
        changed('<origin xyz="0 0 0"/>', '<origin xyz="0 0 1e999"/>'),
        "link 'arm' <origin>",
    ),
    "massless moving leaf": (
        changed(INERTIAL, ""),
        "joint 'elbow': nothing that it moves has any inertia.*link 'arm'",
    ),
    "mass of zero at a moving leaf": (
        changed(
            INERTIAL,
            '<inertial><mass value="0"/><inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" '
            'izz="0"/></inertial>',
        ),
        "joint 'elbow': nothing that it moves has any inertia.*link 'arm'",
    ),
    # joints
    "zero axis": (
        changed('<axis xyz="0 0 1"/>', '<axis xyz="0 0 0"/>'),
        r"joint 'elbow'.*<axis>.*zero",
    ),
    "nan axis": (
        GOOD.replace('<axis xyz="0 0 1"/>', '<axis xyz="0 nan 1"/>'),
        "joint 'elbow' <axis>.*'nan'",
    ),
    "axis of two": (
        GOOD.replace('<axis xyz="0 0 1"/>', '<axis xyz="0 1"/>'),
        "joint 'elbow' <axis>.*three numbers",
    ),
    "axis without xyz": (GOOD.replace('<axis xyz="0 0 1"/>', "<axis/>"), "'xyz' is missing"),
    "origin of four": (
        changed('rpy="0 0 0"', 'rpy="0 0 0 1"'),
        "joint 'elbow' <origin>.*rpy.*three numbers",
    ),
    "nan origin": (changed('rpy="0 0 0"', 'rpy="0 0 nan"'), "joint 'elbow' <origin>.*finite"),
    "nan limit": (changed('upper="2"', 'upper="nan"'), "joint 'elbow' <limit>.*'nan'"),
    "negative effort": (
        changed('effort="30"', 'effort="-30"'),
        "joint 'elbow'.*effort limit is -30",
    ),
    "negative velocity": (
        changed('velocity="4"', 'velocity="-4"'),
        "joint 'elbow'.*velocity limit is -4",
    ),
    "negative damping": (
        changed(LIMIT, LIMIT + '<dynamics damping="-1"/>'),
        "joint 'elbow'.*damping is -1",
    ),
    "nan friction": (
        changed(LIMIT, LIMIT + '<dynamics friction="nan"/>'),
        "joint 'elbow' <dynamics>.*'nan'",
    ),
    "mimic of itself": (
        changed(LIMIT, LIMIT + '<mimic joint="elbow"/>'),
        "joint 'elbow' <mimic>.*circle",
    ),
    "mimic of nobody": (changed(LIMIT, LIMIT + "<mimic/>"), "'joint' is missing"),
    "nan multiplier": (
        changed(LIMIT, LIMIT + '<mimic joint="elbow" multiplier="nan"/>'),
        "joint 'elbow' <mimic>",
    ),
    "bad rotor inertia": (
        changed(
            JOINT,
            JOINT
            + """<transmission name="t"><joint name="elbow"/><actuator>
          <drake:rotor_inertia value="-1"/></actuator></transmission>""",
        ),
        "transmission 't'.*-1",
    ),
    "bad initial value": (
        changed(
            JOINT,
            JOINT
            + """<ros2_control><joint name="elbow"><state_interface name="position">
          <param name="initial_value">soon</param></state_interface></joint></ros2_control>""",
        ),
        "'elbow'.*'soon'",
    ),
}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_broken_text_is_an_error_that_says_what_where_and_what_to_do(case):
    text, message = CASES[case]
    with pytest.raises(ModelError, match=f"(?s){message}") as caught:
        rd.load_urdf(text)
    assert caught.value.where and caught.value.remedy, "an error says where and what to do"


def test_the_text_all_cases_start_from_is_sound():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert rd.load_urdf(GOOD).joint_names == ("elbow",)


def test_a_path_that_is_no_readable_file_is_refused(tmp_path):
    with pytest.raises(UrdfError, match=r"does not exist.*current directory"):
        rd.load_urdf(tmp_path / "none.urdf")
    with pytest.raises(UrdfError, match="does not exist"):
        rd.load_urdf("none.urdf")
    with pytest.raises(UrdfError, match="is a directory"):
        rd.load_urdf(tmp_path)
    with pytest.raises(UrdfError, match="not a regular file"):
        rd.load_urdf("/dev/zero")
    with pytest.raises(UrdfError):
        rd.load_urdf("a\0b")
    with pytest.raises(UrdfError, match="AMENT_PREFIX_PATH"):
        rd.load_urdf("package://no_such_package_at_all/robot.urdf")
    with pytest.raises(UrdfError, match="cannot be read"):
        rd.load_urdf("x" * 3000)
    loop = tmp_path / "loop.urdf"
    loop.symlink_to(loop)
    with pytest.raises(UrdfError):
        rd.load_urdf(loop)
    empty = tmp_path / "empty.urdf"
    empty.touch()
    with pytest.raises(UrdfError, match="empty"):
        rd.load_urdf(empty)
    binary = tmp_path / "binary.urdf"
    binary.write_bytes(bytes(range(256)))
    with pytest.raises(UrdfError, match=r"not well-formed|UTF-8"):
        rd.load_urdf(binary)
    if os.geteuid() != 0:
        secret = tmp_path / "secret.urdf"
        secret.write_text(GOOD)
        secret.chmod(0)
        with pytest.raises(UrdfError, match="Permission denied"):
            rd.load_urdf(secret)


@pytest.mark.parametrize(
    "junk", [None, 3, 2.5, [], {}, object(), rd.RobotModel], ids=lambda junk: type(junk).__name__
)
def test_neither_text_nor_path(junk):
    with pytest.raises(ArgumentError, match="expected URDF text or a path"):
        rd.load_urdf(junk)


def test_ten_megabytes_of_junk(tmp_path):
    rng = random.Random(1)
    letters = "".join(rng.choices(string.printable, k=1000))
    for junk in (
        letters * 10_000,
        "<robot>" + "<link/>" * 1_500_000,
        "<robot>" + " " * 10_000_000,
        rng.randbytes(10_000_000),
    ):
        with pytest.raises(UrdfError, match=r"more than the 4194304 allowed.*max_bytes"):
            rd.load_urdf(junk)
        with pytest.raises(UrdfError):
            rd.load_urdf(junk, max_bytes=50_000_000)
    file = tmp_path / "junk.urdf"
    file.write_bytes(rng.randbytes(10_000_000))
    with pytest.raises(UrdfError, match="more than the 4194304 allowed"):
        rd.load_urdf(file)


# -- whatever comes in, only our errors come out ---------------------------------------------------

PIECES = st.sampled_from(
    [
        "<",
        ">",
        "/",
        '"',
        "=",
        "<link",
        "<joint",
        'name="',
        "</",
        "robot",
        "<!--",
        "-->",
        "<![CDATA[",
        "]]>",
        "&",
        ";",
        "xyz=",
        "nan",
        "inf",
        "-1",
        "1e308",
        "0",
        "<inertia ",
        "<mass value=",
        "<limit ",
        "<mimic joint=",
        "fixed",
        "floating",
        "\0",
        "é",
    ]
)
QUIET = settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150
)


def only_our_errors(data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            rd.load_urdf(data)
        except RobotDynamicsError as error:
            assert str(error)


@QUIET
@given(st.text())
def test_any_text_loads_or_raises_an_error_of_this_package(text):
    only_our_errors("<" + text)


@QUIET
@given(st.binary())
def test_any_bytes_load_or_raise_an_error_of_this_package(data):
    only_our_errors(data)


@QUIET
@given(
    st.lists(
        st.tuples(st.integers(0, len(GOOD)), st.integers(0, 30), PIECES), min_size=1, max_size=4
    )
)
def test_any_damage_to_a_sound_text(edits):
    text = GOOD
    for at, length, piece in edits:
        text = text[:at] + piece + text[at + length :]
    only_our_errors(text)


VALUES = st.one_of(
    st.floats().map(repr),
    st.integers().map(str),
    st.sampled_from(["", " ", "nan", "-inf", "1e400", "0x10", "1_0", "１", "0 0", "a"]),
)


@QUIET
@given(
    st.dictionaries(
        st.sampled_from(
            [
                'xyz="0 0 1"',
                'rpy="0 0 0"',
                'value="2"',
                'ixx="0.02"',
                'ixy="0"',
                'izz="0.025"',
                'lower="-1"',
                'upper="2"',
                'effort="30"',
                'velocity="4"',
                'type="revolute"',
                'link="arm"',
                'name="base"',
            ]
        ),
        VALUES,
        min_size=1,
    )
)
def test_any_attribute_values_load_or_raise_an_error_of_this_package(values):
    text = GOOD
    for attribute, value in values.items():
        text = text.replace(attribute, f'{attribute.split("=")[0]}="{value}"')
    only_our_errors(text)


@pytest.mark.timeout(60)
def test_many_comments_before_what_is_no_element_are_no_burden():
    """Found by mutation: the search for the root element took time that doubled with each
    comment.
    """
    comments = "".join(f"<!-- line {k} of a licence -->\n" for k in range(2000))
    for text in (comments + "\x07<robot/>", comments + "<!-- not closed", "<?xml " * 5000):
        with pytest.raises(rd.UrdfError):
            rd.load_urdf(text)


@pytest.mark.parametrize("value", ["1e6", "1e11", "1e30", "1e160", "1e-30", "5e-324"])
@pytest.mark.parametrize("name", ["two_link", "six_axis"])
def test_any_number_may_be_absurd(name, value):
    """Loading ends, and what is computed with a robot that is loaded is finite."""
    text = robot_path(name).read_text()
    numbers = [m.span() for m in re.finditer(r'(?<=["\s])-?\d+\.?\d*(?=["\s])', text)]
    taken = 0
    for k, (begin, end) in enumerate(numbers[:: 2 if name == "two_link" else 20]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                spoilt = text[:begin] + value + text[end:]
                model = rd.load_urdf(spoilt, inertia_check=("warn", "repair")[k % 2]).with_backend(
                    "interpreted"
                )
            except ModelError:
                continue
        taken += 1
        q = np.zeros(model.nq)
        v = np.ones(model.nv)
        assert np.isfinite(rd.inverse_dynamics(model, q, v, v)).all()
        assert np.isfinite(rd.forward_dynamics(model, q, v, v)).all()
    assert taken
