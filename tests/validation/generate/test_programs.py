"""The simulators: command lines, and runs that repeat the bundled rows."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from validation import evidence
from validation.generate import programs
from validation.generate.__main__ import all_cases
from validation.generate.cases import csv_text
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
    known = {path.name for path in folder.glob("*.h")}
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


def has_ns3() -> bool:
    try:
        programs.ns3_folder()
    except FileNotFoundError:
        return False
    return shutil.which("g++") is not None


NS2 = pytest.mark.skipif(shutil.which("ns") is None, reason="ns-2 is not installed")
NS3 = pytest.mark.skipif(not has_ns3(), reason="ns-3 and g++ are not installed")


@pytest.mark.simulators
@pytest.mark.parametrize(
    ("name", "chosen"),
    [
        pytest.param(name, chosen, marks=mark)
        for mark, name, chosen in (
            (NS2, "takano2006/traces-without-dfc", {"link_rate": 370e6, "agent": "newreno"}),
            (NS2, "takano2006/scenario-1-starts-without-dfc", {"seed": 2}),
            (NS2, "takano2006/scenario-1-recovery-without-dfc", {"agent": "reno", "seed": 1}),
            (NS2, "zheng2002/periodic-loss", {"packets_per_loss": 20}),
            (NS2, "zheng2002/independent-loss-tcp", {"packets_per_loss": 20, "seed": 2}),
            (NS2, "zheng2002/pairs-8x8", {"seed": 1}),
            (NS2, "zheng2002/tfrc-receiver-trace", {"seed": 1}),
            (NS2, "kaneko2007/loss-sweep-ns2", {"rules": ["bic"], "loss": 0.1}),
            (NS2, "kaneko2007/parking-lot-ns2", {"seed": 1}),
            (NS2, "yang2001/transfer-times", {"size": 10_000, "seed": 1}),
            (NS2, "yang2001/bandwidth-shares", {"seed": 2}),
            (NS3, "takano2006/dfc-integer-counts", {"link_rate": 37e6, "seed": 1}),
            (NS3, "takano2006/loaded-node", {"mode": "alone", "link_rate": 12300e6, "seed": 1}),
            (NS3, "malhotra2005/pause-off", {"seed": 1}),
            (NS3, "malhotra2005/tcp-flows", {"seed": 20}),
            (NS3, "kaneko2007/loss-sweep-ns3", {"rules": ["cubic"], "loss": 0.1}),
        )
    ],
    ids=str,
)
def test_a_run_repeats_the_bundled_rows(name: str, chosen: dict[str, object], tmp_path) -> None:
    """Every program and every driver, one run: all digits of all rows."""
    case = KNOWN[name]
    run = next(r for r in case.runs if all(r.get(key) == value for key, value in chosen.items()))
    found = case.execute(run, tmp_path)
    for table, columns in case.tables.items():
        again = csv_text(found[table], columns).decode().splitlines()
        bundled = evidence.table(name, table)
        text = bundled.to_csv(index=False, float_format="%.10g", lineterminator="\n")
        assert set(again) <= set(text.splitlines()), table
