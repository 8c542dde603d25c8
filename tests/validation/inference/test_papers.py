"""What papers leave open, inferred from bundled designs: settings, likelihoods, weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from validation import cases, table
from validation.claims.yang2001 import best_effort, priorities, queueing, tables
from validation.inference import kaneko2007, table_4, yang2001, zheng2002
from validation.inference.designs import DESIGNS, PARAMETERS, settings
from validation.inference.emulator import fit
from validation.inference.likelihoods import (
    evidence_of,
    held_out,
    infer,
    joined,
    of_words,
)
from validation.inference.parameters import Choice, Range, points, snapped, sobol, values_at
from validation.inference.recording import (
    CASES,
    CIRCULAR,
    PAPERS,
    differences,
    infer_paper,
    recorded,
    recorded_parameters,
    sentence,
)
from validation.inference.results import Inference, Weight, marginals, percent
from validation.inference.rule_pairs import (
    LONG_RTTS,
    NAMES,
    PAIRS,
    Bottleneck,
    experiments,
    rules_of,
    throughputs,
)
from validation.inference.sampling import tempered
from validation.inference.table_4 import printed, simulated
from validation.inference.transfer_times import STATEMENTS, Times
from validation.records import recorded_thresholds
from validation.report.pages import paper_page

# The settings that were run are those of the bundled cases.


@pytest.mark.parametrize("paper", [paper for paper in PAPERS if paper in DESIGNS])
def test_bundled_settings_are_those_of_the_design(paper: str) -> None:
    bundled = table(f"{paper}/unstated-parameters", "settings")
    names = [each.name for each in PARAMETERS[paper]]
    assert bundled[names].to_dict("records") == settings(paper)


def test_the_full_product_has_every_combination_once() -> None:
    every = settings("zheng2002")
    assert len({tuple(each.values()) for each in every}) == len(every) == 3 * 3 * 3 * 2 * 3


# Open parameters: values, coordinates, points of a Sobol sequence.


def test_coordinates_invert_values() -> None:
    for paper, parameters in PARAMETERS.items():
        settings = sobol(parameters, 8, seed=5)
        for setting, point in zip(settings, points(parameters, settings), strict=True):
            ranges = [(each, u) for each, u in zip(parameters, point, strict=True) if isinstance(each, Range)]
            again = [each.value(u) for each, u in ranges]
            own = [setting[each.name] for each, _ in ranges]
            assert again == pytest.approx(own, rel=0.01), paper  # values have three digits


def test_alternatives_are_equally_spaced_and_equally_probable() -> None:
    one = Choice("agent", ("a", "b", "c"), "", "")
    assert [one.coordinate(value) for value in one.alternatives] == [0.0, 0.5, 1.0]
    drawn = [point["agent"] for point in sobol([one], 300, seed=1)]
    assert all(abs(drawn.count(value) - 100) <= 2 for value in one.alternatives)


def test_fewer_points_are_the_first_of_more() -> None:
    pair = [Range("x", 1, 10, "", ""), Range("y", 0, 1, "", "", linear=True)]
    assert sobol(pair, 20, seed=3)[:8] == sobol(pair, 8, seed=3)


def test_snapped_points_are_those_of_their_values() -> None:
    mixed = [Choice("agent", ("a", "b", "c"), "", ""), Range("x", 0, 1, "", "", linear=True)]
    cube = np.array([[0.0, 0.2], [0.4, 0.5], [0.99, 0.8], [1.0, 1.0]])
    again = points(mixed, [values_at(mixed, u) for u in cube])
    assert snapped(mixed, cube) == pytest.approx(again)


# Interpolation between runs: functions that it knows, and the error that it states.


def _cells(points: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    smooth = np.sin(2 * points[:, 0]) + points[:, 1] * points[:, 2]
    return np.column_stack([1 + points @ [1.0, -2.0, 0.5, 0.0], smooth]) + rng.normal(0, 0.02, (len(points), 2))


def test_a_line_and_a_curve_are_found_again_within_the_stated_error() -> None:
    """40 runs in four dimensions, noise .02; a prediction may be off by thrice the error left out."""
    rng = np.random.default_rng(1)
    points, others = rng.random((40, 4)), rng.random((200, 4))
    emulator = fit(points, _cells(points, rng))
    gaps = emulator.at(others) - _cells(others, rng)
    assert (emulator.error < [0.05, 0.15]).all()
    assert (np.sqrt((gaps**2).mean(axis=0)) < 1.5 * emulator.error).all()
    assert (abs(gaps) < 4.0 * emulator.error).mean() > 0.98


def test_runs_left_out_are_predicted_as_if_they_had_not_been_run() -> None:
    """The closed form against a fit without the run, with equal sizes: mean and scale change a little."""
    rng = np.random.default_rng(2)
    points = rng.random((30, 2))
    cells = _cells(np.column_stack([points, points]), rng)
    whole, without = fit(points, cells), fit(points[1:], cells[1:])
    if whole.sizes == without.sizes:
        gap = without.at(points[:1])[0] - cells[0]
        assert np.allclose(whole.left_out[0], gap, atol=0.03)
    assert whole.left_out.shape == (30, 2)


def test_noise_alone_is_not_fitted() -> None:
    rng = np.random.default_rng(3)
    noise = fit(rng.random((40, 5)), rng.normal(0, 1, (40, 1)))
    assert 0.8 < noise.error[0] < 1.4


# Points drawn from a likelihood: moments of a normal one, two modes, flat directions.


def test_moments_of_a_narrow_normal_density() -> None:
    """Deviations of .02 and .05 in two of six dimensions; the mean of 600 points is known within .003."""

    def logs(u: np.ndarray) -> np.ndarray:
        found: np.ndarray = -0.5 * (((u[:, 0] - 0.7) / 0.02) ** 2 + ((u[:, 1] - 0.4) / 0.05) ** 2)
        return found

    points = tempered(logs, 6, 600, seed=1)
    assert points.shape == (600, 6)
    assert points[:, :2].mean(axis=0) == pytest.approx([0.7, 0.4], abs=0.01)
    assert points[:, :2].std(axis=0) == pytest.approx([0.02, 0.05], rel=0.25)
    assert points[:, 2:].std(axis=0) == pytest.approx(np.full(4, 12**-0.5), rel=0.15)
    assert ((points >= 0.0) & (points <= 1.0)).all()


def test_both_modes_are_found_with_their_weights() -> None:
    """Two normal modes, one of three times the weight: a quarter of 600 points, deviation .02 and resampling."""

    def logs(u: np.ndarray) -> np.ndarray:
        low, high = (np.exp(-0.5 * ((u[:, 0] - at) / 0.04) ** 2) for at in (0.2, 0.8))
        found: np.ndarray = np.log(0.75 * low + 0.25 * high + 1e-300)
        return found

    points = tempered(logs, 3, 600, seed=2)
    assert (points[:, 0] > 0.5).mean() == pytest.approx(0.25, abs=0.1)


# Weights of settings: densities, errors of the model that are recovered, coverage.


def test_density_is_that_of_the_whole_covariance_matrix() -> None:
    rng = np.random.default_rng(1)
    residuals, noise = rng.normal(size=(4, 5)), rng.uniform(0.1, 0.3, 5)
    groups = ["a", "a", "b", "a", "b"]
    posterior = infer(residuals, noise, groups)
    same = np.array([[one == other for one in groups] for other in groups])
    for n in (0, 100, 255):
        tau, omega = posterior.errors[n]
        covariance = np.diag(noise**2 + tau**2) + omega**2 * same
        exact = multivariate_normal(cov=covariance).logpdf(residuals)
        assert posterior.logs[:, n] == pytest.approx(exact, rel=1e-9)


def test_errors_of_the_model_are_recovered() -> None:
    """100 groups of four cells: the grid has steps of a factor of 1.4."""
    rng = np.random.default_rng(2)
    tau, omega = 0.1, 0.3
    shared = np.repeat(rng.normal(0, omega, 100), 4)
    right = shared + rng.normal(0, tau, 400)
    posterior = infer(np.stack([right, right + 0.5]), np.zeros(400), np.repeat(range(100), 4).astype(str).tolist())
    assert posterior.weights[0] > 0.999
    assert posterior.model_errors == pytest.approx((tau, omega), rel=0.25)


def test_intervals_cover_as_often_as_they_say() -> None:
    """Of 400 cells set aside 360 are expected in 90 % intervals; the binomial deviation is 6."""
    rng = np.random.default_rng(3)
    residuals = rng.normal(0, 0.2, (1, 800))
    noise = np.full(800, 0.05)
    posterior = infer(residuals[:, :400], noise[:400])
    assert 340 <= posterior.covered(residuals[:, 400:], noise[400:]) <= 380


def test_a_sentence_that_is_not_kept_lowers_the_weight() -> None:
    logs = of_words(np.array([[True, True, True], [True, True, False], [False, False, False]]))
    assert logs[0] > logs[1] > logs[2]
    posterior = joined(infer(np.zeros((3, 2)), np.full(2, 0.1)), logs)
    assert posterior.weights == pytest.approx(np.exp(logs) / np.exp(logs).sum())


def test_evidence_is_the_mean_over_the_errors() -> None:
    posterior = infer(np.array([[0.1, -0.2]]), np.full(2, 0.1))
    assert evidence_of(posterior) == pytest.approx(np.log(np.exp(posterior.logs).mean(axis=1)))


def test_a_fifth_is_set_aside_by_the_seed_alone() -> None:
    assert held_out(240, 2001).sum() == 48
    assert (held_out(240, 2001) == held_out(240, 2001)).all()
    assert (held_out(240, 2001) != held_out(240, 2002)).any()


# The recorded weights are those that the bundled runs give.

QUICK = "zheng2002"
SLOW = [pytest.param(paper, marks=pytest.mark.slow) for paper in PAPERS if paper != QUICK]


@pytest.mark.parametrize("paper", [QUICK, *SLOW])
def test_recorded_weights_are_found_again(paper: str) -> None:
    found = infer_paper(paper)
    assert differences(found) == []
    changed = replace(found.claims[0], every=1.0 - round(found.claims[0].every))
    assert differences(replace(found, claims=(changed,))) == [changed.claim]
    new = Weight("X01", {"all": 1.0}, 1.0, 1.0)
    assert differences(replace(found, claims=(new,))) == ["X01"]


def test_a_claim_has_one_sentence() -> None:
    assert sentence("M01") == ""
    said = sentence("Z06")
    assert said.startswith("the claim holds in ")
    assert "of the settings compatible with them" in said
    assert set(recorded()["Z06"].statements) == {"share", "smooth"}


def test_claims_on_the_numbers_used_say_so() -> None:
    """K03 is about the shares that the settings are inferred from; zheng2002 leaves a claim's own numbers out."""
    assert "not independent" in sentence("K03")
    assert "another slide" in sentence("K06")
    assert "not independent" not in sentence("Z06")
    assert set(CIRCULAR) <= set(recorded())


