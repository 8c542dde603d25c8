"""A chain that tests of shards share."""

from __future__ import annotations

from typing import NamedTuple

from markov import ChainModel


class Tandem(ChainModel):
    """M/M/1/K to M/M/1/L, losses at both; every state is recurrent, and there is no start."""

    class State(NamedTuple):
        i: int
        j: int

    def space(self):
        return {"i": range(30), "j": range(40)}

    @staticmethod
    def rules(s, q):
        if s.i < 29:
            yield s._replace(i=s.i + 1), 0.8
        if s.i > 0:
            yield s._replace(i=s.i - 1, j=min(s.j + 1, 39)), 1.0
        if s.j > 0:
            yield s._replace(j=s.j - 1), 0.9
