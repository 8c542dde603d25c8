"""kaneko2007's cases cover the slides; few loss events say so; goodput fits the link."""

from __future__ import annotations

import numpy as np
import pytest

from validation import evidence
from validation.generate.cases import Case
from validation.generate.kaneko2007 import parking_lot, sweeps

BUNDLED = [
    case for case in evidence.cases() if case.startswith("kaneko2007/") and "unstated" not in case
]
CASES: list[Case] = [*sweeps.CASES, *parking_lot.CASES]
SLIDES = ("reno", "fusion", "areno", "compound", "highspeed", "bic", "cubic")


def test_every_claim_has_a_case() -> None:
    claims = {claim for case in CASES for claim in case.claims}
    assert claims == {f"K{n:02d}" for n in range(1, 13)}


def test_both_orders_of_all_pairs_and_fast() -> None:
    ordered = {
        (run["rules"][0], run["rules"][1], case.program.tool)
        for case in CASES
        if case.claims == ("K03",)
        for run in case.runs
    }
    both = {(a, b) for a, b, _ in ordered}
    assert both == {(a, b) for a in (*SLIDES, "fast") for b in (*SLIDES, "fast")}


def test_ns2_has_ten_rules_and_ns3_eight() -> None:
    by_name = {case.name: {run["rules"][0] for run in case.runs} for case in CASES}
    ten = by_name["kaneko2007/loss-sweep-ns2"]
    assert ten == {
        *("reno", "highspeed", "bic", "cubic", "compound"),
        *("westwood", "htcp", "scalable", "vegas", "illinois"),
    }
    assert by_name["kaneko2007/loss-sweep-ns3"] == {*SLIDES, "fast"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_runs_differ_and_their_times_are_jittered(case: Case) -> None:
    assert len({case.shard(run) for run in case.runs}) == len(case.runs)
    for run in case.runs:
        assert run["overhead"] == pytest.approx(12000 / run["rate"])
        assert len(set(run["starts"])) == len(run["starts"])


@pytest.mark.parametrize("case", BUNDLED)
def test_few_loss_events_say_so(case: str) -> None:
    flows = evidence.table(case, "flows")
    assert (flows["few_events"] == (flows["loss_events"] < 50)).all()


@pytest.mark.parametrize("case", BUNDLED)
def test_goodput_fits_the_link(case: str) -> None:
    """Acknowledged packets were delivered; a link carries no more than its rate."""
    flows, links = evidence.table(case, "flows"), evidence.table(case, "links")
    window = 7000  # acknowledged at the begin, delivered before it
    assert (flows["acked"] <= flows["delivered"] + window).all()
    assert np.allclose(flows["goodput_bits"], 12000 * flows["goodput"])
    if "utilisation" in links:
        assert links["utilisation"].max() < 1.001
        assert links["goodput_share"].max() < 1.05
