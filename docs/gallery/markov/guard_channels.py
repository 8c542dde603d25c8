"""A cellular network: guard channels for handovers.

A cell has C channels. Dropping a call that moves in from a neighbouring cell annoys more
than blocking a new one, so the last g channels are reserved for handovers. Neighbouring
cells are alike: handovers arrive at the rate at which they leave, a fixed point.

Field: communication.
Source: D. Hong, S. S. Rappaport, Traffic model and performance analysis for cellular
mobile radio telephone systems with prioritized and nonprioritized handoff procedures, IEEE
Transactions on Vehicular Technology 35(3), 1986; recursion: G. Haring, R. Marie, R.
Puigjaner, K. Trivedi, Loss formulas and their application to optimization for cellular
networks, the same 50(3), 2001.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from markov import ChainModel, stationary


class Cell(ChainModel):
    class State(NamedTuple):
        calls: int

    class Params(NamedTuple):
        C: int = 20
        g: int = 2
        new: float = 6.0  # per minute, as the others
        handover: float = 3.0
        ends: float = 1 / 2
        moves: float = 1 / 4

    def space(self):
        return {"calls": range(self.C + 1)}

    def labels(self, s):
        return {"blocked": s.calls >= self.C - self.g, "dropped": s.calls == self.C}

    def rewards(self, s):
        return {"moving out": self.moves * s.calls}

    def rules(self, s):
        if s.calls < self.C:
            new = self.new if s.calls < self.C - self.g else 0.0
            yield s._replace(calls=s.calls + 1), new + self.handover
        if s.calls > 0:
            yield s._replace(calls=s.calls - 1), (self.ends + self.moves) * s.calls


def recursion(q):
    """Blocked and dropped, channel by channel as in Erlang's recursion."""
    blocked = dropped = 1.0
    for n in range(1, q.C + 1):
        rate = q.handover + (q.new if n <= q.C - q.g else 0.0)
        up = rate / (q.ends + q.moves) * dropped / n
        blocked = (blocked + up) / (1 + up) if n > q.C - q.g else up / (1 + up)
        dropped = up / (1 + up)
    return blocked, dropped


for g in range(4):
    cell = Cell(g=g)
    while abs((answer := stationary(cell))["moving out"] - cell.handover) > 1e-13:
        cell = cell.replace(handover=answer["moving out"])
    blocked, dropped = answer["blocked"], answer["dropped"]
    print(f"{g} guard channels: {blocked:.2%} of the new calls blocked, {dropped:.3%} dropped")
    np.testing.assert_allclose((blocked, dropped), recursion(cell), rtol=1e-12)  # 21 states
