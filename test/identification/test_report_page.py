"""Pictures and the page of an identification."""

import dataclasses
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.recordings import Recording

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


def run(model, seed, w, noise=0.02):
    t = np.arange(0.0, 6.0, 2e-3)
    x = t[:, None] * np.array(w)
    q = np.sin(x)
    v = np.array(w) * np.cos(x)
    a = -(np.array(w) ** 2) * np.sin(x)
    effort = (
        rd.inverse_dynamics(model, q, v, a) + model.damping * v + model.friction * np.tanh(v / 0.01)
    )
    effort += noise * np.random.default_rng(seed).standard_normal(q.shape)
    return Recording(f"run {seed} <&>", model.joint_names, t, q, None, effort, np.arange(len(t)))


@pytest.fixture(scope="module")
def case():
    prior = rd.load_robot("two_link")
    truth = rd.robot_model_error(rd.random_model_error(prior, 1, com=0.2), mass=1.4, friction=2.0)
    runs = [run(truth, 1, (2.3, 3.1)), run(truth, 2, (1.9, 3.7))]
    return (
        truth,
        runs,
        rd.identify_recordings(prior, runs[0], rd.IdentificationSettings(friction="simple")),
    )


def test_a_comparison_holds_the_efforts_of_both_robots(case):
    truth, runs, found = case
    c = rd.compare(found, runs[1])
    rows = np.searchsorted(runs[1].t, c.t + runs[1].t[0])
    np.testing.assert_array_equal(c.measured, runs[1].effort[rows])
    np.testing.assert_allclose(c.q, np.sin(c.t[:, None] * (1.9, 3.7)), atol=1e-3)
    assert (c.check.identified < 0.1 * c.check.prior).all()
    # what is left is the noise that was added, of the raw rows too
    # but where friction changes its side
    left = np.median(np.abs(c.measured - c.identified), axis=0) / 0.6745
    np.testing.assert_allclose(left, 0.02, rtol=0.1)
    friction = truth.damping * c.v + truth.friction * np.sign(c.v)
    fast = np.abs(c.v) > 0.3
    np.testing.assert_allclose((c.identified - c.rigid)[fast], friction[fast], atol=0.1)


def test_a_joint_is_drawn_before_and_after(case, tmp_path):
    _, runs, found = case
    c = rd.compare(found, runs[0])
    figure = rd.plot_joint(found, c, "elbow", tmp_path / "elbow.png")
    over, left, spectrum, seen, friction, by_speed = figure.axes
    curves = {line.get_label(): line.get_ydata() for line in over.lines}
    np.testing.assert_array_equal(curves["measured"], c.measured[:, 1])
    np.testing.assert_array_equal(curves["identified"], c.identified[:, 1])
    before, after = (line.get_ydata() for line in left.lines)
    assert np.std(after) < 0.2 * np.std(before)
    # white noise of 0.02 N m at 500 Hz: 0.02 / √250 at every frequency
    assert np.median(spectrum.lines[2].get_ydata()) == pytest.approx(0.02 / np.sqrt(250.0), rel=0.2)
    assert np.ptp(seen.lines[0].get_xdata()) == pytest.approx(np.rad2deg(2.0), rel=0.01)
    assert len(friction.lines) == 2
    assert np.std(by_speed.lines[0].get_ydata()) == pytest.approx(np.std(after), rel=0.1)
    assert (tmp_path / "elbow.png").stat().st_size > 10_000
    with pytest.raises(rd.UnknownNameError, match="knee"):
        rd.plot_joint(found, c, "knee")


class Page(HTMLParser):
    """Tags that are open, pictures, and text."""

    def __init__(self):
        super().__init__()
        self.open = []
        self.pictures = []
        self.text = ""

    def handle_starttag(self, tag, attributes):
        if tag == "img":
            self.pictures.append(dict(attributes))
        elif tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.mark.slow
