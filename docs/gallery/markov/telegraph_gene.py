"""A gene that switches on and off: the telegraph model.

A promoter switches on at rate k_on and off at rate k_off. While it is on, mRNA is made at
rate r; each molecule decays at rate 1, which sets the unit of time. Identical cells hold
different numbers of molecules: is the histogram unimodal or bimodal, and what is its Fano
factor, variance over mean?

Field: chemistry.
Source: J. Peccoud, B. Ycart, Markovian modelling of gene-product synthesis, Theoretical
Population Biology 48, 1995; the law as a mixture of Poisson laws over a beta law: A. Raj
et al., Stochastic mRNA synthesis in mammalian cells, PLoS Biology 4, 2006.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from scipy.special import gammaln, hyp1f1

from markov import ChainModel, stationary


class Telegraph(ChainModel):
    class State(NamedTuple):
        gene: Literal["on", "off"]
        mRNA: int

    class Params(NamedTuple):
        k_on: float = 0.6
        k_off: float = 0.4
        r: float = 40.0
        most: int = 110  # Poisson of mean 40: more have a probability below 1e-18

    def space(self):
        return {"gene": ["off", "on"], "mRNA": range(self.most + 1)}

    @staticmethod
    def rules(s, q):
        if s.gene == "on":
            yield s._replace(gene="off"), q.k_off
            if s.mRNA < q.most:
                yield s._replace(mRNA=s.mRNA + 1), q.r
        else:
            yield s._replace(gene="on"), q.k_on
        if s.mRNA > 0:
            yield s._replace(mRNA=s.mRNA - 1), 1.0 * s.mRNA


def beta_poisson(q, n):
    """P(n) = r^n / n! (k_on)_n / (k_on + k_off)_n 1F1(k_on + n; k_on + k_off + n; -r)."""
    k = q.k_on + q.k_off
    log = n * np.log(q.r) - gammaln(n + 1) + gammaln(q.k_on + n) - gammaln(q.k_on)
    log += gammaln(k) - gammaln(k + n)
    return np.exp(log - q.r) * hyp1f1(q.k_off, k + n, q.r)  # Kummer: no terms that cancel


for speed in (0.3, 1.0, 10.0):
    model = Telegraph(k_on=0.6 * speed, k_off=0.4 * speed)
    answer = stationary(model)
    p = answer.pi.reshape(model.shape).sum(axis=0)
    n = np.arange(len(p))
    mean = p @ n
    fano = p @ (n - mean) ** 2 / mean
    humps = 1 + np.sum((p[1:-1] < p[:-2]) & (p[1:-1] < p[2:]))
    print(f"switching {speed:4} times as fast: Fano factor {fano:6.3f}, {humps} hump(s)")
    np.testing.assert_allclose(p, beta_poisson(model, n), atol=1e-13)  # 1F1 of SciPy
    np.testing.assert_allclose(fano, 1 + model.r * 0.4 / (1 + speed), rtol=1e-10)
