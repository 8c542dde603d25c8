"""Sources of arrivals and ends of flows at packet level: both engines, laws of queues, traces, errors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import dfcmodel as dfc
from dfcmodel import simulate
from responsefn import CUBIC, DCQCN, BBRv1, NewReno, Reno
from tests.oracles.engines import ENGINES, NAMES, equal_records, plan_scenario


@dataclass(frozen=True)
class Trains(dfc.ArrivalProcess):
    """A user's source with memory: trains of packets that grow, with random gaps, and that ends."""

    gap: float = 2e-3
    longest: float = 300.0
    trains: float = 40.0

    class State(NamedTuple):
        """With the number of trains so far, and what was seen, so that every field of an arrival counts."""

        wait: float = 0.0
        packets: float = 1.0
        count: float = 0.0
        seen: float = 0.0

    @staticmethod
    def next(s: Any, q: Any, e: Any) -> Any:
        """Draw the next train."""
        seen = s.seen + e.time * e.packets + e.random2
        if s.count >= q.trains:
            return s._replace(wait=math.inf)
        wait = 0.0 if s.count == 0.0 else q.gap * (0.5 + e.random) * (1.0 + 0.1 * math.sin(seen))
        packets = float(math.floor(1.0 + q.longest * e.random2**3))
        return s._replace(wait=wait, packets=packets, count=s.count + 1.0, seen=seen)


@dataclass(frozen=True)
class Wrong(dfc.ArrivalProcess):
    """A source whose third arrival is as given."""

    wait: float = 0.1
    packets: float = 1.0

    class State(NamedTuple):
        """With the number of arrivals so far."""

        wait: float = 0.0
        packets: float = 1.0
        count: float = 0.0

    @staticmethod
    def next(s: Any, q: Any, e: Any) -> Any:
        """Return the given one after two others."""
        if s.count < 2.0:
            return s._replace(wait=0.1, packets=1.0, count=s.count + 1.0)
        return s._replace(wait=q.wait, packets=q.packets)


def both_engines(scenario: dfc.Scenario, seed: int = 1, jitter: float = 0.0) -> Any:
    """Return the records of the compiled engine, which those of the reference engine equal."""
    plan = plan_scenario(
        scenario, dfc.Packets(seed=seed), duration=scenario.duration, sample=scenario.duration / 10,
        packet_jitter=jitter,
    )  # fmt: skip
    found = equal_records(plan)
    assert (found.imbalance == 0.0).all()
    return found


def random_network(seed: int) -> dfc.Scenario:
    """Return a chain or a star with every kind of source, host and discipline, of which half the flows stop."""
    rng = np.random.default_rng([4343, seed])
    rate = float(10 ** rng.uniform(2.5, 4.0))
    rule = [dfc.FIFO(), dfc.Fair(), dfc.PFC((0,), xoff=20.0, xon=10.0)][rng.integers(3)]
    ends = [("a", "s"), ("b", "s"), ("s", "t"), ("t", "c"), ("t", "d")]
    room = 5000.0 if isinstance(rule, dfc.PFC) else float(rng.integers(4, 60))
    links = [
        dfc.Link(*way, rate * rng.uniform(0.6, 1.4), rng.uniform(0.5, 20.0) / rate, room, rule)
        for way in [*ends, *((b, a) for a, b in ends)]
    ]
    flows = []
    for f in range(int(rng.integers(2, 9))):
        start = float(rng.uniform(0.0, 100.0)) / rate
        source = _source(rng, rate)
        sized = rng.integers(3) == 0
        idle = float(rng.uniform(5.0, 50.0)) / rate if sized and isinstance(source, NewReno) else math.inf
        flows.append(
            dfc.Flow(
                f"{f}",
                (["a", "b"][rng.integers(2)], "s", "t", ["c", "d"][rng.integers(2)])[
                    :: [1, -1][rng.integers(2)]
                ],
                source,
                max_window=100.0,
                start=start,
                stop=start + float(rng.uniform(20.0, 800.0)) / rate if rng.integers(2) else math.inf,
                size=float(rng.integers(10, 200)) if sized else math.inf,
                host=[None, "nic", "direct", "unshaped"][rng.integers(4)],
                idle=idle,
                random_idle=bool(rng.integers(2)) and idle < math.inf,
            )
        )  # fmt: skip
    return dfc.Scenario(f"network {seed}", links, flows, duration=1000.0 / rate, min_rto=50.0 / rate)


