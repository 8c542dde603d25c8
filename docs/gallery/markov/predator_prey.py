"""Predators and prey on an island.

Hares breed where there is room, and lynxes breed on hares. On an island with N sites each
species would eventually die out, were it not for immigrants. How many of each are there?

Field: ecology.
Source: A. J. McKane, T. J. Newman, Predator-prey cycles from resonant amplification of
demographic stochasticity, Physical Review Letters 94, 218102, 2005, equation (1).
"""

from __future__ import annotations

import math
import random
from typing import NamedTuple

import numpy as np

from markov import explore, stationary


class Island(NamedTuple):
    lynx: int
    hare: int


N = 50  # sites, each empty, or with one lynx or one hare
b, d1, d2, p1, p2, m = 0.1, 0.1, 0.01, 0.25, 0.05, 0.01
REACTIONS = [  # change, rate
    ((0, +1), lambda x: 2 * b * x.hare * (N - x.lynx - x.hare) / N),  # birth
    ((+1, -1), lambda x: 2 * p1 * x.lynx * x.hare / N),  # a lynx eats, and has young
    ((0, -1), lambda x: 2 * p2 * x.lynx * x.hare / N),  # a lynx eats
    ((-1, 0), lambda x: d1 * x.lynx),
    ((0, -1), lambda x: d2 * x.hare),
    ((+1, 0), lambda x: m * (N - x.lynx - x.hare)),  # from the mainland
    ((0, +1), lambda x: m * (N - x.lynx - x.hare)),
]


def rules(x):
    for (lynx, hare), rate in REACTIONS:
        yield Island(x.lynx + lynx, x.hare + hare), rate(x)


def simulated(seed, runs=30, time=1000.0):
    """Gillespie's algorithm: mean numbers of lynxes and hares, each with its 99.9 % error."""
    rng, x, means = random.Random(seed), Island(10, 10), []
    for _ in range(runs + 1):
        t, total = 0.0, np.zeros(2)
        while t < time:
            moves, rates = zip(*rules(x), strict=True)
            stay = min(rng.expovariate(sum(rates)), time - t)
            t, total = t + stay, total + stay * np.array(x)
            if t < time:
                x = rng.choices(moves, rates)[0]
        means.append(total / time)
    means = np.array(means[1:])  # without the first run, which depends on the start
    return means.mean(axis=0), 3.66 * means.std(axis=0, ddof=1) / math.sqrt(runs)


found = explore(rules, start=Island(10, 10))
answer, x = stationary(found), found.states
mean = np.array(x) @ answer.pi
sd = np.sqrt(np.square(x) @ answer.pi - mean**2)
print(f"lynxes: {mean[0]:.3f} with deviation {sd[0]:.3f}; hares: {mean[1]:.3f}, {sd[1]:.3f}")
means, errors = simulated(seed=5)
print(f"simulated: {means.round(3)} +- {errors.round(3)} (99.9 %, Student's t)")
assert np.all(np.abs(means - mean) < errors)
drift = sum(np.array(change) * (answer.pi @ rate(x)) for change, rate in REACTIONS)
assert np.all(np.abs(drift) < 1e-12)  # stationary means do not drift
