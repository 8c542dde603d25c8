"""`explain`: its runs are those of `simulate`, its sums are exact, and it refuses before it runs."""

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
from dfcmodel.network.phase_effects import packet_time
from dfcmodel.results import Trajectory
from hopflow import Status
from responsefn import NewReno
from tests.dfcmodel.levels.conftest import by_input


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
