"""The ledger, the texts and the records of findings."""

from __future__ import annotations

import csv
import itertools
import re
from dataclasses import replace
from pathlib import Path

import jinja2
import numpy as np
import pandas as pd
import pytest

from dfcmodel import explain
from tests.option_objects import grouped
from tests.surface import for_each
from validation import Finding, Verdict, evidence, ledger
from validation.checks import subjects
from validation.claims import find
from validation.claims.explained import SCENARIOS, arguments
from validation.claims.yang2001 import best_effort
from validation.claims.zheng2002 import pairs
from validation.display import texts
from validation.display.finding_rows import Number
from validation.display.svg import drawn
from validation.display.waterfalls import ABOUT, CASE, gap_of, waterfall_of
from validation.judgements import pickles
from validation.judgements.labels import SIMULATORS
from validation.judgements.recording import Recorded, _printed, differences, record, recorded
from validation.judgements.verdicts import Sides
from validation.networks.recomputing import RANDOM
from validation.records import (
    FABRICS,
    OWN,
    PUBLISHED,
    entries,
    excused_cases,
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
    without_explanation,
    without_packet_level,
)
from validation.statistics import Estimate

# The recorded tables: claims, verdicts, thresholds.


def test_every_recorded_verdict_is_of_a_claim() -> None:
    assert set(recorded_verdicts()) <= set(entries())
    assert {id for id, _ in recorded_thresholds()} <= set(recorded_verdicts())


@pytest.mark.parametrize("path", sorted(PUBLISHED.glob("*.csv")), ids=lambda path: path.name)
def test_rows_of_published_tables_have_as_many_cells_as_the_header(path: Path) -> None:
    """A comma without quotation marks cuts a text short."""
    with path.open(newline="", encoding="utf-8") as file:
        header, *cells = csv.reader(file)
    assert [row for row in cells if len(row) != len(header)] == []


def test_claims_come_paper_by_paper() -> None:
    papers = list(dict.fromkeys(entry.paper for entry in entries().values()))
    of_papers = ["takano2006", "malhotra2005", "kaneko2007", "zheng2002", "yang2001"]
    assert papers == [*of_papers, "hopflow", *FABRICS]
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
    assert threshold.half["ns-2"] is threshold.half["simulation"] is Verdict.CONTRADICTED
    assert threshold.twice["ns-2"] is Verdict.HOLDS


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


def test_minor_statements_are_in_the_ledger_and_have_a_reason() -> None:
    for id, statements in minor_statements().items():
        ledger = statements_of_papers().get(id)
        text = subjects()[id].check.text.read_text()  # of own comparisons, which the ledger leaves out
        assert all(key in ledger if ledger else f"- `{key}` " in text for key in statements), id
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


def test_the_label_of_all_simulators_is_made_of_theirs() -> None:
    """None is contradicted, or holds, where a simulator depends on the reading, and one simulator alone has the label of all."""
    checked = 0
    for row in rows("verdicts.csv"):
        label = row["simulation"]
        each = [row[name] for name in SIMULATORS if row[name] != "not applicable"]
        if not each:
            continue
        checked += 1
        if len(each) == 1:
            assert label == each[0], row["id"]
        assert label in ("inconclusive", "simulators disagree", *each), row["id"]
        if label in ("holds", "contradicted"):
            assert "depends" not in each, row["id"]
            assert {"holds": "contradicted", "contradicted": "holds"}[label] not in each, row["id"]
    assert checked > 70


@pytest.mark.parametrize(
    ("id", "key", "sentences"),
    [
        ("Y12", "sfq_udp", ("SFQ is worst for all UDP", "DRR is worst for UDP")),
        ("Z14", "tcp_smoother", ("TCP is smoother than TCP(a,b)", "TCP(a,b) is smoother than TCP")),
    ],
)
def test_what_a_paper_asserts_with_its_opposite_is_undecidable_with_both_sentences(id, key, sentences):
    assert all(sentence in undecidable_statements()[id][key] for sentence in sentences)
    (part,) = [p for p in find(id).check().parts if p.statement == statements_of_papers()[id][key].text]
    assert part.minor == undecidable_statements()[id][key]
    assert {part.by(source) for source in ("model", "ns-2", "level")} <= {
        Verdict.UNDECIDABLE, Verdict.NOT_APPLICABLE
    }  # fmt: skip


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
    judged = [id for id in own if {recorded_verdicts()[id].model, recorded_levels()[id]} - undecided]
    assert len(judged) >= 30
    assert len(judged) == len(own)


