"""Wireless LAN: Bianchi's model of exponential backoff.

Before sending, a station counts down a random number of slots from a window of W; each
collision doubles the window, up to 2^m W. If a transmission collides with probability p,
in what fraction tau of the slots does the station send? With n stations, p = 1 - (1 -
tau)^(n - 1). How many slots are lost to collisions?

Field: communication.
Source: G. Bianchi, Performance analysis of the IEEE 802.11 distributed coordination
function, IEEE Journal on Selected Areas in Communications 18(3), 2000, figure 4, equations
(7) and (9).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from scipy.optimize import brentq

from markov import ChainModel, stationary


class Backoff(ChainModel):
    class State(NamedTuple):
        stage: int
        counter: int

    class Params(NamedTuple):
        p: float
        W: int = 16
        m: int = 4

    def start(self):
        return self.State(0, 0)

    def labels(self, s):
        return {"sends": s.counter == 0}

    def rules(self, s):
        """Yield what happens in one slot, with its probability: slots are the unit of time."""
        if s.counter > 0:
            yield s._replace(counter=s.counter - 1), 1.0
            return
        for stage, probability in ((0, 1 - self.p), (min(s.stage + 1, self.m), self.p)):
            window = 2**stage * self.W
            for counter in range(window):
                yield self.State(stage, counter), probability / window


def tau(p, W=16, m=4):
    """Equation (7)."""
    return 2 * (1 - 2 * p) / ((1 - 2 * p) * (W + 1) + p * W * (1 - (2 * p) ** m))


for n in (2, 10, 50):
    p = brentq(lambda p, n=n: p - 1 + (1 - tau(p)) ** (n - 1), 0, 0.999, xtol=1e-15)  # equation (9)
    answer = stationary(Backoff(p=p))
    sends = answer["sends"]
    collision = 1 - (1 - sends) ** n - n * sends * (1 - sends) ** (n - 1)
    print(f"{n:2} stations: each sends in {sends:.3%} of the slots; {collision:.1%} are collisions")
    assert math.isclose(sends, tau(p), rel_tol=1e-11)  # 496 states
print("check: Bianchi's equation (7) to 1e-11")
