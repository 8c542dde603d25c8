"""The claims of the slides: what decides them, evidence that says otherwise, and the runs."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pandas as pd
import pytest

from dfcmodel import simulate
from hopflow import mbps
from hopflow.intervals import t_quantile
from tests.surface import for_each
from validation import Verdict
from validation.claims.effect_claims import judging
from validation.claims.effect_statements import EQUAL, Effects, Statement
from validation.claims.kaneko2007 import level, one_rule, random_loss, runs
from validation.claims.kaneko2007.beside_reno import (
    SMALL_BDP,
    _deviation,
    small_buffers,
    windows_beside_reno,
)
from validation.claims.kaneko2007.decreases import _statements, share_ratio
from validation.claims.kaneko2007.identical_flows import THREE, _splits, assigned, fits, judge_panels, printed_splits
from validation.claims.kaneko2007.rule_pairs import _inside
from validation.claims.kaneko2007.runs import (
    RULES,
    apart,
    modelled,
    of_cases,
    relative,
    seeds_of,
    share,
    slow_start_of,
    uneven,
    uneven_means,
)
from validation.claims.kaneko2007.several_hops import (
    HOPS,
    METHODS,
    RATE,
    by_hops,
    falls,
    far,
    lot,
)
from validation.claims.kaneko2007.under_loss import (
    LARGE_LOSS_RATES,
    OTHERS,
    SMALL_LOSS_RATES,
    shares_under_loss,
)
from validation.records import rows
from validation.statistics import PART, Estimate

R, C, N = Verdict.HOLDS, Verdict.CONTRADICTED, Verdict.INCONCLUSIVE

# One flow beside a Reno flow.


def test_deviations_from_half_are_relative() -> None:
    (found,) = _deviation(Estimate(0.55, 0.01))
    assert (found.value, found.error) == pytest.approx((0.1, 0.02))


# Two flows of any two rules.


@pytest.mark.parametrize(("near", "verdict"), [(0.1, C), (0.145, N), (0.2, R)])
def test_cells_of_the_slide_have_a_threshold_of_their_own(near: float, verdict: Verdict) -> None:
    """A cell 15 per cent above the slide's, by its relative difference; the margin of fair shares does not count."""
    cells = Statement(_inside((Estimate(0.15, 0.005, dof=10), Estimate(-0.02, 0.005, dof=10))))
    for margin in (0.01, 1.0):
        judges = judging({"level": 0.01, "margin": margin, "near": near})
        assert judges.judge(Effects({"cells": cells}, {}, ("x", "y")))["cells"].packets is verdict


# The two versions of ARENO's rule: the packet per round trip of its probe beside Reno's, or one in all.


@pytest.mark.slow
@pytest.mark.parametrize(("measured", "inclusive"), [(windows_beside_reno, N), (small_buffers, R)])
def test_areno_is_judged_by_what_both_versions_say(measured, inclusive: Verdict) -> None:
    effects = measured()
    given = {"level": 0.01, "margin": runs.FAIR}
    sides = {
        name: statements["areno"].at(given)
        for name, statements in {"": effects.statements, **effects.readings}.items()
        if not name.startswith("a buffer")
    }
    assert {name: each.judged(*given.values()).model for name, each in sides.items()} == {
        "": N,
        runs.EXCLUSIVE_NAME: C,
        runs.INCLUSIVE_NAME: inclusive,
    }
    assert not sides[runs.INCLUSIVE_NAME].quantities  # no simulator has that version
    assert sides[""].judged_simulators(*given.values()) == {"ns-3": N}
    levels = judging(given).level_in_readings(effects)
    assert {name: each["areno"] for name, each in levels.items()} == {
        runs.EXCLUSIVE_NAME: C,
        runs.INCLUSIVE_NAME: inclusive,
    }


# The decrease RTTmin/RTT.


@pytest.mark.parametrize(("buffer", "ratio"), [(1.0, 1.0), (0.5, 5 / 3), (2.0, 2 / 3)])
def test_the_share_is_that_of_the_decrease_at_a_full_queue(buffer: float, ratio: float) -> None:
    """(2 - b)/(3 b) with b = x/(1 + x): one at a bandwidth-delay product, as the slide has it."""
    assert share_ratio(buffer) == pytest.approx(ratio)


def test_fifteen_seeds_show_a_gain_below_one_product(judged, doctor) -> None:
    """The first three, and the others at equal rates, leave it open."""
    assert judged("K11")["more"].packets is Verdict.HOLDS

    def even(frame: pd.DataFrame) -> pd.DataFrame:
        return frame.assign(goodput_bits=1e7 + frame["seed"] * (3 - 2 * frame["flow"]))

    doctor("kaneko2007/buffers-seeds-ns3", even)
    assert judged("K11")["more"].packets is Verdict.INCONCLUSIVE


