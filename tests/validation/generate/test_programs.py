"""The simulators: command lines, sources, outputs, seals, cases made again, and what happens where one is missing or fails."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from responsefn import loss_events as of_packets
from tests.surface import for_each
from validation import evidence, manifest
from validation.generate import case_tables, cases, programs, seals
from validation.generate.__main__ import all_cases
from validation.generate.cases import Calls, Case, Column, Run, Table, generate
from validation.generate.ns3_rdma import cases as rdma_cases
from validation.generate.ns3_rdma import program as rdma_program
from validation.generate.outputs import lines, loss_events
from validation.generate.programs import Ns2, Ns3

# The simulators: command lines, sources, and what happens where one is missing or fails.

KNOWN = all_cases()


def test_command_lines_are_relative_to_the_repository() -> None:
    assert Ns2("loss.tcl").command(["k", "20"]) == "ns validation/generate/ns2/loss.tcl k 20"
    assert Ns3("dfc", ("core",)).command(["--seed=1"]) == "build/data/bin/dfc --seed=1"
    assert programs.pairs({"a": 1, "b": "x y"}) == ["a", "1", "b", "x y"]
    assert programs.flags({"a": 1, "b": "x"}) == ["--a=1", "--b=x"]


def test_every_program_has_its_sources() -> None:
    for case in KNOWN.values():
        assert set(programs.hashes(case.program)) == set(case.program.sources)


def test_headers_are_those_that_a_program_includes() -> None:
    """Directly or through another header of ours: a change of any of them is another program."""
    folder = programs.ROOT / programs.HERE / "ns3"
    known = {path.name for path in folder.iterdir()}
    for program in {case.program for case in KNOWN.values() if isinstance(case.program, Ns3)}:
        text = "".join((programs.ROOT / source).read_text() for source in program.sources)
        included = {name for name in known if f'#include "{name}"' in text}
        assert included == set(program.headers), program.name


def test_ns3_is_looked_for_where_it_is_said_to_be(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("HOPFLOW_NS3", str(tmp_path))
    programs.ns3_folder.cache_clear()
    with pytest.raises(FileNotFoundError, match="HOPFLOW_NS3"):
        programs.ns3_folder()
    (tmp_path / "include/ns3").mkdir(parents=True)
    (tmp_path / "include/ns3/core-module.h").touch()
    assert programs.ns3_folder() == tmp_path
    programs.ns3_folder.cache_clear()


def test_a_script_that_sources_another_is_hashed_with_it() -> None:
    program = programs.Ns2("priority_min_rto.tcl", sourced=("priority.tcl",))
    assert [Path(name).name for name in programs.hashes(program)] == [
        "priority_min_rto.tcl",
        "priority.tcl",
    ]
    assert program.command(["seed", "1"]) == "ns validation/generate/ns2/priority_min_rto.tcl seed 1"


def test_a_module_is_run_by_its_name(tmp_path: Path) -> None:
    program = programs.Module("validation.inference.rule_pairs")
    assert program.sources == ("validation/inference/rule_pairs.py",)
    assert program.command(["seed", "1"]) == "python -m validation.inference.rule_pairs seed 1"
    assert programs.Module("platform").run([], tmp_path).strip()


# Runs of every program, made again.

REPEATED: list[tuple[str, dict[str, object]]] = [
    ("htsim/roce", {"run": "incast of 31"}),
    ("htsim/roce", {"run": "200 random flows"}),
    ("htsim/uec", {"run": "NSCC, turns: permutation"}),
    ("htsim/uec", {"run": "RCCC, hashed: 60 random flows"}),
    ("kaneko2007/loss-sweep-ns2", {"rules": ["bic"], "loss": 0.1}),
    ("kaneko2007/loss-sweep-ns3", {"rules": ["cubic"], "loss": 0.1}),
    ("kaneko2007/parking-lot-ns2", {"seed": 1}),
    ("linux/alone", {"run": "bbr-67"}),
    ("linux/queue-fq-codel", {"run": "one-drawn-1"}),
    ("linux/queue-step", {"run": "one-drawn-1"}),
    ("malhotra2005/pause-off", {"seed": 1}),
    ("malhotra2005/tcp-flows", {"seed": 20}),
    ("ns3/rdma", {"run": "incast of 31"}),
    ("ns3/rdma", {"run": "200 random flows"}),
    ("packets/codel-ns3", {"flows": 2, "seed": 1}),
    ("packets/delayed-acks-ns2", {"recovery": "sack", "size": 2, "seed": 2}),
    ("packets/dumbbells-ns2", {"recovery": "sack", "size": 2, "seed": 2}),
    ("packets/parking-lots-ns2", {"recovery": "sack", "size": 1, "seed": 2}),
    ("packets/pie-ns3", {"flows": 2, "seed": 1}),
    ("packets/random-networks-ns2", {"seed": 7}),
    ("packets/red-dumbbells-ns2", {"seed": 1}),
    ("packets/sharing-ns3", {"first": "bbr", "second": "newreno", "rate": 10e6, "rtt": 0.02, "buffer": 8, "seed": 1}),
    ("packets/sharing-rfc6937-ns3", {"rate": 10e6, "rtt": 0.02, "buffer": 8, "seed": 1}),
    ("packets/takano2006-ns2", {"recovery": "sack", "size": 1, "seed": 2}),
    ("packets/unseen-networks-ns2", {"network": "chain-5", "seed": 3}),
    ("packets/unseen-networks-ns2", {"network": "dumbbell-2", "seed": 3}),
    ("packets/unseen-networks-ns2", {"network": "newreno-aimd", "seed": 3}),
    ("takano2006/dfc-integer-counts", {"link_rate": 37e6, "seed": 1}),
    ("takano2006/loaded-node", {"mode": "alone", "link_rate": 12300e6, "seed": 1}),
    ("takano2006/loaded-node-seeds", {"mode": "alone", "seed": 6}),
    ("takano2006/scenario-1-recovery-without-dfc", {"agent": "reno", "seed": 1}),
    ("takano2006/scenario-1-starts-without-dfc", {"seed": 2}),
    ("takano2006/traces-without-dfc", {"link_rate": 370e6, "agent": "newreno"}),
    ("yang2001/transfer-times", {"size": 10_000, "seed": 1}),
    ("zheng2002/independent-loss-tcp", {"packets_per_loss": 20, "seed": 2}),
    ("zheng2002/pairs-8x8", {"seed": 1}),
    ("zheng2002/periodic-loss", {"packets_per_loss": 20, "seed": 2}),
    ("zheng2002/tfrc-receiver-trace", {"seed": 1}),
]  # fmt: skip
"""Cases and the run of each that a program makes again, in seconds."""
LONGER: list[tuple[str, dict[str, object]]] = [("yang2001/bandwidth-shares", {"seed": 2})]


@pytest.mark.simulators
@pytest.mark.parametrize(
    ("case", "chosen"),
    [*REPEATED, *(pytest.param(*each, marks=pytest.mark.slow) for each in LONGER)],
    ids=lambda each: each if isinstance(each, str) else "-".join(map(str, each.values())),
)
def test_a_program_repeats_the_bundled_rows(repeats, case: str, chosen: dict[str, object]) -> None:
    repeats(case, **chosen)


@for_each([*REPEATED, *LONGER])
def test_runs_that_are_made_again_are_there(case: str, chosen: dict[str, object]) -> None:
    assert any(chosen.items() <= run.items() for run in KNOWN[case].runs)


# Output files and loss events.


def test_lines_are_words(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("d 0.1  2\n\nr 3\n")
    assert lines(tmp_path, "x.txt") == [["d", "0.1", "2"], [], ["r", "3"]]


def test_events_are_those_of_responsefn() -> None:
    times = np.sort(np.random.default_rng(1).uniform(0.0, 10.0, 200))
    sequence = np.arange(200)
    assert loss_events(times, 0.1) == len(of_packets(sequence, times, 0.1))
    assert loss_events([], 0.1) == 0


# The seals: what differs from the manifests is listed, and taken only by ``--seal``.


@pytest.fixture
def copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Data, tables and texts of which a test may change files, with their source; the folder."""
    shutil.copytree(manifest.DATA / "zheng2002", tmp_path / "data" / "zheng2002")
    shutil.copytree(manifest.PUBLISHED, tmp_path / "published")
    (tmp_path / "claims").mkdir()
    (tmp_path / "claims" / "toy.md").write_text("A claim.\n")
    shutil.copy(manifest.__file__, tmp_path / "manifest.py")
    monkeypatch.setattr(manifest, "DATA", tmp_path / "data")
    monkeypatch.setattr(manifest, "PUBLISHED", tmp_path / "published")
    monkeypatch.setattr(manifest, "TEXTS", tmp_path / "claims")
    return tmp_path


