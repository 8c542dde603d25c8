"""Worst cases of headroom pools and their linear programs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dfcmodel.lossless import headroom_pool, worst_demand
from dfcmodel.lossless.pools.pool_programs import PoolProgram

# The largest demand on a pool: closed forms, enumeration, and its witness played back.


def by_enumeration(pool, brings) -> float:
    """Return the most bytes over all sets of groups, for fixed thresholds that fit the buffer."""
    total = 0.0
    for held, xoff, most in zip(pool.headroom, pool.xoff, brings, strict=True):
        sets = itertools.product((False, True), repeat=len(held))
        sums = ((held[list(s)].sum(), most - xoff[list(s)].sum()) for s in sets)
        total += max(min(pair) for pair in sums)
    return total


def test_fixed_thresholds_agree_with_all_sets_of_groups() -> None:
    rng = np.random.default_rng(5)
    for _ in range(7):
        held = np.tile(rng.integers(10, 90, (3, 1)) * 1e3, 3)
        xoff = np.tile(rng.integers(10, 200, (3, 1)) * 1e3, 3)
        pool = headroom_pool(held, 3, 3, size=1e5, shared="9 MB", xoff=xoff, rate="100Gbps")
        time = float(rng.uniform(5e-6, 60e-6))
        found = worst_demand(pool, blocked=time)
        exact = by_enumeration(pool, time * pool.rates / 8.0)
        assert found.lower <= exact * (1.0 + 1e-5) + 1.0  # tolerances of the linear program
        assert found.upper >= exact * (1.0 - 1e-5)
        assert found.upper <= exact * (1.0 + 1e-3) + 10.0


def test_unequal_classes_stay_between_witness_and_bound() -> None:
    rng = np.random.default_rng(6)
    for _ in range(5):
        held, xoff = rng.integers(10, 90, (2, 3)) * 1e3, rng.integers(10, 200, (2, 3)) * 1e3
        pool = headroom_pool(held, 2, 3, size=1e5, shared="9 MB", xoff=xoff, rate="100Gbps")
        time = float(rng.uniform(5e-6, 60e-6))
        found = worst_demand(pool, blocked=time)
        exact = by_enumeration(pool, time * pool.rates / 8.0)
        assert found.lower <= exact * (1.0 + 1e-5) + 1.0
        assert found.upper >= exact * (1.0 - 1e-5)


@pytest.mark.parametrize("time", [4e-6, 12e-6, 14e-6])
def test_dynamic_thresholds_of_equal_ports_have_a_closed_form(time) -> None:
    """At S shared bytes on n ports all thresholds are alpha (B - S) = alpha B / (1 + n alpha)."""
    n, alpha, shared, rate, held = 8, 0.5, 1e6, 100e9, 30e3
    pool = headroom_pool(held, n, 1, size=1e5, shared=shared, alpha=alpha, rate="100Gbps")
    brings = time * rate / 8.0
    # with k of the ports above their thresholds the others bring shared bytes too
    exact = 0.0
    for k in range(1, n + 1):
        for filled in np.linspace(0.0, shared, 20_001):
            least = alpha * (shared - filled)
            rest = filled - k * least  # bytes of the groups below their thresholds, or above them
            if 0.0 <= rest <= (n - k) * brings + k * max(brings - least, 0.0):
                spare = max(0.0, rest - (n - k) * min(brings, least))
                exact = max(exact, min(k * held, k * (brings - least) - spare))
    found = worst_demand(pool, blocked=time)
    assert found.lower <= found.upper
    assert found.upper >= exact * (1.0 - 1e-3)
    assert found.lower == pytest.approx(exact, rel=2e-3, abs=1.0)  # the grid, and the tolerance


def play(witness, *, step: float) -> tuple[float, float]:
    """Send a witness's bytes by the rules of a switch; return the pool's use and the longest window."""
    pool = witness.pool
    P, K = pool.headroom.shape
    shared, used = witness.shared.copy(), np.zeros((P, K))
    crossed = np.full((P, K), np.inf)
    shared[witness.used > 0] -= 64.0 * step * 2.0 ** np.nonzero(witness.used)[1]
    np.clip(shared, 0.0, None, out=shared)
    late = np.zeros((P, K))
    for k in range(K):
        left = witness.used[:, k].copy()
        now = 0.0
        while (left > 0.0).any():
            for p in np.flatnonzero(left > 0.0):
                free = pool.shared - shared.sum()
                limit = pool.xoff[p, k] if pool.alpha is None else pool.alpha[p, k] * free
                if shared[p, k] >= limit - 1e-9 * pool.shared or free < step:
                    crossed[p, k] = min(crossed[p, k], now)
                    used[p, k] += step
                    left[p] -= step
                    late[p, k] = now + step - crossed[p, k]
                else:
                    shared[p, k] += step
            now += step
    return float(used.sum()), float((late / pool.headroom).max())


@pytest.mark.parametrize(
    ("threshold", "blocked"),
    [
        ({"xoff": 1e5}, None),
        ({"xoff": 1e5}, 14e-6),
        ({"alpha": 0.5}, None),
        ({"alpha": 0.5}, 20e-6),
    ],
)
def test_the_witness_fills_the_pool_when_played_back(threshold, blocked) -> None:
    """In steps of 50 bytes: every group is charged to the pool only above its threshold."""
    pool = headroom_pool(3e4, 4, 2, size=1e5, shared=8e5, rate="100Gbps", **threshold)
    found = worst_demand(pool, blocked=blocked)
    assert found.lower > 0.0
    played, window = play(found.witness, step=50.0)
    assert played == pytest.approx(found.lower, rel=0.01, abs=50.0 * pool.groups)
    assert window <= 1.0 + 50.0 / 3e4
    assert blocked is None or found.witness.ends <= blocked * (1.0 + 1e-5)
    assert found.witness.shared.sum() <= pool.shared * (1.0 + 1e-6)


def test_without_limits_no_pool_below_all_headrooms_is_safe() -> None:
    pool = headroom_pool(3e4, 64, 8, size=1e7, shared=6e7, alpha=0.125, rate="400Gbps")
    found = worst_demand(pool)
    assert found.overflows is True
    assert found.lower == pytest.approx(pool.demand)
    assert worst_demand(pool, active_ports=8, active_classes=3).upper == pytest.approx(24 * 3e4, rel=1e-5)


def test_the_table_says_which_port_pauses_when() -> None:
    pool = headroom_pool(3e4, 2, 2, size=1e5, shared=8e5, xoff=1e5, rate="100Gbps")
    found = worst_demand(pool)
    table = found.witness.table()
    assert len(table) == 4
    # 3e4 bytes at 100 Gb/s pass between the pauses of one port
    np.testing.assert_allclose(np.diff(found.witness.paused_at, axis=1), 2.4e-6)
    assert "reached" in repr(found)
    assert found.plot().get_xlabel() == "µs"


def test_ports_of_unequal_rates_take_their_own_time_below_fixed_thresholds() -> None:
    """No port waits for a slower one: the witness reaches the optimum over all sets of groups."""
    held, xoff = (
        np.repeat([[20e3], [60e3], [90e3]], 2, axis=1),
        np.repeat([[10e3], [40e3], [80e3]], 2, axis=1),
    )
    rates = ["25Gbps", "100Gbps", "400Gbps"]
    pool = headroom_pool(held, 3, 2, size=1e5, shared="9 MB", xoff=xoff, rate=rates)
    found = worst_demand(pool, blocked="12 us")
    exact = by_enumeration(pool, 12e-6 * pool.rates / 8.0)
    assert found.lower == pytest.approx(exact, rel=1e-5)
    assert found.upper == pytest.approx(exact, rel=2e-3)
    assert found.witness.ends <= 12e-6 * (1.0 + 1e-5)
    assert np.ptp(found.witness.filled) > 1e-6


def by_chance(pool, blocked: float, rng) -> float:
    """Return the pool's use after arrivals of random ports and classes, by the rules of a switch."""
    P, K = pool.headroom.shape
    steps = 300
    sent = pool.rates * blocked / 8.0 / steps
    shared, used, crossed = np.zeros((P, K)), np.zeros((P, K)), np.zeros((P, K), dtype=bool)
    eager = rng.uniform(0.0, 1.0, P)  # part of the time from which on a port uses its headroom
    order = [rng.permutation(K) for _ in range(P)]
    for n in range(steps):
        for p in rng.permutation(P):
            free = pool.shared - shared.sum()
            for k in order[p]:
                below = shared[p, k] + sent[p] < pool.alpha[p, k] * free
                if n < eager[p] * steps and below and free > sent[p]:
                    shared[p, k] += sent[p]
                    break
                if n < eager[p] * steps:
                    continue
                crossed[p, k] |= not below
                if not crossed[p, k]:
                    shared[p, k] += sent[p]
                    break
                if used[p, k] + sent[p] <= pool.headroom[p, k]:
                    used[p, k] += sent[p]
                    break
    return float(used.sum())


