"""Elements of paths: the compiled engine and the oracle, bit for bit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

import dfcmodel as dfc
from dfcmodel.recoveries import NewRenoRecovery, RenoRecovery
from hopflow.parameters import extends
from responsefn import BBR, CUBIC, Copa, NewReno
from tests.oracles.engines import begin_run, equal_records, plan_scenario


@dataclass(frozen=True)
class Duplicates(dfc.PathElement):
    """A copy, or several, of each packet of a class whose number is a multiple of a period; some go on late."""

    @extends(dfc.PathElement.State)
    class State(NamedTuple):
        """Packets that have come, and copies."""

        until: float = 0.0
        copies: float = 0.0
        passed: float = 0.0
        duplicated: float = 0.0

    counts = ("passed", "duplicated")
    in_order = True

    every: int = 7
    number: int = 1
    hold: float = 0.0
    priority: int = 0
    largest_hold = 0.1

    @staticmethod
    def on_packet(s: Any, q: Any, e: Any) -> Any:
        """Copy the packet."""
        if e.priority != q.priority:
            return s
        passed = s.passed + 1.0
        copies = q.number if passed % q.every == 0.0 else 0.0
        return s._replace(
            copies=copies, passed=passed, duplicated=s.duplicated + copies, until=e.time + q.hold * (passed % 3.0)
        )


@dataclass(frozen=True)
class Spoiled(dfc.PathElement):
    """Packets are lost, by a checksum or for their size, or marked, at random."""

    @extends(dfc.PathElement.State)
    class State(NamedTuple):
        """Marks."""

        marks: float = 0.0

    causes: ClassVar[Mapping[str, str]] = {"checksum": "with a wrong checksum", "odd": "as odd ones"}
    counts = ("marks",)
    draws = 1

    p: float = 0.01

    @staticmethod
    def on_packet(s: Any, q: Any, e: Any) -> Any:
        """Drop or mark the packet."""
        if e.random < q.p:
            return s._replace(drop=2.0 if e.number % 2.0 == 1.0 else 1.0)
        if e.random < 5.0 * q.p and e.backlog > 0.0:
            return s._replace(mark=1.0, marks=s.marks + e.ect)
        return s


@dataclass(frozen=True)
class Aged(dfc.PathElement):
    """Packets that leave a queue late are lost or marked, some at random; packets that come are counted."""

    @extends(dfc.PathElement.State)
    class State(NamedTuple):
        """Packets that came and left, and the sum of what waited behind them."""

        came: float = 0.0
        left: float = 0.0
        behind: float = 0.0

    causes: ClassVar[Mapping[str, str]] = {"late": "as late ones"}
    counts = ("came", "left", "behind")
    draws = 1

    limit: float = 0.02

    @staticmethod
    def on_packet(s: Any, q: Any, e: Any) -> Any:
        """Count the packet."""
        return s._replace(came=s.came + 1.0)

    @staticmethod
    def on_leaving(s: Any, q: Any, e: Any) -> Any:
        """Drop or mark the packet if it is old."""
        s = s._replace(left=s.left + 1.0, behind=s.behind + e.backlog)
        if e.waited > q.limit:
            return s._replace(drop=1.0)
        return s._replace(mark=1.0 if e.waited > 0.5 * q.limit and e.random < 0.5 else 0.0)


RATE = 1000.0
"""Of the bottleneck, packets/s."""
RULES = (NewReno(), CUBIC(), BBR())
ELEMENTS: dict[str, tuple[Any, ...]] = {
    "uniform": (dfc.Jitter("left->right", 0.01),),
    "uniform, not in order": (dfc.Jitter("left->right", 0.01, in_order=False),),
    "constant": (dfc.Jitter("left->right", 0.01, "constant", acks=True),),
    "of one flow": (dfc.Jitter("left->right", 0.02, acks=True, flows=("flow 1",)), dfc.Jitter("left->right", 0.01)),
    "by trace": (dfc.DelayTrace("left->right", (0.0, 0.4, 0.5), (0.0, 0.05, 0.01), period=0.7),),
    "reordering": (dfc.Reordering("left->right", 0.02, 0.012), dfc.Reordering("left->right", 0.02, 0.012, acks=True)),
    "slots": (dfc.Aggregation("left->right", interval=0.02),),
    "batches": (dfc.Aggregation("left->right", count=8, hold=0.03),),
    "batches of data": (dfc.Aggregation("left->right", count=4, hold=0.01, acks=False), dfc.Jitter("left->right", 1e-3)),
    "policer": (dfc.Policer("left->right", 700.0, 30.0),),
    "bursts": (dfc.BurstLoss("left->right", 0.003, 0.3, loss_bad=0.9, loss_good=1e-3),),
    "periodic": (dfc.PeriodicLoss("left->right", 90), dfc.PeriodicLoss("left->right", 70, flows=("flow 1",))),
    "rates": (dfc.RateTrace("left->right", (0.0, 0.5, 1.0), (1000.0, 200.0, 0.0), period=1.2),),
    "copies": (Duplicates("left->right"),),
    "late copies": (Duplicates("left->right", 5, 3, 0.004), dfc.Policer("left->right", 900.0, 50.0)),
    "copies of ACKs": (Duplicates("left->right", 3, acks=True), dfc.Jitter("left->right", 1e-3)),
    "causes": (Spoiled("left->right"), dfc.BurstLoss("left->right", 0.003, 0.3)),
    "transit delay": (dfc.MaxTransitDelay("left->right", 0.018), dfc.PeriodicLoss("left->right", 40)),
    "transit delay, held": (dfc.Jitter("left->right", 0.01), dfc.MaxTransitDelay("left->right", 0.018)),
    "ages": (Aged("left->right"), Aged("left->right", 1e-4, acks=True), dfc.Jitter("left->right", 1e-3)),
    "all": (
        dfc.RateTrace("left->right", (0.0, 1.0), (1000.0, 500.0)),
        dfc.BurstLoss("left->right", 0.001, 0.5),
        dfc.Policer("left->right", 900.0, 50.0, flows=("flow 0", "flow 2")),
        dfc.Jitter("left->right", 0.005),
        dfc.Aggregation("left->right", count=3, hold=0.01, flows=("flow 1",)),
        dfc.Reordering("left->right", 0.01, 0.004),
        dfc.Aggregation("left->right", interval=0.003),
    ),
}  # fmt: skip


def three_flows(elements: tuple[Any, ...], discipline: Any = None, rules: Any = RULES) -> dfc.Scenario:
    """Return flows over one bottleneck behind access links."""
    fields = {} if discipline is None else {"discipline": discipline}
    access = {"access_rate": 5e3, "access_delay": 2e-3}
    links = dfc.dumbbell(len(rules), rate=RATE, delay=0.01, buffer=30, **access, **fields)
    flows = [
        dfc.Flow(f"flow {n}", (f"s{n + 1}", "left", "right", f"d{n + 1}"), rule, 200, start=0.01 * n)
        for n, rule in enumerate(rules)
    ]
    return dfc.Scenario("paths", links, flows, duration=2.0, elements=elements)


@pytest.mark.parametrize("name", ELEMENTS)
def test_each_element_as_the_oracle(name: str) -> None:
    """All that elements do is equal in both engines, with rules of windows and of deliveries."""
    scenario = three_flows(ELEMENTS[name])
    records = equal_records(plan_scenario(scenario, dfc.Packets(seed=3), duration=2.0, sample=0.1))
    assert (records.total > 30).all()


REORDERED_ACKS = dfc.Jitter("left->right", 0.01, in_order=False, acks=True)


@pytest.mark.parametrize("elements", [ELEMENTS["reordering"], (REORDERED_ACKS,)], ids=["some", "many"])
def test_overtaken_acks_over_seeds(elements: tuple[Any, ...]) -> None:
    """An ACK that another one has overtaken neither counts as a duplicate nor inflates a window (RFC 5681, 2)."""
    for seed in range(1, 25):
        equal_records(plan_scenario(three_flows(elements), dfc.Packets(seed=seed), duration=2.0, sample=0.1))


@pytest.mark.parametrize(
    "recovery", ["tahoe", "reno", "sack", "prr", "rack", NewRenoRecovery(), RenoRecovery()], ids=str
)
def test_overtaken_acks_with_each_recovery(recovery: Any) -> None:
    """Blocks of an overtaken ACK below the cumulative ACK are not on the scoreboard."""
    scenario = three_flows((REORDERED_ACKS,), None, (NewReno(), CUBIC(), NewReno()))
    for seed in (1, 2):
        method = dfc.Packets(seed=seed, recovery=recovery)
        equal_records(plan_scenario(scenario, method, duration=2.0, sample=0.1))


@pytest.mark.parametrize(
    ("discipline", "recovery"),
    [
        (dfc.RED(5, 15), "sack"),
        (dfc.CoDel(), "rack"),
        (dfc.Fair(), "newreno"),
        (dfc.WeightedFair(), "prr"),
    ],
)
def test_elements_before_other_queues(discipline: Any, recovery: str) -> None:
    """They stand in front of queues with managers, of flows, and of programs."""
    scenario = three_flows(ELEMENTS["all"], discipline, (NewReno(), CUBIC(), NewReno()))
    method = dfc.Packets(seed=1, recovery=recovery, loss={"s1->left": 0.01})
    equal_records(plan_scenario(scenario, method, duration=1.5, sample=0.1))


@pytest.mark.parametrize("rule", [BBR(), Copa()])
@pytest.mark.parametrize("process", [dfc.Poisson(600.0), dfc.Replay((0.0, 0.3, 1.2), (5, 400, 300))])
def test_rules_of_deliveries_without_data(rule: Any, process: Any) -> None:
    """Samples that the application limits are marked by both engines."""
    scenario = three_flows(ELEMENTS["bursts"], None, (rule, NewReno()))
    flows = (replace(scenario.flows[0], arrivals=process), scenario.flows[1])
    scenario = replace(scenario, flows=flows)
    equal_records(plan_scenario(scenario, dfc.Packets(seed=1), duration=2.0, sample=0.1))


LOSSES = (Spoiled("b->c", 0.02), dfc.PeriodicLoss("b->c", 31), dfc.Policer("b->c", 1000.0, 20.0, flows=("f",)))
FLOW_CONTROL = (
    dfc.PFC((0,), xoff=20, xon=10), dfc.Pause(high=20, low=10), dfc.DFC(), dfc.Credits(classes=(0,)), dfc.BFC(),
)  # fmt: skip


@pytest.mark.parametrize("rule", FLOW_CONTROL, ids=lambda rule: type(rule).__name__)
def test_elements_that_lose_packets_at_links_with_flow_control(rule: Any) -> None:
    """What is lost has left its room: senders are not blocked by packets that are not there."""
    links = [
        dfc.Link(a, b, rate, 1e-3, 200, rule)
        for a, b, rate in (("a", "b", 8e3), ("x", "b", 8e3), ("b", "c", 8e3), ("c", "d", 4e3))
    ]
    flows = [
        dfc.Flow(name, (source, "b", "c", "d"), NewReno(), 400, host="direct" if rule.diffuses else "nic", start=start)
        for name, source, start in (("f", "a", 0.0), ("g", "x", 0.01))
    ]
    scenario = dfc.Scenario("lossy", links, flows, duration=1.0, elements=LOSSES)
    records = equal_records(plan_scenario(scenario, dfc.Packets(seed=2), duration=1.0, sample=0.1))
    assert (records.causes.sum(axis=0)[[2, 5, 8, 9]] > 0).all()  # random, policer, checksum, odd
    assert (records.total > 300).all()
    assert records.imbalance.max() <= 1e-12


LEAVING = (
    *(dfc.FIFO(), dfc.CoDel(), dfc.PIE(), dfc.DualPI2(), dfc.Fair(), dfc.Priority()),
    *(dfc.FlowQueueCoDel(), dfc.WeightedFair(), dfc.INT(), dfc.Trimming()),
    *(dfc.Pause(high=12, low=6), dfc.PFC((0,), xoff=12, xon=6)),
)


@pytest.mark.parametrize("rule", LEAVING, ids=str)
def test_elements_of_packets_that_leave_as_the_oracle(rule: Any) -> None:
    """The next packet leaves at once, also behind a pause, and what is lost has left its room."""
    links = [
        dfc.Link(a, b, rate, 1e-3, 60, rule)
        for a, b, rate in (("a", "b", 8e3), ("x", "b", 8e3), ("b", "c", 4e3), ("c", "d", 2e3))
    ]
    flows = [
        dfc.Flow(name, (source, "b", "c", "d"), NewReno(), 60, start=start, priority=n)
        for n, (name, source, start) in enumerate((("f", "a", 0.0), ("g", "x", 0.01)))
    ]
    elements = (Aged("b->c", 0.0015), dfc.MaxTransitDelay("c->d", 0.003))
    scenario = dfc.Scenario("aged", links, flows, duration=1.0, elements=elements)
    records = equal_records(plan_scenario(scenario, dfc.Packets(seed=2), duration=1.0, sample=0.1))
    causes = list(scenario.drop_causes)
    assert records.causes.sum(axis=0)[[causes.index("late"), causes.index("transit delay")]].sum() > 0
    assert records.total.sum() > 100
    assert records.imbalance.max() <= 1e-12


@dataclass(frozen=True)
class Arrivals(dfc.PathElement):
    """Sums the waiting times that are given with packets that come, and with packets that leave."""

    @extends(dfc.PathElement.State)
    class State(NamedTuple):
        """Sums, s."""

        at_arrival: float = 0.0
        at_departure: float = 0.0

    counts = ("at_arrival", "at_departure")

    @staticmethod
    def on_packet(s: Any, q: Any, e: Any) -> Any:
        """Add the time before the packet's arrival."""
        return s._replace(at_arrival=s.at_arrival + e.waited)

    @staticmethod
    def on_leaving(s: Any, q: Any, e: Any) -> Any:
        """Add the time in the queue."""
        return s._replace(at_departure=s.at_departure + e.waited)


