"""Refinements of both levels, and the quantities that they change."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import (
    CBR,
    Flow,
    Fluid,
    Packets,
    Pause,
    Refinement,
    Scenario,
    chain,
    default_refinements,
    simulate,
    takano2006,
)
from dfcmodel.levels.quantities import MOST_FLOWS, quantities_of
from dfcmodel.levels.refinements import usual_refinements, with_refinements
from dfcmodel.network.phase_effects import packet_time

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
