"""A TFRC receiver in ns-2, packet by packet: arrivals and reports."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

from validation.generate.case_tables import Driver, columns, load, tables_of
from validation.generate.cases import Calls, Rows, Run
from validation.generate.programs import Ns2, pairs

PROGRAM = Ns2("tfrc_trace.tcl")
DURATION = 60.0
SHOWN = 5

TABLES = load(__file__)
SEEDS = (1, 2, 3, 4, 5)


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


DRIVER = Driver("zheng2002", PROGRAM, calls, read, duration, TABLES)
CASES = [
    DRIVER.case(
        TABLES["case"],
        [{"seed": seed} for seed in SEEDS],
        tables_of(TABLES["tables"], columns(TABLES["columns"])),
    )
]
