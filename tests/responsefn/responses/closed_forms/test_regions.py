"""Ranges of closed forms against their conditions, p by p."""

from __future__ import annotations

import numpy as np
import pytest

from responsefn import AIMD, DCTCP, Reno, Scalable
from responsefn.responses.closed_forms.regions import BORDER, range_of


@pytest.mark.parametrize("rule", [Reno(), AIMD(b=0.125), Scalable(legacy=60.0), DCTCP()], ids=repr)
def test_a_range_is_where_the_condition_holds(rule):
    low, high = range_of(rule, 0.1)
    p = np.geomspace(1e-6, 1.0, 2001)
    np.testing.assert_array_equal((low <= p) & (p <= high), rule.closed_form_holds(p, 0.1))
    ends = np.array([max(low, 1e-300), high])
    assert rule.closed_form_holds(ends, 0.1).all()
    assert not rule.closed_form_holds(high * (1.0 + 3.0 * BORDER), 0.1)


def test_a_condition_that_is_no_bound_has_no_range():
    assert range_of(AIMD(form="recovery"), 0.1) is None
