"""States with which numerical cycles begin."""

from __future__ import annotations

import numpy as np
import pytest

from responsefn import Reno, Westwood
from responsefn.responses.cycle_starts import begin_at_peak


def test_it_begins_at_the_peak_of_the_closed_form_or_at_that_given():
    """Reno's peak at one loss in n packets is sqrt(8 n / 3)."""
    p, rtt = np.array([1e-4]), np.array([0.1])
    assert begin_at_peak(Reno(), p, rtt, None)[0, 0] == pytest.approx((8e4 / 3) ** 0.5)
    assert begin_at_peak(Reno(), p, rtt, None, np.array([7.0]))[0].tolist() == [7.0, 2.0]


def test_estimates_of_the_rate_are_those_of_the_window():
    (state,) = begin_at_peak(Westwood(), np.array([1e-3]), np.array([0.1]), 1e3, np.array([50.0]))
    assert Westwood.State(*state).estimate == pytest.approx(500.0)
