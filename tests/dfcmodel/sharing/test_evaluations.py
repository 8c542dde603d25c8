"""RFC 9743: paths, verdicts, and the worst path of a rule."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

from dfcmodel import (
    Aggregation,
    DelayTrace,
    DualPI2,
    Flow,
    JitteredPath,
    Link,
    Packets,
    Scenario,
    evaluate_rfc9743,
    simulate,
    worst_case,
)
from dfcmodel.sharing.bottlenecks import Bottleneck
from dfcmodel.sharing.convergence import WIDTH
from dfcmodel.sharing.evaluations import PATHS, PathSet
from dfcmodel.sharing.rfc9743_measures import MEASURES, QUEUES, Bench
from dfcmodel.sharing.rfc9743_verdicts import ANSWERS, MARGIN, differences, judge
from dfcmodel.sharing.worst_paths import SHARE
from responsefn import (
    BBR,
    CUBIC,
    DCTCP,
    FAST,
    BBRv1,
    Copa,
    NewReno,
    Vegas,
    Vivace,
    WindowRule,
)

QUANTITIES = {measure.name: measure.quantity for measure in MEASURES}

# RFC 9743: the standard rule equals itself, sections are answered or named as not covered.

ONE = (PathSet("small", 500.0, 0.02, 10),)


@pytest.mark.slow
def test_every_section_is_measured_or_named() -> None:
    found = evaluate_rfc9743(CUBIC(), paths=ONE, duration=5.0, runs=1)
    named = {*found.table["section"].str.split().str[0], *" ".join(found.not_covered).split()}
    for section in ("5.1.1", "5.1.2", "5.1.3", "5.1.4", "5.1.5", "5.2.1", "5.2.2", "5.2.3",
                    "5.3", "6.2", "6.3", "6.4", "7.1", "7.2", "7.3", "7.4", "7.6", "7.7", "7.8", "7.9",
                    "7.10", "7.11"):  # fmt: skip
        assert section in named
    assert all(why in repr(found) for why in found.not_covered.values())
    assert found.to_xarray().sizes["row"] == len(found.table)
    assert "<img" in found._repr_html_()


def test_paths_are_a_range() -> None:
    assert {path.buffer / path.product for path in PATHS} >= {0.25, 1.0, 4.0}
    assert max(path.rtt for path in PATHS) >= 0.5
    assert min(path.rtt for path in PATHS) <= 1e-3


@pytest.mark.parametrize("rule", [BBR(), DCTCP()], ids=repr)
def test_other_queues_and_senders(rule: WindowRule) -> None:
    """With L4S's queue, which marks; rules that answer marks are refused where nothing does."""
    found = evaluate_rfc9743(rule, paths=ONE, duration=5.0, runs=1, discipline=DualPI2())
    assert np.isfinite(found.table.query("unit != 'RTTs'")["value"]).all()
    assert {"7.1", "5.2.1"} <= {*found.table["section"].str.split().str[0]}
    if rule.signal == "mark":
        with pytest.raises(ValueError, match="answers congestion marks"):
            evaluate_rfc9743(rule, paths=ONE, duration=5.0, runs=1)
    with pytest.raises(TypeError, match="discipline = 'codel': must be a discipline"):
        evaluate_rfc9743(rule, paths=ONE, discipline="codel")  # type: ignore[arg-type]


def test_intervals_end_where_a_measure_does() -> None:
    found = evaluate_rfc9743(CUBIC(), paths=ONE, duration=5.0, runs=2).table
    shares = found.query("measure.str.startswith('losses') or measure.str.startswith('utilisation')")
    assert (shares["half_width"] > shares["value"]).any()  # which would reach below 0
    assert (shares["low"] >= 0.0).all()
    assert (shares["high"] <= np.maximum(1.0, shares["value"])).all()
    jain = found.query('measure == "Jain\'s index of 8 flows"')
    assert jain["low"].item() >= 1 / 8
    assert (found["low"] <= found["value"]).all()
    assert (found["value"] <= found["high"]).all()
    assert found.query("measure.str.startswith('RTT exponent')")["low"].item() < 0.0  # it may be anything


