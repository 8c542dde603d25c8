"""Templates compiled once per types of their arguments, and when that is worth it."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from hopflow.kernels import shape_of
from hopflow.kernels.entries import Entry
from markov.computing import compilation, costs
from markov.computing.compilation import compiled, remembered, without_numba
from markov.computing.double_double_kernels import variation

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
