"""Bundled runs computed again by the packet level."""

from __future__ import annotations

import datetime as dt

import pytest
from typer.testing import CliRunner

from hopflow.commands import app
from validation import evidence, recomputing
from validation.recomputing import (
    PARTS,
    RANDOM,
    Run,
    compare,
    part_of,
    parts_of,
    recompute,
    runs,
)

LOT = Run("packets/parking-lots-ns2", "sack", 1, 1)


def test_every_run_of_the_cases_is_in_one_part_and_no_part_is_much_larger() -> None:
    ordered = sorted(runs(), key=recomputing._hash)
    parts = [ordered[part::PARTS] for part in range(PARTS)]
    assert sum(map(len, parts)) == len(set(runs())) == 412
    assert {len(part) for part in parts} == {17, 18}
    assert [run.seed for run in runs() if run.case == RANDOM] == list(range(100))


@pytest.mark.parametrize("seed", range(0, 100, 11))
def test_random_networks_are_equal(seed: int) -> None:
    (run,) = (run for run in runs() if (run.case, run.seed) == (RANDOM, seed))
    found = compare(run)
    assert found.differences == ()
    assert found.packets > 0


@pytest.mark.parametrize(
    ("table", "column", "difference"),
    [
        ("acks", "acknowledged", "acknowledgements at ten times"),
        ("links", "drops", "drops"),
        ("flows", "sent", "packets sent"),
    ],
)
def test_one_digit_makes_a_random_network_differ(
    monkeypatch, table: str, column: str, difference: str
) -> None:
    real = evidence.table

    def changed(case: str, name: str | None = None):
        frame = real(case, name)
        if name == table:
            first = frame.index[frame["seed"] == 2][0]
            frame.loc[first, column] += 1
        return frame

    monkeypatch.setattr(evidence, "table", changed)
    assert compare(Run(RANDOM, "mixed", 3, 2)).differences == (difference,)
    assert compare(Run(RANDOM, "mixed", 4, 3)).differences == ()


def test_each_day_has_a_part_and_all_have_their_turn() -> None:
    days = (dt.date(2026, 2, 20) + dt.timedelta(n) for n in range(PARTS))
    assert {part_of(day) for day in days} == set(range(PARTS))


def test_words_stand_for_parts() -> None:
    assert (list(parts_of("5")), len(parts_of("all")), len(parts_of("none"))) == ([5], PARTS, 0)
    assert len(parts_of("today")) == 1


@pytest.mark.parametrize("text", ["24", "-1", "tomorrow", ""])
def test_other_words_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="recompute = "):
        parts_of(text)


def test_a_run_is_equal_and_one_digit_makes_it_differ(monkeypatch) -> None:
    """A packet more in the table, or a timeout, is named; the others stay equal."""
    assert compare(LOT).differences == ()
    real = evidence.table

    def changed(case: str, name: str | None = None):
        frame = real(case, name)
        if name == "flows":
            frame["timeouts"] += frame["flow"] == 2
        return frame

    monkeypatch.setattr(evidence, "table", changed)
    assert compare(LOT).differences == ("timeouts",)
    assert compare(LOT).packets == compare(LOT).packets > 10_000


@pytest.mark.slow
def test_all_runs_are_equal() -> None:
    assert [each.run for each in recompute(range(PARTS)) if each.differences] == []


def test_a_run_that_differs_ends_the_command_with_1(tmp_path, monkeypatch) -> None:
    found = [recomputing.Recomputed(LOT, 10, ("drops",))]
    monkeypatch.setattr(recomputing, "recompute", lambda parts: iter(found * len(parts)))
    arguments = ["validate", "--claim", "Z01", "--report", str(tmp_path), "--recompute", "3"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 1
    assert "1 differ" in done.output
    assert '"drops"' in (tmp_path / "recomputed.json").read_text()