def test_the_page_stands_alone(case):
    _, runs, found = case
    shares = []
    text = rd.report_html(
        found, [rd.compare(found, runs[0])], [rd.compare(found, runs[1])], runs[:1], shares.append
    )
    page = Page()
    page.feed(text)
    assert not page.open
    assert len(page.pictures) == 1 + 2 * found.prior.nv and shares[-1] == 1.0
    assert all(p["src"].startswith("data:image/png;base64,") for p in page.pictures)
    assert not re.search(r"https?://|src=\"(?!data:)|href=", text)
    assert "run 1 <&>" in page.text and "not identified from" in page.text
    for name in found.base.names:
        assert name in page.text


def test_findings_tell_good_from_bad(case):
    truth, runs, found = case
    good = rd.findings(found, [rd.compare(found, runs[1])])
    assert good[-1][0] == "good" and "poor" not in dict(good), good
    assert any("run 2" in text and level == "good" for level, text in good)
    # another load
    other = run(rd.robot_model_error(truth, mass=1.5), 3, (2.1, 2.9))
    bad = rd.findings(found, [rd.compare(found, other)])
    assert any("run 3" in text and level != "good" for level, text in bad)
    assert any("--validate" in text for _, text in rd.findings(found))


def test_a_mass_whose_interval_contains_zero_is_said_to_be_not_seen(case):
    _, _, found = case
    wide = dataclasses.replace(
        found, full=dataclasses.replace(found.full, covariance=1e4 * found.full.covariance)
    )
    links = [found.prior.joint(name).child for name in found.prior.joint_names]
    text = rd.report_text(wide)
    assert f"The efforts do not show the masses of: {', '.join(links)}" in text
    assert text.count("(not seen)") == len(links)
    sure = dataclasses.replace(found.full, covariance=1e-4 * found.full.covariance)
    assert "not seen" not in rd.report_text(dataclasses.replace(found, full=sure))
    seen = [mass["seen"] for mass in json.loads(rd.report_json(wide))["masses"]]
    assert seen == [False] * len(links)


def test_the_report_has_units_formulas_and_what_limits_the_motion(case):
    _, _, found = case
    text = rd.report_text(found, command="robot_dynamics identify two_link --csv run.csv")
    assert "- command: `robot_dynamics identify two_link --csv run.csv`" in text
    assert f"This motion shows worst: {found.base.limited_by[0]}" in text
    assert (
        "| viscous [N m s/rad] | Coulomb [N m] | " in text and "| rotor inertia [kg m²] |" in text
    )
    assert "| mass before [kg] | mass [kg] |" in text and "| elbow    | N m  |" in text
    assert "viscous · v + Coulomb · d + offset" in text and "d = tanh(v / smoothing)" in text
    names = found.base.names
    units = {
        row["name"]: row["unit"] for row in json.loads(rd.report_json(found))["base_parameters"]
    }
    assert units["elbow.viscous"] == "N m s/rad" and units["elbow.coulomb"] == "N m"
    inertias = [name for name in names if name.partition(" ")[0].endswith(("Izz", "Iyy", "Ixx"))]
    assert inertias and {units[name] for name in inertias} == {"kg m²"}
    # a sum is written whole
    grouped = [k for k, name in enumerate(names) if "more" in name]
    for k in grouped:
        assert f"- {names[k]}: {found.identifiable.meaning(k)}" in text
    # the direction that the motion shows worst, by the normal equations of the same rows
    Y = found.identifiable.base.regressor(found.parameters.regressor(*_motion_of(case)))
    scaled = Y / found.identifiable.effort_scale[:, None] / found.identifiable.sensitivity
    scaled = scaled.reshape(-1, Y.shape[-1])
    _, vectors = np.linalg.eigh(scaled.T @ scaled)
    assert names[int(np.argmax(np.abs(vectors[:, 0])))] == found.base.limited_by[0]


def _motion_of(case):
    """Positions, velocities and accelerations of the recording that was identified."""
    t = case[1][0].t
    w = np.array([2.3, 3.1])
    x = t[:, None] * w
    return np.sin(x), w * np.cos(x), -(w**2) * np.sin(x)
