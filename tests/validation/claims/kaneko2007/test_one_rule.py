"""Flows of one rule over several bottlenecks."""

from __future__ import annotations

import pytest

from validation.claims.kaneko2007.one_rule import LOT_LINK, by_hops


def test_flows_of_all_lengths_fill_a_link_and_fall_with_the_length() -> None:
    """Rate as 1/(RTT sqrt(p)): h^-1.5 over h hops."""
    rates = by_hops()
    assert 2 * sum(rates.values()) == pytest.approx(LOT_LINK)
    assert rates[2] / rates[1] == pytest.approx(2**-1.5, rel=1e-6)
