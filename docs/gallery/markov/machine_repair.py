"""Machines, spares and repairers: the machine interference problem.

Up to M machines run at a time; each fails at rate lambda and is replaced at once while any
of the S spares is left. Each of c repairers works at rate mu. With n machines down,
failures occur at rate lambda(n) and repairs at rate mu(n): a birth-death process. Which is
the better buy, another spare or another repairer?

Field: reliability.
Source: C. Palm, Arbetskraftens fördelning vid betjäning av automatmaskiner,
Industritidningen Norden 75, 1947; W. Feller, An Introduction to Probability Theory and Its
Applications 1, 1950, chapter XVII, section 7; spares: J. Taylor, R. R. P. Jackson, An
application of the birth and death process to the provision of spare machines, Operational
Research Quarterly 5(4), 1954.
"""

from __future__ import annotations

import math
from fractions import Fraction

from markov import explore, stationary


def plant(M, S, c, failure="1/20", repair="1/4"):
    """Return lambda(n) and mu(n) per hour, n machines being down."""
    lam, mu = Fraction(failure), Fraction(repair)
    return {
        "lam": lambda n: min(M, M + S - n) * lam,
        "mu": lambda n: min(n, c) * mu,
    }


def birth_death(n, q):
    yield n + 1, q.lam(n)
    if n > 0:
        yield n - 1, q.mu(n)


def running(M, S, c):
    """Return how many of the M machines run on average."""
    found = explore(birth_death, start=0, params=plant(M, S, c))
    pi = stationary(found).pi
    return sum(p * min(M, M + S - n) for n, p in zip(found.states.tolist(), pi, strict=True))


def exactly(M, S, c):
    """Return the same in rational arithmetic, by products of lambda(n) / mu(n + 1)."""
    q, weights = plant(M, S, c), [Fraction(1)]
    for n in range(M + S):
        weights.append(weights[-1] * q["lam"](n) / q["mu"](n + 1))
    mean = sum(w * min(M, M + S - n) for n, w in enumerate(weights)) / sum(weights)
    return float(mean)


for what, S, c in (("as it is", 2, 2), ("two more spares", 4, 2), ("one more repairer", 2, 3)):
    mean = running(10, S, c)
    print(f"{what:18}: {mean:.4f} of 10 machines run")
    # some 15 states, each a few roundings
    assert math.isclose(mean, exactly(10, S, c), rel_tol=1e-13)
print("check: rational arithmetic agrees to 1e-13")
