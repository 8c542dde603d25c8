"""Labels, and data sets as one."""

from __future__ import annotations

import pytest
import xarray as xr

from hopflow.side_by_side import kind_for, stacked


def test_other_things_are_not_compared() -> None:
    assert kind_for(3) is None


def test_a_missing_variable_is_nan_only_where_that_is_allowed() -> None:
    data = {"a": xr.Dataset({"x": ("t", [1.0, 2.0])}), "b": xr.Dataset({"y": ("t", [3.0, 4.0])})}
    both = stacked(data, "run", "", missing=("x", "y"))
    assert both.x.sel(run="a").values.tolist() == [1.0, 2.0]
    assert both.x.sel(run="b").isnull().all()
    with pytest.raises(ValueError, match="not all have y"):
        stacked(data, "run", "", missing=("x",))