# What is measured for RFC 9743: each queue of 7.1 keeps the delay below that of drop-tail.

AT = Bench(Bottleneck(1000.0, 0.04, 160, duration=20.0, warm_up=4.0), seed=1)


@pytest.mark.parametrize("name", QUEUES)
def test_managed_queues_are_shorter_and_carry_almost_as_much(name: str) -> None:
    ask = {measure.name: measure.run for measure in MEASURES}
    assert ask[f"utilisation of 2 flows with {name}"](AT, NewReno()) > 0.85
    longest = ask["queueing delay of one flow"](AT, NewReno())
    assert ask[f"delay of 2 flows with {name}"](AT, NewReno()) < 0.5 * longest


def test_measures_have_names_of_their_own() -> None:
    names = [measure.name for measure in MEASURES]
    assert len(set(names)) == len(names)


@pytest.mark.slow
def test_the_standard_rule_is_no_worse_than_itself() -> None:
    """Its differences are 0 on all seeds, so that five of them are enough; only what cannot be judged is left."""
    found = evaluate_rfc9743(NewReno(), paths=ONE, duration=5.0, runs=9)
    np.testing.assert_array_equal(found.table["value"], found.table["newreno"])
    assert (found.table[["difference", "difference_low", "difference_high"]] == 0.0).all(axis=None)
    assert (found.table["seeds"] == 5).all()
    assert found.wide.empty
    assert {each.answer for each in found.verdicts} == {"holds", "not judged"}
    assert all(each.why for each in found.verdicts)
    kept = found.table.query("measure == 'rate that NewReno keeps'")["value"].item()
    assert kept == pytest.approx(1.0, abs=0.15)  # two flows of one kind, in 10 s


@pytest.mark.slow
def test_seeds_stop_where_the_interval_is_narrow_or_the_budget_is_spent() -> None:
    found = evaluate_rfc9743(CUBIC(), paths=ONE, duration=10.0, runs=6)
    width = found.table["difference_high"] - found.table["difference_low"]
    narrow = width <= WIDTH
    assert (found.table["seeds"][~narrow] == 6).all()
    assert found.table["seeds"].between(5, 6).all()
    assert 0 < len(found.wide) == (~narrow).sum() < len(width)
    said = f"{len(found.wide)} of {len(width)} rows are wider after 6"
    assert said in " ".join(repr(found).split())


def test_delay_is_no_congestion_for_newreno_but_is_for_vegas() -> None:
    """RFC 9743, 7.3: inferring congestion from a longer delay reduces throughput where the minimum delay changes."""
    at = Bench(Bottleneck(1000.0, 0.02, 20, duration=20.0, warm_up=4.0), seed=1)
    ask = {measure.name: measure.run for measure in MEASURES}
    for measure in (
        "utilisation after the minimum delay doubles",
        "utilisation with jitter of half a RTT",
    ):
        assert ask[measure](at, Vegas()) < ask[measure](at, NewReno()) - 0.1
    assert ask["utilisation alone"](at, Vegas()) > 0.98


def test_what_interrupts_or_reorders_costs_what_it_takes_away() -> None:
    """The sender of half the link's mean capacity is not measured against its largest one; reordering is loss to NewReno."""
    at = Bench(Bottleneck(1000.0, 0.02, 20, duration=20.0, warm_up=4.0), seed=1)
    ask = {measure.name: measure.run for measure in MEASURES}
    for measure in ("utilisation of a capacity of 1/4 to 1", "utilisation over two interruptions"):
        assert 0.9 < ask[measure](at, NewReno()) <= 1.01
    assert ask["utilisation, 10 % of packets a RTT late"](at, NewReno()) < 0.4
    assert ask["losses of a sudden flow of half the rate"](at, NewReno()) > 0.0


