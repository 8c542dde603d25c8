"""What statements allow, and how often they hold where they are not so (`benchmarks.null_worlds`, `benchmarks.model_worlds`)."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from benchmarks import model_worlds, null_worlds
from validation import evidence, records
from validation.checks import subjects
from validation.claims import find
from validation.judgements.judges import Judges
from validation.judgements.verdicts import Finding, Verdict

KINDS = {"absence", "bound", "equality", "existence", "identity", "order", "trend", "undecidable"}
SETS = records.rows("allowed_sets.csv")
MODELS = records.rows("model_worlds.csv")
ROWS = null_worlds.read(null_worlds.RESULTS, 200)
TOO_OFTEN = null_worlds.too_often(ROWS)
RARE = sorted(
    {
        (row.claim, row.statement, row.source)
        for row in ROWS
        if row.world != "as run" and row.failed < row.draws and row not in TOO_OFTEN
    }
)
DRAWN = random.Random(88).sample(RARE, 3)
"""Three statements, by claim, key and simulator, of those that the table has as rare; ``docs/power.md`` lists the others."""


def test_every_statement_says_what_it_allows() -> None:
    keys = [(row["claim"], row["statement"]) for row in SETS]
    assert len(keys) == len(set(keys))
    assert set(keys) == {(row["claim"], row["statement"]) for row in records.rows("statements.csv")}
    assert {row["kind"] for row in SETS} == KINDS
    undecidable = {(row["claim"], row["statement"]) for row in SETS if row["kind"] == "undecidable"}
    assert undecidable >= {(id, key) for id, keys in records.undecidable_statements().items() for key in keys}


@pytest.mark.parametrize("row", [row for row in SETS if row["stated_by"].endswith(": ours")], ids=str)
def test_bounds_of_ours_are_thresholds_of_the_claim(row: dict[str, str]) -> None:
    find(row["claim"])
    assert set(row["bound"].split()) <= set(subjects()[row["claim"]].check.thresholds())


@pytest.mark.parametrize(("claim", "statement", "source"), DRAWN)
def test_a_drawn_statement_rarely_holds_where_it_is_not_so(claim: str, statement: str, source: str) -> None:
    rows = null_worlds.draw(claim, 20, seed=1, powers=False)
    (row,) = (row for row in rows if (row.statement, row.source) == (statement, source))
    assert row.draws - row.failed > 0
    assert row.holds <= null_worlds.largest_allowed(row.draws)


def _without_judging(monkeypatch: pytest.MonkeyPatch) -> None:
    in_all_readings = Judges.in_all_readings

    def all_hold(self: Any, measured: object, thresholds: Any, basis: Any = None) -> Finding:
        finding = in_all_readings(self, measured, thresholds, basis)
        parts = (
            replace(part, model=Verdict.HOLDS, simulators=dict.fromkeys(part.simulators, Verdict.HOLDS))
            for part in finding.parts
        )
        return replace(finding, parts=tuple(parts))

    monkeypatch.setattr(Judges, "in_all_readings", all_hold)


def test_a_statement_that_cannot_fail_holds_too_often(monkeypatch: pytest.MonkeyPatch) -> None:
    _without_judging(monkeypatch)
    rows = null_worlds.draw("M10", 20, powers=False)
    assert {row.statement for row in null_worlds.too_often(rows)} == {"grows", "losses", "others"}


def test_worlds_keep_labels_and_the_number_of_rows() -> None:
    case = "kaneko2007/rtt-fairness-ns2"
    before = evidence.table(case, "flows")
    for world in (
        null_worlds.shuffled(np.random.default_rng(0), [case]),
        null_worlds.resampled(np.random.default_rng(0)),
    ):
        with evidence.changed(world):
            after = evidence.table(case, "flows")
        labels = ["rule", "long_rtt", "seed", "flow"]
        assert after[labels].value_counts().to_dict() == before[labels].value_counts().to_dict()
        assert after["goodput_bits"].tolist() != before["goodput_bits"].tolist()
    with evidence.changed(null_worlds.resampled(np.random.default_rng(0), 3)):
        assert evidence.table(case, "flows")["seed"].nunique() == 3 * before["seed"].nunique()


@pytest.mark.parametrize("claim", random.Random(89).sample(sorted({row["claim"] for row in MODELS}), 2))
def test_the_answers_of_a_model_are_changed_as_in_the_table(claim: str) -> None:
    assert model_worlds.rows_of(claim) == [row for row in MODELS if row["claim"] == claim]


def test_a_model_that_cannot_fail_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    _without_judging(monkeypatch)
    rows = model_worlds.rows_of("M03")
    assert rows
    assert all(map(model_worlds.too_often, rows))
