"""Answers of chains side by side."""

from __future__ import annotations

import pytest

from dfcmodel import compare
from markov import PauseTandem, stationary


def test_measures_bounds_and_marginals_are_side_by_side() -> None:
    answers = [stationary(PauseTandem(buffers=(3, 5), high_threshold=high)) for high in (3, 4)]
    found = compare(answers[0], large=answers[1])
    assert list(found.compared) == [repr(answers[0].chain.model), "large"]
    throughput = found.summary()["throughput (packets/s)"]
    assert throughput["large"].startswith(f"{answers[1].throughput:.6g} ± ")
    assert found.to_xarray().throughput.values.tolist() == [each.throughput for each in answers]
    assert [line.get_ydata().sum() for line in found.plot().lines] == pytest.approx([1.0, 1.0])
    with pytest.raises(TypeError, match="does not change in time"):
        found.animate()


def test_a_matrix_has_its_states() -> None:
    found = compare(stationary([[-1.0, 1.0], [2.0, -2.0]]), stationary([[-1.0, 1.0], [3.0, -3.0]]))
    assert found.plot().lines[1].get_ydata().tolist() == [0.75, 0.25]
