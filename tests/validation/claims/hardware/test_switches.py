"""The queue of a real switch against the saw tooth."""

from __future__ import annotations

import pytest

from validation import Verdict
from validation.claims.hardware.switches import Trough, judged_troughs, trough
from validation.claims.hardware.switches import queue_depths as check
from validation.records import rows


def test_a_buffer_of_a_product_is_what_reno_needs() -> None:
    """The rule of thumb: B = C keeps the link busy when the window is halved."""
    product = 10e9 * 1e-3 / 72000
    assert trough(product, 0.5) == pytest.approx(0.0, abs=1e-9)
    assert trough(2 * product, 0.5) == pytest.approx(product / 2)


def test_depths_grow_with_their_percentile_and_stay_about_the_buffer() -> None:
    for row in rows("spang2021_queue_depths.csv"):
        depths = [float(row[f"depth_p{n}"]) for n in ("01", "05", "10", "50", "95", "99")]
        assert depths == sorted(depths)
        assert depths[-1] <= float(row["buffer"]) + 12  # the switch drops on departure (README)


def test_both_rules_and_all_numbers_of_flows_are_there() -> None:
    assert {row["algorithm"] for row in rows("spang2021_queue_depths.csv")} == {"reno", "cubic"}
    assert len(check().values["raised"]) > 10


def test_a_difference_counts_from_the_margin_and_the_fluctuation_together() -> None:
    found = [Trough(100.0, 60.0, 80.0)]
    assert judged_troughs(found, margin=0.1, fluctuation=5.0) is Verdict.CONTRADICTED
    assert judged_troughs(found, margin=0.1, fluctuation=15.0) is Verdict.INCONCLUSIVE
    assert judged_troughs(found, margin=0.4, fluctuation=15.0) is Verdict.HOLDS
