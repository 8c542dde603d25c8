"""M05 notices a cost that is slight."""

from __future__ import annotations

from typing import Any

import pandas as pd

from validation.claims.malhotra2005 import bundled
from validation.verdicts import Verdict


def whole(judged: dict[str, Verdict]) -> Verdict:
    return Verdict.all_of(judged.values())


def rows(frame: Any, **where: object) -> Any:
    mask = pd.Series(True, index=frame.index)
    for column, value in where.items():
        mask &= frame[column] == value
    return mask


def test_a_slight_fall_is_seen(doctor, process) -> None:
    def flatten(frame: Any) -> None:
        for rtt in (1.0, 5.0):
            top = frame.loc[rows(frame, rtt=rtt, low_threshold=15), "throughput"].mean()
            for low in (1, 5, 10):
                at = rows(frame, rtt=rtt, low_threshold=low)
                frame.loc[at, "throughput"] = top * (1 - 5e-4 * (15 - low))
        frame["throughput_half_width"] /= 10

    doctor(bundled.LOW_THRESHOLD, flatten)
    assert whole(process("M05")) is Verdict.HOLDS
