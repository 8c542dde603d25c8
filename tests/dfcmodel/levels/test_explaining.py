"""What the gap between the levels consists of."""

from __future__ import annotations

import pickle
import warnings
from concurrent.futures import Executor, Future
from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import (
    CBR,
    PFC,
    Flow,
    Fluid,
    Link,
    Packets,
    Pause,
    Refinement,
    Scenario,
    chain,
    default_refinements,
    ensemble,
    explain,
    simulate,
    takano2006,
)
from dfcmodel.levels import explaining
from dfcmodel.levels.instances import Runs
from dfcmodel.levels.quantities import MOST_FLOWS, quantities_of
from dfcmodel.levels.refinements import usual_refinements, with_refinements
from dfcmodel.network.phase_effects import packet_time
from dfcmodel.results import Trajectory
from hopflow import Status
from responsefn import NewReno
from tests.dfcmodel.levels.conftest import by_input

# `explain`: its runs are those of `simulate`, its sums are exact, and it refuses before it runs.


def test_parts_add_up_to_the_gap_in_every_run(explanation) -> None:
    parts = explanation.contributions.sum(axis=1)
    np.testing.assert_allclose(parts, explanation.gap, rtol=1e-12, atol=1e-12)
    assert explanation.status.ok


def test_the_ends_are_both_levels_as_simulate_runs_them(bottleneck, explanation) -> None:
    runs = Runs(2, seed=0, duration=1.0, sample=0.01, jitter=explanation.jitter)
    scenario, seed = runs.instance(bottleneck, runs.seeds()[0])
    wait = packet_time(bottleneck)
    for found, run in (
        (explanation.fluid[0, 0], simulate(scenario, Fluid(), seed=seed)),
        (
            explanation.fluid[0, -1],
            simulate(scenario, packet_jitter=wait, seed=seed, level="fluid"),
        ),
        (explanation.packets[0, -1], simulate(scenario, Packets(), seed=seed)),
        (
            explanation.packets[0, 0],
            simulate(scenario, Packets(ack_transmission=False), packet_jitter=wait, seed=seed),
        ),
    ):
        shares = run.measures["goodput"].values / 2e3
        expected = [*shares, run.lost.sum(), np.nanmin(run.first_loss)]
        np.testing.assert_allclose(found, expected)


def test_transmission_times_account_for_first_losses_that_come_early() -> None:
    """A fluid without them loses early by half a packet time per link and direction, of 29 links."""
    scenario = takano2006("1", dfc=False, tcp="newreno")
    times = default_refinements(scenario, shared=True)[:1]
    assert times[0].name == "transmission times"
    found = explain(scenario, "first_loss", refinements=times, runs=2, duration=0.13)
    part, rest = found.contributions[:, :, 0].T
    assert (part > 0.07 * found.packets[:, 0, 0]).all()
    assert (abs(rest) < 0.2 * part).all()


def test_refinements_of_your_own(bottleneck) -> None:
    steps = Refinement("shorter steps", "fluid", on={"steps_per_delay": 16})
    found = explain(bottleneck, "first_loss", refinements=[steps], runs=2, duration=0.2)
    assert found.parts == ("shorter steps", "unexplained")
    assert (found.fluid.shape, found.packets.shape) == ((2, 2, 1), (2, 1, 1))
    assert (found.contributions[:, 0] == found.fluid[:, 1] - found.fluid[:, 0]).all()


def test_a_part_of_the_same_seed_is_the_same(bottleneck) -> None:
    one, other = (explain(bottleneck, runs=2, duration=0.1, seed=s) for s in (3, 3))
    assert (one.contributions == other.contributions).all()


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"runs": 1}, ["runs"]),
        ({"jitter": -1.0}, ["jitter"]),
        ({"since": 5.0}, ["since"]),
        ({"duration": 0.0}, ["duration"]),
        ({"packet_jitter": -1.0}, ["packet_jitter"]),
        ({"packets": Packets(loss={"router->end": 0.1})}, ["loss"]),
        ({"refinements": [Refinement("unexplained", "fluid", on={"timeouts": False})]}, ["unexplained"]),
        ({"refinements": [Refinement("a", "fluid", on={"steps_per_delay": n}) for n in (2, 3)]}, ["'a'"]),
        (
            {"refinements": [Refinement(f"{n}", "fluid", on={"steps_per_delay": n}) for n in range(9, 16)]},
            ["number of refinements"],
        ),
    ],
)  # fmt: skip
def test_wrong_arguments_are_refused_before_any_run(
    refused, bottleneck, monkeypatch, changes, parts
) -> None:
    monkeypatch.delattr(explaining, "_runs")
    refused(parts, lambda: explain(bottleneck, **changes))


