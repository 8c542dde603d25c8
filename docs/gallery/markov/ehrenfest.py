"""Ehrenfest's urns: why gas does not go back into its bottle.

N balls in two urns; each ball moves to the other urn at rate 1. The chain is reversible
and its stationary distribution is binomial, so the state with all balls in one urn does
come back. How long does that take?

Field: chemistry.
Source: P. and T. Ehrenfest, Über zwei bekannte Einwände gegen das Boltzmannsche
H-Theorem, Physikalische Zeitschrift 8, 1907; the time: M. Kac, Random walk and the theory
of Brownian motion, American Mathematical Monthly 54, 1947.
"""

from __future__ import annotations

import math

from markov import explore, stationary


def rules(n, N):
    if n > 0:
        yield n - 1, n
    if n < N:
        yield n + 1, N - n


for N in (4, 10, 100):
    answer = stationary(explore(rules, start=N, params=N))
    back = 1 / (answer.probability(N) * N)  # from leaving "all in one urn" once to the next time
    print(f"{N:3} balls: all in one urn, and again after a time of {back:.3g} on average")
    assert math.isclose(answer.probability(N // 2), math.comb(N, N // 2) / 2**N, rel_tol=1e-12)
    assert math.isclose(back, 2**N / N, rel_tol=1e-12)  # Kac; a hundred states, added up
