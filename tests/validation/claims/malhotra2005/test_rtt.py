"""M03 notices what would contradict it; noise decides nothing."""

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


def test_a_gain_that_falls_with_the_rtt_is_seen(doctor, process) -> None:
    def fall(frame: Any) -> None:
        at = rows(frame, arrival_rates="25 1", rtt=5.0, high_threshold=15)
        off = rows(frame, arrival_rates="25 1", rtt=5.0, high_threshold=20)
        frame.loc[at, "throughput"] = 1.01 * frame.loc[off, "throughput"].mean()

    doctor(bundled.THRESHOLDS, fall)
    assert whole(process("M03")) is Verdict.CONTRADICTED


def test_noise_decides_nothing(doctor, process) -> None:
    def blur(frame: Any) -> None:
        frame["throughput_half_width"] *= 100

    doctor(bundled.THRESHOLDS, blur)
    for id in ("M03", "M06"):
        assert whole(process(id)) is Verdict.INCONCLUSIVE


def test_the_range_of_the_round_trip_time_turns_the_chains_verdict(judged) -> None:
    from validation.claims import find

    assert find("M03").check().turning.model == ("RTT up to 20 s",)
    assert judged("M03")["grows"].packets is Verdict.NOT_APPLICABLE
