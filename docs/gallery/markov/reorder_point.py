"""The (s, S) policy: when to order, and how much?

A shop sells single items to Poisson demand. When s are left it orders S - s more, which
arrive after an exponential time; customers who find the shelf empty go elsewhere. Orders,
items on the shelf and lost sales all cost money.

Field: inventory.
Source: G. Hadley, T. M. Whitin, Analysis of Inventory Systems, 1963, chapter 4; F. R.
Richards, Comments on the distribution of inventory position in a continuous-review (s, S)
inventory system, Operations Research 23(2), 1975.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from markov import ChainModel, stationary, sweep


class Shop(ChainModel):
    class State(NamedTuple):
        stock: int
        ordered: int  # 1 when an order is on its way

    class Params(NamedTuple):
        s: int = 3
        S: int = 20  # more than 2 s: one order is always enough
        demand: float = 2.0  # per day
        delivery: float = 0.5  # per day: two days
        price: tuple[float, float, float] = (30.0, 0.5, 20.0)  # order, piece and day, lost sale

    def start(self):
        return self.State(self.S, 0)

    def rewards(self, s, q):
        orders = q.delivery * s.ordered
        lost = q.demand if s.stock == 0 else 0.0
        cost = q.price[0] * orders + q.price[1] * s.stock + q.price[2] * lost
        return {"orders": orders, "lost": lost, "cost": cost}

    @staticmethod
    def rules(s, q):
        if s.stock > 0:
            left = s.stock - 1
            yield s._replace(stock=left, ordered=int(s.ordered or left == q.s)), q.demand
        if s.ordered:
            yield s._replace(stock=s.stock + q.S - q.s, ordered=0), q.delivery


def by_renewal(q):
    """Orders and lost sales per day: S - s pieces are sold in a cycle from order to order."""
    lost = (q.demand / (q.demand + q.delivery)) ** q.s * q.demand / q.delivery
    days = (q.S - q.s + lost) / q.demand
    return 1 / days, lost / days


for s in (3, 9):
    answer = stationary(Shop(s=s))
    print(f"s = {s:2}: {answer['lost'] / 2:6.2%} of the sales lost, {answer['cost']:.2f} a day")
    found = answer["orders"], answer["lost"]
    np.testing.assert_allclose(found, by_renewal(answer.chain.model), rtol=1e-12)  # 40 states

data = sweep(Shop(), s=range(10), S=range(20, 33))
best = tuple(map(int, data.cost.stack(policy=("s", "S")).idxmin().item()))
print(f"the best policy is (s, S) = {best}: {float(data.cost.min()):.2f} a day")
