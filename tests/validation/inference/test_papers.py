"""What is inferred for each paper, and the statements that are judged with it."""

from __future__ import annotations

import numpy as np
import pytest

from validation import table
from validation.claims.yang2001 import best_effort, priorities, queueing
from validation.claims.yang2001.tables import DISCIPLINES, seen
from validation.inference import kaneko2007, table_4, yang2001, zheng2002
from validation.inference.designs import PARAMETERS, settings
from validation.inference.parameters import points
from validation.inference.rule_pairs import (
    LONG_RTTS,
    NAMES,
    PAIRS,
    Bottleneck,
    experiments,
    rules_of,
    throughputs,
)
from validation.inference.table_4 import printed, simulated
from validation.inference.transfer_times import STATEMENTS, Times

# kaneko2007: the cells of the slide, the runs, and what follows for the claims.


def test_the_slide_as_ratios_and_sums() -> None:
    ratios, sums = kaneko2007.printed()
    at = PAIRS.index(("Reno", "HSTCP"))
    assert np.exp(ratios[at]) == pytest.approx(10.32 / 78.22)
    assert np.exp(sums[at]) == pytest.approx(10.32 + 78.22)
    same = PAIRS.index(("BIC", "BIC"))
    assert (ratios[same], np.exp(sums[same])) == (0.0, pytest.approx(2 * 44.81))


def test_runs_use_the_link_and_not_more() -> None:
    settings, goodputs = kaneko2007.simulated()
    assert all(both.shape == (len(settings), 2) for both in goodputs.values())
    for (name, _, _), both in goodputs.items():
        assert both.sum(axis=1).max() < (30.5 if name == "small" else 101.0)


@pytest.mark.slow  # 48 interpolations at 8192 settings: 5 s
def test_claims_are_judged_at_every_candidate() -> None:
    found = kaneko2007.inferred()
    assert (found.used, found.aside) == (41, 4)  # 21 ratios and 28 sums, four of each set aside
    assert {each.claim for each in found.claims} == {"K03", "K05", "K06"}
    for weight in found.claims:
        assert 0.0 <= weight.every <= min(weight.statements.values()) + 1e-12


# Pairs of flows at one setting: what is printed, stated links, equal flows.

SETTING = settings("kaneko2007")[0]


def test_experiments_are_those_of_three_slides() -> None:
    every = list(experiments(SETTING))
    assert len(every) == len(PAIRS) + len(NAMES) - 1 + len(LONG_RTTS) * len(NAMES) == 48
    assert every[0][2] == Bottleneck(100e6, (0.0817, 0.0817), 340, 1e-6)
    assert {link.bits for name, _, link in every if name == "small"} == {30e6}


def test_rules_have_the_values_of_the_setting() -> None:
    rules = rules_of(SETTING)
    assert tuple(rules) == NAMES
    assert rules["CUBIC"].beta == SETTING["cubic_beta"]
    assert rules["BIC"].b == SETTING["bic_b"]


def test_a_bundled_row_is_found_again() -> None:
    """The last experiment but six, 20 s at 30 Mb/s: the same seed gives the same packets."""
    n, (name, pair, link) = next(
        (n, each)
        for n, each in enumerate(experiments(SETTING))
        if each[:2] == ("small", ("CUBIC", "Reno"))
    )
    rows = table("kaneko2007/unstated-parameters", "pairs")
    (row,) = rows[
        (rows["setting"] == 1) & (rows["experiment"] == name) & (rows["first"] == pair[0])
    ].to_dict("records")
    found = throughputs(SETTING, pair, link, seed=100 + n)
    assert found == pytest.approx((row["goodput_first"], row["goodput_second"]), abs=1e-4)


# Table 4: cells and their noise, what one ratio stands for, the known settings.


def test_cells_are_those_of_tables_4_and_6() -> None:
    table = table_4.printed()
    assert len(table.names) == 3 * 4 * 12
    at = table.names.index(("be/be", "FCFS", 1, "be", "TCP1"))
    assert np.exp(table.times[at]) == pytest.approx(1004.34)
    assert table.noise[at] == pytest.approx(91.992 / 1004.34 / np.sqrt(19))
    assert 0.01 < np.median(table.noise) < 0.03


