"""A hospital ward: patients who carry resistant bacteria.

All N beds are always occupied. Patients stay 1/mu days on average; a fraction phi of those
admitted are already colonised. Each carrier colonises others, via the staff, at rate beta
times the fraction of patients who are not colonised. How many patients carry the bacteria,
and how many of them caught them here?

Field: epidemics.
Source: B. S. Cooper, G. F. Medley, G. M. Scott, Preliminary analysis of the transmission
dynamics of nosocomial infections: stochastic and management effects, Journal of Hospital
Infection 43, 1999.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from markov import ChainModel, sweep


class Ward(ChainModel):
    class State(NamedTuple):
        carriers: int

    class Params(NamedTuple):
        beds: int = 20
        mu: float = 1 / 8  # per day
        phi: float = 0.03
        beta: float = 0.10

    def space(self):
        return {"carriers": range(self.beds + 1)}

    def rewards(self, s, q):
        prevalence = s.carriers / q.beds
        caught_here = (q.beds - s.carriers) * q.beta * prevalence
        return {"prevalence": prevalence, "caught": 30 * caught_here}

    def labels(self, s):
        return {"outbreak": s.carriers >= self.beds / 2}

    @staticmethod
    def rules(s, q):
        free = q.beds - s.carriers
        if free > 0:
            each = q.beta * s.carriers / q.beds + q.mu * q.phi
            yield s._replace(carriers=s.carriers + 1), free * each
        if s.carriers > 0:
            yield s._replace(carriers=s.carriers - 1), s.carriers * q.mu * (1 - q.phi)


def closed_form(q):
    """pi(i) ~ C(N, i) r^i (a)_i with the rising factorial of a = N mu phi / beta."""
    r, a = q.beta / q.beds / (q.mu * (1 - q.phi)), q.beds * q.mu * q.phi / q.beta
    rising = [math.prod(r * (a + k) for k in range(i)) for i in range(q.beds + 1)]
    weights = np.array([math.comb(q.beds, i) * x for i, x in enumerate(rising)])
    return weights / weights.sum()


data = sweep(Ward(), beta=[0.05, 0.1, 0.15])
for beta, one in data.groupby("beta"):
    pi = closed_form(Ward(beta=beta))
    values = [float(one[name].squeeze()) for name in ("prevalence", "caught", "outbreak")]
    print(f"beta = {beta}: {values[0]:.1%} carriers, {values[1]:.1f} a month catch it on the ward")
    np.testing.assert_allclose(values[0], pi @ np.arange(21) / 20, rtol=1e-12)  # 21 states
    np.testing.assert_allclose(values[2], pi[10:].sum(), rtol=1e-12)
