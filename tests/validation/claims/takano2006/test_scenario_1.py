"""D04 could have come out otherwise."""

from __future__ import annotations

import numpy as np

from validation.claims.takano2006 import scenario_1
from validation.verdicts import Verdict

R, C, N = Verdict.REPRODUCED, Verdict.CONTRADICTED, Verdict.NOT_REPRODUCED


def test_low_where_packets_say_so(doctor, judged) -> None:
    doctor(scenario_1.STUDY.without_dfc_case, lambda d: d.assign(efficiency=0.4 * d["efficiency"]))
    assert judged("D04")["low"].packets is R


def test_an_unsettled_chain_is_noticed(doctor, judged) -> None:
    def swing(frame):
        return frame.assign(efficiency=frame["efficiency"] + 0.05 * np.sin(40 * frame["time"]))

    doctor(scenario_1.STUDY.with_dfc_case, swing)
    assert judged("D04")["settles"].packets is C


def test_the_random_time_of_the_text_is_that_of_the_data() -> None:
    assert scenario_1.measure().overhead == 20e-6
