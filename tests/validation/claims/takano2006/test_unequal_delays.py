"""D18 would keep its efficiency if packets said so."""

from __future__ import annotations

from validation.claims.takano2006 import unequal_delays
from validation.verdicts import Verdict


def test_equal_efficiencies_are_seen(doctor, judged) -> None:
    def same(frame) -> None:
        frame.loc[frame["flow"] == "target", "mean_efficiency"] = 0.5

    doctor(unequal_delays.UNEQUAL, same, "flows")
    assert judged("D18")["even"].packets is Verdict.REPRODUCED