def _source(rng: np.random.Generator, rate: float) -> object:
    times = np.sort(rng.uniform(0.0, 600.0, 40)).round(-1) / rate  # some of them equal
    return [
        dfc.Poisson(rate * rng.uniform(0.1, 1.0)),
        dfc.HeavyTailed(rate * rng.uniform(0.1, 0.6), float(rng.uniform(1.5, 20.0)), 1.5),
        Trains(gap=20.0 / rate, longest=float(rng.integers(1, 200))),
        dfc.Replay(times.tolist(), rng.integers(1, 80, 40).tolist()),
        dfc.CBR(rate * rng.uniform(0.2, 1.0)),
        dfc.OnOff(rate, 50.0 / rate, 30.0 / rate, random=True),
        NewReno(),
        Reno(),
        CUBIC(),
        BBRv1(),
        DCQCN(),
    ][rng.integers(11)]


@pytest.mark.parametrize("jitter", [0.0, 1e-4])
@pytest.mark.parametrize("seed", [pytest.param(n, marks=[pytest.mark.slow] if n >= 16 else []) for n in range(100)])
def test_both_engines_agree_with_every_kind_of_source(seed: int, jitter: float) -> None:
    both_engines(random_network(seed), seed, jitter)


def counted(source: object, seconds: int, seed: int) -> np.ndarray:
    """Return the packets of a source in each second, at a link that is never busy."""
    links = [dfc.Link(1, 2, 1e7, 1e-6, 10_000)]
    scenario = dfc.Scenario("counts", links, [dfc.Flow("a", (1, 2), source)], duration=float(seconds))  # type: ignore[arg-type]
    run = simulate(scenario, method=dfc.Packets(seed=seed), sample=1.0)
    return np.diff(run.delivered[0], prepend=0.0)


def test_poisson_counts_have_the_mean_and_the_dispersion_of_the_law() -> None:
    rate, n = 200.0, 4000
    counts = counted(dfc.Poisson(rate), n, 5)
    assert abs(counts.mean() - rate) <= 4.0 * math.sqrt(rate / n)
    # the index of dispersion of n Poisson counts has a variance of 2 / (n - 1), up to 1 / (n rate)
    assert abs(counts.var(ddof=1) / counts.mean() - 1.0) <= 4.0 * math.sqrt(2.0 / (n - 1))


def test_heavy_tails_have_their_mean_rate() -> None:
    # a tail of 3.5 has a variance, and its estimate converges
    rate, mean, n = 500.0, 4.0, 2000
    counts = counted(dfc.HeavyTailed(rate, mean, 3.5), n, 6)
    assert abs(counts.mean() - rate) <= 4.0 * counts.std(ddof=1) / math.sqrt(n)


def test_the_wait_of_m_d_1_is_that_of_pollaczek_and_khinchine() -> None:
    rate, load, batches = 1000.0, 0.7, 200
    scenario = dfc.Scenario(
        "M/D/1", [dfc.Link(1, 2, rate, 1e-3, 1e6)], [dfc.Flow("a", (1, 2), dfc.Poisson(load * rate))], duration=400.0
    )  # fmt: skip
    trace = dfc.trace_packets(scenario, method=dfc.Packets(seed=8), links=["1->2"])
    frame = trace.to_pandas()
    waits = (frame["sent"] - frame["arrived"]).to_numpy()
    waits = waits[len(waits) % batches :]  # whole batches
    means = waits.reshape(batches, -1).mean(axis=1)  # of about 1400 packets, over which the queue forgets
    error = means.std(ddof=1) / math.sqrt(batches)
    expected = load / (2.0 * (1.0 - load) * rate)
    assert error < 0.03 * expected  # so that the next line says something
    assert abs(means.mean() - expected) <= 4.0 * error


