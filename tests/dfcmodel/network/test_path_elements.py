"""Links and what paths do to packets besides queueing."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dfcmodel as dfc
from dfcmodel import (
    BFC,
    CBR,
    DFC,
    PFC,
    Aggregation,
    BurstLoss,
    ByteBuffer,
    Credits,
    DelayTrace,
    Flow,
    Fluid,
    Jitter,
    Link,
    Links,
    MaxTransitDelay,
    Packets,
    PathElement,
    PeriodicLoss,
    Policer,
    RateTrace,
    Reordering,
    Replay,
    Scenario,
    Twin,
    links_from,
    load_scenario,
    read_mahimahi,
    save_scenario,
    simulate,
    to_ns3,
    trace_packets,
)
from dfcmodel.network import elements
from dfcmodel.network.scenario_files import toml_keys
from hopflow import ms
from hopflow.parameters import extends
from responsefn import AIMD, CUBIC, NewReno
from tests.oracles.engines import plain_simulate

# Elements of paths: what each does to packets, what the fluid has of them, files, refusals.


LINKS = [Link("a", "b", 5000.0, 1e-3, 1000), Link("b", "c", 1000.0, 1e-3, 200)]


def path_of(*elements: Any, source: Any = None, duration: float = 10.0, **given: Any) -> Scenario:
    """Return a flow over two links, the second of which has elements in front of its queue."""
    flow = Flow("flow", ("a", "b", "c"), source or CBR(500.0), **given)
    return Scenario("path", LINKS, [flow], duration=duration, elements=elements)


def arrivals_at_end(scenario: Scenario, seed: int = 1) -> Any:
    """Return the table of packets of data that leave the queue of the second link."""
    found = trace_packets(scenario, ["b->c"], Packets(seed=seed)).to_pandas()
    return found[~found["ack"].astype(bool)]


def test_jitter_is_even_up_to_its_bound_and_keeps_the_order() -> None:
    plain = arrivals_at_end(path_of())["arrived"].to_numpy()
    for in_order in (True, False):
        held = arrivals_at_end(path_of(Jitter("b->c", 0.05, in_order=in_order)))
        held = held.sort_values("number")["arrived"].to_numpy()
        delays = held - plain[: len(held)]
        assert -1e-12 < delays.min() < 1e-3
        assert 0.049 < delays.max() < 0.05 + 1e-12
        assert bool((np.diff(held) >= 0.0).all()) is in_order
        if not in_order:  # without order each delay is as drawn
            assert delays.mean() == pytest.approx(0.025, rel=0.03)


def test_a_constant_delay_moves_every_packet() -> None:
    held = arrivals_at_end(path_of(Jitter("b->c", 0.02, "constant")))["arrived"].to_numpy()
    plain = arrivals_at_end(path_of())["arrived"].to_numpy()[: len(held)]
    np.testing.assert_allclose(held - plain, 0.02, rtol=1e-9)


def test_a_policer_passes_its_rate_and_once_its_burst() -> None:
    run = simulate(path_of(Policer("b->c", 200.0, 50.0)), Packets())
    assert run.delivered[0, -1] == pytest.approx(200.0 * 10.0 + 50.0, abs=3.0)
    drops = run.drops().to_pandas()
    assert set(drops["cause"]) == {"policer"}
    assert run.lost.sum() == pytest.approx(300.0 * 10.0 - 50.0, abs=3.0)


def test_bursts_of_losses_have_the_mean_rate_and_length() -> None:
    """Gilbert's chain: bursts of 1 / to_good packets in the mean, losses to_bad / (to_bad + to_good)."""
    element = BurstLoss("b->c", to_bad=0.01, to_good=0.25)
    table = arrivals_at_end(path_of(element, duration=100.0), seed=2).sort_values("number")
    lost = table["sent"].isna().to_numpy()
    begins = np.flatnonzero(np.diff(lost.astype(int)) == 1)
    assert lost.mean() == pytest.approx(element.mean, rel=0.15)
    assert lost.sum() / len(begins) == pytest.approx(4.0, rel=0.15)


