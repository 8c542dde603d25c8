"""M09 notices a gain that stays."""

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


def test_a_gain_that_stays_is_seen(doctor, process) -> None:
    def stay(frame: Any) -> None:
        frame.loc[rows(frame, rtt=1000.0, high_threshold=15), "throughput"] *= 1.1

    doctor(bundled.LARGE_RTT, stay)
    found = process("M09")
    assert part(found, 0) is Verdict.CONTRADICTED
    assert part(found, 1) is Verdict.HOLDS


def test_tcp_whose_gain_stays_is_seen(doctor, judged) -> None:
    """With windows of ten packets, which cannot fill the link at the longest round trip."""

    def stay(frame: Any) -> None:
        frame.loc[rows(frame, reading="window 10 packets", rtt=5.0, pause="on"), "goodput"] *= 1.05

    doctor("malhotra2005/tcp-readings", stay)
    assert judged("M09")["falls"].packets is Verdict.CONTRADICTED
