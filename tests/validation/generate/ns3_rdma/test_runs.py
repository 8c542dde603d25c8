"""Runs of ns-3's RDMA model: its options, what it prints, what is refused, and a bundled run made again."""

from __future__ import annotations

from pathlib import Path

import pytest

from validation.generate.ns3_rdma import cases, program
from validation.generate.ns3_rdma.program import Ns3Rdma, rdma_folder

(RDMA,) = cases.CASES
RUN = {**RDMA.runs[0], "flows": [(1, 0, 2), (2, 0, 1)]}


@pytest.mark.simulators
@pytest.mark.parametrize("run", ["incast of 31", "200 random flows"])
def test_the_model_repeats_the_bundled_rows(repeats, run: str) -> None:
    repeats("ns3/rdma", run=run)


def test_options_of_a_run() -> None:
    (words,) = cases.calls(RUN)
    assert words[-1] == "--flows=1-0-2,2-0-1"
    assert {"--xoff=20", "--xon=10", "--access=100000000000"} <= set(words)
    assert Ns3Rdma().command(words).startswith("build/data/bin/rdma-fabric --leaves=4 ")


def test_rows_of_a_run() -> None:
    rows = cases.read(RUN, Path(), ["1 3000\n0 12500\n"])
    assert [set(rows[name][0]) for name in cases.TABLES] == [
        set(table.columns) for table in cases.TABLES.values()
    ]
    assert [row["finish"] for row in rows["flows"]] == [12.5e-6, 3e-6]


def test_a_run_that_loses_packets_or_is_not_complete_is_refused() -> None:
    with pytest.raises(RuntimeError, match="incast of 4 in a leaf: 1 of 2 flows are complete"):
        cases.read(RUN, Path(), ["0 12500\n"])
    with pytest.raises(RuntimeError, match="packets are lost, first at 9 32 Drop: queue:1,3"):
        cases.read(RUN, Path(), ["9 32 Drop: queue:1,3: Headroom full\n0 3\n1 3\n"])


def test_where_the_model_is(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv(program.VARIABLE, str(tmp_path))
    with pytest.raises(FileNotFoundError, match="HOPFLOW_NS3_RDMA must name the checkout"):
        rdma_folder()
    header = tmp_path / "build" / "include" / "ns3" / "rdma-hw.h"
    header.parent.mkdir(parents=True)
    header.touch()
    assert rdma_folder() == tmp_path.resolve()
