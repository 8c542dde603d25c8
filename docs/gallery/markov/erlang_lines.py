"""Erlang's telephone lines: how many are enough?

Calls arrive as a Poisson process of rate lambda and last 1/mu on average; a = lambda/mu is
the offered load in erlangs. With c lines and no waiting room, a call that finds all of
them busy is lost; with unlimited waiting room it waits. How likely is either? The answers
are Erlang's formulas B and C.

Field: queueing.
Source: A. K. Erlang, Solution of some problems in the theory of probabilities of
significance in automatic telephone exchanges, The Post Office Electrical Engineers'
Journal 10, 1917; as M/M/m/m and M/M/m in L. Kleinrock, Queueing Systems 1, 1975, chapter
3.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from markov import NO_END, ChainModel, stationary, stationary_by_level


class Trunk(ChainModel):
    class State(NamedTuple):
        n: int  # calls, in conversation or waiting

    class Params(NamedTuple):
        lam: float = 3.0  # calls per minute
        mu: float = 1 / 3
        c: int = 12
        room: int | None = 0  # places to wait; None: no end of them

    def space(self):
        return {"n": range(NO_END if self.room is None else self.c + self.room + 1)}

    def labels(self, s):
        return {"all lines busy": s.n >= self.c}

    @staticmethod
    def rules(s, q):
        if q.room is None or s.n < q.c + q.room:
            yield s._replace(n=s.n + 1), q.lam
        if s.n > 0:
            yield s._replace(n=s.n - 1), min(s.n, q.c) * q.mu


def erlang_b(c, a):
    B = 1.0
    for n in range(1, c + 1):
        B = a * B / (n + a * B)
    return B


def erlang_c(c, a):
    B = erlang_b(c, a)
    return c * B / (c - a * (1 - B))


lost = stationary(Trunk())["all lines busy"]
waits = stationary_by_level(Trunk(room=None))["all lines busy"]
print(f"12 lines, 9 Erlang: {lost:.2%} of the calls are lost, or {waits:.2%} have to wait")

enough = next(c for c in range(1, 40) if stationary(Trunk(c=c))["all lines busy"] < 0.01)
print(f"with {enough} lines, fewer than one call in a hundred is lost")

# Both ways add and divide positive numbers, some 50 roundings of 1e-16 at most.
assert math.isclose(lost, erlang_b(12, 9.0), rel_tol=1e-13)
assert math.isclose(waits, erlang_c(12, 9.0), rel_tol=1e-13)
assert erlang_b(enough, 9.0) < 0.01 <= erlang_b(enough - 1, 9.0)
print("check: Erlang's recursion gives the same to 1e-13")
