"""Measles on an island: SIR with births, deaths and visitors.

People are born susceptible; they catch the infection at rate beta I / N from infected
people and at rate epsilon from visitors, recover for good at rate gamma, and die at rate
mu. Every death is followed by a birth, so the population remains N. How often is the
island free of the infection?

Field: epidemics.
Source: M. S. Bartlett, Measles periodicity and community size, Journal of the Royal
Statistical Society A 120, 1957; R. M. Anderson, R. M. May, Infectious Diseases of Humans,
1991, chapter 6.
"""

from __future__ import annotations

import math
import random
import statistics
from typing import NamedTuple

from markov import explore, stationary


class Island(NamedTuple):
    S: int
    I: int


N, beta, gamma, mu, epsilon = 40, 3.0, 1.0, 0.1, 0.01  # rates per fortnight


def rules(s):
    immune = N - s.S - s.I
    if s.S > 0:
        yield Island(s.S - 1, s.I + 1), s.S * (beta * s.I / N + epsilon)
    if s.I > 0:
        yield Island(s.S, s.I - 1), gamma * s.I
        yield Island(s.S + 1, s.I - 1), mu * s.I
    if immune > 0:
        yield Island(s.S + 1, s.I), mu * immune


def simulated(seed, runs=40, time=400.0):
    """Gillespie's algorithm: the share of time without infected in each of some runs."""
    rng, s = random.Random(seed), Island(N, 0)
    for run in range(runs + 1):
        t = free = 0.0
        while t < time:
            targets, rates = zip(*rules(s), strict=True)
            stay = min(rng.expovariate(sum(rates)), time - t)
            t, free = t + stay, free + stay * (s.I == 0)
            if t < time:
                s = rng.choices(targets, rates)[0]
        if run > 0:  # the first forgets the start
            yield free / time


labels = lambda s: {"free": s.I == 0}
rewards = lambda s: {"infected": s.I, "immune": N - s.S - s.I}
answer = stationary(explore(rules, start=Island(N, 0), labels=labels, rewards=rewards))
print(f"{answer['infected']:.4f} of {N} infected, {answer['immune']:.4f} immune")
print(f"free of the infection {answer['free']:.2%} of the time")

# As many become immune as die immune; rounding, times the 861 states.
assert math.isclose(gamma * answer["infected"], mu * answer["immune"], rel_tol=1e-11)
shares = list(simulated(seed=1))
mean, error = statistics.mean(shares), 3.56 * statistics.stdev(shares) / math.sqrt(len(shares))
print(f"simulated: {mean:.2%} +- {error:.2%} (99.9 %, Student's t with 39 degrees of freedom)")
assert abs(answer["free"] - mean) < error
