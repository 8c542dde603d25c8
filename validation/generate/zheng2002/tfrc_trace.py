"""A TFRC receiver in ns-2, packet by packet: arrivals and reports."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

from validation.generate.cases import Calls, Case, Column, Rows, Run, Table
from validation.generate.programs import Ns2, pairs

PROGRAM = Ns2("tfrc_trace.tcl")
DURATION = 60.0
SHOWN = 5

SEED = {"seed": Column("1", "substream of the random number stream that drops packets")}
PACKETS = Table(
    {**SEED, "sequence": Column("1", "sequence number of the packet, from 0")},
    {
        "sent": Column("s", "time at which the packet was sent"),
        "arrived": Column(
            "s", "time at which the receiver got it; empty where lost or under way at the end"
        ),
        "lost": Column("1", "1: dropped"),
    },
)
REPORTS = Table(
    {**SEED, "report": Column("1", "number of the receiver's evaluation, from 0")},
    {
        "time": Column("s", "time of the evaluation, when the report is sent"),
        "p": Column(
            "1", "loss event rate reported, to five decimals; empty in the first row (see notes)"
        ),
        **{
            f"interval_{k}": Column(
                "packets",
                "open loss interval: packets since the last loss event"
                if k == 0
                else f"closed loss interval, {k} back; 0 where there is none yet",
            )
            for k in range(SHOWN)
        },
    },
)
EVENTS = Table(
    {**SEED, "event": Column("1", "loss events after the first one, from 1")},
    {
        "sequence": Column("1", "sequence number of the lost packet that begins the event"),
        "interval": Column("packets", "length of the loss interval that it closes"),
        "time": Column("s", "time of the first report that knows of it"),
    },
)

PARAMETERS: dict[str, tuple[float | str, str]] = {
    "agents": ("Agent/TFRC and Agent/TFRCSink", ""),
    "link rate": (10e6, "bit/s"),
    "propagation round trip": (0.048, "s"),
    "bytes per packet": (1000, "bytes (packetSize_, fsize_ 968 and 32 of header)"),
    "loss probability": (
        "0.01 from 0 s, 0.02 from 5 s, 0.002 from 20 s, 0.05 from 35 s, 0.005 from 45 s",
        "1 (independent)",
    ),
    "start": (0.5, "s"),
    "duration": (DURATION, "s"),
    "tcp_tick_": (1e-3, "s"),
    "minrto_": (0.2, "s"),
    "NumSamples_ (default)": ("8, and one more by smooth_", "loss intervals"),
    "smooth_, discount_, PreciseLoss_ (default)": (1, "1"),
    "minDiscountRatio_ (default)": (0.5, "1"),
    "ShortIntervals_ (default)": (0, "1"),
    "numPkts_ (default)": (1, "packets after a hole that make it a loss"),
    "NumFeedback_ (default)": (1, "reports per round trip"),
}

NOTES = (
    (
        "The first loss ends slow start: the receiver replaces the history by one interval that gives "
        "the received rate in TFRC's equation. The first row of a seed is this moment (interval_1), "
        "and no p is printed for it."
    ),
    (
        "After that first loss ns-2 counts the open interval from its last report, not from the loss: "
        "the first closed interval is longer than the distance of the first two events by up to a "
        "round trip's packets. The table of events begins with the event that closes it."
    ),
    (
        "A loss begins an event when its packet was sent (interpolated between its neighbours) more "
        "than the sender's RTT estimate after the start of the event before, and the sender has had a "
        "report since (PreciseLoss_)."
    ),
    (
        "p is one over the larger of the weighted means with and without the open interval, over up "
        "to nine intervals with history discounting."
    ),
    (
        "Every packet was sent and then dropped or received; the last ones of a seed may be under way "
        "when it ends. Acknowledgements are never lost; the link never limits."
    ),
)


def calls(run: Run) -> Calls:
    """Return the options of ``tfrc_trace.tcl``."""
    return [pairs({"duration": DURATION, "seed": run["seed"]})]


def shifts(old: list[int], new: list[int]) -> int:
    """Count the intervals that were closed between two histories, the open one first."""
    if old[1:] == new[1:] and new[0] >= old[0]:
        return 0
    for count in range(1, SHOWN - 1):
        if new[count + 1 :] == old[1 : SHOWN - count]:
            return count
    msg = f"histories do not fit: {old}, {new}"
    raise RuntimeError(msg)


def read(run: Run, folder: Path, printed: Sequence[str]) -> dict[str, Rows]:
    """Read the trace and the output of one flow."""
    seed = {"seed": run["seed"]}
    packets: dict[int, dict[str, float | None]] = {}
    for line in (folder / "packets.txt").read_text().splitlines():
        words = line.split()
        what, time, sequence = words[0], float(words[1]), int(words[10])
        if what == "r":
            packets[sequence]["arrived"] = time
        elif what in "d+":
            lost = int(what == "d")
            packets[sequence] = {"sent": time, "arrived": None, "lost": lost}

    reports: Rows = []
    closed: list[tuple[float, int]] = []
    known: list[int] | None = None
    p: float | None = None
    for line in printed[0].splitlines():
        words = line.replace(":", " ").split()
        if words[0] == "time":
            if words[2] == "loss_rate":
                p = float(words[3])
            continue
        time = float(words[0])
        history = [int(words[k]) for k in range(3, 3 + 2 * SHOWN, 2)]
        shown = {f"interval_{k}": interval for k, interval in enumerate(history)}
        reports.append(seed | {"report": len(reports), "time": time, "p": p} | shown)
        count = shifts(known, history) if known else 0
        closed += [(time, history[k]) for k in range(count, 0, -1)]
        known = history
    begins = event_begins([interval for _, interval in closed], packets)
    events = [
        seed | {"event": k, "sequence": begin, "interval": interval, "time": time}
        for k, (begin, (time, interval)) in enumerate(zip(begins, closed, strict=True), 1)
    ]
    rows = [seed | {"sequence": s} | packets[s] for s in sorted(packets)]
    return {"packets": rows, "reports": reports, "events": events}


def event_begins(intervals: list[int], packets: dict[int, dict[str, float | None]]) -> list[int]:
    """Find the packets that begin the loss events from the lengths of the closed intervals.

    The first one is the first lost packet from which all the lengths lead to lost packets.
    """
    lost = {sequence for sequence, packet in packets.items() if packet["lost"]}
    steps = list(itertools.accumulate(intervals[1:], initial=0))
    for first in sorted(lost)[1:]:
        if all(first + step in lost for step in steps):
            return [first + step for step in steps]
    msg = "the receiver's loss intervals do not fit the lost packets"
    raise RuntimeError(msg)


def duration(run: Run) -> float:  # noqa: ARG001
    """Give the simulated time of a run, in s."""
    return DURATION


CASES = [
    Case(
        name="zheng2002/tfrc-receiver-trace",
        title="packets, loss events and reports of a TFRC receiver under changing random loss",
        claims=("Z19",),
        program=PROGRAM,
        parameters=PARAMETERS,
        tables={"packets": PACKETS, "reports": REPORTS, "events": EVENTS},
        runs=[{"seed": seed} for seed in (1, 2, 3, 4, 5)],
        calls=calls,
        read=read,
        simulated_seconds=duration,
        notes=NOTES,
    )
]