def test_what_one_level_cannot_run_is_refused_before_any_run(
    refused, bottleneck, monkeypatch
) -> None:
    monkeypatch.delattr(explaining, "_runs")
    refused(["both levels", "per of link"], lambda: explain(by_input(takano2006("1"))))
    *others, last = bottleneck.links
    slowed = replace(last, discipline=Pause(high=30.0, low=10.0, paused_rate=100.0))
    refused(
        ["both levels", "paused_rate"],
        lambda: explain(replace(bottleneck, links=(*others, slowed))),
    )


def test_defaults_are_those_of_the_scenario(bottleneck, explanation) -> None:
    assert explanation.refinements == default_refinements(bottleneck)


def test_the_part_that_is_the_only_difference_is_named_first() -> None:
    """A way back of 10 packets/s takes 375 ACKs/s of 40 bytes: packets wait for them, the fluid does not."""
    there = chain(3, rate=1000.0, delay=0.01, buffer=50)
    back = [Link(3, 2, 1000.0, 0.01, 50), Link(2, 1, 10.0, 0.01, 100)]
    flow = Flow("one", (1, 2, 3), NewReno(), max_window=30.0)
    found = explain(Scenario("slow way back", [*there, *back], [flow], 3.0), runs=3)
    table = found.table()
    assert list(table["row"])[:2] == ["fluid", "queued ACKs"]
    own = table.set_index("row")["mean"]
    assert own["packets"] == pytest.approx(375 / 1000, abs=0.05)
    assert own["queued ACKs"] == pytest.approx(own["packets"] - own["fluid"], rel=0.15)
    assert "of which queued ACKs" in found.text()
    assert any(limit.startswith("two-way traffic") for limit in found.limits)


def test_phase_effects_are_measured_and_named() -> None:
    """The target of scenario 2 passes in step with departures where all delays are equal."""
    scenario = takano2006("2", dfc=False)
    given = {"runs": 2, "duration": 0.6, "measures": ["share", "first_loss"]}
    with pytest.warns(UserWarning, match=r"share of target .*packet_jitter='1pkt'"):
        found = explain(scenario, **given)
    assert found.limits[0] == found.phase_effects
    assert "first loss" not in found.phase_effects
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        at_random = explain(scenario, packet_jitter="1pkt", **given)
    assert at_random.parts == ("unexplained", "queued ACKs")
    assert not at_random.phase_effects
    assert abs(at_random.gap[:, 0]).max() < 0.05 < abs(found.gap[:, 0]).min()


def test_both_levels_wait_as_simulate_does(bottleneck) -> None:
    changed = [each for each in default_refinements(bottleneck) if each.name == "packet phases"]
    found = explain(bottleneck, "losses", runs=2, refinements=changed, packet_jitter="2pkt")
    assert found.parts == ("unexplained",)
    runs = Runs(2, seed=0, duration=1.0, sample=0.01, jitter=found.jitter)
    scenario, seed = runs.instance(bottleneck, runs.seeds()[1])
    for values, level in ((found.fluid, "fluid"), (found.packets, "packets")):
        run = simulate(scenario, level=level, packet_jitter="2pkt", seed=seed)
        assert values[1, 0, 0] == run.lost.sum()


def test_known_limits_of_the_fluid_are_named(bottleneck) -> None:
    *others, last = bottleneck.links
    small = replace(bottleneck, links=(*others, replace(last, buffer=4.0)))
    found = explain(small, "losses", runs=2, refinements=[], packet_jitter="1pkt")
    assert found.limits == found.limits_of_fluid
    assert "small buffer" in found.summary()


def test_processes_give_the_same_as_threads(bottleneck) -> None:
    """What crosses the border of a process can be pickled, and the answer too."""
    given = {"measures": ["share", "losses"], "runs": 2, "duration": 0.1, "refinements": []}
    one = explain(bottleneck, **given)
    with _Pickling() as pool:
        other = explain(bottleneck, **given, executor=pool)
    np.testing.assert_array_equal(one.fluid, other.fluid)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(other)).packets, one.packets)


