"""Inertia from shape and density: integrals, meshes, sums and holes, and links without
<inertial>.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import ArgumentError, ModelWarning

RHO = 1234.0
SHAPES = {
    "cuboid": (
        rd.inertia_of_cuboid((0.3, 0.5, 0.2), density=RHO),
        lambda x, y, z: (abs(x) < 0.15) & (abs(y) < 0.25) & (abs(z) < 0.1),
    ),
    "cylinder": (
        rd.inertia_of_cylinder(0.2, 0.5, density=RHO),
        lambda x, y, z: (x * x + y * y < 0.04) & (abs(z) < 0.25),
    ),
    "sphere": (
        rd.inertia_of_sphere(0.25, density=RHO),
        lambda x, y, z: x * x + y * y + z * z < 0.0625,
    ),
    "ellipsoid": (
        rd.inertia_of_ellipsoid((0.1, 0.2, 0.25), density=RHO),
        lambda x, y, z: (x / 0.1) ** 2 + (y / 0.2) ** 2 + (z / 0.25) ** 2 < 1,
    ),
    "capsule": (
        rd.inertia_of_capsule(0.1, 0.3, density=RHO),
        lambda x, y, z: x * x + y * y + np.maximum(abs(z) - 0.15, 0) ** 2 < 0.01,
    ),
    "cone": (
        rd.inertia_of_cone(0.2, 0.25, density=RHO),
        lambda x, y, z: (z > 0) & (x * x + y * y < (0.2 * (1 - z / 0.25)) ** 2) & (z < 0.25),
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_solids_against_a_sum_over_points(name):
    """Quasi-random points in a cube of 0.6 m, two million of them."""
    from scipy.stats import qmc

    body, inside = SHAPES[name]
    p = 0.6 * (qmc.Sobol(3, seed=1).random(2**19) - 0.5)
    p = p[inside(*p.T)]
    mass = RHO * 0.6**3 * len(p) / 2**19
    assert_allclose(body.mass, mass, rtol=3e-3)
    assert_allclose(body.com, p.mean(axis=0), atol=1e-3)
    r = p - p.mean(axis=0)
    E = r.T @ r / len(r)
    assert_allclose(body.rotational / body.mass, np.trace(E) * np.eye(3) - E, atol=2e-4)


def test_the_cuboid_of_a_published_example():
    bar = rd.inertia_of_cuboid((1.0, 0.1, 0.1), density=1000.0)
    assert_allclose(bar.mass, 10.0)
    assert_allclose(
        bar.rotational, np.diag([1 / 60, 0.8416666666666667, 0.8416666666666667]), rtol=1e-14
    )


def test_a_smooth_density_to_many_figures():
    """ρ = 1000 (1 + x) in a cuboid: integrals by hand."""
    body = rd.inertia_of_density(lambda x, y, z: 1000.0 * (1.0 + x), (0, 0, 0), (1.0, 0.2, 0.2))
    m = 1000.0 * 0.04 * 1.5
    c = (1 / 2 + 1 / 3) / 1.5
    assert_allclose(body.mass, m, rtol=1e-12)
    assert_allclose(body.com, [c, 0.1, 0.1], rtol=1e-12)
    along = (1 / 3 + 1 / 4) / 1.5 - c * c
    assert_allclose(
        np.diag(body.rotational),
        m * np.array([0.04 / 6, along + 0.04 / 12, along + 0.04 / 12]),
        rtol=1e-11,
    )
    ball = rd.inertia_of_density(
        lambda x, y, z: RHO * (x * x + y * y + z * z < 0.01),
        (-0.1,) * 3,
        (0.1,) * 3,
        tolerance=3e-3,
    )
    assert_allclose(ball.mass, rd.inertia_of_sphere(0.1, density=RHO).mass, rtol=5e-3)


def cube_mesh(size, at=(0.0, 0.0, 0.0)):
    corners = (
        np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float) * size
        + at
    )
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return corners, [t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))]


def test_a_cube_of_triangles_has_the_inertia_of_a_cuboid():
    size = np.array([0.3, 0.5, 0.2])
    at = np.array([1.0, -2.0, 3.0])
    vertices, triangles = cube_mesh(size, at)
    mesh = rd.inertia_of_mesh(vertices, triangles, density=RHO)
    exact = SHAPES["cuboid"][0]
    assert_allclose(mesh.mass, exact.mass, rtol=1e-12)
    assert_allclose(mesh.com, at + size / 2, rtol=1e-12)
    assert_allclose(mesh.rotational, exact.rotational, rtol=1e-9, atol=1e-9)
    turned = rd.inertia_of_mesh(vertices, [t[::-1] for t in triangles], mass=exact.mass)
    assert_allclose(turned.rotational, exact.rotational, rtol=1e-9, atol=1e-9)
    # as STL has it
    soup = rd.inertia_of_mesh(
        vertices[np.ravel(triangles)], np.arange(36).reshape(12, 3), density=RHO
    )
    assert_allclose(soup.mass, exact.mass, rtol=1e-12)
    with pytest.raises(ArgumentError, match="not closed"):
        rd.inertia_of_mesh(vertices, triangles[:-1], density=RHO)
    with pytest.raises(ArgumentError, match="vertex"):
        rd.inertia_of_mesh(vertices, [(0, 1, 99)], density=RHO)


def test_mesh_files(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    path = tmp_path / "ball.stl"
    trimesh.creation.icosphere(subdivisions=4, radius=100.0).export(path)
    body = rd.inertia_of_mesh_file(path, scale=(1e-3,) * 3, density=RHO)
    assert_allclose(body.mass, rd.inertia_of_sphere(0.1, density=RHO).mass, rtol=5e-3)
    with pytest.raises(ArgumentError, match="cannot be read"):
        rd.inertia_of_mesh_file(tmp_path / "none.stl", density=RHO)


@pytest.mark.parametrize("unit", ["1.0", "0.001", "0.0254"])
def test_mesh_files_that_state_their_unit(tmp_path, unit):
    """COLLADA, as ROS packages have it: what RViz draws of it has this mass."""
    trimesh = pytest.importorskip("trimesh")
    pytest.importorskip("collada")
    size = 0.2 / float(unit)
    text = trimesh.exchange.dae.export_collada(trimesh.creation.box((size, size, size))).decode()
    path = tmp_path / "box.dae"
    path.write_text(text.replace("</asset>", f'<unit name="unit" meter="{unit}"/></asset>'))
    body = rd.inertia_of_mesh_file(path, density=RHO)
    expected = rd.inertia_of_cuboid((0.2, 0.2, 0.2), density=RHO)
    assert_allclose(body.mass, expected.mass, rtol=1e-6)
    assert_allclose(body.rotational, expected.rotational, rtol=1e-6, atol=1e-9)


def test_sums_and_hollow_bodies():
    outer, inner = (rd.inertia_of_cuboid((s, s, s), density=RHO) for s in (0.4, 0.2))
    at = rd.Pose.from_rpy((0.1, 0, 0), (0, 0, 0.5))
    hollow = rd.combined_inertia([outer], [(inner, at)])
    again = rd.combined_inertia([hollow, (inner, at)])
    assert_allclose(again.rotational, outer.rotational, rtol=1e-12, atol=1e-12)
    assert_allclose(again.com, 0.0, atol=1e-15)
    assert_allclose(hollow.com[0], -0.1 / 7, rtol=1e-12)
    with pytest.raises(ArgumentError, match="kg are left"):
        rd.combined_inertia([inner], [outer])


@pytest.mark.parametrize(
    "arguments",
    [{}, {"density": 1, "mass": 1}, {"density": -1}, {"mass": "a"}, {"density": np.nan}],
)
def test_densities_that_are_none(arguments):
    with pytest.raises(ArgumentError):
        rd.inertia_of_sphere(0.1, **arguments)


URDF = """<robot name="r"><link name="base"/>
<link name="arm"><collision><origin xyz="0.5 0 0"/><geometry><box size="1 0.1 0.1"/></geometry>
</collision>
  <visual><geometry><sphere radius="9"/></geometry></visual></link>
