"""The bundled data: loading, checksums, and what happens when a byte changes."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from validation import evidence

CASE = "zheng2002/periodic-loss"


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One case in a folder of its own, which the test may damage."""
    shutil.copytree(evidence.DATA / CASE, tmp_path / CASE)
    monkeypatch.setattr(evidence, "DATA", tmp_path)
    evidence.cases.cache_clear()
    yield tmp_path / CASE
    evidence.cases.cache_clear()


def test_every_file_is_as_recorded() -> None:
    checked = evidence.verify()
    on_disk = {
        str(path.relative_to(evidence.DATA))
        for path in evidence.DATA.glob("*/*/*")
        if path.name != "provenance.json"
    }
    assert set(checked) == on_disk
    assert len(checked) >= 8


@pytest.mark.parametrize("case", evidence.cases())
def test_provenance_is_complete(case: str) -> None:
    record = evidence.provenance(case)
    assert record["case"] == case
    for key in ("title", "tool", "version", "command", "date", "regenerate"):
        assert record[key], key
    assert record["parameters"]
    assert record["runs"] >= 1
    assert record["simulated_seconds"] > 0
    assert record["cpu_seconds"] > 0
    for source, sha256 in record["sources"].items():
        path = Path(evidence.__file__).parents[1] / source
        if path.exists():  # an installed wheel has no generators
            assert hashlib.sha256(path.read_bytes()).hexdigest() == sha256, source
    for file, about in record["files"].items():
        frame = evidence.table(case, file.split(".")[0])
        assert len(frame) == about["rows"]
        assert list(frame.columns) == list(about["columns"])
        assert not frame.duplicated(about["index"]).any()
        assert all(column["meaning"] for column in about["columns"].values())


def test_load_gives_variables_with_units() -> None:
    data = evidence.load(CASE)
    record = evidence.provenance(CASE)
    assert set(data.dims) == set(next(iter(record["files"].values()))["index"])
    assert data["rate"].attrs["units"] == "packets/s"
    assert data.attrs["tool"] == "ns-2"


def test_a_changed_byte_is_found_and_named(copy: Path) -> None:
    file = next(copy.glob("*.csv"))
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    for look in (evidence.verify, lambda: evidence.table(CASE), lambda: evidence.load(CASE)):
        with pytest.raises(evidence.DamagedDataError, match=file.name):
            look()


def test_a_missing_file_is_named(copy: Path) -> None:
    file = next(copy.glob("*.csv"))
    file.unlink()
    with pytest.raises(evidence.DamagedDataError, match=file.name):
        evidence.verify()


def test_a_stray_file_is_named(copy: Path) -> None:
    (copy / "extra.csv").write_text("a\n1\n")
    with pytest.raises(evidence.DamagedDataError, match=r"extra\.csv"):
        evidence.verify()


def test_a_broken_record_is_named(copy: Path) -> None:
    (copy / "provenance.json").write_text(json.dumps({"case": CASE})[:-3])
    with pytest.raises(evidence.DamagedDataError, match=r"provenance\.json"):
        evidence.verify()


def test_unknown_names_are_told_the_known() -> None:
    with pytest.raises(ValueError, match=r"'periodic-loss'.* such as 'zheng2002/periodic-loss'"):
        evidence.table("periodic-loss")
    with pytest.raises(ValueError, match=r"table = 'other'.*'rates'"):
        evidence.table(CASE, "other")
