"""Records among the arguments of kernels: passed as plain tuples, and records again inside."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from hopflow.kernels import build, shape_of
from hopflow.kernels.records import definitions, layout_of, plain


class Point(NamedTuple):
    x: Any
    y: float


class Segment(NamedTuple):
    begin: Point
    end: Point
    rest: tuple[Any, ...] = ()


def length(segment, scale):
    """Template: how far the ends of a segment are from each other along both axes, in numbers of a scale."""
    begin = segment.begin
    total = abs(segment.end.x[0] - begin.x[0]) + abs(segment.end.y - begin.y)
    return total * scale + len(segment.rest)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_kernel_has_the_records_that_it_was_called_with(compiled):
    segment = Segment(Point(np.array([1.0]), 2.0), Point(np.array([4.0]), 0.0))
    given = plain((segment, 10.0))
    assert type(given[0]) is type(given[0][0]) is tuple
    layouts = layout_of(segment), None
    kernel = build(length, records=layouts, salt=shape_of(given), compiled=compiled)
    assert kernel(*given) == 50.0


def test_two_records_of_one_name_have_the_same_fields():
    class Other(NamedTuple):
        z: float

    Other.__name__ = "Point"
    with pytest.raises(ValueError, match="Point: two types of this name differ"):
        definitions([layout_of(Point(0.0, 1.0)), layout_of(Other(1.0))])
