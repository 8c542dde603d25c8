"""Parts of the report: rows of claims.json, families, series, tallies, templates."""

from __future__ import annotations

import json
from pathlib import Path

import jinja2
import pytest

from validation import Verdict, ledger, provenance
from validation.finding_rows import Number
from validation.recording import Recorded
from validation.records import entries
from validation.report import tally
from validation.report.data_records import record_of
from validation.report.families import common_caption, grouped, panels
from validation.report.papers import PAPERS
from validation.report.rows import as_csv, as_json, load, row_of, sources_of, verdict_of, verdicts
from validation.report.series import arranged
from validation.report.surprises import contradicted_by_all, most_surprising
from validation.report.templating import TEMPLATES, filled, written_out
from validation.verdicts import Sides, Threshold

# Parts of the pages: rows, series, tallies, families, findings, templates.


R, C, N, A, D = (
    Verdict.HOLDS, Verdict.CONTRADICTED, Verdict.INCONCLUSIVE, Verdict.NOT_APPLICABLE, Verdict.DEPENDS,
)  # fmt: skip

# How a bundled case was made, as the page of the data says.


def test_a_record_has_simulator_command_and_files() -> None:
    case = "kaneko2007/pairs-ns2"
    about, known = record_of(case), provenance(case)
    assert about["title"] == known["title"]
    assert about["rows"]["Simulator"].startswith("ns-2 ")
    assert about["rows"]["First command"] == known["command"]
    assert all(file in about["rows"]["Files"] for file in known["files"])
    assert f"{known['runs']} runs" in about["rows"]["Runs and seeds"]


# Similar claims.


def rows() -> list[dict]:
    return [
        {"id": id, "pictures": [{"caption": f"Run {id}: means over the seeds, 95 %."}]}
        for id in ledger()
        if id.startswith("D")
    ]


def test_scenarios_of_one_check_are_a_family() -> None:
    """takano2006's Figs. 6 to 11, six speeds, and Figs. 14 to 17, four variants."""
    found = [[row["id"] for row in family] for family in grouped(rows())]
    assert ["D04", "D05", "D06", "D07", "D08", "D09"] in found
    assert ["D12", "D13", "D14", "D15"] in found
    assert sum(map(len, found)) == len(rows())
    assert found == sorted(found)


def test_a_family_has_one_figure_with_panels() -> None:
    family = next(family for family in grouped(rows()) if len(family) == 6)
    (figure,) = panels(family)
    assert [row["id"] for row, _ in figure] == ["D04", "D05", "D06", "D07", "D08", "D09"]
    assert (
        common_caption(figure)
        == "Means over the seeds, 95 %. D09: Run D09: means over the seeds, 95 %."
    )
    assert panels(family[:1]) == []


def test_columns_of_a_family_are_those_with_evidence() -> None:
    """No column of ns-3 for claims that ns-2 and the model judge."""
    none = "not applicable"
    pair = [
        {"model": none, "simulators": {"ns-2": "holds"}, "packet_level": none},
        {"model": "holds", "simulators": {}, "packet_level": none},
    ]
    assert [source for source, _ in sources_of(pair)] == ["model", "ns-2"]
    assert verdict_of(pair[1], "ns-2") == none
    assert sources_of(pair[:0]) == []


def test_captions_without_a_common_end_are_all_shown() -> None:
    pair = [({"id": "A"}, {"caption": "One."}), ({"id": "B"}, {"caption": "Other."})]
    assert common_caption(pair) == "A: One. B: Other."


# Rows of claims.json.


def test_a_row_survives_json(tmp_path: Path, toy) -> None:
    known = Recorded(
        Sides(R, C),
        turning=Sides((), ()),
        thresholds={"near": Threshold("near", "", 0.01, Sides(R, A), Sides(C, A))},
        statements={("", 1): (R, A, A, A, A, A)},
    )
    row = row_of(*toy(), {"Z01": known})
    place = tmp_path / "claims.json"
    place.write_text(as_json([row]))
    assert load(place) == {"Z01": row}
    assert verdicts(row) == Sides(R, C)
    assert row["as_recorded"]
    assert row_of(*toy(), {})["changed"][0] == "model and packets"