def test_a_packet_that_was_held_has_not_waited_in_the_queue() -> None:
    """What an element before it holds is no time in the queue; constant rates wait for the packet before them."""
    links = [dfc.Link("a", "b", 100.0, 1e-3, 100)]
    flows = [dfc.Flow(name, ("a", "b"), dfc.CBR(10.0), size=5) for name in ("f", "g")]
    elements = (dfc.Jitter("a->b", 0.03, "constant"), Arrivals("a->b"))
    scenario = dfc.Scenario("held", links, flows, duration=2.0, elements=elements)
    table = dfc.simulate(scenario, dfc.Packets()).element_counts().to_pandas().set_index("quantity")["value"]
    assert table["at_arrival"] == 0.0
    assert table["at_departure"] == pytest.approx(5 / 100.0)  # five times, one packet behind another, s


def test_copies_and_causes_are_in_the_result() -> None:
    """Of 300 packets of a class every seventh is copied twice; the receiver of a constant rate delivers all."""
    links = [dfc.Link("a", "b", 5e3, 1e-3, 100)]
    flows = [dfc.Flow(f"{n}", ("a", "b"), dfc.CBR(300.0), size=300, priority=n) for n in (0, 3)]
    elements = [Duplicates("a->b", 7, 2, priority=3), Spoiled("a->b", 0.1)]
    scenario = dfc.Scenario("copies", links, flows, duration=2.0, elements=elements)
    run = dfc.simulate(scenario, dfc.Packets(seed=1))
    table = run.element_counts().to_pandas()
    assert table["quantity"].tolist() == ["passed", "duplicated", "marks"]
    assert table["element"].tolist() == ["Duplicates", "Duplicates", "Spoiled"]
    assert table["value"].tolist()[:2] == [300.0, 84.0]
    assert run.delivered[:, -1].sum() + run.lost.sum() == 684.0
    drops = run.drops().to_pandas()
    assert set(drops["cause"]) == {"checksum", "odd"}
    assert "with a wrong checksum" in run.summary()["lost at"]
    assert run.imbalance.max() == 0.0


