"""A parking lot of three bottlenecks with Linux's congestion controls, by ns-2 (kaneko2007)."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np

from validation.generate import ns2_linux, ns2_tool
from validation.generate.cases import Case, Column, Rows, Run, Table
from validation.generate.ns2_linux import DRAIN, FLOW, FLOW_VALUES, PACKET_BITS, STEP

SCRIPT = "linux-parking-lot.tcl"
SOURCES = (
    f"{ns2_tool.SCRIPTS}/{SCRIPT}",
    "validation/generate/ns2_tool.py",
    "validation/generate/ns2_linux.py",
    "validation/generate/ns2_parking_lot.py",
)
HOPS = 3
RATE = 100e6
DELAY = 0.01
BUFFER = 167
BEGIN, END = 20.0, 60.0
REVERSE = 4
RULES = ("reno", "compound", "highspeed", "bic", "cubic")
SEEDS = (1, 2, 3, 4, 5)

RUN = {
    "rule": Column("", "congestion control of the variant's flows"),
    "reverse": Column("1", "Reno flows per link on the way of the acknowledgements"),
    "seed": Column("1", "of the start times' jitter, up to 0.1 s"),
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


def _run(rule: str, reverse: int, seed: int) -> Run:
    random = Random(seed)
    hops = [k for k in range(1, HOPS + 1) for _ in range(2)] + [1] * (HOPS * reverse)
    return {
        "factors": {"rule": rule, "reverse": reverse},
        "rules": [rule, "reno"] * HOPS + ["reno"] * (HOPS * reverse),
        "hops": hops,
        "rtts": [round(2 * DELAY * k, 6) for k in hops],
        "starts": [round(random.uniform(0.0, 0.1), 6) for _ in hops],
        "rate": RATE,
        "buffer": BUFFER,
        "loss": 0.0,
        "seed": seed,
        "begin": BEGIN,
        "end": END,
    }


def _options(run: Run) -> dict[str, float | str]:
    return {
        "rule": run["factors"]["rule"],
        "reverse": run["factors"]["reverse"],
        "starts": " ".join(map(str, run["starts"])),
        "hops": HOPS,
        "rate": RATE,
        "delay": DELAY,
        "buffer": BUFFER,
        "begin": BEGIN,
        "end": END,
        "drain": DRAIN,
        "step": STEP,
    }


def execute(run: Run, folder: Path) -> dict[str, Rows]:
    """Simulate one parameter set."""
    ns2_tool.run(SCRIPT, _options(run), folder)
    lines = (folder / "drops.txt").read_text().splitlines(keepends=True)
    data = [line for line in lines if line.split()[4] == "tcp"]
    acks = [int(line.split()[7]) for line in lines if line.split()[4] == "ack"]
    if len(data) + len(acks) != len(lines):
        msg = "drops of other packets than tcp and ack"
        raise RuntimeError(msg)
    (folder / "drops.txt").write_text("".join(data))
    flows = ns2_linux.measure(run, folder)["flows"]
    for row, hops in zip(flows, run["hops"], strict=True):
        row["direction"] = "forward" if row["flow"] <= 2 * HOPS else "reverse"
        row["hops"] = hops
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
    return {"flows": flows, "links": links}


def command(run: Run) -> str:
    """Give the command line of one run."""
    return ns2_tool.command(SCRIPT, _options(run))


def _simulated(run: Run) -> float:
    return float(run["end"]) + DRAIN


def _case(name: str, title: str, reverse: int) -> Case:
    return Case(
        name=f"kaneko2007/{name}",
        title=title,
        claims=("K10",),
        tool=ns2_tool.TOOL,
        version=ns2_tool.version,
        parameters={
            "agent": ("Agent/TCP/Linux (Linux 2.6.22 modules) and Agent/TCPSink/Sack1", ""),
            "data packet": (1500, "bytes with 50 of headers (packetSize_ 1450, timestamps_ true)"),
            "bottlenecks in a row": (HOPS, "1"),
            "rate of each": (RATE, "bit/s"),
            "delay of each": (DELAY, "s"),
            "buffer of each, both directions": (BUFFER, "packets (BDP of one hop)"),
            "slow start ends at": (50, "packets"),
            "acknowledgements": (1, "per packet"),
            "draining after the sources stop": (DRAIN, "s"),
        },
        tables={"flows": FLOWS, "links": LINKS},
        runs=[_run(rule, reverse, seed) for rule in RULES for seed in SEEDS],
        execute=execute,
        command=command,
        sources=SOURCES,
        simulated_seconds=_simulated,
        notes=(
            (
                "Six flows forward: for each of 1, 2 and 3 hops one of the rule and one of Reno. "
                "'Reno1 represents TCP-Reno flow with one hop count' is all that the slides say: "
                "that the flows end together behind the last link, rates, delays, buffers are "
                "chosen. Six flows share the last link, four the middle one, two the first one."
            ),
            (
                "Reverse flows are Reno's, each over one link; data and acknowledgements share the "
                "queues of both directions, which count packets of any size. No random loss."
            ),
            (
                "total_sent = total_delivered + total_queue_drops + total_stored; arrivals = "
                "departures + drops + queued_end - queued_begin, exactly."
            ),
            f"goodput_bits counts {PACKET_BITS} bit per packet of unique data.",
        ),
    )


CASES = [
    _case("parking-lot-ns2", "three rule and three Reno flows over 1 to 3 bottlenecks", 0),
    _case(
        "parking-lot-reverse-ns2",
        "three rule and three Reno flows over 1 to 3 bottlenecks, four Reno flows per link back",
        REVERSE,
    ),
]
