"""What a difference between levels consists of: contributions, refinements, parts of stacks."""

from __future__ import annotations

import itertools
import pickle
import re
import warnings
from concurrent.futures import Executor, Future
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import t as student

from dfcmodel import (
    CBR,
    PFC,
    Flow,
    Fluid,
    Link,
    Packets,
    Pause,
    RandomRuns,
    Refinement,
    RunSettings,
    Scenario,
    chain,
    default_refinements,
    dumbbell,
    ensemble,
    explain,
    explaining,
    packet_limit,
    simulate,
    takano2006,
)
from dfcmodel.levels.contributions import in_order, shapley_values
from dfcmodel.levels.instances import Runs, build_runs, refuse_one_level
from dfcmodel.levels.quantities import MAX_FLOWS, quantities_of
from dfcmodel.levels.refinements import usual_refinements, with_refinements
from dfcmodel.levels.stack_parts import parts_of_stacks
from dfcmodel.network.phase_effects import packet_time
from dfcmodel.results import Explanation, Trajectory
from hopflow import Status
from responsefn import CUBIC, NewReno
from responsefn.linux import LinuxCUBIC
from tests.dfcmodel.intervals import student_interval
from tests.dfcmodel.levels.conftest import by_input
from tests.option_objects import grouped

# Explanation: tables, orders, texts.


def test_the_table_leads_from_the_fluid_to_packets(explanation: Explanation) -> None:
    table = explanation.table()
    for _, rows in table.groupby("quantity"):
        means = rows.set_index("row")["mean"]
        assert list(means.index[[0, -2, -1]]) == ["fluid", "unexplained", "packets"]
        sizes = means.iloc[1:-2].abs()
        assert sizes.is_monotonic_decreasing
        assert set(means.index) == {"fluid", *explanation.parts, "packets"}
        assert means.iloc[:-1].sum() == pytest.approx(means.iloc[-1], rel=1e-12)


def test_what_both_levels_have_stands_apart(from_bare_fluid: Explanation) -> None:
    shared = {"transmission times", "recovery", "timeouts"}
    assert set(from_bare_fluid.shared) == shared
    for _, rows in from_bare_fluid.table().groupby("quantity"):
        assert rows["row"].iloc[0] == "bare fluid"
        assert set(rows["row"].iloc[1:4]) == shared
    for line in from_bare_fluid.text().splitlines():
        before, both, after = line.partition("both levels have: ")
        assert both
        assert all(name in after and name not in before for name in shared)
    assert all(name in from_bare_fluid.summary()["bare fluid"] for name in shared)


def test_levels_that_share_all_other_parts_have_the_same_difference(
    explanation: Explanation, from_bare_fluid: Explanation
) -> None:
    """Parts that both levels have change what the parts are counted from, and not the difference."""
    one, other = explanation.to_xarray(), from_bare_fluid.to_xarray()
    for name in ("fluid", "packets"):
        np.testing.assert_array_equal(one[name], other[name])
    np.testing.assert_array_equal(one["start"], one["fluid"])
    assert (other["start"] != other["fluid"]).any()
    assert (explanation.gap == explanation.packets[:, -1] - explanation.fluid[:, 0]).all()


def test_intervals_are_students_over_the_runs(explanation: Explanation) -> None:
    data = explanation.to_xarray(level=0.9)
    low, high = student_interval(explanation.contributions, 0.9)  # sums in another order
    np.testing.assert_allclose(data["contribution"].sel(estimate="low"), low, rtol=1e-12)
    np.testing.assert_allclose(data["contribution"].sel(estimate="high"), high, rtol=1e-12)
    single = data["contribution"].sel(estimate="prediction_high") - data["contribution"].sel(estimate="mean")
    np.testing.assert_allclose(single, (high - low) / 2 * (explanation.runs + 1) ** 0.5, rtol=1e-9)


def test_an_order_of_ones_own_leaves_the_rest_as_it_is(from_bare_fluid: Explanation) -> None:
    explanation = from_bare_fluid
    names = [each.name for each in explanation.refinements]
    found = explanation.in_order(names[::-1])
    np.testing.assert_allclose(found.sum(axis=1), explanation.gap, atol=1e-9)
    rest = explanation.parts.index("unexplained")
    np.testing.assert_array_equal(found[:, rest], explanation.contributions[:, rest])
    first = explanation.fluid[:, 0b1000] - explanation.fluid[:, 0]  # whole losses, the last of four
    np.testing.assert_array_equal(found[:, 3], first)


