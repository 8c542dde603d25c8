"""Running means of curves."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from hopflow.results import figure
from validation.claims.takano2006 import axes
from validation.claims.takano2006.studies import Efficiencies


@pytest.mark.parametrize("width", [5, 20])
def test_running_means_are_those_of_pandas(width: int) -> None:
    series = np.random.default_rng(1).random(60)
    expected = pd.Series(series).rolling(width, center=True).mean()
    np.testing.assert_allclose(axes.smooth(series, width), expected, rtol=1e-12)


def test_a_band_spans_the_runs() -> None:
    _, ax = figure()
    runs = Efficiencies(np.arange(9.0), {"target": np.array([np.zeros(9), np.ones(9)])})
    axes.band(ax, runs, "two runs", "black")
    (band,) = ax.collections
    inside = band.get_paths()[0].vertices
    assert (inside[:, 1].min(), inside[:, 1].max()) == (0.0, 1.0)
    axes.efficiency_axes(ax, "title", 2.0)
    assert ax.get_xlim() == (0.0, 2.0)
