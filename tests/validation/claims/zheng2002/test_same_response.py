"""Z02 depends on the rates."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from validation.claims.zheng2002 import loss_sweeps
from validation.claims.zheng2002.loss_sweeps import INDEPENDENT, PERIODIC
from validation.verdicts import Verdict

R, C, N = Verdict.HOLDS, Verdict.CONTRADICTED, Verdict.INCONCLUSIVE
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
    assert list(judged("Z02").values()) == [(R, NA), (R, NA), (R, R), (R, R)]


@pytest.mark.parametrize(("factor", "verdict"), [(1.4, R), (0.526, N), (0.4, C)])
def test_equal_response_depends_on_the_rates(
    scale: Callable[..., None], judged, factor: float, verdict: Verdict
) -> None:
    scale(INDEPENDENT, "TCP(1/5,1/8)", factor)
    assert judged("Z02")["independent"] == (R, verdict)
    scale(PERIODIC, "TCP(1/5,1/8)", 0.4, low=50)
    assert judged("Z02")["periodic"] == (R, C)
