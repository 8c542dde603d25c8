"""A parking lot of three bottlenecks in both simulators (kaneko2007).

ns-2 has the rules of Linux, ns-3 Fusion and ARENO; the same flows, rows and columns in both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np

from validation.generate.case_tables import About, columns, crossed, load, tables_of
from validation.generate.cases import Case, Rows, Run, Table
from validation.generate.kaneko2007 import flows, sweeps
from validation.generate.kaneko2007.flows import PACKET_BITS

HOPS = 3
RATE = 100e6
DELAY = 0.01
BUFFER = 167
SSTHRESH = 50
BEGIN, END = 20.0, 100.0
TABLES = load(__file__)


def a_run(rule: str, reverse: int, seed: int, begin: float = BEGIN, end: float = END) -> Run:
    """Return a run: six flows forward, two for each number of hops, and Reno flows back over each link."""
    random = Random(seed)
    there = [(HOPS - k, HOPS) for k in range(1, HOPS + 1) for _ in range(2)]
    back = [(h + 1, h) for h in range(HOPS) for _ in range(reverse)]
    hops = [abs(a - b) for a, b in (*there, *back)]
    return {
        "factors": {"rule": rule, "reverse": reverse},
        "rules": [rule, "reno"] * HOPS + ["reno"] * (HOPS * reverse),
        "rtts": [round(2 * DELAY * k, 6) for k in hops],
        "starts": [round(random.uniform(0.0, 0.1), 6) for _ in hops],
        "path": {
            "from": [a for a, _ in (*there, *back)],
            "to": [b for _, b in (*there, *back)],
            "hops": HOPS,
            "delay": DELAY,
            "back_buffer": BUFFER,
        },
        "rate": RATE,
        "buffer": BUFFER,
        "loss": 0.0,
        "overhead": PACKET_BITS / RATE,
        "seed": seed,
        "begin": begin,
        "end": end,
        "ssthresh": SSTHRESH,
        "window": 7000,
    }


def read(run: Run, folder: Path, printed: Sequence[str]) -> dict[str, Rows]:  # noqa: ARG001
    """Make the rows of one run; drops.txt also has refused acknowledgements, marked ``ack``."""
    data, acks = [], []
    for line in (folder / "drops.txt").read_text().splitlines(keepends=True):
        words = line.split()
        if "ack" in words:
            acks.append(int(words[7] if words[0] == "d" else words[1]))
        else:
            data.append(line)
    (folder / "drops.txt").write_text("".join(data))
    rows = flows.measure(run, folder)["flows"]
    for row, first, last in zip(rows, run["path"]["from"], run["path"]["to"], strict=True):
        row["direction"] = "forward" if first < last else "reverse"
        row["hops"] = abs(last - first)
        row["ack_drops"] = acks.count(row["flow"])
    before, after = np.loadtxt(folder / "links.txt")
    keys = {**run["factors"], "seed": run["seed"]}
    links: Rows = []
    for d, direction in enumerate(("forward", "reverse")):
        for h in range(HOPS):
            at = slice(1 + 4 * (d * HOPS + h), 5 + 4 * (d * HOPS + h))
            span = float(after[0] - before[0])
            about = {"link": h + 1, "direction": direction, "begin": float(before[0])}
            links.append({**keys, **about, "duration": span, **flows.queue(before[at], after[at], span)})
    return {"flows": rows, "links": links}


def tables() -> dict[str, Table]:
    """Return the tables: rows of flows have more than in other cases, links are counted in both directions."""
    run = {**columns(TABLES["columns"]), **flows.SEED}
    found = flows.tables(run)["flows"]
    own = columns(TABLES["flows"]["values"])
    refused = {"ack_drops": own.pop("ack_drops")}
    return {
        "flows": Table(found.index, {**own, **found.values, **refused}),
        **tables_of({"links": TABLES["links"]}, run),
    }


def a_case(about: About) -> Case:
    """Return a case of ``linux.tcl`` or of ``congestion.cc``, by the end of its name."""
    begin, end = about.get("begin", BEGIN), about.get("end", END)
    runs = [a_run(**chosen, begin=begin, end=end) for chosen in crossed(about["runs"], about["seeds"])]
    return replace(sweeps.DRIVERS[about["name"][-3:]], common=TABLES, read=read).case(about, runs, tables())


CASES = [a_case(about) for about in TABLES["cases"]]
