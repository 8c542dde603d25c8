"""SEARCH against its draft as neqo has it, written here once more with lists, and on a path with a long round trip."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from dfcmodel import Flow, Link, Packets, Scenario, simulate
from responsefn import SEARCH, Delivery, NewReno
from responsefn.rules.deliveries.search import searched


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
        return (
            expected > 0
            and (expected - self.acked[self.now] + self.acked[self.now - 10]) / expected >= 0.26
        )


@pytest.mark.parametrize("seed", range(6))
def test_bins_are_those_of_the_draft(seed: int) -> None:
    draw, rule, bins = random.Random(seed), SEARCH(), Bins()
    state, time, delivered, ended = rule.State(), 1.0, 0.0, 0
    for n in range(4000):
        time += draw.choice(
            (1e-4, 1e-3, 5e-3, 0.05 if n % 97 == 0 else 2e-3, 0.6 if n % 1511 == 0 else 1e-3)
        )
        rtt = 0.08 * (1.0 + draw.random() * (0.1 if seed % 2 else 2.5))
        delivered += draw.choice((1.0, 2.0))
        flight = draw.choice((20.0, 40.0, 200.0)) + (n if seed < 3 else 0)
        seen = Delivery(*[0.0] * 15)._replace(
            time=time, rtt=rtt, acked=1.0, delivered=delivered, in_flight=flight
        )
        before = state._replace(ssthresh=math.inf)
        state = searched(before, rule.params, seen)
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
