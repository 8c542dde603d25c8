"""kaneko2007: the cells of the slide, the runs, and what follows for the claims."""

from __future__ import annotations

import numpy as np
import pytest

from validation.inference import kaneko2007
from validation.inference.rule_pairs import PAIRS


def test_the_slide_as_ratios_and_sums() -> None:
    ratios, sums = kaneko2007.printed()
    at = PAIRS.index(("Reno", "HSTCP"))
    assert np.exp(ratios[at]) == pytest.approx(10.32 / 78.22)
    assert np.exp(sums[at]) == pytest.approx(10.32 + 78.22)
    same = PAIRS.index(("BIC", "BIC"))
    assert (ratios[same], np.exp(sums[same])) == (0.0, pytest.approx(2 * 44.81))


def test_runs_use_the_link_and_not_more() -> None:
    settings, goodputs = kaneko2007.simulated()
    assert all(both.shape == (len(settings), 2) for both in goodputs.values())
    for (name, _, _), both in goodputs.items():
        assert both.sum(axis=1).max() < (30.5 if name == "small" else 101.0)


@pytest.mark.slow  # 48 interpolations at 8192 settings: 5 s
def test_claims_are_judged_at_every_candidate() -> None:
    found = kaneko2007.inferred()
    assert (found.used, found.aside) == (41, 4)  # 21 ratios and 28 sums, four of each set aside
    assert {each.claim for each in found.claims} == {"K03", "K05", "K06"}
    for weight in found.claims:
        assert 0.0 <= weight.every <= min(weight.statements.values()) + 1e-12
