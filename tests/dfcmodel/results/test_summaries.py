"""Summaries of runs, and limits that they name."""

from __future__ import annotations

import pytest

from dfcmodel import (
    CBR,
    DFC,
    PFC,
    Fair,
    Flow,
    Fluid,
    Link,
    Packets,
    Scenario,
    chain,
    choose_level,
    ensemble,
    simulate,
    takano2006,
)
from dfcmodel.results.summaries import assumed_responses
from hopflow import gbps
from responsefn import CUBIC, NewReno, Reno, Tahoe

# Rows of a summary: what failed stands before the places of losses.


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
    rows = simulate(Scenario("many", links, flows, duration=0.1), level="fluid").summary()
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
    rows = simulate(one(gbps(24), PFC()), level="fluid").summary()
    assert rows["headroom of PFC"].endswith("for these rates: 24 Gb/s as 25 Gb/s")
    for scenario in (one(gbps(100), PFC()), one(gbps(24), PFC(headroom=50.0))):
        assert assumed_responses(scenario) == {}
        assert "headroom of PFC" not in simulate(scenario, level="fluid").summary()


# Known limits of the fluid: where they are stated, and that the fluid differs from packets there.


def one_way(buffer: float = 20.0, rule=None, **more) -> Scenario:
    flow = Flow("a", (1, 2), rule or NewReno(), **{"max_window": 500.0} | more)
    return Scenario("one way", (Link(1, 2, 1000.0, 0.01, buffer),), (flow,), duration=5.0)


def both_ways(source=None, rate: float = 1000.0, **link) -> Scenario:
    links = Link(1, 2, 1000.0, 0.01, 20, **link), Link(2, 1, rate, 0.01, 20, **link)
    flows = Flow("a", (1, 2), NewReno()), Flow("b", (2, 1), source or NewReno())
    return Scenario("both ways", links, flows, duration=5.0)


def topics(scenario: Scenario, method: Fluid | Packets | None = None, **given) -> list[str]:
    run = simulate(scenario, method or Fluid(), **given)
    return [limit.partition(":")[0] for limit in run.limits]


def goodput(scenario: Scenario, method: Fluid | Packets) -> float:
    return float(simulate(scenario, method, seed=1).delivered[0, -1] / scenario.duration)


@pytest.mark.parametrize(
    ("scenario", "topic", "factor"),
    [
        (both_ways(), "two-way traffic", 1.3),
        (both_ways(CBR(98.0), 100.0), "two-way traffic", 1.2),
        (one_way(1.0), "small buffer", 3.0),
        (one_way(10.0, Reno()), "classic Reno", 0.95),
    ],
)
def test_a_limit_is_stated_where_the_fluid_differs_from_packets(
    scenario: Scenario, topic: str, factor: float
) -> None:
    """The goodput of the first flow over that of packets is beyond ``factor``."""
    run = simulate(scenario, seed=1, level="fluid")
    assert [limit.partition(":")[0] for limit in run.limits] == [topic]
    assert f"limit, {topic}" in run.summary()
    ratio = goodput(scenario, Fluid()) / goodput(scenario, Packets(seed=1))
    assert ratio > factor if factor > 1.0 else ratio < factor
    assert simulate(scenario, Packets(seed=1)).limits == ()


@pytest.mark.parametrize(
    "scenario",
    [
        one_way(),
        both_ways(CBR(500.0)),  # ACKs find room between its packets
        both_ways(NewReno(), discipline=Fair()),  # a queue of their own
        one_way(4.0, max_window=8.0),  # nothing is lost
        takano2006("1", tcp="newreno"),
    ],
)
def test_no_limit_is_stated_elsewhere(scenario: Scenario) -> None:
    assert topics(scenario, duration=2.0) == []


def test_messages_name_flows_and_links() -> None:
    (limit,) = simulate(both_ways(), level="fluid").limits
    assert "flows a, b share loaded links 2->1, 1->2" in limit
    (limit,) = simulate(one_way(3.0), level="fluid").limits
    assert "link 1->2 with room for few packets (3 at the smallest" in limit
    assert "26 %" in limit
    many = tuple(Flow(f"{n}", (1, 2), Reno(), start=0.01 * n) for n in range(5))
    crowd = Scenario("crowd", one_way().links, many, duration=5.0)
    assert "flows 0, 1, 2 and 2 more" in simulate(crowd, level="fluid").limits[0]


