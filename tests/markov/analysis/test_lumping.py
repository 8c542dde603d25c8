"""Lumping: known sizes, the definition itself, and measures that stay."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from markov import MM1K, explore, lump, passage, stationary, transient


def machines(up: Any, q: Any) -> Any:
    for k, works in enumerate(up):
        yield (*up[:k], not works, *up[k + 1 :]), q.fails if works else q.repair


def three_kinds(n: int) -> Any:
    return explore(
        machines,
        start=(True,) * n,
        params={"fails": 0.1, "repair": 1.0},
        rewards=lambda up: {"up": sum(up)},
        labels=lambda up: {"all": all(up)},
    )


@pytest.mark.parametrize("n", [2, 5, 9])
def test_equal_machines_are_counted(n: int) -> None:
    found = lump(three_kinds(n))
    assert found.chain.size == n + 1
    assert sorted(found.sizes.tolist()) == sorted(math.comb(n, k) for k in range(n + 1))
    assert found.defect <= 1e-14


def test_blocks_meet_the_definition_and_are_the_coarsest() -> None:
    rng = np.random.default_rng(4)
    # a random chain of 6 blocks, each state copied three times with rates shared out at random
    small = rng.integers(0, 3, (6, 6)) * 1.0
    np.fill_diagonal(small, 0.0)
    small[np.arange(6), (np.arange(6) + 1) % 6] += 1.0
    members = np.repeat(np.arange(6), 3)
    Q = np.zeros((18, 18))
    for x in range(18):
        for block in range(6):
            if block != members[x]:
                shares = rng.integers(0, 4, 3) + np.array([1, 0, 0])
                Q[x, members == block] = small[members[x], block] * shares / shares.sum()
    Q += np.diag(-Q.sum(axis=1))
    f = (members == 0).astype(float)
    found = lump(Q, keep=[f])
    assert found.chain.size <= 6
    for b in range(found.chain.size):
        for c in range(found.chain.size):
            if b != c:
                into = Q[np.ix_(found.blocks == b, found.blocks == c)].sum(axis=1)
                np.testing.assert_allclose(into, found.chain.Q[b, c], rtol=1e-13)
    np.testing.assert_array_equal(found.of_blocks(f)[found.blocks], f)


def test_measures_probabilities_and_passage_times_stay() -> None:
    model = three_kinds(6)
    found = lump(model)
    answer, small = stationary(model), stationary(found.chain)
    np.testing.assert_allclose(found.start(answer.pi), small.pi, rtol=1e-12)
    start = found.start((np.arange(model.chain.size) == model.chain.number_of((True,) * 6)) * 1.0)
    over_time = transient(found.chain, [0.7], start=start).pi[0]
    assert over_time @ found.of_blocks("up") == pytest.approx(transient(model, [0.7])["up"][0], rel=1e-12)
    down = found.of_blocks("up") == 0.0
    mean = passage(found.chain, to=down, start=start).mean
    assert mean == pytest.approx(passage(model, to=(False,) * 6).mean, rel=1e-10)


def test_a_chain_without_symmetry_stays_as_it_is() -> None:
    found = lump(MM1K(capacity=9), keep=[np.arange(10) == 9])
    assert found.chain.size == 10
    assert (found.chain.Q != stationary(MM1K(capacity=9)).chain.Q).nnz == 0


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match="keep: "):
        lump([[-1.0, 1.0], [1.0, -1.0]])
    with pytest.raises(ValueError, match="keep is empty"):
        lump([[-1.0, 1.0], [1.0, -1.0]], keep=[])
    with pytest.raises(ValueError, match="differs"):
        lump(three_kinds(2)).of_blocks(np.arange(4.0))