def _row(section: str, low: float, high: float) -> dict[str, object]:
    middle = 0.5 * (low + high)
    return {"section": section, "measure": "m", "path": "p", "unit": "", "value": 1.0, "newreno": 1.0,
            "difference": middle, "difference_low": low, "difference_high": high, "seeds": 8}  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "answer"),
    [
        ([(-0.04, 0.2), (0.0, 0.1)], "holds"),
        ([(-0.06, 0.2), (0.0, 0.1)], "undecided"),
        ([(np.nan, np.nan), (0.0, 0.1)], "undecided"),
        ([(-0.2, -0.08), (0.0, 0.1)], "contradicted"),
        ([(-np.inf, -np.inf), (np.nan, np.nan)], "contradicted"),
    ],
)
def test_a_section_is_judged_by_all_its_rows(rows: list[tuple[float, float]], answer: str) -> None:
    table = pd.DataFrame([_row("6.3 wired", *row) for row in rows])
    (verdict,) = judge(table, {})
    assert verdict.answer == answer
    assert answer in ANSWERS
    assert MARGIN == 0.05


def test_the_lowest_of_many_rows_is_not_worse_by_its_own_interval_alone() -> None:
    """Of 40 rows at the margin one interval is below it by chance: a section is contradicted at the level of all together."""
    worse = _row("6.3 wired", -0.16, -0.06)
    (alone,) = judge(pd.DataFrame([worse]), {})
    (among,) = judge(pd.DataFrame([worse, *[_row("6.3 wired", -0.04, 0.06)] * 39]), {})
    assert (alone.answer, among.answer) == ("contradicted", "undecided")
    wider = t.ppf(1 - 0.01 / 40, 7) / t.ppf(0.99, 7)
    assert -0.11 + 0.05 * wider >= -MARGIN


def test_a_section_whose_differences_lie_at_the_margin_is_rarely_contradicted() -> None:
    """Eight seeds of 30 rows that are worse by the margin exactly: at most 2.5 %, and three deviations of 300 sections."""
    draw = np.random.default_rng(1)
    answers = []
    for _ in range(300):
        rows = []
        for _ in range(30):
            found = differences(QUANTITIES["utilisation alone"], 0.85 + 0.05 * draw.standard_normal(8), np.full(8, 0.9))
            rows.append(_row("6.3 wired", found.low, found.high))
        answers.append(judge(pd.DataFrame(rows), {})[0].answer)
    assert answers.count("contradicted") <= 300 * 0.025 + 3 * (300 * 0.025 * 0.975) ** 0.5
    assert answers.count("holds") <= 8


def test_the_interval_of_a_part_contains_the_ratio_of_both_means() -> None:
    """NewReno's mean is measured as well: a rule twice as slow, with noise on both, 95 % of 400 within three deviations."""
    draw = np.random.default_rng(2)
    inside = 0
    for _ in range(400):
        slow, standard = (mean * (1.0 + 0.2 * draw.standard_normal(8)) for mean in (20.0, 10.0))
        found = differences(QUANTITIES["queueing delay of one flow"], slow, standard)
        inside += found.low <= -1.0 <= found.high
    assert inside >= 400 * 0.95 - 3 * (400 * 0.95 * 0.05) ** 0.5


def test_differences_are_better_where_they_are_positive() -> None:
    """Points of a share; a part of the standard's value otherwise; a flow that never finishes is the worst."""
    assert differences(QUANTITIES["utilisation alone"], [0.9, 0.9], [0.8, 0.8]).value == pytest.approx(0.1)
    assert differences(QUANTITIES["losses of 8 flows"], [0.02, 0.02], [0.01, 0.01]).value == pytest.approx(-0.01)
    delay = differences(QUANTITIES["queueing delay of one flow"], [30.0, 30.0], [20.0, 20.0])
    assert delay.value == pytest.approx(-0.5)
    short = "50 packets of the rule beside it"
    assert differences(QUANTITIES[short], [np.nan, np.nan], [9.0, 8.0]).high == -np.inf
    assert np.isnan(differences(QUANTITIES[short], [np.nan, 8.0], [9.0, 8.0]).value)
    exponent = differences(QUANTITIES["RTT exponent, R and 2R"], [-0.5, -0.5], [1.0, 1.0])
    assert exponent.value == pytest.approx(0.5)  # -0.5 is nearer to 0
    assert np.isnan(differences(QUANTITIES["utilisation alone"], [0.9], [0.8]).low)  # one seed


