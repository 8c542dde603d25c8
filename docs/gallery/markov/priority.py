"""Preemptive priority: what do emergencies cost the others?

One doctor, two classes of patients. An emergency interrupts whoever is being treated, and
the treatment is resumed later. For emergencies the other patients do not exist; the others
wait for everybody.

Field: queueing.
Source: H. White, L. S. Christie, Queuing with preemptive priorities or with breakdown,
Operations Research 6(1), 1958.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from markov import ChainModel, add_at, stationary


class Clinic(ChainModel):
    class State(NamedTuple):
        n: tuple[int, ...]  # patients of each class, the most urgent first

    class Params(NamedTuple):
        lam: tuple[float, ...] = (0.5, 1.0)  # per hour
        mu: tuple[float, ...] = (3.0, 2.0)
        room: tuple[int, ...] = (20, 80)  # cuts off less than 1e-14 (6^-20 and 0.62^80)

    def space(self):
        return {"n": tuple(range(m + 1) for m in self.room)}

    def rewards(self, s):
        return {f"L{k + 1}": n for k, n in enumerate(s.n)}

    @staticmethod
    def rules(s, q):
        for k, n in enumerate(s.n):
            if n < q.room[k]:
                yield s._replace(n=add_at(s.n, k, 1)), q.lam[k]
        for k, n in enumerate(s.n):
            if n > 0:
                yield s._replace(n=add_at(s.n, k, -1)), q.mu[k]
                return  # nobody else is treated


def white_and_christie(lam, mu):
    """The mean numbers of both classes."""
    rho = [a / b for a, b in zip(lam, mu, strict=True)]
    L1 = rho[0] / (1 - rho[0])
    L2 = (rho[1] + L1 * rho[1] * mu[1] / mu[0]) / (1 - rho[0] - rho[1])
    return L1, L2


answer = stationary(Clinic())
L1, L2 = white_and_christie(Clinic().lam, Clinic().mu)
for k, (name, lam) in enumerate(zip(("emergency", "other"), Clinic().lam, strict=True), 1):
    print(f"{name:9}: {answer[f'L{k}'] / lam:.3f} hours from arrival to departure")

assert math.isclose(answer["L1"], L1, rel_tol=1e-12)
assert math.isclose(answer["L2"], L2, rel_tol=1e-10)  # the room that is cut off, times 80
print("check: White and Christie's means to 1e-10")
