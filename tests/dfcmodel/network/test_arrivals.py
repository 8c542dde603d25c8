"""Arrival processes: parameters, laws of what they draw, traces, and what they refuse."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import zeta

from dfcmodel import (
    CBR,
    Flow,
    Fluid,
    HeavyTailed,
    OnOff,
    Poisson,
    Replay,
    Scenario,
    ScenarioFileError,
    Twin,
    chain,
    choose_level,
    scenario_schema,
    simulate,
    to_ns2,
    to_ns3,
)
from dfcmodel.network.arrivals import Arrival
from dfcmodel.network.offered_rates import equal_shares, offered_packets
from responsefn import DCQCN, NewReno
from tests.dfcmodel.scenario_texts import read_scenario, write_scenario

LINKS = chain(3, rate=1000.0, delay=1e-3, buffer=50)


def one(source: object, **given: object) -> Scenario:
    """Return a flow with a source over two links."""
    flow = Flow("a", (1, 2, 3), source, **given)  # type: ignore[arg-type]
    return Scenario("one", LINKS, [flow], duration=1.0)


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
    draw = np.random.default_rng(1).random((20_000, 2))
    found = [source.next(source.State(), source.params, Arrival(0.0, 0.0, *row)) for row in draw]
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


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Poisson(0.0), r"rate = 0: must be"),
        (lambda: HeavyTailed(1.0, 1.0, 1.5), r"mean_burst = 1: must be"),
        (lambda: HeavyTailed(1.0, 2.0, 1.0), r"tail = 1: must be"),
        (lambda: Replay(()), r"times of shape \(0,\): must be a list of at least one time"),
        (lambda: Replay((0.0, 2.0, 1.0)), r"times\[2\] = 1: must be finite and at least 2"),
        (lambda: Replay((-1.0,)), r"times\[0\] = -1: must be finite and at least 0"),
        (lambda: Replay((0.0, math.nan)), r"times\[1\] = nan"),
        (lambda: Replay((0.0, math.inf)), r"times\[1\] = inf"),
        (lambda: Replay((0.0, 1.0), (1,)), r"packets of shape \(1,\): must be one for each of 2 times"),
        (lambda: Replay((0.0, 1.0), (1, 0)), r"packets\[1\] = 0: must be a whole number"),
        (lambda: Replay((0.0,), 1.5), r"packets = 1.5: must be a whole number"),
        (lambda: Replay((None, {})), r"times and packets of a trace: must be numbers"),
        (lambda: Replay((0.0,), packets=10**400), r"of a trace: must be numbers in double precision"),
        (lambda: one(Poisson(1.0), start=1.0, stop=1.0), r"stop of flow 'a' = 1: must be"),
        (lambda: one(Poisson(1.0), stop=math.nan), r"stop of flow 'a' = nan: must be"),
    ],
)  # fmt: skip
def test_parameters_are_checked(make: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()  # type: ignore[operator]


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
    with pytest.raises(ValueError, match=r"stop of flow 'a' = 0.5: ns-2 ends such a flow"):
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
        Scenario("stop", LINKS, flows, duration=1.0), method=Fluid(steps_per_delay=steps)
    )
    # on from 0.05 to 0.4 s, and from 0.05 to 0.25 and 0.35 to 0.4 s; amounts are multiples of 2^-26 packets
    np.testing.assert_allclose(run.delivered[:, -1], [105.0, 75.0], rtol=1e-5)


def test_an_on_period_that_ends_before_the_stop_is_the_last() -> None:
    run = simulate(one(OnOff(300.0, 0.2, 0.3), stop=0.4), method=Fluid())
    assert run.delivered[0, -1] == pytest.approx(60.0, rel=1e-5)


def test_offered_packets_end_with_the_stop() -> None:
    flows = [
        Flow("poisson", (1, 2, 3), Poisson(100.0), start=0.5, stop=2.5),
        Flow("trace", (1, 2, 3), Replay((0.0, 0.5), (10, 20))),
    ]
    scenario = Scenario("offered", LINKS, flows)
    assert equal_shares(scenario) == [100.0, 60.0]
    at_once = Scenario("at once", LINKS, [Flow("a", (1, 2, 3), Replay((0.0,), 7))])
    assert offered_packets(at_once, 10.0) == [7.0]
    assert offered_packets(scenario, 10.0) == [200.0, 30.0]


def test_scenario_files_hold_arrivals() -> None:
    flows = [
        Flow("p", (1, 2), Poisson(100.0), stop=3.0),
        Flow("h", (1, 2), HeavyTailed(100.0, 5.0, 1.5)),
        Flow("r", (1, 2), Replay((0.0, 0.5), (10, 20))),
        Flow("s", (1, 2), Replay((0.0, 0.5))),
    ]
    scenario = Scenario("file", LINKS, flows)
    text = write_scenario(scenario)
    assert read_scenario(text) == scenario
    kinds = scenario_schema()["$defs"]["source"]["anyOf"][0]["enum"]
    assert {"Poisson", "HeavyTailed", "Replay"} <= set(kinds)
    with_units = text.replace("stop = 3.0", 'stop = "3 s"')
    assert with_units != text
    assert read_scenario(with_units) == scenario
    with pytest.raises(ScenarioFileError, match="tail"):
        read_scenario(text.replace("tail = 1.5", "tail = 0.5"))