# What is recorded of findings: forgeries of readings, and of constants that judge, are noticed.


def changes(id: str) -> list[str]:
    """Return what of a claim, checked now, is not as recorded."""
    return list(differences(find(id).check(), recorded()[id]))


def test_every_statement_of_every_reading_is_recorded() -> None:
    assert set(recorded()) == set(entries())
    assert all(known.statements and known.numbers for known in recorded().values())
    assert len(rows("readings.csv")) == sum(len(known.statements) for known in recorded().values())


@pytest.mark.parametrize("id", ["Z09", "Y06"])
def test_what_is_bundled_is_as_recorded(id: str) -> None:
    assert changes(id) == []


def test_a_forged_reading_is_noticed_though_the_verdict_stays(monkeypatch, check) -> None:
    """a and b exchanged is what another reading has: by default the claim stays contradicted."""
    before = check("Z08")
    monkeypatch.setitem(pairs.READINGS, pairs.EXCHANGED, {"reading": "b"})
    after = check("Z08")
    assert after.default == before.default
    assert [each for each in differences(after, recorded()["Z08"]) if pairs.EXCHANGED in each]


def test_a_forged_constant_of_a_judge_is_noticed_though_the_verdict_stays() -> None:
    """A fixed number of times in Y06's threshold of two: see the row of ``thresholds.csv``."""
    found = find("Y06").check()
    (least,) = (each for each in found.thresholds if each.name == "least")
    assert least.value == best_effort.FAR
    lower = replace(least, value=1.1)
    forged = replace(found, thresholds=tuple(lower if each is least else each for each in found.thresholds))
    assert list(differences(forged, recorded()["Y06"])) == ["threshold least"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("0.4842", "0.5"), "numbers of quantity 1: 0.5 instead of 0.4842"),
        (("0.4842", "0.4844"), "numbers of quantity 1: 0.4844 instead of 0.4842"),
        (("0.4842", ""), "numbers of quantity 1: 2 instead of 3"),
        (("0.4842", "0.4843"), ""),
        (("3 of", "4 of"), "numbers of quantity 1: 4 instead of 3"),
    ],
    ids=["rounded", "another", "missing", "last digit", "count"],
)
def test_other_printed_numbers_are_noticed_though_the_verdict_stays(change, said) -> None:
    """The last digit of a fraction alone may differ: rounding errors of another machine."""
    found = find("Y06").check()
    row = Number("flows", "3 of 5", "0.4842")
    printed = _printed(replace(found, numbers=(row, *found.numbers[1:])))
    known = replace(recorded()["Y06"], numbers=recorded()["Y06"].numbers | printed)
    assert known.numbers["quantity 1"] == "3 5 0.4842"
    other = replace(row, model=row.model.replace(*change), simulation=row.simulation.replace(*change))
    forged = replace(found, numbers=(other, *found.numbers[1:]))
    assert list(differences(forged, known)) == ([said] if said else [])


def test_places_with_other_numbers_are_named_or_counted() -> None:
    found, known = find("Y06").check(), recorded()["Y06"]
    words, *named, more = differences(found, replace(known, numbers={}))
    assert words == "words"
    assert all(each.startswith("numbers of ") for each in named)
    not_compared = {place for place in known.numbers if place == "words" or place.endswith(" points")}
    assert more == f"numbers of {len(known.numbers) - len(not_compared) - len(named)} more places"


def test_other_words_with_the_same_numbers_are_noticed() -> None:
    found, known = find("Y06").check(), recorded()["Y06"]
    assert list(differences(found, known)) == []
    for other in (
        replace(found, summary=found.summary + " Not so."),
        replace(found, explanation=found.explanation.replace("the", "no", 1)),
        replace(found, pictures=(replace(found.pictures[0], caption="Another."), *found.pictures[1:])),
    ):
        assert next(iter(differences(other, known))) == "words"


def test_a_curve_drawn_at_half_its_height_is_noticed() -> None:
    found, known = find("Y06").check(), recorded()["Y06"]
    picture = drawn(found.pictures[0])
    assert list(differences(replace(found, pictures=(picture, *found.pictures[1:])), known)) == []
    assert picture.points is not None
    for column in ("x", "y"):
        points = picture.points.assign(**{column: 0.5 * picture.points[column]})
        forged = replace(found, pictures=(replace(picture, points=points), *found.pictures[1:]))
        (difference,) = differences(forged, known)
        assert difference.startswith("numbers of picture 1 points: "), column