def test_an_order_with_other_names_is_refused(refused, explanation: Explanation) -> None:
    refused(["order", "whole losses"], lambda: explanation.in_order(["recovery"]))


def test_the_text_separates_parts_from_those_that_may_be_zero(explanation: Explanation) -> None:
    lines = explanation.text().splitlines()
    assert len(lines) == len(explanation.quantities)
    for q, line in enumerate(lines):
        text, _, none = line.partition("nothing in any run: ")
        clear, _, doubtful = text.partition("too uncertain to tell from 0: ")
        for name, values in zip(explanation.parts, explanation.contributions[:, :, q].T, strict=True):
            low, high = student_interval(values)
            said = "not explained" if name == "unexplained" else name
            if not values.any():
                assert said in none
                continue
            part = doubtful if low <= 0.0 <= high else clear
            assert f"{said} {values.mean():+.3g} ± " in part
    assert all(name in explanation._repr_html_() for name in ("share of near", "data:image/png"))


def test_the_text_begins_with_the_fluid_that_simulate_runs(from_bare_fluid: Explanation) -> None:
    usual, packets = from_bare_fluid.fluid[:, 0b0111], from_bare_fluid.packets[:, -1]
    for q, line in enumerate(from_bare_fluid.text().splitlines()):
        found = f"{usual[:, q].mean():.4g} in the fluid as `simulate` runs it; difference"
        assert f"{found} {(packets - usual)[:, q].mean():+.3g} ± " in line
        assert line.index(found) < line.index("from the bare fluid, ")


def test_that_no_part_is_significant_is_said(explanation: Explanation) -> None:
    noise = np.linspace(-1.0, 1.0, explanation.runs)[:, np.newaxis, np.newaxis]
    fluid, packets = noise + np.zeros_like(explanation.fluid), np.zeros_like(explanation.packets)
    changed = replace(explanation, fluid=fluid, packets=packets + 0.1)
    said, found = (
        f"{explanation.runs} runs are too few to tell any part from 0: ",
        np.std(noise, ddof=1),
    )
    name, quantity = "not explained", explanation.quantities[0].name
    row = str(changed.summary()["parts"])
    runs = int(re.search(r"runs=(\d+)", row)[1])
    assert row == f"{said}by their spread, runs={runs} would tell the largest one, {name} ({quantity})"
    widths = [student.ppf(0.975, n - 1) * found / n**0.5 for n in (runs - 1, runs)]
    assert widths[1] < 0.1 <= widths[0]
    tiny = replace(changed, packets=packets + 1e-3).summary()["parts"]
    assert tiny == f"{said}the largest one, {name} ({quantity}), needs more than 10000"
    assert "parts" not in replace(changed, fluid=packets[:, :1] + 0.0 * fluid, packets=packets).summary()
    assert "of which" not in changed.text()
    clear = replace(changed, packets=packets + 100.0)
    assert "parts" not in clear.summary()
    assert "of which not explained +100 ± " in clear.text()


def test_what_is_not_defined_in_every_run_is_said(explanation: Explanation) -> None:
    fluid = explanation.fluid.copy()
    fluid[0, 0, 3] = np.nan
    changed = replace(explanation, fluid=fluid)
    assert changed.text().splitlines()[3] == "first loss: not defined in every run"


def test_bars_lead_from_one_level_to_the_other(explanation: Explanation) -> None:
    axes = explanation.plot(quantity="packets lost")
    labels = [label.get_text() for label in axes.get_yticklabels()]
    rows = explanation.table().groupby("quantity")["row"].get_group("packets lost")
    assert labels == list(rows)
    bars = {round(bar.get_y() + bar.get_height() / 2): bar for bar in axes.patches}
    assert bars[0].get_width() == explanation.fluid[:, 0, 2].mean()
    last = bars[len(explanation.parts)]
    assert labels[len(explanation.parts)] == "unexplained"
    end = last.get_x() + last.get_width()
    np.testing.assert_allclose(end, explanation.packets[:, -1, 2].mean())
    assert axes.get_xlabel() == "packets lost (packets)"