<link name="ball"><visual><geometry><sphere radius="0.1"/></geometry></visual></link>
<link name="given"><inertial><mass value="2"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  <visual><geometry><sphere radius="0.1"/></geometry></visual></link>
<link name="lost"><visual><geometry><mesh filename="nowhere.stl"/></geometry></visual></link>
<joint name="j1" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
</joint>
<joint name="j2" type="continuous"><parent link="arm"/><child link="ball"/><axis xyz="0 0 1"/>
</joint>
<joint name="j3" type="continuous"><parent link="ball"/><child link="given"/><axis xyz="0 0 1"/>
</joint>
<joint name="j4" type="fixed"><parent link="given"/><child link="lost"/></joint></robot>"""


def test_links_without_inertia_take_it_from_their_geometry():
    with pytest.warns(ModelWarning, match="arm.*10 kg.*collision") as caught:
        model = rd.load_urdf(URDF, missing_inertia="from_geometry", density=1000.0)
    said = str(caught[0].message)
    assert "'ball'" in said and "'lost' keeps no mass" in said and "'given'" not in said
    assert_allclose(model.link("arm").inertia.mass, 10.0)
    assert_allclose(model.link("arm").inertia.com, [0.5, 0, 0])
    assert_allclose(model.link("ball").inertia.mass, 4 / 3 * np.pi)
    assert model.link("given").inertia.mass == 2.0 and model.link("lost").inertia.mass == 0.0
    with pytest.raises(ArgumentError, match="density"):
        rd.load_urdf(URDF, missing_inertia="from_geometry")
    with pytest.raises(ArgumentError, match="from_geometry"):
        rd.load_urdf(URDF, missing_inertia="guess")


@pytest.mark.parametrize("turned", range(1, 12))
def test_triangles_that_turn_differently_are_refused(turned):
    """A cuboid of 30 kg with some of its 12 triangles turned: not 25 kg, and no negative moment."""
    trimesh = pytest.importorskip("trimesh")
    box = trimesh.creation.box((0.3, 0.2, 0.5))
    whole = rd.inertia_of_mesh(box.vertices, box.faces, density=1000.0)
    assert whole.mass == pytest.approx(30.0)
    inward = rd.inertia_of_mesh(box.vertices, box.faces[:, ::-1], density=1000.0)
    np.testing.assert_allclose(inward.rotational, whole.rotational, atol=1e-12)
    rng = np.random.default_rng(turned)
    faces = box.faces.copy()
    some = rng.choice(12, turned, replace=False)
    faces[some] = faces[some][:, ::-1]
    with pytest.raises(ArgumentError, match="turn the same way round"):
        rd.inertia_of_mesh(box.vertices, faces, density=1000.0)


def test_a_cavity_is_taken_out_and_a_body_turned_inside_out_is_refused():
    trimesh = pytest.importorskip("trimesh")
    outer = trimesh.creation.box((1.0, 1.0, 1.0))
    inner = trimesh.creation.box((0.5, 0.5, 0.5))
    vertices = np.concatenate([outer.vertices, inner.vertices])
    cavity = np.concatenate([outer.faces, inner.faces[:, ::-1] + 8])
    assert rd.inertia_of_mesh(vertices, cavity, density=1.0).mass == pytest.approx(0.875)
    far = np.concatenate([outer.vertices, 0.5 * inner.vertices + [3.0, 0.0, 0.0]])
    with pytest.raises(ArgumentError, match="opposite ways"):
        rd.inertia_of_mesh(far, cavity, density=1.0)