def test_a_forged_count_of_statements_that_hold_is_noticed() -> None:
    found, known = find("Y06").check(), recorded()["Y06"]
    assert list(differences(found, replace(known, held=Sides("9 of 9", "9 of 9")))) == ["statements that hold"]


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


# The bundled data: records, tables, units.

EXAMPLE = "zheng2002/periodic-loss"


def test_provenance_of_a_case_is_complete() -> None:
    check_provenance(EXAMPLE)


@pytest.mark.slow  # all are as sealed: only where data are made again can another one be incomplete
@for_each(evidence.cases())
def test_provenance_is_complete(case: str) -> None:
    check_provenance(case)


def check_provenance(case: str) -> None:
    """Assert that a record has all its parts, and its tables the rows and columns that it says."""
    record = evidence.provenance(case)
    assert record["case"] == case
    for key in ("title", "tool", "version", "command", "date", "regenerate"):
        assert record[key], key
    assert record["parameters"]
    assert record["runs"] >= 1
    assert record["commands"]["number"] >= record["runs"]
    assert record["simulated_seconds"] > 0
    assert record["cpu_seconds"] > 0
    written = case == RANDOM  # its Tcl programs are those of to_ns2
    kinds = {".py"} if written or record["tool"] in ("hopflow", "htsim", "uet-htsim") else {".tcl", ".cc", ".h"}
    if record["tool"] == "Linux":
        kinds = {".c", ".h", ".config", ".sh"}
    assert {Path(program).suffix for program in record["programs"]} <= kinds
    assert record["programs"]
    for file, about in record["files"].items():
        frame = evidence.table(case, file.split(".")[0])
        assert len(frame) == about["rows"]
        assert list(frame.columns) == list(about["columns"])
        if record["tool"] != "Linux" or not file.startswith("drops.csv"):  # of a burst: at one time
            assert not frame.duplicated(about["index"]).any()
        assert all(column["meaning"] for column in about["columns"].values())


def test_load_gives_variables_with_units() -> None:
    data = evidence.load(EXAMPLE)
    record = evidence.provenance(EXAMPLE)
    assert set(data.dims) == set(next(iter(record["files"].values()))["index"])
    assert data["rate"].attrs["units"] == "packets/s"
    assert data.attrs["tool"] == "ns-2"


def test_a_case_is_found_without_its_paper_where_one_paper_has_it() -> None:
    assert evidence.table("roce").equals(evidence.table("htsim/roce"))
    assert evidence.provenance("roce") == evidence.provenance("htsim/roce")
    assert evidence.load("roce", "flows").equals(evidence.load("htsim/roce", "flows"))
    both = "'linux/periodic-loss', 'zheng2002/periodic-loss'"
    with pytest.raises(ValueError, match=rf"^case = 'periodic-loss': must be one of {both}"):
        evidence.table("periodic-loss")


# Every bundled case says which claims it is for: these use it, or say why not.


def tags() -> set[tuple[str, str]]:
    return {(case, claim) for case in evidence.cases() for claim in evidence.provenance(case)["claims"]}


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


# Files of results are read whole or not at all.


def test_a_pickle_is_read_under_its_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOPFLOW_CACHE_DIR", str(tmp_path))
    assert pickles.read("new/one", "key") is None
    assert pickles.write("new/one", "key", {"a": 1})
    assert pickles.read("new/one", "key") == {"a": 1}
    assert pickles.read("new/one", "ke") is None
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["one.hopflow"]


class Refused:
    """An object that raises an error of its own when it is unpickled, as one of another version may."""

    def __reduce__(self) -> tuple[object, ...]:
        return divmod, (1, 0)


def test_pickles_of_another_key_are_not_loaded_and_errors_mean_absent(tmp_path, monkeypatch):
    monkeypatch.setenv("HOPFLOW_CACHE_DIR", str(tmp_path))
    pickles.write("one", "key", Refused())
    assert pickles.read("one", "key") is None
    with monkeypatch.context() as context:
        context.setattr(pickles, "pickle", None)
        assert pickles.read("one", "other") is None


# Claims whose model and packets differ have a step from the fluid to packets, or say why not.


PAPERS = ("takano2006", "kaneko2007", "malhotra2005")
DECIDED = {
    Verdict.HOLDS, Verdict.CONTRADICTED, Verdict.DEPENDS, Verdict.INCONCLUSIVE,
}  # fmt: skip


def test_claims_that_differ_are_explained_or_excused() -> None:
    levels = recorded_levels()
    differ = {
        id
        for id, sides in recorded_verdicts().items()
        if entries()[id].paper in PAPERS and len({sides.model, sides.packets, levels[id]} & DECIDED) > 1
    }
    assert differ <= set(ABOUT) | set(without_explanation())
    assert set(without_explanation()) <= differ
    assert not set(ABOUT) & set(without_explanation())
    assert all(len(reason.split()) > 8 for reason in without_explanation().values())


