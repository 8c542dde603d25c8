"""Voice, video and data on one link: the stochastic knapsack.

Calls of class k arrive at rate lam[k], occupy b[k] of the C units of the link for a time
of mean 1/mu[k], and are lost when fewer units are free. Wide calls fare badly; keeping
some units free of narrow calls (trunk reservation) makes it fair. What fraction of each
class is lost?

Field: communication.
Source: J. S. Kaufman, Blocking in a shared resource environment, IEEE Transactions on
Communications 29(10), 1981; J. W. Roberts, A service system with heterogeneous user
requirements, 1981; K. W. Ross, Multiservice Loss Models for Broadband Telecommunication
Networks, 1995, chapters 2 and 4.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from markov import add_at, explore, stationary


class Link(NamedTuple):
    C: int = 24
    b: tuple[int, ...] = (1, 3, 6)
    lam: tuple[float, ...] = (6.0, 1.0, 0.4)
    mu: tuple[float, ...] = (1.0, 0.5, 0.5)
    reserved: tuple[int, ...] = (0, 0, 0)  # units that a class has to leave free


def admitted(n, k, q):
    used = sum(count * width for count, width in zip(n, q.b, strict=True))
    return used + q.b[k] + q.reserved[k] <= q.C


def rules(n, q):
    for k, count in enumerate(n):
        if admitted(n, k, q):
            yield add_at(n, k, 1), q.lam[k]
        if count > 0:
            yield add_at(n, k, -1), count * q.mu[k]


def lost(n, q):
    return {f"class {k}": not admitted(n, k, q) for k in range(len(n))}


def kaufman_roberts(q):
    """c w(c) = sum_k b_k (lam_k / mu_k) w(c - b_k), over the units c in use."""
    w = np.zeros(q.C + 1)
    w[0] = 1.0
    for c in range(1, q.C + 1):
        loads = zip(q.lam, q.mu, q.b, strict=True)
        w[c] = sum(lam / mu * b * w[c - b] for lam, mu, b in loads if b <= c) / c
    return [w[q.C - b + 1 :].sum() / w.sum() for b in q.b]


fair = Link(reserved=(5, 3, 0))
for name, q in (("complete sharing", Link()), ("trunk reservation", fair)):
    found = explore(rules, start=(0, 0, 0), params=q, labels=lost)
    answer = stationary(found)
    shares = [answer[f"class {k}"] for k in range(3)]
    print(f"{name:17}: {found.chain.size} states, lost", *(f"{share:.2%}" for share in shares))
    if q is not fair:  # a product form; reservation has none
        np.testing.assert_allclose(shares, kaufman_roberts(q), rtol=1e-12)
np.testing.assert_allclose(shares, shares[0], rtol=1e-12)  # all see the same room
print("check: Kaufman and Roberts' recursion to 1e-12; with reservation all classes lose alike")
