"""The central server model: where is the bottleneck of a computer?

N programs circulate between a processor and its disks; routing[i, j] is the probability of
going from station i to station j. A performance analyst asks for the utilisation of every
station, and what one more program would bring.

Field: queueing.
Source: J. P. Buzen, Computational algorithms for closed queueing networks with exponential
servers, Communications of the ACM 16(9), 1973; M. Reiser, S. S. Lavenberg, Mean-value
analysis of closed multichain queuing networks, Journal of the ACM 27(2), 1980.
"""

from __future__ import annotations

import numpy as np

from markov import add_at, explore, stationary

computer = {
    "mu": np.array([50.0, 20.0, 15.0]),  # per second: processor, two disks
    "routing": np.array([[0.1, 0.6, 0.3], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]),
}


def rules(n, q):
    """n: how many programs there are at each station."""
    for i, waiting in enumerate(n):
        if waiting > 0:
            for j, p in enumerate(q.routing[i]):
                yield add_at(add_at(n, i, -1), j, 1), q.mu[i] * p


def solved(N):
    """Return the utilisations of the stations by the chain."""
    found = explore(rules, start=(N, 0, 0), params=computer)
    pi = stationary(found).pi
    return np.array([pi @ (n > 0) for n in found.states])


def mean_value_analysis(N, mu, routing):
    """Return the same by Reiser and Lavenberg's recursion over the number of programs."""
    m = len(mu)
    visits = np.linalg.lstsq(np.vstack([routing.T - np.eye(m), np.eye(m)[0]]), np.eye(m + 1)[m], rcond=None)[0]
    L = np.zeros(m)
    for k in range(1, N + 1):
        W = (1 + L) / mu
        X = k / (visits @ W)
        L = X * visits * W
    return X * visits / mu


for N in (1, 2, 4, 8, 16):
    busy = solved(N)
    print(f"{N:2} programs: processor {busy[0]:.1%}, disks {busy[1]:.1%} and {busy[2]:.1%} busy")
    # both only add positive numbers: some hundred roundings
    np.testing.assert_allclose(busy, mean_value_analysis(N, **computer), rtol=1e-12)
