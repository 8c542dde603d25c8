"""Software rejuvenation: should a server be restarted before it fails?

A server that has run for long becomes fragile, because of leaked memory, say, and then
crashes. Restarting a fragile server on purpose takes less time than a repair, but has to
be done more often. Both kinds of downtime cost money.

Field: reliability.
Source: Y. Huang, C. Kintala, N. Kolettis, N. D. Fulton, Software rejuvenation: analysis,
module and applications, FTCS-25, 1995.
"""

from __future__ import annotations

import math

import numpy as np

from markov import MarkovChain, stationary

HOUR, DAY = 1.0, 24.0
STATES = ["robust", "fragile", "failed", "restarting"]


def server(restart_rate):
    """Return the chain; rates per hour."""
    Q = np.zeros((4, 4))
    Q[0, 1] = 1 / (10 * DAY)
    Q[1, 2] = 1 / (30 * DAY)
    Q[2, 0] = 1 / (4 * HOUR)
    Q[1, 3] = restart_rate
    Q[3, 0] = 1 / (HOUR / 6)
    np.fill_diagonal(Q, -Q.sum(axis=1))
    return MarkovChain(Q, states=STATES)


def by_cycles(restart_rate):
    """Return the shares of failed and restarting by the mean times in one cycle."""
    leaving = 1 / (30 * DAY) + restart_rate
    fails = 1 / (30 * DAY) / leaving
    cycle = 10 * DAY + 1 / leaving + fails * 4 * HOUR + (1 - fails) * HOUR / 6
    return fails * 4 * HOUR / cycle, (1 - fails) * HOUR / 6 / cycle


for name, rate in (("never", 0.0), ("after a month", 1 / (30 * DAY)), ("after a day", 1 / DAY)):
    answer = stationary(server(rate))
    failed, restarting = answer.probability("failed"), answer.probability("restarting")
    cost = 8760 * (5000 * failed + 500 * restarting)
    print(f"restarted {name:13}: {8760 * failed:.2f} h a year failed, costs {cost:,.0f}")
    for found, exact in zip((failed, restarting), by_cycles(rate), strict=True):
        assert math.isclose(found, exact, rel_tol=1e-13)  # four states
