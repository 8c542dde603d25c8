"""D16 notices losses, and another mean with DFC."""

from __future__ import annotations

import pytest

from validation.claims.takano2006 import vegas_runs
from validation.verdicts import Verdict

R, C, N = Verdict.HOLDS, Verdict.CONTRADICTED, Verdict.INCONCLUSIVE


@pytest.mark.slow
def test_losses_are_noticed(doctor, judged) -> None:
    doctor(vegas_runs.NS2, lambda d: d.assign(dropped=1), "flows")
    assert judged("D16")["lossless, without DFC"].packets is C


def test_another_mean_is_noticed(doctor, judged) -> None:
    def more_with_dfc(frame) -> None:
        frame.loc[frame["discipline"] == "dfc", "efficiency"] *= 2

    doctor(vegas_runs.NS3, more_with_dfc, "efficiency")
    assert judged("D16")["same"].packets is C
