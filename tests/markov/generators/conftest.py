"""Models that tests of several generators share."""

from __future__ import annotations

from typing import Any, NamedTuple

from markov import ChainModel
from markov.models.bare import FunctionModel
from tests.markov.conftest import Queue


class Bad(Queue):
    """Goes wrong in one state, in a way that can be chosen."""

    class Params(NamedTuple):
        step: float = 1.0
        rate: float = 1.0
        capacity: int = 3
        lowest: int = 0

    @staticmethod
    def rules(s, q):
        if s.n == 2:
            yield s._replace(n=s.n + q.step), q.rate
        yield s._replace(n=0), 1.0
        yield s._replace(n=(s.n + 1) % 4), 0.5
        yield s._replace(n=(s.n + 1) % 4), 0.25  # rates to one target add up


def one_component(space: Any, rules: Any, params: Any = None) -> ChainModel:
    """Return a model of one component, n."""
    return FunctionModel(rules, None, params or {}, space={"n": space})