def test_a_receiver_discards_copies() -> None:
    """A transfer delivers its packets once; without losses its sender answers copies with nothing."""
    scenario = three_flows((Duplicates("left->right", 2),))
    flows = [replace(flow, size=200) for flow in scenario.flows]
    records = equal_records(
        plan_scenario(replace(scenario, flows=flows), dfc.Packets(seed=3), duration=2.0, sample=0.1)
    )
    assert (records.total == 200).all()


@dataclass(frozen=True)
class Wrong(dfc.PathElement):
    """An element that returns a value that cannot be."""

    @extends(dfc.PathElement.State)
    class State(NamedTuple):
        """Decision on a packet."""

        until: float = 0.0
        copies: float = 0.0

    drop: float = 0.0
    mark: float = 0.0
    until: float = 0.0
    copies: float = 0.0
    largest_hold = 0.5

    @staticmethod
    def on_packet(s: Any, q: Any, e: Any) -> Any:
        """Return the parameters."""
        return s._replace(drop=q.drop, mark=q.mark, until=q.until, copies=q.copies)


@pytest.mark.parametrize(
    ("field", "value", "allowed"),
    [
        ("drop", 2.0, "must be 0.0, or the number of one of its 1 cause"),
        ("drop", 0.5, "must be 0.0, or the number of one of its 1 cause"),
        ("mark", 2.0, "must be 0.0 or 1.0"),
        ("until", 9.0, "must be a time of at most"),
        ("copies", 9.0, "must be a whole number from 0 to 8"),
        ("copies", -1.0, "must be a whole number from 0 to 8"),
    ],
)
def test_values_that_cannot_be_are_named(field: str, value: float, allowed: str) -> None:
    wrong = replace(Wrong("left->right"), **{field: value})  # type: ignore[arg-type]
    message = f"link left->right: Wrong.on_packet returned {field} = {value:g}: {allowed}"
    with pytest.raises(ArithmeticError, match=re.escape(message)):
        dfc.simulate(three_flows((wrong,)), dfc.Packets())


