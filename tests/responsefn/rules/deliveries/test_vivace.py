"""Vivace: utility, probes and steps by hand, and where flows of it come to rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dfcmodel import Flow, Link, Packets, Scenario, simulate
from responsefn import Delivery, Vivace
from responsefn.rules.deliveries.vivace import (
    AMPLIFIER,
    BOUND,
    MOVING,
    PROBING,
    STARTING,
    decided,
    judged,
    stepped,
    utility_of,
)

RULE = Vivace(unit_rate=100.0)
SEEN = Delivery(*[0.0] * 15)._replace(acked=1.0, random=0.9)


def interval(at: float, slope: float = 0.0, lost: float = 0.0, **given: Any) -> Any:
    """Return a state whose old interval sent 100 packets at a rate, with round trips that grow by ``slope`` s per s."""
    sent = np.arange(100) / at
    rtt = 0.1 + slope * sent
    came = sent + rtt
    return RULE.State(
        old_begin=0.0, old_end=100 / at, old_rate=at, old_count=100.0, old_total=rtt.sum(),
        old_moment=float((np.arange(100) * rtt).sum()), old_sent=sent[-1], old_first=came[0], old_came=came[-1],
        old_lost=lost, old_open=1.0, **given,
    )  # fmt: skip


def test_the_utility_is_that_of_its_formula() -> None:
    """x^0.9 - 900 x dR/dt - 11.35 x L, the slope by the smaller estimate: 1 - 1/(1 + s) by what arrives."""
    assert utility_of(interval(400.0), RULE.params) == pytest.approx(4.0**0.9, rel=1e-12)
    lossy = utility_of(interval(400.0, lost=25.0), RULE.params)
    assert lossy == pytest.approx(4.0**0.9 - 11.35 * 4.0 * 0.2, rel=1e-12)
    steep = utility_of(interval(400.0, slope=0.1), RULE.params)
    assert steep == pytest.approx(4.0**0.9 - 900.0 * 4.0 * (1.0 - 1.0 / 1.1), rel=1e-9)
    for slope in (0.019, -0.3):  # below the filter
        assert utility_of(interval(400.0, slope=slope), RULE.params) == pytest.approx(4.0**0.9)


@pytest.mark.parametrize(
    ("change", "mode", "slope"),
    [(0.05, PROBING, 0.05 / 0.2475), (-0.05, PROBING, -0.05 / 0.2475), (-0.05, STARTING, 0.0),
     (0.0049, PROBING, 0.0), (0.0051, MOVING, 0.0051 / 0.2475)],
)  # fmt: skip
def test_a_slope_of_smoothed_round_trip_times(change: float, mode: float, slope: float) -> None:
    """The last smoothed one less the first over the time of sending; below the filter of 0.02 it is zero."""
    state = interval(400.0)._replace(old_total=0.1, old_moment=0.1 + change, mode=mode)
    found = utility_of(state, RULE.replace(smoothed=1).params)
    assert found == pytest.approx(4.0**0.9 - 900.0 * 4.0 * slope, rel=1e-9)


def test_a_change_of_less_than_two_packets_times_is_no_slope() -> None:
    rule = RULE.replace(smoothed=1, rtt_filter=0.0)
    utilities = [
        utility_of(interval(400.0)._replace(old_total=0.1, old_moment=0.1 + change), rule.params)
        for change in (0.0049, 0.0051)
    ]
    assert utilities[0] == pytest.approx(4.0**0.9)
    assert utilities[1] < -50.0


def test_smoothed_round_trip_times_are_those_of_rfc_6298() -> None:
    """By an eighth; the first and the last of an interval are kept."""
    rule = RULE.replace(smoothed=1)
    s = rule.State(now_begin=0.0, now_end=10.0, now_rate=100.0)
    for n, rtt in enumerate((0.1, 0.18, 0.1)):
        s = rule.on_delivery(s, rule.params, SEEN._replace(time=0.5 + n, rtt=rtt))
    assert (s.now_total, s.now_count) == (0.1, 3.0)
    assert s.now_moment == pytest.approx(0.11 + (0.1 - 0.11) / 8.0)


def test_the_rate_doubles_until_the_utility_falls() -> None:
    better = judged(interval(400.0, rate=200.0, utility=1.0), RULE.params, 0.0)
    assert (better.mode, better.rate) == (STARTING, 400.0)
    worse = judged(interval(400.0, slope=0.5, rate=200.0, utility=1.0), RULE.params, 1.0)
    assert (worse.mode, worse.target, worse.high, worse.probe) == (PROBING, 200.0, 1.0, 0.0)


@pytest.mark.parametrize(
    ("utilities", "up"),
    [((2.0, 1.0, 1.0, 2.0), 1.0), ((1.0, 2.0, 2.0, 1.0), 0.0), ((2.0, 1.0, 2.0, 1.0), None)],
)
def test_a_probe_decides_where_both_pairs_agree(utilities: Any, up: float | None) -> None:
    """The first pair is a higher and a lower rate here, the second a lower and a higher one."""
    state = RULE.State(mode=PROBING, target=1000.0, high=1.0)
    state = state._replace(**dict(zip(("u_0", "u_1", "u_2"), utilities, strict=False)))
    found = decided(state, RULE.params, utilities[3], 0.0)
    if up is None:
        assert (found.mode, found.probe, found.high) == (PROBING, 0.0, 0.0)
        return
    assert (found.mode, found.up, found.target) == (MOVING, up, 1020.0 if up else 980.0)
    assert found.gradient == pytest.approx((1.0 if up else -1.0) / 40.0)
    assert (found.rate, found.utility) == (1020.0, utilities[3])


def test_a_step_is_amplified_and_bounded() -> None:
    """0.1 units times the amplifier times the gradient per unit, within 1 % and 10 %, 15 %, ... of the rate."""
    state = RULE.State(mode=MOVING, target=1000.0, gradient=0.004, amplifier=AMPLIFIER, bound=BOUND)
    moved = stepped(state, RULE.params)
    assert moved.target == pytest.approx(1000.0 + 0.1 * 10.0 * 100.0 * 0.4)
    assert (moved.amplifier, moved.bound) == (11.0, 0.1)
    large = stepped(state._replace(gradient=-1.0), RULE.params)
    assert (large.target, large.bound) == (pytest.approx(900.0), pytest.approx(0.15))
    larger = stepped(large, RULE.params)
    assert larger.target == pytest.approx(900.0 * 0.85)
    assert stepped(state._replace(gradient=1e-9), RULE.params).target == pytest.approx(1010.0)


def test_it_moves_on_while_the_gradient_keeps_its_sign() -> None:
    on = judged(
        interval(400.0, mode=MOVING, up=1.0, rate=300.0, utility=1.0, target=400.0),
        RULE.params,
        0.0,
    )
    assert (on.mode, on.rate) == (MOVING, 400.0)
    back = judged(
        interval(400.0, mode=MOVING, up=1.0, rate=300.0, utility=9.0, target=440.0),
        RULE.params,
        0.0,
    )
    assert (back.mode, back.probe) == (PROBING, 0.0)
    assert back.target < 300.0


def test_a_timeout_halves_the_rate() -> None:
    found = RULE.on_timeout(RULE.State(target=600.0), RULE.params, None)
    assert (found.target, found.pacing_rate, found.mode) == (300.0, 300.0, PROBING)


@pytest.mark.parametrize(
    ("name", "value"),
    [("exponent", 1.0), ("rtt_weight", -1.0), ("loss_weight", -1.0), ("probing", 0.0), ("rtt_filter", -0.1), ("unit_rate", 0.0)],
)  # fmt: skip
def test_parameters_out_of_range_are_refused(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"^{name} = "):
        Vivace(**{name: value})


@pytest.mark.parametrize("flows", [1, 2])
def test_flows_fill_the_link_with_a_short_queue_and_share_it(flows: int) -> None:
    """24 Mb/s and 60 ms, a product of 120 packets; losses are those of the first rates."""
    links = (Link("a", "b", 2000.0, 0.03, 300.0),)
    senders = [Flow(str(n), ("a", "b"), Vivace()) for n in range(flows)]
    run = simulate(Scenario("vivace", links, senders, duration=60.0), Packets(seed=1), sample=0.1)
    late = run.time > 20.0
    rates = np.ptp(run.delivered[:, late], axis=1) / np.ptp(run.time[late])
    assert rates.sum() > 0.95 * 2000.0
    assert rates.min() > 0.8 * rates.max()
    assert run.queued[0, late].mean() < 40.0
    assert run.lost[:, :, late].sum() == 0
