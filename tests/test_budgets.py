"""Budgets in counted instructions: every case has one, units are counted, and a count above its budget is noticed."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from benchmarks import budgets
from benchmarks.budgets import CASES, Budget, Case, over

APP = budgets.typer.Typer()
APP.command()(budgets.main)


def test_every_case_has_a_budget_of_its_unit() -> None:
    known = budgets.budgets()
    assert list(known) == list(CASES)
    for name, each in known.items():
        assert each.unit == CASES[name].unit
        assert each.instructions > 0.0


@pytest.mark.parametrize(("count", "exceeds"), [(100.0, False), (101.9, False), (102.1, True)])
def test_two_per_cent_more_is_too_much(count: float, exceeds: bool) -> None:
    found = over({"a": Budget("rate", count, 0.0)}, {"a": Budget("rate", 100.0, 0.0)})
    assert bool(found) is exceeds
    assert over({"b": Budget("rate", 1.0, 0.0)}, {}) == ["b: has no budget; write it with --save"]


def test_the_command_fails_where_a_budget_is_exceeded(monkeypatch) -> None:
    """The counts are given: Valgrind takes minutes."""
    known = budgets.budgets()
    name = next(iter(known))
    more = Budget(known[name].unit, 1.5 * known[name].instructions, 0.0)
    monkeypatch.setattr(budgets, "count", lambda _: known | {name: more})
    failed = CliRunner().invoke(APP, [])
    assert failed.exit_code == 1
    assert f"{name}: " in failed.stdout
    assert "50.0 % more than its budget" in failed.stdout
    monkeypatch.setattr(budgets, "count", lambda _: known)
    assert CliRunner().invoke(APP, []).exit_code == 0
    assert CliRunner().invoke(APP, ["no such case"]).exit_code == 2


def test_saved_budgets_are_read_as_they_were_counted(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(budgets, "BUDGETS", tmp_path / "budgets.toml")
    monkeypatch.setattr(budgets, "TABLE", tmp_path / "budgets.md")
    name = next(iter(CASES))
    budgets.save({name: Budget("packet-hop", 244.0, 0.25)})
    assert budgets.budgets() == {name: Budget("packet-hop", 244.0, 0.25)}
    assert f"| {name} | packet-hop | 244 | 0.25 |" in (tmp_path / "budgets.md").read_text()


def test_a_case_is_prepared_apart_from_its_work(monkeypatch, capsys) -> None:
    """Each is done twice, the second time between the requests that start and stop the instrumentation."""
    said: list[object] = []

    def prepare():
        said.append("prepare")
        return lambda: said.append("work") or 3.0

    monkeypatch.setitem(CASES, "own", Case("unit", prepare))
    monkeypatch.setattr(budgets, "ask", said.append)
    budgets.run_all(["own"])
    assert capsys.readouterr().out == "3.0\n"
    requests = budgets.START, budgets.STOP, budgets.DUMP
    assert said == ["prepare", "work", "prepare", requests[0], "work", *requests[1:]]
