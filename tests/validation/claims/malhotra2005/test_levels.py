"""M07 notices gains that are far apart."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from validation.claims.malhotra2005 import bundled, chain, levels
from validation.verdicts import Verdict


def part(judged: dict[str, Verdict], n: int) -> Verdict:
    return list(judged.values())[n]


def rows(frame: Any, **where: object) -> Any:
    mask = pd.Series(True, index=frame.index)
    for column, value in where.items():
        mask &= frame[column] == value
    return mask


@pytest.mark.slow
def test_n_3_far_below_n_2_is_seen(doctor, process) -> None:
    def shrink(frame: Any) -> None:
        for rtt in (1.0, 5.0, 20.0):
            three = rows(frame, arrival_rates="50 25 1", rtt=rtt)
            off = frame.loc[three & rows(frame, high_threshold=20), "throughput"].mean()
            frame.loc[three & (frame["high_threshold"] < 20), "throughput"] = 1.001 * off

    doctor(bundled.GRANULARITY, shrink)
    assert part(process("M07"), 0) is Verdict.HOLDS


def test_more_is_by_the_factor_asked_for() -> None:
    found = SimpleNamespace(
        pairs={(levels.HIGH, chain.RTT): (2.0, 1.5)}, within=lambda near: {1.0: near >= 1.0}
    )
    verdicts = [levels.judge(found, times=times)["more"].model for times in (1.0, 1.3, 1.4)]
    assert verdicts == [Verdict.HOLDS, Verdict.HOLDS, Verdict.CONTRADICTED]
    assert levels.judge(found)["close"].model is Verdict.HOLDS
    assert levels.judge(found, near=0.5)["close"].model is Verdict.CONTRADICTED


def test_n_4_far_from_n_3_is_seen(doctor, process) -> None:
    def far(frame: Any) -> None:
        for rates in ("50 34 17 1", "50 38 26 13 1"):
            on = rows(frame, arrival_rates=rates, high_threshold=15)
            frame.loc[on, "throughput"] *= 0.7

    doctor(bundled.LEVELS, far)
    assert part(process("M07"), 1) is not Verdict.HOLDS
