"""The recorded tables: claims, verdicts, thresholds."""

from __future__ import annotations

import re

from validation.records import (
    FABRICS,
    OWN,
    entries,
    expectations,
    group_of,
    headline_of,
    minor_statements,
    paraphrases,
    recorded_levels,
    recorded_thresholds,
    recorded_verdicts,
    statements_of_papers,
    undecidable_statements,
    without_packet_level,
)
from validation.verdicts import Verdict


def test_every_recorded_verdict_is_of_a_claim() -> None:
    assert set(recorded_verdicts()) <= set(entries())
    assert {id for id, _ in recorded_thresholds()} <= set(recorded_verdicts())


def test_claims_come_paper_by_paper() -> None:
    papers = list(dict.fromkeys(entry.paper for entry in entries().values()))
    assert papers == [
        "takano2006",
        "malhotra2005",
        "kaneko2007",
        "zheng2002",
        "yang2001",
        "hopflow",
        *FABRICS,
    ]
    takano = [id for id, entry in entries().items() if entry.paper == "takano2006"]
    assert takano == sorted(takano)


def test_a_claim_that_refers_to_another_says_what_that_one_says() -> None:
    assert entries()["D05"].text == f"same as D04 ({entries()['D04'].text})"


def test_at_least_eight_claims_are_decided_by_packets() -> None:
    decided = (Verdict.HOLDS, Verdict.CONTRADICTED)
    assert sum(sides.packets in decided for sides in recorded_verdicts().values()) >= 8


def test_all_86_claims_of_the_papers_have_both_verdicts_and_at_most_five_need_other_data() -> None:
    own = {id for id, entry in entries().items() if group_of(entry.paper) == "papers"}
    assert len(own) == 86
    assert own <= set(recorded_verdicts())
    open_ones = {id for id in own if set(recorded_verdicts()[id]) & {Verdict.UNDECIDABLE}}
    assert len(open_ones) <= 5


def test_half_and_twice_are_those_of_the_threshold() -> None:
    """Z10: similar is within a tenth; ns-2 confirms it within a fifth."""
    threshold = recorded_thresholds()["Z10", "margin"]
    assert threshold.value == 0.1
    assert threshold.half.packets is Verdict.CONTRADICTED
    assert threshold.twice.packets is Verdict.HOLDS


def test_every_claim_of_a_paper_is_judged_at_packet_level_or_says_why_not() -> None:
    without = {id for id, found in recorded_levels().items() if found is Verdict.NOT_APPLICABLE}
    assert set(without_packet_level()) == {id for id in without if entries()[id].paper != OWN}
    assert all(len(reason.split()) > 3 for reason in without_packet_level().values())


def test_every_claim_of_a_paper_says_where_and_how_the_paper_says_it() -> None:
    """A paraphrase is ours: no quotation marks, and no comment of ours within."""
    own = {id for id, entry in entries().items() if entry.paper != OWN}
    assert set(paraphrases()) == own
    for id, said in paraphrases().items():
        assert all(vars(said).values()), id
        assert re.match(r"(Sects?|Figs?|eqs?)\. |Table \d|(two )?slides? ", said.place), id
        assert not set('"“”') & set(said.text), id
        assert len(said.text.split()) <= 40, id


def test_every_statement_of_a_paper_names_its_sentence_and_what_decides_it() -> None:
    """The places are of the paper; a check of ours says that it is none of the paper's claims."""
    assert set(statements_of_papers()) == set(paraphrases())
    for id, statements in statements_of_papers().items():
        for key, said in statements.items():
            assert all(vars(said).values()), (id, key)
            assert re.match(r"(Sects?|Figs?|eqs?)\. |Table \d|slides? ", said.place), (id, key)
            assert len(said.text.split()) <= 40, (id, key)


def test_minor_statements_are_in_the_ledger() -> None:
    for id, keys in minor_statements().items():
        assert set(keys) <= set(statements_of_papers()[id]), id


def test_minor_statements_have_a_reason_and_leave_another_to_decide() -> None:
    for id, statements in minor_statements().items():
        assert id in entries()
        assert all(len(reason.split()) > 5 for reason in statements.values())


def test_undecidable_statements_are_in_the_ledger_and_say_what_would_decide_them() -> None:
    for id, statements in undecidable_statements().items():
        ledger = statements_of_papers()[id]
        for key, reason in statements.items():
            assert ledger[key].statistic == "undecidable"
            assert len(reason.split()) > 5
        assert not set(statements) & set(minor_statements().get(id, {}))
        assert set(statements) < set(ledger), id
    said = {(id, key) for id, each in undecidable_statements().items() for key in each}
    for id, each in statements_of_papers().items():
        assert {(id, key) for key, one in each.items() if one.statistic == "undecidable"} <= said


def test_every_claim_has_a_headline_for_its_recorded_verdicts() -> None:
    """At most twenty words, without intervals; another verdict has no headline until one is written."""
    for id, verdicts in recorded_verdicts().items():
        text = headline_of(id, verdicts)
        assert text, id
        assert len(text.split()) <= 20, id
        assert "\u00b1" not in text
        assert not headline_of(id, verdicts._replace(model=Verdict.DISAGREE))


def test_every_claim_on_fabrics_has_an_expectation_and_at_least_thirty_are_judged() -> None:
    own = [id for id, entry in entries().items() if group_of(entry.paper) == "fabrics"]
    assert {entries()[id].paper for id in own} == set(FABRICS)
    expected = {(id, key) for id in own for key in statements_of_papers()[id]}
    assert set(expectations()) == expected
    for said in expectations().values():
        assert all(said.values())
        assert {said["model"], said["packet level"]} <= set(Verdict)
    undecided = {Verdict.NOT_APPLICABLE, Verdict.UNDECIDABLE}
    judged = [
        id for id in own if {recorded_verdicts()[id].model, recorded_levels()[id]} - undecided
    ]
    assert len(judged) >= 30
    assert len(judged) == len(own)
