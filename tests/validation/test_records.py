"""What is recorded of claims and findings, and forgeries of it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from validation import Verdict
from validation.claims import find
from validation.claims.effect_claims import Effects, Statement
from validation.claims.yang2001 import best_effort
from validation.claims.zheng2002 import pairs
from validation.recording import Recorded, differences, record, recorded
from validation.records import (
    FABRICS,
    OWN,
    PUBLISHED,
    entries,
    expectations,
    group_of,
    headline_of,
    minor_statements,
    paraphrases,
    recorded_levels,
    recorded_thresholds,
    recorded_verdicts,
    rows,
    statements_of_papers,
    undecidable_statements,
    without_packet_level,
)

# The recorded tables: claims, verdicts, thresholds.


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


# What is recorded of findings: forgeries of readings, and of constants that judge, are noticed.


def changes(id: str) -> list[str]:
    """Return what of a claim, checked now, is not as recorded."""
    return list(differences(find(id).check(), recorded()[id]))


def test_every_statement_of_every_reading_is_recorded() -> None:
    assert set(recorded()) == set(entries())
    assert all(known.statements for known in recorded().values())
    assert len(rows("readings.csv")) == sum(len(known.statements) for known in recorded().values())


@pytest.mark.parametrize("id", ["Z09", "Y06"])
def test_what_is_bundled_is_as_recorded(id: str) -> None:
    assert changes(id) == []


def test_a_forged_reading_is_noticed_though_the_verdict_stays(monkeypatch, check) -> None:
    """a and b exchanged is what another reading has: the claim stays contradicted."""
    before = check("Z08")
    monkeypatch.setitem(pairs.READINGS, pairs.EXCHANGED, {"reading": "b"})
    after = check("Z08")
    assert after.simulation is before.simulation
    assert [each for each in differences(after, recorded()["Z08"]) if pairs.EXCHANGED in each]


def test_a_forged_constant_of_a_judge_is_noticed_though_the_verdict_stays() -> None:
    """A fixed number of times in Y06's threshold of two: see the row of ``thresholds.csv``."""
    found = find("Y06").check()
    (least,) = (each for each in found.thresholds if each.name == "least")
    assert least.value == best_effort.FAR
    lower = replace(least, value=1.1)
    forged = replace(
        found, thresholds=tuple(lower if each is least else each for each in found.thresholds)
    )
    assert list(differences(forged, recorded()["Y06"])) == ["threshold least"]


def test_a_missing_reading_and_an_unknown_one_are_noticed() -> None:
    found, known = find("Y06").check(), recorded()["Y06"]
    reading, *others = found.readings
    without = list(differences(replace(found, readings=()), known))
    assert f"statement 1 in the reading {reading.name!r}" in without
    renamed = replace(found, readings=(replace(reading, name="queues of ten"), *others))
    assert "statement 1 in the reading 'queues of ten'" in list(differences(renamed, known))


def test_a_claim_without_a_record_differs() -> None:
    assert "model and packets" in list(differences(find("Z01").check(), Recorded()))


def test_a_statement_that_another_source_judges_is_noticed() -> None:
    found, known = find("Y06").check(), recorded()["Y06"]
    first, *rest = found.parts
    forged = replace(found, parts=(replace(first, level=Verdict.HOLDS), *rest))
    assert "statement 1" in list(differences(forged, known))


def test_a_nan_is_no_verdict() -> None:
    """A run without a partner of its seed once made a statement inconclusive without a word."""
    from validation.statistics import of_runs

    with pytest.raises(ValueError, match="values must be finite"):
        Effects({"x": Statement((of_runs([1.0, float("nan")]),))}, {}, ("x", "y"))


def test_recording_one_claim_leaves_the_rows_of_others(tmp_path, monkeypatch):
    before = {
        name: (PUBLISHED / name).read_text(encoding="utf-8")
        for name in ("verdicts.csv", "thresholds.csv", "readings.csv")
    }
    for name, whole in before.items():
        text = re.sub(r"(?m)^M02,.*\n", "", whole)
        assert text != whole
        (tmp_path / name).write_text(text, encoding="utf-8")
    found = find("M02").check()  # claims are read from the checkout, before it is hidden
    monkeypatch.setattr("validation.records.PUBLISHED", tmp_path)
    monkeypatch.setattr("validation.recording.PUBLISHED", tmp_path)
    record({find("M02"): found})
    assert {name: (tmp_path / name).read_text(encoding="utf-8") for name in before} == before
