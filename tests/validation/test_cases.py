"""Every bundled case says which claims it is for: these use it, or say why not."""

from __future__ import annotations

from validation import evidence
from validation.checks import subjects
from validation.claims import ledger
from validation.records import entries, excused_cases


def tags() -> set[tuple[str, str]]:
    return {
        (case, claim) for case in evidence.cases() for claim in evidence.provenance(case)["claims"]
    }


def used() -> set[tuple[str, str]]:
    ledger()
    return {(case, id) for id, subject in subjects().items() for case in subject.cases}


def test_every_case_is_used_by_its_claims_or_excused_by_name() -> None:
    assert tags() - used() - set(excused_cases()) == set()


def test_no_excuse_is_stale_and_each_has_a_reason() -> None:
    assert set(excused_cases()) <= tags() - used()
    assert all(len(reason.split()) > 3 for reason in excused_cases().values())


def test_every_claim_has_a_check() -> None:
    assert set(entries()) == set(ledger())
