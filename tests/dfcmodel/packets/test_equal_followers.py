"""Flows that start when others have finished (`followers`): both kernels and the reference engine, and what must hold of the times."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dfcmodel as dfc
from responsefn import CUBIC, DCQCN, FixedRate, NewReno
from tests.dfcmodel.packets.random_fabrics import in_turns, random_fabric
from tests.option_objects import grouped
from tests.oracles.engines import equal_records, plan_scenario


def plan_of(scenario: dfc.Scenario, seed: int, recovery: str | None = None) -> Any:
    return plan_scenario(
        scenario, dfc.Packets(seed=seed, recovery=recovery), duration=scenario.duration,
        sample=scenario.duration / 8,
    )  # fmt: skip


@pytest.mark.parametrize(
    "source", [NewReno(), dfc.CBR(4e5), DCQCN(), FixedRate()], ids=lambda each: type(each).__name__
)
@pytest.mark.parametrize("seed", range(4))
def test_records_are_those_of_the_reference(seed: int, source: Any) -> None:
    given = random_fabric(seed)
    flows = tuple(replace(flow, source=source, delayed_acks=False) for flow in given.flows)
    equal_records(plan_of(in_turns(replace(given, flows=flows), seed), seed))


@pytest.mark.parametrize("delayed", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_records_over_lossy_links_are_those_of_the_reference(seed: int, delayed: bool) -> None:
    """Windows of packets over queues of a few: losses, timeouts, handshakes, and no network interface."""
    rng = np.random.default_rng(seed)
    links = dfc.chain(4, rate=2e3, delay=float(rng.choice([1e-3, 7e-3])), buffer=int(rng.integers(3, 12)))
    sources = [NewReno(), CUBIC(), dfc.CBR(900.0)]
    flows = []
    for k in range(8):
        source = sources[rng.integers(3)]
        first = int(rng.integers(1, 4))
        options: dict[str, Any] = {}
        if not isinstance(source, dfc.CBR):
            options = {"delayed_acks": delayed, "handshake": bool(rng.integers(2))}
        flows.append(dfc.Flow(f"f{k}", tuple(range(first, 5)), source, **options))
    scenario = dfc.Scenario("chain", links, flows, duration=3.0)
    plan = plan_of(in_turns(scenario, seed), seed)
    found = equal_records(plan)
    assert np.isfinite(found.finished).sum() > 3


def two(**given: Any) -> dfc.Scenario:
    links = dfc.chain(3, rate=1e4, delay=1e-4, buffer=100)
    flows = [
        dfc.Flow("a", (1, 2, 3), dfc.CBR(5e3), size=20),
        dfc.Flow("b", (1, 2, 3), **{"source": dfc.CBR(5e3), "size": 5, "after": "a", **given}),
    ]
    return dfc.Scenario("two", links, flows, duration=0.05)


def test_a_flow_starts_when_the_other_is_complete_at_its_receiver() -> None:
    run = dfc.simulate(two(start=1e-3), dfc.Packets(seed=1))
    # the last packet leaves at 19 / 5e3 s, and takes two transmissions and two propagations
    assert run.finished[0] == pytest.approx(19 / 5e3 + 2 * (1e-4 + 1e-4), rel=1e-12)
    assert run.started == pytest.approx([0.0, run.finished[0] + 1e-3], rel=1e-12)
    assert run.finished[1] == pytest.approx(run.started[1] + 4 / 5e3 + 4e-4, rel=1e-12)
    times = run.completion_times()
    assert times["completion_time"].values == pytest.approx(run.finished - run.started)


def test_a_chain_of_flows_takes_as_long_as_its_links() -> None:
    """A ring of four hosts in which each flow waits for what came to its host: steps of one length, without a pause."""
    hosts, steps, size = 4, 6, 50
    links = [dfc.Link(f"h{k}", "s", 1e6, 2e-6, 1e4, dfc.PFC((0,), xoff=20, xon=10)) for k in range(hosts)]
    links += [dfc.Link("s", f"h{k}", 1e6, 2e-6, 1e4, dfc.PFC((0,), xoff=20, xon=10)) for k in range(hosts)]
    sources = [f"h{k}" for _ in range(steps) for k in range(hosts)]
    targets = [f"h{(k + 1) % hosts}" for _ in range(steps) for k in range(hosts)]
    places = np.array(
        [[(step - 1) * hosts + (k - 1) % hosts if step else -1] for step in range(steps) for k in range(hosts)]
    )
    flows = dfc.flows_from(
        sources, targets, size, source=FixedRate(), links=links, options=dfc.FlowOptions(after=places)
    )
    run = dfc.simulate(dfc.Scenario("ring", links, flows, duration=1e-3), dfc.Packets(seed=1, recovery="none"))
    step = size * 1e-6 + 1e-6 + 4e-6  # packets, one more transmission, and two propagations
    assert run.finished.reshape(steps, hosts) == pytest.approx(
        np.tile(step * np.arange(1, steps + 1)[:, np.newaxis], hosts), rel=1e-9
    )
    assert run.status.ok


@pytest.mark.parametrize(
    ("given", "begins"),
    [
        ({}, "end"),
        ({"start": 1e-3}, "end + 1 ms"),
        ({"delays": ("2ms",)}, "end + 2 ms"),
        ({"delays": ("2ms",), "start": 1e-3}, "end + 2 ms"),
        ({"delays": (0,), "start": 0.5}, "0.5 s"),
    ],
)
def test_a_flow_starts_at_the_latest_of_its_times(given: Any, begins: str) -> None:
    run = dfc.simulate(two(**given), dfc.Packets(seed=1), duration=1.0)
    end = run.finished[0]
    times = {"end": end, "end + 1 ms": end + 1e-3, "end + 2 ms": end + 2e-3, "0.5 s": 0.5}
    assert run.started[1] == times[begins]
    assert run.finished[1] > run.started[1]


def test_delays_as_an_array_are_those_of_the_flows() -> None:
    """Times of one flow after two others, one of which ends early; -1: no flow, whatever its delay."""
    fabric = random_fabric(0)
    a, b = (flow.path for flow in fabric.flows[:2])
    columns: dict[str, Any] = {
        "sizes": np.array([3, 40, 5]), "source": dfc.CBR(4e5), "links": fabric.links,
        "after": np.array([[-1, -1], [0, -1], [0, 1]]), "delays": np.array([[9.0, 9.0], [1e-4, 9.0], [5e-4, 2e-5]]),
    }  # fmt: skip
    table = dfc.flows_from([a[0], b[0], b[0]], [a[-1], b[-1], b[-1]], **grouped(dfc.flows_from, columns))
    assert [flow.delays for flow in table] == [(), (1e-4,), (5e-4, 2e-5)]
    run = dfc.simulate(replace(fabric, flows=table), dfc.Packets(seed=1), duration=0.01)
    first, second, _ = run.finished
    assert run.started.tolist() == [0.0, first + 1e-4, max(first + 5e-4, second + 2e-5)]
    with pytest.raises(ValueError, match=r"delays: an array of shape \(3,\), must have that of after"):
        dfc.flows_from(
            [a[0], b[0], b[0]], [a[-1], b[-1], b[-1]], **grouped(dfc.flows_from, {**columns, "delays": np.zeros(3)})
        )
    columns["delays"][1, 0] = -1.0
    with pytest.raises(ValueError, match=r"delays\[0\] of flow .* = -1: must be"):
        dfc.flows_from([a[0], b[0], b[0]], [a[-1], b[-1], b[-1]], **grouped(dfc.flows_from, columns))


def test_what_is_not_complete_keeps_others_waiting() -> None:
    run = dfc.simulate(two(), dfc.Packets(seed=1), duration=2e-3)
    assert np.isnan(run.started[1])
    assert [each.waits_for for each in run.unfinished] == ["still sending", "waits for a"]


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        ({"after": ("c",)}, ["after of flow 'b'", "'c'", "names of other flows"]),
        ({"after": 2}, ["after of flow 'b'", "2", "0 to 1"]),
        ({"after": "b"}, ["after of flow 'b'", "other flows"]),
        ({"after": -1}, ["after", "-1"]),
        ({"after": (0.5,)}, ["after", "0.5"]),
        ({"after": None}, ["after", "None"]),
        ({"source": dfc.Poisson(9.0)}, ["after of flow 'b'", "arrivals"]),
        ({"stop": 1.0}, ["after of flow 'b'", "stop"]),
        ({"delays": (1e-3, 0.0)}, ["delays of flow 'b'", "2 times for 1 flow"]),
        ({"delays": (-1e-3,)}, ["delays[0] of flow 'b'", "-0.001", ">= 0"]),
        ({"delays": 1e-3}, ["delays of flow 'b'", "0.001", "one for each of after"]),
        ({"after": (), "delays": (0.0,)}, ["delays of flow 'b'", "1 time for 0 flows"]),
    ],
)
def test_what_a_flow_cannot_wait_for_is_refused(refused: Any, given: Any, parts: list[str]) -> None:
    refused(parts, lambda: two(**given))


def test_circles_and_endless_flows_are_refused(refused: Any) -> None:
    scenario = two()
    a, b = scenario.flows
    refused(["after of flow 'a'", "circle"], lambda: replace(scenario, flows=(replace(a, after="b"), b)))
    endless = replace(a, size=np.inf)
    refused(["after of flow 'b'", "'a' must end"], lambda: replace(scenario, flows=(endless, b)))


def test_the_fluid_refuses_them() -> None:
    with pytest.raises(ValueError, match=r"after of flow 'b' = \('a',\).*Packets\(\)"):
        dfc.simulate(two(), dfc.Fluid())


def test_a_receiver_that_delays_acks_starts_flows_of_its_own_host_or_later(refused: Any) -> None:
    rule = dfc.PFC((0,), xoff=20, xon=10)
    ends = [("h0", "s"), ("h1", "s"), ("s", "h0"), ("s", "h1"), ("h2", "s"), ("s", "h2")]
    links = [dfc.Link(a, b, 1e6, 2e-6, 1e4, rule) for a, b in ends]
    first = dfc.Flow("a", ("h0", "s", "h1"), NewReno(), size=9, delayed_acks=True)
    for path, start in ((("h1", "s", "h0"), 0.0), (("h2", "s", "h0"), 1e-6)):
        flows = (first, dfc.Flow("b", path, NewReno(), size=9, after="a", start=start))
        scenario = dfc.Scenario("hosts", links, flows, duration=1e-3)
        equal_records(plan_of(scenario, 1))
    flows = (first, dfc.Flow("b", ("h2", "s", "h0"), NewReno(), size=9, after="a"))
    scenario = dfc.Scenario("hosts", links, flows, duration=1e-3)
    refused(["start of flow 'b' = 0", "'a'", "above 0"], lambda: dfc.simulate(scenario, dfc.Packets()))
