"""Rates to one target add up, and their sum is finite."""

from __future__ import annotations

import numpy as np
import pytest

from markov import generator
from tests.markov.conftest import Coin, Queue
from tests.markov.generators.conftest import Bad


def test_rates_add_up():
    Q = generator(Bad(rate=0.0)).toarray()
    np.testing.assert_array_equal(Q[1], [1.0, -1.75, 0.75, 0.0])
    np.testing.assert_array_equal(Q[3], [1.75, 0.0, 0.0, -1.75])


def test_entries_of_a_column_add_up_wherever_they_are():
    class Duplicates(Queue):
        @staticmethod
        def rules(s, q):
            for n in (5, 2, 9, 2, 5, 2, 7):
                yield s._replace(n=n), 1.0 + n

    model = Duplicates(lowest=0)
    Q, plain = generator(model), generator(model, compiled=False)
    np.testing.assert_array_equal(Q.toarray(), plain.toarray())
    assert Q.has_canonical_format
    assert Q[0].toarray().ravel()[[2, 5, 7, 9]].tolist() == [9.0, 12.0, 8.0, 10.0]


@pytest.mark.parametrize("compiled", [True, False])
def test_rates_whose_sum_overflows(compiled):
    class Fast(Coin):
        @staticmethod
        def rules(s, q):
            yield s._replace(side=1 - s.side), 1e308
            yield s._replace(side=1 - s.side), 1e308

    with pytest.raises(ValueError, match=r"^Fast: State\(side=0\): the sum of the rates overflows"):
        generator(Fast(), compiled=compiled)