def test_contributions_add_up_to_the_gap() -> None:
    for (_, _), gap in evidence.table(CASE).groupby(["claim", "quantity"]):
        means = gap.set_index("row")["mean"]
        total = means.drop("packets").sum()
        assert total == pytest.approx(means["packets"], rel=1e-8, abs=1e-8)


def test_a_gap_has_a_row_for_each_quantity_and_a_figure() -> None:
    gap = gap_of("D18")
    assert gap is not None
    assert gap.columns[0] == "fluid"
    assert gap.columns[-1] == "packets"
    assert all(len(cells) == len(gap.columns) for cells in gap.rows.values())
    assert "is unexplained" in gap.sentences[0]  # whole packets in the law itself
    assert "packets lost at all nodes (packets)" in gap.rows
    cells = dict(zip(gap.columns, gap.rows["packets lost at all nodes (packets)"], strict=True))
    own = evidence.table(CASE).set_index(["claim", "quantity", "row"])["mean"]["D18"]["packets lost"]
    for row in ("fluid", "packets"):
        assert float(cells[row].partition(" ± ")[0]) == pytest.approx(own[row], abs=0.6)
    assert len(waterfall_of("D18").draw().axes) == 2
    assert gap_of("M01") is None


# The scenarios of claims at both levels, and the bundled results, which are computed again.


def test_every_scenario_is_bundled() -> None:
    assert set(SCENARIOS) == set(ABOUT) == set(evidence.table(CASE)["claim"])


@pytest.mark.slow
def test_the_bundled_rows_are_computed_again() -> None:
    """Of the shortest one; any machine gives the same to the digits that are bundled."""
    rows = evidence.table(CASE).query("claim == 'D18'")
    again = explain(**grouped(explain, arguments("D18"), seed=0), runs=int(rows["runs"].iloc[0])).table()
    names = ["mean", "low", "high"]
    pd.testing.assert_frame_equal(rows[names].reset_index(drop=True), again[names], rtol=1e-8, atol=1e-12)


def test_recording_one_claim_leaves_the_rows_of_others(tmp_path, monkeypatch):
    before = {
        name: (PUBLISHED / name).read_text(encoding="utf-8")
        for name in ("verdicts.csv", "thresholds.csv", "readings.csv", "numbers.csv")
    }
    for name, whole in before.items():
        text = re.sub(r"(?m)^M02,.*\n", "", whole)
        assert text != whole
        (tmp_path / name).write_text(text, encoding="utf-8")
    found = find("M02").check()  # claims are read from the checkout, before it is hidden
    found = replace(found, pictures=tuple(map(drawn, found.pictures)))
    monkeypatch.setattr("validation.records.PUBLISHED", tmp_path)
    monkeypatch.setattr("validation.judgements.recording.PUBLISHED", tmp_path)
    record({find("M02"): found})
    assert {name: (tmp_path / name).read_text(encoding="utf-8") for name in before} == before


# Texts of claims.

CLAIMS = Path(texts.__file__).parents[1] / "claims"
ledger()  # loads the claims


def test_no_digit_is_typed_into_a_text() -> None:
    """Numbers come from what was measured or from a constant, but for names such as ns-2."""
    typed = {path.name: texts.typed_digits(path.read_text()) for path in CLAIMS.rglob("*.md")}
    assert len(typed) > 100
    assert {name: digits for name, digits in typed.items() if digits} == {}


def test_placeholders_name_what_is_measured() -> None:
    checks = {id: subject.check for id, subject in subjects().items()}
    unknown = {id: texts.placeholders(each.text) - each.names() for id, each in checks.items()}
    assert {id: names for id, names in unknown.items() if names} == {}


@for_each([
    "the target gets 0.25 of it", "a loss of 12 packets in scenario 4", "up to 370 Mb/s", "a tenth (10 %)",
    "`0.25`", "Fig. 6 shows 0.5", "ns-2 has 3",
])  # fmt: skip
def test_a_planted_digit_is_found(planted: str) -> None:
    assert len(texts.typed_digits(planted)) == 1


