"""Chains of every kind on which methods are compared."""

from __future__ import annotations

from functools import cache

import numpy as np
import scipy.sparse as sp

from markov import (
    GTH,
    MM1K,
    BirthDeath,
    Cluster,
    Courtois,
    JacksonTandem,
    MarkovChain,
    PauseTandem,
    stationary,
)


def tree(n, seed=1):
    """Return a reversible chain on a random tree."""
    rng = np.random.default_rng(seed)
    above = np.array([rng.integers(0, x) for x in range(1, n)])
    below = np.arange(1, n)
    ends = np.concatenate([above, below]), np.concatenate([below, above])
    rates = sp.csr_matrix((rng.random(2 * n - 2) + 0.1, ends), shape=(n, n))
    return MarkovChain(sp.csr_matrix(rates - sp.diags(np.asarray(rates.sum(axis=1)).ravel())))


def random_chain(n, decades, seed, density=0.1):
    """Return an irreducible chain: a ring, and rates over many decades at random places."""
    rng = np.random.default_rng(seed)
    rates = (rng.random((n, n)) < density) * 10.0 ** rng.uniform(-decades, decades, (n, n))
    rates[np.arange(n), (np.arange(n) + 1) % n] += 10.0 ** rng.uniform(-decades, decades, n)
    np.fill_diagonal(rates, 0.0)
    return rates - np.diag(rates.sum(axis=1))


def ring(n):
    """Return a chain whose jumps have period n."""
    rates = np.diag(np.linspace(1.0, 2.0, n - 1), 1)
    rates[-1, 0] = 3.0
    return rates - np.diag(rates.sum(axis=1))


CHAINS = {
    "birth-death": BirthDeath, "M/M/1/K": MM1K, "M/M/1/K, overloaded": lambda: MM1K(arrival_rate=20.0, capacity=101),
    "M/M/1/K, tails that underflow": lambda: MM1K(arrival_rate=1e-3, capacity=300), "Jackson": JacksonTandem,
    "Courtois": Courtois, "Courtois, weakly coupled": lambda: Courtois(coupling=1e-5), "cluster": Cluster,
    "pause": PauseTandem, "pause, long first queue": lambda: PauseTandem(buffers=(60, 6), high_threshold=5, rtt=0.3),
    "pause, hysteresis": lambda: PauseTandem(low_threshold=5, arrival_rates=(30, 20, 10)),
    "pause, never": lambda: PauseTandem(high_threshold=20, rtt=5.0), "ring": lambda: ring(30),
    "one state": lambda: np.zeros((1, 1)), "two states": lambda: np.array([[-3.0, 3.0], [5.0, -5.0]]),
    "random, dense": lambda: random_chain(60, 0.5, 1, density=1.0),
    "random, sparse": lambda: random_chain(200, 0.5, 2, density=0.02),
    "random, badly scaled": lambda: random_chain(40, 5.0, 3),
}  # fmt: skip


@cache
def reference(name):
    return stationary(MarkovChain(CHAINS[name]()), GTH())
