"""What is printed: text that reads back as what it says, LaTeX and HTML that are well formed, the
same every time.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from support.random_trees import random_model

import robot_dynamics_ros as rd
from robot_dynamics_ros.cli.main import main
from robot_dynamics_ros.equations.equations_document import document_of
from robot_dynamics_ros.equations.render_html import render_html
from robot_dynamics_ros.equations.render_latex import render_latex, render_tex
from robot_dynamics_ros.equations.render_text import render_text
from robot_dynamics_ros.errors import UnknownNameError
from robot_dynamics_ros.model import DCMotor
from robot_dynamics_ros.model.description import JointType

S = pytest.importorskip("sympy")


@pytest.fixture(scope="module")
def three_link():
    return rd.symbolic(
        rd.load_robot("three_link"), "auto", motors={"joint2": DCMotor(1.0, 0.1, inductance=1e-3)}
    )


@pytest.mark.slow
def test_text_reads_back(three_link):
    text = render_text(document_of(three_link, digits=17))
    names = {str(s): s for s in (*three_link.q, *three_link.v, *three_link.values)}
    lines = dict(re.findall(r"^([A-Z]\[[\d, ]+\]) = (.*)$", text, re.MULTILINE))
    for i in range(3):
        for j in range(i, 3):
            assert S.sympify(lines[f"M[{i + 1}, {j + 1}]"], locals=names) - three_link.M[i, j] == 0
        assert S.expand(S.sympify(lines[f"D[{i + 1}]"], locals=names) - three_link.D[i]) == 0
    for d in three_link.definitions:
        used = any(
            S.Symbol(d.symbol, real=True) in x.free_symbols
            for x in (three_link.M, three_link.D, three_link.G)
        )
        assert not used or re.search(rf"^{d.symbol} ", text, re.MULTILINE)
    assert "skew-symmetric" in text and "recursive Newton-Euler" in text


def test_latex_is_well_formed(three_link):
    tex = render_tex(document_of(three_link))
    bare = tex.replace(r"\{", "").replace(r"\}", "")
    assert bare.count("{") == bare.count("}")
    begun = re.findall(r"\\begin\{(\w+\*?)\}", tex)
    ended = re.findall(r"\\end\{(\w+\*?)\}", tex)
    assert sorted(begun) == sorted(ended)
    assert tex.count(r"\left") == tex.count(r"\right")
    assert r"\dot{q}_{1}" in tex and r"m_{3}" in tex and r"\documentclass" in tex
    assert r"\documentclass" not in render_latex(document_of(three_link))
    assert tex.isascii() or all(ord(c) < 0x2000 for c in tex)


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no LaTeX here")
def test_latex_compiles(three_link, tmp_path):
    (tmp_path / "page.tex").write_text(render_tex(document_of(three_link)), encoding="utf-8")
    run = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"],
        cwd=tmp_path,
        capture_output=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stdout[-2000:]


def test_html_is_well_formed_and_self_contained(three_link):
    page = render_html(document_of(three_link))
    root = ET.fromstring(
        page.replace("<!DOCTYPE html>\n", "").replace('<meta charset="utf-8">', "")
    )
    assert len(root.findall(".//math")) > 30
    assert "http" not in page and "<script" not in page
    text = "".join(root.itertext())
    assert "mass of forearm" in text and "kg m²" in text


def test_html_formulas_say_what_the_expressions_say():
    """MathML read back by a small reader of its own."""
    ours = rd.symbolic(rd.load_robot("two_link"), "auto")
    page = render_html(document_of(ours, ["M", "D", "G", "K"], digits=17))
    root = ET.fromstring(
        page.replace("<!DOCTYPE html>\n", "").replace('<meta charset="utf-8">', "")
    )
    expected = [ours.M[0, 0], ours.M[0, 1], ours.M[1, 1], *ours.D, *ours.G, ours.K]
    names = {str(s): s for s in (*ours.q, *ours.v, *ours.values)}
    for math, wanted in zip(root.findall(".//math"), expected, strict=True):
        said = "".join(_read(row[1]) for row in math.find("mtable"))
        assert S.expand(S.sympify(said, locals=names) - wanted) == 0


def _read(node):
    tag = node.tag
    inner = [_read(child) for child in node]
    if tag == "msub":
        base = node[0]
        dots = {"˙": "d", "¨": "dd"}[base[1].text] if base.tag == "mover" else ""
        letter = base[0].text if base.tag == "mover" else base.text
        return f"{dots}{letter}{node[1].text}"
    if tag == "msup":
        if node[0].text in ("sin", "cos"):
            return f"{node[0].text}^{inner[1]}"
        return f"({inner[0]})**({inner[1]})"
    if tag == "mfrac":
        return f"(({inner[0]})/({inner[1]}))"
    if tag == "mo":
        return {"−": "-", "\u2062": "*", "·": "*", "\u2061": ""}.get(node.text, node.text)
    return (node.text or "").strip() + "".join(inner)


def test_unexpanded_documents_list_their_steps():
    ours = rd.symbolic(rd.load_robot("six_axis"), expand=False)
    text = render_text(document_of(ours, ["steps", "M"]))
    defined = set(re.findall(r"^(t\d+) = ", text, re.MULTILINE))
    assert len(defined) == len(ours.steps)
    assert set(re.findall(r"\bt\d+\b", text)) == defined


def test_unknown_parts_are_refused(three_link):
    with pytest.raises(UnknownNameError, match="inertia"):
        document_of(three_link, ["inertia"])


def test_the_command(tmp_path, capsys):
    assert main(["equations", "two_link", "--symbols", "auto", "--only", "M,G", "--report"]) == 0
    out = capsys.readouterr().out
    assert "M[2, 2] = I2 + lc2**2*m2" in out and "recursive, shared" in out
    page = tmp_path / "page.html"
    assert (
        main(["equations", "two_link", "--motor", "elbow:R=1,kt=0.1,L=1e-3,N=50", "-o", str(page)])
        == 0
    )
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert main(["equations", "two_link", "--list-parameters"]) == 0
    assert "mass:forearm" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["nowhere.urdf"], "neither a file"),
        (["two_link", "--symbol", "mass:forearm"], "PARAMETER=NAME"),
        (["two_link", "--symbol", "mass:forearm=int"], "keyword"),
        (["two_link", "--motor", "elbow:R=1"], "needs kt"),
        (["two_link", "--motor", "elbow:R=1,X=2"], "not understood"),
        (["seven_axis", "--max-terms", "100"], "--unexpanded"),
    ],
)
def test_the_command_explains_what_is_wrong(arguments, message, capsys):
    assert main(["equations", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_output_is_the_same_on_every_run(tmp_path):
    texts = []
    for seed in ("0", "1"):
        out = tmp_path / f"{seed}.tex"
        subprocess.run(
            [
                sys.executable,
                "-m",
                "robot_dynamics_ros.cli.main",
                "equations",
                "two_link",
                "--motor",
                "elbow:R=1,kt=0.1,L=1e-3,N=50",
                "--symbols",
                "auto",
                "-o",
                str(out),
            ],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            check=True,
            timeout=240,
        )
        texts.append(out.read_bytes())
    assert texts[0] == texts[1]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [28, 40, 53])
def test_every_printed_form_pasted_back_gives_the_numbers(seed):
    """Prismatic joints between rotated frames, whose exact constants are fractions of hundreds of
    digits.
    """
    model = random_model(
        seed, 3 if seed % 2 else 2, types=(JointType.PRISMATIC, JointType.REVOLUTE)
    )
    equations = rd.symbolic(model)
    q, v = np.random.default_rng(seed).normal(size=(2, model.nv))
    space = {"sin": np.sin, "cos": np.cos, "sqrt": np.sqrt}
    for k in range(model.nv):
        space |= {f"q{k + 1}": q[k], f"dq{k + 1}": v[k]}
    expected = {}
    gravity = rd.gravity_forces(model, q)
    M = rd.mass_matrix(model, q)
    C = rd.coriolis_matrix(model, q, v)
    for i in range(model.nv):
        expected[f"D[{i + 1}]"] = (rd.bias_forces(model, q, v) - gravity)[i]
        expected[f"G[{i + 1}]"] = gravity[i]
        for j in range(model.nv):
            expected |= {f"M[{i + 1}, {j + 1}]": M[i, j]} if j >= i else {}
            expected[f"N[{i + 1}, {j + 1}]"] = C[i, j]
    expected |= {"K": rd.kinetic_energy(model, q, v), "U": rd.potential_energy(model, q)}
    scale = max(1.0, *(abs(x) for x in expected.values()))
    text = equations.text()
    page = equations.html(["M", "D", "G", "coriolis", "K", "U"])
    said = dict(re.findall(r"^([A-Z](?:\[[\d, ]+\])?) = (.*)$", text, re.MULTILINE))
    for name, value in expected.items():
        assert abs(eval(said[name], dict(space)) - value) < 1e-12 * scale, name
    root = ET.fromstring(
        page.replace("<!DOCTYPE html>\n", "").replace('<meta charset="utf-8">', "")
    )
    formulas = [
        "".join(_read(row[1]) for row in math.find("mtable")) for math in root.findall(".//math")
    ]
    for formula, (name, value) in zip(formulas, _printed_order(expected), strict=True):
        number = S.sympify(formula).subs({k: x for k, x in space.items() if not callable(x)})
        assert abs(float(number) - value) < 1e-12 * scale, name
    for printed in (text, page, equations.latex()):
        assert not re.search(r"\b(nan|oo|inf)\b|\\infty|\\text\{NaN\}|e[+-]\d{3}", printed)
    for formula in (
        equations.joint_wrench(rd.all_joint_names(model)[0]),
        equations.jacobian(model.link_names[-1]),
    ):
        assert not re.search(r"\b(nan|oo)\b|e[+-]\d{3}", formula.text())


def _printed_order(expected):
    return [
        (name, expected[name])
        for letter in "MDGNKU"
        for name in expected
        if name.startswith(letter)
    ]
