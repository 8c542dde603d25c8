"""The simulators: command lines, sources, outputs, seals, and what happens where one is missing or fails."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from responsefn import loss_events as of_packets
from validation import manifest
from validation.generate import programs, seals
from validation.generate.__main__ import all_cases
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


def test_a_simulator_that_fails_says_what_it_printed(tmp_path: Path) -> None:
    code = "import sys; print('before'); sys.exit('no route')"
    with pytest.raises(RuntimeError, match=r"(?s)exit status 1\nbefore\nno route"):
        programs.call([sys.executable, "-c", code], tmp_path)


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
    assert (
        program.command(["seed", "1"]) == "ns validation/generate/ns2/priority_min_rto.tcl seed 1"
    )


def test_a_module_is_run_by_its_name(tmp_path: Path) -> None:
    program = programs.Module("validation.inference.rule_pairs")
    assert program.sources == ("validation/inference/rule_pairs.py",)
    assert program.command(["seed", "1"]) == "python -m validation.inference.rule_pairs seed 1"
    assert programs.Module("platform").run([], tmp_path).strip()


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
