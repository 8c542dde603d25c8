"""Labels in, labels out; units that are probably wrong are refused everywhere."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from responsefn import (
    BIC,
    CUBIC,
    DCTCP,
    TFRC,
    Fusion,
    LossHistory,
    Reno,
    coexist,
    curve,
    friendliness,
    independent_constant,
    invert,
    loss_events,
    simulate_rule,
)

ASKS = [
    Reno().rate,
    CUBIC().elasticity,
    CUBIC().mean_window,
    CUBIC().peak_window,
    lambda p, rtt: friendliness(CUBIC(), p, rtt),
    lambda p, rtt: invert(TFRC(), TFRC().rate(p, rtt), rtt),
]


@pytest.mark.parametrize("ask", ASKS, ids=range(len(ASKS)))
def test_labels_survive(ask):
    values, rtt = np.array([1e-4, 1e-3, 1e-2]), 0.1
    bare = np.asarray(ask(values, rtt))
    series = pd.Series(values, index=["a", "b", "c"])
    pd.testing.assert_series_equal(ask(series, rtt), pd.Series(bare, index=series.index))
    frame = pd.DataFrame({"x": values, "y": values})
    assert list(ask(frame, rtt).columns) == ["x", "y"]
    masked = ask(np.ma.array(values, mask=[0, 1, 0]), rtt)
    np.testing.assert_array_equal(masked.mask, [False, True, False])
    np.testing.assert_array_equal(masked.compressed(), bare[[0, 2]])
    array = xr.DataArray(values, dims="p", coords={"p": values})
    trips = xr.DataArray([0.05, 0.1], dims="rtt")
    found = ask(array, trips)
    assert set(found.dims) == {"p", "rtt"}
    np.testing.assert_allclose(found.isel(rtt=1).to_numpy(), bare)


def test_two_different_indices_are_refused():
    p = pd.Series([0.01, 0.02], index=[0, 1])
    with pytest.raises(ValueError, match="must have the same labels"):
        Reno().rate(p, pd.Series([0.1, 0.2], index=[1, 2]))


@pytest.mark.parametrize(
    "ask",
    [
        lambda: Reno().rate(0.01, 20.0),
        lambda: curve(Reno(), [0.01], 20.0),
        lambda: simulate_rule(Reno(), 0.01, 20.0),
        lambda: coexist(Reno(), 20.0, 1000.0, 10),
        lambda: invert(Reno(), 100.0, 20.0),
        lambda: friendliness(Reno(), 0.01, 20.0),
    ],
    ids=range(6),
)
def test_milliseconds_are_caught(ask):
    with pytest.raises(ValueError, match=r"^rtt = 20: .* in seconds: ms\(48\) is 0\.048"):
        ask()


@pytest.mark.parametrize(
    "ask",
    [
        lambda: Fusion().rate(1e-3, 0.04, bandwidth=2e8),
        lambda: Fusion().mean_window(1e-3, 0.04, bandwidth=2e8),
        lambda: curve(Fusion(), [1e-3], 0.04, bandwidth=2e8),
        lambda: simulate_rule(Fusion(), 1e-3, 0.04, bandwidth=2e8),
        lambda: coexist(Reno(), 0.04, 2e8, 10),
        lambda: invert(Reno(), 2e8, 0.1),
    ],
    ids=range(6),
)
def test_bits_per_second_are_caught(ask):
    with pytest.raises(ValueError, match=r"^(bandwidth|rate) = 2e\+08: .*packets/s: mbps\(100\)"):
        ask()


@pytest.mark.parametrize(
    ("lost", "sent", "message"),
    [
        ([-7, 3], [0.1, 0.3], r"^lost = -7"),
        ([3, 2], [0.1, 0.3], "ascending"),
        ([2.5, 3], [0.1, 0.3], "whole"),
        ([2, 3], [0.3, 0.1], "^sent = .* must not fall"),
        ([math.inf], [0.1], r"^lost = inf"),
    ],
)
def test_loss_events_take_ascending_sequence_numbers(lost, sent, message):
    with pytest.raises(ValueError, match=message):
        loss_events(lost, sent, 0.05)


@pytest.mark.parametrize(
    "ask",
    [lambda: BIC(smallest=5e-324).rate(1e-3, 0.1), lambda: independent_constant(1e-320)],
    ids=["BIC", "constant"],
)
def test_numbers_that_overflow_are_named(ask):
    with pytest.raises(ValueError, match=r"^(smallest|b) = "):
        ask()


@pytest.mark.parametrize("k", [1, 2, 3, 5, 7, 8, 12])
def test_loss_history_is_the_loop_of_rfc5348(k):
    """Sect. 5.4: I_tot0 over i = 0 .. k-1, I_tot1 over 1 .. k, for k <= 8 closed intervals."""
    history = LossHistory(discounting=False)
    lengths = [100.0 + 10 * n for n in range(k)]
    for length in lengths:
        history.close(length)
    known = [900.0, *lengths[::-1]][:9]
    k = min(k, 8)
    w = [1, 1, 1, 1, 0.8, 0.6, 0.4, 0.2][:k]
    newest = sum(i * x for i, x in zip(known, w, strict=False))
    older = sum(i * x for i, x in zip(known[1:], w, strict=True))
    assert history.rate(900) == pytest.approx(sum(w) / max(newest, older), rel=1e-14)


def test_dctcp_is_refused_where_nothing_is_marked():
    with pytest.raises(ValueError, match=r"DCTCP\(\) answers congestion marks"):
        coexist([DCTCP(), Reno()], 0.04, 5000.0, 200, p=1e-4)
