"""One bottleneck: options, and the balance of its rows."""

from __future__ import annotations

import pytest

from validation.generate.zheng2002 import dumbbell


@pytest.mark.simulators
def test_ns2_repeats_the_bundled_rows(repeats) -> None:
    repeats("zheng2002/pairs-8x8", seed=1)


def test_readings_of_the_decrease() -> None:
    assert dumbbell.spec("TCP(1/5,1/8)", 8, "1-b") == "sack/0.2/0.875/8"
    assert dumbbell.spec("TCP(1/5,1/8)", 8, "b") == "sack/0.2/0.125/8"
    assert dumbbell.spec("TFRC", 8, "b") == "tfrc/0/0/8"
    assert dumbbell.spec("TCP(1/5,1/8)", 8, dumbbell.EXCHANGED) == "sack/0.125/0.8/8"
    assert dumbbell.spec("TCP(1,1/2)", 8, dumbbell.EXCHANGED) == "sack/1.0/0.5/8"


def test_packets_that_are_not_conserved_are_an_error() -> None:
    names = ("arrivals", "drops", "departures", "queued_before", "queued_after", "marks")
    link = dict.fromkeys(names, 0)
    dumbbell.check(link, [dict(link)])
    with pytest.raises(RuntimeError, match="not conserved"):
        dumbbell.check({**link, "arrivals": 1}, [dict(link)])
    with pytest.raises(RuntimeError, match="marks of the flows"):
        dumbbell.check(link, [{**link, "marks": 1}])


def test_six_digits() -> None:
    assert dumbbell.short(1.23456789) == 1.23457