def test_a_rate_that_is_certainly_less_is_less() -> None:
    """Whatever the margin of fair shares; rates that noise may turn, or that are more, are not."""
    at = {0.5: Estimate(0.2, 0.01, 2), 1.0: Estimate(0.0, 0.01, 2)}
    for above, verdict in ((-0.0665, R), (0.0665, C), (-0.001, N)):
        statements = _statements({"ns-3": at | {2.0: Estimate(above, 0.0005, 2)}}, None)
        for margin in (0.5 * runs.FAIR, runs.FAIR, 2.0 * runs.FAIR):
            judged = {
                key: each.at({"level": 0.01, "margin": margin}).judged(0.01, margin) for key, each in statements.items()
            }
            assert [judged[key].packets for key in ("equal", "more", "less")] == [R, R, verdict]


def test_rates_are_compared_on_one_scale() -> None:
    """Of means and of runs: a rate 0.71 or 1.41 times the other is at the margin of fair shares."""
    factor = (1.0 + runs.FAIR) / (1.0 - runs.FAIR)
    one, other = pd.Series({1: factor, 2: factor}), pd.Series({1: 1.0, 2: 1.0})
    assert uneven(one, other).value == pytest.approx(runs.FAIR)
    found = uneven_means(Estimate(factor, 0.1, 3), Estimate(1.0, 0.2, 5))
    assert (found.value, found.dof) == (pytest.approx(runs.FAIR), 3)
    rng = np.random.default_rng(4)
    a, b = rng.normal(factor, 0.01, 10_000), rng.normal(1.0, 0.02, 10_000)
    spread = float(((a - b) / (a + b)).std())
    assert uneven_means(Estimate(factor, 0.01), Estimate(1.0, 0.02)).error == pytest.approx(spread, rel=0.05)


# Which panels of the slides can be runs of which rule.


def test_the_splits_are_shares_of_the_printed_rates() -> None:
    splits = printed_splits()
    rates = [float(row["throughput_mbit_per_s"]) for row in rows("kaneko2007_three_flows.csv")]
    assert splits.shape == (6, 3)
    assert splits[0] == pytest.approx(np.array(rates[:3]) / sum(rates[:3]))


def test_runs_near_the_panels_are_assigned_one_each_and_others_to_none() -> None:
    """Runs that scatter by 0.001 around the panels; a rule that is none of them, and two that are the same."""
    scatter = np.array([[0.001, -0.001, 0.0], [-0.001, 0.0, 0.001], [0.0, 0.001, -0.001]])
    panels = printed_splits()
    splits = {f"rule {n}": panel + scatter for n, panel in enumerate(panels)}
    assert assigned(panels, splits, 0.01) == 6
    assert fits(panels, splits, 0.01).sum() == 6
    splits["rule 5"] = splits["rule 4"]
    assert assigned(panels, splits, 0.01) == 5
    splits["rule 0"] = np.array([0.8, 0.1, 0.1]) + scatter
    assert assigned(panels, splits, 0.01) == 4


@pytest.mark.parametrize("case", THREE)
def test_panels_without_names_are_never_upheld(case: str) -> None:
    """Equal shares, the flows in reverse order, and random shares fit as well as the slides' panels."""
    splits, panels = _splits(case), printed_splits()
    rng = np.random.default_rng(88)
    drawn = [rng.dirichlet(np.full(3, 10.0), len(panels)) for _ in range(20)]
    others = [np.full_like(panels, 1.0 / 3.0), panels[:, ::-1], *drawn]
    verdicts = [judge_panels(each, splits, 0.01) for each in (panels, *others)]
    assert set(verdicts) <= {Verdict.UNDECIDABLE, C}
    assert verdicts[:3] == [Verdict.UNDECIDABLE] * 3


def test_panels_that_no_rule_has_contradict_the_claim() -> None:
    panels = np.tile([0.8, 0.1, 0.1], (6, 1))
    assert judge_panels(panels, _splits(THREE[0]), 0.01) is C


# K01 notices a Fusion that is behind; a full link is full for every rule.


def share_of_link(value: float, half: float) -> Estimate:
    """Return a share of the link with the half-width of its interval."""
    return Estimate(value, half / t_quantile(float("inf")), within=PART)


