"""What a URDF says about looks, and what stands in for it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from support.page import Page, robot_on

import robot_dynamics_ros as rd
from robot_dynamics_ros.model.geometry import read_looks
from robot_dynamics_ros.view.bodies import equivalent, inertia_shapes, skeleton
from robot_dynamics_ros.view.rounded import rounded

trimesh = pytest.importorskip("trimesh")

URDF = """<robot name="looks">
  <link name="base">
    <visual><origin xyz="0 0 0.5" rpy="0 0 1.5707963267948966"/><geometry><box size="1 2 3"/>
    </geometry>
      <material name="late"/></visual>
    <visual><geometry>{mesh}</geometry><material name="red"><color rgba="1 0 0 0.5"/></material>
    </visual>
    <collision><geometry><sphere radius="0.25"/></geometry></collision>
  </link>
  <link name="arm"><inertial><mass value="2"/><origin xyz="0.1 0 0"/>
      <inertia ixx="0.01" iyy="0.02" izz="0.025" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><cylinder radius="0.1" length="0.4"/></geometry></visual>
    <visual><geometry><cylinder radius="-1" length="0.4"/></geometry></visual>
    <visual><geometry><box size="1 2"/></geometry></visual></link>
  <joint name="j" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <material name="late"><color rgba="0 1 0 1"/></material>
</robot>"""


def model_with(mesh: str, **options):
    return rd.load_urdf(URDF.format(mesh=mesh), **options)


def test_visuals_colours_and_collisions_are_read_and_bad_ones_cost_themselves_only():
    looks = read_looks(model_with('<sphere radius="0.3"/>'))
    assert [(s.link, s.kind, s.size) for s in looks.visuals] == [
        ("base", "box", (1.0, 2.0, 3.0)),
        ("base", "sphere", (0.3,)),
        ("arm", "cylinder", (0.1, 0.4)),
    ]
    # defined after it is used
    assert looks.visuals[0].colour == (0.0, 1.0, 0.0, 1.0)
    assert looks.visuals[1].colour == (1.0, 0.0, 0.0, 0.5)
    assert looks.visuals[2].colour is None
    np.testing.assert_allclose(looks.visuals[0].pose.position, (0.0, 0.0, 0.5))
    assert [s.kind for s in looks.collisions] == ["sphere"]
    assert len(looks.findings) == 2
    assert all("link 'arm'" in finding for finding in looks.findings)


@pytest.mark.parametrize("ending", ["stl", "obj", "glb", "dae"])
@pytest.mark.parametrize(
    "kind", ["relative", "absolute", "file", "package", "package beside", "slashes"]
)
def test_meshes_are_found_by_every_kind_of_address_and_read(tmp_path, monkeypatch, ending, kind):
    from robot_dynamics_ros.model.meshes import triangles

    if ending == "dae":
        pytest.importorskip("collada")
    folder = tmp_path / "share" / "my_robot" / "meshes"
    folder.mkdir(parents=True)
    file = folder / f"part.{ending}"
    trimesh.creation.box(extents=(1.0, 2.0, 3.0)).export(file)
    address = {
        "relative": f"meshes/part.{ending}",
        "absolute": str(file),
        "file": f"file://{file}",
        "package": f"package://my_robot/meshes/part.{ending}",
        "package beside": f"package://my_robot/meshes/part.{ending}",
        "slashes": f"package:///my_robot/meshes/part.{ending}",
    }[kind]
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path) if kind == "package" else "")
    urdf = folder.parent / "robot.urdf"
    urdf.write_text(URDF.format(mesh=f'<mesh filename="{address}" scale="0.1 0.1 0.2"/>'))
    looks = read_looks(rd.load_urdf(urdf))
    mesh = next(s for s in looks.visuals if s.kind == "mesh")
    (part,) = triangles(mesh)
    np.testing.assert_allclose(part.extents, (0.1, 0.2, 0.6), atol=1e-6)


@pytest.mark.parametrize(
    "address", ["package://nowhere/a.stl", "gone.stl", "file:///gone.stl", "http://127.0.0.1/a.stl"]
)
def test_a_missing_mesh_is_one_finding_and_nothing_is_fetched(address):
    looks = read_looks(model_with(f'<mesh filename="{address}"/>'))
    assert sum("meshes were not found" in finding for finding in looks.findings) == 1
    assert len(looks.visuals) == 2


def test_a_collada_file_keeps_its_unit(tmp_path):
    pytest.importorskip("collada")
    from robot_dynamics_ros.model.meshes import read_mesh

    file = tmp_path / "part.dae"
    trimesh.creation.box(extents=(100.0, 200.0, 300.0)).export(file)
    text = file.read_text()
    unit = text.replace("<asset>", '<asset><unit name="centimeter" meter="0.01"/>', 1)
    if "<unit" in text:
        import re

        unit = re.sub(r"<unit[^>]*/>", '<unit name="centimeter" meter="0.01"/>', text)
    file.write_text(unit)
    np.testing.assert_allclose(read_mesh(file)[0].extents, (1.0, 2.0, 3.0), atol=1e-6)


def test_a_texture_that_is_not_there_costs_the_texture_only():
    """ANYmal's foot: a reference inside the file leads nowhere, and its 4604 triangles are 81, 4484
    and 39.
    """
    from support.example_robots import example_urdf

    from robot_dynamics_ros.model.meshes import own_colour, read_mesh

    foot = next(p for p in example_urdf("anymal.urdf").parents[1].rglob("anymal_foot.dae"))
    parts = read_mesh(foot)
    assert sorted(len(part.faces) for part in parts) == [39, 81, 4484]
    assert all(own_colour(part) != "image" for part in parts)


DAE = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit meter="1"/><up_axis>{up}</up_axis></asset>
<library_effects><effect id="e"><profile_COMMON>{param}<technique sid="t"><lambert>
<diffuse>{diffuse}</diffuse></lambert>
</technique></profile_COMMON></effect></library_effects>
<library_materials><material id="m"><instance_effect url="#e"/></material></library_materials>
<library_geometries><geometry id="g"><mesh><source id="p">
<float_array id="a" count="9">0 0 0 1 0 0 0 0 2</float_array>
<technique_common><accessor source="#a" count="3" stride="3"><param name="X" type="float"/>
<param name="Y" type="float"/>
<param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles material="s" count="{count}"><input semantic="VERTEX" source="#v" offset="0"/><p>{p}</p>
</triangles></mesh></geometry>
</library_geometries><library_visual_scenes><visual_scene id="s"><node id="n">
<instance_geometry url="#g"><bind_material>
<technique_common><instance_material symbol="s" target="#m"/></technique_common></bind_material>
</instance_geometry></node>
</visual_scene></library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>"""
BROKEN = '<newparam sid="x"><sampler2D><source>gone</source></sampler2D></newparam>'


