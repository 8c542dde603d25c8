"""Arrivals over time, times of handshakes, buffers in bytes, and the delay that sets the step of the fluid."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import zeta

from dfcmodel import (
    CBR,
    DFC,
    PFC,
    RED,
    ByteBuffer,
    Fair,
    Flow,
    Fluid,
    HeavyTailed,
    Link,
    OnOff,
    Packets,
    Pause,
    Poisson,
    Replay,
    Scenario,
    ScenarioFileError,
    Twin,
    chain,
    choose_level,
    dumbbell,
    parking_lot,
    scenario_schema,
    shrink_packets,
    simulate,
    takano2006,
    to_ns2,
    to_ns3,
)
from responsefn import CUBIC, DCQCN, NewReno, Reno
from tests.dfcmodel.scenario_texts import read_scenario, write_scenario
from tests.oracles.engines import advance, compile_scenario
from tests.oracles.fluid import runs as reference

# Times of handshakes without queues: the fluid and the twin start that much later, as the packet level does.

LINKS_HANDSHAKES = chain(3, rate=1000.0, delay=0.01, buffer=200)


def network(host: str, rule: object) -> Scenario:
    """Return a flow with a handshake over two links."""
    flow = Flow("one", (1, 2, 3), rule, max_window=64.0, start=0.1, host=host, handshake=True)
    return Scenario("one", LINKS_HANDSHAKES, [flow], duration=0.4)


@pytest.mark.parametrize("rule", [NewReno(), CUBIC()])
@pytest.mark.parametrize("host", ["direct", "unshaped"])
def test_both_levels_start_to_deliver_at_the_same_time(host: str, rule: object) -> None:
    """Within a step of the fluid, 1 ms, and a sample, 1 ms: half of the first packet is delivered."""
    scenario = network(host, rule)
    begin = []
    for method in (Packets(seed=1), Fluid(steps_per_delay=10)):
        run = simulate(scenario, method, sample=1e-3)
        begin.append(run.time[np.argmax(run.delivered[0] > 0.5)])
    assert begin[0] == pytest.approx(begin[1], abs=2.1e-3)
    none = replace(scenario, flows=(replace(scenario.flows[0], handshake=False),))
    run = simulate(none, Packets(seed=1), sample=1e-3)
    later = begin[0] - run.time[np.argmax(run.delivered[0] > 0.5)]
    assert later == pytest.approx(scenario.handshake_times()[0], abs=1.1e-3)


def test_levels_without_packets_refuse_data_in_the_syn(refused) -> None:
    scenario = network("direct", Reno())
    flow = replace(scenario.flows[0], handshake="data")
    refused(
        ["handshake", "'data'", "Packets()"],
        lambda: simulate(replace(scenario, flows=(flow,)), Fluid()),
    )


# Buffers in bytes and cells: units, what fits, and what is refused.


def scenario_of_buffers(buffer: float | ByteBuffer, discipline=None, size: float = 1500.0) -> Scenario:
    rules = {} if discipline is None else {"discipline": discipline}
    links = (Link("a", "b", 1e4, 1e-3, 1e5), Link("b", "c", 1e3, 1e-3, buffer, **rules))
    return Scenario("bytes", links, [Flow("x", "abc", NewReno())], duration=0.5, packet_size=size)


def test_cells_are_whole() -> None:
    """1500 bytes are 19 cells of 80; of 1000 bytes 12 cells are used."""
    cells = ByteBuffer("1 kB", cell="80 B")
    assert (cells.room, cells.taken(1500.0), cells.taken(80.0), cells.taken(80.5)) == (
        960,
        1520.0,
        80.0,
        160.0,
    )
    assert ByteBuffer("15.2 kB", cell=80).packets(1500.0) == 10.0
    assert ByteBuffer("3 MB").packets(1500.0) == 2000.0
    assert ByteBuffer(1500.0) == ByteBuffer("1.5 kB")


def test_a_buffer_holds_a_packet_and_what_exceeds_a_threshold() -> None:
    with pytest.raises(ValueError, match=r"buffer of link 'b->c' = .*must hold a packet, 1500 B"):
        scenario_of_buffers(ByteBuffer(1499))
    with pytest.raises(ValueError, match="high of link 'b->c' = 20"):
        scenario_of_buffers(ByteBuffer("30 kB"), Pause(20.0, 10.0))
    message = (
        r"high of link 'b->c' = '60 kB' \(40 in packets of 1500 bytes\): .* < 20; no more fits into its buffer, 30000 B"
    )
    with pytest.raises(ValueError, match=message):
        scenario_of_buffers(ByteBuffer("30 kB"), Pause("60 kB", "30 kB"))
    with pytest.raises(ValueError, match=r"buffer of link 'b->c' = [0-9]+ B: PFC reserves"):
        scenario_of_buffers(ByteBuffer("30 kB"), PFC((0,), 20.0, 10.0))
    assert Link("a", "b", 1.0, 1.0, "30 kB").buffer == ByteBuffer("30 kB")  # type: ignore[arg-type]


def test_the_fluid_has_as_many_data_packets() -> None:
    """As bits: 24,000 bytes are 20 packets of 1200."""
    runs = [simulate(scenario_of_buffers(buffer, size=1200.0), Fluid()) for buffer in (20.0, ByteBuffer("24 kB"))]
    assert (runs[0].delivered == runs[1].delivered).all()
    assert runs[0].lost.sum() == runs[1].lost.sum() > 0.0


def test_bytes_stay_when_packets_become_smaller() -> None:
    links = (Link("a", "b", 1e3, 1e-3, ByteBuffer("24 kB")),)
    one = Scenario("one", links, [Flow("x", "ab", CBR(2e3))], packet_size=1200.0)
    small = shrink_packets(one, 4)
    assert small.links[0].buffer == ByteBuffer("24 kB")
    assert (one.buffer_of(0), small.buffer_of(0)) == (20.0, 80.0)
    assert replace(one, packet_size=600.0).buffer_of(0) == 40.0


# Which delays set the time step of the fluid, and what a longer step leaves as it was.

PART_OF_TRIP = 64
"""A time step is at most a quarter of this part of a round trip."""


def delay_for_step(scenario: Scenario) -> float:
    """Return the delay of which the step of the fluid is a quarter, s."""
    return 4.0 * Fluid().step_of(scenario)


ENDS = {"access_rate": 1e5, "access_delay": 1e-5, "buffer": 200.0}


def pairs(*sources, host="direct", window=1e4, size=np.inf, **bottleneck) -> Scenario:
    """Flows over a bottleneck of 20 ms, with access links of 10 us."""
    links = dumbbell(len(sources), rate=1e4, delay=0.02, **(ENDS | bottleneck))
    flows = [
        Flow(f"{n}", (f"s{n}", "left", "right", f"d{n}"), source, window, 0.013 * n, size, host=host)
        for n, source in enumerate(sources, 1)
    ]
    return Scenario("short access links", links, flows, duration=1.0)


def lot() -> Scenario:
    """A flow over three links of 5 ms, and one over each."""
    links = parking_lot(3, rate=1e4, delay=5e-3, **ENDS)
    flows = [Flow("long", ("s1", 1, 2, 3, 4, "d4"), NewReno())]
    flows += [Flow(f"{n}", (f"s{n}", n, n + 1, f"d{n + 1}"), NewReno(), start=0.1 * n) for n in (1, 2, 3)]
    return Scenario("parking lot", links, flows, duration=1.0)


@pytest.mark.parametrize("name", ["1", "3", "5", "4S", "4L"])
@pytest.mark.parametrize("dfc", [True, False])
def test_links_of_equal_delays_keep_it(name: str, dfc: bool) -> None:
    assert delay_for_step(takano2006(name, dfc=dfc)) == 1e-4


def test_short_access_links_do_not_set_the_step() -> None:
    trip = 2 * (0.02 + 2e-5)
    assert delay_for_step(pairs(NewReno())) == pytest.approx(trip / PART_OF_TRIP)
    assert delay_for_step(lot()) == pytest.approx(2 * (5e-3 + 2e-5) / PART_OF_TRIP)
    short = Fluid(contracted=False).step_of(pairs(NewReno()))
    assert short == 2.5e-6
    assert simulate(pairs(NewReno()), duration=0.01, level="fluid").step == pytest.approx(trip / PART_OF_TRIP / 4)


def test_short_links_in_the_middle_of_paths_and_small_buffers_do() -> None:
    links = [*chain(4, rate=1e4, delay=0.02, buffer=100)]
    links[1] = replace(links[1], delay=1e-4)
    flows = [Flow("a", (1, 2, 3, 4), NewReno())]
    assert delay_for_step(Scenario("patch", links, flows)) == 1e-4
    assert delay_for_step(pairs(NewReno(), buffer=2.0)) == pytest.approx(2e-4)


@pytest.mark.parametrize("discipline", [Pause(high=50, low=25), RED(), PFC(xoff=20, xon=10, headroom=10), Fair()])
def test_links_that_feed_a_discipline_other_than_fifo_count(discipline) -> None:
    assert delay_for_step(pairs(NewReno(), discipline=discipline)) == 1e-5


def test_links_with_feedback_count() -> None:
    links = chain(3, rate=1e4, delay=0.02, buffer=100, discipline=DFC())
    links = (replace(links[0], delay=1e-4), links[1])
    assert delay_for_step(Scenario("dfc", links, [Flow("a", (1, 2, 3), CBR(1e3))])) == 1e-4


@pytest.mark.parametrize("host", ["direct", "unshaped"])
def test_round_trips_are_exact_where_links_are_shorter_than_a_step(host: str) -> None:
    run = simulate(pairs(NewReno(), NewReno(), host=host, window=20.0), sample=0.01, level="fluid")
    access = 0.0 if host == "direct" else 1e-5
    packets = 1 / 1e5 * (1 if host == "direct" else 2) + 1 / 1e4 + 1 / 1e5
    trip = 2 * (0.02 + 2e-5 + access) + packets
    assert np.nanmin(run.round_trip, axis=1) == pytest.approx(trip, abs=run.step)
    begin = int(0.5 / 0.01)
    delivered = run.delivered[:, -1] - run.delivered[:, begin - 1]
    assert delivered == pytest.approx(0.5 * 20.0 / trip, abs=20.0)  # windows arrive at once
    assert run.imbalance.max() < 1e-12
    assert run.peak_queue.max() < 21.0


@pytest.mark.parametrize("scenario", [pairs(NewReno(), CBR(2e3)), lot()], ids=["pairs", "lot"])
def test_the_engine_follows_the_reference_where_lags_are_below_a_step(scenario: Scenario) -> None:
    flows = tuple(replace(flow, max_window=8.0) for flow in scenario.flows)
    plans = [compile_scenario(replace(scenario, flows=flows), Fluid(2), np.random.default_rng(1)) for _ in range(2)]
    assert 0 in plans[0].network.queues["lag"][:-1]
    steps = round(0.12 / plans[0].step)
    ours = advance(plans[0], steps, 10)
    theirs = reference.advance(plans[1], steps, 10)
    assert ours.queued == pytest.approx(theirs.queued, abs=1e-4)
    assert ours.flows[:, :, :4] == pytest.approx(theirs.flows[:, :, :4], abs=1e-4)


def test_links_as_fast_as_all_that_feed_them_have_no_queues() -> None:
    """What comes over two links of half the rate: with and without the queue, the same."""
    links = [Link("a", "c", 500.0, 0.01, 50), Link("b", "c", 500.0, 0.012, 50)]
    links += [Link("c", "d", 1000.0, 0.01, 50), Link("d", "e", 800.0, 0.01, 50)]
    flows = [Flow("1", "acde", CBR(600.0)), Flow("2", "bcde", CBR(300.0))]
    fast = Scenario("merged", links, flows, duration=1.0)
    slow = replace(fast, links=(*links[:2], replace(links[2], rate=999.9), links[3]))
    plan = compile_scenario(fast, Fluid(), np.random.default_rng(0))
    assert 2 not in plan.order
    runs = [simulate(each, sample=0.1, level="fluid") for each in (fast, slow)]
    assert runs[0].delivered == pytest.approx(runs[1].delivered, abs=0.1)
    assert runs[0].queued == pytest.approx(runs[1].queued, abs=0.1)


# Arrival processes: parameters, laws of what they draw, traces, and what they refuse.


LINKS_OF_ARRIVALS = chain(3, rate=1000.0, delay=1e-3, buffer=50)


def one(source: object, **given: object) -> Scenario:
    """Return a flow with a source over two links."""
    flow = Flow("a", (1, 2, 3), source, **given)  # type: ignore[arg-type]
    return Scenario("one", LINKS_OF_ARRIVALS, [flow], duration=1.0)


@pytest.mark.parametrize("tail", [1.2, 1.5, 2.5])
@pytest.mark.parametrize("mean", [1.01, 3.0, 500.0])
def test_the_scale_of_bursts_gives_their_mean(mean: float, tail: float) -> None:
    scale = HeavyTailed(100.0, mean, tail).scale
    # sum over n of P(N > n) to n = 10^5, and the rest by Euler and Maclaurin: its error is below the next term, 1e-9
    n = np.arange(100_000)
    rest = scale / (tail - 1.0) * (1.0 + len(n) / scale) ** (1.0 - tail)
    half = 0.5 * (1.0 + len(n) / scale) ** -tail
    assert math.fsum((1.0 + n / scale) ** -tail) + rest + half == pytest.approx(mean, rel=1e-7)


def test_bursts_have_their_tail() -> None:
    source = HeavyTailed(100.0, 10.0, 1.5)
    draw = np.random.default_rng(1).random((5_000, 2))
    found = [
        source.next(
            source.State(),
            source.params,
            SimpleNamespace(time=0.0, packets=0.0, random=row[0], random2=row[1]),
        )
        for row in draw
    ]
    packets = np.array([each.packets for each in found])
    for n in (1, 5, 20, 100):
        part = (1.0 + n / source.scale) ** -1.5
        error = math.sqrt(part * (1.0 - part) / len(draw))
        assert abs((packets > n).mean() - part) <= 4.0 * error  # four standard errors
    waits = np.array([each.wait for each in found])
    assert abs(waits.mean() - 0.1) <= 4.0 * 0.1 / math.sqrt(len(draw))


def test_the_scale_is_known_where_zeta_is() -> None:
    mean = float(zeta(2.0))  # with c = 1 the sum is that of 1 / n^2
    assert HeavyTailed(1.0, mean, 2.0).scale == pytest.approx(1.0, rel=1e-9)


def test_a_trace_joins_equal_times() -> None:
    trace = Replay(np.array([0.0, 0.1, 0.1, 0.2]), [1, 2, 3, 4])
    assert trace.batches.tolist() == [[0.0, 1.0], [0.1, 5.0], [0.2, 4.0]]
    assert trace == Replay((0.0, 0.1, 0.1, 0.2), (1, 2, 3, 4))
    assert hash(trace) == hash(Replay((0.0, 0.1, 0.1, 0.2), (1, 2, 3, 4)))
    assert trace.mean_rate == pytest.approx(50.0)


@pytest.mark.parametrize("source", [Poisson(100.0), HeavyTailed(100.0, 5.0, 1.5), Replay((0.0,))])
def test_levels_without_single_packets_refuse_arrivals_by_name(source: object) -> None:
    with pytest.raises(ValueError, match=r"source of flow 'a' = .*arrival process is for packets"):
        simulate(one(source), method=Fluid())
    with pytest.raises(TypeError, match=r"source of flow 'a' = .*: must be CBR"):
        Twin(one(source))
    for export in (to_ns2, to_ns3):
        with pytest.raises(ValueError, match=r"source of flow 'a' = .*: must be"):
            export(one(source))
    assert type(choose_level(one(source)).method).__name__ == "Packets"


@pytest.mark.parametrize("source", [NewReno(), DCQCN()])
def test_the_fluid_refuses_a_stop_of_windows_and_rates(source: object) -> None:
    with pytest.raises(ValueError, match=r"stop of flow 'a' = 0.5: only CBR and OnOff stop"):
        simulate(one(source, stop=0.5), method=Fluid())


def test_other_programs_refuse_stops() -> None:
    with pytest.raises(ValueError, match=r"stop of flow 'a' = 0.5: cannot be exported to ns-2"):
        to_ns2(one(NewReno(), stop=0.5))
    with pytest.raises(ValueError, match=r"stop of flow 'a' = 0.5: must be inf for export to ns-3"):
        to_ns3(one(NewReno(), stop=0.5))
    with pytest.raises(ValueError, match=r"stop of flow 'a' = 0.5: must be inf, the twin"):
        Twin(one(CBR(100.0), stop=0.5))
    assert '$ns at 0.5 "$source(0) stop"' in to_ns2(one(CBR(100.0), stop=0.5))


@pytest.mark.parametrize("steps", [2, 5])
def test_the_fluid_stops_constant_rates(steps: int) -> None:
    sources = [CBR(300.0), OnOff(300.0, 0.2, 0.1)]
    flows = [Flow(f"{n}", (1, 2, 3), each, start=0.05, stop=0.4) for n, each in enumerate(sources)]
    run = simulate(
        Scenario("stop", LINKS_OF_ARRIVALS, flows, duration=1.0),
        method=Fluid(steps_per_delay=steps),
    )
    # on from 0.05 to 0.4 s, and from 0.05 to 0.25 and 0.35 to 0.4 s; amounts are multiples of 2^-26 packets
    np.testing.assert_allclose(run.delivered[:, -1], [105.0, 75.0], rtol=1e-5)


def test_an_on_period_that_ends_before_the_stop_is_the_last() -> None:
    run = simulate(one(OnOff(300.0, 0.2, 0.3), stop=0.4), method=Fluid())
    assert run.delivered[0, -1] == pytest.approx(60.0, rel=1e-5)


def test_scenario_files_hold_arrivals() -> None:
    flows = [
        Flow("p", (1, 2), Poisson(100.0), stop=3.0),
        Flow("h", (1, 2), HeavyTailed(100.0, 5.0, 1.5)),
        Flow("r", (1, 2), Replay((0.0, 0.5), (10, 20))),
        Flow("s", (1, 2), Replay((0.0, 0.5))),
    ]
    scenario = Scenario("file", LINKS_OF_ARRIVALS, flows)
    text = write_scenario(scenario)
    assert read_scenario(text) == scenario
    kinds = scenario_schema()["$defs"]["source"]["anyOf"][0]["enum"]
    assert {"Poisson", "HeavyTailed", "Replay"} <= set(kinds)
    with_units = text.replace("stop = 3.0", 'stop = "3 s"')
    assert with_units != text
    assert read_scenario(with_units) == scenario
    with pytest.raises(ScenarioFileError, match="tail"):
        read_scenario(text.replace("tail = 1.5", "tail = 0.5"))
