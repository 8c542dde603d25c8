"""BBR version 1: its filter of rates, its gains, its refusals."""

from __future__ import annotations

import pytest

from responsefn import BBRv1, Delivery
from responsefn.rules.deliveries import bbr_v1

RULE = BBRv1()


def test_the_filter_keeps_the_largest_rate_of_ten_rounds() -> None:
    state = RULE.State()
    rates = [100.0, 300.0, *[200.0] * 20]
    kept = []
    for n, rate in enumerate(rates):
        seen = Delivery(*[0.0] * 15)._replace(
            acked=1.0, delivered=10.0 * n, prior_delivered=10.0 * n
        )
        state = bbr_v1.bottleneck(state, RULE.params, seen, rate)
        kept.append(state.best)
    assert kept[1:11] == [300.0] * 10
    assert kept[13:] == [200.0] * (len(rates) - 13)


def test_gains_of_the_cycle_average_to_one() -> None:
    states = [RULE.State()._replace(mode=2.0, cycle_index=float(n)) for n in range(8)]
    gains = [bbr_v1.gain_of(state, RULE.params) for state in states]
    assert gains == [1.25, 0.75, *[1.0] * 6]


def test_it_has_no_response_function() -> None:
    with pytest.raises(ValueError, match="does not respond to loss"):
        RULE.rate(0.01, 0.1)
