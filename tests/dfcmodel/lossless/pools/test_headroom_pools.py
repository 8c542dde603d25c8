"""A headroom pool: its shapes and units, how long it may be blocked, how it overflows, what it refuses."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom

from dfcmodel import PauseDatasheet, headroom
from dfcmodel.lossless import (
    Convolution,
    PausedGroups,
    headroom_pool,
    longest_blocking,
    overflow,
    worst_demand,
)

GIVEN = {"size": "4 MiB", "shared": "20 MB", "alpha": 0.25, "rate": "100Gbps"}


def test_a_port_gives_its_rate_classes_and_headroom() -> None:
    port = headroom("400Gbps", ("100m", "300m"), cell=192, classes=3)
    pool = headroom_pool(port, 5, size=1e6, shared=1e7, xoff="20 kB")
    assert pool.headroom.shape == (5, 3)
    assert (pool.headroom == port.bytes[1]).all()
    assert (pool.rates == 400e9).all()
    assert pool.demand == 5 * port.port_bytes[1]


def test_a_pool_contradicts_neither_rate_nor_classes_of_its_headroom() -> None:
    """Six further classes add a pause frame of 84 bytes each, and a port of 800 Gb/s needs twice the bytes."""
    given = {"size": 1e6, "shared": 1e7, "xoff": "20 kB"}
    port = headroom("400Gbps", "300m", classes=2)
    with pytest.raises(ValueError, match=r"classes = 8: the headroom is that of 2 classes.*headroom\(..., classes=8\)"):
        headroom_pool(port, 5, 8, **given)
    assert headroom_pool(port, 5, 1, **given).headroom.shape == (5, 1)
    assert headroom_pool(
        headroom("400Gbps", "300m", datasheet=PauseDatasheet(merged=True)), 5, 8, **given
    ).headroom.shape == (5, 8)
    for rate in ("800Gbps", ["400Gbps", "400Gbps", "400Gbps", "400Gbps", "100Gbps"]):
        with pytest.raises(ValueError, match="the headroom is that of 400 Gb/s: leave rate out"):
            headroom_pool(port, 5, rate=rate, **given)
    assert (headroom_pool(port, 5, rate="400Gbps", **given).rates == 400e9).all()


def test_thresholds_spread_over_ports_and_classes() -> None:
    pool = headroom_pool([[10e3, 20e3]], 3, 2, **GIVEN)
    assert pool.size == 4 * 1024**2
    assert pool.headroom.tolist() == [[10e3, 20e3]] * 3
    assert pool.alpha.shape == (3, 2)
    with pytest.raises(ValueError, match="read-only"):
        pool.headroom[0, 0] = 1.0


def test_the_table_has_ranges_not_arrays() -> None:
    mixed = headroom_pool([[10e3], [30e3]], 2, 1, size=20e3, shared=1e6, xoff=5e3, rate=["25Gbps", "100Gbps"])
    for part in ("2 x 1", "25 to 100 Gb/s", "10,000 to 30,000 B", "2.00 times the pool", "5,000 B"):
        assert part in repr(mixed)
        assert part in mixed._repr_html_()
    assert "alpha 0.25" in repr(headroom_pool(10e3, 2, 1, **GIVEN))


# Times for which ports can be blocked.


@pytest.mark.parametrize("size", [1e5, 2.5e5, 5e5])
def test_fixed_thresholds_have_a_closed_form(size) -> None:
    """One class per port: n ports bring n T and the size of the pool, at n times the rate."""
    ports, xoff, rate = 8, 40e3, 100e9
    pool = headroom_pool(70e3, ports, 1, size=size, shared=1e6, xoff=xoff, rate="100Gbps")
    exact = min(  # k ports cross their thresholds, the others send nothing
        8.0 * (xoff + size / k) / rate for k in range(1, ports + 1) if size / k < 70e3
    )
    found = longest_blocking(pool)
    assert found.safe <= exact <= found.overflows * (1.0 + 1e-5)  # tolerance of the linear programs
    assert found.overflows <= found.safe * 1.011 * 1.011


@pytest.mark.slow
def test_verdicts_on_both_sides_and_between() -> None:
    """Unequal rates and dynamic thresholds: the borders differ, and say what worst_demand says."""
    pool = headroom_pool(
        [[20e3], [40e3], [50e3]], 3, size="60 kB", shared="300 kB", classes=1,
        alpha=[[0.25], [0.5], [2.0]], rate=["25Gbps", "100Gbps", "400Gbps"],
    )  # fmt: skip
    found = longest_blocking(pool, tolerance=0.5)
    assert worst_demand(pool, blocked=found.safe).overflows is False
    assert worst_demand(pool, blocked=0.5 * found.safe).overflows is False
    assert worst_demand(pool, blocked=found.overflows).overflows is True
    assert worst_demand(pool, blocked=2.0 * found.overflows).overflows is True
    assert found.safe <= found.overflows


@pytest.mark.slow
def test_fewer_active_ports_take_longer() -> None:
    pool = headroom_pool(70e3, 4, 2, size="150 kB", shared="1 MB", xoff="40 kB", rate="100Gbps")
    every, three = longest_blocking(pool), longest_blocking(pool, active_ports=3)
    assert three.safe > every.overflows
    assert longest_blocking(pool, active_ports=1) == (math.inf, math.inf)


# Probabilities of overflow of groups that are paused, against binomials and sums over all subsets.

GIVEN_RISKS = {"size": 1e6, "shared": "9 MB", "alpha": 1.0, "rate": "100Gbps"}


@pytest.mark.parametrize("paused", [1e-4, 0.01, 0.3])
def test_equal_groups_are_binomial_far_into_the_tail(paused) -> None:
    pool = headroom_pool(1e5, 16, 8, **GIVEN_RISKS)
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
    pool = headroom_pool(held, 3, 3, **{**GIVEN_RISKS, "size": 0.6 * held.sum()})
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
    pool = headroom_pool(1e5, 16, 8, **{**GIVEN_RISKS, "size": 3.2e6})
    risk = overflow(pool, PausedGroups(0.01, classes_together=True))
    assert risk.probability == pytest.approx(binom.sf(4, 16, 0.01), rel=1e-10)
    assert risk.probability > overflow(pool, PausedGroups(0.01)).probability


def test_a_common_cause_is_averaged_over() -> None:
    pool = headroom_pool(1e5, 16, 8, **{**GIVEN_RISKS, "size": 2e6})
    risk = overflow(pool, PausedGroups(0.01, others=[(1e-3, 0.3)]))
    exact = 0.999 * binom.sf(20, 128, 0.01) + 1e-3 * binom.sf(20, 128, 0.3)
    assert risk.probability == pytest.approx(exact, rel=1e-10)


def test_the_least_size_is_the_least() -> None:
    pool = headroom_pool(1e5, 16, 8, **GIVEN_RISKS)
    risk = overflow(pool, PausedGroups(0.02))
    size = risk.least_size(1e-9)
    assert risk.survival(size) <= 1e-9 < risk.survival(size - 1.0)
    assert risk.oversubscription(1e-9) == pytest.approx(pool.demand / size)
    assert risk.least_size(1e-12) > size
    assert "Chernoff" in repr(risk)
    assert risk.plot().get_yscale() == "log"


def test_groups_that_never_or_always_hold_their_headroom_are_shown_too() -> None:
    pool = headroom_pool(1e5, 4, 2, **GIVEN_RISKS)
    never, always = overflow(pool, PausedGroups(0.0)), overflow(pool, PausedGroups(1.0))
    assert (never.probability, never.least_size(1e-9), never.oversubscription(1e-9)) == (
        0,
        0,
        np.inf,
    )
    assert always.least_size(1e-9) == pool.demand
    assert "img" in never._repr_html_()
    assert "img" in always._repr_html_()