# the triangle reaches 1 m along x and 2 m along z of the file; a robot's z is up, as COLLADA states
# which of its own is
@pytest.mark.parametrize(
    ("up", "upright"),
    [("Y_UP", (1.0, -2.0, 0.0)), ("Z_UP", (1.0, 0.0, 2.0)), ("X_UP", (0.0, -2.0, 1.0))],
)
def test_a_mesh_keeps_its_own_materials_and_ignores_the_up_axis_as_rviz_does_unless_asked(
    tmp_path, up, upright
):
    pytest.importorskip("collada")
    from robot_dynamics_ros.model.meshes import own_colour, triangles

    red = "<color>1 0 0 1</color>"
    (tmp_path / "part.DAE").write_text(DAE.format(up=up, param="", diffuse=red, count=1, p="0 1 2"))
    urdf = tmp_path / "robot.urdf"
    urdf.write_text(URDF.format(mesh='<mesh filename="part.DAE"/>').replace("1 0 0 0.5", "0 0 1 1"))
    model = rd.load_urdf(urdf)
    mesh = next(s for s in read_looks(model).visuals if s.kind == "mesh")
    (part,) = triangles(mesh)
    with rd.view(model, port=0) as viewer, Page(viewer.address):
        bodies = robot_on(viewer).nodes.bodies
        bodies.clear(False)
        drawn = [piece.handle.color for piece in bodies.layers["visuals"]]
    assert drawn[1] == (255, 0, 0)
    assert mesh.colour == (0.0, 0.0, 1.0, 1.0)
    assert own_colour(part) == (1.0, 0.0, 0.0, 1.0)
    np.testing.assert_allclose(part.vertices.sum(axis=0), (1.0, 0.0, 2.0), atol=1e-6)
    mesh = next(s for s in read_looks(model, up_axis=True).visuals if s.kind == "mesh")
    np.testing.assert_allclose(triangles(mesh)[0].vertices.sum(axis=0), upright, atol=1e-6)