@for_each(
    [
        (share_of_link(0.9, 0.01), share_of_link(0.5, 0.01), R),
        (share_of_link(0.5, 0.01), share_of_link(0.9, 0.01), C),
        (share_of_link(0.9, 0.01), share_of_link(0.903, 0.01), N),  # intervals that overlap show nothing
        (share_of_link(0.9, 0.001), share_of_link(0.92, 0.05), N),
        (share_of_link(0.8, 0.05), share_of_link(0.9, 0.053), C),
        (share_of_link(0.5, 0.0), share_of_link(0.504, 0.0), R),  # the slack is half a hundredth of the link
        (share_of_link(0.5, 0.0), share_of_link(0.515, 0.0), C),
        (share_of_link(0.8, 0.001), share_of_link(0.8, 0.001), R),  # within the slack alone
        (share_of_link(0.999, 0.001), share_of_link(0.991, 0.1), R),  # nobody has more than the link
    ]
)
def test_first_is_who_certainly_has_no_less_than_every_other(fusion, other, verdict) -> None:
    assert random_loss.first([{"fusion": fusion, "reno": other}], 0.005, 0.01) is verdict
    assert random_loss.not_below_reno([{"fusion": fusion, "reno": other}], 0.005, 0.01) is verdict


def test_without_a_margin_a_little_more_counts_unless_the_link_is_full() -> None:
    """At the highest loss rate all rules have less than two hundredths of the link."""
    fusion, ahead, full = share_of_link(0.0153, 0.0002), share_of_link(0.0177, 0.0002), share_of_link(0.9999, 0.0)
    assert random_loss.first([{"fusion": fusion, "areno": ahead}], 0.01, 0.01) is R
    assert random_loss.first([{"fusion": fusion, "areno": ahead}], 0.01, 0.01, least=0.0) is C
    assert random_loss.first([{"fusion": full, "areno": share_of_link(1.0, 0.0)}], 0.01, 0.01, least=0.0) is R


# Reno's saw tooth alone, behind a buffer of half the bandwidth-delay product.


def test_reno_is_below_the_product_for_two_sevenths_of_the_time() -> None:
    # Growth by one packet in each round trip from 3/4 of the product to the full buffer.
    windows = np.arange(0.75 * one_rule.BDP, 1.5 * one_rule.BDP)
    round_trips = np.maximum(windows / one_rule.BDP, 1.0)
    below = round_trips[windows < one_rule.BDP].sum() / round_trips.sum()
    assert below == pytest.approx(one_rule.RENO_BELOW, abs=2e-3)


# Windows alone, other round trips, long paths.


@pytest.mark.slow
def test_windows_are_judged_by_their_distance_from_the_product() -> None:
    """The slide's quantity, at the margin and at half of it; every source contradicts it."""
    statement = one_rule.windows_alone().statements["near"]
    for margin in (0.5 * EQUAL, EQUAL):
        near = statement.at({"level": 0.01, "margin": margin})
        assert near.judged_simulators(0.01, margin) == {"ns-2": C, "ns-3": C}
        assert near.judged_level(0.01, margin) is C
    assert statement.at({"level": 0.01, "margin": EQUAL}).judged(0.01, EQUAL).model is C


def test_ratios_of_six_and_ten_are_not_the_same() -> None:
    """Shares of 0.14 and 0.09 of the longer flow differ by less than a tenth, and their ratios by more than the margin."""
    six, ten = Estimate(0.144, 0.002, 9), Estimate(0.088, 0.003, 9)
    assert one_rule.ratio_of(six).value == pytest.approx(5.94, abs=0.01)
    shares = {"compound": dict.fromkeys(one_rule.LONG_RTTS, six), "reno": dict.fromkeys(one_rule.LONG_RTTS, ten)}
    for quantities, verdict in ((one_rule._same_ratio(shares), C), (one_rule._as_reno(shares), R)):
        assert Statement(quantities, equal=True).judged(0.01, runs.FAIR).packets is verdict


@pytest.mark.slow
def test_equal_runs_of_fusion_are_enough() -> None:
    (fall,) = one_rule.added_delay().statements["fusion"].model
    assert (fall.error, fall.dof) == (0.0, 7)
    assert fall.p_positive() < 0.01


# Flows over several bottlenecks, with reverse traffic.


def test_flows_end_behind_the_last_link_and_reverse_ones_cross_one() -> None:
    scenario = lot("cubic", 4, np.zeros(HOPS * 6))
    forward, back = scenario.flows[: 2 * HOPS], scenario.flows[2 * HOPS :]
    assert [len(flow.hops) for flow in forward] == [1, 1, 2, 2, 3, 3]
    assert {flow.path[-1] for flow in forward} == {HOPS}
    assert [flow.hops for flow in back] == [((h + 1, h),) for h in range(HOPS) for _ in range(4)]
    assert [type(flow.source).__name__ for flow in forward] == ["CUBIC", "Reno"] * HOPS


def test_the_last_link_is_full_and_fewer_hops_have_more_of_it() -> None:
    starts = np.linspace(0.0, 0.1, HOPS * 2)
    run = simulate(lot("reno", 0, starts), METHODS["fluid"], duration=10.0, sample=1.0)
    goodput = np.diff(run.delivered[:, [1, -1]])[:, 0] / 8.0
    assert goodput.sum() == pytest.approx(mbps(RATE), rel=0.02)
    assert goodput[:2].sum() > goodput[2:4].sum() > goodput[4:].sum()


