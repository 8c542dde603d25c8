"""S06 notices a rule that is far off."""

from __future__ import annotations

import pytest

from validation import Verdict
from validation.claims.simulators import window_model

pytestmark = (
    pytest.mark.slow
)  # simulations of thirteen rules at four loss rates, and on the packet level


def test_a_rule_that_is_far_off_is_noticed(doctor, judged) -> None:
    assert judged("S06")["highspeed, ns-2"].model is Verdict.HOLDS
    doctor(window_model.NS2, lambda d: d.assign(goodput=1.3 * d["goodput"]))
    assert judged("S06")["highspeed, ns-2"].model is Verdict.CONTRADICTED


def test_every_kind_of_rule_is_compared_in_both_simulators() -> None:
    found = window_model.measure().ratios
    assert not found.duplicated(["tool", "rule", "p"]).any()
    for rules in window_model.KINDS.values():
        assert set(found[found["rule"].isin(rules)]["tool"]) == {"ns-2", "ns-3"}


def test_rules_are_near_the_modules_and_exceptions_are_explained() -> None:
    """Medians measured: 1.7 % and 10.8 %. Packet by packet a rule is nearer to the runs than its window model, up to their error.

    Illinois at p = 0.003 needs the error: the runs have 1.17 of the rule packet by packet, and 0.84 of the window model.
    """
    found = window_model.measure()
    assert found.medians[0] < 0.08
    assert found.medians[1] < 0.15
    off = found.queued
    for row in off.itertuples():
        limit = window_model.LARGE[row.rule in window_model.BY_DELAY]
        assert abs(row.ratio - 1.0) < limit + row.error
        assert abs(row.ratio - 1.0) - row.error < abs(row.over_model - 1.0)
    nearer = (off["ratio"] - 1.0).abs() < (off["over_model"] - 1.0).abs()
    assert nearer.mean() > 0.8


def test_areno_has_the_rate_of_ns3_with_the_delays_of_ns3() -> None:
    """Random delays of acknowledgements are in its measured round-trip times; those before a packet is stamped are not."""
    found = window_model.measure()
    assert found.areno("ns-3") == pytest.approx(found.areno_in_ns3, rel=0.1)
    assert found.areno("ns-2") > 1.25 * found.areno_in_ns3


def test_a_rule_with_few_losses_is_left_out(doctor) -> None:
    doctor(window_model.CASES["ns-2"], lambda d: d.assign(loss_events=1))
    assert set(window_model.measure.measure().ratios["tool"]) == {"ns-3"}
