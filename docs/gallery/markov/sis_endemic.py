"""An endemic infection: how common is it, and how long does it last?

An infection without immunity in a closed population (SIS, the stochastic logistic model)
is certain to die out, though above its threshold only after a very long time. Until then
the number of infected people has a quasi-stationary distribution q: the one that is left
unchanged when extinct infections are reintroduced according to q. The mean time to
extinction is 1 / q(1).

Field: epidemics.
Source: I. Nåsell, On the quasi-stationary distribution of the stochastic logistic
epidemic, Mathematical Biosciences 156, 1999; bringing back: J. N. Darroch, E. Seneta, On
quasi-stationary distributions in absorbing discrete-time finite Markov chains, Journal of
Applied Probability 2, 1965, and M. S. Bartlett, Stochastic Population Models in Ecology
and Epidemiology, 1960.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from markov import ChainModel, stationary


class SIS(ChainModel):
    class State(NamedTuple):
        I: int

    class Params(NamedTuple):
        back: np.ndarray  # back[k]: probability to come back with k + 1 infected
        R0: float = 1.5  # the mean infectious period is the unit of time

    def space(self):
        return {"I": range(1, len(self.back) + 1)}

    @staticmethod
    def rules(s, q):
        N = len(q.back)
        if s.I < N:
            yield s._replace(I=s.I + 1), q.R0 * s.I * (1 - s.I / N)
        if s.I > 1:
            yield s._replace(I=s.I - 1), 1.0 * s.I
        else:
            yield from ((s._replace(I=k + 1), q.back[k]) for k in range(N))


def quasi_stationary(N, R0):
    q = np.full(N, 1 / N)
    before = np.zeros(N)
    while np.abs(q - before).sum() > 1e-13:
        before, q = q, stationary(SIS(back=q, R0=R0)).pi
    return q


def by_eigenvector(N, R0):
    """The left eigenvector of the killed generator, by LAPACK."""
    n = np.arange(1, N + 1)
    up, down = R0 * n * (1 - n / N), 1.0 * n
    Q = np.diag(up[:-1], 1) + np.diag(down[1:], -1) - np.diag(up + down)
    values, vectors = np.linalg.eig(Q.T)
    q = np.abs(vectors[:, np.argmax(values.real)].real)
    return q / q.sum()


for R0 in (0.8, 1.2, 1.5, 2.0):
    q = quasi_stationary(50, R0)
    infected, lasts = q @ np.arange(1, 51), 1 / q[0]
    print(f"R0 = {R0}: {infected:5.2f} of 50 infected, for {lasts:.4g} infectious periods")
    np.testing.assert_allclose(q, by_eigenvector(50, R0), atol=1e-12)  # LAPACK: in norm