def test_one_ratio_stands_for_all_but_for_udp() -> None:
    """90:10 against the mean of 19 ratios in bundled runs: TCP within 7 %, UDP of few flows within 28 %."""
    off, names = table_4.shortened(), table_4.printed().names
    tcp = np.array([name[4].startswith("TCP") for name in names])
    assert off[tcp].max() < 0.07
    assert off.max() < 0.28
    assert np.median(off) < 0.015


def test_rows_depend_on_their_own_parameters() -> None:
    names = {each.name for each in table_4.free("cc/be", "DRR")}
    assert {"drr_limit", "hold", "min_rto"} <= names
    assert not {"buffer", "sfq_limit", "slot"} & names


def test_short_queues_halve_the_error_of_best_effort() -> None:
    """The last two settings are the claims' default and that with short queues: medians of best-effort cells."""
    settings, cells = table_4.simulated()
    table = table_4.printed()
    best_effort = np.array([mechanism == "be" for _, _, _, mechanism, _ in table.names])
    default, short = np.median(abs(cells[-2:] - table.times)[:, best_effort], axis=1)
    assert (settings[-2]["buffer"], settings[-1]["buffer"]) == (50, 10)
    assert short < 0.6 * default


# Statements on Table 4 as the claims judge them: on the bundled runs, and where they are broken.

ENVIRONMENTS = ("be/be", "cc/be", "ts/be")
REGULATED = ("cc/cc", "ts/ts")
MEASURES = {
    "Y03": priorities.order_of_cc,
    "Y04": priorities.order_of_ts,
    "Y12": queueing.disciplines,
    "Y05": best_effort.best_effort_among_regulated,
    "Y06": best_effort.best_effort_alone,
    "Y11": best_effort.gain_over_best_effort,
}


def _bundled() -> Times:
    found = {}
    for environment in (*ENVIRONMENTS, *REGULATED):
        for discipline in DISCIPLINES:
            for (mechanism, kind), time in seen(environment, discipline).mean().items():
                found[environment, discipline, mechanism, kind] = np.array([time])
    return Times(found, DISCIPLINES)


@pytest.mark.parametrize("claim", MEASURES)
def test_statements_are_those_of_the_claim_on_the_bundled_runs(claim: str) -> None:
    """Signs of the claim's own estimates, those of equality within the margin; means of five seeds.

    A claim may have further statements, which the settings do not weigh.
    """
    times, effects = _bundled(), MEASURES[claim]()
    assert STATEMENTS[claim].keys() <= effects.statements.keys()
    for name, holds in STATEMENTS[claim].items():
        statement = effects.statements[name]
        values = np.array([estimate.value for estimate in statement.packets])
        kept = (abs(values) <= 0.1).all() if statement.equal else (values > 0.0).all()
        assert bool(holds(times)[0]) == kept, name


def test_a_broken_order_is_noticed() -> None:
    """Times that keep all of Y05, then one class exchanged with the next."""
    times = {}
    for environment in ENVIRONMENTS:
        first, second = environment.split("/")
        for discipline in DISCIPLINES:
            for mechanism in {first, second}:
                for kind in ("TCP1", "TCP2", "TCP3", "TCP4", "UDP3", "UDP4"):
                    slow = 100.0 if mechanism == "be" and kind[0] == "U" else 1000.0
                    times[environment, discipline, mechanism, kind] = np.array(
                        [slow * (1 if mechanism == "be" else int(kind[-1]))]
                    )
    good = Times(times, DISCIPLINES)
    assert all(holds(good)[0] for holds in STATEMENTS["Y05"].values())
    times["ts/be", "RED", "ts", "TCP3"] = np.array([1500.0])
    assert not STATEMENTS["Y05"]["ordered"](good)[0]
    times["cc/be", "SFQ", "be", "UDP4"] = np.array([600.0])
    assert not STATEMENTS["Y05"]["fastest"](good)[0]


def test_cc_outperforms_ts_in_the_mean_of_classes_and_disciplines() -> None:
    """Y07 on the bundled runs, whose times are all longer under ts, then with all of ts/ts shorter."""
    times = _bundled()
    assert all(holds(times)[0] for holds in STATEMENTS["Y07"].values())
    shorter = {key: 0.5 * time if key[0] == "ts/ts" else time for key, time in times.of.items()}
    swapped = Times(shorter, DISCIPLINES)
    assert not STATEMENTS["Y07"]["pure"](swapped)[0]
    assert STATEMENTS["Y07"]["mixed"](swapped)[0]