def test_aggregated_acks_come_at_multiples_or_in_batches() -> None:
    for element, steps in (
        (Aggregation("b->c", interval=0.025), True),
        (Aggregation("b->c", count=5, hold=1.0), False),
    ):
        scenario = path_of(element, source=NewReno(), duration=3.0, max_window=20)
        found = trace_packets(scenario, ["c->b"], Packets(seed=1)).to_pandas()
        times, counts = np.unique(found["arrived"].round(9), return_counts=True)
        if steps:
            np.testing.assert_allclose((times / 0.025) % 1.0 % (1.0 - 1e-6), 0.0, atol=1e-6)
            assert counts.mean() > 5.0
        else:
            assert (counts[1:-1] == 5).all()


def test_a_batch_that_is_not_full_is_passed_on_at_its_end() -> None:
    scenario = path_of(Aggregation("b->c", count=100, hold=0.2), source=NewReno(), size=1, duration=1.0)
    found = trace_packets(scenario, ["c->b"], Packets()).to_pandas()
    assert found["arrived"].min() > 0.2
    assert simulate(scenario, Packets()).finished[0] < 0.01


def test_reordered_packets_are_losses_by_count_and_not_by_time() -> None:
    """Packets that are 4 ms late are overtaken by more than three others, and by less than a quarter of a round trip."""
    links = [LINKS[0], replace(LINKS[1], delay=0.02)]
    scenario = path_of(Reordering("b->c", 0.02, 4e-3), source=CUBIC(), max_window=100)
    scenario = replace(scenario, links=links)
    events = [simulate(scenario, Packets(seed=1, recovery=recovery)).loss_events[0] for recovery in ("sack", "rack")]
    assert events[0] > 20
    assert events[1] < 0.2 * events[0]


def test_a_rate_over_time_carries_its_integral_at_both_levels() -> None:
    """A source that always has data gets the area under the rate; an outage delays what waits."""
    trace = RateTrace("b->c", (0.0, 2.0, 3.0), (800.0, 0.0, 400.0), period=5.0)
    assert trace.mean == pytest.approx((1600.0 + 800.0) / 5.0)
    scenario = path_of(trace, source=CBR(2000.0))
    packets = simulate(scenario, Packets(), sample=0.5).delivered[0]
    fluid = simulate(scenario, Fluid(), sample=0.5).delivered[0]
    assert packets[-1] == pytest.approx(2 * 2400.0, abs=5.0)
    np.testing.assert_allclose(fluid, packets, atol=8.0)


def test_a_window_follows_a_rate_over_time_alike_at_both_levels() -> None:
    trace = RateTrace("b->c", (0.0, 10.0, 20.0), (1000.0, 300.0, 1000.0))
    scenario = path_of(trace, source=NewReno(), duration=30.0, max_window=150)
    goodputs = [simulate(scenario, method).delivered[0, -1] for method in (Packets(), Fluid())]
    assert goodputs[0] == pytest.approx(23_000.0, rel=0.03)
    assert goodputs[1] == pytest.approx(goodputs[0], rel=0.03)


@pytest.mark.parametrize("link", ["a->b", "b->c"])
def test_a_delay_over_time_shifts_what_arrives_alike_at_both_levels(link: str) -> None:
    """500 packets/s: 100 of them are held longer, then come together; within a packet of the packet level throughout."""
    trace = DelayTrace(link, (0.0, 2.0, 3.0), (0.01, 0.2101, 0.05), period=5.0)
    scenario = path_of(trace)
    found = [simulate(scenario, method, sample=0.02) for method in (Packets(), Fluid())]
    packets, fluid = (run.delivered[0] for run in found)
    np.testing.assert_allclose(fluid, packets, atol=1.0)
    standing = fluid[found[1].time > 2.05][:7]
    assert np.ptp(standing) <= 1.0  # nothing arrives for 0.2 s after the rise
    together = 0.16 * 500.0  # packets; over the first link they come at its rate
    waits = together if link == "b->c" else (1.0 - LINKS[1].rate / LINKS[0].rate) * together
    for run in found:
        assert run.queued[1].max() == pytest.approx(waits, abs=8.0)
        assert run.imbalance.max() <= 1e-12


