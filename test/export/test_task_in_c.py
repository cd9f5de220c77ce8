"""The tool's reference and Cartesian impedance as C, beside the Python that they are made from."""

import subprocess

import numpy as np
import pytest
from support.c_code import compile_c, needs_compiler

import robot_dynamics_ros as rd

# a package is made and compiled
pytestmark = pytest.mark.slow
MS = 1_000_000
START = np.array([0.3, -0.6, 1.0])
# a line a call: a word, integers, numbers; what follows from it is printed
DRIVER = r"""
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "arm_controller/arm_cycle.h"

enum { N = ARM_NV };

static void numbers(double *out, int n)
{
    for (int k = 0; k < n; ++k) {
        if (scanf("%lf", out + k) != 1) { out[k] = 0.0; }
    }
}

static void print(const double *x, int n)
{
    for (int k = 0; k < n; ++k) { printf("%.17g ", x[k]); }
}

int main(void)
{
    static arm_task_memory p;
    static arm_task_law_memory law;
    arm_robot robot = {arm_default_parameters, arm_default_parameters};
    char word[16];
    int64_t t, more;
    double x[7 * N], effort[N];
    p = arm_task_initial;
    law = arm_task_law_initial;
    p.context = &robot;
    law.context = &robot;
    while (scanf("%15s %" SCNd64 " %" SCNd64, word, &t, &more) == 3) {
        if (strcmp(word, "begin") == 0) {
            numbers(p.position, N);
            numbers(p.velocity, N);
            memcpy(p.posture, p.position, sizeof p.posture);
            arm_task_begin_task(&p, t);
        } else if (strcmp(word, "pose") == 0) {
            numbers(p.given_pose, 7);
            arm_task_take_pose(&p, more);
        } else if (strcmp(word, "twist") == 0) {
            numbers(p.given_twist, 6);
            arm_task_take_twist(&p, t, more);
        } else if (strcmp(word, "wrench") == 0) {
            numbers(p.given_wrench, 6);
            arm_task_take_wrench(&p, t, more);
        } else if (strcmp(word, "hold") == 0) {
            arm_task_rest_at_reference(&p);
        } else if (strcmp(word, "follow") == 0) {
            numbers(p.measured, N);
            arm_task_follow_task(&p, t, x);
            print(p.piece, 3 * N);
            print(p.piece + 6 * N, N);
            printf("\n");
        } else {
            numbers(x, 7 * N);
            arm_task_law_evaluate_task_law(
                &law, x, x + N, x + 2 * N, x + 5 * N, effort);
            print(effort, N);
            printf("\n");
        }
    }
    return 0;
}
"""


class Both:
    """Calls the Python reference, and writes down what C is to be called with."""

    def __init__(self, tool):
        self.tool = tool
        self.lines = []
        self.expected = []

    def note(self, word, t, more, *values):
        numbers = " ".join(f"{x:.17g}" for value in values for x in np.ravel(value))
        self.lines.append(f"{word} {t} {more} {numbers}")

    def follow(self, t, q):
        self.tool.follow(t, q)
        piece = self.tool.piece
        self.note("follow", t, 0, q)
        self.expected.append(np.concatenate([piece[:3].ravel(), piece[6]]))


@needs_compiler
def test_reference_and_impedance_in_c(tmp_path):
    arm = rd.load_robot("three_link")
    rng = np.random.default_rng(5)
    settings = rd.TaskSettings(
        link="tool0",
        offset=rd.Pose.from_rpy((0.01, 0.02, 0.1), (0.1, 0.2, 0.3)),
        # a rotation, too
        axes=(False, True, False, True, True, False),
    )
    spring = np.diag([20.0, 30.0, 25.0]) @ np.hstack([0.1 * np.eye(3)[[1, 2, 0]], np.eye(3)])
    law = rd.CartesianImpedance(
        link="tool0",
        axes="tool",
        stiffness=spring.T @ spring,
        largest_error=(0.3, 0.1),
        friction=rd.Friction.of(arm),
    )
    code = rd.export_controller(arm, prefix="arm", task=settings, cartesian=law)
    code.write(tmp_path)
    (tmp_path / "driver.c").write_text(DRIVER)
    sources = ["driver.c", "src/arm.c", "src/arm_cycle.c"]
    program = compile_c(tmp_path, sources, "driver", "-O0", "-Iinclude")

    tool = rd.ToolReference(arm, settings)
    tool.limit(arm.lower, arm.upper, arm.velocity_limit, arm.velocity_limit / 0.25)
    both = Both(tool)
    tool.begin(0, START, np.zeros(3))
    both.note("begin", 0, 0, START, np.zeros(3))
    home = tool.memory["pose"].copy()
    t = 0
    for k in range(1000):
        t += int(rng.choice([1, 1, 2, 4])) * MS
        if k % 15 == 5 and k < 600:
            # a stream at some hertz, then a jump, out of reach now and then
            away = 0.02 * np.sin(0.02 * k) if k < 300 else np.array([0.0, 2.0, 0.0])
            tool.to_pose(home[:3] + away, home[3:], t)
            both.note("pose", t, t, tool.memory["given_pose"])
        if k in range(600, 800, 20):
            twist = rng.normal(size=6) * 0.2
            tool.by_twist(twist[:3], twist[3:], t)
            both.note("twist", t, t, twist)
        if k in range(100, 700, 40):
            wrench = rng.uniform(-5.0, 5.0, 6)
            in_link = int(rng.integers(2))
            tool.exert(wrench[:3], wrench[3:], t, frame="tool0" if in_link else "")
            both.note("wrench", t, in_link, wrench)
        if k == 850:
            tool.hold()
            both.note("hold", t, 0)
        both.follow(t, tool.piece[0] + 0.01 * rng.normal(size=3))
    # bounds were met, and the wrench has faded
    assert sum(tool.counts.values()) > 0
    assert not tool.p.exerts[0]
    efforts = rd.bind(arm, law)
    for k in range(20):
        # every fourth pose is singular
        q = rng.normal(size=3) * (k % 4 > 0)
        v = rng.normal(size=3)
        reference = np.stack([q + 0.3 * rng.normal(size=3), *rng.normal(size=(2, 3))])
        both.note("law", 0, 0, q, v, reference, reference[:2] - [q, v])
        both.expected.append(efforts(q, v, *reference).copy())
    given = "\n".join([*both.lines, ""])
    printed = subprocess.run([program], input=given, capture_output=True, text=True, check=True)
    rows = [np.array(line.split(), dtype=float) for line in printed.stdout.splitlines()]
    for row, expected in zip(rows, both.expected, strict=True):
        scale = max(1.0, float(np.abs(expected).max()))
        np.testing.assert_allclose(row, expected, rtol=0, atol=1e-9 * scale)
