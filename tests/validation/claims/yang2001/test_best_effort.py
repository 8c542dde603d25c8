"""Transfers of best effort."""

from __future__ import annotations

import pytest

from validation import evidence
from validation.claims.yang2001.best_effort import QUEUES, times_alone


def test_times_by_queue_are_means_of_flows_by_seed() -> None:
    found = times_alone("UDP", "SFQ.sfq_limit", 10)
    runs = evidence.table(QUEUES[0]).query("parameter == 'SFQ.sfq_limit' and value == '10'")
    assert set(found.index) == set(runs["seed"])
    first = runs[(runs["seed"] == found.index[0]) & (runs["protocol"] == "UDP")]
    assert found.iloc[0] == pytest.approx(first["transfer_time"].mean())