@pytest.mark.parametrize("seed", [0, 1, 4, *(pytest.param(n, marks=pytest.mark.slow) for n in (2, 3, 5))])
def test_random_traffic_stays_below_the_bound_where_thresholds_take_time_to_fall(seed) -> None:
    rng = np.random.default_rng(seed)
    rates = [["25Gbps", "100Gbps", "400Gbps"][k] for k in rng.integers(0, 3, 3)]
    pool = headroom_pool(
        rng.integers(10, 90, (3, 2)) * 1e3, 3, 2, size=1e5, shared=4e5,
        alpha=2.0 ** rng.integers(-3, 2, (3, 2)), rate=rates,
    )  # fmt: skip
    blocked = float(rng.uniform(5e-6, 20e-6))
    upper = worst_demand(pool, blocked=blocked, tolerance=0.02).upper
    most = max(by_chance(pool, blocked, rng) for _ in range(12))
    assert most <= upper * (1.0 + 1e-5)
    assert most > 0.2 * upper or upper < 1e4  # it is no bound that nothing comes near


# The linear program: its bound is above every schedule, and its schedules obey the limits.


@pytest.mark.parametrize("alpha", [0.125, 0.5])
def test_a_schedule_obeys_thresholds_line_rate_and_buffer(alpha) -> None:
    pool = headroom_pool(3e4, 4, 2, size=1e5, shared=8e5, alpha=alpha, rate="100Gbps")
    program = PoolProgram(pool, 20e-6, 3, 1)
    high = 5e5
    bound, above = program.relax(0.0, high, shared_full=False)
    assert above is not None
    assert above.sum(axis=1).max() <= 1.0 + 1e-6
    found = program.schedule(above > 0.999, high, shared_full=False)
    assert found is not None
    shared, used = found
    assert used.sum() <= bound
    assert shared.sum() == pytest.approx(high)
    assert (shared[used > 1.0] >= alpha * (pool.shared - high) - 1.0).all()
    assert ((shared + used).sum(axis=1) <= 20e-6 * pool.rates / 8.0 + 1.0).all()
    assert np.count_nonzero(used.sum(axis=1) > 1.0) <= 3


def test_an_occupancy_that_the_senders_cannot_reach_is_impossible() -> None:
    pool = headroom_pool(3e4, 4, 2, size=1e5, shared=8e5, alpha=1.0, rate="100Gbps")
    program = PoolProgram(pool, 1e-6, 4, 2)  # 50 kB arrive
    assert program.relax(4e5, 8e5, shared_full=False)[1] is None


def test_a_bound_above_the_pool_by_the_tolerance_says_so() -> None:
    """All classes of one per port use the whole pool, and the bound of the programs is 1e-6 above it."""
    pool = headroom_pool(225792, 4, 2, size=4 * 225792, shared=30e6, alpha=1.0, rate="400Gbps")
    for worst, text in (
        (worst_demand(pool, active_classes=1), "no, proved to within 3e-06 of the pool"),
        (worst_demand(pool, active_ports=1), "no, proved"),
    ):
        assert worst.overflows is False
        assert (worst.upper > pool.size) == ("within" in text)
        assert worst.summary()["overflows"] == text
