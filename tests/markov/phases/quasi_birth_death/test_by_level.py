"""Chains in levels: many, infinitely many, and from rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

from hopflow import NotSolvedError, Status
from markov import (
    MM1K,
    ChainModel,
    Levels,
    PauseTandem,
    QuasiBirthDeath,
    stationary,
    stationary_by_level,
)
from tests.markov.phases.quasi_birth_death.conftest import MM1

# --------------------------------------------------------------------------- models in levels


@pytest.mark.parametrize("rates", [(25.0, 1.0), (10.0, 3.0), (40.0, 30.0)], ids=repr)
@pytest.mark.parametrize("length", [3, 7, 64])
def test_pause_chain_by_level_and_whole(length, rates):
    # entrywise: both eliminate without subtractions; 1e-11 as for the other methods that do
    model = PauseTandem(buffers=(length, 5), high_threshold=4, arrival_rates=rates)
    one = stationary_by_level(QuasiBirthDeath.of(model, "i"))
    other = stationary(model, Levels("i", cyclic=False))
    states = one.chain.phases
    pi = other.to_xarray().pi.values
    for level in range(length + 1):
        there = pi[level, states.j, states.k - 1, states.a - 1]
        np.testing.assert_allclose(one.level(level), there, rtol=1e-11, atol=1e-300)
    for name, (_, value, _) in other._measures.items():
        np.testing.assert_allclose(one[name], value, rtol=1e-11, err_msg=name)
    assert one.residual < 1e-14
    np.testing.assert_allclose(one.marginal(range(length + 1)).sum(), 1.0, rtol=1e-14)


@pytest.mark.parametrize("rates", [(25.0, 1.0), (14.0, 14.0), (40.0, 30.0)], ids=repr)
def test_a_number_of_levels_that_nobody_lists(rates):
    # the likely end of the buffer does not know how far away the other one is
    answer = stationary_by_level(PauseTandem(buffers=(10**9, 5), high_threshold=4, arrival_rates=rates))
    assert answer.status is Status.SOLVED  # met, and no bound is known
    assert answer.checked > 10
    np.testing.assert_allclose(answer["throughput_expressions"], answer.throughput, rtol=1e-11)
    fewer = stationary_by_level(PauseTandem(buffers=(10**8, 5), high_threshold=4, arrival_rates=rates))
    if answer.mean_level < 1e6:
        np.testing.assert_allclose(answer.mean_level, fewer.mean_level, rtol=1e-11)
    else:
        np.testing.assert_allclose(10**9 - answer.mean_level, 10**8 - fewer.mean_level, rtol=1e-6)
    assert answer.memory < 2e6


@pytest.mark.parametrize("load", [0.3, 1.0, 3.0])
def test_mm1k_by_level(load):
    model = MM1K(arrival_rate=load, service_rate=1.0, capacity=300)
    answer = stationary_by_level(model)
    np.testing.assert_allclose(answer.marginal(range(301)), model.exact(), rtol=1e-12)
    np.testing.assert_allclose(answer.mean_level, model.exact() @ np.arange(301), rtol=1e-12)


class Split(ChainModel):
    """A coin that nobody turns lies beside a queue."""

    class State(NamedTuple):
        n: int
        side: int

    def space(self):
        return {"n": range(40), "side": range(2)}

    @staticmethod
    def rules(s: Any, q: Any) -> Iterator[tuple[Any, Any]]:
        if s.n < 39:
            yield s._replace(n=s.n + 1), 1.0
        if s.n > 0:
            yield s._replace(n=s.n - 1), 2.0


def test_several_closed_classes_are_refused():
    with pytest.raises(ValueError, match="not unique: 2 closed classes"):
        stationary_by_level(Split())


def test_closed_classes_on_different_levels_give_no_answer():
    class Parted(Split):
        """Queues that only grow, or only shrink."""

        @staticmethod
        def rules(s: Any, q: Any) -> Iterator[tuple[Any, Any]]:
            if s.side == 0:
                if s.n < 39:
                    yield s._replace(n=s.n + 1), 1.0
                if s.n == 10:
                    yield s._replace(side=1), 0.5
            elif s.n > 0:
                yield s._replace(n=s.n - 1), 1.0

    answer = stationary_by_level(Parted(), on_failure="return")
    assert answer.status is Status.NOT_FINITE
    with pytest.raises(NotSolvedError, match="not finite"):
        stationary_by_level(Parted())


def test_how_it_looks():
    answer = stationary_by_level(PauseTandem(buffers=(10**5, 4), high_threshold=3))
    text = repr(answer)
    assert "100001 levels of " in text
    assert "levels and the sums over all of them" in text
    data = answer.to_xarray()
    assert data.probability.dims == ("level",)
    assert data.sizes["queue"] == 2
    assert "probability" in answer.plot().get_ylabel()
    assert "decay rate" in repr(stationary_by_level(QuasiBirthDeath(**MM1)))
    assert "infinitely many levels" in repr(QuasiBirthDeath(**MM1))
    first = QuasiBirthDeath(**MM1, boundary=([[-7.0]], [[7.0]], [[10.0]]))
    assert "<img" in stationary_by_level(first)._repr_html_()