@pytest.mark.parametrize(
    ("with_phases", "said"),
    [
        ([0.9, 0.91, 0.9, 0.91], "is 0.905 in packets, 0.5 with"),
        (
            [0.1, 0.9, 0.1, 0.9],
            "has a standard deviation over the runs of 0.46 in packets, 0.0082 with",
        ),
        ([0.51, 0.5, 0.52, 0.5], ""),  # neither
        ([0.53, 0.53, 0.54, 0.53], ""),  # another mean, but by less than a tenth
    ],
)
def test_phase_effects_need_another_mean_or_spread(
    explanation: Explanation, with_phases: list[float], said: str
) -> None:
    packets = np.zeros((4, 4, len(explanation.quantities)))
    packets[:, :, 0] = np.array([0.49, 0.5, 0.51, 0.5])[:, np.newaxis]
    packets[:, 3, 0] = with_phases  # both refinements of packets on: phases are the first bit
    assert [each.name for each in explanation.refinements[1:]] == ["packet phases", "queued ACKs"]
    changed = replace(explanation, fluid=np.zeros((4, 2, packets.shape[2])), packets=packets)
    begins = f"phase effects: share of near {said}" if said else ""
    assert changed.phase_effects.startswith(begins)
    assert bool(changed.phase_effects) == ("phase effects" in changed.summary()) == bool(said)


def test_an_unknown_quantity_is_refused(refused, explanation: Explanation) -> None:
    refused(["quantity", "'delay'"], lambda: explanation.plot(quantity="delay"))


# Shapley values: the axioms that define them, and a game with a known answer.


@pytest.mark.parametrize("n", [0, 1, 3, 5])
def test_contributions_add_up_whatever_the_interactions(n: int) -> None:
    values = np.random.default_rng(n).normal(size=(2**n, 3, 2))
    for found in (shapley_values(values), in_order(values, list(range(n))[::-1])):
        assert found.shape == (n, 3, 2)
        np.testing.assert_allclose(found.sum(axis=0), values[-1] - values[0], atol=1e-14)


def test_shapley_values_are_the_mean_over_all_orders() -> None:
    values = np.random.default_rng(7).normal(size=16)
    orders = [in_order(values, order) for order in itertools.permutations(range(4))]
    np.testing.assert_allclose(shapley_values(values), np.mean(orders, axis=0), atol=1e-14)


def test_the_glove_game() -> None:
    """Two left gloves and one right one: 1/6, 1/6, 4/6 (Shapley and Shubik 1969)."""
    worth = [float(bool(subset & 0b100 and subset & 0b011)) for subset in range(8)]
    np.testing.assert_allclose(shapley_values(np.array(worth)), [1 / 6, 1 / 6, 4 / 6])


def test_what_changes_nothing_gets_nothing() -> None:
    one = np.random.default_rng(3).normal(size=4)
    values = np.array([one[subset & 0b11] for subset in range(8)])
    assert shapley_values(values)[2] == 0.0


# Random instances: the same at both levels, different from run to run.


def test_starts_are_delayed_and_differ_between_runs_and_not_between_levels(bottleneck) -> None:
    runs = Runs(3, seed=1, duration=1.0, sample=0.01, jitter=0.5)
    found = {
        level: [simulate(bottleneck, level=level, **runs.settings(each)) for each in runs.seeds()]
        for level in ("fluid", "packets")
    }
    fluid, packets = (np.array([run.started for run in found[level]]) for level in found)
    np.testing.assert_allclose(fluid, packets, atol=found["fluid"][0].step)
    assert len(set(packets.ravel())) == 6
    assert ((packets >= 0.0) & (packets <= 0.5)).all()


def test_defaults_follow_the_scenario(bottleneck) -> None:
    runs = build_runs(bottleneck, Fluid(), 2, RandomRuns())
    assert (runs.duration, runs.jitter) == (1.0, bottleneck.base_rtt(bottleneck.flows[0]))
    short = build_runs(bottleneck, Fluid(), 2, RandomRuns(duration=1e-3))
    assert (short.jitter, short.sample) == (1e-3, 2e-3 / 4)  # no shorter than a step


def test_what_one_level_cannot_run_is_refused(bottleneck) -> None:
    refuse_one_level(bottleneck, Packets(loss={"near->router": 0.0}))
    with pytest.raises(ValueError, match="both levels"):
        refuse_one_level(by_input(takano2006("1")), Packets())
    with pytest.raises(ValueError, match="loss"):
        refuse_one_level(bottleneck, Packets(loss={"near->router": 0.1}))


# `explain`: its runs are those of `simulate`, its sums are exact, and it refuses before it runs.