@dataclass(frozen=True)
class WrongLater(dfc.PathElement):
    """An element that drops a packet that leaves for a cause that it does not have."""

    @staticmethod
    def on_leaving(s: Any, q: Any, e: Any) -> Any:
        """Name a second cause."""
        return s._replace(drop=2.0)


def test_the_function_that_returned_a_wrong_value_is_named() -> None:
    message = (
        "link left->right: WrongLater.on_leaving returned drop = 2: must be 0.0, or the number of one of its 1 cause"
    )
    with pytest.raises(ArithmeticError, match=re.escape(message)):
        dfc.simulate(three_flows((WrongLater("left->right"),)), dfc.Packets())


def test_chains_are_shared_by_hops_with_the_same_elements() -> None:
    """Each chain stands once, and hops without elements end at once (`dfcmodel.packets.layouts.path_elements`)."""
    plan = plan_scenario(three_flows(ELEMENTS["all"]), dfc.Packets(), duration=1.0, sample=0.1)
    arrays = begin_run(plan).arrays
    rows, path = arrays["chain"], plan.path
    assert np.count_nonzero(rows == -1) == 1 + len(set(path.first[path.first >= 0].tolist()))
    assert (rows[arrays["passing"]["chain"][plan.hops.row[path.first < 0]]] == -1).all()
    plain = plan_scenario(three_flows(()), dfc.Packets(), duration=1.0, sample=0.1)
    empty = begin_run(plain).arrays
    assert {len(empty[name]) for name in ("element", "steps", "chain", "passing")} == {1}
