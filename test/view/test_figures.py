"""Figures for papers."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.figures import curve, joint_kinds, without_noise

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _close():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def test_twelve_joints_have_twelve_different_curves():
    styles = [(curve(k)["color"], str(curve(k)["linestyle"])) for k in range(24)]
    assert len(set(styles)) == 24


def test_rounding_is_drawn_as_zero_and_signals_are_kept():
    np.testing.assert_array_equal(without_noise(np.array([1e-15, 1.0, -1e-12])), [0.0, 1.0, 0.0])
    np.testing.assert_array_equal(without_noise(np.zeros(3)), np.zeros(3))


def test_the_drawing_shows_joints_where_they_are(tmp_path):
    model = rd.load_robot("six_axis")
    q = [0.3, -1.2, 1.0, 0.4, 0.5, 0.0]
    axes = rd.draw(model, q, external={"tool0": [0, 0, 0, 30, 0, -40]}, path=tmp_path / "robot.png")
    assert (tmp_path / "robot.png").stat().st_size > 10_000
    poses = rd.link_poses(model, q)
    bars = [
        np.array(line.get_data_3d()).T for line in axes.lines if len(line.get_data_3d()[0]) == 2
    ]
    ends = np.concatenate(bars)
    for joint in model.description.joints:
        at = poses[model.link_index(joint.child), :3, 3]
        assert np.linalg.norm(ends - at, axis=1).min() < 1e-9 or joint.type.name == "REVOLUTE"
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert any("external forces" in label for label in labels)
    shown = "\n".join(text.get_text() for text in axes.texts)
    assert all(name in shown for name in model.joint_names)


def test_names_in_the_drawing_cover_neither_arrows_nor_each_other():
    from mpl_toolkits.mplot3d import proj3d

    axes = rd.draw(rd.load_robot("six_axis"), [1.5, -1.3, 1.1, -0.8, -1.2, 0.0])
    axes.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in axes.texts]
    assert len(boxes) >= 5
    assert not any(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[:k])
    arrows = np.concatenate(
        [np.linspace(*line, 20) for bunch in axes.collections for line in bunch._segments3d]
    )
    x, y, _ = proj3d.proj_transform(*arrows.T, axes.get_proj())
    points = axes.transData.transform(np.column_stack([x, y]))
    assert not any(box.count_contains(points) for box in boxes)


def test_the_drawing_refuses_what_is_no_state():
    for q in ([0.0], [float("nan")] * 6):
        with pytest.raises(ArgumentError):
            rd.draw(rd.load_robot("six_axis"), q)
    with pytest.raises(ArgumentError, match="cannot be written"):
        rd.draw(rd.limb(1), path="/nowhere/at/all.png")


def test_the_figure_of_a_run_has_degrees_and_no_noise(tmp_path):
    model = rd.load_robot("two_link")
    run = rd.simulate(model, duration=0.2, record_wrenches=True)
    figure = rd.plot_run(run, tmp_path / "run.png", reference=run.q)
    axes = {axis.get_title(loc="left"): axis for axis in figure.axes}
    assert "position [°]" in axes
    line = axes["position [°]"].lines[0]
    np.testing.assert_allclose(line.get_ydata()[-1], np.degrees(run.q[-1, 0]), rtol=1e-6)
    assert not np.any(axes["tracking error [°]"].lines[0].get_ydata())
    for axis in figure.axes:
        # beside the curves, not on them
        assert axis.get_legend() is None
    with pytest.raises(ArgumentError):
        rd.plot_run(run, reference=run.q[:5])


def test_curves_that_lie_on_one_another_are_all_seen():
    """The first two joints of this arm lie on one point: their moments are alike."""
    from matplotlib.colors import to_rgb

    figure = rd.plot_run(rd.simulate(rd.load_robot("six_axis"), duration=0.1, record_wrenches=True))
    figure.canvas.draw()
    axis = next(axis for axis in figure.axes if "moment" in axis.get_title(loc="left"))
    left, bottom, right, top = (round(x) for x in axis.get_window_extent().extents)
    picture = np.asarray(figure.canvas.buffer_rgba())[::-1][bottom:top, left:right, :3].astype(int)
    assert np.abs(axis.lines[0].get_ydata() - axis.lines[1].get_ydata()).max() < 0.5
    for line in axis.lines[:2]:
        colour = np.round(255 * np.array(to_rgb(line.get_color())))
        columns = (np.abs(picture - colour).sum(axis=2) < 30).any(axis=0)
        assert columns.sum() > 0.2 * len(columns)


def test_angles_and_lengths_are_not_mixed():
    text = """<robot name="r"><link name="a"/>{}</robot>""".format(
        "".join(
            f'<link name="l{k}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" '
            'ixy="0" ixz="0" iyz="0"/>'
            f'</inertial></link><joint name="j{k}" type="{kind}"><parent link="{parent}"/><child '
            f'link="l{k}"/>'
            f'<axis xyz="0 0 1"/><limit effort="9" velocity="9" lower="-1" upper="1"/></joint>'
            for k, (kind, parent) in enumerate([("revolute", "a"), ("prismatic", "l0")])
        )
    )
    model = rd.load_urdf(text)
    assert joint_kinds(model) == {"angle": [0], "length": [1]}
    figure = rd.plot_run(rd.simulate(model, duration=0.05))
    titles = [axis.get_title(loc="left") for axis in figure.axes]
    assert "position [°]" in titles
    assert "position [mm]" in titles
    assert "effort [N]" in titles


def test_parts_that_are_zero_are_named_and_not_drawn(tmp_path):
    from robot_dynamics_ros.recordings.compute import Settings, compute
    from robot_dynamics_ros.recordings.recording import Recording
    from robot_dynamics_ros.recordings.write import draw_parts

    limb = rd.limb(3, inertia="point", gravity=(0.0, -9.81, 0.0))
    t = np.linspace(0.0, 2.0, 300)
    q = np.outer(t, (1.0, 2.0, 4.0))
    swing = Recording(
        "limb",
        limb.joint_names,
        t,
        q,
        np.broadcast_to((1.0, 2.0, 4.0), q.shape),
        None,
        np.arange(300),
    )
    history = compute(limb, swing, Settings(balance="joint3", observer="segment2"))
    seen = []
    from matplotlib.figure import Figure

    original = Figure.savefig
    try:
        Figure.savefig = lambda self, *a, **k: seen.append(self)
        draw_parts(history, tmp_path / "parts.png")
    finally:
        Figure.savefig = original
    (figure,) = seen
    assert "zero throughout: euler, distal, external" in figure.get_suptitle()
    assert len(figure.axes) == 2 * (len(history.parts) - 3)
    forces = figure.axes[::2]
    # one scale a column
    assert len({axis.get_ylim() for axis in forces}) == 1


def test_the_figure_of_an_identification_shows_joints_and_parameters(tmp_path):
    prior = rd.load_robot("six_axis")
    rng = np.random.default_rng(1)
    base = SimpleNamespace(
        names=tuple(f"parameter {k}" for k in range(52)),
        values=rng.standard_normal(52),
        half_width=np.concatenate([rng.uniform(1e-4, 1e-1, 51), [np.inf]]),
        confidence=0.95,
    )
    sizes = {name: rng.uniform(0.1, 10.0, 6) for name in ("effort_rms", "prior_rms", "rms")}
    found = SimpleNamespace(prior=prior, base=base, **sizes)
    figure = rd.plot_identification(found, tmp_path / "identification.png")
    bars, parameters = figure.axes
    assert [label.get_text() for label in bars.get_yticklabels()] == list(found.prior.joint_names)
    assert 39 <= len(parameters.get_yticklabels()) <= 40
    assert (tmp_path / "identification.png").stat().st_size > 10_000
