"""The manifest of the bundled data, and every way in which files can differ from it."""

from __future__ import annotations

import ast
import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from validation import evidence, history, manifest

CASE = "zheng2002/periodic-loss"


def forget() -> None:
    evidence.cases.cache_clear()
    manifest.listed.cache_clear()


def pin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the manifest as it is for the package's."""
    content = (manifest.DATA / manifest.MANIFEST).read_bytes()
    monkeypatch.setattr(manifest, "MANIFEST_SHA256", hashlib.sha256(content).hexdigest())
    forget()


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Two cases with a manifest in a folder that the test may damage; one of the cases."""
    for case in (CASE, "zheng2002/ecn"):
        shutil.copytree(manifest.DATA / case, tmp_path / case)
    monkeypatch.setattr(manifest, "DATA", tmp_path)
    (tmp_path / manifest.MANIFEST).write_text(manifest.listing())
    pin(monkeypatch)
    assert len(manifest.verify()) == 5
    yield tmp_path / CASE
    forget()


def one_digit(content: bytes) -> bytes:
    """Change one digit in the middle of a table."""
    place = next(n for n in range(len(content) // 2, len(content)) if content[n : n + 1].isdigit())
    digit = b"1" if content[place : place + 1] != b"1" else b"2"
    return content[:place] + digit + content[place + 1 :]


def changed_table(folder: Path) -> Path:
    """Change a digit of the table of a case."""
    file = next(folder.glob("*.csv"))
    file.write_bytes(one_digit(file.read_bytes()))
    return file


def forged(folder: Path, change: Callable[[dict], None]) -> None:
    """Write the record of a case anew, changed."""
    path = folder / "provenance.json"
    record = json.loads(path.read_text())
    change(record)
    path.write_text(json.dumps(record, indent=1) + "\n")


def test_every_file_is_as_listed() -> None:
    checked = manifest.verify()
    on_disk = {
        path.relative_to(manifest.DATA).as_posix()
        for path in manifest.DATA.rglob("*")
        if path.is_file() and path.name != manifest.MANIFEST
    }
    assert set(checked) == on_disk
    assert checked == sorted(checked)
    assert (manifest.DATA / manifest.MANIFEST).read_text() == manifest.listing()


def test_a_changed_digit_is_found_and_named(copy: Path) -> None:
    file = changed_table(copy)
    for look in (manifest.verify, lambda: evidence.table(CASE), lambda: evidence.load(CASE)):
        with pytest.raises(manifest.DamagedDataError, match=file.name):
            look()


def changed_with_its_checksum(folder: Path) -> None:
    file = changed_table(folder)
    sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
    forged(folder, lambda record: record["files"][file.name].update(sha256=sha256))


def listed_anew(folder: Path) -> None:
    changed_table(folder)
    (manifest.DATA / manifest.MANIFEST).write_text(manifest.listing())
    forget()


def without_record(folder: Path) -> None:
    (folder / "provenance.json").unlink()
    forget()


def without_case(folder: Path) -> None:
    shutil.rmtree(folder)
    forget()


def stray(name: str) -> Callable[[Path], None]:
    """Return a function that adds a file below the data."""

    def add(_: Path) -> None:
        (manifest.DATA / name).parent.mkdir(exist_ok=True)
        (manifest.DATA / name).write_text("a\n1\n")

    return add


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (changed_with_its_checksum, "damaged.*manifest"),
        (listed_anew, r"manifest\.txt: damaged"),
        (without_record, r"provenance\.json: cannot be read"),
        (without_case, "periodic-loss.*cannot be read"),
        (lambda folder: next(folder.glob("*.csv")).unlink(), r"\.csv"),
        (stray(f"{CASE}/extra.csv"), "not in manifest"),
        (stray("zheng2002/stray/rows.csv"), "not in manifest"),
        (stray("notes.txt"), "not in manifest"),
        (lambda _: (manifest.DATA / "zheng2002" / "empty").mkdir(), "empty"),
    ],
    ids=["with its checksum", "listed again", "no record", "no case", "no file", "stray file", "stray folder", "note",
         "empty folder"],
)  # fmt: skip
def test_damage_is_found_and_named(copy: Path, damage: Callable[[Path], None], said: str) -> None:
    damage(copy)
    with pytest.raises(manifest.DamagedDataError, match=said):
        manifest.verify()
    if damage is changed_with_its_checksum:
        with pytest.raises(manifest.DamagedDataError, match="damaged"):
            evidence.table(CASE)


def other_digit(text: str, place: int) -> str:
    """Return a checksum, or a line that begins with one, with another digit at a place."""
    return text[:place] + ("0" if text[place] != "0" else "1") + text[place + 1 :]


@pytest.mark.parametrize("place", range(0, 64, 9))
def test_every_digit_of_a_checksum_counts(copy: Path, monkeypatch, place: int) -> None:
    """A checksum that is wrong in one digit only is no match: a listed one, and that of the list itself."""
    path = manifest.DATA / manifest.MANIFEST
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest, "MANIFEST_SHA256", other_digit(manifest.MANIFEST_SHA256, place))
        forget()
        with pytest.raises(manifest.DamagedDataError, match=r"manifest\.txt: damaged"):
            manifest.verify()
    path.write_text(other_digit(path.read_text(), place))
    pin(monkeypatch)
    with pytest.raises(manifest.DamagedDataError, match="damaged"):
        manifest.verify()


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record.update(command="ns other.tcl"),
        lambda record: record.update(seeds=[1, 2]),
        lambda record: record["parameters"]["link rate"].update(value=1.0),
        lambda record: record["programs"].update(dict.fromkeys(record["programs"], "0" * 64)),
    ],
    ids=["command", "seeds", "parameter", "program"],
)
def test_a_forged_record_is_found(copy: Path, change: Callable[[dict], None]) -> None:
    forged(copy, change)
    for look in (manifest.verify, lambda: evidence.provenance(CASE)):
        with pytest.raises(manifest.DamagedDataError, match=r"provenance\.json.*damaged"):
            look()


def test_a_file_removed_with_its_record_is_found(copy: Path, monkeypatch) -> None:
    """Also where the manifest was sealed without it."""
    next(copy.glob("*.csv")).unlink()
    (manifest.DATA / manifest.MANIFEST).write_text(manifest.listing())
    pin(monkeypatch)
    with pytest.raises(manifest.DamagedDataError, match="names other files"):
        manifest.verify()


def test_a_missing_manifest_is_named(copy: Path) -> None:
    (manifest.DATA / manifest.MANIFEST).unlink()
    forget()
    with pytest.raises(manifest.DamagedDataError, match=r"manifest\.txt: cannot be read"):
        evidence.cases()


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The published tables with their manifest in a folder that the test may damage."""
    shutil.copytree(manifest.PUBLISHED, tmp_path / "published")
    shutil.copytree(manifest.TEXTS, tmp_path / "claims", ignore=shutil.ignore_patterns("*.py*"))
    monkeypatch.setattr(manifest, "PUBLISHED", tmp_path / "published")
    monkeypatch.setattr(manifest, "TEXTS", tmp_path / "claims")
    return tmp_path / "published"


