"""Claims Z01, Z02, Z19, S01 and S02: verdicts as recorded, and that damaged evidence changes them.

Also what the notes of zheng2002's cases say of their numbers.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
import sympy as sp
from responsefn.symbolic import a, b, p

from responsefn import AIMD, independent_constant
from validation import evidence, verdicts
from validation.claims import independent_loss, periodic_loss, sweeps, zheng2002
from validation.claims.sweeps import INDEPENDENT, PERIODIC, RULES, Points
from validation.verdicts import Finding, Verdict

R, C, N, NA = (
    Verdict.REPRODUCED,
    Verdict.CONTRADICTED,
    Verdict.NOT_REPRODUCED,
    Verdict.NOT_APPLICABLE,
)
REAL_TABLE = evidence.table
CASES = [case for case in evidence.cases() if case.startswith("zheng2002/")]
DUMBBELLS = [case for case in CASES if "link.csv" in evidence.provenance(case)["files"]]


@pytest.fixture
def scale(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Multiply the rates of one rule in one sweep by a factor, for k from low to high."""

    def change(sweep: str, rule: str, factor: float, low: int = 0, high: int = 10**9) -> None:
        def table(name: str, part: str | None = None) -> pd.DataFrame:
            frame = REAL_TABLE(name, part)
            if name == sweeps.CASES[sweep][rule]:
                k = frame["packets_per_loss"]
                frame.loc[(frame["rule"] == rule) & (k >= low) & (k <= high), "rate"] *= factor
            return frame

        monkeypatch.setattr(evidence, "table", table)

    return change


def parts(finding: Finding) -> list[tuple[Verdict, Verdict]]:
    return [(part.model, part.simulation) for part in finding.parts]


def points(ratio: list[float], half: float = 0.0) -> Points:
    values = np.array(ratio, dtype=np.float64)
    k = np.array([100.0 * n for n in range(values.size, 0, -1)], dtype=np.float64)
    return Points(k, np.reciprocal(k), values, np.full_like(values, half))


@pytest.mark.parametrize("id", ["Z01", "Z02", "Z19", "S01", "S02"])
def test_verdicts_are_those_recorded(id: str) -> None:
    finding = verdicts.find(id).check()
    assert (finding.model, finding.simulation) == verdicts.expected()[id]
    assert finding.summary
    assert finding.explanation
    assert all(row.tolerance for row in finding.numbers)
    for picture in finding.pictures:
        for axes in picture.draw().axes:
            assert axes.get_ylabel().endswith(("(1)", "(%)"))
        assert picture.alt
        assert picture.caption


def test_parts_are_as_found() -> None:
    assert parts(zheng2002.precise_form()) == [(R, NA), (R, NA)]
    assert parts(zheng2002.same_response()) == [(R, NA), (R, NA), (R, R), (R, N)]
    assert parts(periodic_loss.periodic_loss()) == [(NA, R), (R, R), (NA, R), (NA, R)]
    assert parts(independent_loss.independent_loss()) == [(C, C), (NA, R), (NA, N), (R, R)]


@pytest.mark.parametrize(
    ("ratio", "half", "verdict"),
    [
        ([1.0, 0.96], 0.005, R),
        ([1.0, 0.96], 0.02, N),
        ([1.0, 0.94], 0.005, C),
        ([1.06, 1.0], 0.005, C),
        ([1.06, 1.0], 0.02, N),
    ],
)
def test_judge_needs_the_whole_interval(ratio: list[float], half: float, verdict: Verdict) -> None:
    assert sweeps.judge(points(ratio, half), 0.05) is verdict


def test_band_splits_points_by_tolerance() -> None:
    split = sweeps.band(points([1.0, 1.1, 1.2, 1.3]), {300: 0.01, 100: 0.02})
    assert [(k, tolerance) for k, tolerance, _ in split] == [(300, 0.01), (100, 0.02)]
    assert [list(inside.k) for _, _, inside in split] == [[400.0, 300.0], [200.0, 100.0]]


def test_every_tolerance_step_has_points_and_none_is_left_out() -> None:
    for steps in (independent_loss.SQRT_STEPS, independent_loss.PFTK_STEPS):
        runs = sweeps.rows(INDEPENDENT, "TCP(1,1/2)")
        split = sweeps.band(sweeps.against(runs, sweeps.aimd(runs, "sqrt")), steps)
        assert all(inside.k.size for _, _, inside in split)
        assert sum(inside.k.size for _, _, inside in split) == runs["packets_per_loss"].nunique()


