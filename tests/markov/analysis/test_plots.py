"""Pictures and tables of answers, alone and side by side."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from dfcmodel import compare
from markov import (
    GTH,
    MM1K,
    Courtois,
    Kanban,
    MarkovChain,
    Multilevel,
    PauseTandem,
    SparseLU,
    stationary,
)


def test_marginals_of_small_and_large_components():
    answer = stationary(PauseTandem())
    axes = answer.plot()
    paused = float(answer["pause_fraction"])
    assert f"P(k = 2) = {paused:.3g}" in axes.get_title()
    assert axes.get_ylim()[0] == 0.0
    many = stationary(MM1K(arrival_rate=9.9, capacity=900)).plot()
    np.testing.assert_allclose(many.lines[0].get_ydata().sum(), 1.0)
    assert many.lines[0].get_marker() == "None"
    given = stationary([[-1.0, 1.0], [2.0, -2.0]])
    assert "given by its generator" in repr(given)
    assert "<img" in given._repr_html_()


def test_convergence_is_drawn():
    answer = dataclasses.replace(
        stationary(Courtois(), SparseLU()), method=Multilevel(), history=((1, 1e-3), (2, 1e-13))
    )
    axes = answer.plot_convergence()
    assert axes.get_yscale() == "log"
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), [1e-3, 1e-13])
    assert axes.lines[1].get_ydata()[0] == 1e-12
    assert answer.plot_convergence(axes) is axes
    with pytest.raises(ValueError, match=r"^GTH\(block=64\) reported no residuals"):
        stationary(Courtois(), GTH()).plot_convergence()


def test_states_of_a_matrix_are_drawn_one_by_one_with_their_names():
    chain = MarkovChain([[-1.0, 1.0], [2.0, -2.0]], states=["up", "down"])
    axes = stationary(chain).plot()
    np.testing.assert_allclose(axes.lines[0].get_ydata(), [2 / 3, 1 / 3], rtol=1e-15)
    assert [text.get_text() for text in axes.get_xticklabels()] == ["up", "down"]


def test_a_method_without_a_tolerance_is_drawn_without_its_line():
    answer = dataclasses.replace(stationary(Courtois(), GTH()), history=((1, 0.5), (3, 0.1)))
    axes = answer.plot_convergence()
    assert len(axes.lines) == 1
    assert axes.get_title() == "GTH(block=64)"


def test_components_of_two_values_alone_are_drawn_by_their_probabilities():
    """In the title there is no room for them, and nothing would be left to draw."""
    answer = stationary(Kanban())
    axes = answer.plot()
    names = [text.get_text() for text in axes.get_xticklabels()]
    drawn = dict(zip(names, axes.lines[0].get_ydata(), strict=True))
    assert drawn["d2"] == pytest.approx(answer.chain.marginals(answer.pi)["d2"][1][1])
    assert len(axes.get_title()) < 80


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