@pytest.mark.parametrize("host", ["direct", "nic"])
def test_a_trace_is_replayed_to_the_packet(host: str) -> None:
    times, packets = (0.0, 0.25, 0.25, 0.6), (2, 100, 30, 1)
    links = [dfc.Link(1, 2, 1000.0, 1e-3, 1000), dfc.Link(2, 3, 1000.0, 1e-3, 1000)]
    flow = dfc.Flow("a", (1, 2, 3), dfc.Replay(times, packets), start=0.125, host=host)
    scenario = dfc.Scenario("trace", links, [flow], duration=1.0)
    run = both_engines(scenario)
    assert run.total[0] == 133
    # the last packet is alone: it takes two transmissions and two delays
    assert run.finished[0] == pytest.approx(0.125 + 0.6 + 2 * (1e-3 + 1e-3), rel=1e-12)
    assert run.peak[0] == 129  # of 130 packets that come together one is sent at once


def test_a_nic_keeps_what_a_burst_brings() -> None:
    links = dfc.chain(3, rate=1000.0, delay=1e-3, buffer=5)
    for host, kept in (("nic", 500.0), ("direct", 6.0)):
        scenario = dfc.Scenario("nic", links, [dfc.Flow("a", (1, 2, 3), dfc.Replay((0.0,), 500), host=host)])
        run = simulate(scenario, method=dfc.Packets(), duration=1.0)
        assert run.delivered[0, -1] == kept


@pytest.mark.parametrize("source", [dfc.CBR(100.0), dfc.OnOff(100.0, 10.0, 1.0), Trains(), dfc.Poisson(100.0)])
def test_a_source_stops_at_its_time(source: object) -> None:
    links = [dfc.Link(1, 2, 1e5, 1e-3, 1e4)]
    flow = dfc.Flow("a", (1, 2), source, start=0.005, stop=0.05)  # type: ignore[arg-type]
    scenario = dfc.Scenario("stop", links, [flow], duration=0.2)
    stopped = dfc.trace_packets(scenario, links="1->2").to_pandas()
    endless = dfc.trace_packets(
        dfc.Scenario("go", links, [dfc.Flow("a", (1, 2), source, start=0.005)], duration=0.2),  # type: ignore[arg-type]
        links="1->2",
    ).to_pandas()
    came = endless["arrived"].to_numpy()
    assert came.max() > 0.05  # the stop cuts something
    np.testing.assert_array_equal(stopped["arrived"], came[came < 0.05])


def test_a_packet_that_is_due_at_the_stop_is_not_sent() -> None:
    scenario = dfc.Scenario(
        "tie",
        [dfc.Link(1, 2, 1000.0, 0.25, 10)],
        [dfc.Flow("a", (1, 2), dfc.CBR(4.0), stop=0.5)],
        duration=2.0,
    )
    run = both_engines(scenario)  # at 0 and 0.25 s; times are exact
    assert run.total[0] == 2
    assert run.finished[0] == 0.25 + 1e-3 + 0.25


@pytest.mark.parametrize("source", [NewReno(), Reno(), CUBIC(), BBRv1(), DCQCN()])
def test_what_is_lost_before_the_stop_is_repaired_after_it(source: object) -> None:
    links = [dfc.Link(1, 2, 2000.0, 5e-3, 30), dfc.Link(2, 3, 1000.0, 5e-3, 10)]
    flow = dfc.Flow("a", (1, 2, 3), source, stop=0.5, host="nic")  # type: ignore[arg-type]
    scenario = dfc.Scenario("repair", links, [flow], duration=20.0)
    method = dfc.Packets(seed=2, loss={"2->3": 0.05})
    plan = plan_scenario(scenario, method, duration=20.0, sample=0.01)
    found = equal_records(plan)
    assert found.lost[:-1].sum() > 0
    assert 0.5 < found.finished[0] < 20.0
    sent = simulate(scenario, method, duration=0.5)
    assert found.total[0] >= sent.delivered[0, -1]
    assert found.total[0] == found.delivered.sum()
    after = found.delivered[int(found.finished[0] * 100) + 1 :]
    assert after.sum() == 0


def test_a_flow_that_has_delivered_all_finishes_at_its_stop() -> None:
    flow = dfc.Flow("a", (1, 2), NewReno(), size=5, idle=0.4, stop=0.7)
    links = [dfc.Link(1, 2, 1000.0, 1e-3, 20)]
    run = both_engines(dfc.Scenario("transfers", links, [flow], duration=3.0))
    assert run.total[0] == 10  # two transfers begin before it
    assert run.finished[0] < 0.1  # as without stop: the first transfer
    quiet = dfc.Flow("a", (1, 2), dfc.Replay((0.0,)), stop=0.7)
    run = both_engines(dfc.Scenario("quiet", links, [quiet], duration=3.0))
    assert run.finished[0] == pytest.approx(2e-3)  # the trace has ended before
    slow = dfc.Flow("a", (1, 2), dfc.CBR(2.0), stop=0.7)
    run = both_engines(dfc.Scenario("slow", links, [slow], duration=3.0))
    assert run.finished[0] == 0.7  # what was sent at 0.5 s has arrived


