"""A description in any encoding is decoded once; all that is made of its text is right."""

from __future__ import annotations

import codecs

import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import UrdfError
from robot_dynamics_ros.identification.robot import urdf_of

TEXT = """<?xml version="1.0" encoding="ENCODING"?>
<robot name="r"><link name="Fuß"/><link name="arm"><inertial><origin xyz="0.2 0 0"/>
<mass value="1"/><inertia ixx="0.01" ixy="0" ixz="0" iyy="0.05" iyz="0" izz="0.05"/></inertial>
</link><joint name="j1" type="revolute"><parent link="Fuß"/><child link="arm"/>
<axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="50" velocity="3"/>
<dynamics damping="0.1" friction="0.1"/></joint><link name="Straße"><collision><geometry>
<box size="0.1 0.1 0.1"/></geometry></collision></link><joint name="f" type="fixed">
<parent link="arm"/><child link="Straße"/></joint></robot>"""

DOCUMENTS = {
    "utf-8": TEXT.replace("ENCODING", "utf-8").encode(),
    "utf-8 with a mark": codecs.BOM_UTF8 + TEXT.replace("ENCODING", "UTF-8").encode(),
    "nothing declared": TEXT.replace(' encoding="ENCODING"', "").encode(),
    "latin-1": TEXT.replace("ENCODING", "iso-8859-1").encode("latin-1"),
    "single quotes": TEXT.replace('"ENCODING"', "'iso-8859-15'").encode("iso-8859-15"),
    "windows": TEXT.replace("ENCODING", "windows-1252").encode("cp1252"),
    "utf-16 with a mark": TEXT.replace("ENCODING", "utf-16").encode("utf-16"),
    "utf-16 big": codecs.BOM_UTF16_BE + TEXT.replace("ENCODING", "utf-16").encode("utf-16-be"),
    "utf-16, no mark": TEXT.replace("ENCODING", "utf-16").encode("utf-16-le"),
    "utf-16, nothing declared": TEXT.replace(' encoding="ENCODING"', "").encode("utf-16"),
    "text": TEXT.replace("ENCODING", "iso-8859-1"),
}


@pytest.mark.filterwarnings("ignore::robot_dynamics_ros.errors.ModelWarning")
@pytest.mark.parametrize("encoding", DOCUMENTS)
@pytest.mark.parametrize("as_file", [False, True])
def test_all_that_is_made_of_the_text(encoding: str, as_file: bool, tmp_path) -> None:
    data = DOCUMENTS[encoding]
    if as_file:
        file = tmp_path / "r.urdf"
        file.write_bytes(data.encode("latin-1") if isinstance(data, str) else data)
        source = file
    else:
        source = data
    model = rd.load_urdf(source, missing_inertia="from_geometry", density=1000.0)
    assert model.link_names == ("Fuß", "arm", "Straße")
    assert model.total_mass == pytest.approx(2.0)
    kept = model.description.source
    assert rd.load_urdf(kept).link_names == model.link_names
    assert rd.load_urdf(kept.encode()).link_names == model.link_names
    plain = rd.load_urdf(source)
    for text in (plain.description.source, data if isinstance(data, str) else kept):
        identified = urdf_of(plain, text)
        assert "<box" in identified
        assert rd.load_urdf(identified.encode()).link_names == model.link_names


def test_a_wrong_declaration_names_its_place() -> None:
    with pytest.raises(UrdfError, match="line 1"):
        rd.load_urdf(TEXT.replace("ENCODING", "utf-16").encode())
    with pytest.raises(UrdfError, match="not UTF-8"):
        rd.load_urdf(TEXT.replace("ENCODING", "utf-8").encode("latin-1"))
    with pytest.raises(UrdfError):
        rd.load_urdf(TEXT.replace("ENCODING", "klingon").encode())


def test_a_default_namespace_loses_nothing_on_the_way_out() -> None:
    text = TEXT.replace("ENCODING", "utf-8").replace(
        'name="r"', 'name="r" xmlns="http://a.example"'
    )
    model = rd.load_urdf(text)
    out = urdf_of(model, model.description.source)
    assert "<box" in out and "ns0" not in out
    assert rd.load_urdf(out).link_names == model.link_names
