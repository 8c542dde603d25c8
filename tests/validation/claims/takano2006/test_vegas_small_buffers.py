"""D17 notices losses without DFC."""

from __future__ import annotations

import numpy as np

from validation.claims.takano2006 import vegas_runs, vegas_small_buffers
from validation.verdicts import Sides, Verdict

R, C, N = Verdict.HOLDS, Verdict.CONTRADICTED, Verdict.INCONCLUSIVE


def test_losses_are_noticed(doctor, judged) -> None:
    doctor(vegas_runs.SMALL_BUFFER_RUNS, lambda d: d.assign(dropped=1), "flows")
    assert judged("D17")["lossy"].packets is R


def test_with_dfc_nothing_is_lost_and_the_window_is_that_of_large_buffers(judged) -> None:
    """ns-3's runs with DFC drop no packet, and their means are the same as in 4V."""
    assert judged("D17")["dfc_same"] == Sides(R, R)


def test_the_pattern_of_the_paper_is_losses_with_the_small_buffer_only() -> None:
    shown = vegas_small_buffers.ByBuffer((0.0, 5.0), (0.8, 0.3))
    assert shown.as_printed
    assert not shown._replace(lost=(1.0, 5.0)).as_printed
    assert not shown._replace(mean=(0.8, 0.5)).as_printed
    assert not vegas_small_buffers.ByBuffer((np.nan, np.nan), (np.nan, np.nan)).known
