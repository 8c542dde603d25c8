"""TIMELY in an incast beside the published pseudo-code, as events of senders and one queue."""

from __future__ import annotations

import heapq

import numpy as np
import pytest

from dfcmodel import Flow, Link, Packets, Scenario, simulate
from responsefn import TIMELY

RATE, END, BINS, DELAY = 10e9 / 12000.0, 20e-3, 4, 4e-6
"""Of the link in packets/s; duration, s; intervals; of the path without transmissions, s."""


def published(count: int, part: float) -> tuple[np.ndarray, float]:
    """Return the link's utilization over time and its largest queue in s, by Zhu et al. 2016, Algorithm 1.

    A segment's round-trip time is that of its last packet. Rates are bounded by those of the link and of a step.
    """
    q = TIMELY().params
    rates = [part * RATE] * count
    previous, change, seen, falling = ([0.0] * count for _ in range(4))
    events = [(1e-9 * f, f, f, -1.0) for f in range(count)]
    number, free, longest, sent = count, 0.0, 0.0, []
    while events[0][0] <= END:
        now, _, f, began = heapq.heappop(events)
        if began < 0.0:
            free = max(free, now + 1.0 / RATE) + 1.0 / RATE
            longest = max(longest, free - now)
            sent.append(free)
            heapq.heappush(events, (free + DELAY, number, f, now))
            heapq.heappush(events, (now + 1.0 / rates[f], number + 1, f, -1.0))
            number += 2
            continue
        seen[f] += 1.0
        if seen[f] < q.segment:
            continue
        seen[f] -= q.segment
        rtt, last, previous[f] = now - began, previous[f], now - began
        if last == 0.0:
            continue
        change[f] = (1.0 - q.alpha) * change[f] + q.alpha * (rtt - last)
        gradient = change[f] / q.min_rtt
        falling[f] = falling[f] + 1 if gradient <= 0.0 else 0
        if rtt > q.t_high:
            rates[f] *= 1.0 - q.beta * (1.0 - q.t_high / rtt)
        elif rtt >= q.t_low and gradient > 0.0:
            rates[f] *= 1.0 - q.beta * min(1.0, gradient)
        else:
            rates[f] += q.delta * (5.0 if rtt >= q.t_low and falling[f] >= 5 else 1.0)
        rates[f] = min(RATE, max(q.delta, rates[f]))
    served = np.histogram(sent, BINS, (0.0, END))[0]
    return served * BINS / (END * RATE), longest


@pytest.mark.parametrize(("count", "part"), [(2, 1.0), (10, 1.0), (10, 0.1)])
def test_the_collapse_from_the_lines_rate_is_that_of_the_published_algorithm(
    count: int, part: float
) -> None:
    links = [Link(f"h{f}", "s", RATE, 1e-6, 1e5) for f in range(count)]
    links.append(Link("s", "d", RATE, 1e-6, 1e5))
    rule = TIMELY(start_part=part)
    flows = [Flow(str(f), (f"h{f}", "s", "d"), rule, host="nic") for f in range(count)]
    run = simulate(Scenario("incast", links, flows, END), Packets(seed=1), sample=END / BINS)
    used = np.diff(run.delivered.sum(axis=0), prepend=0.0) * BINS / (END * RATE)
    wanted, longest = published(count, part)
    assert used.mean() == pytest.approx(wanted.mean(), abs=0.04)
    if part == 1.0:
        np.testing.assert_allclose(used, wanted, atol=0.03)
        assert run.peak_queue.max() / RATE == pytest.approx(longest, rel=0.05)
        assert used[1:].max() < 0.2
    else:
        assert used.min() > 0.8