def test_a_row_has_the_claim_the_verdicts_and_what_they_stand_on(toy) -> None:
    wanted = (
        "id paper where claim model simulation as_recorded summary cases robustness experiments"
    )
    row = row_of(*toy(), {})
    assert set(wanted.split()) <= set(row)
    assert {"threshold", "value", "half", "twice"} <= set(row["robustness"][0])


def test_files_that_are_no_rows_count_as_none(tmp_path: Path) -> None:
    place = tmp_path / "claims.json"
    assert load(place) == {}
    for text in ("", "[", "{}", "[1]", json.dumps([{"id": "Z01"}])):
        place.write_text(text)
        assert load(place) == {}


def test_pictures_have_files_and_sizes(toy) -> None:
    """6.4 in by 3.6 in, at 96 CSS pixels an inch."""
    pictures = row_of(*toy(), {})["pictures"]
    assert [each["file"] for each in pictures] == ["figures/Z01-1.svg", "figures/Z01-2.svg"]
    assert (pictures[0]["width"], pictures[0]["height"]) == (614, 346)


def test_csv_has_a_line_for_each_row(toy) -> None:
    lines = as_csv([row_of(*toy(), {})]).splitlines()
    assert len(lines) == 2
    assert lines[1].endswith("zheng2002/periodic-loss,not applicable,not applicable")


# Lists of numbers become tables only where the values fit.


def test_curves_over_the_same_values_share_a_table() -> None:
    numbers = [
        Number(
            "rate, Reno; flows: 1, 2, 4", model="9, 5, 2", simulation="8, 5, 3", tolerance="5 %"
        ),
        Number("rate, BIC; flows: 1, 2, 4", simulation="7, 6, 5"),
    ]
    rest, (table,) = arranged(numbers)
    assert rest == []
    assert (table.x, table.values) == ("flows", ["1", "2", "4"])
    assert table.curves[0].sides == {"Model": ["9", "5", "2"], "Packets": ["8", "5", "3"]}
    assert table.curves[0].note == "5 %"
    assert table.curves[1].sides == {"Packets": ["7", "6", "5"]}


def test_words_of_the_paper_on_all_values_are_a_note() -> None:
    _, (table,) = arranged([Number("gain by RTT = 1, 2, 5 s", "9, 5, 2", paper="it falls")])
    assert table.x == "RTT"
    assert table.curves[0].note == "paper: it falls"


@pytest.mark.parametrize(
    "number",
    [
        Number("gain at three loads", "1, 2, 3"),
        Number("gain; load: 1, 2, 3", "1, 2"),
        Number("gain; load: 1, 2", "1, 2"),
        Number("gain; load: 1, 2, 3", paper="1, 2, 3"),
    ],
    ids=["no values", "fewer numbers", "two", "paper alone"],
)
def test_other_numbers_stay_as_they_are(number: Number) -> None:
    assert arranged([number]) == ([number], [])


# The rule of the most surprising findings.


def row(id: str, paper: str, statements: str, half: str = C, **sources: str) -> dict:
    """Return a row whose statements are contradicted (x) or hold (o) by model and packets."""
    both = {
        "x": {"model": C, "simulation": C},
        "o": {"model": R, "simulation": R},
    }
    by = {
        "model": C, "ns2": C, "ns3": C, "packet_level": A,
    } | sources  # fmt: skip
    sides = {"model": C, "packets": C}
    return {
        "id": id,
        "paper": paper,
        "model": by["model"],
        "simulation": C,
        "simulators": {"ns-2": by["ns2"], "ns-3": by["ns3"]},
        "packet_level": by["packet_level"],
        "statements": [both[letter] for letter in statements],
        "robustness": [{"half": sides | {"packets": half}, "twice": sides}],
    }


def found(*rows: dict) -> list[str]:
    return [each["id"] for each in most_surprising(rows)]


def test_every_source_contradicts_at_all_thresholds() -> None:
    assert (
        found(
            row("A1", "a", "x", model=R),
            row("A2", "a", "x", half=N),
            row("A3", "a", "x", ns3=N),
            row("A4", "a", "x", packet_level=N),
            row("A5", "a", "x", model=A, ns3=A),
        )
        == []
    )
    assert found(row("A6", "a", "x"), row("B1", "b", "x", model=A)) == ["A6", "B1"]


