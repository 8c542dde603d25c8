"""Spare engines: base stock with lost sales.

An airline owns S spare engines and reorders each one as soon as it is used; a demand that
finds none is met by hiring an engine elsewhere. Karush observed that outstanding orders
behave like calls in a telephone exchange: the fraction of demand lost is Erlang's B, and
of the lead time only the mean matters.

Field: inventory.
Source: W. Karush, A queuing model for an inventory problem, Operations Research 5(5),
1957.
"""

from __future__ import annotations

import math

import numpy as np

from markov import add_at, explore, stationary

DEMAND, LEAD = 0.4, 10.0  # per week, weeks

# Lead times of phase type: first phase, then the rates between phases.
LEADS = {
    "exponential": ([1.0], [[-1 / LEAD]]),
    "three stages": ([1.0, 0.0, 0.0], 3 / LEAD * (np.diag([1.0, 1.0], 1) - np.eye(3))),
    "mostly quick": ([0.9, 0.1], np.diag([-1 / 5, -1 / 55])),
}


def rules(ordered, q):
    """ordered[i]: engines on order whose lead time is in phase i."""
    beta, T, S = q
    if sum(ordered) < S:
        for i, p in enumerate(beta):
            yield add_at(ordered, i, 1), DEMAND * p
    for i, count in enumerate(ordered):
        if count:
            for j in range(len(beta)):
                if j != i:
                    yield add_at(add_at(ordered, i, -1), j, 1), count * T[i][j]
            yield add_at(ordered, i, -1), count * -sum(T[i])


def erlang_b(servers, load):
    B = 1.0
    for n in range(1, servers + 1):
        B = load * B / (n + load * B)
    return B


S = 8
for name, (beta, T) in LEADS.items():
    found = explore(rules, start=(0,) * len(beta), params=(beta, T, S))
    none_left = stationary(found).pi @ (sum(found.states) == S)
    print(f"{name:12}: {found.chain.size:3} states, {none_left:.6%} of the demands are lost")
    assert math.isclose(none_left, erlang_b(S, DEMAND * LEAD), rel_tol=1e-12)  # 165 states at most
print("check: Erlang's B(8, 4) each time: the lead time counts by its mean alone")