def test_falls_are_of_the_rules_own_flows() -> None:
    rows = [
        {"seed": s, "hops": h, "flow_rule": rule, "goodput_bits": 1e6 * (value / h + 0.1 * s)}
        for s in (1, 2, 3)
        for h in (1, 2, 3)
        for rule, value in (("fusion", 6.0), ("reno", 60.0))
    ]
    frame = pd.DataFrame(rows)
    assert [round(e.value, 9) for e in falls(by_hops(frame, "fusion"))] == [3.0, 1.0]
    assert far(frame, "reno").value == pytest.approx(1 / 3, rel=0.02)


# K02: shares beside Reno under random loss, over the seeds that two rules have in common.


@cache
def found() -> Effects:
    """Return the estimates of all statements: measured when a test needs them, not when tests are collected."""
    measured: Effects = shares_under_loss.measure()
    return measured


@pytest.mark.slow
def test_every_quantity_is_a_number() -> None:
    """Seeds of one rule without a partner once made them NaN, and their statements inconclusive."""
    for key, statement in found().statements.items():
        for tool, estimates in statement.quantities.items():
            assert all(math.isfinite(e.value + e.error) for e in estimates), (key, tool)


@pytest.mark.slow
def test_small_and_larger_loss_rates_are_judged_apart() -> None:
    fair, leaves = (found().statements[key].quantities["ns-3"] for key in ("fair", "leaves"))
    assert (len(fair), len(leaves)) == (len(SMALL_LOSS_RATES), len(LARGE_LOSS_RATES))
    assert set(OTHERS) <= {"fusion", "areno", "compound"}


def test_runs_without_a_partner_are_left_out() -> None:
    one, other = pd.Series({1: 2.0, 2: 2.2, 3: 9.0}), pd.Series({1: 1.0, 2: 1.0})
    assert relative(one, other).value == pytest.approx(1.1)
    assert uneven(one, other).value == pytest.approx((1 / 3 + 1.2 / 3.2) / 2)


# Bundled runs of the slides' rules, and the same with the rules of responsefn.

CASE = "kaneko2007/small-bdp-ns3"


def test_shares_of_two_flows_add_up_to_one() -> None:
    frame = of_cases(CASE)
    assert share(frame, 1, rule="fusion").value + share(frame, 2, rule="fusion").value == pytest.approx(1)


def test_a_flow_differs_from_itself_by_nothing() -> None:
    rates = seeds_of(of_cases(CASE), rule="fusion", flow=1)
    assert relative(rates, rates).value == 0.0


def test_the_model_carries_no_more_than_the_link() -> None:
    frame = modelled(CASE, "rule == 'fusion'")
    assert set(frame["rule"]) == {"fusion"}
    packet = 8 * 1500 / frame["duration"].iloc[0]  # one begun before the window may end in it
    assert frame.groupby("seed")["goodput_bits"].sum().max() <= 30e6 + packet * (1 + 1e-9)


def test_the_first_slow_start_ends_where_the_bundled_runs_end_it() -> None:
    """A flow's part of the bandwidth-delay product, by the case's driver."""
    from validation.generate.kaneko2007.sweeps import CASES

    for case in CASES:
        if case.name in (CASE, "kaneko2007/rtt-fairness-ns3", "kaneko2007/pairs-ns3"):
            run = case.runs[0]
            group = pd.DataFrame({"base_rtt": run["rtts"]})
            assert slow_start_of(group, {"rate": run["rate"]}) == run["ssthresh"], case.name


# Runs by rule and simulator.


def test_no_simulator_hides_the_runs_of_another() -> None:
    one = pd.DataFrame({"rule": ["reno", "bic"], "seed": [1, 1]})
    other = pd.DataFrame({"rule": ["reno", "reno"], "seed": [1, 2]})
    found = apart(("ns-2", one), ("ns-3", other))
    assert {rule: {tool: len(runs) for tool, runs in each.items()} for rule, each in found.items()} == {
        "reno": {"ns-2": 1, "ns-3": 2},
        "bic": {"ns-2": 1},
    }


# The slides' runs at hopflow's packet level.


def test_reno_shares_with_reno_and_bic_without_its_search_does_too() -> None:
    chosen = {"reno": {}, "bic": {"version": "bic like Reno"}}
    for rule, how in chosen.items():
        runs = level.levelled(SMALL_BDP["ns-3"][0], f"rule == {rule!r}", rules=tuple(RULES), **how)
        assert share(runs, 1).value == pytest.approx(0.5, abs=0.01)


def test_bic_takes_more_on_a_short_path() -> None:
    runs = level.levelled(SMALL_BDP["ns-3"][0], "rule == 'bic'", rules=tuple(RULES))
    assert share(runs, 1).value > 0.7
