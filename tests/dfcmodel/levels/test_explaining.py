"""`explain`: its runs are those of `simulate`, its sums are exact, and it refuses before it runs."""

from __future__ import annotations

import pickle
from concurrent.futures import Executor, Future
from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import (
    Fluid,
    Packets,
    Pause,
    Refinement,
    default_refinements,
    explain,
    simulate,
    takano2006,
)
from dfcmodel.levels import explaining
from dfcmodel.levels.instances import Runs
from dfcmodel.network.phase_effects import packet_time
from tests.dfcmodel.levels.conftest import by_input


def test_parts_add_up_to_the_gap_in_every_run(explanation) -> None:
    parts = explanation.contributions.sum(axis=1)
    np.testing.assert_allclose(parts, explanation.gap, rtol=1e-12, atol=1e-12)
    assert explanation.status.ok


def test_the_ends_are_both_levels_as_simulate_runs_them(bottleneck, explanation) -> None:
    runs = Runs(2, seed=0, duration=1.0, sample=0.01, jitter=explanation.jitter)
    scenario, seed = runs.instance(bottleneck, runs.seeds()[0])
    bare = Fluid(store_and_forward=False, timeouts=False, recovery="sack")
    wait = packet_time(bottleneck)
    for found, run in (
        (explanation.fluid[0, 0], simulate(scenario, bare, seed=seed)),
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
    times = [each for each in default_refinements(scenario) if each.name == "transmission times"]
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
