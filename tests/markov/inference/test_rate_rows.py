"""Rates out of some states, and their derivatives, by plain Python."""

from __future__ import annotations

import math

import numpy as np
import pytest

from markov import explore
from markov.inference.rate_rows import ChangedError, RateRows


def model(rate):
    def rules(n, q):
        if n < 5:
            yield n + 1, rate(q.a, n)
        if n > 0:
            yield n - 1, 2.0

    return explore(rules, start=0, params={"a": 1.0}).chain


def slopes(rate):
    chain = model(rate)
    rows = RateRows(chain, np.array([True, False, True, False, False, False]))
    here = rows.rates(chain.model)
    change = rows.slopes(lambda shift: chain.model.replace(a=1.0 + shift), 1.0, here)
    return rows.matrix(change)


@pytest.mark.parametrize(
    ("rate", "slope"),
    [
        (lambda a, n: 3.0 * a + n, lambda n: 3.0),
        (lambda a, n: math.exp(a) + n, lambda n: math.e),
        (lambda a, n: 5.0 + (a - 1.0) ** 3, lambda n: 0.0),
        (lambda a, n: 1.0 + n, lambda n: 0.0),
    ],
    ids=["line", "exponential", "cubic", "constant"],
)
def test_derivatives_are_those_of_the_rates(rate, slope):
    dense = slopes(rate).toarray()
    for n in (0, 2):
        assert dense[n, n + 1] == pytest.approx(slope(n), rel=1e-9, abs=1e-9)
        assert dense[n].sum() == pytest.approx(0.0, abs=1e-12)
    assert not dense[[1, 3, 4, 5]].any()


def test_a_kink_has_none():
    with pytest.raises(ValueError, match="kink at 1"):
        slopes(lambda a, n: max(a, 1.0))


def test_other_transitions_are_noticed():
    chain = model(lambda a, n: a)
    rows = RateRows(chain, np.arange(6) < 3)
    with pytest.raises(ChangedError):
        rows.rates(chain.model.replace(a=0.0))
