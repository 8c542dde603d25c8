"""The start decides which states count."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from markov import MarkovChain, stationary, stationary_by_class
from tests.markov.conftest import Queue


def test_start_decides_between_closed_classes():
    class Forked(Queue):
        class Params(NamedTuple):
            first: int = 0

        capacity = 5

        def space(self):
            return {"n": range(6)}

        def start(self):
            return None if self.first < 0 else self.State(self.first)

        @staticmethod
        def rules(s, q):
            if s.n == 0:
                yield s._replace(n=1), 1.0
            elif s.n == 1:
                yield s._replace(n=0), 3.0
            elif s.n < 5:
                yield s._replace(n=s.n + 1), 1.0

    np.testing.assert_allclose(stationary(Forked()).pi, [0.75, 0.25])
    assert stationary(Forked(first=3)).states.n.tolist() == [3, 4, 5]
    assert stationary(Forked(first=3)).pi.tolist() == [0, 0, 1]
    assert len(stationary_by_class(Forked(first=-1))) == 2
    whole = MarkovChain(Forked(), reachable=False)
    assert whole.transient_states.tolist() == [2, 3, 4, 5]
    np.testing.assert_allclose(stationary(whole).pi, [0.75, 0.25, 0, 0, 0, 0])
