"""Make to stock: how many finished items should a factory keep?

Demand is met from stock or backlogged, so the net inventory is positive or negative. A
machine produces at rate mu while the inventory is below its target S. The factory asks for
the fill rate, the fraction of demand met at once, and for the target of least cost.

Field: inventory.
Source: J. A. Buzacott, J. G. Shanthikumar, Stochastic Models of Manufacturing Systems,
1993, chapter 4.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from markov import ChainModel, stationary, sweep


class Factory(ChainModel):
    class State(NamedTuple):
        x: int  # net inventory: stock, or minus the demands that wait

    class Params(NamedTuple):
        S: int = 5
        demand: float = 0.8
        mu: float = 1.0
        holding: float = 1.0  # per piece and unit of time
        waiting: float = 9.0

    def space(self):
        return {"x": range(-150, self.S + 1)}  # 0.8^150 = 3e-15

    def labels(self, s):
        return {"met at once": s.x > 0}

    def rewards(self, s, q):
        return {"cost": q.holding * max(s.x, 0) + q.waiting * max(-s.x, 0)}

    @staticmethod
    def rules(s, q):
        if s.x > -150:
            yield s._replace(x=s.x - 1), q.demand
        if s.x < q.S:
            yield s._replace(x=s.x + 1), q.mu


now = stationary(Factory())
print(f"S = {Factory().S}: {now['met at once']:.1%} met at once")

data = sweep(Factory(), S=range(21))
rho, S = 0.8, data.S.to_numpy()
np.testing.assert_allclose(data["met at once"], 1 - rho**S, atol=1e-13)  # what is cut off
stock = S - rho * (1 - rho**S) / (1 - rho)
np.testing.assert_allclose(data.cost, stock + 9 * rho ** (S + 1) / (1 - rho), rtol=1e-10)

best = int(data.cost.idxmin())
print(f"S = {best}: {float(data['met at once'].sel(S=best)):.1%} met at once, the least cost")
# the newsboy: the least S with 1 - rho^(S + 1) >= waiting / (waiting + holding)
assert best == math.ceil(math.log(1 / 10) / math.log(rho)) - 1
print(f"check: 1 - rho^S at every S, and the newsboy's rule for the best, {best}")
