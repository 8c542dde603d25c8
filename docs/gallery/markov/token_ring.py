"""A token ring: one server, two stations.

The token visits the stations in turn, and stays until there is nothing more to send
(exhaustive service); moving on takes time. The mean waiting times have no simple formula,
but a weighted sum of them does: the pseudo-conservation law.

Field: communication.
Source: O. J. Boxma, W. P. Groenendijk, Pseudo-conservation laws in cyclic-service systems,
Journal of Applied Probability 24, 1987.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from markov import ChainModel, add_at, stationary


class Ring(ChainModel):
    class State(NamedTuple):
        at: int
        token: str
        n: tuple[int, int]

    class Params(NamedTuple):
        lam: tuple[float, float] = (0.2, 0.1)
        b: tuple[float, float] = (1.0, 2.0)  # mean times to send a packet
        walk: tuple[float, float] = (0.5, 0.5)  # from the first to the second station, and back
        room: tuple[int, int] = (30, 25)

    def space(self):
        n = tuple(range(m + 1) for m in self.room)
        return {"at": range(2), "token": ["serves", "moves"], "n": n}

    def start(self):
        return self.State(0, "moves", (0, 0))

    def rewards(self, s):
        return {f"L{k}": n for k, n in enumerate(s.n)}

    @staticmethod
    def rules(s, q):
        for k in range(2):
            if s.n[k] < q.room[k]:
                yield s._replace(n=add_at(s.n, k, 1)), q.lam[k]
        if s.token == "serves":
            left = s.n[s.at] - 1
            token = "serves" if left > 0 else "moves"
            yield s._replace(n=add_at(s.n, s.at, -1), token=token), 1 / q.b[s.at]
        else:
            there = 1 - s.at
            token = "serves" if s.n[there] > 0 else "moves"
            yield s._replace(at=there, token=token), 1 / q.walk[s.at]


model = Ring()
answer, q = stationary(model), model.params
lam, b, walk = map(np.array, (q.lam, q.b, q.walk))
W = np.array([answer["L0"], answer["L1"]]) / lam - b  # Little's law
print(f"{answer.chain.size} states; packets wait {W[0]:.4f} and {W[1]:.4f}")

rho = lam * b
r, s, s2 = rho.sum(), walk.sum(), walk.sum() ** 2 + (walk**2).sum()
law = r * (lam @ (2 * b**2)) / (2 * (1 - r)) + r * s2 / (2 * s)
law += s * (r**2 - (rho**2).sum()) / (2 * (1 - r))
print(f"sum of rho W: {rho @ W:.10f}, by the law {law:.10f}")
np.testing.assert_allclose(rho @ W, law, rtol=1e-6)  # rooms of 39 and 29 lose some 1e-8
