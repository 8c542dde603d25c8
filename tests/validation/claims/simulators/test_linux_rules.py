"""S05 notices simulators that are far apart."""

from __future__ import annotations

import pytest

from validation.claims.simulators import linux_rules
from validation.verdicts import Verdict


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
