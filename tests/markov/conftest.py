"""Small chains and exact answers that tests of several modules share."""

from __future__ import annotations

import enum
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from markov import ChainModel, add_at


class Queue(ChainModel):
    """M/M/1/K."""

    class State(NamedTuple):
        n: int

    class Params(NamedTuple):
        arrival_rate: float = 7.0
        service_rate: float = 10.0
        capacity: int = 12
        lowest: int = 0

    def space(self):
        return {"n": range(self.lowest, self.lowest + self.capacity + 1)}

    @staticmethod
    def rules(s, q):
        if s.n < q.lowest + q.capacity:
            yield s._replace(n=s.n + 1), q.arrival_rate
        if s.n > q.lowest:
            yield s._replace(n=s.n - 1), q.service_rate
        yield s, 5.0  # to itself: nothing


class Coin(ChainModel):
    """A model without parameters."""

    class State(NamedTuple):
        side: int

    def space(self):
        return {"side": range(2)}

    def start(self):
        return self.State(0)

    @staticmethod
    def rules(s, q):
        yield s._replace(side=1 - s.side), 1.0 + 2.0 * s.side


def rows(text):
    """Return the rows of a table by name."""
    lines = [line.split("  ", 2) for line in text.splitlines() if line.startswith("  ")]
    return {line[1]: line[2].strip() for line in lines}


class Mode(enum.Enum):
    BUSY = "busy"
    IDLE = "idle"


class Machine(ChainModel):
    """Texts, an Enum and a vector among the components, strings and arrays among the parameters."""

    class State(NamedTuple):
        mode: Mode
        phase: str
        n: tuple[int, ...]

    class Params(NamedTuple):
        stations: int = 2
        room: int = 3
        rates: np.ndarray = np.array([1.0, 2.0, 3.0, 4.0])
        kind: str = "strict"

    def space(self):
        phases = ["cold", "warm", "hot"]
        return {"mode": Mode, "phase": phases, "n": (range(self.room + 1),) * self.stations}

    def labels(self, s):
        return {"busy": s.mode is Mode.BUSY, "hot and full": s.phase == "hot" and sum(s.n) > 3}

    @staticmethod
    def rules(s, q):
        for k, m in enumerate(s.n):
            if m < q.room:
                yield s._replace(n=add_at(s.n, k, 1)), q.rates[k]
            if m > 0 and s.mode is Mode.BUSY:
                yield s._replace(n=add_at(s.n, k, -1)), 1.5 * m
        if s.mode == Mode.IDLE:
            yield s._replace(mode=Mode.BUSY), 0.5
        elif q.kind == "strict":
            yield s._replace(mode=Mode.IDLE, phase="cold"), 0.25
        if s.phase != "hot":
            yield s._replace(phase={"cold": "warm", "warm": "hot"}[s.phase]), 0.125


def repairs(s: Any, q: Any) -> Any:
    if s.working > 0:
        yield s._replace(working=s.working - 1), q.failure * s.working
    if s.working < q.machines:
        yield s._replace(working=s.working + 1), q.repair


def generator_of(rates):
    """Return rates off the diagonal with the diagonal that makes rows sum to zero."""
    Q = np.array(rates, dtype=float)
    np.fill_diagonal(Q, 0.0)
    return Q - np.diag(Q.sum(axis=1))


def exact(Q):
    """Return the stationary vector of an irreducible chain in exact rational arithmetic."""
    n = len(Q)
    rates = [[Fraction(float(Q[x, y])) if x != y else Fraction(0) for y in range(n)] for x in range(n)]
    for k in range(n - 1, 0, -1):  # censoring
        out = sum(rates[k][:k])
        for x, y in product(range(k), repeat=2):
            rates[x][y] += rates[x][k] * rates[k][y] / out
        for x in range(k):
            rates[x][k] /= out
    pi = [Fraction(1)]
    for k in range(1, n):
        pi.append(sum(pi[x] * rates[x][k] for x in range(k)))
    total = sum(pi)
    return [value / total for value in pi]


def solved_exactly(matrix, right):
    """Return x with ``matrix`` x = ``right`` in rational arithmetic, by Gauss and Jordan."""
    rows = [[*map(Fraction, row), Fraction(b)] for row, b in zip(matrix, right, strict=True)]
    for k in range(len(rows)):
        pivot = next(r for r in range(k, len(rows)) if rows[r][k] != 0)
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for r in range(len(rows)):
            if r != k and rows[r][k]:
                rows[r] = [x - rows[r][k] * y for x, y in zip(rows[r], rows[k], strict=True)]
    return [row[-1] for row in rows]


def distance(pi, truth):
    """Return the exact total-variation distance."""
    return sum(abs(Fraction(float(x)) - y) for x, y in zip(pi, truth, strict=True)) / 2


def birth_death(up, down):
    return generator_of(np.diag(up, 1) + np.diag(down, -1))


@st.composite
def chains(draw, decades=6.0, largest=7):
    """Irreducible chains: a cycle through all states in random order, and some rates more."""
    n = draw(st.integers(2, largest))
    rate = st.floats(-decades, decades).map(lambda x: 10.0**x)
    rates = np.zeros((n, n))
    order = draw(st.permutations(range(n)))
    for x, y in zip(order, [*order[1:], order[0]], strict=True):
        rates[x, y] = draw(rate)
    for x, y in draw(st.lists(st.tuples(*[st.integers(0, n - 1)] * 2), max_size=2 * n)):
        rates[x, y] = draw(rate)
    return generator_of(rates)
