"""The low threshold that M05 is judged by turns no verdict."""

from __future__ import annotations

import pytest

from validation import Verdict
from validation.checks import subjects
from validation.claims import ledger
from validation.claims.malhotra2005 import low_threshold
from validation.claims.malhotra2005.low_threshold import RUN_LOWS, TCP_LOWS


@pytest.fixture(scope="module")
def found() -> low_threshold.LowThreshold:
    ledger()
    return subjects()["M05"].measured()


@pytest.mark.parametrize("low", [low for low in TCP_LOWS if low < low_threshold.HIGH])
def test_no_low_threshold_of_the_runs_is_slight(monkeypatch, found, low: int) -> None:
    """A quarter of the buffer is the mildest that the claim is judged by; two packets less would do."""
    monkeypatch.setattr(low_threshold, "MILD", low)
    monkeypatch.setattr(low_threshold, "TCP_MILD", low)
    judged = low_threshold.judge(found)["slightly"]
    assert set(judged) == {Verdict.CONTRADICTED}
    if low in RUN_LOWS:
        assert low_threshold.at_packet_level(found)["slightly"] is Verdict.CONTRADICTED
        assert low_threshold.same_process(found)["slightly"] is Verdict.CONTRADICTED
