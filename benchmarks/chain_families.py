"""Random chains of every difficult family, as rates between states.

A family takes a generator of random numbers and returns a matrix whose diagonal does not count.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def rates_over(decades: float, rng: Any, shape: Any) -> Any:
    """Return rates over some decades above and below 1."""
    return 10.0 ** rng.uniform(-decades, decades, shape)


def ring(rng: Any, n: int, decades: float, density: float) -> Any:
    """Return an irreducible chain: a ring in random order, and rates at random places."""
    rates = rates_over(decades, rng, (n, n)) * (rng.random((n, n)) < density)
    order = rng.permutation(n)
    rates[order, np.roll(order, -1)] += rates_over(decades, rng, n)
    return rates


def dense(rng: Any) -> Any:
    """Return a chain in which every transition is possible."""
    return ring(rng, rng.integers(2, 13), 2.0, 1.0)


def sparse(rng: Any) -> Any:
    """Return a chain of some two transitions per state."""
    return ring(rng, rng.integers(4, 17), 1.0, 0.08)


def badly_scaled(rng: Any) -> Any:
    """Return rates from 1e-12 to 1e12."""
    return ring(rng, rng.integers(2, 12), 12.0, 0.3)


def nearly_decomposable(rng: Any) -> Any:
    """Return two to four groups that exchange 1e-17 to 1e-1 of what flows inside."""
    groups = [ring(rng, rng.integers(1, 5), 0.5, 0.3) for _ in range(rng.integers(2, 5))]
    ends = np.cumsum([len(group) for group in groups])
    n = int(ends[-1])
    rates = 10.0 ** rng.uniform(-17.0, -1.0) * ring(rng, n, 0.5, 0.1)
    for group, end in zip(groups, ends, strict=True):
        rates[end - len(group) : end, end - len(group) : end] = group
    order = rng.permutation(n)
    return rates[np.ix_(order, order)]


def nearly_absorbing(rng: Any) -> Any:
    """Return a chain with one to three states that are left at 1e-16 to 1e-6 of the other rates."""
    rates = ring(rng, rng.integers(3, 12), 1.0, 0.3)
    caught = rng.permutation(len(rates))[: rng.integers(1, 3)]
    rates[caught] *= 10.0 ** rng.uniform(-16.0, -6.0)
    return rates


def cyclic(rng: Any) -> Any:
    """Return sets of states that are passed in a circle: the jump chain has their number as period."""
    period = int(rng.integers(2, 5))
    groups = np.array_split(rng.permutation(period * 3), period)
    rates = np.zeros((period * 3, period * 3))
    for here, there in zip(groups, groups[1:] + groups[:1], strict=True):
        rates[np.ix_(here, there)] = rates_over(1.0, rng, (len(here), len(there)))
    return rates


def birth_death(rng: Any) -> Any:
    """Return a queue with rates of its own in each state."""
    n = int(rng.integers(2, 17))
    return np.diag(rates_over(1.5, rng, n - 1), 1) + np.diag(rates_over(1.5, rng, n - 1), -1)


def rare_events(rng: Any) -> Any:
    """Return machines that fail 1e-8 to 1e-3 times as often as they are repaired."""
    n = int(rng.integers(3, 9))
    fail = 10.0 ** rng.uniform(-8.0, -3.0) * np.arange(n - 1, 0, -1)
    return np.diag(fail, 1) + np.diag(rates_over(0.5, rng, n - 1), -1)


def reducible(rng: Any) -> Any:
    """Return a chain with transient states and one recurrent class."""
    inside, transient = ring(rng, rng.integers(2, 8), 3.0, 0.4), int(rng.integers(1, 5))
    n = len(inside) + transient
    rates = np.zeros((n, n))
    rates[transient:, transient:] = inside
    for x in range(transient):
        rates[x, x + 1 :] = rates_over(2.0, rng, n - x - 1) * (rng.random(n - x - 1) < 0.4)
        rates[x, x + 1] += 1.0
    return rates


def product(rng: Any) -> Any:
    """Return two independent chains as one."""
    parts = [ring(rng, rng.integers(2, 5), 1.5, 0.5) for _ in range(2)]
    for part in parts:
        np.fill_diagonal(part, 0.0)
    a, b = parts
    return np.kron(a, np.eye(len(b))) + np.kron(np.eye(len(a)), b)


FAMILIES = (
    dense, sparse, badly_scaled, nearly_decomposable, nearly_absorbing, cyclic, birth_death, rare_events,
    reducible, product,
)  # fmt: skip


def generator_of(rates: Any) -> Any:
    """Return the generator of rates, whose diagonal does not count."""
    rates = np.array(rates, dtype=float)
    np.fill_diagonal(rates, 0.0)
    return rates - np.diag(rates.sum(axis=1))
