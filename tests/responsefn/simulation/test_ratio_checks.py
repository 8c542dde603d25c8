"""Closed forms over direct simulation."""

from __future__ import annotations

import numpy as np
import pytest

from responsefn import (
    HSTCP,
    Reno,
    Scalable,
    simulate_curve,
)
from responsefn.simulation.ratio_checks import EXACT, RTT, TOLERANCE, ratios


@pytest.mark.slow  # compiles a loop for each rule; test_one_rate has three loss rates of every one
@pytest.mark.parametrize("rule", EXACT, ids=repr)
def test_formula_is_the_deterministic_simulation_inside_its_domain(rule):
    p = np.geomspace(*EXACT[rule], 5)
    rates = [run.rate for run in simulate_curve(rule, p, RTT, events=300)]
    assert rule.rate(p, RTT) / rates == pytest.approx(1, abs=TOLERANCE)


def test_table_of_ratios():
    table = ratios((Reno(), Scalable(form="published"), HSTCP()), (1e-5, 1e-3), events=100)
    assert table.deterministic[0] == pytest.approx(1, abs=TOLERANCE)
    assert table.deterministic[1] == pytest.approx(8 * np.log(8 / 7), abs=1e-3)  # 0.08/p fails
    assert table.inside(Reno()).all()
    assert not table.inside(HSTCP()).any()
    assert table.markdown().count("**") == 4
    assert "±" in table.markdown(independent=True)
    assert "Reno()" in repr(table)
