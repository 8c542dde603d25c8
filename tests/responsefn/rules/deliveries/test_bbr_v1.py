"""BBR version 1: its filter of rates, its gains, its refusals."""

from __future__ import annotations

import math

import pytest

from responsefn import BBRv1, Delivery
from responsefn.rules.deliveries import bbr_v1
from tests.responsefn.rules.deliveries.draft_bbr_v1 import DraftBBRv1
from tests.responsefn.rules.deliveries.random_deliveries import check_every_step

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


def test_what_linux_adds_is_zero_unless_given() -> None:
    more = BBRv1(pacing_margin=0.01, probe_packets=2.0, aggregated=3.0)
    state = RULE.State()._replace(
        mode=2.0, cycle_index=0.0, best=1000.0, min_rtt=0.02, filled_pipe=1.0, cwnd=100.0
    )
    seen = Delivery(*[0.0] * 15)._replace(acked=1.0, in_flight=30.0, delivered=1e4)
    plain, added = (bbr_v1.control(state, rule.params, seen) for rule in (RULE, more))
    assert (plain.pacing_rate, plain.cwnd) == (1250.0, 2 * 20.0 + 3.0)
    assert (added.pacing_rate, added.cwnd) == (0.99 * 1250.0, 2 * 20.0 + 3.0 + 2.0 + 3.0)
    later = state._replace(cycle_index=2.0)
    assert bbr_v1.control(later, more.params, seen).cwnd == 2 * 20.0 + 3.0 + 3.0


@pytest.mark.parametrize("name", ["pacing_margin", "probe_packets", "aggregated"])
def test_negative_additions_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=rf"^{name} = -1: must be .* >= 0"):
        BBRv1(**{name: -1.0})


def test_every_state_changes_as_the_draft_and_linux_say() -> None:
    check_every_step(RULE, DraftBBRv1, 4)


def test_a_new_connection_and_a_timeout_are_those_of_the_draft() -> None:
    """Sect. 4.2.1: ten packets, 2/ln 2 of them per ms; Sect. 4.2.3.4: the window is saved, and one packet sent."""
    first = RULE.State()._asdict()
    others = {"cwnd": 10.0, "pacing_rate": pytest.approx(2.0 / math.log(2.0) * 10.0 / 1e-3)}
    others |= {"ssthresh": math.inf, "min_rtt": math.inf, "limited_until": -1.0}
    assert first == {name: others.get(name, 0.0) for name in first}
    for recovering, prior, saved in ((0.0, 90.0, 80.0), (1.0, 90.0, 90.0), (1.0, 5.0, 80.0)):
        state = RULE.State()._replace(cwnd=80.0, prior_cwnd=prior, recovering=recovering)
        after = BBRv1.on_timeout(state, RULE.params, None)
        assert after == state._replace(cwnd=1.0, prior_cwnd=saved, recovering=1.0)
