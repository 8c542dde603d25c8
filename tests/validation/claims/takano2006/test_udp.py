"""D19 notices losses."""

from __future__ import annotations

from validation.claims.takano2006 import udp
from validation.verdicts import Verdict

R, C, N = Verdict.HOLDS, Verdict.CONTRADICTED, Verdict.INCONCLUSIVE


def test_losses_are_noticed(doctor, judged) -> None:
    doctor(udp.CASE, lambda d: d.assign(dropped=1), "flows")
    found = judged("D19")
    assert all(found[f"lossless, {where}"].packets is C for where in udp.WHERE)
    assert all(found[f"fair, {where}"].packets is R for where in udp.WHERE)
