"""Runs of the consortium's htsim: its input files, what it prints, what is refused, and a bundled run made again."""

from __future__ import annotations

from pathlib import Path

import pytest

from validation.generate.htsim import uec_inputs
from validation.generate.htsim.uec_cases import CASES

(UEC,) = CASES
RUN = {**UEC.runs[0], "flows": [(1, 0, 2, 0.0), (2, 0, 1, 40e-6)]}
PRINTED = (
    "Flow Uec_{}_0 flowId 1 uecSrc 0 finished at 12.5 total messages 1 total packets 2 RTS 0\nother\n"
    "Flow Uec_2_0 flowId 2 uecSrc 1 finished at 3 total messages 1 total packets 1 RTS 0\n"
    ".Done\nNew: 3 Rtx: 4 RTS: 0 Bounced: 0\n"
)


@pytest.mark.simulators
@pytest.mark.parametrize("run", ["NSCC, turns: permutation", "RCCC, hashed: 60 random flows"])
def test_htsim_repeats_the_bundled_rows(repeats, run: str) -> None:
    repeats("htsim/uec", run=run)


def test_input_files_of_a_run() -> None:
    """Packets carry 4032 bytes beside their headers; starts are in us; there is a call for each seed."""
    calls = uec_inputs.calls(RUN)
    assert [call[-2:] for call in calls] == [["-seed", f"{seed}"] for seed in uec_inputs.SEEDS]
    topology, connections, *options = calls[0]
    assert topology.splitlines()[0] == "Nodes 32"
    assert connections.splitlines()[2:] == [
        "1->0 id 1 start 0 size 8064",
        "2->0 id 2 start 40 size 4032",
    ]
    assert "-sender_cc_only" in options
    command = UEC.program.command(calls[0])
    assert command.startswith("htsim_uec -topo topology-")
    assert "\n" not in command


def test_rows_of_a_run() -> None:
    rows = uec_inputs.read(RUN, Path(), 3 * [PRINTED.format(1)])
    assert [set(rows[name][0]) for name in uec_inputs.TABLES] == [
        set(table.columns) for table in uec_inputs.TABLES.values()
    ]
    assert [row["finish"] for row in rows["flows"]] == 3 * [12.5e-6, 3e-6]
    assert {row["repeated"] for row in rows["flows"]} == {4}
    assert rows["runs"][0]["control"] == "nscc"


@pytest.mark.parametrize(
    ("printed", "message"),
    [
        (PRINTED.format(5), "incast of 7 in a leaf, seed 2: 2 of 2 flows are complete"),
        ("", "seed 2: 0 of 2 flows are complete"),
        (PRINTED.format(1).replace("New", "Old"), "seed 2: 2 of 2 flows"),
    ],
)
def test_a_run_whose_flows_are_not_complete_is_refused(printed: str, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        uec_inputs.read(RUN, Path(), [PRINTED.format(1), printed, PRINTED.format(1)])


def test_flows_are_between_different_hosts() -> None:
    for run in UEC.runs:
        ends = [flow[:2] for flow in run["flows"]]
        assert len(set(ends)) == len(ends)
        assert all(source != target for source, target in ends)
    names = [run["run"] for run in UEC.runs]
    assert len(set(names)) == len(names) >= 20
