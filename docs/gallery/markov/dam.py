"""A dam: Moran's theory of storage.

Storms arrive as a Poisson process and bring amounts of water of geometric size; the
turbine releases water at a constant rate, and what does not fit is spilled. How often is
the reservoir empty, and how much water is spilled?

Field: storage.
Source: P. A. P. Moran, A probability theory of dams and storage systems, Australian
Journal of Applied Science 5, 1954; N. U. Prabhu, Queues and Inventories, 1965.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from markov import ChainModel, stationary


class Dam(ChainModel):
    class State(NamedTuple):
        water: int

    class Params(NamedTuple):
        room: int = 40
        rain: float = 0.15  # storms per day
        p: float = 1 / 6  # of the geometric law: six units on average
        release: float = 1.0

    def space(self):
        return {"water": range(self.room + 1)}

    @staticmethod
    def rules(s, q):
        if s.water > 0:
            yield s._replace(water=s.water - 1), q.release
        for amount in range(1, q.room - s.water):
            yield s._replace(water=s.water + amount), q.rain * q.p * (1 - q.p) ** (amount - 1)
        if s.water < q.room:
            yield s._replace(water=q.room), q.rain * (1 - q.p) ** (q.room - s.water - 1)

    def labels(self, s):
        return {"empty": s.water == 0}

    def rewards(self, s, q):
        # E[max(X - r, 0)] for room r: the geometric law has no memory
        return {"spilled": q.rain * (1 - q.p) ** (q.room - s.water) / q.p}


def upwards(q):
    """pi by cuts: what flows down from n + 1 is what comes up to n + 1 or more."""
    weights = np.ones(q.room + 1)
    for n in range(q.room):
        weights[n + 1] = q.rain / q.release * sum(weights[k] * (1 - q.p) ** (n - k) for k in range(n + 1))
    return weights / weights.sum()


for room in (10, 20, 40):
    model = Dam(room=room)
    answer = stationary(model)
    print(f"room for {room}: empty {answer['empty']:.2%} of the time, {answer['spilled']:.4f} a day spilled")
    np.testing.assert_allclose(answer.pi, upwards(model), rtol=1e-13)  # sums of 40 positive numbers
    inflow, outflow = model.rain / model.p, model.release * (1 - answer["empty"])
    np.testing.assert_allclose(inflow, outflow + answer["spilled"], rtol=1e-13)
