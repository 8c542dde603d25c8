"""A call centre whose callers hang up: Erlang A.

Callers who wait lose patience after an exponential time of mean 1/theta, which keeps the
system stable at any load. A manager asks what fraction of the callers hang up, and how
busy the agents are, for each number of agents.

Field: queueing.
Source: C. Palm, Research on telephone traffic carried by full availability groups, Tele 1,
1957; O. Garnett, A. Mandelbaum, M. Reiman, Designing a call center with impatient
customers, Manufacturing & Service Operations Management 4(3), 2002.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from scipy.special import gammainc, gammaln

from markov import ChainModel, stationary


class ErlangA(ChainModel):
    class State(NamedTuple):
        calls: int

    class Params(NamedTuple):
        lam: float = 48.0  # calls per hour
        mu: float = 6.0  # ten minutes each
        theta: float = 12.0  # five minutes of patience
        agents: int = 9
        most: int = 200  # more than 200 calls have a probability below 1e-100

    def space(self):
        return {"calls": range(self.most + 1)}

    def rewards(self, s, q):
        waiting = max(s.calls - q.agents, 0)
        busy = min(s.calls, q.agents) / q.agents
        return {"abandoned": q.theta * waiting / q.lam, "busy": busy}

    @staticmethod
    def rules(s, q):
        served = min(s.calls, q.agents)
        if s.calls < q.most:
            yield s._replace(calls=s.calls + 1), q.lam
        if s.calls > 0:
            yield s._replace(calls=s.calls - 1), q.mu * served + q.theta * (s.calls - served)


def abandoned(q):
    """P{Ab} by Erlang B and an incomplete gamma function."""
    load = q.lam / q.mu
    B = 1.0
    for n in range(1, q.agents + 1):
        B = load * B / (n + load * B)
    x, y = q.agents * q.mu / q.theta, q.lam / q.theta
    A = x * math.exp(y - x * math.log(y) + gammaln(x)) * gammainc(x, y)
    waits = A * B / (1 + (A - 1) * B)
    rho = load / q.agents
    return waits * (1 / (rho * A) + 1 - 1 / rho)


for agents in (8, 9, 10, 11):
    answer = stationary(ErlangA(agents=agents))
    print(f"{agents} agents: {answer['abandoned']:.1%} hang up, {answer['busy']:.0%} busy")
    # gammainc of SciPy is good to some 1e-14
    assert math.isclose(answer["abandoned"], abandoned(answer.chain.model.params), rel_tol=1e-11)
print("check: the formula with the incomplete gamma function agrees to 1e-11")
