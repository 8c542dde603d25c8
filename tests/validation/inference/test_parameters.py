"""Open parameters: values, coordinates, points of a Sobol sequence."""

from __future__ import annotations

import numpy as np
import pytest

from validation.inference.designs import PARAMETERS
from validation.inference.parameters import Choice, Range, points, snapped, sobol, values_at


def test_coordinates_invert_values() -> None:
    for paper, parameters in PARAMETERS.items():
        settings = sobol(parameters, 8, seed=5)
        for setting, point in zip(settings, points(parameters, settings), strict=True):
            ranges = [
                (each, u)
                for each, u in zip(parameters, point, strict=True)
                if isinstance(each, Range)
            ]
            again = [each.value(u) for each, u in ranges]
            own = [setting[each.name] for each, _ in ranges]
            assert again == pytest.approx(own, rel=0.01), paper  # values have three digits


def test_alternatives_are_equally_spaced_and_equally_probable() -> None:
    one = Choice("agent", ("a", "b", "c"), "", "")
    assert [one.coordinate(value) for value in one.alternatives] == [0.0, 0.5, 1.0]
    drawn = [point["agent"] for point in sobol([one], 300, seed=1)]
    assert all(abs(drawn.count(value) - 100) <= 2 for value in one.alternatives)


def test_fewer_points_are_the_first_of_more() -> None:
    pair = [Range("x", 1, 10, "", ""), Range("y", 0, 1, "", "", linear=True)]
    assert sobol(pair, 20, seed=3)[:8] == sobol(pair, 8, seed=3)


def test_snapped_points_are_those_of_their_values() -> None:
    mixed = [Choice("agent", ("a", "b", "c"), "", ""), Range("x", 0, 1, "", "", linear=True)]
    cube = np.array([[0.0, 0.2], [0.4, 0.5], [0.99, 0.8], [1.0, 1.0]])
    again = points(mixed, [values_at(mixed, u) for u in cube])
    assert snapped(mixed, cube) == pytest.approx(again)
