"""A parking lot of three bottlenecks in both simulators (kaneko2007).

ns-2 has the rules of Linux, ns-3 Fusion and ARENO; the same flows, rows and columns in both.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

import numpy as np

from validation.generate.cases import Case, Column, Rows, Run, Table
from validation.generate.kaneko2007 import flows
from validation.generate.kaneko2007.flows import FLOW, FLOW_VALUES, PACKET_BITS, SEED

HOPS = 3
RATE = 100e6
DELAY = 0.01
BUFFER = 167
SSTHRESH = 50
BEGIN, END = 20.0, 100.0
REVERSE = 4
RULES = ("reno", "compound", "highspeed", "bic", "cubic")
SEEDS = (1, 2, 3, 4, 5)

RUN = {
    "rule": Column("", "congestion control of the variant's flows"),
    "reverse": Column("1", "Reno flows per link on the way of the acknowledgements"),
    "seed": SEED,
}
FLOWS = Table(
    {**RUN, "flow": FLOW},
    {
        "direction": Column("", "forward or reverse"),
        "hops": Column("1", "bottlenecks that the flow crosses"),
        **FLOW_VALUES,
        "ack_drops": Column("packets", "acknowledgements refused by full queues, whole run"),
    },
)
LINKS = Table(
    {
        **RUN,
        "link": Column("1", "number of the link, 3 is the last one before the receivers"),
        "direction": Column("", "forward (data of the six flows) or reverse"),
    },
    {
        "begin": Column("s", "when the measurement begins"),
        "duration": Column("s", "length of the measurement"),
        "arrivals": Column("packets", "data and acknowledgements that reached the queue"),
        "departures": Column("packets", "that left it"),
        "drops": Column("packets", "that it refused"),
        "queued_begin": Column("packets", "in the queue at the begin"),
        "queued_end": Column("packets", "in the queue at the end"),
        "mean_queue": Column("packets", "time average of the queue"),
    },
)


def _run(rule: str, reverse: int, seed: int, begin: float = BEGIN, end: float = END) -> Run:
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


def lots(rules: Sequence[str], seeds: Sequence[int]) -> list[Run]:
    """Return the runs of these rules in ns-2, without reverse traffic and with it."""
    return [
        _run(rule, reverse, seed) for reverse in (0, REVERSE) for rule in rules for seed in seeds
    ]


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
            arrivals, departures, drops, area = after[at] - before[at]
            links.append(
                {
                    **keys,
                    "link": h + 1,
                    "direction": direction,
                    "begin": float(before[0]),
                    "duration": float(after[0] - before[0]),
                    "arrivals": int(arrivals),
                    "departures": int(departures),
                    "drops": int(drops),
                    "queued_begin": int(before[at] @ (1, -1, -1, 0)),
                    "queued_end": int(after[at] @ (1, -1, -1, 0)),
                    "mean_queue": float(area / (after[0] - before[0])),
                }
            )
    return {"flows": rows, "links": links}


TABLES = {"flows": FLOWS, "links": LINKS}
PARAMETERS: dict[str, tuple[float | str, str]] = {
    "bottlenecks in a row": (HOPS, "1"),
    "rate of each": (RATE, "bit/s"),
    "delay of each": (DELAY, "s"),
    "buffer of each, both directions": (BUFFER, "packets (BDP of one hop)"),
    "data packet": (1500, "bytes on the link"),
    "slow start ends at": (SSTHRESH, "packets"),
    "overhead": (PACKET_BITS / RATE, "s, a packet's transmission time: largest random delay"),
    "acknowledgements": (1, "per packet"),
}
NOTES = (
    (
        "Six flows forward: for each of 1, 2 and 3 hops one of the rule and one of Reno. 'Reno1 "
        "represents TCP-Reno flow with one hop count' is all that the slides say: that the flows "
        "end together behind the last link, rates, delays, buffers are chosen. Six flows share the "
        "last link, four the middle one, two the first one."
    ),
    (
        "reverse = 4: four Reno flows back over each link; data and acknowledgements share the "
        "queues of both directions, which count packets of any size. No random loss."
    ),
    (
        "Known trap: without processing times the flows lock in phase. In ns-2 six Reno flows then "
        "get 2 Mb/s each over one hop, 30 over two, 16 to 19 over three; with up to 60, 120 and 240 "
        "microseconds per packet they get 25, 14 and 10 Mb/s, the same in all three within the "
        "spread of the seeds; up to 20 microseconds do not suffice (18, 18, 13)."
    ),
    (
        "total_sent = total_delivered + total_queue_drops + total_stored; arrivals = departures + "
        "drops + queued_end - queued_begin, exactly."
    ),
    f"goodput_bits counts {PACKET_BITS} bit per packet of unique data.",
)

CASES = [
    Case(
        name="kaneko2007/parking-lot-ns2",
        title="three rule and three Reno flows over 1 to 3 bottlenecks, with and without reverse Reno",
        claims=("K10",),
        program=flows.NS2,
        parameters={
            **PARAMETERS,
            "agent": ("Agent/TCP/Linux (Linux 2.6.22 modules) and Agent/TCPSink/Sack1", ""),
            "draining after the sources stop": (flows.DRAIN, "s"),
        },
        tables=TABLES,
        runs=lots(RULES, SEEDS),
        calls=flows.ns2_calls,
        read=read,
        simulated_seconds=flows.ns2_seconds,
        notes=(
            *NOTES,
            "overhead is ns-2's overhead_, in the sender. Fusion and ARENO: parking-lot-ns3.",
        ),
    ),
    Case(
        name="kaneko2007/parking-lot-ns3",
        title="three Fusion or ARENO and three Reno flows over 1 to 3 bottlenecks, with reverse Reno",
        claims=("K10",),
        program=flows.NS3,
        parameters={
            **PARAMETERS,
            "congestion controls": ("TcpFusion, TcpAdaptiveReno (rules.h), TcpNewReno", ""),
            "draining after the sources stop": (flows.NS3_DRAIN, "s"),
        },
        tables=TABLES,
        runs=[
            _run(rule, reverse, seed, 15.0, 50.0)
            for reverse in (0, REVERSE)
            for rule in ("fusion", "areno")
            for seed in SEEDS[:3]
        ],
        calls=flows.ns3_calls,
        read=read,
        simulated_seconds=flows.ns3_seconds,
        notes=(
            *NOTES,
            "overhead delays what goes backwards, acknowledgements and reverse data. Three seeds.",
        ),
    ),
]