def test_parts_add_up_to_the_gap_in_every_run(explanation) -> None:
    parts = explanation.contributions.sum(axis=1)
    np.testing.assert_allclose(parts, explanation.gap, rtol=1e-12, atol=1e-12)
    assert explanation.status.ok


def test_the_ends_are_both_levels_as_simulate_runs_them(bottleneck, explanation) -> None:
    runs = Runs(2, seed=0, duration=1.0, sample=0.01, jitter=explanation.jitter)
    wait = packet_time(bottleneck)
    packets: Any = {"method": Packets(ack_transmission=False), "packet_jitter": wait}
    for found, settings in (
        (explanation.fluid[0, 0], {"level": "fluid"}),
        (explanation.fluid[0, -1], {"level": "fluid", "packet_jitter": wait}),
        (explanation.packets[0, -1], {"level": "packets"}),
        (explanation.packets[0, 0], packets),
    ):
        run = simulate(bottleneck, **settings, **runs.settings(runs.seeds()[0]))
        shares = run.measures["goodput"].values / 2e3
        expected = [*shares, run.lost.sum(), np.nanmin(run.first_loss)]
        np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("level", ["fluid", "packets"])
def test_its_runs_are_those_of_an_ensemble(bottleneck, explanation, level) -> None:
    """Starts, seeds and the default of ``jitter`` have one meaning: the same question has the same answer."""
    many = ensemble(bottleneck, 2, seed=0, level=level, options=RunSettings(duration=1.0))
    assert many.jitter == explanation.jitter
    values = {"fluid": explanation.fluid[:, 0, :2], "packets": explanation.packets[:, -1, :2]}
    np.testing.assert_allclose(values[level], many.goodput.to_numpy() / 2e3)


def test_transmission_times_account_for_first_losses_that_come_early() -> None:
    """A fluid without them loses early by half a packet time per link and direction, of 29 links."""
    scenario = takano2006("1", dfc=False, tcp="newreno")
    times = default_refinements(scenario, shared=True)[:1]
    assert times[0].name == "transmission times"
    found = explain(scenario, "first_loss", refinements=times, runs=2, options=RandomRuns(duration=0.13))
    part, rest = found.contributions[:, :, 0].T
    assert (part > 0.07 * found.packets[:, 0, 0]).all()
    assert (abs(rest) < 0.2 * part).all()


def test_what_sack_takes_for_in_flight_is_a_part(bottleneck) -> None:
    """CUBIC beside NewReno after a slow start that loses many packets: the rest is small, and is not without this part."""
    links = dumbbell(2, rate="24Mbps", delay="10ms", access_rate="100Mbps", access_delay="1ms", buffer=200)
    rules = (NewReno(), CUBIC())
    flows = [Flow(f"{n}", (f"s{n}", "left", "right", f"d{n}"), rule) for n, rule in enumerate(rules, 1)]
    scenario = Scenario("pair", links, flows, duration=10.0)
    parts = default_refinements(scenario)
    rest = {}
    for with_pipe in (True, False):
        chosen = [each for each in parts if with_pipe or each.name != "SACK pipe"]
        found = explain(scenario, runs=8, refinements=chosen)
        place = found.parts.index("unexplained")
        rest[with_pipe] = found.contributions[:, place, 1]
    assert abs(rest[True].mean()) < 0.03
    assert rest[False].mean() > 0.09
    low, high = student_interval(rest[True])
    assert low < 0.0 < high
    assert "recovery of the rules" in found.summary()
    names = [each.name for each in default_refinements(bottleneck)]
    assert "SACK pipe" not in names  # nobody has SACK there


def test_refinements_of_your_own(bottleneck) -> None:
    steps = Refinement("shorter steps", "fluid", on={"steps_per_delay": 16})
    found = explain(bottleneck, "first_loss", refinements=[steps], runs=2, options=RandomRuns(duration=0.2))
    assert found.parts == ("shorter steps", "unexplained")
    assert (found.fluid.shape, found.packets.shape) == ((2, 2, 1), (2, 1, 1))
    assert (found.contributions[:, 0] == found.fluid[:, 1] - found.fluid[:, 0]).all()


