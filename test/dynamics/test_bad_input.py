"""What is refused, and how."""

from __future__ import annotations

import numpy as np
import pytest

import robot_dynamics_ros as rd

BACKENDS = [b for b in rd.available_backends() if b != "interpreted"]


@pytest.fixture(params=BACKENDS)
def model(request):
    return rd.load_robot("six_axis").with_backend(request.param)


Z = np.zeros(6)


@pytest.mark.parametrize(
    ("q", "message"),
    [
        (np.zeros(5), r"^q: expected shape \(\.\.\., 6\), got \(5,\)"),
        (np.zeros((6, 1)), r"^q: expected shape \(\.\.\., 6\), got \(6, 1\)"),
        (0.0, r"^q: expected shape"),
        (Z + 1j, r"^q: expected real numbers .*complex128"),
        (["a"] * 6, r"^q: expected real numbers .*list"),
        ([[1.0, 2.0], [3.0]], r"^q: expected real numbers"),
        (None, r"^q: expected real numbers .*NoneType"),
    ],
)
def test_inputs_that_are_no_real_numbers_of_the_right_shape_are_refused(model, q, message):
    for call in (
        lambda: rd.inverse_dynamics(model, q, Z, Z),
        lambda: rd.kernel(model, "inverse_dynamics")(q, Z, Z, Z.copy()),
    ):
        with pytest.raises(rd.ArgumentError, match=message):
            call()


def test_what_can_be_converted_is(model):
    expected = rd.inverse_dynamics(model, Z, Z, Z)
    wide = np.zeros((6, 2))
    for q in (
        [0] * 6,
        tuple(Z),
        Z.astype(np.float32),
        Z.astype(int),
        wide[:, 0],
        Z.astype(">f8"),
        np.zeros(12)[::2],
    ):
        assert np.array_equal(rd.inverse_dynamics(model, q, Z, Z), expected)
        out = np.empty(6)
        assert rd.kernel(model, "inverse_dynamics")(q, Z, Z, out) is out
        assert np.array_equal(out, expected)


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (np.empty(5), r"^out: expected shape \(6,\), got \(5,\)"),
        (np.empty(6, np.float32), r"^out: expected dtype float64, got float32"),
        (np.empty(12)[::2], r"^out: expected a C-contiguous array"),
        ([0.0] * 6, r"^out: expected a numpy array, got list"),
        (np.empty((1, 6)), r"^out: expected shape"),
    ],
)
def test_wrong_outputs(model, out, message):
    with pytest.raises(rd.ArgumentError, match=message):
        rd.inverse_dynamics(model, Z, Z, Z, out=out)
    with pytest.raises(rd.ArgumentError, match=message):
        rd.kernel(model, "inverse_dynamics")(Z, Z, Z, out)


def test_read_only_output(model):
    out = np.empty(6)
    out.setflags(write=False)
    with pytest.raises(rd.ArgumentError, match="read-only"):
        rd.kernel(model, "inverse_dynamics")(Z, Z, Z, out)


def test_wrong_number_of_arguments(model):
    run = rd.kernel(model, "inverse_dynamics")
    with pytest.raises(rd.ArgumentError, match=r"takes 3 inputs \(q, v, a\).*got 2"):
        run(Z, Z)
    with pytest.raises(rd.ArgumentError, match="got 5"):
        run(Z, Z, Z, Z, Z)
    with pytest.raises(TypeError):
        run(Z, Z, a=Z)


def test_output_may_be_an_input(model):
    rng = np.random.default_rng(0)
    q, v, a = rng.normal(size=(3, 6))
    expected = rd.inverse_dynamics(model, q, v, a)
    for loops in (model, model.with_backend("loops") if "loops" in BACKENDS else model):
        same = a.copy()
        rd.kernel(loops, "inverse_dynamics")(q, v, same, same)
        np.testing.assert_allclose(same, expected, rtol=1e-12)


def test_unknown_names(model):
    with pytest.raises(rd.UnknownNameError, match=r"unknown link 'tool'.*tool0"):
        rd.link_pose(model, Z, "tool")
    with pytest.raises(rd.UnknownNameError, match="unknown link"):
        rd.inverse_dynamics(model, Z, Z, Z, external={"nowhere": np.zeros(6)})
    with pytest.raises(rd.UnknownNameError, match=r"unknown frame 'body'.*world, link"):
        rd.jacobian(model, Z, model.link_names[-1], expressed_in="body")
    with pytest.raises(rd.UnknownNameError, match=r"rpy, quaternion"):
        rd.analytical_jacobian(model, Z, model.link_names[-1], representation="euler")


def test_wrong_external_wrenches_and_base(model):
    link = model.link_names[-1]
    with pytest.raises(
        rd.ArgumentError, match=rf"external\['{link}'\]: expected shape \(\.\.\., 6\), got \(3,\)"
    ):
        rd.inverse_dynamics(model, Z, Z, Z, external={link: np.zeros(3)})
    with pytest.raises(rd.ArgumentError, match="mapping from link names"):
        rd.inverse_dynamics(model, Z, Z, Z, external=[np.zeros(6)])
    with pytest.raises(rd.ArgumentError, match="pair"):
        rd.inverse_dynamics(model, Z, Z, Z, base=np.zeros(6))
    with pytest.raises(rd.ArgumentError, match="base acceleration: expected shape"):
        rd.inverse_dynamics(model, Z, Z, Z, base=(np.zeros(6), np.zeros(3)))