@pytest.mark.parametrize("kind", ["texture", "colours"])
def test_a_mesh_with_many_colours_is_see_through_and_painted_as_others_are(tmp_path, kind):
    """As another program reads back what the page is sent."""
    import io

    from PIL import Image

    box = trimesh.creation.box()
    if kind == "texture":
        image = Image.fromarray(np.arange(192, dtype=np.uint8).reshape(8, 8, 3))
        box.visual = trimesh.visual.TextureVisuals(uv=box.vertices[:, :2] + 0.5, image=image)
    else:
        box.visual.vertex_colors = [(30 * k, 255 - 30 * k, 0, 255) for k in range(8)]
    box.export(tmp_path / "part.glb")
    (tmp_path / "robot.urdf").write_text(URDF.format(mesh='<mesh filename="part.glb"/>'))
    with rd.view(rd.load_urdf(tmp_path / "robot.urdf"), port=0) as viewer, Page(viewer.address):
        bodies = robot_on(viewer).nodes.bodies
        (piece,) = (piece for piece in bodies.layers["visuals"] if piece.part is not None)

        def sent():
            (part,) = trimesh.load_scene(
                io.BytesIO(piece.handle.glb_data), file_type="glb"
            ).geometry.values()
            return part.visual

        bodies.clear(True)
        see_through = sent().material
        bodies.tint({"base": 1.0})
        painted = sent().material
        bodies.clear(False)
        solid = sent().material
        bodies.tint(None)
        described = sent()
    assert [m.alphaMode for m in (see_through, painted, solid)] == ["BLEND", "BLEND", "OPAQUE"]
    assert [m.baseColorFactor[3] for m in (see_through, painted, solid)] == [76, 76, 255]
    assert see_through.baseColorTexture is not None
    # the brightest of viridis, linear
    yellow = 255.0 * (np.array([0.993, 0.906, 0.144]) ** 2.2)
    np.testing.assert_allclose(painted.baseColorFactor[:3], yellow, atol=1.5)
    assert painted.baseColorTexture is None
    assert described.kind == ("texture" if kind == "texture" else "vertex")


def test_a_mesh_without_triangles_tells_the_first_fault_of_its_file(tmp_path):
    pytest.importorskip("collada")
    from robot_dynamics_ros.model.meshes import MeshError, read_mesh

    file = tmp_path / "part.dae"
    file.write_text(
        DAE.format(
            up="Z_UP", param=BROKEN, diffuse='<texture texture="x" texcoord="u"/>', count=0, p=""
        )
    )
    with pytest.raises(MeshError, match="gone"):
        read_mesh(file)


def test_a_broken_mesh_says_so(tmp_path):
    from robot_dynamics_ros.model.meshes import MeshError, read_mesh

    file = tmp_path / "part.stl"
    file.write_bytes(b"no mesh at all")
    with pytest.raises(MeshError, match=r"part\.stl"):
        read_mesh(file)


def test_a_robot_made_without_a_file_has_no_looks_but_others_can_be_given():
    made = rd.limb(2)
    assert read_looks(made) == read_looks(made) or not read_looks(made).visuals
    model = model_with('<sphere radius="0.3"/>')
    edited = model.attach("arm", 1.0)
    assert not read_looks(edited).visuals
    assert len(read_looks(edited, URDF.format(mesh='<sphere radius="0.3"/>')).visuals) == 3


def test_equivalent_box_and_ellipsoid_have_the_inertia_of_the_link():
    for name in rd.load_robot("six_axis").link_names:
        inertia = rd.load_robot("six_axis").link(name).inertia
        if inertia.mass == 0.0:
            continue
        for shape, factors in (
            (equivalent(name, inertia, "box"), 1 / 12),
            (equivalent(name, inertia), 1 / 5),
        ):
            x, y, z = np.square(shape.size)
            own = inertia.mass * factors * np.diag([y + z, x + z, x + y])
            R = shape.pose.rotation
            np.testing.assert_allclose(
                R @ own @ R.T, inertia.rotational, rtol=0.0, atol=0.002 * own.max()
            )
            np.testing.assert_allclose(shape.pose.position, inertia.com)


def test_shapes_have_the_extents_and_places_they_should():
    from robot_dynamics_ros.model.meshes import triangles

    for shape in (
        *skeleton(rd.load_robot("six_axis")),
        *inertia_shapes(rd.load_robot("six_axis"), "box"),
    ):
        (part,) = triangles(shape)
        own = np.linalg.inv(shape.pose.matrix())
        part.apply_transform(own)
        low, high = part.bounds
        np.testing.assert_allclose(low + high, 0.0, atol=1e-6)
        length = {
            "capsule": shape.size[-1] + 2 * shape.size[0],
            "cylinder": shape.size[-1],
            "box": shape.size[-1],
        }
        assert high[2] - low[2] == pytest.approx(length[shape.kind], rel=1e-6)


