"""S02 can turn out otherwise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from validation.claims.zheng2002 import independent_loss, loss_sweeps
from validation.claims.zheng2002.loss_sweeps import INDEPENDENT
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
    assert list(judged("S02").values()) == [(C, NA), (R, NA), (N, NA), (R, NA)]


def test_the_sweep_can_turn_out_otherwise(scale: Callable[..., None], judged) -> None:
    scale(INDEPENDENT, "TCP(1,1/2)", 0.97)
    assert [sides.model for sides in judged("S02").values()] == [R, R, R, C]
    scale(INDEPENDENT, "TCP(1/5,1/8)", 0.9, high=100)
    assert judged("S02")["far"] == (C, NA)


def test_small_p_limit_finds_a_known_constant() -> None:
    loss = 1 / np.array([10000.0, 5000, 2000, 1000, 500, 200])
    runs = pd.DataFrame({"packets_per_loss": 1 / loss, "p": loss, "mean_rtt": 0.048})
    runs = runs.assign(increase=1.0, decrease=0.5)
    runs["rate"] = loss_sweeps.aimd(runs, "sqrt") * (1.07 - 0.9 * np.sqrt(loss) + 2 * loss)
    assert independent_loss.small_p_limit(runs) == pytest.approx((1.07, 0.0), abs=1e-12)