def test_every_paper_names_its_runs() -> None:
    names = {case for own in CASES.values() for case in own}
    assert set(CASES) == set(PAPERS)
    assert names <= set(cases())


def test_pages_of_papers_have_the_parameters_and_others_no_section() -> None:
    parameters = recorded_parameters("kaneko2007")
    assert len(parameters) == 19
    page = paper_page("kaneko2007", [])
    assert all(each.after in page for each in parameters)
    assert "Unstated parameters" not in paper_page("takano2006", [])


def test_unknown_papers_are_refused() -> None:
    with pytest.raises(ValueError, match="paper = 'takano2006': "):
        infer_paper("takano2006")


# Marginals of parameters, percentages, and what counts as compatible.


def test_marginals_are_weights_of_alternatives_and_weighted_quantiles() -> None:
    parameters = [Choice("kind", ("a", "b"), "", "which"), Range("x", 1, 100, "s", "time")]
    settings = [{"kind": "a" if n < 50 else "b", "x": float(n + 1)} for n in range(100)]
    kind, x = marginals(parameters, settings, np.where(np.arange(100) < 50, 0.015, 0.005))
    assert kind.after == "a: 75 %, b: 25 %"
    assert x.after == "34 (4 to 90)"
    assert (kind.before, x.before) == ("a, b", "1 to 100")