# yang2001: the interpolation, and what is inferred from Table 4.


def test_the_interpolation_comes_near_to_the_runs() -> None:
    """In the median of all cells, at the settings themselves: nearer than a tenth."""
    settings, values = simulated()
    found = yang2001.cells_at(points(PARAMETERS["yang2001"], settings) * 0.999)
    assert found.shape == (len(settings), len(printed().names))
    assert np.median(abs(found - values)) < 0.1


@pytest.mark.slow  # twice 512 settings drawn from the posterior: 9 s
def test_what_is_inferred_yang2001() -> None:
    found = yang2001.inferred()
    assert (found.used, found.aside) == (116, 28)
    assert (
        found.covered >= 21
    )  # 25.2 expected, binomial deviation 1.6; the intervals have it within thrice that
    assert not found.compatible
    assert {each.claim for each in found.claims} == {
        "Y03",
        "Y04",
        "Y05",
        "Y06",
        "Y07",
        "Y11",
        "Y12",
    }
    cells, agree = found.further
    assert cells == 2 * 4 * 12
    # 86 expected; the errors of a row, mechanism and protocol are shared, so that some 16 groups decide
    assert agree >= 77
    queue = next(each for each in found.parameters if each.name == "buffer")
    assert float(queue.after.split()[0]) < 20  # around ten packets; the claims' default is 50


# zheng2002: quotes of the runs, weights, and claims judged without their own quotes.


def test_the_setting_of_the_bundled_pairs_has_their_ratios() -> None:
    """The same dumbbell by other starts: ratios of one run against the mean of ten, whose deviation is below .1."""
    setting = {"decrease": "1-b", "size": 1000, "low": 30, "rto": 0.2, "window": 10000}
    at = settings("zheng2002").index(setting)
    frame = table("zheng2002/pairs-8x8")
    frame = frame[(frame["reading"] == "1-b") & (frame["background"] == 0)]
    shares = {each.claim: each for each in zheng2002.quotes() if each.name == "share"}
    for claim, (pair, _, _) in zheng2002.PAIRS.items():
        own = frame[frame["pair"] == f"{pair[0]} with {pair[1]}"].groupby("kind")["rate"].mean()
        assert shares[claim].values[at] == pytest.approx(own[pair[0]] / own[pair[1]], rel=0.2)


def test_known_noise_is_that_of_the_bundled_seeds() -> None:
    """Ten seeds of nine pairs: a standard deviation of that many is known within 15 %."""
    frame = table("zheng2002/pairs-8x8").query("background == 0")
    spreads = []
    for (pair, _), runs in frame.groupby(["pair", "reading"]):
        rates = runs.groupby(["seed", "kind"])["rate"].mean().unstack()
        one, other = str(pair).split(" with ")
        spreads.append(np.log(rates[one] / rates[other]).std())
    assert np.sqrt(np.mean(np.square(spreads))) == pytest.approx(zheng2002.NOISE, rel=0.15)


def test_halves_are_reproduced_by_exchanged_parameters_alone() -> None:
    """The square-root law gives .61 and .55 for them, and 1.0 for what the paper defines."""
    every = settings("zheng2002")
    half = [each for each in zheng2002.quotes() if each.printed == 0.5]
    assert len(half) == 4
    wide = np.array([each["window"] == 10000 for each in every])
    means = {
        way: np.mean(
            [
                abs(each.residuals[wide & np.array([s["decrease"] == way for s in every])]).mean()
                for each in half
            ]
        )
        for way in ("1-b", "b", "exchanged")
    }
    assert means["exchanged"] < means["b"] < means["1-b"]


def test_what_is_inferred_zheng2002() -> None:
    found = zheng2002.inferred()
    assert found.runs == found.settings == 162
    assert found.used + found.aside == len(zheng2002.quotes())
    assert {weight.claim for weight in found.claims} == {
        "Z03",
        "Z04",
        "Z06",
        "Z07",
        "Z08",
        "Z09",
        "Z10",
    }
    for weight in found.claims:
        assert 0.0 <= weight.every <= min(weight.statements.values()) + 1e-12
