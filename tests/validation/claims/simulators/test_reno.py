"""S03 notices a simulator that is far off."""

from __future__ import annotations

from validation.claims.simulators import reno
from validation.verdicts import Verdict


def test_a_simulator_that_is_far_off_is_noticed(doctor, judged) -> None:
    doctor(reno.NS3, lambda d: d.assign(goodput=0.6 * d["goodput"]), "flows")
    assert judged("S03")["ns-3"].packets is Verdict.CONTRADICTED


def test_one_that_agrees_is_reproduced(doctor, judged) -> None:
    found = reno.measure()
    scale = 1.0 / found.values("ns-3").mean()
    doctor(reno.NS3, lambda d: d.assign(goodput=scale * d["goodput"]), "flows")
    assert judged("S03", apart=0.5)["ns-3"].packets is Verdict.HOLDS