# The delay within a bound that hurts a rule most.


PATH = JitteredPath("12Mbps", "50ms", buffer=300, bound="30ms")


def test_vegas_starves_by_a_delay_that_is_absent_for_two_round_trips() -> None:
    """It takes the delay for its own queue and has less than a tenth of the share, without loss."""
    found = worst_case(Vegas(), PATH, runs=9, repeats=5)
    assert found.without > 0.3
    assert found.value < 0.05
    assert found.value == found.fresh.mean() != found.tried.min()  # measured again with other seeds
    assert max(found.trace.delays) == PATH.bound
    assert found.verdict == "hurts"
    for values, half, single in (
        (found.fresh, found.value_half_width, found.value_prediction_half_width),
        (found.fresh_without, found.without_half_width, found.without_prediction_half_width),
    ):
        assert half == pytest.approx(t.ppf(0.975, 4) * values.std(ddof=1) / 5**0.5)
        assert single == pytest.approx(half * 6**0.5)


def test_one_fresh_seed_has_no_interval_and_no_verdict() -> None:
    found = worst_case(Vegas(), PATH, runs=2, repeats=1)
    assert np.isnan(found.value_half_width)
    assert found.verdict == "inconclusive"
    assert "±" not in str(found.summary()["worst"])


def test_the_best_of_noise_is_not_called_worse() -> None:
    """A delay that changes nothing: the lowest single run is low by chance, its fresh runs are not."""
    noise = np.random.default_rng(3).normal(0.5, 0.1, (2, 200, 5))
    found = worst_case(NewReno(), replace(PATH, bound=0.0), runs=1, repeats=1)
    trace = DelayTrace("in->out", (0.0,), (0.0,), flows=("1",), acks=True)
    verdicts = [
        replace(found, trace=trace, fresh=fresh, fresh_without=without).verdict
        for fresh, without in zip(*noise, strict=True)
    ]
    assert verdicts.count("hurts") <= 200 * 0.025 + 3 * (200 * 0.025 * 0.975) ** 0.5
    assert verdicts.count("inconclusive") >= 180


def test_a_saved_result_of_single_runs_is_read() -> None:
    found = worst_case(Vegas(), PATH, runs=1, repeats=1)
    state = {**vars(found), "value": 0.1, "without": 0.4}
    old = object.__new__(type(found))
    old.__setstate__({name: value for name, value in state.items() if not name.startswith("fresh")})
    assert (old.value, old.without, old.verdict) == (0.1, 0.4, found.verdict)
    assert np.isnan(old.value_half_width)


def test_neighbouring_seeds_share_no_run() -> None:
    one, other = (worst_case(Vegas(), PATH, runs=1, seed=seed, repeats=3) for seed in (0, 1))
    assert not set(one.fresh_without) & set(other.fresh_without)


def test_a_trace_is_replayed_to_the_value_that_was_found() -> None:
    found = worst_case(Vegas(), PATH, runs=9, repeats=5)
    again = found.replay()
    begin = np.searchsorted(again.time, 0.4 * PATH.duration)
    rates = again.delivered[:, -1] - again.delivered[:, begin]
    assert rates.min() / rates.sum() == pytest.approx(found.fresh[0], abs=1e-3)
    scenario = replace(PATH.scenario(Vegas(), None), elements=(found.trace,))
    run = simulate(scenario, Packets(seed=0), duration=PATH.duration)
    assert run.delivered[:, -1].min() < 0.15 * run.delivered[:, -1].sum()


