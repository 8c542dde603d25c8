"""Chains with known answers: product forms and printed vectors."""

from __future__ import annotations

import numpy as np

from markov import MM1K, BirthDeath, Courtois, JacksonTandem, stationary
from tests.surface import for_each


@for_each([
    BirthDeath(), BirthDeath(births=(1e-9, 1e9, 3.0, 1.0), deaths=(1.0, 2.0, 1e6, 1e-3)), MM1K(),
    MM1K(arrival_rate=10.0), MM1K(arrival_rate=25.0, capacity=80), JacksonTandem(),
    JacksonTandem(arrival_rate=9.0, service_rates=(2.0, 3.0), capacity=25),
])  # fmt: skip
def test_product_forms(model):
    answer = stationary(model)
    np.testing.assert_allclose(answer.pi, model.exact(), rtol=1e-12)


def test_courtois():
    """The vector printed by Courtois, to its five digits."""
    printed = [0.08928, 0.09276, 0.04049, 0.15853, 0.11894, 0.12039, 0.27780, 0.10182]
    np.testing.assert_allclose(stationary(Courtois()).pi, printed, atol=6e-6)
