"""The simulators: command lines, sources, and what happens where one is missing or fails."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from validation.generate import programs
from validation.generate.__main__ import all_cases
from validation.generate.programs import Ns2, Ns3

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