def test_intervals_are_student_over_the_seeds() -> None:
    runs = pd.DataFrame(
        {
            "packets_per_loss": [100, 100, 100],
            "seed": [1, 2, 3],
            "rate": [9.0, 10.0, 11.0],
            "duration": 100.0,
            "p": 0.01,
        }
    )
    found = sweeps.against(runs, np.full(3, 10.0))
    np.testing.assert_allclose(found.ratio, [1.0])
    np.testing.assert_allclose(found.half, [2.919986 * 0.1 / np.sqrt(3)], rtol=1e-5)


def test_pairs_are_of_the_same_seed() -> None:
    frame = pd.DataFrame(
        {"packets_per_loss": 100, "seed": [1, 2], "rate": [8.0, 20.0], "duration": 1.0, "p": 0.01}
    )
    shuffled = frame.iloc[::-1].assign(rate=[10.0, 4.0])
    found = sweeps.paired(frame, shuffled)
    np.testing.assert_allclose(found.ratio, [2.0])
    np.testing.assert_allclose(found.half, [0.0], atol=1e-12)


@pytest.mark.parametrize("decrease", [0.5, 0.25, 0.125])
def test_constant_of_independent_loss_is_that_of_a_random_walk(decrease: float) -> None:
    """Y falls by (1-b)^2 at a loss and grows by an exponential amount of mean 1 between losses."""
    random = np.random.default_rng(1)
    y = np.ones(400_000)
    for _ in range(int(np.ceil(8 / decrease))):
        y = (1 - decrease) ** 2 * y + random.exponential(size=y.size)
    inverse = 1 / np.sqrt(y)
    error = 4 * inverse.std() / inverse.mean() / np.sqrt(y.size)
    law = np.sqrt((2 - decrease) / (2 * decrease))
    expected = np.sqrt(2) / inverse.mean() / law
    assert independent_constant(decrease) == pytest.approx(expected, rel=error)


def test_constant_tends_to_one_with_small_cuts() -> None:
    assert independent_constant(1e-3) == pytest.approx(1 + 1e-3 / 8, abs=1e-5)


def test_small_p_limit_finds_a_known_constant() -> None:
    loss = 1 / np.array([10000.0, 5000, 2000, 1000, 500, 200])
    runs = pd.DataFrame({"packets_per_loss": 1 / loss, "p": loss, "mean_rtt": 0.048})
    runs = runs.assign(increase=1.0, decrease=0.5)
    runs["rate"] = sweeps.aimd(runs, "sqrt") * (1.07 - 0.9 * np.sqrt(loss) + 2 * loss)
    assert independent_loss.small_p_limit(runs) == pytest.approx((1.07, 0.0), abs=1e-12)


def test_precise_form_exceeds_recovery_form_numerically_too() -> None:
    loss = np.geomspace(1e-6, 1, 50)
    for increase in (0.01, 0.2, 1.0, 30.0):
        for decrease in (0.01, 0.125, 0.5, 0.99):
            precise, recovery = (
                AIMD(increase, decrease, form=form).mean_window(loss)
                for form in ("precise", "recovery")
            )
            assert np.all(np.asarray(precise) > np.asarray(recovery))


def test_a_misprint_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = zheng2002.printed_response().subs(p, 2 * p)
    monkeypatch.setattr(zheng2002, "printed_response", lambda: wrong)
    assert parts(zheng2002.precise_form()) == [(C, NA), (C, NA)]


def test_the_condition_on_a_is_needed() -> None:
    rate = AIMD(form="precise").formula().rate
    half = {a: sp.Integer(1), b: sp.Rational(1, 2)}
    assert zheng2002._zero(rate.subs(a, 3 * b / (2 - b)) - rate.subs(half))
    assert not zheng2002._zero(rate.subs(a, 2 * b / (2 - b)) - rate.subs(half))


def test_periodic_sweep_can_fail(scale: Callable[..., None]) -> None:
    scale(PERIODIC, "TCP(3/7,1/4)", 0.985, low=500)
    assert parts(periodic_loss.periodic_loss())[0] == (NA, C)
    scale(PERIODIC, "TCP(3/7,1/4)", 1.02, low=10000)
    assert parts(periodic_loss.periodic_loss())[1] == (R, C)
    scale(PERIODIC, "TFRC", 1.002, high=20)
    assert parts(periodic_loss.periodic_loss())[3] == (NA, C)


def test_periodic_sweep_claims_nothing_above_one_percent_loss(scale: Callable[..., None]) -> None:
    scale(PERIODIC, "TCP(3/7,1/4)", 0.5, high=50)
    assert periodic_loss.periodic_loss().simulation is R


def test_independent_sweep_can_turn_out_otherwise(scale: Callable[..., None]) -> None:
    scale(INDEPENDENT, "TCP(1,1/2)", 0.97)
    assert [each for _, each in parts(independent_loss.independent_loss())] == [R, R, R, C]
    scale(INDEPENDENT, "TCP(1/5,1/8)", 0.9, high=100)
    assert parts(independent_loss.independent_loss())[1] == (NA, C)


