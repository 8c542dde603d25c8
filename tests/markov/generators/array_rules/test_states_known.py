"""States that an earlier chain of the same rules had: taken again only where the transitions say that they are reached."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from markov import ChainModel, MarkovChain
from markov.generators.array_rules import chains
from markov.generators.building import build_chain


class Cells(ChainModel):
    """Parts that move through six cells of a product space of 7^6 states, of which few can be reached."""

    class State(NamedTuple):
        a: int
        b: int
        c: int
        d: int
        e: int
        f: int

    class Params(NamedTuple):
        parts: int = 6
        rate: float = 1.0
        skip: float = 0.0

    def space(self):
        return dict.fromkeys("abcdef", range(7))

    def start(self):
        return self.State(int(self.parts), 0, 0, 0, 0, 0)

    @staticmethod
    def rules(s, q):
        if s.a > 0 and s.b < 3:
            yield s._replace(a=s.a - 1, b=s.b + 1), q.rate
        if s.b > 0 and s.c < 3:
            yield s._replace(b=s.b - 1, c=s.c + 1), 2.0 * q.rate
        if s.c > 0:
            yield s._replace(c=s.c - 1, d=s.d + 1), 1.5
        if s.d > 0:
            yield s._replace(d=s.d - 1, a=s.a + 1), 1.0
        if s.d > 0:
            yield s._replace(d=s.d - 1, e=s.e + 1), q.skip
        if s.e > 0:
            yield s._replace(e=s.e - 1, a=s.a + 1), 0.5


class Narrow(Cells):
    """The same rules without the first of them in most states: the start leads to fewer states."""

    @staticmethod
    def rules(s, q):
        if s.a > 0 and s.b < q.skip:
            yield s._replace(a=s.a - 1, b=s.b + 1), q.rate
        if s.b > 0:
            yield s._replace(b=s.b - 1, a=s.a + 1), 2.0


@pytest.fixture
def searches(monkeypatch):
    """Count searches that begin with the start."""
    count = []
    search = chains.reached

    def counted(*given, **options):
        count.append(given)
        return search(*given, **options)

    monkeypatch.setattr(chains, "reached", counted)
    return count


def assert_as_plain(model):
    found = MarkovChain.of_built(model, build_chain(model, by="arrays"))
    plain = MarkovChain.of_built(model, build_chain(model, by="python"))
    np.testing.assert_array_equal(found.components["e"], plain.components["e"])
    np.testing.assert_array_equal(found.components["a"], plain.components["a"])
    for part in ("indptr", "indices"):
        np.testing.assert_array_equal(getattr(found.Q, part), getattr(plain.Q, part))
    np.testing.assert_allclose(found.Q.data, plain.Q.data, rtol=1e-15)
    return found.size


def test_other_rates_need_no_search(searches):
    sizes = {assert_as_plain(Cells(rate=rate)) for rate in (1.0, 2.0, 3.5)}
    assert len(sizes) == 1
    assert len(searches) == 1


def test_other_states_are_searched_for(searches):
    """A rate that becomes positive adds states, one that becomes zero takes some away."""
    sizes = [assert_as_plain(Cells(rate=5.0, skip=skip)) for skip in (0.0, 1.0, 0.0, 1.0)]
    assert sizes[0] < sizes[1]
    assert sizes[:2] == sizes[2:]
    assert len(searches) >= 3


def test_states_that_are_no_longer_reached_do_not_count(searches):
    """All targets are among the states that were known, and yet some of these are not reached."""
    sizes = [assert_as_plain(Narrow(skip=skip)) for skip in (4.0, 2.0, 4.0)]
    assert sizes == [5, 3, 5]
    assert len(searches) == 3
