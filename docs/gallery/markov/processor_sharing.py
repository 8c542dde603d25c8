"""Discriminatory processor sharing: a processor shared by weight.

All jobs are served at once; one of class k gets a fraction g[k] / sum_j n[j] g[j] of the
capacity. Who gains how much from a larger weight, and who pays?

Field: queueing.
Source: G. Fayolle, I. Mitrani, R. Iasnogorodski, Sharing a processor among many job
classes, Journal of the ACM 27(3), 1980: the means for two exponential classes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from markov import ChainModel, add_at, stationary


class DPS(ChainModel):
    class State(NamedTuple):
        n: tuple[int, int]

    class Params(NamedTuple):
        g: tuple[float, float]
        lam: tuple[float, float] = (0.3, 0.15)
        mu: tuple[float, float] = (1.0, 0.5)
        room: int = 60

    def space(self):
        return {"n": (range(self.room + 1), range(self.room + 1))}

    def rewards(self, s, q):
        return {"V1": s.n[0] / q.lam[0], "V2": s.n[1] / q.lam[1]}  # Little's law

    @staticmethod
    def rules(s, q):
        weight = sum(g * n for g, n in zip(q.g, s.n, strict=True))
        for k in range(2):
            if s.n[k] < q.room:
                yield s._replace(n=add_at(s.n, k, 1)), q.lam[k]
            if s.n[k] > 0:
                yield s._replace(n=add_at(s.n, k, -1)), q.mu[k] * s.n[k] * q.g[k] / weight


def closed_form(q):
    """Mean times in the system of a job of each class."""
    (g1, g2), (mu1, mu2) = q.g, q.mu
    rho1, rho2 = q.lam[0] / mu1, q.lam[1] / mu2
    rho = rho1 + rho2
    D = mu1 * g1 * (1 - rho1) + mu2 * g2 * (1 - rho2)
    V1 = (1 + mu1 * rho2 * (g2 - g1) / D) / (mu1 * (1 - rho))
    V2 = (1 + mu2 * rho1 * (g1 - g2) / D) / (mu2 * (1 - rho))
    return V1, V2


for weight in (1.0, 2.0, 5.0, 100.0):
    model = DPS(g=(weight, 1.0))
    answer = stationary(model)
    V1, V2 = answer["V1"], answer["V2"]
    print(f"weights {weight:3.0f} : 1   short jobs take {V1:.3f} s, long ones {V2:.3f} s")
    # more than 60 jobs of a class have a probability below 1e-11; they would count 60 / lam each
    np.testing.assert_allclose((V1, V2), closed_form(model), rtol=1e-8)
