"""Runs of hopflow's packet level over seeds: bundled ones are used only where the first one, run again, equals its record."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import NamedTuple

import pytest

from validation import evidence, further_seeds
from validation.further_seeds import CASE, lines, named, over_seeds, plain
from validation.generate.packets import further_seeds as further_seeds_plan
from validation.generate.packets import seed_tables


class Pair(NamedTuple):
    """What a function of a seed may return."""

    mean: float
    both: list[float]


@pytest.fixture
def counted(monkeypatch):
    """Return a function over three seeds that is kept in the process alone, and the seeds that it was run for."""
    monkeypatch.setattr(further_seeds, "kept", functools.cache)
    ran = []

    @over_seeds((1, 2, 3))
    def squares(seed: int, shift: float = 0.0) -> Pair:
        ran.append(seed)
        return Pair(seed**2 + shift, [float(seed), -float(seed)])

    return squares, ran


def test_the_seeds_of_a_check_are_run_where_none_are_bundled(counted) -> None:
    squares, ran = counted
    assert [pair.mean for pair in squares(0.5)] == [1.5, 4.5, 9.5]
    assert ran == [1, 2, 3]
    assert len(squares(0.25, base=(1, 2))) == 2


def test_bundled_seeds_are_taken_where_the_first_run_equals_its_record(
    counted, monkeypatch
) -> None:
    squares, ran = counted
    bundle = {1: [2.0, 1.0, -1.0], 2: [5.0, 2.0, -2.0], 7: [50.0, 7.0, -7.0]}
    monkeypatch.setattr(further_seeds, "_bundled", lambda *_: bundle)
    found = squares(1.0)
    assert found == [Pair(2.0, [1.0, -1.0]), Pair(5.0, [2.0, -2.0]), Pair(50.0, [7.0, -7.0])]
    assert ran == [1]


@pytest.mark.parametrize("first", [[2.0 + 1e-6, 1.0, -1.0], [2.0, 1.0], []])
def test_all_bundled_seeds_are_run_where_the_first_one_differs(counted, monkeypatch, first) -> None:
    """Stale numbers are never mixed with new ones."""
    squares, ran = counted
    monkeypatch.setattr(further_seeds, "_bundled", lambda *_: {1: first, 7: [0.0, 0.0, 0.0]})
    assert [pair.mean for pair in squares(1.0)] == [2.0, 50.0]
    assert ran == [1, 7]


def test_a_function_of_one_run_is_refused() -> None:
    with pytest.raises(ValueError, match="must be one that measures seeds"):
        named("li2019.telemetry.load")


def test_named_tuples_become_plain_ones() -> None:
    assert repr(plain((Pair(1.0, [2.0]), "a"))) == "((1.0, [2.0]), 'a')"


def _settings() -> list[tuple[str, str]]:
    table = evidence.table(CASE)[["function", "arguments"]].drop_duplicates()
    return [(str(f), str(a)) for f, a in table.itertuples(index=False, name=None)]


def _differs(function: str, arguments: str, seed: int) -> bool:
    table = evidence.table(CASE)
    own = table[(table["function"] == function) & (table["arguments"] == arguments)]
    known = own[own["seed"] == seed].sort_values("number")["value"].tolist()
    found = [float(line.split(",")[2]) for line in lines(function, arguments, [seed])]
    return not further_seeds._equal(found, known)


def test_a_bundled_run_is_the_same_when_made_again() -> None:
    assert not _differs("li2019.telemetry.shares", "()", 107)


@pytest.mark.slow
def test_every_setting_has_its_last_seed_when_it_is_run_again() -> None:
    table = evidence.table(CASE)
    last = table.groupby(["function", "arguments"])["seed"].max()
    assert [key for key in _settings() if _differs(*key, int(last[key]))] == []


def test_the_plan_has_each_setting_once_and_as_many_seeds_as_a_claim_needs() -> None:
    settings = [
        (run["function"], *setting)
        for run in further_seeds_plan.runs()
        for setting in run["settings"]
    ]
    keys = [(function, arguments) for function, _, _, arguments in settings]
    assert len(keys) == len(set(keys))
    seeds = {key: last - first + 1 for key, (_, first, last, _) in zip(keys, settings, strict=True)}
    assert seeds["zhu2015.sharing.lot_rates_of_dcqcn", "()"] == further_seeds_plan.NEEDED["Q02"]
    assert seeds["li2019.telemetry.shares", "()"] == further_seeds_plan.MIN_SEEDS
    assert all(named(function).seeds[0] == first for function, first, *_ in settings)


def test_lines_become_rows_with_all_digits() -> None:
    run = {"function": "f", "settings": [[1, 1, "(1,)"], [1, 1, "(2,)"]]}
    rows = seed_tables.read(run, Path(), ["0,1,0,0.1\n1,1,0,0.30000000000000004\n"])["runs"]
    assert [row["arguments"] for row in rows] == ["(1,)", "(2,)"]
    assert rows[1]["value"] == "0.30000000000000004"
    assert seed_tables.calls(run) == [["f", "1", "1", "(1,)", "1", "1", "(2,)"]]
