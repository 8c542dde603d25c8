"""Which level answers, what it costs, how accurate it is, and the shares that its predictions rest on."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dfcmodel import (
    CAKE,
    CBR,
    DFC,
    FIFO,
    PFC,
    RED,
    Cable,
    CoDel,
    Fabric,
    Fair,
    Flow,
    Fluid,
    Link,
    OnOff,
    Packets,
    Pause,
    Poisson,
    Replay,
    RunSettings,
    Scenario,
    all_reduce,
    all_to_all,
    chain,
    choose_level,
    ensemble,
    share_intervals,
    simulate,
    takano2006,
)
from dfcmodel.levels.accuracies import measured_accuracies
from dfcmodel.levels.choices import (
    WARNING_SECONDS,
    check_cost,
    fluid_work,
    packet_work,
    predict_seconds,
    table_of,
)
from dfcmodel.lossless import leaf_spine
from dfcmodel.network.demands.offered_rates import (
    bottlenecks,
    crowds,
    equal_shares,
    packet_demand,
)
from dfcmodel.results import Ensemble
from dfcmodel.simulation import SHORT_PACKETS, SHORT_STEPS
from hopflow.text_files import read_rows
from responsefn import CUBIC, DCQCN, TIMELY, FixedRate, NewReno
from tests.dfcmodel.intervals import student_interval
from tests.dfcmodel.levels.conftest import by_input
from tests.option_objects import grouped

# `choose_level` and ``level="auto"``: what decides, and what the result says.


def crowded(flows: int, window: float, duration: float = 1e4) -> Scenario:
    """Return NewReno flows that share a link of 40 ms, so long that packets cost more than a second."""
    link = Link("a", "b", flows * window / 0.04, 0.02, flows * window)
    senders = tuple(Flow(f"{n}", "ab", NewReno(), max_window=1e5) for n in range(flows))
    return Scenario("crowded", (link,), senders, duration=duration)


def test_what_packets_cannot_run_is_a_fluid() -> None:
    found = choose_level(by_input(takano2006("1")))
    assert isinstance(found.method, Fluid)
    assert "per of link" in found.reason
    assert np.isnan(found.packet_seconds)
    assert found.summary()["packets"] == "cannot run this"


def test_packets_where_they_are_cheap(bottleneck) -> None:
    found = choose_level(bottleneck)
    assert isinstance(found.method, Packets)
    assert found.packet_seconds < 1.0


@pytest.mark.parametrize(("flows", "window"), [(2, 10.0), (32, 30.0), (128, 100.0)])
def test_at_measured_points_the_measured_error_decides(flows: int, window: float) -> None:
    """Within the tolerance the fluid is good, beyond it doubted."""
    table, scenario = table_of(), crowded(flows, window)
    row, column = list(table.flows).index(flows), list(table.windows).index(window)
    error = table.errors[row, column]
    found = choose_level(scenario, affordable=0.0, fluid=Fluid(steps_per_delay=1))
    assert found.error == pytest.approx(error)
    assert found.packet_seconds > found.fluid_seconds
    given = {"affordable": 0.0, "fluid": Fluid(steps_per_delay=1)}
    good = choose_level(scenario, **given, tolerance=1.01 * error)
    assert isinstance(good.method, Fluid)
    assert not good.doubt
    doubted = choose_level(scenario, **given, tolerance=0.99 * error)
    assert isinstance(doubted.method, Fluid)
    assert f"shares were measured to be {error:.2g} off" in doubted.doubt
    most = 1.01 * found.packet_seconds
    assert isinstance(choose_level(scenario, affordable=most).method, Packets)


@pytest.mark.parametrize("times", [0.5, 0.75, 0.9, 3.0])
def test_packets_that_take_long_must_cost_less_than_the_fluid(times: float) -> None:
    """The costs of the fluid are those of its steps, so that their number sets the ratio of both."""
    scenario = crowded(2, 10.0)
    one = choose_level(scenario, affordable=0.0, fluid=Fluid(steps_per_delay=1))
    steps = max(1, round(one.packet_seconds / one.fluid_seconds / times))
    fluid = Fluid(steps_per_delay=steps)
    found = choose_level(scenario, affordable=0.0, fluid=fluid, tolerance=0.0)
    ratio = found.packet_seconds / found.fluid_seconds
    assert isinstance(found.method, Packets) is (ratio <= 0.8)
    assert bool(found.doubt) is (ratio > 0.8)


def test_between_measured_points_the_error_is_between_theirs() -> None:
    table = table_of()
    found = choose_level(crowded(16, 17.0)).error
    inside = table.errors[1:3, 2:4]
    assert inside.min() < found < inside.max()
    assert choose_level(crowded(2, 1e4)).error == table.errors[0, -1]  # beyond: the nearest


@pytest.mark.parametrize("rule", [DFC(), PFC((0,), 100.0, 50.0)])
def test_dfc_and_pfc_have_tables_of_their_own(rule) -> None:
    scenario = crowded(8, 30.0)
    (link,) = scenario.links
    name, wide = type(rule).__name__, replace(link, discipline=rule, buffer=1e6)
    table = table_of(name)
    error = table.errors[list(table.flows).index(8), list(table.windows).index(30.0)]
    given = {"affordable": 0.0, "fluid": Fluid(steps_per_delay=1)}
    found = choose_level(replace(scenario, links=(wide,)), **given)
    assert found.error == pytest.approx(error)
    costs = [
        each.packet_nanoseconds[list(each.flows).index(8), list(each.windows).index(30.0)]
        for each in (table, table_of())
    ]
    fifo = choose_level(scenario, **given)
    assert found.packet_seconds / fifo.packet_seconds == pytest.approx(costs[0] / costs[1])
    before = Link("z", "a", 10.0 * link.rate, 1e-3, 1e6)  # FIFO, and not the bottleneck
    flows = tuple(replace(flow, path=("z", "a", "b")) for flow in scenario.flows)
    both = choose_level(replace(scenario, links=(before, wide), flows=flows), **given)
    assert table.errors.min() <= both.error <= table.errors.max()


@pytest.mark.parametrize(
    "rule",
    [DFC(diffusion=0.5), PFC((1,), 100.0, 50.0), PFC((0,), 100.0, 50.0, manager=CoDel()), Fair()],
)
def test_of_other_disciplines_nothing_was_measured(rule) -> None:
    scenario = crowded(8, 30.0)
    links = (replace(scenario.links[0], discipline=rule, buffer=1e6),)
    found = choose_level(replace(scenario, links=links), affordable=0.0)
    assert np.isnan(found.error)
    assert found.summary()["error of the fluid"] == "not measured for such scenarios"
    assert "nan" not in str(found)


@pytest.mark.parametrize("host", ["direct", "unshaped", "shaped"])
def test_over_several_buffers_under_dfc_the_error_was_measured_for_shaped_hosts_only(host) -> None:
    """The measured queue is one; over several, the fluid lets a flow pass buffers that others fill."""
    links = chain(4, rate="100Mbps", delay="5ms", buffer=50, discipline=DFC())
    paths = {"through": (1, 2, 3, 4)} | {f"hop {n}": (n, n + 1) for n in (1, 2, 3)}
    flows = [Flow(name, path, NewReno(), host=host) for name, path in paths.items()]
    scenario = Scenario("over hops", links, flows, duration=1e4)
    assert isinstance(choose_level(scenario, duration=10.0).method, Packets)
    found = choose_level(scenario)
    assert isinstance(found.method, Fluid)
    assert np.isnan(found.error) == (host != "shaped")
    assert ("measured for one shared queue" in found.doubt) == (host != "shaped")
    assert ("shares were measured" in found.reason) == (host == "shaped")
    alone = replace(scenario, flows=scenario.flows[1:])
    assert np.isfinite(choose_level(alone).error)


def test_of_transfers_after_idle_times_nothing_was_measured() -> None:
    scenario = crowded(8, 30.0)
    flows = tuple(replace(flow, size=50.0, idle=1.0) for flow in scenario.flows)
    found = choose_level(replace(scenario, flows=flows), affordable=0.0)
    assert np.isnan(found.error)
    assert packet_work(replace(scenario, flows=flows), 10.0) == packet_work(scenario, 10.0)


def test_where_nothing_was_measured_the_fluid_is_doubted_unless_packets_cost_little() -> None:
    scenario = crowded(8, 100.0)
    cubic = replace(scenario, flows=tuple(replace(f, source=CUBIC()) for f in scenario.flows))
    found = choose_level(cubic)
    assert isinstance(found.method, Fluid)
    assert "measured for AIMD" in found.doubt
    assert np.isnan(found.error)
    assert isinstance(choose_level(cubic, duration=1.0).method, Packets)
    fast = replace(cubic, links=(replace(cubic.links[0], rate=1e8),))
    with pytest.warns(UserWarning, match=r"the fluid was chosen, .*level='packets'"):
        run = simulate(fast, duration=1.0)
    assert run.choice.startswith("fluid: ")


def test_work_is_counted_in_packets_and_flow_steps(bottleneck) -> None:
    assert fluid_work(bottleneck, 2.0, Fluid()) == pytest.approx(2.0 / 0.5e-3 * 2)
    assert packet_work(bottleneck, 2.0) == pytest.approx(2.0 * 2e3)
    flows = (replace(bottleneck.flows[0], source=CBR(100.0), start=0.5),)
    assert packet_work(replace(bottleneck, flows=flows), 2.0) == pytest.approx(150.0)
    run = simulate(bottleneck, Packets(seed=1), duration=1.0)
    assert run.delivered[:, -1].sum() <= packet_work(bottleneck, 1.0)


def test_the_default_is_the_chosen_level_and_says_so(bottleneck) -> None:
    run = simulate(bottleneck, duration=0.3, seed=5)
    chosen = choose_level(bottleneck, duration=0.3)
    wait = chosen.packet_jitter
    assert wait == 1.0 / bottleneck.links[-1].rate  # flows of different round-trip times
    same = simulate(bottleneck, Packets(), duration=0.3, seed=5, packet_jitter=wait)
    assert run == same
    auto = simulate(bottleneck, level="auto", duration=0.3, seed=5)
    assert run == auto
    assert run.choice == auto.choice == chosen.reason
    assert run.choice.startswith("packets: ")
    assert next(iter(run.summary().items())) == ("level", run.choice)
    assert same.summary()["level"] == "packets"
    still = simulate(bottleneck, duration=0.3, seed=5, packet_jitter=0.0)
    assert still.packet_jitter == 0.0
    assert not np.array_equal(still.window, run.window)
    fluid = simulate(by_input(takano2006("1")), duration=0.01)
    assert fluid.choice.startswith("fluid: ")
    assert fluid.step == 0.25e-4


def test_runs_of_an_ensemble_choose_too(bottleneck) -> None:
    many = ensemble(bottleneck, runs=2, options=RunSettings(duration=0.05))
    chosen = choose_level(bottleneck, duration=0.05)
    assert all(run.choice == chosen.reason for run in many.runs)
    assert many.method == Packets()
    assert many.packet_jitter == chosen.packet_jitter > 0.0


def test_wrong_arguments_are_refused(refused, bottleneck) -> None:
    refused(["level", "'fastest'"], lambda: simulate(bottleneck, level="fastest"))
    for name in ("duration", "affordable", "tolerance"):
        refused([name], lambda name=name: choose_level(bottleneck, **{name: -1.0}))


# Tables of measurements that the package brings.


@pytest.mark.parametrize("name", ["accuracies.csv", "measured.csv"])
def test_rows_are_complete_and_have_no_comments(name: str) -> None:
    rows = read_rows("dfcmodel.levels", name)
    assert len(rows) >= 2
    for row in rows:
        assert all(row.values())
        assert not any(value.startswith("#") for value in row.values())
        assert row.keys() == rows[0].keys()


# Predicted costs: long runs warn or are refused before they start.


def short_link(delay: float = 1e-9, duration: float = 5.0, **flow) -> Scenario:
    """Return a flow over a link whose delay sets the step of the fluid: a fourth of it."""
    links = (Link(1, 2, 1000.0, delay, 50),)
    return Scenario("short", links, (Flow("a", (1, 2), NewReno(), **flow),), duration=duration)


def test_predictions_are_those_of_the_choice() -> None:
    scenario = takano2006("1")
    found = choose_level(scenario, duration=2.0)
    assert predict_seconds(scenario, Fluid(), 2.0) == found.fluid_seconds
    assert predict_seconds(scenario, Packets(), 2.0) == found.packet_seconds


def test_a_run_of_a_link_of_a_nanosecond_is_refused_unless_asked_for() -> None:
    """10 s are 4e10 steps, 1.1 hours; 100 s are 11."""
    with pytest.warns(UserWarning, match="1.1 hours of CPU time predicted for 'short'") as told:
        check_cost(short_link(), Fluid(), 10.0)
    assert "4e+10 steps of 2.5e-10 s" in str(told[0].message)
    assert "link 1->2" in str(told[0].message)
    assert "method=Packets() takes about" in str(told[0].message)
    with pytest.raises(ValueError, match=r"11 hours .* must be at most 3 hours; method=Fluid\(max_cpu_time="):
        simulate(short_link(), duration=100.0, level="fluid")
    with pytest.raises(ValueError, match="max_cpu_time"):
        ensemble(short_link(), runs=2, level="fluid", options=RunSettings(duration=50.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_cost(short_link(), Fluid(max_cpu_time=math.inf), 50.0)
        check_cost(short_link(), Fluid(max_cpu_time="1200min"), 50.0)
        check_cost(short_link(), Fluid(), 0.01)


def test_runs_that_are_not_predicted_take_less_than_a_minute() -> None:
    for discipline in ("FIFO", "DFC", "PFC"):
        table = table_of(discipline)
        assert SHORT_STEPS * table.fluid_nanoseconds.max() < WARNING_SECONDS * 1e9
        assert SHORT_PACKETS * table.packet_nanoseconds.max() < WARNING_SECONDS * 1e9


def test_a_limit_of_the_user_replaces_both() -> None:
    with pytest.raises(ValueError, match="must be at most 1 s"):
        simulate(short_link(), Fluid(max_cpu_time="1s"), duration=0.01)
    run = simulate(short_link(1e-5), Fluid(max_cpu_time=1.0), duration=0.01)
    assert run.status.ok
    for level in (Fluid, Packets):
        for bad in (0.0, -1.0, math.nan, "soon"):
            with pytest.raises(ValueError, match="max_cpu_time"):
                level(max_cpu_time=bad)


def test_a_limit_of_a_chosen_level_and_of_each_run_of_an_ensemble() -> None:
    chosen = choose_level(short_link(), duration=0.01)
    strict = replace(chosen, method=replace(chosen.method, max_cpu_time=1e-9))
    for run, settings in ((simulate, {"duration": 0.01}), (ensemble, {"options": RunSettings(duration=0.01)})):
        with pytest.raises(ValueError, match="must be at most 1e-09 s; method="):
            run(short_link(), method=strict, **settings)


@pytest.mark.parametrize("call", [simulate, ensemble])
def test_the_former_place_of_the_limit_is_refused_with_the_new_one(call: Any) -> None:
    with pytest.raises(TypeError, match=r"max_cpu_time=\): is a setting of the level: .*Packets\("):
        call(short_link(), max_cpu_time=1.0)


def test_a_run_of_a_choice_is_that_of_the_level_that_is_left_to_choose() -> None:
    scenario = takano2006("1")
    chosen = choose_level(scenario, duration=0.1)
    given, found = simulate(scenario, chosen, duration=0.1), simulate(scenario, duration=0.1)
    assert given == found
    assert given.choice == chosen.reason
    many = ensemble(scenario, 2, method=chosen, options=RunSettings(duration=0.1))
    assert [run.choice for run in many.runs] == [chosen.reason] * 2


def test_packets_are_predicted_by_what_is_sent() -> None:
    slow = Scenario("fast", (Link(1, 2, 1e8, 1e-3, 500),), (Flow("a", (1, 2), CBR(1e8)),), duration=2000.0)
    with pytest.raises(ValueError, match=r"2e\+11 packets"):
        simulate(slow, Packets(seed=1))
    check_cost(slow, Packets(loss={"1->2": 0.1}), 1000.0)  # not predicted
    flow = Flow("a", (1, 2), CBR(1e8), size=1e3)
    check_cost(Scenario("few", slow.links, (flow,), duration=1000.0), Packets(), 1000.0)


def test_what_packets_cannot_run_is_not_advised() -> None:
    links = (Link(1, 2, 1000.0, 1e-9, 50, shared=False),)
    scenario = Scenario("own", links, short_link().flows, duration=5.0)
    with pytest.warns(UserWarning, match="steps") as told:
        check_cost(scenario, Fluid(), 5.0)
    assert "Packets" not in str(told[0].message)


@pytest.mark.parametrize("limit", [np.array([]), np.zeros((2, 3)), pd.NA, 0.0, -1.0, math.nan])
def test_a_limit_must_be_a_number_above_zero(limit) -> None:
    with pytest.raises(ValueError, match=r"^max_cpu_time = "):
        Fluid(max_cpu_time=limit)


# What one level refuses with the name of the other, where that does not run the scenario either.


def chain_of_refusals(first: Any, second: Any, **given: Any) -> Scenario:
    """Return a flow over two links."""
    links = [Link("a", "s", 1e4, 1e-3, 100, first), Link("s", "b", 1e3, 1e-3, 50, second)]
    return Scenario("two", links, [Flow("one", ("a", "s", "b"), NewReno(), **given)], duration=0.1)


@pytest.mark.parametrize(("method", "other"), [(Fluid(), "Packets"), (Packets(), "Fluid"), ("auto", "")])
def test_a_refusal_says_that_the_other_level_refuses_too(method: Any, other: str) -> None:
    scenario = chain_of_refusals(CAKE(), Pause(30.0, 10.0, paused_rate=10.0))
    match = rf"use .*method={other}\(\); but {other}\(\) does not run the scenario: " if other else "but "
    with pytest.raises(ValueError, match=match):
        simulate(scenario, level=method) if method == "auto" else simulate(scenario, method)


def test_a_refusal_names_the_level_that_runs_the_scenario() -> None:
    for scenario, method, runs in (
        (chain_of_refusals(CAKE(), FIFO()), Fluid(), Packets(seed=1)),
        (chain_of_refusals(FIFO(), Pause(30.0, 10.0, paused_rate=10.0)), Packets(seed=1), Fluid()),
    ):
        with pytest.raises(ValueError, match=rf"method={type(runs).__name__}\(\)$"):
            simulate(scenario, method)
        assert simulate(scenario, runs).delivered[0, -1] > 0.0


# Goodput shares with intervals that contain the measured error of the model.


RATE = 1000.0
LINKS = (
    Link("near", "router", 10 * RATE, 2e-3, 1000.0),
    Link("far", "router", 10 * RATE, 9e-3, 1000.0),
    Link("router", "end", RATE, 8e-3, 30.0),
)
SCENARIO = Scenario(
    "two round-trip times",
    LINKS,
    tuple(Flow(n, (n, "router", "end"), NewReno(), max_window=200.0) for n in ("near", "far")),
    duration=4.0,
)


def runs(scenario: Scenario = SCENARIO, method: Fluid | Packets | None = None, **given) -> Ensemble:
    settings = {"runs": 3, "packet_jitter": 1 / RATE, "duration": 2.0} | given
    return ensemble(scenario, method=method or Fluid(), **grouped(ensemble, settings))


@pytest.fixture(scope="module")
def packets() -> Ensemble:
    return runs(method=Packets(), duration=4.0)


def test_the_table_has_all_levels_and_the_error_exceeds_chance() -> None:
    table = measured_accuracies()
    assert list(table) == ["fluid", "packet level"]
    for accuracy in table.values():
        assert accuracy.shares >= 60
        assert 0.0 < accuracy.half_width < 0.25
        assert accuracy.chance < 0.03
        assert accuracy.mean_error > accuracy.chance
    assert table["fluid"].half_width > table["packet level"].half_width


def test_shares_are_goodput_over_the_rate_since_a_time(packets: Ensemble) -> None:
    found = share_intervals(packets, {"both": ["near", "far"], "far": ["far"]}, since=1.0)
    assert found.attrs["level"] == "packet level"
    goodput = [
        (run.delivered[:, -1] - [np.interp(1.0, run.time, flow) for flow in run.delivered]) / 3.0
        for run in packets.runs
    ]
    of_runs = np.array([[sum(each) / RATE, each[1] / RATE] for each in goodput])
    np.testing.assert_allclose(found["share"], of_runs.mean(axis=0), rtol=1e-9)
    low, high = student_interval(of_runs)
    np.testing.assert_allclose(found["by_chance"], (high - low) / 2)
    single = (high - low) / 2 * (len(of_runs) + 1) ** 0.5
    np.testing.assert_allclose(found["by_chance_prediction"], single)
    assert found["high"].sel(group="both") <= 1.0


def test_a_measurement_begins_after_a_quarter_of_the_run(packets: Ensemble) -> None:
    assert share_intervals(packets).identical(share_intervals(packets, since=1.0))


def test_chance_and_the_error_of_the_model_add_in_quadrature(packets: Ensemble) -> None:
    found = share_intervals(packets, since=1.0)
    model = measured_accuracies()["packet level"].half_width
    half = np.hypot(found["by_chance"], model)
    inside = (found["low"] > 0.0) & (found["high"] < 1.0)
    assert inside.any()
    np.testing.assert_allclose((found["high"] - found["share"])[inside], half[inside])
    np.testing.assert_allclose((found["share"] - found["low"])[inside], half[inside])


def test_each_level_has_its_own_error(packets: Ensemble) -> None:
    for many, level in ((runs(), "fluid"), (packets, "packet level")):
        found = share_intervals(many)
        assert found.attrs["level"] == level
        assert found["model_error"] == measured_accuracies()[level].half_width


def other_links(**changes) -> Scenario:
    return replace(SCENARIO, links=(*LINKS[:2], replace(LINKS[2], **changes)))


@pytest.mark.parametrize(
    ("many", "message"),
    [
        (lambda: runs(packet_jitter=0.0), "packet_jitter = 0"),
        (lambda: runs(method=Fluid(whole_losses=False)), "whole_losses = False"),
        (lambda: runs(other_links(discipline=RED(5.0, 15.0, 0.1))), "link router->end: RED"),
        (lambda: runs(replace(SCENARIO, flows=(replace(SCENARIO.flows[0], source=CBR(500.0)),))), "flow near: CBR"),
    ],
)  # fmt: skip
def test_what_was_not_measured_is_refused(many, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        share_intervals(many())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"groups": {"both": ["near", "middle"]}}, r"groups\['both'\] = 'middle'"),
        ({"groups": {"both": "near"}}, r"groups\['both'\] = 'near': must be a list of names"),
        ({"groups": {"none": []}}, r"groups\['none'\] = \[\]: must be a list of names"),
        ({"groups": {}}, "groups = {}: must have at least one group"),
        ({"since": 4.0}, "since = 4"),
        ({"since": -1.0}, "since = -1"),
        ({"since": 0.5}, "since = 0.5: must be at least 1 s, a quarter of the run"),
    ],
)
def test_bad_input_is_named(packets: Ensemble, given, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        share_intervals(packets, **given)


# Rates at equal shares, by hand: what predictions of the choice rest on.

TWO_LINKS = Link("a", "b", 1000.0, 0.01, 50), Link("b", "c", 600.0, 0.02, 50)


@pytest.fixture
def mixed() -> Scenario:
    """Return three flows over the first link and three over the second, with a bottleneck each."""
    flows = (
        Flow("both", ("a", "b", "c"), NewReno()),
        Flow("narrow", ("a", "b"), NewReno(), max_window=4.0),
        Flow("constant", ("a", "b"), CBR(5000.0), start=1.0),
        Flow("on off", ("b", "c"), OnOff(50.0, 0.1, 0.3)),
        Flow("rate", ("b", "c"), DCQCN(), size=30.0),
    )
    return Scenario("mixed", TWO_LINKS, flows, duration=2.0)


def test_flows_are_counted_by_link_and_bottlenecks_have_the_smallest_share(mixed) -> None:
    assert crowds(mixed).tolist() == [3, 3]
    assert bottlenecks(mixed).tolist() == [1, 0, 0, 1, 1]


def test_rates_are_equal_shares_unless_a_window_or_a_source_says_less(mixed) -> None:
    """A window of 4 packets in a round trip of 20 ms; sources without feedback send at their own rate."""
    np.testing.assert_allclose(equal_shares(mixed), [200.0, 200.0, 5000.0, 50.0, 200.0])


def test_packets_end_with_a_transfer_and_begin_with_a_start(mixed) -> None:
    np.testing.assert_allclose(packet_demand(mixed, 2.0), [400.0, 400.0, 5000.0, 100.0, 30.0])
    assert packet_demand(mixed, 0.5)[2] == 0.0


THREE_NODES = chain(3, rate=1000.0, delay=1e-3, buffer=50)


def test_offered_packets_end_with_the_stop() -> None:
    flows = [
        Flow("poisson", (1, 2, 3), Poisson(100.0), start=0.5, stop=2.5),
        Flow("trace", (1, 2, 3), Replay((0.0, 0.5), (10, 20))),
    ]
    scenario = Scenario("offered", THREE_NODES, flows)
    assert equal_shares(scenario) == [100.0, 60.0]
    at_once = Scenario("at once", THREE_NODES, [Flow("a", (1, 2, 3), Replay((0.0,), 7))])
    assert packet_demand(at_once, 10.0) == [7.0]
    assert packet_demand(scenario, 10.0) == [200.0, 30.0]


# Predicted costs of fabrics, beside CPU times that were measured on an idle machine.


def leaves(hosts: int, flows: Any, **options: Any) -> Scenario:
    """Return a fabric of leaves of 16 hosts and 16 spines under PFC with flows that a function makes."""
    cable = Cable("400Gbps", "10m")
    fabric = Fabric(
        leaf_spine(hosts // 16, 16, hosts=16), cable, cable, "32MB", 4096,
        PFC(xoff=40, xon=20, counts="switch"),
    )  # fmt: skip
    made = flows(fabric.hosts, source=options.pop("source", FixedRate()), links=fabric.links)
    return fabric.scenario("fabric", made, duration=1.0)


@pytest.mark.parametrize(
    ("hosts", "flows", "recovery", "measured_seconds"),
    [
        (128, partial(all_to_all, sizes=256), "go-back-n", 2.7),
        (256, partial(all_to_all, sizes=256), "go-back-n", 15.9),
        (512, partial(all_to_all, sizes=16), "none", 2.7),
        (512, partial(all_reduce, packets=244_141), "none", 9.2),
    ],
    ids=["128 hosts", "256 hosts", "512 hosts", "a ring"],
)
def test_costs_of_fabrics_are_predicted_within_a_factor_of_two(
    hosts: int, flows: Any, recovery: str, measured_seconds: float
) -> None:
    scenario = leaves(hosts, flows)
    seconds = predict_seconds(scenario, Packets(recovery=recovery), 1.0)
    assert 0.5 < seconds / measured_seconds < 2.0


def test_costs_of_fabrics_follow_from_what_is_run() -> None:
    """ACKs cost, marks make a rule cost, a kernel for all scenarios costs more; a deadline is none of it."""

    def seconds(method: Packets | None = None, **options: Any) -> float:
        scenario = leaves(32, partial(all_to_all, sizes=64), **options)
        return predict_seconds(scenario, method or Packets(), 1.0)

    usual = seconds()
    link = leaves(32, partial(all_to_all, sizes=64)).links[0].name
    assert seconds(Packets(recovery="none")) < 0.6 * usual
    assert seconds(source=DCQCN()) == usual
    assert seconds(source=TIMELY()) > usual
    assert seconds(source=NewReno()) > 5.0 * usual
    assert seconds(Packets(frame_errors={link: 0.1})) > 5.0 * usual