@for_each(
    [
        "ns-2 and ns-3, IEEE 802.3x, RFC 5348",
        "eq. (9), eqs. (6)-(8), Sect. 3.2, Fig. 13",
        "scenario 4V' of takano2006, D04 and M10",
        "rules 6 and 8, node 15, queue 2, T1, lambda1, lambda_effec,2, r_0",
        "N = 2 and N > 3, TCP(1,1/2), p -> 0",
        "the limit is `D(1-D)/(1+D)^3`",
        "{{ value | num('.2f') }} of {% if x > 1 %}one{% endif %}",
        "  - paper: 14 to 16\n    packets",
    ]
)
def test_names_and_formulas_may_have_digits(allowed: str) -> None:
    assert texts.typed_digits(allowed) == []


def write(folder: Path, text: str) -> Path:
    path = folder / "text.md"
    path.write_text(text)
    return path


HEAD = "## Statements\n\n- `a` first\n\n## Summary\n\n"


def test_sections_become_fields(tmp_path: Path) -> None:
    text = HEAD + (
        "Found {{ x | num('.1f') }}\nin two lines.\n\n## Why\n\nOne.\n\nTwo.\n\n## Numbers\n\n"
        "- a quantity\n  over two lines\n  - model: {{ x | num }}\n  - tolerance: none: exact\n"
        "- another\n\n## Pictures\n\n### draw\n\nCaption.\n\n> what is seen\n"
    )
    found = texts.render(write(tmp_path, text), {"x": 0.25})
    assert found.statements == {"a": "first"}
    assert found.summary == "Found 0.2 in two lines."
    assert found.explanation == "One.\n\nTwo."
    first, second = found.numbers
    assert (first.quantity, first.model, first.tolerance) == (
        "a quantity over two lines",
        "0.25",
        "none: exact",
    )
    assert second.quantity == "another"
    assert found.pictures == {"draw": ("Caption.", "what is seen")}


def test_an_unknown_placeholder_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path, HEAD + "{{ unknown }}")
    assert texts.placeholders(path) == {"unknown"}
    with pytest.raises(jinja2.UndefinedError, match="unknown"):
        texts.render(path, {"known": 1})
    with pytest.raises(jinja2.UndefinedError, match="unknown"):
        texts.render(write(tmp_path, HEAD + "{{ known.unknown }}"), {"known": 1})


def test_numbers_as_text() -> None:
    assert texts.written(np.array([1.0, 2.5])) == "1, 2.5"
    assert texts.written({"a": 0.5, "b": 1.0}, ".2f") == "0.50, 1.00"
    assert texts.written([Estimate(13.1, 0.2, 39)], ".1f") == "13.10 ± 0.40"
    assert texts.written(1e-5) == "1e-5"
    assert texts.written(1e7) == "1e7"
    assert texts.written(7) == "7"


def test_plain_text_has_no_marks() -> None:
    assert texts.plain("from `a = 1/5` on, *not* before") == "from a = 1/5 on, not before"
    assert texts.plain("2 * 3 * 4 packets") == "2 * 3 * 4 packets"


def test_no_word_is_glued_to_a_list() -> None:
    """Jinja drops the line break after a tag: what follows an inline loop stands on its line."""
    for path in CLAIMS.rglob("*.md"):
        for line, after in itertools.pairwise(path.read_text(encoding="utf-8").splitlines()):
            inline = re.sub(r"\{%.*?%\}", "", line).strip()
            if line.rstrip().endswith("%}") and inline:
                assert not re.match(r"[\w(`]|\{\{", after), (path.name, line)


def test_where_model_packets_and_paper_differ_the_cause_is_switched_off() -> None:
    """By the recorded verdicts; that the rows are there when measured, `validation.test_validation` tests."""
    undecided = {Verdict.HOLDS, Verdict.NOT_APPLICABLE, Verdict.UNDECIDABLE, Verdict.MARGIN}
    papers = [id for id, entry in entries().items() if entry.paper != OWN]
    with_one = {id for id in papers if "## Experiments" in subjects()[id].check.text.read_text()}
    assert {id for id in papers if set(recorded_verdicts()[id]) - undecided} <= with_one
    assert len(with_one) >= 20


def test_a_headline_tells_of_packets_that_do_not_bear_out_the_model() -> None:
    """The first sentence stands alone in the terminal and above the page."""
    against = (Verdict.CONTRADICTED, Verdict.INCONCLUSIVE)
    for id, (model, packets) in recorded_verdicts().items():
        if model is Verdict.HOLDS and packets in against:
            text = subjects()[id].check.text.read_text()
            summary = text.split("## Summary\n\n")[1].split("\n\n")[0]
            for said in (Finding((), summary).headline, headline_of(id, Sides(model, packets))):
                assert re.search(r"ns-[23]|packets", said), said
