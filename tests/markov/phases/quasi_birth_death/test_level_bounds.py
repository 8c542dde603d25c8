"""Bounds of infinitely many levels against closed forms and far larger finite chains."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hopflow import Status
from markov import QuasiBirthDeath, stationary_by_level
from markov.phases import level_answers
from markov.phases.level_answers import NO_BOUND, level_bound


def queue(load: float) -> QuasiBirthDeath:
    return QuasiBirthDeath(down=[[1.0]], local=[[-1.0 - load]], up=[[load]])


@pytest.mark.parametrize("load", [1e-30, 0.5, 0.9, 0.99])
def test_the_bound_holds_for_one_queue(load: float) -> None:
    answer = stationary_by_level(queue(load))
    n = np.arange(answer.proved_level + 1)
    apart = answer.marginal(n) - (1.0 - load) * load**n
    error = max(apart[apart > 0.0].sum(), -apart[apart < 0.0].sum() + load ** len(n))
    assert error <= answer.error_bound + 1e-15 <= 1e-11
    assert answer.status is Status.CONVERGED
    assert "error bound" in repr(answer)


def random_levels(seed: int) -> QuasiBirthDeath:
    """Levels of three states, with a boundary of two, whose mean drift is down."""
    rng = np.random.default_rng(seed)
    down, local, up = (rng.exponential(1.0, (3, 3)) * (rng.random((3, 3)) < 0.7) for _ in range(3))
    down += 0.1
    up *= rng.uniform(0.1, 0.9) * down.sum() / max(up.sum(), 1.0) / 3.0
    np.fill_diagonal(local, 0.0)
    low, rise, fall = rng.random((2, 2)), rng.random((2, 3)), rng.random((3, 2))
    np.fill_diagonal(low, 0.0)
    fall *= down.sum(axis=1, keepdims=True) / fall.sum(axis=1, keepdims=True)
    local -= np.diag((down + local + up).sum(axis=1))
    low -= np.diag(low.sum(axis=1) + rise.sum(axis=1))
    return QuasiBirthDeath(down, local, up, (low, rise, fall))


@pytest.mark.parametrize("seed", range(12))
def test_the_bound_holds_for_random_levels_and_for_wrong_values(seed: int) -> None:
    chain = random_levels(seed)
    answer = stationary_by_level(chain)
    assert answer.error_bound <= 1e-11
    highest = answer.proved_level
    truth = np.concatenate([answer.level(k) for k in range(2 * highest)])
    rng = np.random.default_rng(seed)

    def wrong(levels: range) -> list[np.ndarray]:
        return [answer.level(k) * (1.0 + 1e-4 * rng.random(2 if k == 0 else 3)) for k in levels]

    values: list[np.ndarray] = []
    found = level_bound(chain, answer.decay_rate, lambda levels: values.append(wrong(levels)) or values[0])
    apart = np.append(np.concatenate(values[0]), np.zeros(len(truth)))[: len(truth)] - truth
    error = max(apart[apart > 0.0].sum(), -apart[apart < 0.0].sum())
    assert 1e-6 < error <= found.error < 1e-1


def test_what_is_too_large_or_not_proved_has_no_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(level_answers, "MAX_STATES", 30)
    answer = stationary_by_level(queue(0.9))
    assert (answer.error_bound, answer.proved_level, answer.status) == (math.inf, 0, Status.SOLVED)
    assert "error bound" not in repr(answer)
    assert level_bound(queue(0.5), 1.0, lambda _: []) == NO_BOUND
