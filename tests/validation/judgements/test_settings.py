"""The settings between a paper and a verdict: listed from the records of the cases, each with who states it."""

from __future__ import annotations

from functools import cache

import pytest

from validation import Finding, Verdict, ledger
from validation.checks import subjects
from validation.judgements import settings
from validation.judgements.settings import OURS, PAPER, STATED_BY, is_settled, listed, settings_of
from validation.judgements.verdicts import Part, Reading
from validation.records import rows

R, C, N, A = Verdict.HOLDS, Verdict.CONTRADICTED, Verdict.INCONCLUSIVE, Verdict.NOT_APPLICABLE
CASE = "zheng2002/red-droptail-bins"


@cache
def of_papers() -> dict[str, set[str]]:
    """Return the settings of the claims of each paper of the table."""
    papers = {row["paper"] for row in rows("settings.csv")}
    found: dict[str, set[str]] = {paper: set() for paper in papers}
    for claim in ledger().values():
        if claim.paper in papers:
            found[claim.paper] |= set(listed(subjects()[claim.id].cases))
    return found


@pytest.mark.slow
def test_every_setting_of_a_paper_has_a_row_and_no_row_is_of_another() -> None:
    """A parameter or factor that a new case brings is looked up before its claims are judged by it."""
    for paper, names in of_papers().items():
        assert {row["setting"] for row in rows("settings.csv") if row["paper"] == paper} == names


def test_rows_name_who_states_a_setting_and_readings_that_are_judged() -> None:
    judged: dict[str, set[str]] = {}
    for row in rows("readings.csv"):
        judged.setdefault(ledger()[row["id"]].paper, set()).add(row["reading"])
    for row in rows("settings.csv"):
        assert row["stated by"] in STATED_BY
        assert row["place"]
        for part in filter(None, map(str.strip, row["varied in"].split(";"))):
            assert any(name.startswith(part) for name in judged[row["paper"]]), row


def finding(**readings: tuple[Verdict, Verdict]) -> Finding:
    """Return a finding in ns-2 that is contradicted as read here, with readings of model and ns-2."""

    def part(model: Verdict, packets: Verdict) -> Part:
        return Part("x", model, packets, simulators={"ns-2": packets} if packets is not A else {})

    others = tuple(Reading(name.replace("_", " "), (part(*each),)) for name, each in readings.items())
    return Finding((part(A, C),), "", readings=others, cases=(CASE,))


def test_settings_of_ours_come_first_with_the_verdicts_of_the_readings_that_vary_them() -> None:
    found = {each.name: each for each in settings_of("zheng2002", finding(
        rates_in_bins_of_10_s=(A, R), another_thing=(R, R),
    ))}  # fmt: skip
    assert found["bin"].stated_by == OURS
    assert found["bin"].values == ("0.5, 2.5, 10 s",)
    assert found["bin"].results == ("rates in bins of 10 s: ns-2 holds",)
    assert found["starts"].results == ()
    order = [each.stated_by for each in found.values()]
    assert order == sorted(order, key=[OURS, "reading", PAPER].index)
    assert next(iter(found)) == "bin"


def test_a_setting_without_a_row_says_so(monkeypatch) -> None:
    kept = [row for row in rows("settings.csv") if row["setting"] != "bin"]
    monkeypatch.setattr(settings.records, "rows", lambda _: kept)
    found = {each.name: each for each in settings_of("zheng2002", finding())}
    assert found["bin"].stated_by == ""


def test_a_paper_without_rows_has_no_list() -> None:
    assert list(settings_of("zhu2015", finding())) == []


@pytest.mark.parametrize(("readings", "settled"), [({}, False), ({"a": (R, R)}, False)])
def test_a_claim_that_is_contradicted_is_not_settled(readings, settled: bool) -> None:
    assert is_settled(finding(**readings)) is settled


def test_a_claim_is_settled_where_all_that_was_judged_holds() -> None:
    held = Part("x", R, R, simulators={"ns-2": R})
    open_ = Part("x", A, N, simulators={"ns-2": N})
    missing = Part("x", A, A)
    assert is_settled(Finding((held,), "", readings=(Reading("a", (held,)), Reading("b", (missing,)))))
    assert not is_settled(Finding((held,), "", readings=(Reading("a", (open_,)),)))
