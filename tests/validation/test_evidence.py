"""The bundled data: records, tables, units, and the claims that each case is for."""

from __future__ import annotations

from pathlib import Path

import pytest

from validation import evidence, ledger, pickles
from validation.checks import subjects
from validation.recomputing import RANDOM
from validation.records import entries, excused_cases

# The bundled data: records, tables, units.

CASE = "zheng2002/periodic-loss"


@pytest.mark.parametrize("case", evidence.cases())
def test_provenance_is_complete(case: str) -> None:
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
    kinds = (
        {".py"}
        if written or record["tool"] in ("hopflow", "htsim", "uet-htsim")
        else {".tcl", ".cc", ".h"}
    )
    if record["tool"] == "Linux":
        kinds = {".c", ".config", ".sh"}
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
    data = evidence.load(CASE)
    record = evidence.provenance(CASE)
    assert set(data.dims) == set(next(iter(record["files"].values()))["index"])
    assert data["rate"].attrs["units"] == "packets/s"
    assert data.attrs["tool"] == "ns-2"


def test_unknown_names_are_told_the_known() -> None:
    with pytest.raises(ValueError, match=r"'periodic-los'.* such as .*'zheng2002/periodic-loss'"):
        evidence.table("periodic-los")
    with pytest.raises(ValueError, match=r"table = 'other'.*'rates'"):
        evidence.table(CASE, "other")


def test_a_case_is_found_without_its_paper_where_one_paper_has_it() -> None:
    assert evidence.table("roce").equals(evidence.table("htsim/roce"))
    assert evidence.provenance("roce") == evidence.provenance("htsim/roce")
    assert evidence.load("roce", "flows").equals(evidence.load("htsim/roce", "flows"))
    both = "'linux/periodic-loss', 'zheng2002/periodic-loss'"
    with pytest.raises(ValueError, match=rf"^case = 'periodic-loss': must be one of {both}"):
        evidence.table("periodic-loss")


# Every bundled case says which claims it is for: these use it, or say why not.


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


# Files of results are read whole or not at all.


def test_what_was_written_is_read(tmp_path: Path) -> None:
    place = tmp_path / "new" / "one.pickle"
    pickles.write(place, {"a": 1})
    assert pickles.read(place) == {"a": 1}
    assert list(place.parent.iterdir()) == [place]


def test_what_is_missing_or_incomplete_is_none(tmp_path: Path) -> None:
    place = tmp_path / "one.pickle"
    assert pickles.read(place) is None
    pickles.write(place, list(range(1000)))
    place.write_bytes(place.read_bytes()[:100])
    assert pickles.read(place) is None