@pytest.mark.parametrize(("part", "words"), [(0.0, "less than 1 %"), (0.5, "50 %"), (1.0, "more than 99 %")])
def test_percentages_do_not_pretend_to_certainty(part: float, words: str) -> None:
    assert percent(part) == words


def test_compatible_is_within_twice_the_noise() -> None:
    found = Inference("x", 1, 1, 1, 0, 0, 1.0, (0.1, 0.0), 0.19, 0.1, (), ())
    assert found.compatible
    assert not replace(found, best=0.21).compatible


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


class Shares:
    """Candidates of which the first flow has the same parts in every experiment."""

    def __init__(self, *parts: float) -> None:
        self.parts = np.array(parts)

    def share(self, experiment: tuple[str, str, str]) -> np.ndarray:
        return self.parts


def test_rates_are_equal_within_the_margins_of_the_claims() -> None:
    """Parts of 0.585 and 0.586 differ from the rest by 0.170 and 0.172 of the sum, where the claims allow 0.17."""
    known = recorded_thresholds()
    assert {kaneko2007.margin_of(id) for id in ("K03", "K05", "K06")} == {known["K03", "margin"].value} == {0.17}
    kept = kaneko2007.statements_of(Shares(0.5, 0.585 - 1e-9, 0.586))
    for truth in (kept["K03"]["equal"], *kept["K06"].values()):
        assert truth.tolist() == [True, True, False]
    assert kept["K05"]["same ratio"].all()


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
        (n, each) for n, each in enumerate(experiments(SETTING)) if each[:2] == ("small", ("CUBIC", "Reno"))
    )
    rows = table("kaneko2007/unstated-parameters", "pairs")
    (row,) = rows[(rows["setting"] == 1) & (rows["experiment"] == name) & (rows["first"] == pair[0])].to_dict("records")
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
        for discipline in tables.DISCIPLINES:
            for (mechanism, kind), time in tables.seen(environment, discipline).mean().items():
                found[environment, discipline, mechanism, kind] = np.array([time])
    return Times(found, tables.DISCIPLINES)


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
        for discipline in tables.DISCIPLINES:
            for mechanism in {first, second}:
                for kind in ("TCP1", "TCP2", "TCP3", "TCP4", "UDP3", "UDP4"):
                    slow = 100.0 if mechanism == "be" and kind[0] == "U" else 1000.0
                    times[environment, discipline, mechanism, kind] = np.array(
                        [slow * (1 if mechanism == "be" else int(kind[-1]))]
                    )
    good = Times(times, tables.DISCIPLINES)
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
    swapped = Times(shorter, tables.DISCIPLINES)
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
    assert found.covered >= 21  # 25.2 expected, binomial deviation 1.6; the intervals have it within thrice that
    assert not found.compatible
    assert {each.claim for each in found.claims} == {
        "Y03", "Y04", "Y05", "Y06", "Y07", "Y11", "Y12",
    }  # fmt: skip
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
            [abs(each.residuals[wide & np.array([s["decrease"] == way for s in every])]).mean() for each in half]
        )
        for way in ("1-b", "b", "exchanged")
    }
    assert means["exchanged"] < means["b"] < means["1-b"]


def test_what_is_inferred_zheng2002() -> None:
    found = zheng2002.inferred()
    assert found.runs == found.settings == 162
    assert found.used + found.aside == len(zheng2002.quotes())
    assert {weight.claim for weight in found.claims} == {
        "Z03", "Z04", "Z06", "Z07", "Z08", "Z09", "Z10",
    }  # fmt: skip
    for weight in found.claims:
        assert 0.0 <= weight.every <= min(weight.statements.values()) + 1e-12
