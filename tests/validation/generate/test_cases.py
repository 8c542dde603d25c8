"""Cases: every bundled one can be made again by the recorded commands; shards; the manifest."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from validation import evidence, manifest
from validation.generate import cases, programs
from validation.generate.__main__ import all_cases
from validation.generate.cases import Calls, Case, Column, Run, Table, generate

KNOWN = all_cases()


@pytest.mark.parametrize("name", evidence.cases())
def test_a_record_is_what_its_case_says(name: str) -> None:
    """Programs, commands, parameters with their units, seeds, notes, and the columns of the tables.

    So that a unit or a seed that was forged together with the manifest is noticed.
    """
    case, record = KNOWN[name], evidence.provenance(name)
    said = json.loads(json.dumps(cases.definition(case)))
    assert {key: record[key] for key in said} == said
    assert {file.split(".")[0] for file in record["files"]} == set(case.tables)
    for file, about in record["files"].items():
        columns = case.tables[file.split(".")[0]].columns
        assert list(about["columns"].items()) == [
            (key, {"unit": column.unit, "meaning": column.meaning})
            for key, column in columns.items()
        ]


def test_no_case_is_left_out_of_the_library() -> None:
    assert set(KNOWN) == set(evidence.cases())


@dataclass(frozen=True)
class Toy:
    """A simulator that crashes at seed 3 until a file is there."""

    log: Path
    allowed: Path
    tool: str = "toy"
    sources: tuple[str, ...] = ("pyproject.toml",)

    def version(self) -> str:
        return "1"

    def command(self, words: Sequence[str]) -> str:
        return " ".join(["toy", *words])

    def run(self, words: Sequence[str], folder: Path) -> str:
        (folder / "scratch").write_text("x")
        if words[1] == "3" and not self.allowed.exists():
            raise RuntimeError("the simulator crashed")
        with self.log.open("a") as log:
            log.write(f"{words[1]}\n")
        return f"{0.1 * int(words[1])}"


def calls(run: Run) -> Calls:
    return [["seed", str(run["seed"])]]


def read(run: Run, folder: Path, printed: Sequence[str]) -> dict[str, list[dict[str, object]]]:
    return {"rows": [{"seed": run["seed"], "value": float(printed[0])}]}


def seconds(run: Run) -> float:
    return 1.0


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Case:
    monkeypatch.setattr(manifest, "DATA", tmp_path / "data")
    for module in (cases, programs):
        monkeypatch.setattr(module, "BUILD", tmp_path / "build")
    return Case(
        name="paper/toy",
        title="a toy",
        claims=("S01",),
        program=Toy(tmp_path / "log", tmp_path / "allowed"),
        parameters={},
        tables={"rows": Table({"seed": Column("1", "seed")}, {"value": Column("s", "value")})},
        runs=[{"seed": k} for k in (1, 2, 3)],
        calls=calls,
        read=read,
        simulated_seconds=seconds,
    )


def test_an_interrupted_case_goes_on_where_it_stopped(toy: Case, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="crashed"):
        generate(toy, jobs=1)
    assert not (tmp_path / "data").exists()
    (tmp_path / "allowed").touch()
    stale = tmp_path / "data/paper/toy/rows.csv.xz"
    stale.parent.mkdir(parents=True)
    stale.touch()
    generate(toy, jobs=1)
    assert not stale.exists()
    assert sorted((tmp_path / "log").read_text().split()) == ["1", "2", "3"]
    assert (tmp_path / "data/paper/toy/rows.csv").read_text() == "seed,value\n1,0.1\n2,0.2\n3,0.3\n"


def test_the_record_names_program_and_commands_and_no_driver(toy: Case) -> None:
    record = cases.describe(toy)
    text = Path(programs.ROOT, "pyproject.toml").read_bytes()
    assert record["programs"] == {"pyproject.toml": hashlib.sha256(text).hexdigest()}
    lines = b"toy seed 1\ntoy seed 2\ntoy seed 3"
    assert record["commands"] == {"number": 3, "sha256": hashlib.sha256(lines).hexdigest()}
    assert record["seeds"] == [1, 2, 3]
    assert ".py" not in str(record).replace("pyproject", "")


def test_other_words_are_another_shard(toy: Case) -> None:
    assert len({toy.shard(run) for run in toy.runs}) == 3


def test_what_comes_out_the_same_another_day_leaves_the_files_as_they_are(
    toy: Case, tmp_path: Path
) -> None:
    """Else all bundled data would count as damaged."""
    (tmp_path / "allowed").touch()
    generate(toy, jobs=1)
    place = tmp_path / "data/paper/toy/provenance.json"
    before = json.dumps(
        dict(reversed((json.loads(place.read_text()) | {"date": "2001-01-01"}).items()))
    )
    place.write_text(before)
    generate(toy, jobs=1)
    assert place.read_text() == before
    generate(dataclasses.replace(toy, title="another"), jobs=1)
    assert json.loads(place.read_text())["title"] == "another"
    assert "2001" not in place.read_text()
