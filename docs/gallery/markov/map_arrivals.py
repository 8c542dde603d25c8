"""MAP/M/1: what bursts do to a queue.

Arrivals follow a Markovian arrival process: the phase moves by the matrix D0 without an
arrival and by D1 with one. Traffic engineers fit such matrices to measurements. Two
streams have the same mean rate, but one comes in bursts: how long are their queues?

Field: queueing.
Source: M. F. Neuts, A versatile Markovian point process, Journal of Applied Probability
16, 1979; D. M. Lucantoni, New results on the single server queue with a batch Markovian
arrival process, Stochastic Models 7(1), 1991.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from markov import NO_END, ChainModel, stationary_by_level


class MAPM1(ChainModel):
    class State(NamedTuple):
        n: int
        phase: int

    class Params(NamedTuple):
        D0: np.ndarray
        D1: np.ndarray
        mu: float = 1.0

    def space(self):
        return {"n": range(NO_END), "phase": range(len(self.D0))}

    def rewards(self, s):
        return {"L": s.n}

    @staticmethod
    def rules(s, q):
        for j in range(len(q.D0)):
            if j != s.phase:
                yield s._replace(phase=j), q.D0[s.phase, j]
            yield s._replace(n=s.n + 1, phase=j), q.D1[s.phase, j]
        if s.n > 0:
            yield s._replace(n=s.n - 1), q.mu


def mean_queue(q):
    """L by the matrix R with D1 + R (D0 - mu I) + mu R^2 = 0, iterated to its fixed point."""
    m = len(q.D0)
    one, eye = np.ones(m), np.eye(m)
    R, before, inverse = np.zeros((m, m)), np.ones((m, m)), np.linalg.inv(q.mu * eye - q.D0)
    while np.abs(R - before).max() > 1e-15:
        before, R = R, (q.D1 + q.mu * R @ R) @ inverse
    # level 0: x (D0 + mu R) = 0 and x (I - R)^-1 1 = 1
    A = np.vstack([(q.D0 + q.mu * R).T, np.linalg.inv(eye - R) @ one])
    x = np.linalg.lstsq(A, np.eye(m + 1)[m], rcond=None)[0]
    return x @ R @ np.linalg.matrix_power(np.linalg.inv(eye - R), 2) @ one


bursts = MAPM1(D0=np.array([[-1.92, 0.02], [0.01, -0.11]]), D1=np.diag([1.9, 0.1]))
poisson = MAPM1(D0=np.array([[-0.7]]), D1=np.array([[0.7]]))
for name, model in (("Poisson", poisson), ("in bursts", bursts)):
    answer = stationary_by_level(model)
    print(f"{name:9} arrivals at rate 0.7: {answer['L']:.4f} customers on average")
    # R is found to rounding; 1 / (1 - its spectral radius), below 1e3, is lost
    np.testing.assert_allclose(answer["L"], mean_queue(model.params), rtol=1e-10)
print("check: the fixed point of Neuts' matrix R agrees to 1e-10")
