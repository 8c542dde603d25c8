"""Blocks of the M/M/1 queue, and a model whose rules change with the level."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from markov import ChainModel

MM1 = {"down": [[10.0]], "local": [[-17.0]], "up": [[7.0]]}


class Lot(ChainModel):
    """Cars on a lot: the rates depend on every level up to some, then the rules repeat."""

    class State(NamedTuple):
        n: int
        open: int

    class Params(NamedTuple):
        gates: int = 3
        places: int = 50

    def space(self):
        return {"n": range(self.places + 1), "open": range(2)}

    @staticmethod
    def rules(s: Any, q: Any) -> Iterator[tuple[Any, Any]]:
        if s.n < q.places and s.open == 1:
            yield s._replace(n=s.n + 1), 2.0 if s.n < 30 else 2.5
        if s.n > 0:
            yield s._replace(n=s.n - 1), 1.0 * s.n if s.n <= q.gates else 1.0 * q.gates
        yield s._replace(open=1 - s.open), 0.1 if 2 * s.open == 0 else 0.02