def test_the_order_of_what_a_trace_holds_is_kept_only_while_something_is_held() -> None:
    """A source that begins after the fall finds an empty way; one that began before waits for what is under way."""
    trace = DelayTrace("b->c", (0.0, 1.0), (0.5, 0.0))
    for start in (0.9, 1.01):
        scenario = path_of(trace, source=CBR(500.0), start=start, duration=2.0)
        first = [
            run.time[np.argmax(run.delivered[0] > 1.5)]
            for run in (simulate(scenario, each, sample=2e-3) for each in (Packets(), Fluid()))
        ]
        assert first[1] == pytest.approx(first[0], abs=8e-3)
        assert first[0] == pytest.approx(1.402 if start < 1.0 else 1.015, abs=8e-3)


@pytest.mark.parametrize(
    "trace",
    [
        DelayTrace("b->c", (0.0, 1.0), (0.0, 0.02), period=2.0),
        DelayTrace("a->b", (0.0, 0.7), (0.0, 0.03), period=1.4, flows=("first",)),
        DelayTrace("b->c", tuple(0.1 * n for n in range(7)), (0.0, 0.01, 0.003, 0.02, 0.007, 0.015, 0.001), period=0.7),
    ],
    ids=["both flows", "one flow", "seven delays"],
)  # fmt: skip
def test_flows_share_alike_at_both_levels_under_a_delay_over_time(trace: DelayTrace) -> None:
    """Mean shares over three starts of the second flow."""
    links = [Link("a", "b", 4000.0, 5e-3, 500), Link("b", "c", 1000.0, 15e-3, 80)]
    shares = np.zeros((2, 3))
    for n, start in enumerate((0.3, 0.35, 0.41)):
        flows = [
            Flow(name, ("a", "b", "c"), NewReno(), start=each) for name, each in (("first", 0.0), ("second", start))
        ]
        scenario = Scenario("delays", links, flows, duration=60.0, elements=[trace])
        for m, method in enumerate((Packets(seed=1), Fluid())):
            sent = simulate(scenario, method, sample=0.1).delivered[:, -1]
            assert sent.sum() > 0.95 * 60_000
            shares[m, n] = sent[0] / sent.sum()
    means = shares.mean(axis=1)
    assert means[1] == pytest.approx(means[0], abs=0.05)
    if trace.flows:
        assert means.max() < 0.4  # the flow with the longer round trips has less


def test_a_delay_over_time_is_that_of_the_round_trip() -> None:
    trace = DelayTrace("b->c", (0.0, 1.0), (0.0, 0.03), period=2.0)
    run = simulate(path_of(trace, source=NewReno(), max_window=4), Packets(), sample=0.1)
    trips = run.round_trip[0]
    assert np.nanmin(trips) < 0.007
    assert np.nanmax(trips) == pytest.approx(np.nanmin(trips) + 0.03, abs=2e-3)


def test_every_kth_packet_is_lost() -> None:
    """Also of those that are sent again; counted over all flows of the element."""
    run = simulate(path_of(PeriodicLoss("b->c", 40), source=CBR(500.0), duration=4.0), Packets())
    arrived = run.delivered[0, -1]
    assert run.lost.sum() == pytest.approx(arrived / 39.0, abs=1.0)
    assert PeriodicLoss("b->c", 40).mean == 1 / 40


