"""Slotted ALOHA: how hard should users retry?

m users share a slotted channel. An idle user gets a packet with probability sigma per slot
and sends it at once. When two or more send in the same slot, all of them fail, become
backlogged, and retry with probability p per slot. Too large a p keeps the backlog high and
the channel full of collisions. What is the throughput?

Field: communication.
Source: L. Kleinrock, S. S. Lam, Packet switching in a multiaccess broadcast channel:
performance evaluation, IEEE Transactions on Communications 23(4), 1975.
"""

from __future__ import annotations

import math
from math import comb

import numpy as np

from markov import explore, stationary

PARAMS = {"m": 25, "sigma": 0.012, "p": 0.1}


def binomial(n, k, p):
    return comb(n, k) * p**k * (1 - p) ** (n - k)


def success(n, q):
    """The probability that exactly one sends while n are backlogged: a new one, an old one."""
    fresh, old = q["m"] - n, n
    quiet = binomial(fresh, 0, q["sigma"]), binomial(old, 0, q["p"])
    return binomial(fresh, 1, q["sigma"]) * quiet[1], quiet[0] * binomial(old, 1, q["p"])


def rules(n, q):
    """Yield the backlog after a slot, with its probability: slots are the unit of time."""
    new, old = success(n, q)
    if n > 0:
        yield n - 1, old
    for i in range(1, q["m"] - n + 1):
        sent = new if i == 1 else 0.0
        yield n + i, binomial(q["m"] - n, i, q["sigma"]) - sent


def simulated(q, seed, slots=4000, runs=400):
    """Slot by slot, many channels side by side: the mean backlog and its 99.9 % error."""
    rng = np.random.default_rng(seed)
    n, backlog = np.zeros(runs, int), np.zeros(runs)
    for slot in range(-500, slots):  # the first 500 forget the start
        fresh, old = rng.binomial(q["m"] - n, q["sigma"]), rng.binomial(n, q["p"])
        n = n + np.where(fresh + old == 1, -old, fresh)
        backlog += n * (slot >= 0) / slots
    return backlog.mean(), 3.32 * backlog.std(ddof=1) / math.sqrt(runs)


for p in (0.05, 0.1, 0.2):
    q = {**PARAMS, "p": p}
    rewards = lambda n, q: {"backlog": n, "throughput": sum(success(n, q))}
    answer = stationary(explore(rules, start=0, params=q, rewards=rewards))
    backlog, throughput = answer["backlog"], answer["throughput"]
    print(f"p = {p:4}: {backlog:6.3f} backlogged, {throughput:.4f} packets per slot get through")
    assert math.isclose(throughput, q["sigma"] * (25 - backlog), rel_tol=1e-11)  # as many come in
    if p == 0.1:  # at p = 0.2 the backlog stays high or low for too long to be simulated
        mean, error = simulated(q, seed=4)
        assert abs(mean - backlog) < error
print(f"simulated, p = 0.1: {mean:.3f} +- {error:.3f} backlogged (99.9 %)")
