"""Pairs of BBR, NewReno and CUBIC over one drop-tail queue in ns-3: goodputs, mean queue, drops."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from validation.generate.cases import Calls, Case, Column, Rows, Run, Table
from validation.generate.programs import Ns3, flags

MODULES = (
    *("core", "network", "internet", "point-to-point", "applications"),
    *("bridge", "traffic-control", "stats"),
)
"""Of ns-3, that the programs of pairs link."""

TYPES = {"bbr": "ns3::TcpBbr", "newreno": "ns3::TcpNewReno", "cubic": "ns3::TcpCubic"}
PAIRS = (("bbr", "newreno"), ("bbr", "cubic"), ("cubic", "newreno"))
SEEDS = {10e6: (1, 2), 40e6: (1,)}
"""By the rate of the bottleneck in bit/s."""
TRIPS, BUFFERS = (0.02, 0.08), (0.5, 1.0, 2.0, 5.0)
BITS = 8 * 1500
BEGIN, END = 20.0, 120.0


def _buffer(rate: float, rtt: float, part: float) -> int:
    """Return the packets of a buffer that is a part of the bandwidth-delay product."""
    return max(4, round(part * rate * rtt / BITS))


def calls(run: Run) -> Calls:
    """Return the options of sharing.cc."""
    return [
        flags(
            {
                "first": TYPES[run["first"]],
                "second": TYPES[run["second"]],
                **{name: run[name] for name in ("rate", "rtt", "buffer")},
                "begin": BEGIN,
                "end": END,
                "seed": run["seed"],
            }
        )
    ]


def read(run: Run, folder: Path, printed: Sequence[str]) -> dict[str, Rows]:  # noqa: ARG001
    """Make the row of one run."""
    received, queue = outputs(printed[0])
    keys = ("first", "second", "rate", "rtt", "buffer", "seed")
    row = {
        **{name: run[name] for name in keys},
        "goodput_first": round(received[0] / (END - BEGIN), 6),
        "goodput_second": round(received[1] / (END - BEGIN), 6),
        **queue,
    }
    return {"runs": [row]}


def outputs(text: str) -> tuple[list[float], dict[str, float]]:
    """Return what sharing.cc prints: packets of each flow, and the queue's mean and drops."""
    lines = [line.split() for line in text.splitlines()]
    received = [int(words[1]) / 1446 for words in lines if words[0] == "flow"]
    (queue,) = (words[1:] for words in lines if words[0] == "queue")
    return received, {"queue": float(queue[0]), "drops": int(queue[1])}


PATH = {
    "rate": Column("bit/s", "of the bottleneck"),
    "rtt": Column("s", "propagation there and back"),
    "buffer": Column("packets", "of the bottleneck"),
    "seed": Column("1", "of the start times below 1 s"),
}
GOODPUT = Column("packets/s", "of 1446 bytes of data")
QUEUE = {
    "queue": Column("packets", "mean over time"),
    "drops": Column("packets", "dropped by the queue"),
}

CASES = (
    Case(
        name="packets/sharing-ns3",
        title="pairs of BBR, NewReno and CUBIC over a drop-tail queue, 2 seeds at 10 Mb/s, one at 40 Mb/s",
        claims=(),
        program=Ns3("sharing", MODULES),
        parameters={
            "access links over the bottleneck's rate": (10.0, "1"),
            "beginning of the measurement": (BEGIN, "s"),
            "end": (END, "s"),
        },
        tables={
            "runs": Table(
                {
                    "first": Column("", "congestion control of the first flow"),
                    "second": Column("", "of the second flow"),
                    **PATH,
                },
                {
                    "goodput_first": GOODPUT,
                    "goodput_second": GOODPUT,
                    **QUEUE,
                },
            )
        },
        runs=[
            {
                "first": first,
                "second": second,
                "rate": rate,
                "rtt": rtt,
                "buffer": _buffer(rate, rtt, part),
                "seed": seed,
            }
            for first, second in PAIRS
            for rate, seeds in SEEDS.items()
            for rtt in TRIPS
            for part in BUFFERS
            for seed in seeds
        ],
        calls=calls,
        read=read,
        simulated_seconds=lambda _: END,
        notes=(
            "ns-3's TcpBbr is BBR v1 (pacing_gain 2.89 in startup, bandwidth filter of 10 rounds).",
            "SACK and timestamps, no delayed ACKs, first window of 10 packets, no HyStart in CUBIC.",
        ),
    ),
)
