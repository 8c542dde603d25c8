"""PCC Allegro and PCC Vivace, and SEARCH's end of slow start."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest

from dfcmodel import BurstLoss, Flow, Link, Packets, Scenario, simulate
from responsefn import SEARCH, Allegro, Delivery, NewReno, Vivace
from responsefn.rules.deliveries import allegro, vivace
from tests.surface import for_each

# Allegro: utility, trials and steps by hand, and what flows of it get.

ALLEGRO = Allegro()
DELIVERED = Delivery(*[0.0] * 15)._replace(acked=1.0, rtt=0.1, random=0.3)


def state(**given: Any) -> Any:
    """Return a state of an interval of 100 packets at 1000 packets/s that is judged now."""
    before = ALLEGRO.State(target=1000.0, before=900.0, got=100.0, mode=allegro.MOVING, sending=0.0)
    return before._replace(**given)


@pytest.mark.parametrize("lost", [0.0, 2.0, 5.0, 8.0, 100.0])
def test_the_utility_of_allegro_is_that_of_its_formula(lost: float) -> None:
    """Dong et al. 2015: T sigmoid(L - 0.05) - x L with T = x (1 - L), and 1 / (1 + exp(100 y)) as sigmoid."""
    part = lost / 100.0
    sigmoid = 1.0 / (1.0 + math.exp(100.0 * (part - 0.05)))
    found = allegro.utility_of(state(lost=lost, got=100.0 - lost), ALLEGRO.params)
    assert found == pytest.approx(1000.0 * (1.0 - part) * sigmoid - 1000.0 * part, rel=1e-12)


def test_an_interval_without_packets_is_the_worst() -> None:
    assert allegro.utility_of(state(got=0.0), ALLEGRO.params) == -math.inf


def test_the_rate_of_allegro_doubles_until_the_utility_falls() -> None:
    better = allegro.evaluate_interval(state(mode=allegro.STARTING, u_0=100.0), ALLEGRO.params, 0.0, 0.3)
    assert (better.mode, better.target, better.before) == (allegro.STARTING, 2000.0, 1000.0)
    worse = allegro.evaluate_interval(state(mode=allegro.STARTING, u_0=100.0, lost=30.0), ALLEGRO.params, 0.0, 0.3)
    assert (worse.mode, worse.target, worse.steps) == (allegro.DECIDING, 900.0, 1.0)


@pytest.mark.parametrize(
    ("utilities", "decision"),
    [((2.0, 1.0, 1.0, 2.0), 1.0), ((1.0, 2.0, 2.0, 1.0), -1.0), ((2.0, 1.0, 2.0, 1.0), 0.0)],
)
def test_four_trials_decide_where_both_pairs_agree(utilities: Any, decision: float) -> None:
    """The first pair is a higher and a lower rate here, the second a lower and a higher one."""
    before = state(mode=allegro.DECIDING, high_0=1.0, steps=2.0, decision=0.0)
    before = before._replace(**dict(zip(("u_0", "u_1", "u_2"), utilities, strict=False)))
    found = allegro.decide(before, ALLEGRO.params, utilities[3])
    assert found.decision == decision
    if decision == 0.0:  # a larger step
        assert (found.mode, found.steps, found.target) == (allegro.DECIDING, 3.0, 1000.0)
        return
    moved = 1000.0 * (1.0 + decision * 0.02)
    assert (found.mode, found.steps, found.before) == (allegro.MOVING, 1.0, pytest.approx(moved))
    assert found.target == pytest.approx(moved * (1.0 + decision * 0.01))


@pytest.mark.parametrize(("steps", "larger"), [(1.0, 2.0), (4.0, 5.0), (5.0, 5.0)])
def test_steps_grow_to_five_per_cent_while_the_utility_increases(steps: float, larger: float):
    on = allegro.evaluate_interval(state(steps=steps, decision=-1.0, u_0=1.0), ALLEGRO.params, 0.0, 0.3)
    assert (on.mode, on.steps, on.before) == (allegro.MOVING, larger, 1000.0)
    assert on.target == pytest.approx(1000.0 * (1.0 - 0.01 * larger))
    back = allegro.evaluate_interval(state(steps=steps, u_0=1e9), ALLEGRO.params, 0.0, 0.3)
    assert (back.mode, back.steps, back.target) == (allegro.DECIDING, 1.0, 900.0)


@pytest.mark.parametrize(
    ("random", "signs"),
    [(0.1, (-1, 1, -1, 1)), (0.3, (1, -1, -1, 1)), (0.6, (-1, 1, 1, -1)), (0.9, (1, -1, 1, -1))],
)
def test_trials_of_a_round_trip_have_the_rates_of_two_pairs(random: float, signs: Any) -> None:
    """Packets are acknowledged a round trip of 100 packets after they are sent; each trial sends 102."""
    s = ALLEGRO.State(mode=allegro.DECIDING, target=1000.0)
    rates = []
    for n in range(1, 451):
        counts = {"time": 0.1 + 1e-3 * n, "delivered": float(n), "in_flight": 100.0}
        s = ALLEGRO.on_delivery(s, ALLEGRO.params, DELIVERED._replace(random=random, **counts))
        rates.append(s.pacing_rate)
    np.testing.assert_allclose(rates[50:400:100], 1000.0 * (1.0 + 0.01 * np.array(signs)))
    assert rates[-1] == 1000.0  # until the last trial is known


def test_a_timeout_leaves_four_packets_and_the_rate() -> None:
    found = ALLEGRO.on_timeout(state(target=600.0), ALLEGRO.params, None)
    assert (found.cwnd, found.target, found.mode) == (4.0, 600.0, allegro.DECIDING)
    again = ALLEGRO.on_delivery(found, ALLEGRO.params, DELIVERED._replace(delivered=50.0, in_flight=4.0))
    assert (again.start_0, again.sending, again.end_0) == (54.0, 0.0, 0.0)


def rates(flows: int, *lossy: str, rule: Any = ALLEGRO, between: Any = (60, 120), seed: int = 2) -> Any:
    """Return the mean rates over 120 Mb/s, 40 ms and a buffer of one product, Mb/s; ``between``: from and until, s."""
    names = ("first", "second")[:flows]
    links = [Link("router", "end", 1e4, 1e-3, 400.0)]
    links += [Link(name, "router", 1e5, 0.019, 1e5) for name in names]
    elements = tuple(BurstLoss(f"{name}->router", to_bad=1.0, to_good=0.0, loss_bad=0.02) for name in lossy)
    senders = [Flow(name, (name, "router", "end"), rule) for name in names]
    scenario = Scenario("allegro", links, senders, duration=between[1], elements=elements)
    run = simulate(scenario, Packets(seed=seed), sample=0.1, packet_jitter="1pkt")
    return run.mean_goodput(between[0]) * 12e-3


@pytest.mark.slow
def test_random_losses_starve_it_beside_a_flow_without_them_alone() -> None:
    """Arun et al. 2022, Sect. 5.4: with 2 % it fills the link alone and shares with its like, but not beside a flow without losses."""
    assert rates(1, "first")[0] > 114.0
    alike = rates(2, "first", "second")
    assert alike.sum() > 114.0
    assert alike.min() > 0.6 * alike.max()
    apart = rates(2, "first")
    assert apart.sum() > 114.0
    assert apart[0] < 0.4 * apart[1]


@pytest.mark.slow
def test_with_the_start_of_the_module_it_has_a_tenth_in_the_first_minute() -> None:
    """10.3 and 99.1 Mb/s in 60 s in the paper; here 8 runs differ."""
    rule = Allegro(doubling=0)
    found = np.median([rates(2, "first", rule=rule, between=(0.0, 60.0), seed=n) for n in range(1, 9)], axis=0)
    assert found[0] == pytest.approx(10.3, rel=0.5)
    assert found[1] == pytest.approx(99.1, rel=0.1)


# Vivace: utility, probes and steps by hand, and where flows of it come to rest.


VIVACE = Vivace(unit_rate=100.0)
SEEN = Delivery(*[0.0] * 15)._replace(acked=1.0, random=0.9)


def interval(at: float, slope: float = 0.0, lost: float = 0.0, **given: Any) -> Any:
    """Return a state whose old interval sent 100 packets at a rate, with round trips that grow by ``slope`` s per s."""
    sent = np.arange(100) / at
    rtt = 0.1 + slope * sent
    came = sent + rtt
    return VIVACE.State(
        old_begin=0.0, old_end=100 / at, old_rate=at, old_count=100.0, old_total=rtt.sum(),
        old_moment=float((np.arange(100) * rtt).sum()), old_sent=sent[-1], old_first=came[0], old_came=came[-1],
        old_lost=lost, old_open=1.0, **given,
    )  # fmt: skip


def test_the_utility_of_vivace_is_that_of_its_formula() -> None:
    """x^0.9 - 900 x dR/dt - 11.35 x L, the slope by the smaller estimate: 1 - 1/(1 + s) by what arrives."""
    assert vivace.utility_of(interval(400.0), VIVACE.params) == pytest.approx(4.0**0.9, rel=1e-12)
    lossy = vivace.utility_of(interval(400.0, lost=25.0), VIVACE.params)
    assert lossy == pytest.approx(4.0**0.9 - 11.35 * 4.0 * 0.2, rel=1e-12)
    steep = vivace.utility_of(interval(400.0, slope=0.1), VIVACE.params)
    assert steep == pytest.approx(4.0**0.9 - 900.0 * 4.0 * (1.0 - 1.0 / 1.1), rel=1e-9)
    for slope in (0.019, -0.3):  # below the filter
        assert vivace.utility_of(interval(400.0, slope=slope), VIVACE.params) == pytest.approx(4.0**0.9)


@pytest.mark.parametrize(
    ("change", "mode", "slope"),
    [(0.05, vivace.PROBING, 0.05 / 0.2475), (-0.05, vivace.PROBING, -0.05 / 0.2475), (-0.05, vivace.STARTING, 0.0),
     (0.0049, vivace.PROBING, 0.0), (0.0051, vivace.MOVING, 0.0051 / 0.2475)],
)  # fmt: skip
def test_a_slope_of_smoothed_round_trip_times(change: float, mode: float, slope: float) -> None:
    """The last smoothed one less the first over the time of sending; below the filter of 0.02 it is zero."""
    state = interval(400.0)._replace(old_total=0.1, old_moment=0.1 + change, mode=mode)
    found = vivace.utility_of(state, VIVACE.replace(smoothed=1).params)
    assert found == pytest.approx(4.0**0.9 - 900.0 * 4.0 * slope, rel=1e-9)


def test_a_change_of_less_than_two_packets_times_is_no_slope() -> None:
    rule = VIVACE.replace(smoothed=1, rtt_filter=0.0)
    utilities = [
        vivace.utility_of(interval(400.0)._replace(old_total=0.1, old_moment=0.1 + change), rule.params)
        for change in (0.0049, 0.0051)
    ]
    assert utilities[0] == pytest.approx(4.0**0.9)
    assert utilities[1] < -50.0


def test_smoothed_round_trip_times_are_those_of_rfc_6298() -> None:
    """By an eighth; the first and the last of an interval are kept."""
    rule = VIVACE.replace(smoothed=1)
    s = rule.State(now_begin=0.0, now_end=10.0, now_rate=100.0)
    for n, rtt in enumerate((0.1, 0.18, 0.1)):
        s = rule.on_delivery(s, rule.params, SEEN._replace(time=0.5 + n, rtt=rtt))
    assert (s.now_total, s.now_count) == (0.1, 3.0)
    assert s.now_moment == pytest.approx(0.11 + (0.1 - 0.11) / 8.0)


def test_the_rate_of_vivace_doubles_until_the_utility_falls() -> None:
    better = vivace.evaluate_interval(interval(400.0, rate=200.0, utility=1.0), VIVACE.params, 0.0)
    assert (better.mode, better.rate) == (vivace.STARTING, 400.0)
    worse = vivace.evaluate_interval(interval(400.0, slope=0.5, rate=200.0, utility=1.0), VIVACE.params, 1.0)
    assert (worse.mode, worse.target, worse.high, worse.probe) == (vivace.PROBING, 200.0, 1.0, 0.0)


@pytest.mark.parametrize(
    ("utilities", "up"),
    [((2.0, 1.0, 1.0, 2.0), 1.0), ((1.0, 2.0, 2.0, 1.0), 0.0), ((2.0, 1.0, 2.0, 1.0), None)],
)
def test_a_probe_decides_where_both_pairs_agree(utilities: Any, up: float | None) -> None:
    """The first pair is a higher and a lower rate here, the second a lower and a higher one."""
    state = VIVACE.State(mode=vivace.PROBING, target=1000.0, high=1.0)
    state = state._replace(**dict(zip(("u_0", "u_1", "u_2"), utilities, strict=False)))
    found = vivace.decide(state, VIVACE.params, utilities[3], 0.0)
    if up is None:
        assert (found.mode, found.probe, found.high) == (vivace.PROBING, 0.0, 0.0)
        return
    assert (found.mode, found.up, found.target) == (vivace.MOVING, up, 1020.0 if up else 980.0)
    assert found.gradient == pytest.approx((1.0 if up else -1.0) / 40.0)
    assert (found.rate, found.utility) == (1020.0, utilities[3])


def test_a_step_is_amplified_and_bounded() -> None:
    """0.1 units times the amplifier times the gradient per unit, within 1 % and 10 %, 15 %, ... of the rate."""
    state = VIVACE.State(
        mode=vivace.MOVING,
        target=1000.0,
        gradient=0.004,
        amplifier=vivace.AMPLIFIER,
        bound=vivace.BOUND,
    )
    moved = vivace.step_rate(state, VIVACE.params)
    assert moved.target == pytest.approx(1000.0 + 0.1 * 10.0 * 100.0 * 0.4)
    assert (moved.amplifier, moved.bound) == (11.0, 0.1)
    large = vivace.step_rate(state._replace(gradient=-1.0), VIVACE.params)
    assert (large.target, large.bound) == (pytest.approx(900.0), pytest.approx(0.15))
    larger = vivace.step_rate(large, VIVACE.params)
    assert larger.target == pytest.approx(900.0 * 0.85)
    assert vivace.step_rate(state._replace(gradient=1e-9), VIVACE.params).target == pytest.approx(1010.0)


def test_it_moves_on_while_the_gradient_keeps_its_sign() -> None:
    on = vivace.evaluate_interval(
        interval(400.0, mode=vivace.MOVING, up=1.0, rate=300.0, utility=1.0, target=400.0),
        VIVACE.params,
        0.0,
    )
    assert (on.mode, on.rate) == (vivace.MOVING, 400.0)
    back = vivace.evaluate_interval(
        interval(400.0, mode=vivace.MOVING, up=1.0, rate=300.0, utility=9.0, target=440.0),
        VIVACE.params,
        0.0,
    )
    assert (back.mode, back.probe) == (vivace.PROBING, 0.0)
    assert back.target < 300.0


def test_a_timeout_halves_the_rate() -> None:
    found = VIVACE.on_timeout(VIVACE.State(target=600.0), VIVACE.params, None)
    assert (found.target, found.pacing_rate, found.mode) == (300.0, 300.0, vivace.PROBING)


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


# SEARCH against its draft as neqo has it, written here once more with lists, and on a path with a long round trip.


class Bins:
    """The bins of SEARCH by their numbers: 10 of a window, 15 more to look back."""

    def __init__(self) -> None:
        self.acked: dict[int, float] = {}
        self.sent: dict[int, float] = {}
        self.now, self.width, self.ends = None, 0.0, 0.0

    def exits(self, time: float, rtt: float, acked: float, sent: float) -> bool:
        if self.now is None:
            self.width = rtt * 3.5 / 10
            self.ends, self.now = time + self.width, 0
            self.acked, self.sent = {0: acked}, {0: sent}
            return False
        if time <= self.ends:
            return False
        passed = int((time - self.ends) / self.width) + 1
        if passed > 10:
            self.now = None
            return False
        for number in range(self.now + 1, self.now + passed):
            self.acked[number], self.sent[number] = self.acked[self.now], self.sent[self.now]
        self.now += passed
        self.ends += passed * self.width
        self.acked[self.now], self.sent[self.now] = acked, sent
        back = rtt / self.width
        before = self.now - int(back)
        if before <= 10 or self.now - before >= 15:
            return False
        part = back - int(back)
        early = self.sent[before - 1] - self.sent[before - 11]
        late = self.sent[before] - self.sent[before - 10]
        expected = part * early + (1 - part) * late
        return expected > 0 and (expected - self.acked[self.now] + self.acked[self.now - 10]) / expected >= 0.26


DELIVERIES = 1600


@for_each(range(6))
def test_bins_are_those_of_the_draft(seed: int) -> None:
    draw, rule, bins = random.Random(seed), SEARCH(), Bins()
    state, time, delivered, ended = rule.State(), 1.0, 0.0, 0
    for n in range(DELIVERIES):
        time += draw.choice((1e-4, 1e-3, 5e-3, 0.05 if n % 97 == 0 else 2e-3, 0.6 if n % 1511 == 0 else 1e-3))
        rtt = 0.08 * (1.0 + draw.random() * (0.1 if seed % 2 else 2.5))
        delivered += draw.choice((1.0, 2.0))
        flight = draw.choice((20.0, 40.0, 200.0)) + (n if seed < 3 else 0)
        seen = Delivery(*[0.0] * 15)._replace(time=time, rtt=rtt, acked=1.0, delivered=delivered, in_flight=flight)
        before = state._replace(ssthresh=math.inf)
        state = SEARCH.on_delivery(before, rule.params, seen)
        exits = bins.exits(time, rtt, delivered, delivered + flight)
        assert (state.ssthresh < math.inf) == exits
        assert state.bins == (0.0 if bins.now is None else bins.now + 1.0)
        ended += exits
    assert ended > 0


def test_slow_start_ends_when_the_round_trip_time_has_tripled() -> None:
    """ACKs show a queue of two products of rate and delay: 4 + (1 - 2^-1.5) / ln 2 of them were sent where 3.5 are delivered, 29 % less.

    Six products are in flight by then: the window has doubled once more since what is acknowledged was sent.
    """
    links = [Link("a", "b", 4000.0, 0.05, 2400), Link("b", "a", 4000.0, 0.05, 800)]

    def run(rule):
        flow = Flow("f", ("a", "b"), rule, stack="linux-6.12")
        method = Packets(seed=1, ack_delay=0.04)
        return simulate(Scenario("f", links, [flow], duration=3.0), method, sample=0.05)

    search, newreno = run(SEARCH()), run(NewReno())
    assert newreno.lost.sum() > 2000
    assert search.lost.sum() == 0
    assert 5.0 * 400 < search.window[0][np.searchsorted(search.time, 1.5)] < 6.5 * 400


def test_above_slow_start_it_is_newreno() -> None:
    rule = SEARCH()
    seen = Delivery(*[0.0] * 15)._replace(time=1.0, rtt=0.1, acked=2.0, delivered=5.0)
    state = rule.State(40.0, 20.0)
    assert SEARCH.on_delivery(state, rule.params, seen).cwnd == 40.05
    assert SEARCH.on_delivery(state, rule.params, seen._replace(recovering=1.0)).cwnd == 40.0
    assert rule.on_loss(state, rule.params, seen)[:2] == (20.0, 20.0)
    assert rule.on_timeout(state, rule.params, seen)[:2] == (1.0, 20.0)
    assert SEARCH.on_delivery(rule.State(), rule.params, seen).cwnd == 12.0
    with pytest.raises(ValueError, match="threshold = 1"):
        SEARCH(threshold=1.0)
