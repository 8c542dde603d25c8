"""Moran's model: drift and mutation.

One of N genes at a time is replaced by a copy of a gene chosen at random, and the copy
mutates: a to A with probability u, A to a with probability v. Drift drives one allele to
fixation, mutation brings the other back. How is the frequency of A distributed, and how
often is only one allele present?

Field: ecology.
Source: P. A. P. Moran, Random processes in genetics, Mathematical Proceedings of the
Cambridge Philosophical Society 54, 1958; W. J. Ewens, Mathematical Population Genetics 1,
2nd edition, 2004, chapter 3.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import betaln, gammaln

from markov import ChainModel, stationary


class Moran(ChainModel):
    class State(NamedTuple):
        A: int

    class Params(NamedTuple):
        N: int = 100
        u: float = 0.01
        v: float = 0.01

    def space(self):
        return {"A": range(self.N + 1)}

    def rewards(self, s, q):
        x = s.A / q.N
        return {"heterozygosity": 2 * x * (1 - x)}

    @staticmethod
    def rules(s, q):
        x = s.A / q.N
        becomes_A = x * (1 - q.v) + (1 - x) * q.u
        if s.A < q.N:
            yield s._replace(A=s.A + 1), (q.N - s.A) * becomes_A
        if s.A > 0:
            yield s._replace(A=s.A - 1), s.A * (1 - becomes_A)


def law(q):
    """Polya's urn: a beta-binomial law."""
    a, b = (q.N * x / (1 - q.u - q.v) for x in (q.u, q.v))
    k = np.arange(q.N + 1)
    ways = gammaln(q.N + 1) - gammaln(k + 1) - gammaln(q.N - k + 1)
    return np.exp(ways + betaln(k + a, q.N - k + b) - betaln(a, b))


for u, v in ((0.002, 0.002), (0.02, 0.02), (0.02, 0.005)):
    model = Moran(u=u, v=v)
    answer = stationary(model)
    ends = answer.probability((0,)) + answer.probability((model.N,))
    het = answer["heterozygosity"]
    print(f"u = {u}, v = {v}: heterozygosity {het:.4f}, one allele alone {ends:.2%} of the time")
    np.testing.assert_allclose(answer.pi, law(model), rtol=1e-10)  # log-gamma functions of SciPy
