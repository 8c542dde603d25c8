"""What becomes an axis, a curve, a panel in a picture of a case."""

from __future__ import annotations

import numpy as np
import pytest

from validation import cases, provenance, table
from validation.picture_plans import COUNTING, NAMING, plan


@pytest.mark.slow
def test_names_are_no_axis_and_panels_have_few_curves() -> None:
    for case in cases():
        about = next(iter(provenance(case)["files"].values()))
        frame = table(case)
        chosen = plan(frame, about)
        assert chosen.x not in {*NAMING, *COUNTING, "seed"}, case
        assert chosen.x is None or frame[chosen.x].nunique() > 2, case
        told = frame[[*chosen.panels, *chosen.curves]].drop_duplicates()
        if chosen.panels and chosen.curves:
            assert told.groupby(list(chosen.panels)).size().max() <= 10, case


@pytest.mark.parametrize(
    "case",
    ["malhotra2005/fixed-thresholds", "takano2006/scenario-4s-with-dfc", "zheng2002/access-delay"],
)
def test_nothing_that_was_varied_is_left_out(case) -> None:
    about = next(iter(provenance(case)["files"].values()))
    frame = table(case)
    chosen = plan(frame, about)
    varied = [c for c in about["index"] if c not in ("seed", *chosen.pooled)]
    assert len(frame[varied].drop_duplicates()) == len(frame[chosen.point].drop_duplicates())


def test_a_column_without_an_entry_is_refused() -> None:
    case = "kaneko2007/small-bdp-ns2"
    about = next(iter(provenance(case)["files"].values()))
    with pytest.raises(ValueError, match=r"value = 'goodput': has no entry"):
        plan(table(case).assign(goodput=np.nan), about, "goodput")
