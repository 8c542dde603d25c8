"""M06 notices an optimum where the paper has it."""

from __future__ import annotations

from typing import Any

import pandas as pd

from validation.claims.malhotra2005 import bundled
from validation.verdicts import Verdict


def part(judged: dict[str, Verdict], n: int) -> Verdict:
    return list(judged.values())[n]


def rows(frame: Any, **where: object) -> Any:
    mask = pd.Series(True, index=frame.index)
    for column, value in where.items():
        mask &= frame[column] == value
    return mask


def test_an_optimum_at_15_is_seen(doctor, process) -> None:
    def move(frame: Any) -> None:
        frame.loc[rows(frame, high_threshold=15), "throughput"] *= 1.1

    doctor(bundled.THRESHOLDS, move)
    assert part(process("M06"), 1) is Verdict.HOLDS
