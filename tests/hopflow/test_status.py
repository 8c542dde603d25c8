"""Status of a solution, and delivery of results that are not solved."""

from __future__ import annotations

import pytest

from hopflow import NotSolvedError, Status
from hopflow.results import Result
from hopflow.status import deliver


class Answer(Result):
    def __init__(self, status):
        self.status = status


class TestStatus:
    def test_status(self):
        usable = [status for status in Status if status.ok]
        assert usable == [
            Status.CONVERGED,
            Status.COMPLETED,
            Status.SOLVED,
            Status.UNPROVED,
            Status.DEADLOCKED,
            Status.STORM,
            Status.LOST_LOSSLESS,
        ]
        assert str(Status.CONVERGED) == "converged"
        assert str(Status.SOLVED).startswith("solved, error unknown: ")
        for status in Status:
            assert not status.remedy or status.remedy in str(status) != status.remedy
        assert len({status.label for status in Status}) == len(Status)

    def test_deliver(self):
        good, bad = Answer(Status.CONVERGED), Answer(Status.NEGATIVE)
        for on_failure in ("raise", "return"):
            assert deliver(good, on_failure) is good
        assert deliver(bad, "return") is bad
        with pytest.raises(NotSolvedError, match=r"Answer: negative entries: .*GTH") as caught:
            deliver(bad, "raise")
        assert caught.value.result is bad
        with pytest.raises(ValueError, match="on_failure = 'ignore': must be one of 'raise', 'ret"):
            deliver(good, "ignore")
