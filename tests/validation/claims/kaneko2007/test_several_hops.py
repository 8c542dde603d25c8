"""Flows over several bottlenecks, with reverse traffic."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dfcmodel import simulate
from hopflow.units import mbps
from validation.claims.kaneko2007.several_hops import (
    CASES,
    HOPS,
    METHODS,
    RATE,
    by_hops,
    falls,
    far,
    lot,
)
from validation.verdicts import Sides, Verdict


def test_flows_end_behind_the_last_link_and_reverse_ones_cross_one() -> None:
    scenario = lot("cubic", 4, np.zeros(HOPS * 6))
    forward, back = scenario.flows[: 2 * HOPS], scenario.flows[2 * HOPS :]
    assert [len(flow.hops) for flow in forward] == [1, 1, 2, 2, 3, 3]
    assert {flow.path[-1] for flow in forward} == {HOPS}
    assert [flow.hops for flow in back] == [((h + 1, h),) for h in range(HOPS) for _ in range(4)]
    assert [type(flow.source).__name__ for flow in forward] == ["CUBIC", "Reno"] * HOPS


def test_the_last_link_is_full_and_fewer_hops_have_more_of_it() -> None:
    starts = np.linspace(0.0, 0.1, HOPS * 2)
    run = simulate(lot("reno", 0, starts), METHODS["fluid"], duration=10.0, sample=1.0)
    goodput = np.diff(run.delivered[:, [1, -1]])[:, 0] / 8.0
    assert goodput.sum() == pytest.approx(mbps(RATE), rel=0.02)
    assert goodput[:2].sum() > goodput[2:4].sum() > goodput[4:].sum()


def test_falls_are_of_the_rules_own_flows() -> None:
    rows = [
        {"seed": s, "hops": h, "flow_rule": rule, "goodput_bits": 1e6 * (value / h + 0.1 * s)}
        for s in (1, 2, 3)
        for h in (1, 2, 3)
        for rule, value in (("fusion", 6.0), ("reno", 60.0))
    ]
    frame = pd.DataFrame(rows)
    assert [round(e.value, 9) for e in falls(by_hops(frame, "fusion"))] == [3.0, 1.0]
    assert far(frame, "reno").value == pytest.approx(1 / 3, rel=0.02)


@pytest.mark.slow
def test_throughput_that_grows_with_the_bottlenecks_contradicts_k10s_question(
    doctor, judged, check
) -> None:
    """The question is ours: its answer gives the claim, a caption, no verdict."""
    every = (*CASES["ns-3"], *CASES["ns-2"])
    doctor(every, lambda flows: flows.assign(goodput_bits=1e6 * flows["hops"] + flows["seed"]))
    assert judged("K10")["hops"] == Sides(Verdict.HOLDS, Verdict.CONTRADICTED)
    found = check("K10")
    assert (found.model, found.simulation) == (Verdict.NOT_APPLICABLE, Verdict.NOT_APPLICABLE)
