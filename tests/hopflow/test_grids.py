"""Functions over grids of values: points in order, coordinates, what is refused."""

from __future__ import annotations

import pytest

from hopflow.grids import Grid, axis


def grid():
    return Grid({"a": [1.0, 2.0, 3.0], "b": range(4)}, lambda point: (point["a"], point["b"]))


def test_points_are_in_order_the_last_name_fastest():
    points = grid()
    assert len(points) == 12
    assert list(points)[:5] == [(1.0, 0), (1.0, 1), (1.0, 2), (1.0, 3), (2.0, 0)]
    assert points[11] == (3.0, 3)
    assert list(Grid({}, lambda point: point)) == [{}]


@pytest.mark.parametrize(
    ("values", "said"),
    [(2.0, r"^a = 2\.0: values to sweep"), ("12", "^a = '12'"), ([], r"^a = \[\]: at least one")],
)
def test_what_is_no_list_of_values_is_refused(values, said):
    with pytest.raises(ValueError, match=said):
        Grid({"a": values}, dict)


def test_coordinates():
    assert axis([1, 2.5]) == [1, 2.5]
    assert axis(["a"]) == ["a"]
    assert axis([(1, 2), None]).dtype == object
    assert axis([1, "all"]).tolist() == [1, "all"]  # no numbers as strings
    units = Grid({"a": [1.0], "b": [2]}, dict, {"a": "s"}).coords()
    assert units == {"a": ("a", [1.0], {"units": "s"}), "b": ("b", [2], {})}
