"""Labels in, labels out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from responsefn import (
    CUBIC,
    TFRC,
    Reno,
    friendliness,
    invert,
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