@pytest.mark.parametrize(("factor", "verdict"), [(1.02, R), (1.0, N), (0.97, C)])
def test_equal_response_depends_on_the_rates(
    scale: Callable[..., None], factor: float, verdict: Verdict
) -> None:
    scale(INDEPENDENT, "TCP(1/5,1/8)", factor)
    assert parts(zheng2002.same_response())[3] == (R, verdict)
    scale(PERIODIC, "TCP(1/5,1/8)", 0.9 * factor, low=50)
    assert parts(zheng2002.same_response())[2] == (R, C)


def test_runs_of_all_rules_are_there() -> None:
    for sweep in (PERIODIC, INDEPENDENT):
        for rule in (*RULES, "TFRC"):
            assert len(sweeps.rows(sweep, rule)) == 10 * 5
            runs = sweeps.rows(sweep, rule, largest=sweeps.RAREST)
            assert len(runs) == 13 * 5
            assert runs["packets_per_loss"].is_monotonic_decreasing
            assert runs["packets_per_loss"].max() == 100_000


def test_every_case_has_five_seeds() -> None:
    for case in CASES:
        assert len(evidence.provenance(case)["seeds"]) >= 5


def test_the_start_does_not_matter_under_periodic_loss() -> None:
    for rule in (*RULES, "TFRC"):
        runs = sweeps.rows(PERIODIC, rule, largest=sweeps.RAREST)
        rates = runs.groupby("packets_per_loss")["rate"]
        assert (rates.max() / rates.min()).max() < 1.002
        assert runs.groupby("packets_per_loss")["early"].nunique().min() == 5


@pytest.mark.parametrize("case", DUMBBELLS)
def test_queues_count_every_packet(case: str) -> None:
    flows, link = evidence.table(case, "flows"), evidence.table(case, "link")
    for frame in (flows, link):
        into = frame["arrivals"] + frame["queued_before"]
        assert (into == frame["drops"] + frame["departures"] + frame["queued_after"]).all()
    files = evidence.provenance(case)["files"]
    keys = files["link.csv"]["index"]
    counts = ["arrivals", "drops", "departures", "marks", "queued_before", "queued_after"]
    by_link = flows.groupby(keys)[counts].sum()
    pd.testing.assert_frame_equal(by_link, link.set_index(keys)[counts].sort_index())
    if "series.csv.xz" in files:
        series = evidence.table(case, "series")
        late = series[series["time"] > 20.25].groupby([*keys, "kind", "flow"])["departures"].sum()
        whole = flows.set_index([*keys, "kind", "flow"])["departures"]
        assert (late == whole[late.index]).all()


def test_the_trace_knows_where_every_packet_is() -> None:
    packets = evidence.table(zheng2002.TRACE, "packets")
    for _, each in packets.groupby("seed"):
        arrived = each["arrived"].notna()
        assert not (arrived & (each["lost"] == 1)).any()
        missing = ~arrived & (each["lost"] == 0)
        assert (each.loc[missing, "sent"] > 60 - 0.026).all()
        assert (each["sequence"].to_numpy() == np.arange(len(each))).all()


def shares(case: str, *keys: str) -> pd.Series:
    """Mean rate of the first kind of a pair over that of the second, averaged over the seeds."""
    flows = evidence.table(case, "flows")
    first = flows["pair"].str.split(" with ").str[0]
    rates = flows.assign(first=first).groupby(["pair", *keys, "seed", "kind", "first"])["rate"]
    frame = rates.mean().reset_index("first")
    kinds = frame.index.get_level_values("kind")
    drop = ["kind"]
    ours = frame.loc[kinds == frame["first"], "rate"].droplevel(drop)
    greedy = kinds.isin((*RULES, "TFRC"))
    theirs = frame.loc[(kinds != frame["first"]) & greedy, "rate"].droplevel(drop)
    return (ours / theirs).groupby(["pair", *keys]).mean()


