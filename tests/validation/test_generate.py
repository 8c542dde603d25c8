"""The generators: every bundled case has one, and ns-2 repeats bit for bit."""

from __future__ import annotations

import lzma
import shutil
from pathlib import Path

import pandas as pd
import pytest

from validation import evidence
from validation.generate.__main__ import all_cases
from validation.generate.cases import Case, Column, Table, generate

KNOWN = all_cases()


@pytest.mark.parametrize("name", evidence.cases())
def test_bundled_case_can_be_generated_again(name: str) -> None:
    case, record = KNOWN[name], evidence.provenance(name)
    assert record["runs"] == len(case.runs)
    assert record["claims"] == list(case.claims)
    assert {file.split(".")[0] for file in record["files"]} == set(case.tables)
    for file, about in record["files"].items():
        assert list(about["columns"]) == list(case.tables[file.split(".")[0]].columns)


def bundled_lines(name: str, table: str) -> set[str]:
    file = next(f for f in evidence.provenance(name)["files"] if f.split(".")[0] == table)
    content = (evidence.DATA / name / file).read_bytes()
    text = lzma.decompress(content) if file.endswith(".xz") else content
    return set(text.decode().splitlines())


@pytest.mark.simulators
@pytest.mark.skipif(shutil.which("ns") is None, reason="ns-2 is not installed")
@pytest.mark.parametrize(
    ("name", "chosen"),
    [
        ("takano2006/traces-without-dfc", {"link_rate": 370e6, "agent": "newreno"}),
        ("zheng2002/periodic-loss", {"packets_per_loss": 20}),
        ("zheng2002/independent-loss-tcp", {"packets_per_loss": 20, "seed": 2}),
    ],
)
def test_ns2_repeats_bit_for_bit(name: str, chosen: dict[str, object], tmp_path: Path) -> None:
    case = KNOWN[name]
    run = next(r for r in case.runs if all(r.get(key) == value for key, value in chosen.items()))
    for table, rows in case.execute(run, tmp_path).items():
        frame = pd.DataFrame(rows)[list(case.tables[table].columns)]
        again = frame.to_csv(index=False, float_format="%.10g", lineterminator="\n").splitlines()
        assert set(again) <= bundled_lines(name, table)


def toy_run(run, folder: Path) -> dict[str, list[dict[str, object]]]:
    (folder / "scratch").write_text("x")
    if run["seed"] == 3 and not Path(run["allowed"]).exists():
        raise RuntimeError("the simulator crashed")
    with Path(run["log"]).open("a") as log:
        log.write(f"{run['seed']}\n")
    return {"rows": [{"seed": run["seed"], "value": 0.1 * run["seed"]}]}


def toy_version() -> str:
    return "1"


def toy_command(run) -> str:
    return f"toy {run['seed']}"


def toy_seconds(run) -> float:
    return 1.0


def test_an_interrupted_case_goes_on_where_it_stopped(tmp_path: Path, monkeypatch) -> None:
    from validation.generate import cases

    monkeypatch.setattr(cases, "DATA", tmp_path / "data")
    monkeypatch.setattr(cases, "BUILD", tmp_path / "build")
    log, allowed = tmp_path / "log", tmp_path / "allowed"
    case = Case(
        name="paper/toy",
        title="a toy",
        claims=("S01",),
        tool="toy",
        version=toy_version,
        parameters={},
        tables={"rows": Table({"seed": Column("1", "seed")}, {"value": Column("s", "value")})},
        runs=[{"seed": k, "log": str(log), "allowed": str(allowed)} for k in (1, 2, 3)],
        execute=toy_run,
        command=toy_command,
        sources=("pyproject.toml",),
        simulated_seconds=toy_seconds,
    )
    with pytest.raises(RuntimeError, match="crashed"):
        generate(case, jobs=1)
    assert not (tmp_path / "data").exists()
    allowed.touch()
    stale = tmp_path / "data/paper/toy/rows.csv.xz"
    stale.parent.mkdir(parents=True)
    stale.touch()
    generate(case, jobs=1)
    assert not stale.exists()
    assert sorted(log.read_text().split()) == ["1", "2", "3"]
    assert (tmp_path / "data/paper/toy/rows.csv").read_text() == "seed,value\n1,0.1\n2,0.2\n3,0.3\n"
