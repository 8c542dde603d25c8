"""Dumbbells, parking lots and takano2006's chains under Tahoe, Reno, NewReno and SACK in ns-2, packet by packet.

`validation.networks.packet_networks` has the same networks as scenarios.
"""

from __future__ import annotations

from validation.generate.cases import Case, Column, Run, Table
from validation.generate.packets.exported import SENT_AGAIN, calls, read
from validation.generate.programs import Ns2Export
from validation.networks.packet_networks import (
    ACCESS_DELAY,
    ACCESS_RATE,
    BUFFER,
    CHAIN_SEEDS,
    DELAY,
    DURATION,
    RATE,
    SAMPLE,
    WINDOW,
    sample_hash,
    scenario_of,
)

__all__ = ["CASES", "SAMPLE", "sample_hash", "scenario_of"]

PROGRAM = Ns2Export((SENT_AGAIN,))
RECOVERIES = ("tahoe", "reno", "newreno", "sack")
SEEDS = tuple(range(1, 9))
PAIRS = (2, 8, 32, 128)
LONG_CHAIN_FLOWS = (1, 4, 16)


RUN = {
    "recovery": Column("", "tahoe, reno, newreno or sack"),
    "size": Column("1", "pairs of a dumbbell; long flows of a parking lot"),
    "seed": Column("1", "seed of ns-2's default generator and of the start times"),
}
TABLES = {
    "flows": Table(
        {**RUN, "flow": Column("1", "number of the flow, from 0")},
        {
            "acknowledged": Column("packets", "number of the last packet acknowledged, ack_"),
            "sent": Column("packets", "ndatapack_"),
            "sent_again": Column("packets", "nrexmitpack_"),
            "timeouts": Column("1", "nrexmit_"),
            "samples": Column("", "SHA-256 (16 digits) of cwnd_ and ack_ at every sample"),
        },
    ),
    "links": Table(
        {**RUN, "from": Column("1", "node"), "to": Column("1", "node")},
        {"drops": Column("packets", "packets and ACKs dropped; links without drops are left out")},
    ),
}

ABOUT_CHAINS = {
    "size": Column("1", "number of the scenario"),
    "seed": Column("1", "of ns-2's default generator and of the starts; 0: neither"),
}


def _runs(topology: str, sizes: tuple[int, ...], delayed: bool) -> list[Run]:
    """Return the runs of a topology; those with delayed ACKs are of two seeds."""
    return [
        {"topology": topology, "recovery": recovery, "size": size, "seed": seed}
        | ({"delayed": True} if delayed else {})
        for recovery in RECOVERIES
        for size in sizes
        for seed in (SEEDS[:2] if delayed or size > 100 else SEEDS)
    ]


def _seconds(run: Run) -> float:
    """Return the simulated time of a run in s."""
    return float(scenario_of(run).duration)


def _case(
    name: str, topology: str, title: str, sizes: tuple[int, ...], *, delayed: bool = False
) -> Case:
    return Case(
        name=name,
        title=title,
        claims=(),
        program=PROGRAM,
        parameters={
            "rate of the bottlenecks": (RATE, "bit/s"),
            "delay of the bottlenecks": (DELAY[topology], "s"),
            "rate of the access links": (ACCESS_RATE, "bit/s"),
            "delay of the access links": (ACCESS_DELAY, "s"),
            "buffer of each, both directions": (BUFFER, "packets"),
            "largest window": (WINDOW, "packets"),
            "duration": (DURATION, "s"),
            "interval of the samples": (SAMPLE, "s"),
        },
        tables=TABLES,
        runs=_runs(topology, sizes, delayed),
        calls=calls,
        read=read,
        simulated_seconds=_seconds,
        notes=(
            "Random starts below 0.5 s; acknowledgements of 40 bytes queue on the way back.",
            *(("Receivers delay ACKs by up to 100 ms, ns-2's default.",) if delayed else ()),
        ),
    )


CHAIN = Case(
    name="packets/takano2006-ns2",
    title="scenarios 1 to 6 without DFC under four senders: the paper's starts, and seeds with starts up to 1 ms later",
    claims=(),
    program=PROGRAM,
    parameters={
        "rates of the links, scenarios 1 to 6": ("370, 1230, 3700, 12300, 37000, 123000", "Mb/s"),
        "delay of the links": (1e-4, "s"),
        "nodes": (30, "1"),
        "background enters at node": (15, "1"),
        "buffer of each, both directions": (1800, "packets"),
        "largest windows, scenarios 1 to 6": ("5000, 5000, 5000, 10000, 20000, 100000", "packets"),
        "duration, scenario 6": ("3, 1.5", "s"),
        "starts": ("0, 0.1; later by a uniform time below 0.001 unless the seed is 0", "s"),
        "interval of the samples": (SAMPLE, "s"),
    },
    tables={
        name: Table(
            {key: {**RUN, **ABOUT_CHAINS}.get(key, column) for key, column in table.index.items()},
            table.values,
        )
        for name, table in TABLES.items()
    },
    runs=[
        {"topology": "takano2006", "recovery": recovery, "size": number, "seed": seed}
        for recovery in RECOVERIES
        for number, seeds in CHAIN_SEEDS.items()
        for seed in seeds
    ],
    calls=calls,
    read=read,
    simulated_seconds=_seconds,
    notes=(
        "Agents sit at the nodes; of ns-2's generator only the phases of the timers' ticks are drawn.",
    ),
)
CASES = (
    CHAIN,
    _case(
        "packets/dumbbells-ns2", "dumbbell", "2 to 128 flows over one bottleneck, 8 seeds, 2 of 128 flows", PAIRS
    ),
    _case(
        "packets/parking-lots-ns2", "parking lot",
        "1 to 16 flows over three bottlenecks and as many over each, 8 seeds", LONG_CHAIN_FLOWS,
    ),
    _case(
        "packets/delayed-acks-ns2", "dumbbell",
        "2 to 32 flows over one bottleneck whose receivers delay ACKs, 2 seeds", PAIRS[:3], delayed=True,
    ),
)  # fmt: skip