def test_a_part_of_the_same_seed_is_the_same(bottleneck) -> None:
    one, other = (explain(bottleneck, runs=2, options=RandomRuns(duration=0.1, seed=s)) for s in (3, 3))
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
def test_wrong_arguments_are_refused_before_any_run(refused, bottleneck, monkeypatch, changes, parts) -> None:
    monkeypatch.delattr(explaining, "_run_tasks")
    refused(parts, lambda: explain(bottleneck, **grouped(explain, changes)))


@pytest.mark.parametrize("call", [explain, packet_limit, ensemble])
def test_an_unknown_setting_is_refused_with_those_that_there_are(call: Any) -> None:
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'durations'; .*options=R\w+\(duration, "):
        call(takano2006("1"), durations=0.1)


def test_what_one_level_cannot_run_is_refused_before_any_run(refused, bottleneck, monkeypatch) -> None:
    monkeypatch.delattr(explaining, "_run_tasks")
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
        found = explain(scenario, **grouped(explain, given))
    assert found.limits[0] == found.phase_effects
    assert "first loss" not in found.phase_effects
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        at_random = explain(scenario, **grouped(explain, given, packet_jitter="1pkt"))
    assert at_random.parts == ("unexplained", "queued ACKs")
    assert not at_random.phase_effects
    assert abs(at_random.gap[:, 0]).max() < 0.05 < abs(found.gap[:, 0]).min()


def test_both_levels_wait_as_simulate_does(bottleneck) -> None:
    changed = [each for each in default_refinements(bottleneck) if each.name == "packet phases"]
    found = explain(bottleneck, "losses", runs=2, refinements=changed, options=RandomRuns(packet_jitter="2pkt"))
    assert found.parts == ("unexplained",)
    runs = Runs(2, seed=0, duration=1.0, sample=0.01, jitter=found.jitter)
    for values, level in ((found.fluid, "fluid"), (found.packets, "packets")):
        given = runs.settings(runs.seeds()[1])
        run = simulate(bottleneck, level=level, packet_jitter="2pkt", **given)
        assert values[1, 0, 0] == run.lost.sum()


def test_waits_of_a_refinement_are_in_packets_of_the_scenario(bottleneck) -> None:
    found = [
        explain(
            bottleneck, "losses", runs=2, refinements=[
                Refinement("phases", "packets", off={"packet_jitter": wait}, on={"packet_jitter": 0.0})
            ],
        )
        for wait in ("2pkt", 2 * packet_time(bottleneck))
    ]  # fmt: skip
    np.testing.assert_array_equal(found[0].packets, found[1].packets)
    assert found[0].refinements == found[1].refinements
    assert found[0].refinements[0].random_time == 2 * packet_time(bottleneck)


def test_known_limits_of_the_fluid_are_named(bottleneck) -> None:
    *others, last = bottleneck.links
    small = replace(bottleneck, links=(*others, replace(last, buffer=4.0)))
    found = explain(small, "losses", runs=2, refinements=[], options=RandomRuns(packet_jitter="1pkt"))
    assert found.limits == found.limits_of_fluid
    assert "small buffer" in found.summary()


def test_processes_give_the_same_as_threads(bottleneck) -> None:
    """What crosses the border of a process can be pickled, and the answer too."""
    given = {"measures": ["share", "losses"], "runs": 2, "duration": 0.1, "refinements": []}
    one = explain(bottleneck, **grouped(explain, given))
    with _Pickling() as pool:
        other = explain(bottleneck, **grouped(explain, given), executor=pool)
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


@pytest.mark.parametrize(("tcp", "names"), [("newreno", {"recovery", "timeouts"}), (None, {"recovery", "timeouts"})])
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
    (found,) = (each for each in default_refinements(takano2006("1")) if each.name == "whole counts")
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
    flows = [Flow(f"{n}", ("near", "router", "end"), CBR(50.0 + n)) for n in range(MAX_FLOWS + 1)]
    scenario = replace(bottleneck, flows=tuple(flows))
    run = simulate(scenario, duration=0.5, level="fluid")
    found = [each.of(run) for each in quantities_of(scenario, "share")]
    shares = run.measures["goodput"].values / 2e3
    np.testing.assert_allclose(found, [shares.mean(), shares.min()])


def test_losses_times_and_functions(run, bottleneck) -> None:
    def timeouts(run) -> float:
        return float(run.timeouts.sum())

    lost, first, last, own = quantities_of(bottleneck, ["losses", "first_loss", "completion", timeouts])
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


# Parts of Linux's stack: which a flow has, and that `explain` says what a run without one differs by.


OF_FLOWS = ["initial window", "delayed ACKs", "quick ACKs", "segments", "counting of packets"]
OF_CUBIC = ["HyStart", "beta", "whole windows at a loss", "count of ACKs"]
OF_RECOVERY = ["Linux's PRR", "RACK-TLP", "RACK-TLP and PRR"]
METHOD = Packets(seed=1, ack_delay=0.04)


def path(rule: Any, buffer: float = 33.0, **options: Any) -> Scenario:
    """Return a path of 20 Mb/s and 40 ms for one flow."""
    links = [
        Link("a", "b", "20Mbps", "20ms", buffer),
        Link("b", "a", "20Mbps", "20ms", 1000.0),
    ]
    return Scenario("path", links, [Flow("f", ("a", "b"), rule, **options)], duration=6.0)


def names(scenario: Scenario, method: Packets = METHOD) -> list[str]:
    return [part.name for part in parts_of_stacks(scenario, method)]


def test_a_stack_has_the_parts_that_its_flows_and_rules_have() -> None:
    linux = {"stack": "linux-6.12"}
    assert names(path(LinuxCUBIC(), **linux)) == OF_FLOWS + OF_CUBIC + OF_RECOVERY
    assert names(path(NewReno(), **linux)) == OF_FLOWS + OF_RECOVERY
    assert names(path(NewReno())) == []
    assert names(path(NewReno(), **linux), replace(METHOD, recovery="sack")) == OF_FLOWS
    off = path(LinuxCUBIC(hystart=0), initial_window=1, delayed_acks=False, segments=False, **linux)
    assert names(off) == [*OF_CUBIC[1:], *OF_RECOVERY]


def test_other_flows_stay_as_they_are() -> None:
    one = path(LinuxCUBIC(), stack="linux-6.12")
    both = replace(one, flows=(*one.flows, Flow("g", ("a", "b"), LinuxCUBIC())))
    for part in parts_of_stacks(both, METHOD):
        assert part.scenario.flows[1] == both.flows[1]
        assert dict(part.method.recovery or {}).keys() <= {"f"}


@pytest.mark.parametrize("part", [*OF_FLOWS, *OF_CUBIC, *OF_RECOVERY])
def test_each_part_changes_a_run(part: str) -> None:
    """A buffer that slow start overflows, with a loss now and then so that recoveries act."""
    scenario = path(LinuxCUBIC(), stack="linux-6.12")
    method = replace(METHOD, loss={"a->b": 0.001})
    (off,) = (each for each in parts_of_stacks(scenario, method) if each.name == part)
    runs = [simulate(s, m, sample=0.01) for s, m in ((scenario, method), off[1:])]
    assert not np.array_equal(runs[0].window, runs[1].window)


def test_explain_says_what_a_run_without_a_part_differs_by() -> None:
    scenario = path(LinuxCUBIC(), stack="linux-6.12")
    found = explain(
        scenario, ["losses", "share"], runs=2, packets=METHOD, refinements=[], options=RandomRuns(jitter=0.0)
    )
    assert list(found.stack) == OF_FLOWS + OF_CUBIC + OF_RECOVERY
    assert found.packets.shape == (2, 1, 2)
    parts = len(found.stack)
    assert found.without.shape == found.stack_effects.shape == (2, parts, 2)
    lost = [simulate(path(LinuxCUBIC(hystart=h), stack="linux-6.12"), METHOD).lost.sum() for h in (3, 0)]
    hystart = found.stack.index("HyStart")
    assert found.stack_effects[:, hystart, 0] == pytest.approx(lost[0] - lost[1])
    assert lost[0] < lost[1]
    rows = found.table().set_index(["quantity", "row"])["mean"]
    assert rows["packets lost", "with HyStart"] == pytest.approx(lost[0] - lost[1])
    assert f"of the stack HyStart {lost[0] - lost[1]:+.3g}" in found.text()
    data = found.to_xarray()
    assert data.stack_effect.dims == ("stack_part", "quantity", "estimate")
    assert f"packets without {parts} parts of the stack in turn" in str(found.summary()["runs"])


def test_without_a_stack_nothing_more_runs() -> None:
    found = explain(path(NewReno()), "losses", runs=2, refinements=[])
    assert found.stack == ()
    assert found.without.shape == (2, 0, 1)
    assert "stack" not in found.text()
    assert "stack_effect" not in found.to_xarray()
