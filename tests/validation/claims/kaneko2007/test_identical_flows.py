"""Which panels of the slides can be runs of which rule."""

from __future__ import annotations

import numpy as np
import pytest

from validation.claims.kaneko2007.identical_flows import assigned, fits, printed_splits
from validation.records import rows


def test_the_splits_are_shares_of_the_printed_rates() -> None:
    splits = printed_splits()
    rates = [float(row["throughput_mbit_per_s"]) for row in rows("kaneko2007_three_flows.csv")]
    assert splits.shape == (6, 3)
    assert splits[0] == pytest.approx(np.array(rates[:3]) / sum(rates[:3]))


def test_runs_near_the_panels_are_assigned_one_each_and_others_to_none() -> None:
    """Runs that scatter by 0.001 around the panels; a rule that is none of them, and two that are the same."""
    scatter = np.array([[0.001, -0.001, 0.0], [-0.001, 0.0, 0.001], [0.0, 0.001, -0.001]])
    panels = printed_splits()
    splits = {f"rule {n}": panel + scatter for n, panel in enumerate(panels)}
    assert assigned(splits, 0.01) == 6
    assert fits(splits, 0.01).sum() == 6
    splits["rule 5"] = splits["rule 4"]
    assert assigned(splits, 0.01) == 5
    splits["rule 0"] = np.array([0.8, 0.1, 0.1]) + scatter
    assert assigned(splits, 0.01) == 4
