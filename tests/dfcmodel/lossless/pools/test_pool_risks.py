"""The demand on a pool: against the binomial distribution, enumeration, and its own bounds."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from dfcmodel.lossless import Convolution, PausedGroups, headroom_pool, overflow

GIVEN = {"size": 1e6, "shared": "9 MB", "alpha": 1.0, "rate": "100Gbps"}


@pytest.mark.parametrize("paused", [1e-4, 0.01, 0.3])
def test_equal_groups_are_binomial_far_into_the_tail(paused) -> None:
    pool = headroom_pool(1e5, 16, 8, **GIVEN)
    risk = overflow(pool, PausedGroups(paused))
    k = np.arange(129)
    exact = binom.sf(k, 128, paused)
    seen = exact > 1e-250
    np.testing.assert_allclose(risk.survival(k * 1e5)[seen], exact[seen], rtol=1e-10)
    assert risk.lower <= risk.probability <= risk.chernoff * (1.0 + 1e-12)
    assert risk.lower == pytest.approx(risk.probability, rel=1e-10)
    assert (risk.survival(k * 1e5)[seen] >= exact[seen] * (1.0 - 1e-12)).all()


def test_unequal_groups_agree_with_all_subsets() -> None:
    rng = np.random.default_rng(3)
    held, paused = rng.integers(1, 30, (3, 3)) * 1e3, rng.uniform(0.05, 0.5, (3, 3))
    pool = headroom_pool(held, 3, 3, **{**GIVEN, "size": 0.6 * held.sum()})
    exact = 0.0
    for on in itertools.product((0, 1), repeat=9):
        state = np.array(on).reshape(3, 3)
        if (state * held).sum() > pool.size:
            exact += np.where(state, paused, 1.0 - paused).prod()
    risk = overflow(pool, PausedGroups(paused))
    assert risk.probability == pytest.approx(exact, rel=1e-12)
    coarse = overflow(pool, PausedGroups(paused), Convolution(grain=2500.0))
    assert coarse.lower <= exact <= coarse.probability
    assert coarse.lower < coarse.probability


def test_classes_together_are_one_large_group() -> None:
    pool = headroom_pool(1e5, 16, 8, **{**GIVEN, "size": 3.2e6})
    risk = overflow(pool, PausedGroups(0.01, classes_together=True))
    assert risk.probability == pytest.approx(binom.sf(4, 16, 0.01), rel=1e-10)
    assert risk.probability > overflow(pool, PausedGroups(0.01)).probability


def test_a_common_cause_is_averaged_over() -> None:
    pool = headroom_pool(1e5, 16, 8, **{**GIVEN, "size": 2e6})
    risk = overflow(pool, PausedGroups(0.01, others=[(1e-3, 0.3)]))
    exact = 0.999 * binom.sf(20, 128, 0.01) + 1e-3 * binom.sf(20, 128, 0.3)
    assert risk.probability == pytest.approx(exact, rel=1e-10)


def test_the_least_size_is_the_least() -> None:
    pool = headroom_pool(1e5, 16, 8, **GIVEN)
    risk = overflow(pool, PausedGroups(0.02))
    size = risk.least_size(1e-9)
    assert risk.survival(size) <= 1e-9 < risk.survival(size - 1.0)
    assert risk.oversubscription(1e-9) == pytest.approx(pool.demand / size)
    assert risk.least_size(1e-12) > size
    assert "Chernoff" in repr(risk)
    assert risk.plot().get_yscale() == "log"


def test_groups_that_never_or_always_hold_their_headroom_are_shown_too() -> None:
    pool = headroom_pool(1e5, 4, 2, **GIVEN)
    never, always = overflow(pool, PausedGroups(0.0)), overflow(pool, PausedGroups(1.0))
    assert (never.probability, never.least_size(1e-9), never.oversubscription(1e-9)) == (
        0,
        0,
        np.inf,
    )
    assert always.least_size(1e-9) == pool.demand
    assert "img" in never._repr_html_()
    assert "img" in always._repr_html_()


def asked(grain: float | None = None, **traffic: Any) -> tuple[PausedGroups, Convolution]:
    """Return the traffic and the method of a question."""
    return PausedGroups(**traffic), Convolution(grain)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"paused": 1.5}, "paused = 1.5"),
        ({"others": [(0.6, 0.1), (0.6, 0.1)]}, "others: fractions of time add up to 1.2"),
        ({"grain": 0.0}, "grain = 0"),
        ({"grain": 1e-3}, "grain = 0.001: more than"),
        ({"classes_together": "no"}, "classes_together = 'no'"),
    ],
)
def test_bad_input_is_named(changed, message) -> None:
    given = {"paused": 0.1, **changed}
    pool = headroom_pool(1e5, 2, 2, **GIVEN)
    with pytest.raises(ValueError, match=message):
        overflow(pool, *asked(**given))
