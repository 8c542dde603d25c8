"""Energy packets and data packets: a sensor that sends when it has both.

Energy is harvested in packets, each just enough to send one data packet. Either data
packets wait for energy or energy packets for data, never both, so the state is their
difference. Stored energy leaks away, and waiting data go stale. How much of the data is
lost?

Field: storage.
Source: E. Gelenbe, Synchronising energy harvesting and data packets in a wireless sensor,
Energies 8(1), 2015.
"""

from __future__ import annotations

import math

import numpy as np

from markov import explore, stationary

PARAMS = {"harvest": 1.2, "data": 1.0, "leak": 0.02, "stale": 0.1, "E": 30, "B": 20}


def rules(x, q):
    """x: energy packets in store, or minus the data packets that wait."""
    if x < q.E:
        yield x + 1, q.harvest + q.stale * max(-x, 0)
    if x > -q.B:
        yield x - 1, q.data + q.leak * max(x, 0)


def closed_form(q):
    """A birth-death process: products from 0 upwards and downwards."""
    up = np.cumprod([q["harvest"] / (q["data"] + q["leak"] * k) for k in range(1, q["E"] + 1)])
    down = np.cumprod([q["data"] / (q["harvest"] + q["stale"] * k) for k in range(1, q["B"] + 1)])
    weights = np.concatenate([down[::-1], [1.0], up])
    return weights / weights.sum()


for harvest in (0.8, 1.0, 1.2):
    params = {**PARAMS, "harvest": harvest}
    found = explore(rules, start=0, params=params)
    answer, x = stationary(found), found.states
    waiting = answer.pi @ np.maximum(-x, 0)
    lost = answer.probability(-20) + waiting * params["stale"] / params["data"]
    print(f"{harvest} energy packets per second: {waiting:.3f} data packets wait, {lost:.2%} are lost")
    np.testing.assert_allclose(answer.pi, closed_form(params), rtol=1e-12)  # 51 states
    sent = answer.pi @ (harvest * (x < 0) + params["data"] * (x > 0))
    assert math.isclose(sent, params["data"] * (1 - lost), rel_tol=1e-11)  # what is not lost is sent
