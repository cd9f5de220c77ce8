"""Pictures and the page of an identification."""

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
    over, left, spectrum, seen, friction = figure.axes
    curves = {line.get_label(): line.get_ydata() for line in over.lines}
    np.testing.assert_array_equal(curves["measured"], c.measured[:, 1])
    np.testing.assert_array_equal(curves["identified"], c.identified[:, 1])
    before, after = (line.get_ydata() for line in left.lines)
    assert np.std(after) < 0.2 * np.std(before)
    # white noise of 0.02 N m at 500 Hz: 0.02 / √250 at every frequency
    assert np.median(spectrum.lines[2].get_ydata()) == pytest.approx(0.02 / np.sqrt(250.0), rel=0.2)
    assert np.ptp(seen.lines[0].get_xdata()) == pytest.approx(np.rad2deg(2.0), rel=0.01)
    assert len(friction.lines) == 2
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
