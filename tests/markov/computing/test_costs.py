"""What is predicted of time and memory, and when kernels are compiled."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest

import markov
import markov.computing.memory
from hopflow.kernels import shape_of
from hopflow.kernels.entries import Entry
from markov import GTH, Levels, MarkovChain, PauseTandem, explore, generator, stationary
from markov.computing import compilation, costs
from markov.computing.compilation import compiled, remembered, without_numba
from markov.computing.double_double_kernels import variation
from markov.errors import TooLargeError

# Predicted seconds: what they may not depend on, and what is compared with what.


def test_without_numba_compiled_kernels_never_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "has_numba", lambda: False)
    assert costs.loading() == math.inf
    assert costs.multigrid(10, 20) == costs.levels(3, 1.0) == math.inf
    assert costs.elimination(10, 1e3, False) == costs.plain_elimination(10, 1e3, False)
    assert costs.order(50) == 50 * (costs.ORDERING + costs.PLAIN_SYMBOLIC)


def test_loading_is_paid_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(costs._missed, "seconds", 0.0)
    monkeypatch.setitem(sys.modules, "numba", sys)
    loaded = costs.multigrid(1000, 5000)
    assert costs.loading() == 0.0
    monkeypatch.delitem(sys.modules, "numba")
    assert costs.multigrid(1000, 5000) == pytest.approx(loaded + costs.LOADING, rel=1e-14)


@pytest.mark.parametrize("blocked", [False, True])
@pytest.mark.parametrize(("n", "work"), [(5, 30.0), (10_000, 1e12)])
def test_an_elimination_takes_the_sooner_of_two_ways(n: int, work: float, blocked: bool) -> None:
    found = costs.elimination(n, work, blocked)
    assert 0.0 < found <= costs.plain_elimination(n, work, blocked)
    if n > 1000:  # NumPy reads and writes more than a compiled loop
        assert found < costs.plain_elimination(n, work, blocked)


def test_work_of_levels_is_the_inverse_of_their_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", sys)
    assert costs.levels_work(costs.levels(0, 7e9)) == pytest.approx(7e9, rel=1e-14)


def test_a_proof_with_levels_of_the_solution_is_cheaper_than_with_others() -> None:
    assert costs.multigrid_proof(100, 400, shared=True) < costs.multigrid_proof(
        100, 400, shared=False
    )


# What does not fit is refused, with a prediction that covers what is held.


def test_too_large_is_predicted(monkeypatch):
    model = PauseTandem(buffers=(10**6, 10**6), high_threshold=15)
    with pytest.raises(TooLargeError, match=r"^PauseTandem: a matrix on 4\d* states") as caught:
        generator(model, reachable=False)
    assert caught.value.predicted > 4e12 * 24 > caught.value.available
    monkeypatch.setattr(markov.computing.memory, "available", lambda: 1e5)
    monkeypatch.setattr(markov.computing.memory, "MIN_CHECKED_BYTES", 0.0)
    with pytest.raises(TooLargeError, match=r"^PauseTandem: more than \d+ reachable states: "):
        explore(PauseTandem(buffers=(100, 100)))


@pytest.mark.parametrize("method", [GTH(), Levels(), Levels(cyclic=False)], ids=repr)
def test_filled_in_too_large_is_predicted(monkeypatch, method):
    """The prediction covers what the method then holds, and is of its order."""
    chain = MarkovChain(PauseTandem())
    used = stationary(chain, method).memory
    monkeypatch.setattr(markov.computing.memory, "available", lambda: 1e5)
    monkeypatch.setattr(markov.computing.memory, "MIN_CHECKED_BYTES", 0.0)
    with pytest.raises(
        TooLargeError, match=rf"^{type(method).__name__}\(\) o.* states: "
    ) as caught:
        stationary(chain, method)
    assert used <= caught.value.predicted <= 2 * used


# Templates compiled once per types of their arguments, and when that is worth it.

ARGUMENTS = (
    np.array([0, 1, 2]), np.array([1, 0]), np.array([2.0, 3.0]), np.array([0.25, 0.75]),
    np.array([1.0, 5.0]),
)  # fmt: skip
VALUE = 0.25 * 2.0 * 4.0 + 0.75 * 3.0 * 4.0


def test_a_template_compiled_returns_what_it_returns_in_python() -> None:
    kernel = compiled(variation, shape_of(ARGUMENTS))
    assert kernel is not variation
    assert kernel(*ARGUMENTS) == variation(*ARGUMENTS) == VALUE


def test_a_template_is_compiled_once_for_all_types() -> None:
    kernel = remembered(variation)
    assert remembered(variation) is kernel
    short = tuple(each.astype(np.int32) for each in ARGUMENTS[:2])
    assert kernel(*ARGUMENTS) == kernel(*short, *ARGUMENTS[2:]) == VALUE
    assert kernel.is_compiled


def test_without_numba_a_template_runs_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "has_numba", lambda: False)
    assert compiled(variation) is variation
    assert without_numba(1e9, variation)
    assert remembered.__wrapped__(variation) is variation


@pytest.fixture(params=[False, True])
def loading(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> float:
    """Return what it costs to load a template in a process without Numba: with its machine code in the cache, and without."""
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    monkeypatch.setitem(compilation._spent, "by NumPy", 0.0)
    monkeypatch.setattr(Entry, "is_compiled", request.param)
    return costs.LOADING_CODE if request.param else costs.LOADING


def test_a_kernel_is_loaded_for_what_takes_longer_than_loading(loading: float) -> None:
    assert without_numba(0.5 * loading, variation)
    assert not without_numba(2.0 * loading, variation)


def test_many_short_pieces_of_work_load_a_kernel_once_they_took_as_long(loading: float) -> None:
    pieces = [without_numba(0.3 * loading, variation) for _ in range(5)]
    assert pieces == [True, True, True, False, False]


def test_what_numba_has_loaded_is_used_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", compilation)
    assert not without_numba(0.0, variation)
