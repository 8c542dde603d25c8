"""Claims Z01, Z02, S01 and S02: the verdicts recorded, and that damaged evidence changes them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
import sympy as sp

from responsefn import AIMD
from responsefn.symbolic import a, b, p
from validation import evidence, verdicts
from validation.claims import sweeps, zheng2002
from validation.claims.sweeps import INDEPENDENT, PERIODIC, RULES, Points
from validation.verdicts import Finding, Verdict

R, C, N, NA = (
    Verdict.REPRODUCED,
    Verdict.CONTRADICTED,
    Verdict.NOT_REPRODUCED,
    Verdict.NOT_APPLICABLE,
)
REAL_TABLE = evidence.table


@pytest.fixture
def scale(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Multiply the rates of one rule in one case by a factor, for k from low to high."""

    def change(case: str, rule: str, factor: float, low: int = 0, high: int = 10**9) -> None:
        def table(name: str, part: str | None = None) -> pd.DataFrame:
            frame = REAL_TABLE(name, part)
            if name == case:
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


@pytest.mark.parametrize("id", ["Z01", "Z02", "S01", "S02"])
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
    assert parts(sweeps.periodic_loss()) == [(NA, R), (R, R), (NA, R), (NA, R)]
    assert parts(sweeps.independent_loss()) == [(C, C), (NA, R), (NA, C), (R, R)]


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
    for steps in (sweeps.SQRT_STEPS, sweeps.PFTK_STEPS):
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
    assert sweeps.independent_constant(decrease) == pytest.approx(expected, rel=error)


def test_constant_tends_to_one_with_small_cuts() -> None:
    assert sweeps.independent_constant(1e-3) == pytest.approx(1 + 1e-3 / 8, abs=1e-5)


def test_small_p_limit_finds_a_known_constant() -> None:
    loss = 1 / np.array([10000.0, 5000, 2000, 1000, 500, 200])
    runs = pd.DataFrame({"packets_per_loss": 1 / loss, "p": loss, "mean_rtt": 0.048})
    runs = runs.assign(increase=1.0, decrease=0.5)
    runs["rate"] = sweeps.aimd(runs, "sqrt") * (1.07 - 0.9 * np.sqrt(loss) + 2 * loss)
    assert sweeps.small_p_limit(runs) == pytest.approx((1.07, 0.0), abs=1e-12)


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
    assert parts(sweeps.periodic_loss())[0] == (NA, C)
    scale(PERIODIC, "TCP(3/7,1/4)", 1.02, low=10000)
    assert parts(sweeps.periodic_loss())[1] == (R, C)
    scale(PERIODIC, "TFRC", 1.002, high=20)
    assert parts(sweeps.periodic_loss())[3] == (NA, C)


def test_periodic_sweep_claims_nothing_above_one_percent_loss(scale: Callable[..., None]) -> None:
    scale(PERIODIC, "TCP(3/7,1/4)", 0.5, high=50)
    assert sweeps.periodic_loss().simulation is R


def test_independent_sweep_can_turn_out_otherwise(scale: Callable[..., None]) -> None:
    scale(INDEPENDENT, "TCP(1,1/2)", 0.97)
    assert [each for _, each in parts(sweeps.independent_loss())] == [R, R, R, C]
    scale(INDEPENDENT, "TCP(1/5,1/8)", 0.9, high=100)
    assert parts(sweeps.independent_loss())[1] == (NA, C)


@pytest.mark.parametrize(("factor", "verdict"), [(1.02, R), (1.0, N), (0.97, C)])
def test_equal_response_depends_on_the_rates(
    scale: Callable[..., None], factor: float, verdict: Verdict
) -> None:
    scale(INDEPENDENT, "TCP(1/5,1/8)", factor)
    assert parts(zheng2002.same_response())[3] == (R, verdict)
    scale(PERIODIC, "TCP(1/5,1/8)", 0.9 * factor, low=50)
    assert parts(zheng2002.same_response())[2] == (R, C)


def test_runs_of_all_rules_are_there() -> None:
    for case, seeds in ((PERIODIC, 1), (INDEPENDENT, 3)):
        for rule in (*RULES, "TFRC"):
            runs = sweeps.rows(case, rule)
            assert len(runs) == 10 * seeds
            assert runs["packets_per_loss"].is_monotonic_decreasing