def test_the_recovery_that_was_used_counts_and_is_recorded() -> None:
    run = simulate(one_way(), Fluid(recovery="reno"))
    assert run.recoveries == ("reno",)
    assert "NewReno with recovery 'reno'" in run.summary()["a"]
    assert topics(one_way(), Fluid(recovery="reno")) == ["classic Reno"]
    assert topics(one_way(rule=Reno()), Fluid(recovery="newreno")) == []
    rules = CUBIC(), Tahoe(), CBR(100.0)
    flows = tuple(Flow(f"{n}", (1, 2), rule) for n, rule in enumerate(rules))
    mixed = Scenario("mixed", one_way().links, flows, duration=0.1)
    for method in (Fluid(), Packets(seed=1)):
        assert simulate(mixed, method).recoveries == ("sack", "tahoe", "")


def test_where_a_limit_applies_the_fluid_is_doubted() -> None:
    """The same conditions, before anything runs; otherwise the measured error would allow the fluid."""
    given = {
        "affordable": 0.0,
        "tolerance": 10.0,
        "fluid": Fluid(steps_per_delay=1),
        "duration": 1e4,
    }
    assert isinstance(choose_level(one_way(100.0), **given).method, Fluid)
    for scenario, topic in (
        (both_ways(), "two-way traffic"),
        (one_way(4.0), "small buffer"),
        (one_way(100.0, Reno()), "classic Reno"),
    ):
        found = choose_level(scenario, **given)
        assert isinstance(found.method, Fluid)
        assert topic in found.doubt
    assert isinstance(choose_level(one_way(4.0, max_window=8.0), **given).method, Fluid)


def test_an_ensemble_names_the_limits_of_its_runs() -> None:
    many = ensemble(both_ways(), runs=2, duration=1.0, level="fluid")
    assert "ACKs" in str(many.summary()["limit, two-way traffic"])
    alone = ensemble(one_way(), runs=2, duration=1.0, level="fluid").summary()
    assert not any(row.startswith("limit") for row in alone)


# Buffers under DFC that other flows fill.


def over_hops(buffer: float = 50.0, host: str | None = None, duration: float = 8.0) -> Scenario:
    """Return a NewReno flow over three links under DFC, and one over each link."""
    links = chain(4, rate="100Mbps", delay="5ms", buffer=buffer, discipline=DFC())
    paths = {"through": (1, 2, 3, 4)} | {f"hop {n}": (n, n + 1) for n in (1, 2, 3)}
    flows = [Flow(name, path, NewReno(), host=host) for name, path in paths.items()]
    return Scenario("over hops", links, flows, duration=duration)


def test_the_fluid_says_that_a_flow_passes_buffers_that_others_fill() -> None:
    fluid = simulate(over_hops(), level="fluid")
    packets = simulate(over_hops(), level="packets")
    assert fluid.goodput.values[0] > 2.0 * packets.goodput.values[0]
    (limit,) = fluid.limits
    assert limit.startswith("full buffer: flow through under DFC, crossing links 1->2, 2->3, 3->4")
    assert "host='shaped'" in limit
    assert not packets.limits  # it is no limit of theirs


@pytest.mark.parametrize(
    ("scenario", "agree"),
    [(over_hops(host="shaped"), 0.01), (over_hops(5000.0, duration=60.0), 0.02)],
    ids=["shaped hosts", "a large buffer"],
)
def test_where_nothing_fills_the_buffers_the_levels_agree_without_a_limit(scenario, agree) -> None:
    fluid, packets = (simulate(scenario, level=level) for level in ("fluid", "packets"))
    assert fluid.limits == ()
    off = abs(fluid.goodput - packets.goodput) / scenario.links[0].rate
    assert off.max() < agree


def test_a_constant_flow_passes_full_buffers_too() -> None:
    links = chain(3, rate=1e3, delay=5e-3, buffer=50, discipline=DFC())
    paths = {"a": ((1, 2, 3), 400.0), "b": ((1, 2), 900.0), "c": ((2, 3), 900.0)}
    flows = [Flow(name, path, CBR(rate)) for name, (path, rate) in paths.items()]
    run = simulate(Scenario("constant", links, flows, duration=2.0), level="fluid")
    (limit,) = run.limits
    assert limit.startswith("full buffer: flow a under DFC, crossing link 2->3")


def test_flows_with_one_path_share_a_full_buffer_without_a_limit() -> None:
    links = chain(3, rate="100Mbps", delay="5ms", buffer=50, discipline=DFC())
    flows = [Flow(name, (1, 2, 3), NewReno(), max_window=300) for name in "ab"]
    run = simulate(Scenario("one path", links, flows, duration=10.0), level="fluid")
    assert run.lost_by_flow.min() > 0.0
    assert run.limits == ()