def test_the_skeleton_of_a_robot_whose_joints_are_in_one_place_can_be_seen():
    """No length of the description says how large it is."""
    body = """<inertial><mass value="1"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0"
        izz="0.1"/></inertial>"""
    model = rd.load_urdf(
        f"""<robot name="r"><link name="a"/><link name="b">{body}</link>
        <joint name="j" type="continuous"><parent link="a"/><child link="b"/>
        <axis xyz="0 0 1"/></joint></robot>"""
    )
    (barrel,) = skeleton(model)
    assert np.ptp(rounded(barrel).bounds, axis=0).min() > 0.01


def test_a_capsule_of_the_skeleton_ends_where_the_next_joint_is():
    model = rd.limb(2, lengths=[0.8, 0.6])
    shape = next(s for s in skeleton(model) if s.kind == "capsule")
    ends = shape.pose.position + np.outer((-0.5, 0.5), shape.size[1] * shape.pose.rotation[:, 2])
    np.testing.assert_allclose(ends[0], 0.0, atol=1e-12)
    assert any(
        np.allclose(ends[1], j.origin.position)
        for j in model.description.joints
        if j.parent == shape.link
    )


class Recorder:
    """A scene that keeps the names and colours of the meshes that are drawn."""

    def __init__(self) -> None:
        self.drawn: dict[str, tuple[int, int, int]] = {}

    def add_mesh_simple(self, name, *_, color, **__):
        self.drawn[name.split("/")[2]] = color
        return SimpleNamespace(visible=True, opacity=None, color=color)


def test_axes_of_joints_have_the_colours_that_python_gives():
    """They are drawn at once, the others when the page asks for axes, each joint's once."""
    pytest.importorskip("viser")
    from unittest.mock import MagicMock

    from robot_dynamics_ros.view.nodes import RobotNodes

    arm = rd.load_robot("six_axis")
    scene = MagicMock()
    nodes = RobotNodes(scene, arm, read_looks(arm).dressed(arm, joints={"elbow_joint": (0, 0, 1)}))

    def axes():
        calls = [call.args for call in scene.add_line_segments.call_args_list]
        return {name.split("/")[-2]: tuple(rgb) for name, _, rgb in calls if name.endswith("/axis")}

    child = arm.joint("elbow_joint").child
    assert axes() == {child: (0, 0, 255)}
    nodes.axes(True)
    assert len(axes()) == arm.nv and axes()[child] == (0, 0, 255)
    assert sum(c.args[0].endswith("/axis") for c in scene.add_line_segments.call_args_list) == 6
    with pytest.raises(rd.UnknownNameError, match="elbow_joint"):
        read_looks(arm).dressed(arm, joints={"elbow": (0, 0, 1)})
    with pytest.raises(rd.ArgumentError, match="from 0 to 1"):
        read_looks(arm).dressed(arm, joints={"elbow_joint": (0, 0, 2)})


def test_links_are_hidden_and_coloured_from_python():
    pytest.importorskip("viser")
    from robot_dynamics_ros.view.bodies import Bodies

    arm = rd.load_robot("six_axis")
    nodes = {name: name for name in arm.link_names}
    looks = read_looks(arm).dressed(arm, ["wrist_3_link"], {"forearm_link": (1.0, 0.0, 0.0, 0.5)})
    scene = Recorder()
    bodies = Bodies(scene, arm, looks, "/robot", nodes)
    plain = Recorder()
    Bodies(plain, arm, read_looks(arm), "/robot", nodes)
    assert set(plain.drawn) - set(scene.drawn) == {"wrist_3_link"}
    assert scene.drawn["forearm_link"] == (255, 0, 0) != plain.drawn["forearm_link"]
    assert scene.drawn["upper_arm_link"] == plain.drawn["upper_arm_link"]
    (piece, *_) = [p for p in bodies.layers["visuals"] if p.link == "forearm_link"]
    assert piece.opacity == 0.5
    for wrong in ({"forearm_link": (1.0, 2.0, 0.0)}, {"forearm_link": (1.0,)}):
        with pytest.raises(rd.ArgumentError, match="from 0 to 1"):
            read_looks(arm).dressed(arm, (), wrong)
    with pytest.raises(rd.UnknownNameError, match="forearm_link"):
        read_looks(arm).dressed(arm, ["forearm"])