class _Pickling(Executor):
    """An executor that pickles as processes do, without their start."""

    def submit(self, call, /, *given):
        future: Future = Future()
        call, given = pickle.loads(pickle.dumps((call, given)))
        future.set_result(pickle.loads(pickle.dumps(call(*given))))
        return future


def test_the_status_says_in_how_many_runs_a_lossless_class_lost_packets() -> None:
    rule = PFC((0,), xoff=20, xon=10, headroom=0)
    links = [
        Link("a", "s", 8e3, 1e-3, 500),
        Link("b", "s", 8e3, 1e-3, 500),
        Link("s", "d", 1e4, 1e-3, 60, rule),
    ]
    flows = [Flow(name, (name, "s", "d"), CBR(8e3), host="unshaped") for name in "ab"]
    scenario = Scenario("too little headroom", links, flows, duration=0.05)
    found = explain(scenario, "share", runs=2, refinements=[])
    assert found.status is Status.LOST_LOSSLESS
    assert {each.label for each in found.statuses} == {"lost in a lossless class"}
    said = found.summary()
    assert str(said["status"]).startswith("lost in a lossless class, in 4 of 4 runs: a buffer")
    assert said["shares are"] == "goodput over the rate of the slowest link of a flow's path"

    def share_of_all(run: Trajectory) -> float:  # a function of the caller, whatever its name
        return 1.0

    own = explain(scenario, share_of_all, runs=2, refinements=[])
    assert "shares are" not in own.summary()
    many = ensemble(scenario, 2, level="packets")
    assert many.status is Status.LOST_LOSSLESS
    assert "in 2 of 2 runs" in str(many.summary()["status"])


# Refinements of both levels, and the quantities that they change.

# Refinements: what is refused, what applies to a scenario, and what they change.


def test_a_field_that_a_level_does_not_have_is_refused(refused) -> None:
    refused(["timeout", "'timers'"], lambda: Refinement("timers", "fluid", off={"timeout": False}))
    refused(["level", "'hybrid'"], lambda: Refinement("timers", "hybrid", off={"timeouts": False}))
    refused(["off", "on"], lambda: Refinement("nothing", "fluid"))


def test_every_default_changes_the_method_only_where_it_is_off(bottleneck) -> None:
    """With all refinements the levels are `Fluid` and `Packets` as they are."""
    given = default_refinements(bottleneck, shared=True)
    for level, method in (("fluid", Fluid()), ("packets", Packets())):
        own = [each for each in given if each.level == level]
        assert with_refinements(method, own, 2 ** len(own) - 1)["method"] == method
        assert with_refinements(method, own, 0)["method"] != method


def test_the_levels_share_what_the_default_leaves_out(bottleneck) -> None:
    """Without the shared ones the fluid begins as `simulate` runs it."""
    of_both = default_refinements(bottleneck, shared=True)
    of_one = default_refinements(bottleneck)
    assert of_both[-len(of_one) :] == of_one
    fluid = [each for each in of_both if each.level == "fluid"]
    shared = usual_refinements(Fluid(), fluid)
    on = {each.name for n, each in enumerate(fluid) if shared >> n & 1}
    assert on == {each.name for each in of_both} - {each.name for each in of_one}
    own = [each for each in of_one if each.level == "fluid"]
    assert with_refinements(Fluid(), own, 0) == {"method": Fluid(), "packet_jitter": 0.0}


def test_bits_choose_refinements() -> None:
    given = [
        Refinement("steps", "fluid", on={"steps_per_delay": 9}),
        Refinement("timers", "fluid", off={"timeouts": False}),
        Refinement("waits", "fluid", on={"packet_jitter": 1e-3}),
    ]
    assert with_refinements(Fluid(), given, 0b000) == {
        "method": Fluid(timeouts=False),
        "packet_jitter": 0.0,
    }
    assert with_refinements(Fluid(), given, 0b001, 2e-3) == {
        "method": Fluid(9, timeouts=False),
        "packet_jitter": 2e-3,
    }
    assert with_refinements(Fluid(), given, 0b110) == {"method": Fluid(), "packet_jitter": 1e-3}


@pytest.mark.parametrize(
    ("tcp", "names"), [("newreno", {"recovery", "timeouts"}), (None, {"recovery", "timeouts"})]
)
def test_window_rules_have_recovery_and_timeouts(tcp, names) -> None:
    found = default_refinements(takano2006("1", dfc=False, tcp=tcp), shared=True)
    assert names <= {each.name for each in found}


