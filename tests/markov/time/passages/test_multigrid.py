"""Multigrid for the equations of a chain until it leaves some states."""

from __future__ import annotations

import numpy as np
import pytest

from hopflow import Status
from markov import MarkovChain, PauseTandem, passage
from markov.time.passages import absorbing
from markov.time.passages.absorbing import Absorbing
from markov.time.passages.multigrid import multigrid_solver


@pytest.fixture(scope="module")
def chain() -> MarkovChain:
    """A pause chain of some 1,500 states."""
    return MarkovChain(PauseTandem(buffers=(25, 25), high_threshold=20))


def away_from(chain: MarkovChain, *states: int) -> Absorbing:
    inside = np.ones(chain.size, dtype=bool)
    inside[list(states)] = False
    return Absorbing(chain.Q, inside)


@pytest.mark.parametrize("states", [(0,), (3, 700), tuple(range(40, 400))], ids=len)
def test_the_residual_falls_by_the_factor_asked_for(
    chain: MarkovChain, states: tuple[int, ...]
) -> None:
    system = away_from(chain, *states)
    leaving = system.rates_into(~system.inside).astype(float)
    costs = 1.0 + system.exit_rates
    solve = multigrid_solver(system.A, leaving, costs)
    assert solve is not None
    b = np.random.default_rng(4).uniform(size=len(costs))
    x = solve(b, 1e-9)
    assert np.max(np.abs(b - system.A @ x) / costs) <= 1.01e-9 * np.max(b / costs)


@pytest.mark.parametrize("to", [0, [5, 900]])
def test_passages_are_those_by_factors_within_both_bounds(
    chain: MarkovChain, to: int | list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    start = chain.size - 1
    direct = passage(MarkovChain(chain.Q), to=to, start=start)
    monkeypatch.setattr(absorbing, "FACTORED", 100)
    monkeypatch.setattr(absorbing, "FACTORED_TREE", 100)
    cycled = passage(MarkovChain(chain.Q), to=to, start=start)
    for value, error in (("mean", "mean_error"), ("variance", "variance_error")):
        a, b = getattr(direct, value), getattr(cycled, value)
        bound = getattr(direct, error) + getattr(cycled, error)
        assert a != b
        assert abs(a - b) <= bound <= 1e-9 * a


@pytest.mark.parametrize("to", [0, [5, 900]])
def test_the_bound_of_a_variance_holds_for_rough_means(
    chain: MarkovChain, to: int | list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Means proved to a hundredth: what they lack is far above rounding in the variances."""
    start = chain.size - 1
    direct = passage(MarkovChain(chain.Q), to=to, start=start)
    monkeypatch.setattr(absorbing, "FACTORED", 100)
    monkeypatch.setattr(absorbing, "FACTORED_TREE", 100)
    monkeypatch.setattr(absorbing, "MANY_ENTRIES_ROUNDING", 1e-2)
    rough = passage(MarkovChain(chain.Q), to=to, start=start, on_failure="return")
    off = np.abs(rough.moments.variance - direct.moments.variance)
    assert np.all(off <= rough.moments.variance_error + direct.moments.variance_error)
    assert off.max() > 1e-8 * direct.variance
    assert rough.variance_error < 0.1 * direct.variance


def left_at(rate: float) -> MarkovChain:
    """Three states, of which the last leads to a fourth at some rate."""
    rates = np.array([[0.0, 1, 0, 0], [0.7, 0, 1, 0], [0, 1, 0, rate], [1, 0, 0, 0]])
    return MarkovChain(rates - np.diag(rates.sum(axis=1)))


def test_what_twice_float64_cannot_tell_from_a_chain_that_is_never_left_has_no_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(absorbing, "FACTORED", 2)
    monkeypatch.setattr(absorbing, "FACTORED_TREE", 2)
    found = passage(left_at(1e-40), to=3, start=0, on_failure="return")
    assert found.mean_error == found.variance_error == np.inf
    assert found.status is Status.INACCURATE
    found = passage(left_at(1e-25), to=3, start=0)
    assert abs(found.mean - 2.7e25) <= found.mean_error < 1e-6 * found.mean


def test_only_a_graph_that_is_nearly_a_tree_is_factored(
    chain: MarkovChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With Numba loaded: by what is proved, which is rounding by factors, 1e-10 by cycles."""
    monkeypatch.setattr(absorbing, "loading", lambda: 0.0)
    monkeypatch.setattr(absorbing, "FACTORED", 100)
    n = 300
    line = np.diag(np.full(n - 1, 0.9), 1) + np.diag(np.full(n - 1, 1.0), -1)
    for Q, factored in ((line - np.diag(line.sum(axis=1)), True), (chain.Q, False)):
        found = passage(MarkovChain(Q), to=0, start=Q.shape[0] - 1)
        assert (found.mean_error < 1e-14 * found.mean) == factored
        assert found.mean_error < 1e-10 * found.mean
