"""Queues of a run: what they are asked."""

from __future__ import annotations

import numpy as np
import pytest

from validation.claims.takano2006 import queues
from validation.verdicts import Verdict

R, C, N = Verdict.HOLDS, Verdict.CONTRADICTED, Verdict.INCONCLUSIVE


def test_properties_of_a_hand_made_run() -> None:
    time = np.array([0.05, 0.15, 0.25])
    stored = np.zeros((20, 3))
    stored[0, 0], stored[queues.MERGE], stored[3, 1] = 50.0, (0.0, 90.0, 10.0), 10.0
    run = queues.Queues(time, stored, np.arange(20.0), np.zeros(20), stored.max(axis=1), 0.15)
    assert run.share_of_merge == pytest.approx(100 / 110)
    assert run.share_of_largest == pytest.approx(0.9)
    assert (run.left, run.largest, run.peak_of_merge, run.lost) == (10.0, 90.0, 90.0, 190.0)


def test_one_run_of_several_decides_against_a_statement() -> None:
    runs = queues.without_dfc()
    assert queues.every(runs, lambda run: run.lost > 0) == (R, R)
    first = runs.packets[0]
    assert queues.every(runs, lambda run: run is not first) == (R, C)
