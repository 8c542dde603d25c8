"""Rules that come to several rates say so, and rates that need long to be reached."""

from __future__ import annotations

import numpy as np
import pytest

from responsefn import HTCP, Illinois, Reno, Westwood, curve, invert
from responsefn.errors import SeveralAttractorsWarning, SlowApproachWarning
from responsefn.linux import LinuxCUBIC, WestwoodPlus


@pytest.mark.parametrize(
    ("rule", "p", "rtt"),
    [
        pytest.param(LinuxCUBIC(kernel="2.6.22"), 0.01, 0.01, marks=pytest.mark.slow),
        (Illinois(), 0.02, 0.1),
    ],
    ids=repr,
)
def test_a_rate_that_is_one_of_two_says_so(rule, p, rtt):
    with pytest.warns(SeveralAttractorsWarning, match="from different windows") as seen:
        rate = rule.rate(p, rtt)
    rates = seen[0].message.rates
    assert len(rates) == 2
    assert rates == pytest.approx(rule.attractors(p, rtt), rel=2e-3)
    assert min(abs(rate / each - 1.0) for each in rates) < 2e-3


@pytest.mark.filterwarnings("error")
def test_rules_with_one_rate_and_questions_on_the_way_say_nothing():
    assert Reno().cycle(0.01, 0.1).rate > 0.0
    assert Illinois().rate(0.005, 0.1) > 0.0
    assert LinuxCUBIC(kernel="2.6.22").rate(1e-3, 0.1) > 0.0
    assert invert(Illinois(), 612.0, 0.1) > 0.0


@pytest.mark.slow
def test_a_curve_has_the_attractors_and_warns_of_none():
    found = curve([LinuxCUBIC(kernel="2.6.22"), Reno()], [1e-3, 0.01], rtt=0.01)
    assert np.isnan(found.attractors[..., 1]).tolist() == [[True, False], [True, True]]
    np.testing.assert_array_equal(found.attractors[1, :, 0], found.rate[1])
    assert found.attractors[0, 1, 1] == pytest.approx(LinuxCUBIC(kernel="2.6.22").attractors(0.01, 0.01)[1], rel=2e-3)
    assert found.to_xarray()["attractors"].dims == ("rule", "p", "attractor")
    assert "at 1 of 2 values" in repr(found)


def test_a_curve_says_where_the_search_was_finished():
    """LinuxCUBIC takes 50 cycles at p = 1e-4 to repeat, more than a run of the search is given."""
    found = curve([HTCP(), LinuxCUBIC(kernel="2.6.22")], [1e-4, 0.01], rtt=0.1)
    assert found.searched.tolist() == [[True, True], [False, True]]
    assert found.to_xarray()["searched"].dims == ("rule", "p")


@pytest.mark.slow
def test_loss_events_that_a_connection_needs():
    """Westwood gains (1/(4 p W))^2 packets from loss to loss, summed up to 0.99 of the capacity of 667 packets."""
    p, pipe = 0.01, 8333.0 * 0.08
    with pytest.warns(SlowApproachWarning, match="loss events to come within 1 %"):
        Westwood().rate(p, 0.08, bandwidth=8333.0)
    events = Westwood().cycle(p, 0.08, bandwidth=8333.0).loss_events
    assert events == pytest.approx(16 / 3 * p**2 * (0.99 * pipe) ** 3, rel=0.08)
    assert WestwoodPlus().cycle(0.01, 0.04, bandwidth=8333.0).loss_events > 10_000
    assert np.isnan(Reno().cycle(0.01, 0.1).loss_events)
