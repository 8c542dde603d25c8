"""Small transfers, slots per turn, and ageing."""

from __future__ import annotations

import pytest

from validation.claims.yang2001.parameters import (
    LARGEST_MULTIPLE,
    LONG_QUEUES,
    SMALL_CASES,
    _after_turns,
    _aged,
    _total_times,
    _violated,
)
from validation.verdicts import Verdict


def test_turns_of_the_default_length_set_the_classes_apart() -> None:
    """The same quantity that is near zero with many slots."""
    assert max(abs(e.value) for e in _after_turns(LARGEST_MULTIPLE)) < 0.1
    assert max(abs(e.value) for e in _after_turns(1.0)) > 0.3


def test_deviations_of_the_classes_cancel() -> None:
    assert sum(e.value for e in _aged("cc/cc")) == pytest.approx(0.0, abs=1e-12)


def test_without_losses_the_total_time_hardly_depends_on_the_ratio() -> None:
    """Y10's experiment: with DRR's own queue the last timer decides, without losses the load."""
    usual, long = (_total_times(case) for case in (SMALL_CASES[1], LONG_QUEUES))
    assert usual[1].value > 1.3 * usual[0].value
    assert long[1].value == pytest.approx(long[0].value, rel=0.1)


def test_parts_of_runs_are_parts() -> None:
    for parameter in (None, "check", "hold"):
        assert 0.0 <= _violated(parameter).value <= 1.0


@pytest.mark.parametrize(
    ("key", "how"),
    [
        ("order", lambda times: 100.0 - times),
        ("linear", lambda times: times**4),
    ],
)
def test_small_transfers_out_of_turn_are_noticed(doctor, judged, key: str, how) -> None:
    doctor(SMALL_CASES, lambda frame: frame.assign(transfer_time=how(frame["transfer_time"])))
    assert judged("Y10")[key].packets is Verdict.CONTRADICTED


def test_slots_that_starve_a_class_are_noticed(doctor, judged) -> None:
    """The paper says of ts that they do not; Y15 holds because of that and of cc."""

    def starve(frame) -> None:
        lowest = (frame["environment"] == "ts/ts") & (frame["priority"] == 4)
        frame.loc[lowest, "departed"] = 1

    doctor("yang2001/priority-ageing-endless", starve)
    found = judged("Y15")
    assert found["kept"].packets is Verdict.CONTRADICTED
    assert found["long"].packets is Verdict.HOLDS
