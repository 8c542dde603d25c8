"""The fabrics of ``htsim/roce``, with the same flows, in the RDMA model of ns-3."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from validation.generate.cases import Calls, Case, Column, Rows, Run, Table
from validation.generate.htsim import cases as htsim
from validation.generate.htsim import inputs
from validation.generate.ns3_rdma.program import Ns3Rdma
from validation.generate.programs import flags

(ROCE,) = htsim.CASES
FLOWS = inputs.TABLES["flows"]
TABLES = {
    "runs": inputs.TABLES["runs"],
    "flows": Table(
        FLOWS.index,
        {**FLOWS.values, "packets": Column("packets", "of 4096 bytes, and headers of 36")},
    ),
}


def calls(run: Run) -> Calls:
    """Return the options of a run."""
    listed = ",".join(f"{source}-{target}-{packets}" for source, target, packets in run["flows"])
    options = {
        "leaves": run["leaves"],
        "hosts": run["hosts"],
        "access": round(run["access"]),
        "trunk": round(run["trunk"]),
        "delay": 1000,
        "xoff": run["xoff"],
        "xon": run["xon"],
        "payload": inputs.MTU,
        "end": run["end"],
        "flows": listed,
    }
    return [flags(options)]


def read(run: Run, folder: Path, printed: Sequence[str]) -> dict[str, Rows]:  # noqa: ARG001
    """Return the rows of one run.

    Raises
    ------
    RuntimeError
        If a switch has lost packets, or a flow is not complete at the end.
    """
    lines = printed[0].splitlines()
    if lost := [line for line in lines if "Drop" in line]:
        raise RuntimeError(f"run {run['run']}: packets are lost, first at {lost[0]}")
    ends = {int(number): float(time) / 1e9 for number, time in map(str.split, lines)}
    if sorted(ends) != list(range(len(run["flows"]))):
        raise RuntimeError(f"run {run['run']}: {len(ends)} of {len(run['flows'])} flows are complete at {run['end']} s")
    return inputs.rows_of(run, [ends[n] for n in range(len(ends))])


CASES = (
    Case(
        name="ns3/rdma",
        title="Flows of RDMA at line rate with go-back-N under PFC, 32 hosts at 4 leaves and one spine, in ns-3's RDMA model",
        claims=(),
        program=Ns3Rdma(),
        parameters={
            **ROCE.parameters,
            "buffer of each queue": ("400 kB of headroom for each ingress", ""),
        },
        tables=TABLES,
        runs=ROCE.runs,
        calls=calls,
        read=read,
        simulated_seconds=ROCE.simulated_seconds,
        notes=(
            "The runs of htsim/roce: the same fabrics, flows and thresholds.",
            "ACKs are before data in hosts and switches, and are never paused; in htsim they are in the class of the data.",
            "A packet has headers of 36 bytes besides its 4096, an ACK has 48 bytes. All flows start at 0.",
        ),
    ),
)