@pytest.mark.parametrize("every", [100, 400])
def test_a_window_rule_has_its_response_under_periodic_losses(every: int) -> None:
    """NewReno at packet level beside the response function of AIMD with the time of recovery, which is derived for such losses."""
    links = (Link("a", "b", 1e5, 0.05, 1e5), Link("b", "a", 1e5, 0.05, 1e5))
    flow = Flow("f", ("a", "b"), NewReno(), delayed_acks=False)
    scenario = Scenario("periodic", links, (flow,), duration=60.0, elements=(PeriodicLoss("a->b", every),))
    run = simulate(scenario, Packets(recovery="sack"))
    late = run.time > 20.0
    sent = run.delivered[0, late]
    rate = (sent[-1] - sent[0]) / (run.time[-1] - run.time[late][0])
    assert rate == pytest.approx(AIMD(form="recovery").rate(1 / every, 0.1), rel=0.03)


def test_files_keep_elements(tmp_path: Path) -> None:
    elements = (
        Jitter("b->c", 0.01, "constant", acks=True, flows=("flow",)),
        Aggregation("b->c", count=4),
        DelayTrace("b->c", (0.0, 1.0), (0.0, 0.5), period=3.0),
        RateTrace("b->c", (0.0, 1.0), (500.0, 1000.0)),
        BurstLoss("b->c", 0.1, 0.2),
        PeriodicLoss("b->c", 50),
        Policer("b->c", 100.0, 5.0),
        Reordering("b->c", 0.1, 0.01),
        MaxTransitDelay("b->c", 0.25),
    )
    scenario = path_of(*elements, source=NewReno())
    assert load_scenario(save_scenario(scenario, tmp_path / "path.toml")) == scenario


def test_mahimahi_traces(tmp_path: Path) -> None:
    """12 Mb/s for 50 ms, nothing for 50 ms: as many packets as opportunities."""
    file = tmp_path / "up.trace"
    file.write_text("\n".join(str(n) for n in range(1, 51)) + "\n100\n")
    trace = read_mahimahi(file, "b->c", bin=0.01)
    assert trace.period == 0.1
    assert trace.rates[:6] == pytest.approx((1000.0,) * 5 + (0.0,))
    assert trace.mean == pytest.approx(510.0)
    scenario = path_of(trace, source=CBR(3000.0), duration=5.0)
    assert simulate(scenario, Packets()).delivered[0, -1] == pytest.approx(5 * 510.0, abs=15.0)
    for text, why in (("3\n2\n", "line 2"), ("0\n", "above 0"), ("1.5\n", "line 1")):
        file.write_text(text)
        with pytest.raises(ValueError, match=why):
            read_mahimahi(file, "b->c")


@pytest.mark.parametrize(
    ("first", "last", "opportunities", "mbit"),
    [
        # its traces/README: a file of "1" is a link of 12 Mb/s
        (1, 1, 1, 12.032),
        # ATT-LTE-driving-2016.down, Verizon-LTE-short.down, TMobile-LTE-short.up, TMobile-UMTS-driving.up, Verizon-EVDO-driving.up
        (0, 120_002, 45_604, 4.572485),
        (0, 140_000, 58_655, 5.040978),
        (7, 140_000, 155_381, 13.353887),
        (637, 931_233, 73_197, 0.945742),
        (1056, 1_064_718, 74_768, 0.844927),
    ],
)
def test_traces_of_mahimahi(tmp_path: Path, first: int, last: int, opportunities: int, mbit: float) -> None:
    """First and last ms and lines of traces that come with Mahimahi (ravinet/mahimahi, traces/, GPL-3.0); times between are even here.

    The mean rate is 1,504 bytes a line over the last time; a packet of 1,500 bytes takes a line.
    """
    file = tmp_path / "link.trace"
    file.write_text("\n".join(map(str, np.linspace(first, last, opportunities).astype(int))))
    trace = read_mahimahi(file, "b->c")
    assert trace.period == last / 1e3
    assert trace.mean == pytest.approx(opportunities / trace.period, rel=1e-12)
    assert trace.mean * 1504 * 8e-6 == pytest.approx(mbit, rel=1e-6)