def test_quaternions_must_be_of_unit_length():
    model = rd.load_urdf(rd.robot_path("three_link"), floating_base=True)
    q = rd.neutral(model)
    v = np.zeros(model.nv)
    rd.mass_matrix(model, q)
    long = q.copy()
    long[3:7] *= 1.1
    for backend in BACKENDS:
        run = rd.kernel(model.with_backend(backend), "gravity_forces")
        with pytest.raises(rd.ArgumentError, match=r"quaternion q\[3:7\] .* has norm 1\.1"):
            run(long, np.empty(model.nv))
        with pytest.raises(rd.ArgumentError, match="has norm 0"):
            run(np.zeros(model.nq), np.empty(model.nv))
        with pytest.raises(rd.ArgumentError, match="norm nan"):
            run(np.full(model.nq, np.nan))
    with pytest.raises(rd.ArgumentError, match="quaternion"):
        rd.difference(model, q, long)
    with pytest.raises(rd.ArgumentError, match="quaternion"):
        rd.rollout(model, long, v, dt=1e-3, steps=1)


PLAIN = {
    "inverse_dynamics": ("q", "v", "a"),
    "forward_dynamics": ("q", "v", "tau"),
    "bias_forces": ("q", "v"),
    "gravity_forces": ("q",),
    "mass_matrix": ("q",),
    "mass_matrix_inverse": ("q",),
    "mass_matrix_factors": ("q",),
    "coriolis_matrix": ("q", "v"),
    "kinetic_energy": ("q", "v"),
    "potential_energy": ("q",),
    "joint_wrenches": ("q", "v", "a"),
    "inverse_dynamics_derivatives": ("q", "v", "a"),
    "joint_torque_regressor": ("q", "v", "a"),
    "center_of_mass": ("q",),
    "center_of_mass_motion": ("q", "v", "a"),
    "centroidal_momentum_matrix": ("q",),
    "link_poses": ("q",),
    "link_velocities": ("q", "v"),
    "link_accelerations": ("q", "v", "a"),
    "integrate": ("q", "dv"),
    "difference": ("q0", "q1"),
}


@pytest.mark.parametrize("name", PLAIN)
def test_plain_functions_refuse_what_is_not_finite(model, name):
    words = PLAIN[name]
    run = getattr(rd, name)
    for bad in (np.nan, np.inf, -np.inf):
        for k, word in enumerate(words):
            for shape in ((6,), (2, 6)):
                given = [np.zeros(shape) for _ in words]
                given[k][..., 4] = bad
                with pytest.raises(
                    rd.ArgumentError,
                    match=rf"^{word}: expected finite numbers, got -?(nan|inf) at index",
                ):
                    run(model, *given)
    if name in ("inverse_dynamics", "mass_matrix"):
        with pytest.raises(
            rd.ArgumentError, match=r"^q: expected finite numbers, got nan at index \[0\]"
        ):
            run(
                model,
                *[Z + np.nan] * len(words),
                out=np.empty((6, 6)[: 1 if name == "inverse_dynamics" else 2]),
            )


def test_functions_of_links_refuse_what_is_not_finite(model):
    tool = model.link_names[-1]
    for call in (
        lambda q: rd.link_pose(model, q, tool),
        lambda q: rd.jacobian(model, q, tool),
        lambda q: rd.jacobian_derivative(model, q, Z, tool),
        lambda q: rd.motion(model, q, point_on=tool).position,
    ):
        with pytest.raises(
            rd.ArgumentError, match=r"^q: expected finite numbers, got nan at index \[2\]"
        ):
            call([0, 0, np.nan, 0, 0, 0])
    with pytest.raises(rd.ArgumentError, match=r"^offset: expected finite numbers"):
        rd.jacobian(model, Z, tool, offset=[0, np.inf, 0])


def test_kernels_let_nan_pass_through(model):
    run = rd.kernel(model, "inverse_dynamics")
    a = Z.copy()
    a[2] = np.nan
    assert np.isnan(run(Z, Z, a)).any() and np.isnan(run(Z, Z, a, np.empty(6))).any()
    states = np.zeros((5, 6))
    states[3, 1] = np.inf
    assert np.isfinite(run(Z, Z, states)).all(axis=1).tolist() == [True, True, True, False, True]


def test_a_model_is_asked_for(model):
    for wrong in ("six_axis.urdf", None, 3.0, model.description):
        with pytest.raises(
            rd.ArgumentError, match=r"^model: expected a RobotModel, got .*load_urdf"
        ):
            rd.mass_matrix(wrong, Z)
        with pytest.raises(rd.ArgumentError, match=r"^model: expected a RobotModel"):
            rd.link_pose(wrong, Z, "tool0")


def test_finiteness_is_checked_on_request():
    rd.check_finite(q=np.zeros(3), v=[1.0, 2.0])
    with pytest.raises(
        rd.ArgumentError, match=r"^v: expected finite numbers, got nan at index \[1, 0\]"
    ):
        rd.check_finite(q=np.zeros(3), v=[[0.0, 1.0], [np.nan, 2.0]])


def test_christoffel_symbols_need_coordinates():
    model = rd.load_urdf(rd.robot_path("three_link"), floating_base=True).with_backend("numpy")
    with pytest.raises(rd.ModelError, match="floating"):
        rd.configuration_space_form(model, rd.neutral(model))


def test_gimbal_lock_is_named():
    model = rd.load_robot("pendulum").with_backend("numpy")
    link = model.link_names[-1]
    for angle in np.linspace(-np.pi, np.pi, 9):
        R = rd.link_pose(model, [angle], link)[:3, :3]
        if abs(R[2, 0]) > 1 - 1e-12:
            with pytest.raises(rd.ArgumentError, match="pitch"):
                rd.analytical_jacobian(model, [angle], link)
            break
    else:
        pytest.skip("this pendulum does not pitch")
