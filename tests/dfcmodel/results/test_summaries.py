"""Rows of a summary: what failed stands before the places of losses."""

from __future__ import annotations

from dfcmodel import CBR, PFC, Flow, Link, Packets, Scenario, chain, simulate
from dfcmodel.results.summaries import assumed_responses
from hopflow import gbps


def test_rows_about_lossless_classes_and_transfers() -> None:
    links = chain(4, rate=1e4, delay=1e-3, buffer=300, discipline=PFC(xoff=50, xon=25, headroom=5))
    flows = [
        Flow(name, path, CBR(8e3), size=1e4, host="unshaped")
        for name, path in (("a", (1, 2, 3, 4)), ("b", (2, 3, 4)), ("c", (3, 4)))
    ]
    run = simulate(Scenario("too little", links, flows, duration=0.1), Packets(seed=1))
    rows = run.summary()
    names = list(rows)
    assert names.index("unfinished") < names.index("pauses") < names.index("lost at")
    first, *others = run.lossless_losses
    assert len(others) == 2
    assert str(rows["lost in a lossless class"]) == f"{first}; and at 2 other places"
    assert str(rows["status"]).startswith("lost in a lossless class")


def test_many_flows_are_summed_up() -> None:
    links = chain(2, rate=1e4, delay=1e-3, buffer=300)
    flows = [Flow(f"{n}", (1, 2), CBR(100.0)) for n in range(13)]
    rows = simulate(Scenario("many", links, flows, duration=0.1)).summary()
    assert "3 other flows" in rows
    assert "9" in rows
    assert "10" not in rows
    assert "unfinished" not in rows


def test_the_summary_says_which_response_times_are_assumed() -> None:
    def one(rate: float, rule: PFC) -> Scenario:
        links = (
            Link("h", "s", rate, 1e-6, 500.0, rule),
            *chain(3, rate=rate, delay=1e-6, buffer=500, discipline=rule),
        )
        return Scenario("odd", links, [Flow("a", (1, 2, 3), CBR(1e5))], duration=1e-4)

    assert assumed_responses(one(gbps(24), PFC())) == {24e9: 25e9}
    rows = simulate(one(gbps(24), PFC())).summary()
    assert rows["headroom of PFC"].endswith("for these rates: 24 Gb/s as 25 Gb/s")
    for scenario in (one(gbps(100), PFC()), one(gbps(24), PFC(headroom=50.0))):
        assert assumed_responses(scenario) == {}
        assert "headroom of PFC" not in simulate(scenario).summary()
