"""M02 notices a dependence on mu2."""

from __future__ import annotations

from typing import Any

import pandas as pd

from validation.claims.malhotra2005 import bundled
from validation.verdicts import Judgement, Verdict


def whole(judgement: Judgement) -> Verdict:
    return Verdict.all_of(sides.packets for sides in judgement.values())


def rows(frame: Any, **where: object) -> Any:
    mask = pd.Series(True, index=frame.index)
    for column, value in where.items():
        mask &= frame[column] == value
    return mask


def test_a_dependence_on_mu2_is_seen(doctor, judged) -> None:
    def shift(frame: Any) -> None:
        frame.loc[rows(frame, paused_rate=50.0), "throughput"] *= 1.01

    doctor(bundled.OFF, shift)
    assert whole(judged("M02")) is Verdict.CONTRADICTED
