"""Templates compiled once per types of their arguments, and when that is worth it."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from hopflow.kernels import shape_of
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


def test_the_same_template_and_types_are_compiled_once() -> None:
    types = shape_of(ARGUMENTS)
    assert remembered(variation, types) is remembered(variation, types)


def test_without_numba_a_template_runs_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "has_numba", lambda: False)
    assert compiled(variation) is variation
    assert without_numba(1e9)


def test_numba_is_loaded_for_what_takes_longer_than_loading(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    monkeypatch.setitem(compilation._spent, "by NumPy", 0.0)
    assert without_numba(0.5 * costs.LOADING)
    assert not without_numba(2.0 * costs.LOADING)


def test_many_short_pieces_of_work_load_numba_once_they_took_as_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    monkeypatch.setitem(compilation._spent, "by NumPy", 0.0)
    pieces = [without_numba(0.3 * costs.LOADING) for _ in range(5)]
    assert pieces == [True, True, True, False, False]
