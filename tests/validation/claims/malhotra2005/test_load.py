"""M04 notices gains that fall with the load, and an influence of the RTT that grows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from validation.claims.malhotra2005 import bundled
from validation.verdicts import Verdict


def part(judged: dict[str, Verdict], n: int) -> Verdict:
    return list(judged.values())[n]


def rows(frame: Any, **where: object) -> Any:
    mask = pd.Series(True, index=frame.index)
    for column, value in where.items():
        mask &= frame[column] == value
    return mask


@pytest.mark.slow
def test_a_gain_that_falls_with_the_load_is_seen(doctor, process) -> None:
    def fall(frame: Any) -> None:
        off = frame.loc[rows(frame, high_threshold=20)].groupby(["arrival_rates", "rtt"])
        throughput = off["throughput"].mean()
        on = rows(frame, high_threshold=15)
        for rates, rtt in throughput.index:
            at = on & rows(frame, arrival_rates=rates, rtt=rtt)
            gain = 0.3 - 0.06 * np.log(float(rates.split()[0]))
            frame.loc[at, "throughput"] = (1 + gain) * throughput[rates, rtt]
        frame["throughput_half_width"] /= 10

    doctor((bundled.LOAD, bundled.THRESHOLDS, bundled.GRANULARITY), fall)
    assert part(process("M04"), 0) is Verdict.HOLDS


def test_an_influence_of_the_rtt_that_grows_is_seen(doctor, process) -> None:
    def grow(frame: Any) -> None:
        at = rows(frame, rtt=20.0, high_threshold=15, arrival_rates="100 1")
        frame.loc[at, "throughput"] *= 1.3

    doctor(bundled.LOAD, grow)
    assert part(process("M04"), 1) is not Verdict.HOLDS


def test_a_gain_of_tcp_that_grows_with_the_load_is_seen(doctor, judged) -> None:
    def grow(frame: Any) -> None:
        on = (frame["pause"] == "on") & (frame["rtt"] == 1.0)
        frame.loc[on, "goodput"] *= 1.0 + 1e-3 * frame["link_a"]

    doctor(bundled.LINK_A, grow)
    assert judged("M04")["gain"].packets is Verdict.CONTRADICTED
