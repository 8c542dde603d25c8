"""The final size of an epidemic: how large does an outbreak get?

One infected person enters a population of n susceptible people. An infected person infects
each susceptible one at rate R0/n, and recovers at rate 1, for good. In the end nobody is
infected, and some of the n have escaped: the chain is absorbed in one state for each
number of them.

Field: epidemics.
Source: N. T. J. Bailey, The Mathematical Theory of Infectious Diseases and its
Applications, 2nd edition, 1975, chapter 6; the triangular equations: F. Ball, A unified
approach to the distribution of total size and total area under the trajectory of
infectives in epidemic models, Advances in Applied Probability 18, 1986.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import NamedTuple

import numpy as np

from markov import explore


class People(NamedTuple):
    S: int
    I: int


def rules(s, q):
    if s.S > 0:
        yield People(s.S - 1, s.I + 1), q["R0"] / q["n"] * s.S * s.I
    if s.I > 0:
        yield People(s.S, s.I - 1), 1.0 * s.I


def final_sizes(n, R0):
    """Return the probabilities that 0 ... n of the n have been infected in the end."""
    start = People(n, 1)
    chain = explore(rules, start=start, params={"n": n, "R0": R0}).chain
    ends = chain.absorption_probabilities[chain.number_of(start)]
    spared = [int(chain.states.S[states[0]]) for states in chain.recurrent_classes]
    return ends[np.argsort(spared)[::-1]]


def triangular(n, R0):
    """Solve sum_k C(n - k, l - k) P(k) / phi(l)^(k + 1) = C(n, l) for l = 0 ... n, exactly.

    phi(l) = E exp(-R0 / n (n - l) T) = 1 / (1 + R0 (n - l) / n), T being exponential.
    """
    P: list[Fraction] = []
    for size in range(n + 1):
        phi = 1 / (1 + Fraction(R0) * (n - size) / n)
        known = sum(comb(n - k, size - k) * P[k] / phi ** (k + 1) for k in range(size))
        P.append((comb(n, size) - known) * phi ** (size + 1))
    return np.array(P, dtype=float)


n = 40
for R0 in (0.5, 1.5, 3.0):
    P = final_sizes(n, R0)
    large = P[n // 4 :].sum()
    print(f"R0 = {R0}: {P[0]:.1%} infect nobody else, {large:.1%} infect a quarter of the people or more")
    np.testing.assert_allclose(P, triangular(n, R0), rtol=1e-9)
print("check: Ball's triangular equations, in rational arithmetic, agree to 1e-9")