def test_the_bundled_files_are_as_sealed() -> None:
    assert seals.changes() == []


def test_a_seal_takes_the_files_as_they_are_and_writes_their_sums(copies: Path) -> None:
    source = copies / "manifest.py"
    sums = seals.seal(source)
    assert seals.changes() == []
    for folder, constant in (("data", "MANIFEST_SHA256"), ("published", "PUBLISHED_SHA256")):
        content = (copies / folder / manifest.MANIFEST).read_bytes()
        assert sums[constant] == manifest.sha256_of(content)
        assert source.read_text().count(f'{constant} = "{sums[constant]}"') == 1
    assert source.read_text() != Path(manifest.__file__).read_text()


def test_what_differs_is_named(copies: Path) -> None:
    seals.seal(copies / "manifest.py")
    (copies / "claims" / "toy.md").write_text("Another claim.\n")
    (copies / "published" / "new.csv").write_text("a\n")
    next((copies / "data").rglob("*.csv")).unlink()
    changed = seals.changes()
    assert [line.split()[0] for line in changed] == ["removed", "changed", "added"]
    assert changed[1:] == ["changed  claims/toy.md", "added    new.csv"]


def test_a_source_without_the_constants_is_refused(copies: Path) -> None:
    (copies / "manifest.py").write_text("MANIFEST = 'manifest.txt'\n")
    with pytest.raises(ValueError, match="MANIFEST_SHA256 is set in 0 places"):
        seals.seal(copies / "manifest.py")


