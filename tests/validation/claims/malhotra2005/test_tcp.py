"""M13 notices a chain that is nearer to TCP under load."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from validation.claims.malhotra2005 import bundled, chain
from validation.claims.malhotra2005.chain import Setting
from validation.verdicts import Judgement, Verdict


def whole(judgement: Judgement) -> Verdict:
    return Verdict.all_of(sides.packets for sides in judgement.values())


def rows(frame: Any, **where: object) -> Any:
    mask = pd.Series(True, index=frame.index)
    for column, value in where.items():
        mask &= frame[column] == value
    return mask


def test_a_chain_that_is_nearer_under_load_is_seen(doctor, judged) -> None:
    def near(frame: Any) -> None:
        for load in frame["link_a"].unique():
            at = rows(frame, link_a=load, rtt=1.0)
            off = frame.loc[at & rows(frame, pause="off"), "goodput"].mean()
            gain = chain.gain(Setting((float(load), 1.0))) + 10.0 - 2.0 * np.log(load)
            frame.loc[at & rows(frame, pause="on"), "goodput"] = off * (1 + gain / 100)
            frame.loc[at, "goodput"] += 0.01 * np.random.default_rng(9).normal(size=at.sum())

    doctor((bundled.LINK_A, bundled.RANDOM_THINK), near)
    assert whole(judged("M13")) is Verdict.HOLDS
