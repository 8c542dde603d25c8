"""S03 and S05 notice simulators that are far off."""

from __future__ import annotations

import pytest

from validation import Verdict
from validation.claims.simulators import linux_rules, reno

# S03 notices a simulator that is far off.


def test_a_simulator_that_is_far_off_is_noticed(doctor, judged) -> None:
    doctor(reno.NS3, lambda d: d.assign(goodput=0.6 * d["goodput"]), "flows")
    assert judged("S03")["ns-3"].packets is Verdict.CONTRADICTED


def test_one_that_agrees_is_reproduced(doctor, judged) -> None:
    found = reno.measure()
    scale = 1.0 / found.values("ns-3").mean()
    doctor(reno.NS3, lambda d: d.assign(goodput=scale * d["goodput"]), "flows")
    assert judged("S03", apart=0.5)["ns-3"].packets is Verdict.HOLDS


# S05 notices simulators that are far apart.


@pytest.mark.parametrize(
    ("rule", "factor"), [("highspeed", 0.6), ("cubic", 1.6), ("compound", 0.5), ("bic", 0.6)]
)
def test_simulators_that_are_far_apart_are_noticed(doctor, judged, rule, factor) -> None:
    def scaled(frame) -> None:
        frame.loc[frame["rule"] == rule, "goodput"] *= factor

    doctor(linux_rules.NS3, scaled, "flows")
    assert judged("S05")[rule].packets is Verdict.CONTRADICTED


def test_shares_are_of_what_both_carry() -> None:
    shares = linux_rules.first_shares()
    assert shares["mean_ns2"].between(0, 1).all()
    assert shares["mean_ns3"].between(0, 1).all()
    assert len(shares) == len(set(shares["what"]))
