"""CUBIC beside NewReno, and BBR beside CUBIC, over one drop-tail queue in ns-3, with loss recovery as in the RFCs.

The pairs ``packets/sharing-ns3`` have ns-3.44's proportional rate reduction, which counts packets twice, a least
timeout of 0.2 s, which ends recoveries where the queue is long, and a measurement of 100 s, fewer than two loss events of
large windows. These runs have none of the three. In a second case of CUBIC beside NewReno, and in the runs of BBR
beside CUBIC, each is put back alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from validation.generate.cases import Calls, Case, Column, Rows, Run, Table
from validation.generate.packets import sharing
from validation.generate.programs import Ns3, flags

RECOVERIES = {"rfc6937": "Rfc6937Recovery", "prr-ns3": "ns3::TcpPrrRecovery"}
TYPES = {**sharing.TYPES, "linuxreno": "ns3::TcpLinuxReno"}
MATCHED = {
    "recovery": "rfc6937",
    "least_timeout": 1.0,
    "second": "newreno",
    "begin": 100.0,
    "end": 400.0,
}
DEPARTURES: tuple[Mapping[str, Any], ...] = (
    {"recovery": "prr-ns3"},
    {"least_timeout": 0.2},
    {"second": "linuxreno"},
    {"begin": 20.0, "end": 120.0},
)
"""Each is the matched settings with one of them changed."""
PATHS = [
    {key: run[key] for key in ("rate", "rtt", "buffer", "seed")}
    for run in sharing.CASES[0].runs
    if (run["first"], run["second"]) == ("cubic", "newreno")
]
SOME_PATHS = [path for path in PATHS if path["rate"] == 10e6 and path["seed"] == 1]
BESIDE_BBR = {**MATCHED, "first": "bbr", "second": "cubic"}


def calls(run: Run) -> Calls:
    """Return the options of sharing-recoveries.cc."""
    return [
        flags(
            {
                "leastTimeout": run["least_timeout"],
                "ns3::TcpL4Protocol::RecoveryType": RECOVERIES[run["recovery"]],
                "first": TYPES[run.get("first", "cubic")],
                "second": TYPES[run["second"]],
                **{name: run[name] for name in ("rate", "rtt", "buffer", "begin", "end", "seed")},
            }
        )
    ]


def read(run: Run, folder: Path, printed: Sequence[str]) -> dict[str, Rows]:  # noqa: ARG001
    """Make the row of one run."""
    received, queue = sharing.outputs(printed[0])
    names = ("bbr", "cubic") if run.get("first") == "bbr" else ("cubic", "reno")
    row = {
        **run,
        **{
            f"goodput_{name}": round(packets / (run["end"] - run["begin"]), 6)
            for name, packets in zip(names, received, strict=True)
        },
        **queue,
    }
    return {"runs": [row]}


def _seconds(run: Run) -> float:
    return float(run["end"])


def _beside_bbr(table: Table) -> Table:
    """Return the table of runs with the columns of BBR beside CUBIC."""
    keys = {"first": Column("", "bbr"), **table.index, "second": Column("", "cubic")}
    goodput = Column("packets/s", "of 1446 bytes of data")
    others = {name: column for name, column in table.values.items() if "goodput" not in name}
    return Table(keys, {"goodput_bbr": goodput, "goodput_cubic": goodput, **others})


RECOVERED = Case(
    name="packets/sharing-rfc6937-ns3",
    title="CUBIC beside NewReno over a drop-tail queue, with PRR as in RFC 6937 and a least timeout of 1 s",
    claims=(),
    program=Ns3("sharing-recoveries", sharing.MODULES, headers=("sharing.cc",)),
    parameters={"access links over the bottleneck's rate": (10.0, "1")},
    tables={
        "runs": Table(
            {
                "recovery": Column("", "loss recovery of both: rfc6937, or prr-ns3, ns-3.44's own"),
                "least_timeout": Column("s", "least retransmission timeout of both"),
                "second": Column("", "beside CUBIC: newreno, or linuxreno (TcpLinuxReno)"),
                "begin": Column("s", "beginning of the measurement"),
                "end": Column("s", "end of the measurement"),
                **sharing.PATH,
            },
            {
                "goodput_cubic": sharing.GOODPUT,
                "goodput_reno": sharing.GOODPUT,
                **sharing.QUEUE,
            },
        )
    },
    runs=[{**MATCHED, **path} for path in PATHS],
    calls=calls,
    read=read,
    simulated_seconds=_seconds,
    notes=(
        "ns-3's NewReno halves what is in flight after SACKs and losses; its Linux Reno halves cwnd.",
        "SACK and timestamps, no delayed ACKs, first window of 10 packets, no HyStart in CUBIC.",
    ),
)

CASES = (
    RECOVERED,
    replace(
        RECOVERED,
        name="packets/sharing-departures-ns3",
        title="CUBIC beside NewReno as in sharing-rfc6937-ns3, with one setting at a time changed",
        runs=[{**MATCHED, **departure, **path} for departure in DEPARTURES for path in SOME_PATHS],
    ),
    replace(
        RECOVERED,
        name="packets/sharing-bbr-rfc6937-ns3",
        title="BBR beside CUBIC as in sharing-rfc6937-ns3 at 10 Mb/s, and with one setting at a time changed",
        tables={"runs": _beside_bbr(RECOVERED.tables["runs"])},
        runs=[
            *({**BESIDE_BBR, **path} for path in SOME_PATHS),
            *(
                {**BESIDE_BBR, **departure, **path}
                for departure in DEPARTURES
                if "second" not in departure
                for path in SOME_PATHS
            ),
        ],
        notes=(
            "ns-3's TcpBbr is BBR v1; the loss recovery of the case is CUBIC's alone.",
            RECOVERED.notes[1],
        ),
    ),
)
