"""Functions over grids of values: every result in its place, whatever the order."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from hopflow import Interrupted
from hopflow.grids import Grid, Row
from hopflow.sweeping import over_grid


def products(points):
    for a, b in points:
        yield Row(
            {"product": ((), a * b, {"units": "1"}), "both": (("which",), np.array([a, b]), {})},
            {"which": (("which",), np.array(["a", "b"]), {})},
        )


def grid():
    return Grid({"a": [1.0, 2.0, 3.0], "b": range(4)}, lambda point: (point["a"], point["b"]))


def test_every_result_is_in_its_place():
    with ThreadPoolExecutor(2) as pool:
        found = over_grid(products, grid(), about={"what": "products"}, executor=pool)
    assert found.attrs == {"what": "products"}
    assert found["product"].dims == ("a", "b")
    assert found["both"].dims == ("a", "b", "which")
    assert found["which"].values.tolist() == ["a", "b"]
    np.testing.assert_array_equal(found["product"], np.outer([1.0, 2.0, 3.0], range(4)))
    assert found["both"].sel(a=3.0, b=2, which="b") == 2.0
    assert found.identical(over_grid(products, grid(), about={"what": "products"}))


def test_complete_points_outlive_ctrl_c():
    def interrupted(points):
        for a, b in points:
            if (a, b) == (2.0, 1):
                raise KeyboardInterrupt
            yield Row({"product": ((), a * b, {}), "name": ((), f"{a} {b}", {})}, {})

    with pytest.raises(Interrupted, match="5 of 12 points complete") as error:
        over_grid(interrupted, grid(), about={})
    kept = error.value.result
    assert kept["product"].values.ravel().tolist()[:5] == [0.0, 1.0, 2.0, 3.0, 0.0]
    assert kept["product"].isnull().sum() == 7
    assert kept["name"].values.ravel().tolist()[4:6] == ["2.0 0", None]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"executor": 2}, "^executor = 2: must be an Executor of concurrent.futures"),
        ({"store": 3}, "^store = 3: must be a path that ends in .zarr or .nc"),
    ],
)
def test_what_is_no_executor_and_no_path_is_refused(given, said):
    with pytest.raises(TypeError, match=said):
        over_grid(products, grid(), about={}, **given)
