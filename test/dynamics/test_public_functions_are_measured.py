"""Each public function of the dynamics has a row in its benchmark, and the row's call runs."""

from __future__ import annotations

import robot_dynamics_ros as rd
from benchmarks.public_functions import NOT_OF_A_STATE, calls, public_functions
from robot_dynamics_ros import dynamics


def test_every_public_function_has_a_row():
    rows = calls(rd.load_robot("two_link"))
    assert public_functions() == set(rows)
    assert set(dynamics.__all__) >= NOT_OF_A_STATE
    for call in rows.values():
        call()