def test_the_published_tables_of_others_are_as_listed() -> None:
    """Among them the queues of real switches that S07 is judged by."""
    names = manifest.verify_published()
    assert "spang2021_queue_depths.csv" in names
    assert (manifest.PUBLISHED / manifest.MANIFEST).read_text() == manifest.published_listing()


def test_a_changed_digit_of_a_published_table_is_found_and_named(published: Path) -> None:
    file = published / "spang2021_queue_depths.csv"
    file.write_bytes(one_digit(file.read_bytes()))
    with pytest.raises(manifest.DamagedDataError, match=file.name):
        manifest.verify_published()


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("published/claims.csv", "all variants share", "no variant shares"),
        ("published/statements.csv", "lower, by a rank test", "higher, by a rank test"),
        ("published/paraphrases.csv", "The friendly rules", "The greedy rules"),
        ("published/minor_statements.csv", "Z13,closer", "Z13,order"),
        ("published/undecidable_statements.csv", "M14,bursts", "M14,losses"),
        ("published/headlines.csv", "Yes:", "No:"),
        ("published/without_packet_level.csv", "nothing is sent", "nothing was found"),
        ("published/without_explanation.csv", "no level contradicts", "one level contradicts"),
        ("published/excused_cases.csv", "claim", "other"),
        ("published/SOURCES.md", "5f7ae08", "5f7ae09"),
        ("published/yang2001_table4.csv", "290.39", "390.39"),
        ("claims/hu2016/two_flows.md", "Yes:", "No:"),
    ],
)
def test_a_forgery_is_found_with_and_without_a_new_manifest(published, name, old, new) -> None:
    """Ledger, tables and texts are protected as the data are; a new listing is not enough."""
    forged = published.parent / name
    assert old in forged.read_text(encoding="utf-8")
    forged.write_text(forged.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    with pytest.raises(manifest.DamagedDataError, match=f"{forged.name}: damaged"):
        manifest.verify_published()
    (published / manifest.MANIFEST).write_text(manifest.published_listing())
    with pytest.raises(manifest.DamagedDataError, match="not that in the package"):
        manifest.verify_published()


def test_published_tables_that_are_missing_or_not_listed_are_found(published: Path) -> None:
    (published / "extra.csv").write_text("a\n1\n")
    with pytest.raises(manifest.DamagedDataError, match=r"extra\.csv: not in"):
        manifest.verify_published()
    (published / "extra.csv").unlink()
    (published / "rfc3649_appendixB.csv").unlink()
    with pytest.raises(manifest.DamagedDataError, match=r"rfc3649_appendixB\.csv: cannot be read"):
        manifest.verify_published()


# Programs, compared with the hashes in the records of what they made.


@pytest.fixture
def drivers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The programs of all records in a folder that the test may damage; the data and the tables are those of the package."""
    package = manifest.DATA.parent
    for name in ("data", "published"):
        (tmp_path / "validation").mkdir(exist_ok=True)
        (tmp_path / "validation" / name).symlink_to(package / name, target_is_directory=True)
    for case in evidence.cases():
        for program in evidence.provenance(case)["programs"]:
            if not (tmp_path / program).exists():
                (tmp_path / program).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(package.parent / program, tmp_path / program)
    monkeypatch.setattr(manifest, "DATA", tmp_path / "validation" / "data")
    return tmp_path / "validation"


def test_programs_are_those_that_made_the_cases_or_listed(drivers: Path) -> None:
    counts = manifest.verify_programs()
    assert counts == manifest.Programs(counts.equal + counts.listed, counts.equal, counts.listed, 0)
    assert counts.equal > 400
    shutil.rmtree(drivers / "generate")
    assert manifest.verify_programs().absent > 300


@pytest.mark.parametrize("name", ["generate/ns3/rules.h", "generate/linux/build.sh", "networks/own_links.py"])
def test_a_program_that_changes_is_named_with_its_case(drivers: Path, name: str) -> None:
    """A listed one as well: the table has the hash of the version that was looked at."""
    with (drivers / name).open("a") as file:
        file.write("\n")
    with pytest.raises(
        manifest.DamagedDataError, match=rf"{name}: not the program that made \w+/.*changed_programs\.csv"
    ):
        manifest.verify_programs()
    (drivers / name).unlink()
    with pytest.raises(manifest.DamagedDataError, match=f"{name}: missing"):
        manifest.verify_programs()


def test_each_listed_program_is_that_of_a_record_and_of_the_file() -> None:
    recorded = {pair for case in evidence.cases() for pair in evidence.provenance(case)["programs"].items()}
    for row in manifest.changed_programs():
        assert (row["program"], row["recorded"]) in recorded
        assert sha256((manifest.DATA.parent.parent / row["program"]).read_bytes()) == row["now"]
        assert row["change"] in {"format", "options"}
        assert row["reason"]


@pytest.mark.parametrize("row", manifest.changed_programs(), ids=lambda row: f"{row['program']} {row['recorded'][:8]}")
def test_the_listed_commits_changed_the_program(row: dict[str, str]) -> None:
    """From the version that made the data to the one that is here; after a change of the format both have the same syntax tree."""
    if history._missing():
        pytest.skip("there is no history")
    commits = row["commits"].split()
    before, after = (history._git("show", f"{commit}:{row['program']}") for commit in (f"{commits[0]}^", commits[-1]))
    assert (sha256(before), sha256(after)) == (row["recorded"], row["now"])
    log = history._git(
        "log", "--format=%h", "--abbrev=8", "--reverse", f"{commits[0]}^..{commits[-1]}", "--", row["program"]
    )
    assert log.decode().split() == commits
    if row["change"] == "format":
        assert ast.dump(ast.parse(before)) == ast.dump(ast.parse(after))


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
