"""M08 notices rates that hardly matter."""

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


def test_rates_that_hardly_matter_are_seen(doctor, process) -> None:
    """Geometric rates as linear ones, and N = 2 far above N = 3."""

    def same(frame: Any) -> None:
        off = frame.loc[rows(frame, high_threshold=20)].groupby(["arrival_rates", "rtt"])
        throughput = off["throughput"].mean()
        for rates, rtt in throughput.index:
            at = rows(frame, arrival_rates=rates, rtt=rtt, high_threshold=15)
            gain = 0.3 if rates == "50 1" else 0.1
            frame.loc[at, "throughput"] = (1 + gain) * throughput[rates, rtt]
        frame["throughput_half_width"] /= 10

    doctor((bundled.LEVELS, bundled.GRANULARITY), same)
    assert whole(process("M08")) is Verdict.HOLDS