def test_each_paper_has_one_and_those_with_more_contradicted_come_first() -> None:
    rows = [row("B1", "b", "xoo"), row("A1", "a", "xo"), row("A2", "a", "x"), row("A3", "a", "xx")]
    assert found(*rows) == ["A3", "B1"]
    assert [each["id"] for each in contradicted_by_all(rows)] == ["A3", "A2", "A1", "B1"]


def test_own_comparisons_are_no_surprise() -> None:
    assert found(row("S1", "hopflow", "x")) == []


# Tallies: which columns and rows, and what is counted.

ROWS = [
    {"id": id, "paper": paper, "model": model, "simulation": packets, "simulators": judged}
    for id, paper, model, packets, judged in (
        ("M01", "malhotra2005", R, R, {}),
        ("M02", "malhotra2005", C, R, {}),
        ("K01", "kaneko2007", N, C, {"ns-2": C}),
        ("S01", "hopflow", C, A, {}),
        ("S02", "hopflow", R, A, {}),
        ("S03", "hopflow", A, C, {"ns-3": C}),
    )
]


def test_papers_are_counted_apart_from_own_comparisons() -> None:
    models = tally.tables(ROWS)["Models"]
    assert models.columns == (
        "claims", "holds", "contradicted", "inconclusive", "not applicable", "not judged"
    )  # fmt: skip
    assert models.rows["malhotra2005"] == (17, 1, 1, 0, 0, 15)
    assert models.rows["all papers"] == (29, 1, 1, 1, 0, 26)
    assert list(models.rows)[-1] == "hopflow"


def test_counts_in_words_leave_out_what_does_not_apply() -> None:
    rows = [*ROWS, ROWS[0] | {"model": A}]
    said = [(count.claims, count.words) for count in tally.in_words(rows, "model")]
    assert said == [(1, "holds"), (1, "is contradicted"), (1, "is inconclusive")]


def test_claims_that_depend_are_counted_by_their_direction() -> None:
    rows = [ROWS[0] | {"model": D, "default": {"model": each, "packets": R}} for each in (R, R, C)]
    said = {count.words: count.claims for count in tally.in_words(rows, "model")}
    assert said == {
        "hold by default, contradicted in another reading": 2,
        "is contradicted by default, holding in another reading": 1,
    }


def test_own_comparisons_are_counted_in_a_sentence() -> None:
    said = tally.own_models(ROWS)
    assert said.startswith("Of 2 comparisons of hopflow's own models")
    assert "1 misses the limit" in said
    assert said.endswith("; of 1 of simulators with one another, 1.")
    assert tally.own_models(ROWS[:3]) == ""


def test_comparisons_of_linux_are_counted_by_themselves() -> None:
    linux = ROWS[-1] | {"simulation": R, "simulators": {"Linux": R}}
    said = tally.own_models([*ROWS, linux])
    assert said.endswith("; of 1 of Linux with the papers and RFCs of its rules, 0.")


def test_columns_are_of_simulators_that_judge_a_claim() -> None:
    assert tally.judging(ROWS) == ["ns-2", "ns-3"]
    assert list(tally.fields(ROWS[:3])) == ["model", "packets", "ns-2", "level"]


# Templates that are filled in: escaped, with the filters of the report.


def test_large_numbers_have_commas_and_small_ones_stay() -> None:
    assert written_out("7.76e+05 (2e-05 to 1e+07)") == "776,000 (2e-05 to 10,000,000)"
    assert written_out("12345 and 0.1234567") == "12345 and 0.1234567"


def test_texts_are_escaped_and_missing_values_refused() -> None:
    page = filled("unchecked.html", root="../", claim=entries()["D01"])
    assert "D01" in page
    assert "<script" not in page.replace('<script src="', "")
    with pytest.raises(jinja2.UndefinedError):
        filled("unchecked.html", root="../")


def test_every_paper_has_a_title() -> None:
    assert set(PAPERS) == {entry.paper for entry in entries().values()}
    assert (TEMPLATES / "report.css").is_file()