def test_a_packet_that_a_port_passes_after_the_stop_does_not_finish_the_flow_before() -> None:
    """Another flow lets the engine process the last link later than the stop, which follows the last delivery."""
    links = [
        dfc.Link("s1", "h1", 177008.0, 5.14e-5, 20000.0),
        dfc.Link("h3", "s1", 61486.0, 8.04e-4, 20000.0),
        dfc.Link("h6", "s0", 48812.0, 5.66e-4, 20000.0),
        dfc.Link("s0", "s1", 103855.0, 9.37e-4, 20000.0),
    ]
    trace = dfc.Replay((1.36e-4, 4.88e-4, 1.87e-3), (4, 9, 12))
    for stop in np.linspace(1.79e-3, 1.83e-3, 9).tolist():
        flows = [
            dfc.Flow("a", ("h3", "s1", "h1"), trace, start=3.01e-4, stop=stop),
            dfc.Flow("b", ("h6", "s0", "s1", "h1"), DCQCN(), size=161, start=1.63e-4),
        ]
        run = both_engines(dfc.Scenario("late port", links, flows, duration=7.9e-3, packet_size=4096.0))
        assert run.finished[0] >= stop


def test_a_start_that_jitter_puts_after_the_stop_sends_nothing() -> None:
    flow = dfc.Flow("a", (1, 2), dfc.CBR(1000.0), stop=1e-6)
    scenario = dfc.Scenario("late", [dfc.Link(1, 2, 1000.0, 1e-3, 20)], [flow])
    run = simulate(scenario, method=dfc.Packets(), duration=1.0, jitter=0.5)
    assert run.started[0] > 1e-6
    assert run.delivered[0, -1] == 0.0
    assert run.finished[0] == run.started[0]


@pytest.mark.parametrize("simulate", ENGINES, ids=NAMES)
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"wait": -0.1}, "wait = -0.1: must be above 0"),
        ({"wait": 0.0}, "wait = 0: must be above 0"),
        ({"wait": math.nan}, "wait = nan: must be above 0"),
        ({"packets": 0.0}, "packets = 0: must be a whole number"),
        ({"packets": 1.5}, "packets = 1.5: must be a whole number"),
        ({"packets": math.nan}, "packets = nan: must be a whole number"),
        ({"packets": math.inf}, "packets = inf: must be a whole number"),
    ],
)
def test_a_wrong_arrival_stops_the_run(given: dict[str, float], message: str, simulate: Any) -> None:
    scenario = dfc.Scenario("x", dfc.chain(2, rate=1e3, delay=1e-3, buffer=9), [dfc.Flow("a", (1, 2), Wrong(**given))])
    full = f"x, t = 0.2 s: the arrivals of flow 'a' have {message}"
    with pytest.raises(ArithmeticError, match=full):
        simulate(scenario, method=dfc.Packets(), duration=1.0)


def test_no_further_arrival_ends_a_flow() -> None:
    scenario = dfc.Scenario(
        "x", dfc.chain(2, rate=1e3, delay=1e-3, buffer=9), [dfc.Flow("a", (1, 2), Wrong(wait=math.inf, packets=0.0))], duration=1.0
    )  # fmt: skip
    run = both_engines(scenario)
    assert run.total[0] == 2
    assert run.finished[0] == pytest.approx(0.202)


def test_a_state_in_another_order_is_refused() -> None:
    @dataclass(frozen=True)
    class Swapped(dfc.ArrivalProcess):
        class State(NamedTuple):
            packets: float = 1.0
            wait: float = 1.0

        @staticmethod
        def next(s: Any, q: Any, e: Any) -> Any:
            return s

    scenario = dfc.Scenario("x", dfc.chain(2, rate=1e3, delay=1e-3, buffer=9), [dfc.Flow("a", (1, 2), Swapped())])
    with pytest.raises(ValueError, match="wait, packets must come first in its State"):
        simulate(scenario, method=dfc.Packets(), duration=1.0)
