"""S01 can fail, and claims nothing above one per cent loss."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from validation.claims.zheng2002 import loss_sweeps
from validation.claims.zheng2002.loss_sweeps import PERIODIC
from validation.verdicts import Verdict

R, C = Verdict.HOLDS, Verdict.CONTRADICTED
NA = Verdict.NOT_APPLICABLE


@pytest.fixture
def scale(doctor) -> Callable[..., None]:
    """Multiply the rates of one rule in one sweep by a factor, for k from low to high."""

    def change(sweep: str, rule: str, factor: float, low: int = 0, high: int = 10**9) -> None:
        def scaled(frame) -> None:
            k = frame["packets_per_loss"]
            frame.loc[(frame["rule"] == rule) & (k >= low) & (k <= high), "rate"] *= factor

        doctor(loss_sweeps.CASES[sweep][rule], scaled)

    return change


def test_statements_are_as_found(judged) -> None:
    assert list(judged("S01").values()) == [(R, NA)] * 4


def test_the_sweep_can_fail(scale: Callable[..., None], judged) -> None:
    scale(PERIODIC, "TCP(3/7,1/4)", 0.985, low=500)
    assert judged("S01")["recovery"] == (C, NA)
    scale(PERIODIC, "TCP(3/7,1/4)", 1.02, low=10000)
    assert judged("S01")["larger"] == (C, NA)
    scale(PERIODIC, "TFRC", 1.002, high=20)
    assert judged("S01")["tfrc"] == (C, NA)


def test_nothing_is_claimed_above_one_percent_loss(scale: Callable[..., None], judged) -> None:
    scale(PERIODIC, "TCP(3/7,1/4)", 0.5, high=50)
    assert all(sides.model is R for sides in judged("S01").values())
