"""Which robots are refused for their inertias: the merged body is judged, the link is only remarked
on.
"""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import ModelError, ModelWarning, UrdfError
from robot_dynamics_ros.model.checks import inertia_fault, nearest_possible

SOLID = '<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/>'
THIN = '<inertia ixx="0.001" ixy="0" ixz="0" iyy="0.001" iyz="0" izz="0.01"/>'
INDEFINITE = '<inertia ixx="0.001" ixy="0.002" ixz="0" iyy="0.001" iyz="0" izz="0.001"/>'
LIMIT = '<limit lower="-1" upper="2" effort="30" velocity="4"/>'


def ball(moment):
    return f'<inertia ixx="{moment}" ixy="0" ixz="0" iyy="{moment}" iyz="0" izz="{moment}"/>'


def robot(arm, camera=None, *, arm_mass=1.0, camera_mass=0.1, on="arm", base=SOLID):
    """A base, an arm on a hinge, and a camera fixed to either; each on its own line, from line 2
    on.
    """

    def link(name, mass, inertia):
        return f'<link name="{name}"><inertial><mass value="{mass}"/>{inertia}</inertial></link>\n'

    more = (
        ""
        if camera is None
        else link("camera", camera_mass, camera)
        + (f'<joint name="mount" type="fixed"><parent link="{on}"/><child link="camera"/></joint>')
    )
    return f"""<robot name="r">
{link("base", 5.0, base)}{link("arm", arm_mass, arm)}{more}<joint name="hinge" type="revolute">
<parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>{LIMIT}</joint></robot>"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            robot(THIN),
            r"link 'arm' <inertial> \(line 3\): .*triangle inequality \(principal moments 0.001, "
            r"0.001, 0.01 kg",
        ),
        (
            robot(INDEFINITE),
            r"link 'arm' <inertial> \(line 3\): .*not positive \(principal moments -0.001, "
            r"0.001, 0.003 kg",
        ),
        (robot(ball(-0.1)), r"link 'arm' <inertial> \(line 3\): .*not positive"),
        (
            robot(SOLID, arm_mass=-1),
            r"link 'arm' <inertial> \(line 3\): the mass -1 kg is negative",
        ),
        # what is fixed to the impossible link is too light to make up for it, or impossible itself
        (
            robot(THIN, ball(0.001)),
            r"'arm' .*0.001, 0.001, 0.01 .*joint 'hinge' moves.*0.002, 0.002, 0.011",
        ),
        (
            robot(ball(0.001), THIN),
            r"link 'camera' <inertial> \(line 4\): .*joint 'hinge' moves.*0.002, 0.002, 0.011",
        ),
        (robot(THIN, THIN), r"link 'arm' .*link 'camera' <inertial>"),
        # the root body is judged like the others
        (robot(SOLID, base=THIN), r"link 'base' <inertial> \(line 2\): .*triangle"),
        (
            robot(SOLID, THIN, on="base", base=ball(0.001)),
            r"link 'camera' .*nor can the (root body|body that joint 'root_joint' moves)",
        ),
        # a negative mass is no rounding of anything, whatever makes up for it
        (
            robot(SOLID, ball(0.001), camera_mass=-0.1),
            r"link 'camera' <inertial> \(line 4\): the mass -0.1 kg is negative",
        ),
        (robot(SOLID, SOLID, camera_mass=-0.1, on="base"), r"link 'camera' .*negative"),
    ],
)
@pytest.mark.parametrize("floating_base", [False, True])
def test_a_body_that_cannot_exist_is_an_error_where_that_is_asked_for(text, message, floating_base):
    with pytest.raises(UrdfError, match=f"(?s){message}") as caught:
        rd.load_urdf(text, floating_base=floating_base, inertia_check="error")
    assert "'repair'" in caught.value.remedy and caught.value.got is not None
    assert caught.value.setting[0] == "inertia_check"
    option = {"inertia_check": caught.value.setting[1]}
    with pytest.warns(ModelWarning, match=r"link '\w+' <inertial>"):
        rd.load_urdf(text, floating_base=floating_base, **option)


@pytest.mark.parametrize("floating_base", [False, True], ids=["fixed", "floating"])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            robot(INDEFINITE),
            r"link 'arm' <inertial> \(line 3\): .*not positive .*-0.001, 0.001, 0.003 kg",
        ),
        (robot(ball(-0.1)), r"link 'arm' <inertial> \(line 3\): .*not positive"),
        (
            robot(SOLID, arm_mass=-1),
            r"link 'arm' <inertial> \(line 3\): the mass -1 kg is negative",
        ),
        (
            robot(SOLID, ball(0.001), camera_mass=-0.1),
            r"link 'camera' <inertial> \(line 4\): the mass -0.1 kg",
        ),
        (
            robot(INDEFINITE, INDEFINITE),
            r"link 'arm' .*\n  link 'camera' <inertial> \(line 4\): .*not positive",
        ),
    ],
    ids=["product", "moments", "mass", "mass of a part", "two links"],
)
def test_what_could_make_the_mass_matrix_indefinite_is_an_error_by_default(
    text, message, floating_base
):
    with pytest.raises(UrdfError, match=f"(?s){message}") as caught:
        rd.load_urdf(text, floating_base=floating_base)
    assert caught.value.setting == ("inertia_check", "repair")
    # a rotor that hides it changes nothing
    with pytest.raises(UrdfError, match=f"(?s){message}"):
        rd.load_urdf(text, floating_base=floating_base, armature={"hinge": 10.0})


def test_a_negative_moment_of_a_root_matters_only_where_the_root_moves():
    text = robot(SOLID, base=INDEFINITE)
    with pytest.warns(ModelWarning, match="'base'"):
        model = rd.load_urdf(text)
    assert np.linalg.eigvalsh(rd.mass_matrix(model, [0.3])).min() > 0.0
    with pytest.raises(UrdfError, match="'base'"):
        rd.load_urdf(text, floating_base=True)


@pytest.mark.parametrize("floating_base", [False, True], ids=["fixed", "floating"])
@pytest.mark.parametrize(
    "text",
    [
        robot(THIN),
        robot(ball(0.001), THIN),
        robot(SOLID, base=THIN),
        robot(SOLID, THIN, on="base", base=ball(0.001)),
    ],
    ids=["link", "part", "root", "part of the root"],
)
def test_a_broken_triangle_inequality_is_one_warning_with_the_correction(text, floating_base):
    with pytest.warns(ModelWarning) as record:
        model = rd.load_urdf(text, floating_base=floating_base)
    (warning,) = record
    (finding,) = warning.message.findings
    # the nearest to diag(1, 1, 10) with a triangle: second moments (5, 5, -4) lose the negative one
    assert "by 400 %" in finding and "the nearest possible ones are 0.005, 0.005, 0.01" in finding
    assert "'repair'" in str(warning.message)
    assert np.linalg.eigvalsh(rd.mass_matrix(model, model.neutral())).min() > 0.0
    with pytest.warns(ModelWarning):
        again = rd.load_urdf(rd.to_urdf(model))
    np.testing.assert_array_equal(again.body_inertia, model.body_inertia)


@pytest.mark.parametrize(
    ("text", "floating_base"),
    [
        (robot(THIN), False),
        (robot(INDEFINITE, THIN), True),
        (robot(SOLID, arm_mass=-1), True),
        (robot(ball(0), arm_mass=0), False),
        (robot(SOLID, base=ball(-1)), True),
    ],
    ids=["triangle", "negative and triangle", "mass", "nothing", "root"],
)
def test_repair_takes_what_exists_and_says_so(text, floating_base):
    with pytest.warns(ModelWarning, match="repaired: ") as record:
        model = rd.load_urdf(text, floating_base=floating_base, inertia_check="repair")
    assert len(record) == 1
    rng = np.random.default_rng(1)
    for _ in range(3):
        q = rd.integrate(model, model.neutral(), rng.uniform(-2, 2, model.nv))
        assert np.linalg.eigvalsh(rd.mass_matrix(model, q)).min() > 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # a sound robot in every respect
        rd.load_urdf(rd.to_urdf(model), inertia_check="error")


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 2**32 - 1))
def test_the_repaired_inertia_is_the_nearest_of_all_possible_ones(seed):
    rng = np.random.default_rng(seed)
    odd = rng.standard_normal((3, 3))
    given_ = rd.Inertia(1.0, rng.standard_normal(3), odd + odd.T)
    new = nearest_possible(given_)
    fault = inertia_fault(new)
    assert (
        (fault is None or not fault.impossible)
        and new.mass == 1.0
        and (new.com == given_.com).all()
    )

    def second(matrix):
        return 0.5 * np.trace(matrix) * np.eye(3) - matrix

    distance = np.linalg.norm(second(new.rotational) - second(given_.rotational))
    # the cone of second moments is convex: no step towards any other possible body comes nearer
    for _ in range(10):
        root = rng.standard_normal((3, 3))
        for step in (1e-4, 1e-2, 0.5):
            other = (1.0 - step) * second(new.rotational) + step * root @ root.T
            assert np.linalg.norm(other - second(given_.rotational)) >= distance - 1e-9


@pytest.mark.parametrize("bad", [THIN, INDEFINITE], ids=["thin", "indefinite"])
@pytest.mark.parametrize("on", ["arm", "base"])
@pytest.mark.parametrize("floating_base", [False, True])
def test_an_impossible_link_in_a_possible_body_is_a_warning_that_names_it(bad, on, floating_base):
    text = robot(SOLID, bad, on=on)
    with pytest.warns(ModelWarning) as record:
        model = rd.load_urdf(text, floating_base=floating_base)
    (finding,) = record[0].message.findings
    assert (
        finding.startswith("link 'camera' <inertial> (line 4): ") and "nearest possible" in finding
    )
    assert model.description.findings == (finding,)
    if on == "arm":
        body = model.body_inertia[model.body_index("hinge")]
        assert np.trace(body) == pytest.approx(0.3 + (0.012 if bad is THIN else 0.003), rel=1e-14)
    m = rd.mass_matrix(model, model.neutral())
    assert np.linalg.eigvalsh(m).min() > 0.0
    # editing goes on with what was accepted
    assert model.lock("hinge").attach("camera", 0.5).total_mass == pytest.approx(
        model.total_mass + 0.5
    )


def test_a_link_cut_off_from_what_made_it_possible_is_judged_alone():
    with pytest.warns(ModelWarning):
        model = rd.load_urdf(robot(SOLID, THIN), inertia_check="error")
    with pytest.raises(ModelError, match=r"link 'camera' <inertial>: .*triangle"):
        model.subtree("camera")
    with pytest.warns(ModelWarning):
        assert rd.load_urdf(robot(SOLID, THIN)).subtree("camera").nq == 0


def test_robots_made_by_hand_are_judged_too():
    def description(inertia, **options):
        hinge = rd.Joint("j", rd.JointType.CONTINUOUS, "a", "b", axis=[0, 0, 1])
        return rd.RobotDescription("r", (rd.Link("a"), rd.Link("b", inertia)), (hinge,), **options)

    for bad, message in (
        (rd.Inertia(1, rotational=np.diag([1, 1, 3])), "triangle"),
        (rd.Inertia(-1), "negative"),
        (rd.Inertia(1, rotational=-np.eye(3)), "not positive"),
    ):
        with pytest.raises(ModelError, match=f"link 'b' <inertial>: .*{message}"):
            rd.RobotModel.from_description(description(bad, inertia_check="error"))
        assert rd.RobotModel.from_description(description(bad, inertia_check="repair")).nq == 1
    assert (
        rd.RobotModel.from_description(description(rd.Inertia(1, rotational=np.diag([1, 1, 3])))).nq
        == 1
    )
    with pytest.raises(ModelError, match="negative"):
        rd.RobotModel.from_description(description(rd.Inertia(-1)))


def test_sums_beyond_floating_point_are_an_error_in_any_case():
    text = robot(SOLID, SOLID).replace(
        '<mass value="0.1"/>', '<origin xyz="1e200 0 0"/><mass value="0.1"/>'
    )
    for policy in ("error", "warn", "repair"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(UrdfError, match="too large to compute with"):
                rd.load_urdf(text, inertia_check=policy)


@pytest.mark.parametrize("scale", [1e-9, 1e-6, 1.0, 1e6])
def test_round_off_is_zero(scale):
    # A rod of no thickness has two equal moments and a zero; turned in space the zero comes out as
    # ±1e-17 or so.
    rng = np.random.default_rng(0)
    for _ in range(50):
        axis = rng.standard_normal(3)
        axis /= np.linalg.norm(axis)
        rod = scale * (np.eye(3) - np.outer(axis, axis))
        assert inertia_fault(rd.Inertia(scale, rotational=rod)) is None
    # All nine entries alike, as placeholder links have it: one moment, and two zeros that are not
    # shown as noise.
    fault = inertia_fault(rd.Inertia(scale, rotational=scale * np.ones((3, 3))))
    assert (
        fault is not None
        and f"principal moments 0, 0, {3 * scale:.6g} kg" in fault.problem
        and "triangle" in fault.problem
    )


def test_inertia_without_mass_is_odd_but_possible():
    fault = inertia_fault(rd.Inertia(0.0, rotational=np.eye(3)))
    assert fault is not None and not fault.impossible
    with pytest.warns(ModelWarning, match="'arm' .*no mass"):
        rd.load_urdf(robot(SOLID, arm_mass=0))


def density_is_possible(matrix):
    """How far from impossible: least eigenvalue of the second moments of mass, tr(I)/2 - I, over
    the largest moment.
    """
    return (
        np.linalg.eigvalsh(0.5 * np.trace(matrix) * np.eye(3) - matrix)[0]
        / np.abs(np.linalg.eigvalsh(matrix)).max()
    )


@settings(deadline=None, max_examples=150)
@given(st.integers(0, 2**32 - 1), st.floats(0.0, 3.0))
def test_the_verdict_is_that_on_the_second_moments_of_mass_of_the_whole(seed, weight):
    # A positive semidefinite matrix of second moments of mass is what makes an inertia possible:
    # another road to the verdict.
    rng = np.random.default_rng(seed)
    squares = rng.uniform(0.0, 1.0, (3, 3))
    solid = np.trace(squares @ squares.T) * np.eye(3) - squares @ squares.T
    odd = rng.uniform(-1.0, 1.0, (3, 3))
    odd = weight * (odd + odd.T)
    margin = density_is_possible(solid + odd)
    if abs(margin) < 2e-3:
        return
    links = (
        rd.Link("a"),
        rd.Link("b", rd.Inertia(1.0, rotational=solid)),
        rd.Link("c", rd.Inertia(1.0, rotational=odd)),
    )
    joints = (
        rd.Joint("j", rd.JointType.CONTINUOUS, "a", "b"),
        rd.Joint("k", rd.JointType.FIXED, "b", "c"),
    )
    description = rd.RobotDescription("r", links, joints, inertia_check="error")
    if margin > 0.0:
        rd.RobotModel.from_description(description)
    else:
        with pytest.raises(ModelError, match="link 'c'"):
            rd.RobotModel.from_description(description)
