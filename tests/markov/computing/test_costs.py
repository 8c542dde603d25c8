"""Predicted seconds: what they may not depend on, and what is compared with what."""

from __future__ import annotations

import math
import sys

import pytest

from markov.computing import costs


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