def test_half_comes_from_the_reading() -> None:
    ratio = shares("zheng2002/pairs-8x8", "reading", "background")
    for pair, by_b, by_one_less_b in (
        ("TCP(3/7,1/4) with TCP(1,1/2)", 0.50, 0.99),
        ("TCP(3/7,1/4) with TFRC", 0.46, 0.90),
        ("TCP(1/5,1/8) with TCP(1,1/2)", 0.32, 0.97),
        ("TCP(1/5,1/8) with TFRC", 0.30, 0.88),
    ):
        assert ratio[pair, "b", 0] == pytest.approx(by_b, abs=0.01)
        assert ratio[pair, "1-b", 0] == pytest.approx(by_one_less_b, abs=0.01)
    flows = evidence.table("zheng2002/pairs-8x8", "flows").query("reading == 'b'")
    for pair, each in flows[flows["pair"].str.endswith("TCP(1,1/2)")].groupby("pair"):
        means = each.groupby("kind")[["rate_variance", "rate_cov"]].mean()
        rule = str(pair).split(" with ")[0]
        assert means.loc[rule, "rate_variance"] < means.loc["TCP(1,1/2)", "rate_variance"]
        assert means.loc[rule, "rate_cov"] > means.loc["TCP(1,1/2)", "rate_cov"]


def test_the_gap_grows_or_closes_by_the_reading() -> None:
    ratio = shares("zheng2002/friendliness-15", "reading", "number")["TCP(3/7,1/4) with TCP(1,1/2)"]
    assert ratio["1-b", 8] == pytest.approx(0.99, abs=0.01)
    assert ratio["1-b", 64] == pytest.approx(0.84, abs=0.01)
    assert ratio["b", 8] == pytest.approx(0.51, abs=0.01)
    assert ratio["b", 64] == pytest.approx(0.74, abs=0.01)
    flows = evidence.table("zheng2002/friendliness-15", "flows").query("kind in @RULES")
    cuts = flows.groupby("number")[["timeouts", "cuts"]].sum()
    timeouts = cuts["timeouts"] / cuts["cuts"]
    assert timeouts[8] < 0.05
    assert timeouts[64] > 0.5


def test_one_flow_fills_the_link_until_it_loses() -> None:
    link = evidence.table("zheng2002/window-sweep", "link")
    means = link.groupby(["background", "window"])[["utilisation", "loss"]].mean()
    alone = means.loc[0]
    assert (alone.loc[:120, "loss"] == 0).all()
    assert (alone.loc[130:, "loss"] > 0).all()
    assert alone.loc[100:120, "utilisation"].to_numpy() == pytest.approx(1, abs=1e-3)
    assert alone.loc[130:, "utilisation"].to_numpy() == pytest.approx(0.935, abs=0.01)
    assert means.loc[5].query("loss > 0").index.min() == 110


def test_one_kind_of_flows() -> None:
    link = evidence.table("zheng2002/flows-one-kind", "link")
    mean = link.groupby(["reading", "rule", "number"])[["utilisation", "loss"]].mean()
    idle = mean[mean["utilisation"] < 0.9995]
    assert set(idle.index) == {("b", "TCP(3/7,1/4)", 10), ("b", "TCP(1/5,1/8)", 10)}
    for rule in mean.index.droplevel("number").unique():
        assert mean.loc[rule, "loss"].is_monotonic_increasing
    for number in mean.index.unique("number"):
        loss = mean["loss"].xs(number, level="number")
        assert loss.idxmax() == ("1-b", "TFRC")
        assert loss["1-b"].idxmin() == "TCP(1/5,1/8)"
    low = evidence.table("zheng2002/flows-one-kind-low-thresholds", "link")
    use = low.groupby(["reading", "rule", "number"])["utilisation"].mean()
    for number in use.index.unique("number"):
        assert use["1-b"].xs(number, level="number").idxmin() == "TCP(1,1/2)"
    for number in (40, 70):
        assert use["1-b", "TCP(1,1/2)", number] > use["b", "TCP(1/5,1/8)", number]
        assert use["b", "TCP(1/5,1/8)", number] > use["b", "TCP(3/7,1/4)", number]


def test_queues_and_marks() -> None:
    for case in ("red-droptail", "ecn"):
        assert evidence.table(f"zheng2002/{case}", "link")["utilisation"].min() > 0.999
    link = evidence.table("zheng2002/red-droptail", "link").set_index("queue")
    assert link.loc["RED", "mean_queue"].max() < 48
    assert link.loc["DropTail", "mean_queue"].min() > 130
    assert link.loc["DropTail", "loss"].max() < link.loc["RED", "loss"].min()
    loss = evidence.table("zheng2002/ecn", "link").groupby(["pair", "reading", "number", "ecn"])
    spared = 1 - loss["loss"].mean().xs(1, level="ecn") / loss["loss"].mean().xs(0, level="ecn")
    assert spared.xs(5, level="number").min() > 0.99
    assert spared.xs(35, level="number").max() < 0.4


def test_access_delay() -> None:
    flows = evidence.table("zheng2002/access-delay", "flows")
    means = flows.groupby(["pair", "reading", "kind", "flow"])[["rate", "rate_variance"]].mean()
    near, far = means.xs(1, level="flow"), means.xs(8, level="flow")
    assert (far < 0.7 * near).all(axis=None)
