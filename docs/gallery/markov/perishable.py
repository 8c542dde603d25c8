"""Blood bank: a stock that spoils.

Units of blood are demanded as a Poisson process, and each spoils after an exponential time
of mean 1/theta. When s units are left, S - s are ordered; they arrive after an exponential
time. The bank wants to throw away few units and to turn away few patients.

Field: inventory.
Source: S. Kalpakam, K. P. Sapna, Continuous review (s, S) inventory system with random
lifetimes and positive leadtimes, Operations Research Letters 16, 1994; S. Nahmias,
Perishable inventory theory: a review, Operations Research 30(4), 1982.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from markov import explore, stationary


class Bank(NamedTuple):
    units: int
    ordered: bool


PARAMS = {"s": 6, "S": 24, "demand": 4.0, "theta": 1 / 14, "delivery": 1.0}  # per day


def rules(bank, q):
    units, ordered = bank
    if units > 0:
        less = Bank(units - 1, ordered or units - 1 == q.s)
        yield less, q.demand
        yield less, q.theta * units
    if ordered:
        yield Bank(units + q.S - q.s, False), q.delivery


def rewards(bank, q):
    return {"spoiled": q.theta * bank.units, "missing": q.demand * (bank.units == 0)}


def by_hand(s, S, demand, theta, delivery):
    """Spoiled and missing per day by one cycle: leaving j units takes 1 / (demand + j theta).

    While an order is on its way, level j is reached before it comes with probability reach(j).
    """
    speed = lambda j: demand + j * theta
    reach, time = {s: 1.0}, {}
    for j in range(s, 0, -1):
        time[j] = reach[j] / (speed(j) + delivery)
        reach[j - 1] = time[j] * speed(j)
    time[0] = reach[0] / delivery
    arrives = {j + S - s: time[j] * delivery for j in range(s + 1)}  # levels when the order comes
    for j in range(S, s, -1):  # every level below the one of arrival is passed
        passed = math.fsum(p for level, p in arrives.items() if level >= j)
        time[j] = passed / speed(j)
    cycle = math.fsum(time.values())
    return theta * math.fsum(j * t for j, t in time.items()) / cycle, demand * time[0] / cycle


for s, S in ((6, 24), (10, 24), (10, 60)):
    params = {**PARAMS, "s": s, "S": S}
    answer = stationary(explore(rules, start=Bank(S, False), params=params, rewards=rewards))
    spoiled, missing = by_hand(**params)
    print(f"(s, S) = ({s:2}, {S}): {spoiled:.4f} units a day spoil, {missing:.4f} are lacking")
    assert math.isclose(answer["spoiled"], spoiled, rel_tol=1e-12)  # sums of positive numbers
    assert math.isclose(answer["missing"], missing, rel_tol=1e-12)
print("check: the cycle from order to order, by hand, agrees to 1e-12")
