"""Callers who try again: the M/M/1 retrial queue.

A caller who finds the line busy does not queue but joins the orbit, from which each caller
retries at rate nu. Nobody is waiting in line, so the line stands idle between calls
although there is demand. How many callers are in orbit?

Field: queueing.
Source: G. I. Falin, J. G. C. Templeton, Retrial Queues, 1997, chapter 1.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from markov import ChainModel, stationary

Line = Enum("Line", ["IDLE", "BUSY"])


class Retrial(ChainModel):
    class State(NamedTuple):
        line: Line
        orbit: int

    class Params(NamedTuple):
        lam: float = 0.7
        mu: float = 1.0
        nu: float = 1.0
        most: int = 200  # callers in orbit; more have a probability below 1e-20

    def space(self):
        return {"line": Line, "orbit": range(self.most + 1)}

    def rewards(self, s):
        return {"busy": s.line is Line.BUSY, "in orbit": s.orbit}

    @staticmethod
    def rules(s, q):
        match s.line:
            case Line.IDLE:
                yield s._replace(line=Line.BUSY), q.lam
                if s.orbit > 0:
                    yield Retrial.State(Line.BUSY, s.orbit - 1), s.orbit * q.nu
            case Line.BUSY:
                yield s._replace(line=Line.IDLE), q.mu
                if s.orbit < q.most:
                    yield s._replace(orbit=s.orbit + 1), q.lam


def closed_form(q, n):
    """p(idle, n) = (1 - rho)^(1 + r) rho^n (r)_n / n! with r = lam / nu: negative binomial."""
    rho, r = q.lam / q.mu, q.lam / q.nu
    rising = np.exp(gammaln(n + r) - gammaln(r) - gammaln(n + 1))
    return (1 - rho) ** (1 + r) * rho**n * rising


for nu in (10.0, 1.0, 0.1):
    model = Retrial(nu=nu)
    answer = stationary(model)
    busy, orbit = answer["busy"], answer["in orbit"]
    print(f"nu = {nu:4}: busy {busy:.0%} of the time, {orbit:.3f} callers in orbit")
    idle = answer.pi[[line is Line.IDLE for line in answer.states.line]]
    np.testing.assert_allclose(idle, closed_form(model, np.arange(201)), atol=1e-14)
    exact = 0.7, 0.7 * (0.7 + 0.7 * nu) / (0.3 * nu)
    np.testing.assert_allclose((busy, orbit), exact, rtol=1e-11)  # of a sum over 201 states
