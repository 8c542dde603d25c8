"""Marginals of parameters, percentages, and what counts as compatible."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from validation.inference.parameters import Choice, Range
from validation.inference.results import Inference, marginals, percent


def test_marginals_are_weights_of_alternatives_and_weighted_quantiles() -> None:
    parameters = [Choice("kind", ("a", "b"), "", "which"), Range("x", 1, 100, "s", "time")]
    settings = [{"kind": "a" if n < 50 else "b", "x": float(n + 1)} for n in range(100)]
    kind, x = marginals(parameters, settings, np.where(np.arange(100) < 50, 0.015, 0.005))
    assert kind.after == "a: 75 %, b: 25 %"
    assert x.after == "34 (4 to 90)"
    assert (kind.before, x.before) == ("a, b", "1 to 100")


@pytest.mark.parametrize(
    ("part", "words"), [(0.0, "less than 1 %"), (0.5, "50 %"), (1.0, "more than 99 %")]
)
def test_percentages_do_not_pretend_to_certainty(part: float, words: str) -> None:
    assert percent(part) == words


def test_compatible_is_within_twice_the_noise() -> None:
    found = Inference("x", 1, 1, 1, 0, 0, 1.0, (0.1, 0.0), 0.19, 0.1, (), ())
    assert found.compatible
    assert not replace(found, best=0.21).compatible