def test_a_longer_search_finds_nothing_better_for_the_rule() -> None:
    short, long = (worst_case(FAST(), PATH, runs=runs, repeats=3) for runs in (4, 16))
    np.testing.assert_array_equal(long.tried[:4], short.tried)
    assert long.tried.min() <= short.tried.min()
    np.testing.assert_array_equal(long.fresh_without, short.fresh_without)


def test_a_bound_of_nothing_hurts_nobody() -> None:
    found = worst_case(NewReno(), replace(PATH, bound=0.0), SHARE, runs=3, repeats=3)
    assert found.trace is None
    assert found.value == found.without
    assert found.summary()["delay"] == "none"


def test_the_utilisation_of_one_flow() -> None:
    """Copa takes alternating delays for its own queue and halves its rate."""
    found = worst_case(Copa(), PATH, "utilisation", runs=8, repeats=3)
    assert found.without > 0.95
    assert found.value < 0.6 * found.without
    assert found.plot().get_ylabel() == "rate (packets/s)"


def rates(rule, trips, elements=()) -> np.ndarray:
    """Return the mean rates of flows over 120 Mb/s from 10 s to 60 s, Mb/s."""
    names = ("first", "second")[: len(trips)]
    links = [Link("router", "end", "120Mbps", "1ms", 10_000)]
    links += [Link(name, "router", "1200Mbps", 0.5 * trip - 1e-3, 1e5) for name, trip in zip(names, trips, strict=True)]
    flows = [Flow(name, (name, "router", "end"), rule) for name in names]
    scenario = Scenario("flows", links, flows, duration=60.0, elements=elements)
    run = simulate(scenario, Packets(seed=1), sample=0.1, packet_jitter="1pkt")
    return run.mean_goodput(10.0) * 12e-3


def misled(by: float) -> DelayTrace:
    times, delays = (0.0, 0.06, 0.061), (by, 0.0, by)
    return DelayTrace("first->router", times, delays, period=4.0, acks=True, in_order=False)


@pytest.mark.parametrize("by", [1e-3, 3e-3])
def test_copa_takes_a_constant_delay_for_its_queue(by: float) -> None:
    """Its rate is 1/(delta d) (Arun et al. 2022, Sect. 5.1), and the other flow has the rest of the link."""
    first, second = rates(Copa(competitive=0), (0.06, 0.06), (misled(by),))
    assert first == pytest.approx(12e-3 / (0.5 * by), rel=0.1)
    assert first + second > 115.0


def test_the_first_version_of_bbr_starves_the_shorter_round_trip() -> None:
    """Arun et al. 2022, Sect. 5.2: 8.3 and 107 Mb/s, round trips of 40 and 80 ms."""
    alike, apart = (rates(BBRv1(), trips) for trips in ((0.04, 0.04), (0.04, 0.08)))
    assert alike.min() > 0.8 * alike.max()
    assert apart[0] / apart.sum() == pytest.approx(8.3 / 115.3, abs=0.05)


def test_vivace_of_the_module_for_linux_starves_behind_acks_in_groups() -> None:
    """Arun et al. 2022, Sect. 5.3: 9.9 and 99.4 Mb/s; a regression over the packets of an interval sees no increase."""
    together = (Aggregation("first->router", interval=0.06),)
    linux, user = (rates(Vivace(smoothed=n), (0.06, 0.06), together) for n in (1, 0))
    assert linux[0] / linux.sum() == pytest.approx(9.9 / 109.3, abs=0.06)
    assert user.min() > 0.3 * user.max()


def test_fast_shares_equally_after_losses_in_slow_start() -> None:
    """Both keep alpha packets in the queue: windows shrink below the threshold of the last loss."""
    both = rates(FAST(), (0.06, 0.06))
    assert both[0] == pytest.approx(both[1], rel=0.02)
