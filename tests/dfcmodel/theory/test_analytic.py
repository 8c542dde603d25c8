"""Exact solutions against each other."""

from __future__ import annotations

import numpy as np

from dfcmodel.theory.analytic import cosine_series, gaussian


def test_gaussian_and_cosine_series_agree_far_from_the_ends() -> None:
    """1e-10: the normal density at the ends is exp(-78)."""
    narrow = {"packets": 3.0, "centre": 0.5, "width": 0.03}
    series = cosine_series(lambda x: gaussian(x, 0.0, 0.01, **narrow), 0.01)
    x = np.linspace(0, 1, 101)
    np.testing.assert_allclose(series(x, 0.05), gaussian(x, 0.05, 0.01, **narrow), atol=1e-10)
