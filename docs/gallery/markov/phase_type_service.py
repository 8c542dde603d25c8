"""M/PH/1/K: service times of phase type.

A service passes through phases: it starts in phase i with probability beta[i], moves by
the matrix S, and ends at the rates -S 1. Phase-type distributions come arbitrarily close
to any other. How does the variability of the service time affect the fraction of customers
who find the system full?

Field: queueing.
Source: M. F. Neuts, Matrix-Geometric Solutions in Stochastic Models, 1981, section 3.2;
the finite room: P. P. Bocharov, V. A. Naoumov, Matrix-geometric stationary distribution
for the PH/PH/1/r queue, Elektronische Informationsverarbeitung und Kybernetik 22(4), 1986.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from markov import explore, stationary


class Queue(NamedTuple):
    n: int
    phase: int


class MPH1K(NamedTuple):
    lam: float
    beta: np.ndarray
    S: np.ndarray
    K: int


def rules(s, q):
    m, exits = len(q.beta), -q.S.sum(axis=1)
    if s.n == 0:
        yield from ((Queue(1, i), q.lam * q.beta[i]) for i in range(m))
        return
    if s.n < q.K:
        yield s._replace(n=s.n + 1), q.lam
    for j in range(m):
        if j != s.phase:
            yield s._replace(phase=j), q.S[s.phase, j]
        if s.n > 1:
            yield Queue(s.n - 1, j), exits[s.phase] * q.beta[j]
    if s.n == 1:
        yield Queue(0, 0), exits[s.phase]


def by_matrices(q):
    """pi of n = 0 ... K, by powers of R = lam (lam I - lam 1 beta - S)^-1."""
    R = q.lam * np.linalg.inv(q.lam * (np.eye(len(q.beta)) - q.beta) - q.S)
    powers = [q.beta @ np.linalg.matrix_power(R, n) for n in range(1, q.K)]
    last = q.beta @ np.linalg.matrix_power(R, q.K - 1) @ np.linalg.inv(-q.S) * q.lam
    weights = np.array([1.0, *(v.sum() for v in powers), last.sum()])
    return weights / weights.sum()


services = {  # each of mean 1
    "Erlang 4": ([1, 0, 0, 0], 4 * (np.eye(4, k=1) - np.eye(4))),
    "exponential": ([1], [[-1.0]]),
    "hyperexponential": ([0.9, 0.1], np.diag([-1.8, -0.2])),
}
for name, (beta, S) in services.items():
    q = MPH1K(lam=0.8, beta=np.array(beta, float), S=np.array(S), K=10)
    answer = stationary(explore(rules, start=Queue(0, 0), params=q))
    pi = np.bincount(answer.states.n, answer.pi)
    print(f"{name:16} service: {pi[-1]:.3%} of the customers are lost")
    np.testing.assert_allclose(pi, by_matrices(q), rtol=1e-11)  # powers of R up to 9
