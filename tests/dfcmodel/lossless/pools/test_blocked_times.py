"""How long outputs may be blocked: closed forms, and the verdicts on either side of both borders."""

from __future__ import annotations

import math

import pytest

from dfcmodel.lossless import headroom_pool, longest_blocking, worst_demand


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


def test_wrong_input_is_named() -> None:
    pool = headroom_pool(70e3, 2, 2, size="150 kB", shared="1 MB", xoff="40 kB", rate="100Gbps")
    with pytest.raises(ValueError, match="active_ports = 3"):
        longest_blocking(pool, active_ports=3)
    with pytest.raises(ValueError, match="tolerance = 0"):
        longest_blocking(pool, tolerance=0.0)
    with pytest.raises(TypeError, match="pool"):
        longest_blocking(3)
