"""Stand-ins for whole numbers pass for numbers and keep their range."""

from __future__ import annotations

import operator

import numpy as np
import pytest

from markov.generators.tracing import Span, Traced


@pytest.mark.parametrize("name", ["lshift", "rshift", "mul", "sub", "floordiv", "mod", "and_"])
@pytest.mark.parametrize("swapped", [False, True])
def test_stand_ins_count_as_numbers(name, swapped):
    span = Span(5, 2, 9)
    pair = (Traced(span, 1), 2)
    values = (6, 2)
    if swapped:
        pair, values = pair[::-1], values[::-1]
    found = getattr(operator, name)(*pair)
    assert int(found) == getattr(operator, name)(*values)
    assert (span.low, span.high) == (5, 5)


def test_stand_ins_pass_for_whole_numbers():
    span = Span(5, 2, 9)
    here = Traced(span, 1)
    assert isinstance(here, int)
    assert f"{here} {here:03d} {here!r}" == "6 006 6"
    assert {6: "six"}[here] == "six"
    assert here.bit_length() == 3
    assert [*range(here)] == [0, 1, 2, 3, 4, 5]
    assert np.exp(here) == np.exp(6)
    assert (span.low, span.high) == (5, 5)
