"""Explanations of the gap between levels, their contributions and instances."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import Fluid, Packets, takano2006
from dfcmodel.levels.contributions import in_order, shapley_values
from dfcmodel.levels.instances import Runs, checked_runs, refuse_one_level
from dfcmodel.results import Explanation
from tests.dfcmodel.intervals import student_interval
from tests.dfcmodel.levels.conftest import by_input

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
        for name, values in zip(
            explanation.parts, explanation.contributions[:, :, q].T, strict=True
        ):
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
    changed = replace(explanation, fluid=fluid, packets=packets)
    said = f"{explanation.runs} runs are too few to tell any part from 0: give more runs"
    assert changed.summary()["parts"] == said
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


def test_starts_are_delayed_and_differ_between_runs(bottleneck) -> None:
    runs = Runs(3, seed=1, duration=1.0, sample=0.01, jitter=0.5)
    found = [runs.instance(bottleneck, seeds) for seeds in runs.seeds()]
    starts = [flow.start for scenario, _ in found for flow in scenario.flows]
    assert len(set(starts)) == 6
    assert all(0.0 <= start <= 0.5 for start in starts)
    assert len({seed for _, seed in found}) == 3
    assert runs.instance(bottleneck, runs.seeds()[1]) == found[1]


def test_defaults_follow_the_scenario(bottleneck) -> None:
    given = {"runs": 2, "seed": 0}
    runs = checked_runs(bottleneck, Fluid(), **given, duration=None, jitter=None)
    assert (runs.duration, runs.jitter) == (1.0, bottleneck.base_rtt(bottleneck.flows[0]))
    short = checked_runs(bottleneck, Fluid(), **given, duration=1e-3, jitter=None)
    assert (short.jitter, short.sample) == (1e-3, 2e-3 / 4)  # no shorter than a step


def test_what_one_level_cannot_run_is_refused(bottleneck) -> None:
    refuse_one_level(bottleneck, Packets(loss={"near->router": 0.0}))
    with pytest.raises(ValueError, match="both levels"):
        refuse_one_level(by_input(takano2006("1")), Packets())
    with pytest.raises(ValueError, match="loss"):
        refuse_one_level(bottleneck, Packets(loss={"near->router": 0.1}))
