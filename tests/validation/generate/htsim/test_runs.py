"""Runs of htsim: its input files, what it prints, what is refused, and a bundled run made again."""

from __future__ import annotations

from pathlib import Path

import pytest

from validation.generate.htsim import inputs
from validation.generate.htsim.cases import CASES
from validation.generate.htsim.program import Htsim, htsim_program

(ROCE,) = CASES
RUN = {**ROCE.runs[0], "flows": [(1, 0, 2), (2, 0, 1)]}
PRINTED = "Flow Roce_{}_0 7 finished at 12.5 total bytes 8192\nother\nFlow Roce_2_0 9 finished at 3 total bytes 4096\n"


@pytest.mark.simulators
@pytest.mark.parametrize("run", ["incast of 31", "200 random flows"])
def test_htsim_repeats_the_bundled_rows(repeats, run: str) -> None:
    repeats("htsim/roce", run=run)


def test_input_files_of_a_run() -> None:
    ((topology, connections, *options),) = inputs.calls(RUN)
    assert topology.splitlines()[:8] == [
        "Nodes 32", "Tiers 2", "Podsize 32", "",
        "Tier 0", "Radix_Down 8", "Radix_Up 1", "Oversubscribed 8",
    ]  # fmt: skip
    assert connections.splitlines() == [
        "Nodes 32", "Connections 2", "1->0 id 1 start 0 size 8192", "2->0 id 2 start 0 size 4096",
    ]  # fmt: skip
    assert options[-3:] == ["-pfc_thresholds", "10", "20"]
    command = Htsim().command((topology, connections, *options))
    assert command.startswith("htsim_roce -topo topology-")
    assert "\n" not in command


def test_rows_of_a_run() -> None:
    rows = inputs.read(RUN, Path(), [PRINTED.format(1)])
    assert [set(rows[name][0]) for name in inputs.TABLES] == [
        set(table.columns) for table in inputs.TABLES.values()
    ]
    assert [row["finish"] for row in rows["flows"]] == [12.5e-6, 3e-6]
    assert rows["runs"][0]["xoff"] == 20


def test_a_run_whose_flows_are_not_complete_is_refused() -> None:
    with pytest.raises(RuntimeError, match="incast of 4 in a leaf: 2 of 2 flows are complete"):
        inputs.read(RUN, Path(), [PRINTED.format(5)])
    with pytest.raises(RuntimeError, match="0 of 2 flows are complete at"):
        inputs.read(RUN, Path(), [""])


def test_random_flows_are_between_different_hosts() -> None:
    for run in ROCE.runs:
        ends = [flow[:2] for flow in run["flows"]]
        assert len(set(ends)) == len(ends)
        assert all(source != target for source, target in ends)
        if "send nothing" in run["run"]:
            assert not {source for source, _ in ends} & {target for _, target in ends}


def test_the_program_is_looked_for_where_it_is_said_to_be(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("HTSIM_ROCE", str(tmp_path / "missing"))
    with pytest.raises(FileNotFoundError, match="HTSIM_ROCE must name the program htsim_roce"):
        htsim_program()
    own = tmp_path / "htsim_roce"
    own.write_text("#!/bin/sh\ncat topology connections; echo $*\n")
    own.chmod(0o755)
    monkeypatch.setenv("HTSIM_ROCE", str(own))
    assert htsim_program() == own
    printed = Htsim().run(("one\n", "two\n", "-nodes", "3"), tmp_path)
    assert printed == "one\ntwo\n-topo topology -tm connections -nodes 3\n"