def test_constant_rates_have_transmission_times_alone(bottleneck) -> None:
    flows = tuple(replace(flow, source=CBR(500.0)) for flow in bottleneck.flows)
    scenario = replace(bottleneck, flows=flows)
    assert default_refinements(scenario) == ()
    found = default_refinements(scenario, shared=True)
    assert [each.name for each in found] == ["transmission times"]


def test_whole_counts_are_a_refinement_where_a_law_reads_them() -> None:
    (found,) = (
        each for each in default_refinements(takano2006("1")) if each.name == "whole counts"
    )
    assert found.off == {"count_smoothing": packet_time(takano2006("1"))}
    names = {each.name for each in default_refinements(takano2006("1", dfc=False))}
    assert "whole counts" not in names


def test_a_packet_takes_longest_on_the_slowest_link(bottleneck) -> None:
    assert packet_time(bottleneck) == 1.0 / 2e3


# Quantities of a run, against its records.


@pytest.fixture(scope="module")
def run(bottleneck):
    return simulate(bottleneck, duration=0.6, level="fluid")


def test_shares_are_goodputs_over_the_slowest_link(run, bottleneck) -> None:
    found = quantities_of(bottleneck, "share")
    assert [each.name for each in found] == ["share of near", "share of far"]
    goodput = run.measures["goodput"].values
    np.testing.assert_allclose([each.of(run) for each in found], goodput / 2e3)


def test_shares_can_begin_later(run, bottleneck) -> None:
    found = quantities_of(bottleneck, "share", since=0.5)
    late = run.delivered[:, -1] - run.delivered[:, 499]  # samples of 1 ms
    np.testing.assert_allclose([each.of(run) for each in found], late / 0.1 / 2e3)


def test_many_flows_have_a_mean_and_a_smallest_share(bottleneck) -> None:
    flows = [Flow(f"{n}", ("near", "router", "end"), CBR(50.0 + n)) for n in range(MOST_FLOWS + 1)]
    scenario = replace(bottleneck, flows=tuple(flows))
    run = simulate(scenario, duration=0.5, level="fluid")
    found = [each.of(run) for each in quantities_of(scenario, "share")]
    shares = run.measures["goodput"].values / 2e3
    np.testing.assert_allclose(found, [shares.mean(), shares.min()])


def test_losses_times_and_functions(run, bottleneck) -> None:
    def timeouts(run) -> float:
        return float(run.timeouts.sum())

    lost, first, last, own = quantities_of(
        bottleneck, ["losses", "first_loss", "completion", timeouts]
    )
    assert lost.of(run) == run.lost.sum() > 0.0
    assert first.of(run) == np.nanmin(run.first_loss)
    assert np.isnan(last.of(run))  # no transfer
    assert (own.name, own.of(run)) == ("timeouts", run.timeouts.sum())


def test_time_paused_is_the_sum_of_the_pauses() -> None:
    links = chain(3, rate=1e4, delay=1e-3, buffer=200, discipline=Pause(high=50, low=25))
    flows = (Flow("a", (1, 2, 3), CBR(8e3)), Flow("b", (2, 3), CBR(8e3)))
    run = simulate(Scenario("pause", links, flows, duration=0.1), level="fluid")
    (found,) = quantities_of(run.scenario, "paused")
    assert found.of(run) == run.pauses()["duration"].values.sum() > 0.0


def test_an_unknown_measure_is_refused(refused, bottleneck) -> None:
    refused(["measures", "'delay'"], lambda: quantities_of(bottleneck, "delay"))
    refused(["measures"], lambda: quantities_of(bottleneck, []))


def test_a_measure_of_the_caller_must_return_a_number(run, bottleneck) -> None:
    (length,) = quantities_of(bottleneck, lambda run: np.int64(run.time.size))
    assert length.of(run) == run.time.size
    (nothing,) = quantities_of(bottleneck, lambda run: None)  # type: ignore[arg-type, return-value]
    with pytest.raises(TypeError, match=r"^measures: <lambda> returned None: must return a number"):
        nothing.of(run)
    (wrong,) = quantities_of(bottleneck, lambda run: run.losses_of_nobody)
    with pytest.raises(AttributeError, match=r"^measures: <lambda>: AttributeError: .* line \d+"):
        wrong.of(run)