# Cases as tables of a TOML file.

TABLES = """
notes = ["Of all."]

[parameters]
rate = [1e6, "bit/s"]
delay = [0.02, "s"]

[texts]
known = "A note by its name."

[tables.rows.index]
flow = ["1", "from 0 to {last}"]

[tables.rows.values]
goodput = ["packets/s", "of a flow"]

[[cases]]
name = "one"
title = "a case"
claims = ["S01"]
notes = ["known", "Its own."]
seeds = [1, 2]

[cases.parameters]
delay = ["varied", "s"]

[[cases.runs]]
rule = ["reno", "cubic"]
"rate, buffer" = [[1e6, 5], [2e6, 10]]

[[cases.runs]]
rule = "bic"
seeds = [7, 7]
window = 4
"""


@pytest.fixture
def written(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "toy.toml").write_text(TABLES)
    return case_tables.load(str(tmp_path / "toy.py"))


def test_blocks_are_crossed_and_the_last_factor_varies_fastest(written: dict[str, Any]) -> None:
    (about,) = written["cases"]
    runs = case_tables.crossed(about["runs"], about["seeds"])
    assert len(runs) == 2 * 2 * 2 + 1
    assert runs[:3] == [
        {"rule": "reno", "rate": 1e6, "buffer": 5, "seed": 1},
        {"rule": "reno", "rate": 1e6, "buffer": 5, "seed": 2},
        {"rule": "reno", "rate": 2e6, "buffer": 10, "seed": 1},
    ]
    assert list(runs[-1].items()) == [("rule", "bic"), ("seed", 7), ("window", 4)]
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        case_tables.crossed([{"a, b": [[1]]}])


def test_a_case_has_what_all_have_and_what_it_says(written: dict[str, Any]) -> None:
    (about,) = written["cases"]
    tables = case_tables.tables_of(written["tables"], {"seed": Column("1", "seed")}, last=3)
    assert list(tables["rows"].columns) == ["seed", "flow", "goodput"]
    assert tables["rows"].index["flow"].meaning == "from 0 to 3"
    program = Toy(Path(), Path())
    driver = case_tables.Driver("paper", program, calls, read, seconds, written, texts=written["texts"])
    found = driver.case(about, [], tables)
    assert (found.name, found.claims) == ("paper/one", ("S01",))
    assert found.parameters == {"rate": (1e6, "bit/s"), "delay": ("varied", "s")}
    assert found.notes == ("Of all.", "A note by its name.", "Its own.")
    first = dataclasses.replace(driver, own_notes_first=True).case(about, [], tables)
    assert first.notes == ("A note by its name.", "Its own.", "Of all.")
    without = driver.case({"name": "two", "title": ""}, [], tables)
    assert (without.notes, without.claims) == (("Of all.",), ())