NEW_ELEMENT = '''
from dataclasses import dataclass
from typing import Any, NamedTuple

from dfcmodel import PathElement
from hopflow.parameters import extends


@dataclass(frozen=True)
class DuplicateEvery(PathElement):
    """A copy of each packet of a class whose number is a multiple of a period."""

    @extends(PathElement.State)
    class State(NamedTuple):
        copies: float = 0.0
        passed: float = 0.0
        duplicated: float = 0.0

    counts = ("duplicated",)
    every: int = 10
    priority: int = 0

    @staticmethod
    def on_packet(s: Any, q: Any, e: Any) -> Any:
        if e.priority != q.priority:
            return s
        copies = 1.0 if (s.passed + 1.0) % q.every == 0.0 else 0.0
        return s._replace(copies=copies, passed=s.passed + 1.0, duplicated=s.duplicated + copies)
'''
"""A module of the folder of elements."""


def test_a_new_module_is_an_element_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files, the packet level and results take an element up from a new file alone, as CONTRIBUTING says."""
    (tmp_path / "duplicates.py").write_text(NEW_ELEMENT)
    monkeypatch.setattr(elements, "__path__", [*elements.__path__, str(tmp_path)])
    kinds = toml_keys.classes_in(elements, PathElement)
    assert kinds.keys() - toml_keys.ELEMENTS.keys() == {"DuplicateEvery"}
    monkeypatch.setitem(toml_keys.ELEMENTS, "DuplicateEvery", kinds["DuplicateEvery"])
    scenario = replace(path_of(priority=3, size=200), elements=(kinds["DuplicateEvery"]("b->c", every=8, priority=3),))
    read = load_scenario(save_scenario(scenario, tmp_path / "copies.toml"))
    assert read == scenario
    run = simulate(read, Packets())
    assert run.element_counts().value.values.tolist() == [25.0]
    assert run.delivered[0, -1] == 225.0
    assert run.imbalance.max() == 0.0


def test_a_field_of_a_link_stands_for_an_element(monkeypatch: pytest.MonkeyPatch) -> None:
    """A link whose class returns an element runs as with that element of the scenario, and is refused alike."""
    listed = path_of(PeriodicLoss("b->c", every=20), Jitter("b->c", 1e-3), duration=2.0)
    expected = simulate(listed, Packets(seed=1))
    lossy = property(lambda link: (PeriodicLoss(link.name, every=20),) if link.buffer == 200 else ())
    monkeypatch.setattr(Link, "elements", lossy)
    scenario = path_of(Jitter("b->c", 1e-3), duration=2.0)
    run = simulate(scenario, Packets(seed=1))
    assert run.lost.sum() == expected.lost.sum() > 40
    assert np.array_equal(run.delivered, expected.delivered)
    assert len(scenario.elements) == 1
    with pytest.raises(ValueError, match="elements: PeriodicLoss at b->c: acts on single packets"):
        simulate(path_of(), Fluid())


LATE = DelayTrace("b->c", (0.0,), (0.01,))


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (lambda: PathElement("b->c"), ("base",)),
        (lambda: Jitter("b->c", -1.0), ("bound", "-1")),
        (lambda: Jitter("b->c", 50), ("bound = 50", "<= 10; in s: ms(5) is 0.005")),
        (lambda: Reordering("b->c", 0.1, 12), ("delay = 12", "<= 10; in s")),
        (lambda: Aggregation("b->c", interval=20), ("interval = 20", "<= 10; in s")),
        (lambda: Jitter("b->c", 1.0, "normal"), ("distribution", "normal")),
        (lambda: Jitter("b->c", 1.0, flows=()), ("flows",)),
        (lambda: Reordering("b->c", 1.5, 0.1), ("p", "1.5")),
        (lambda: Aggregation("b->c"), ("interval", "count")),
        (lambda: Aggregation("b->c", count=2.5), ("count", "2.5")),
        (lambda: Policer("b->c", 10.0, 0.5), ("burst", "0.5")),
        (lambda: BurstLoss("b->c", 2.0, 0.5), ("to_bad", "2")),
        (lambda: PeriodicLoss("b->c", 1), ("every", "1")),
        (lambda: MaxTransitDelay("b->c", 0.0), ("delay = 0", "> 0")),
        (lambda: MaxTransitDelay("b->c", 20), ("delay = 20", "<= 10; in s")),
        (lambda: simulate(path_of(MaxTransitDelay("b->c", 1.0)), Fluid()), ("MaxTransitDelay at b->c", "acts on single packets")),
        (lambda: PeriodicLoss("b->c", 2.5), ("every", "2.5")),
        (lambda: DelayTrace("b->c", (1.0, 2.0), (0.0, 0.0)), ("times[0]",)),
        (lambda: DelayTrace("b->c", (0.0, 2.0), (0.0,)), ("lists of one length",)),
        (lambda: DelayTrace("b->c", (0.0, 2.0), (0.0, 1.0), period=1.0), ("period", "1")),
        (lambda: RateTrace("b->c", (0.0, 2.0), (1.0, 0.0)), ("rates[-1]",)),
        (lambda: RateTrace("b->c", (0.0,), (1.0,), acks=True), ("leave them out",)),
        (lambda: path_of(Jitter("x->y", 1.0)), ("link of Jitter", "x->y")),
        (lambda: path_of(Jitter("b->c", 1.0, flows=("other",))), ("flows of Jitter", "other")),
        (lambda: path_of(RateTrace("b->c", (0.0,), (2000.0,))), ("rates", "2000", "1000")),
        (lambda: path_of(*[RateTrace("b->c", (0.0,), (100.0,))] * 2), ("second RateTrace",)),
        (lambda: simulate(path_of(Jitter("b->c", 1.0)), Fluid()), ("Jitter", "Packets()")),
        (lambda: simulate(path_of(replace(LATE, acks=True)), Fluid()), ("elements: DelayTrace at b->c", "delays ACKs; use method=Packets")),
        (lambda: simulate(path_of(replace(LATE, in_order=False)), Fluid()), ("elements: DelayTrace at b->c", "overtake; use method=Packets")),
        (lambda: simulate(path_of(LATE, LATE), Fluid()), ("elements: DelayTrace at b->c", "a second one acts on flow 'flow'; use method=Packets")),
        (lambda: Twin(path_of(LATE)), ("elements: DelayTrace at b->c: the twin has no elements",)),
        (lambda: simulate(path_of(Jitter("b->c", 1.0)), Packets(convention="ns2")), ("elements", "ns2")),
        (lambda: simulate(path_of(RateTrace("b->c", (0.0,), (100.0,))), Packets(loss={"b->c": 0.1})), ("RateTrace", "BurstLoss")),
        (lambda: to_ns3(path_of(Jitter("b->c", 1.0), source=NewReno())), ("elements", "ns-3")),
    ],
)  # fmt: skip
def test_what_is_refused(make: Any, parts: tuple[str, ...]) -> None:
    with pytest.raises((ValueError, TypeError)) as error:
        make()
    assert all(part in str(error.value) for part in parts), error.value


@pytest.mark.parametrize("rule", [PFC(), DFC()])
def test_flow_control_of_a_link_needs_a_plain_wire(rule: Any) -> None:
    links = [LINKS[0], replace(LINKS[1], discipline=rule)]
    scenario = replace(path_of(source=NewReno()), links=links, elements=(Jitter("b->c", 0.01),))
    with pytest.raises(ValueError, match=r"link of Jitter = 'b->c'"):
        simulate(scenario, Packets())


# Links as columns: the same links as objects, refused input, and the same runs.


ENDS = ["a", "b", "b", "c"], ["b", "a", "c", "b"]
ONE: dict[str, Any] = {"rate": 1e3, "delay": 1e-3, "buffer": 20.0}
RULES = PFC(xoff=8, xon=4), DFC()


def objects(**options: Any) -> tuple[Link, ...]:
    """Return the links of `ENDS`, each with its value of options that are lists."""
    given: dict[str, Any] = {**ONE, **options}
    return tuple(
        Link(a, b, **{k: v[n] if isinstance(v, list) else v for k, v in given.items()})
        for n, (a, b) in enumerate(zip(*ENDS, strict=True))
    )


@given(
    rates=st.lists(st.sampled_from([1e3, 2e3]), min_size=4, max_size=4),
    buffers=st.lists(st.sampled_from([20.0, ByteBuffer("30 kB")]), min_size=4, max_size=4),
    rules=st.lists(st.sampled_from(RULES), min_size=4, max_size=4),
)
@settings(max_examples=30, deadline=None)
def test_columns_are_their_links(rates: list[float], buffers: list[Any], rules: list[Any]) -> None:
    options: dict[str, Any] = {"rate": rates, "buffer": buffers, "discipline": rules}
    columns, links = links_from(*ENDS, **{**ONE, **options}), objects(**options)
    for found in (columns, Links.of(links), pickle.loads(pickle.dumps(columns))):
        assert found == links
        assert hash(found) == hash(links)
        assert found.names == tuple(link.name for link in links)
        assert found[1:3] == links[1:3]
        assert found[-1] == links[-1]
        assert found.each(lambda link: link.rate).tolist() == rates
        assert found.nodes == ("a", "b", "c")
    order = [columns.kind_of.tolist().index(k) for k in range(len(columns.kinds))]
    assert order == sorted(order)  # an error about a kind names its first link


def test_links_of_columns_are_made_once() -> None:
    links = links_from(*ENDS, **ONE)
    assert links[2] is links[2]
    with pytest.raises(IndexError):
        links[4]


@pytest.mark.parametrize("method", [Fluid(), Packets(seed=1)])
@pytest.mark.parametrize("rule", [*RULES, None])
def test_runs_are_those_of_the_objects(method: Any, rule: Any) -> None:
    options = {} if rule is None else {"discipline": [rule] * 4}
    flows = [Flow("f", ("a", "b", "c"), NewReno()), Flow("g", ("c", "b", "a"), NewReno())]
    columns, plain = (
        simulate(Scenario("x", links, flows), method, duration=0.3)
        for links in (links_from(*ENDS, **{**ONE, **options}), objects(**options))
    )
    assert columns == plain
    if isinstance(method, Packets):
        scenario = Scenario("x", links_from(*ENDS, **{**ONE, **options}), flows)
        oracle = plain_simulate(scenario, method, duration=0.3)
        assert np.array_equal(columns.delivered, oracle.delivered)


@pytest.mark.parametrize(
    ("base", "name", "owner"),
    [
        (dfc.PathElement, "start", "PathElement"),
        (dfc.PathElement, "numbers", "PathElement"),
        (dfc.PathElement, "changes_flow", "PathElement"),
        (dfc.PathElement, "draws", "PathElement"),
        (dfc.QueueManager, "ranked", "Discipline"),
        (dfc.QueueManager, "pauses", "Discipline"),
        (dfc.QueueManager, "summary", "Described"),
        (dfc.SwitchProgram, "diffuses", "Discipline"),
        (dfc.LinkLaw, "numbers", "LinkLaw"),
        (dfc.ReceiverAgent, "numbers", "ReceiverAgent"),
        (dfc.ArrivalProcess, "next", "ArrivalProcess"),
        (dfc.ArrivalProcess, "params", "ArrivalProcess"),
    ],
)
def test_parameters_that_hide_attributes_of_their_base_are_refused(base: Any, name: str, owner: str) -> None:
    """The beginning of an outage as `start` hid the function that returns the first state; others changed the class."""
    message = f"^Own: a parameter cannot be called '{name}', an attribute of {owner} has that name$"
    with pytest.raises(TypeError, match=message):
        type("Own", (base,), {"__annotations__": {name: "float"}, name: 3.0, "__module__": __name__})
    type("Own", (base,), {"__annotations__": {"begin": "float", "text": "ClassVar[str]"}, "begin": 3.0, "text": ""})


# Packets that leave a queue.


def test_a_packet_is_dropped_when_it_would_leave_too_late() -> None:
    """Of 31 packets at one time over 1 packet/ms the k-th would wait k ms; all that would wait longer than 10 ms are lost.

    A packet that is lost takes no time: what comes 12 ms after the first packet finds an idle link.
    """
    links = [Link("a", "s", 1e9, 1e-6, 100), Link("s", "b", 1e3, 1e-6, 100)]
    flows = [Flow("f", ("a", "s", "b"), Replay([0.0] * 31)), Flow("late", ("a", "s", "b"), Replay([0.012]))]
    limit = MaxTransitDelay("s->b", ms(10.5))
    run = simulate(Scenario("old", links, flows, duration=0.1, elements=[limit]), Packets())
    drops = run.drops().to_pandas()
    assert drops[["flow", "cause", "packets"]].to_numpy().tolist() == [["f", "transit delay", 20.0]]
    assert run.delivered[:, -1].tolist() == [11.0, 1.0]
    assert run.imbalance.max() == 0.0


@dataclass(frozen=True)
class Waits(PathElement):
    """Counts packets on both sides of a queue."""

    @extends(PathElement.State)
    class State(NamedTuple):
        """Packets that came and left, and their waiting time, s."""

        came: float = 0.0
        left: float = 0.0
        waited: float = 0.0

    counts = ("came", "left", "waited")

    @staticmethod
    def on_packet(s: Any, q: Any, e: Any) -> Any:
        """Count the packet; it has not waited."""
        return s._replace(came=s.came + 1.0, waited=s.waited + e.waited)

    @staticmethod
    def on_leaving(s: Any, q: Any, e: Any) -> Any:
        """Count the packet, and its time in the queue."""
        return s._replace(left=s.left + 1.0, waited=s.waited + e.waited)


def test_an_element_may_act_on_both_sides_of_a_queue() -> None:
    """Ten packets at once over 1 packet/ms wait 0 + 1 + ... + 9 ms."""
    links = [Link("a", "s", 1e9, 1e-6, 100), Link("s", "b", 1e3, 1e-6, 100)]
    flow = Flow("f", ("a", "s", "b"), Replay([0.0] * 10))
    run = simulate(Scenario("both", links, [flow], duration=0.1, elements=[Waits("s->b")]), Packets())
    assert run.element_counts().value.values.tolist() == pytest.approx([10.0, 10.0, 0.045], abs=1e-6)


def test_packets_that_leave_are_neither_held_nor_copied() -> None:
    with pytest.raises(TypeError, match="until, copies of State of Held: must not be there with on_leaving"):

        class Held(PathElement):
            @extends(PathElement.State)
            class State(NamedTuple):
                until: float = 0.0

            @staticmethod
            def on_leaving(s: Any, q: Any, e: Any) -> Any:
                return s


@pytest.mark.parametrize("rule", [DFC(), BFC(), Credits(classes=(0,))], ids=str)
def test_what_counts_packets_that_leave_has_no_on_leaving(rule: Any) -> None:
    links = [LINKS[0], replace(LINKS[1], discipline=rule)]
    scenario = replace(path_of(source=NewReno()), links=links, elements=(MaxTransitDelay("b->c", 0.01),))
    with pytest.raises(ValueError, match=r"link of MaxTransitDelay = 'b->c' with .*: counts what leaves its queue"):
        simulate(scenario, Packets())
