"""BBR version 3 by its parts: states, bounds, and what it refuses."""

from __future__ import annotations

import math

import pytest

from responsefn import BBR, Delivery, RuleError, coexist, curve, invert, simulate_rule
from tests.responsefn.rules.deliveries.draft_bbr import DraftBBR
from tests.responsefn.rules.deliveries.random_deliveries import check_every_step

RULE = BBR()
RATE, TRIP = 1000.0, 0.05


def acknowledged(state: BBR.State, rounds: int, rate: float = RATE, **changed: float) -> BBR.State:
    """Apply an acknowledgement per packet of a path that delivers ``rate`` with a fixed round-trip time."""
    flight = rate * TRIP
    for n in range(int(rounds * flight)):
        delivered = float(n + 1)
        seen = Delivery(
            n / rate, TRIP, 1.0, 0.0, 0.0, delivered, max(0.0, delivered - flight), TRIP, flight,
            flight, 0.0, 0.0, 0.0, 0.0, 0.3,
        )  # fmt: skip
        state = BBR.on_delivery(state, RULE.params, seen._replace(**changed))
    return state


def test_startup_ends_after_three_rounds_without_growth() -> None:
    """Sect. 5.3.1.2: a delivery rate that does not grow by 25 % in three rounds is the path's."""
    early = acknowledged(RULE.State(), 2)
    late = acknowledged(RULE.State(), 8)
    assert early.full_bw_reached == 0.0
    assert early.pacing_rate > 2.0 * RATE
    assert late.full_bw_reached == 1.0
    assert late.pacing_rate < 1.3 * RATE


def test_the_window_is_a_multiple_of_the_product() -> None:
    """Sect. 5.6.4.2: twice the bandwidth-delay product, 50 packets."""
    state = acknowledged(RULE.State(), 12)
    assert state.min_rtt == TRIP
    assert max(state.bw_now, state.bw_before) == pytest.approx(RATE, rel=1e-9)
    assert state.cwnd <= 2.25 * RATE * TRIP + 2.0


def test_losses_above_the_threshold_of_a_probe_bound_the_flight() -> None:
    """Sect. 5.5.10.2: 2 % of 100 packets in flight are 2; the third lost is too many."""
    state = RULE.State()._replace(
        mode=5.0, full_bw_reached=1.0, is_bw_probe_sample=1.0, bw_now=RATE, min_rtt=TRIP, cwnd=120.0
    )
    seen = Delivery(
        1.0, TRIP, 1.0, 1.0, 0.0, 500.0, 400.0, TRIP, 90.0, 100.0, 3.0, 100.0, 2.0, 0.0, 0.5
    )
    assert BBR.on_delivery(state, RULE.params, seen).inflight_longterm == math.inf
    after = BBR.on_delivery(state, RULE.params, seen._replace(lost_with=3.0))
    assert after.inflight_longterm == pytest.approx(99.0 + (0.02 * 99.0 - 2.0) / 0.98)
    assert after.mode == 2.0


def test_it_has_no_response_function() -> None:
    for ask in (
        lambda: RULE.rate(0.01, 0.1),
        lambda: RULE.mean_window(0.01, 0.1),
        lambda: RULE.cycle(0.01, 0.1),
        lambda: curve([RULE], [0.01], 0.1),
        lambda: invert(RULE, rate=100.0, rtt=0.1),
    ):
        with pytest.raises(ValueError, match="no response function"):
            ask()
    with pytest.raises(RuleError, match="deliveries"):
        simulate_rule(RULE, 0.01, 0.1)
    with pytest.raises((RuleError, ValueError), match=r"deliver|loss rate"):
        coexist([RULE], rtt=0.04, bandwidth=2000.0, buffer=80, seconds=1.0)


@pytest.mark.parametrize(
    "name", ["loss_threshold", "beta", "headroom", "up_gain", "min_rtt_window"]
)
def test_parameters_out_of_range_are_named(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        BBR(**{name: -1.0})


def test_every_state_changes_as_the_pseudocode_of_the_draft_says() -> None:
    check_every_step(RULE, DraftBBR, 7)


def test_a_new_connection_and_a_timeout_are_those_of_the_draft() -> None:
    """Sect. 5.2.1, BBROnInit: InitialCwnd, 2.77 of it per ms, no bounds; Sect. 5.6.4.4: a window of one packet."""
    unbounded = {"ssthresh", "bw_shortterm", "inflight_shortterm", "inflight_longterm", "min_rtt"}
    unbounded |= {"probe_rtt_min_delay", "probe_up_acked_per_inc"}
    first = RULE.State()._asdict()
    others = {"cwnd": 10.0, "pacing_rate": pytest.approx(2.77 * 10.0 / 1e-3), "limited_until": -1.0}
    assert first == {
        name: math.inf if name in unbounded else others.get(name, 0.0) for name in first
    }
    for prior, cwnd in ((5.0, 80.0), (90.0, 80.0)):
        state = RULE.State()._replace(cwnd=cwnd, prior_cwnd=prior)
        after = BBR.on_timeout(state, RULE.params, None)
        assert after == state._replace(cwnd=1.0, prior_cwnd=max(prior, cwnd), recovering=1.0)