# Cases: every bundled one can be made again by the recorded commands; shards; the manifest.


def check_record(name: str) -> None:
    """Compare the record of a case with its definition."""
    case, record = KNOWN[name], evidence.provenance(name)
    said = json.loads(json.dumps(cases.definition(case)))
    listed = {(row["program"], row["recorded"], row["now"]) for row in manifest.changed_programs()}
    for program, digest in said.pop("programs").items():
        recorded = record["programs"][program]
        assert recorded == digest or (program, recorded, digest) in listed, program
    assert {key: record[key] for key in said} == said
    assert {file.split(".")[0] for file in record["files"]} == set(case.tables)
    for file, about in record["files"].items():
        columns = case.tables[file.split(".")[0]].columns
        assert list(about["columns"].items()) == [
            (key, {"unit": column.unit, "meaning": column.meaning}) for key, column in columns.items()
        ]


@for_each(evidence.cases())
@pytest.mark.slow
def test_a_record_is_what_its_case_says(name: str) -> None:
    """Programs, commands, parameters with their units, seeds, notes, and the columns of the tables.

    So that a unit or a seed that was forged together with the manifest is noticed.
    """
    check_record(name)


def test_the_record_of_the_seeds_is_what_claims_ask_for() -> None:
    """Constants of the claims that say how many seeds they need: where more are bundled, they decide nothing else."""
    check_record("packets/seeds")


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


def test_other_tables_of_the_reader_are_another_shard(toy: Case, tmp_path, monkeypatch) -> None:
    """Rows may depend on them."""
    (tmp_path / "reader.py").write_text("def read(run, folder, printed):\n    return {}\n")
    monkeypatch.syspath_prepend(tmp_path)
    case = dataclasses.replace(toy, read=importlib.import_module("reader").read)
    before = case.shard(case.runs[0])
    (tmp_path / "reader.toml").write_text("columns = 3\n")
    assert case.shard(case.runs[0]) != before


def test_what_comes_out_the_same_another_day_leaves_the_files_as_they_are(toy, tmp_path) -> None:
    """Else all bundled data would count as damaged."""
    (tmp_path / "allowed").touch()
    generate(toy, jobs=1)
    place = tmp_path / "data/paper/toy/provenance.json"
    before = json.dumps(dict(reversed((json.loads(place.read_text()) | {"date": "2001-01-01"}).items())))
    place.write_text(before)
    generate(toy, jobs=1)
    assert place.read_text() == before
    generate(dataclasses.replace(toy, title="another"), jobs=1)
    assert json.loads(place.read_text())["title"] == "another"
    assert "2001" not in place.read_text()


# Runs of ns-3's RDMA model: its options, what it prints, what is refused, and a bundled run made again.


(RDMA,) = rdma_cases.CASES
RUN = {**RDMA.runs[0], "flows": [(1, 0, 2), (2, 0, 1)]}


def test_options_of_a_run() -> None:
    (words,) = rdma_cases.calls(RUN)
    assert words[-1] == "--flows=1-0-2,2-0-1"
    assert {"--xoff=20", "--xon=10", "--access=100000000000"} <= set(words)
    assert rdma_program.Ns3Rdma().command(words).startswith("build/data/bin/rdma-fabric --leaves=4 ")


def test_rows_of_a_run() -> None:
    rows = rdma_cases.read(RUN, Path(), ["1 3000\n0 12500\n"])
    assert [set(rows[name][0]) for name in rdma_cases.TABLES] == [
        set(table.columns) for table in rdma_cases.TABLES.values()
    ]
    assert [row["finish"] for row in rows["flows"]] == [12.5e-6, 3e-6]


def test_where_the_model_is(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv(rdma_program.VARIABLE, str(tmp_path))
    with pytest.raises(FileNotFoundError, match="HOPFLOW_NS3_RDMA must name the checkout"):
        rdma_program.rdma_folder()
    header = tmp_path / "build" / "include" / "ns3" / "rdma-hw.h"
    header.parent.mkdir(parents=True)
    header.touch()
    assert rdma_program.rdma_folder() == tmp_path.resolve()
