"""NewReno flows over a bottleneck with CoDel or PIE in ns-3: drops, queue, goodputs.

`managed_scenario` is the same network as a scenario.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dfcmodel import Flow, Link, Scenario
from dfcmodel.network.queueing.disciplines import Discipline
from responsefn import NewReno
from validation.generate.cases import Calls, Case, Column, Rows, Run, Table
from validation.generate.programs import NS3_TCP, Ns3, flags

BITS = 8 * 1500
DISCS = {"codel": "ns3::CoDelQueueDisc", "pie": "ns3::PieQueueDisc"}
RATE, DELAY, ACCESS, BUFFER = 20e6, 20e-3, 5e-3, 200
BEGIN, END = 10.0, 60.0
FLOWS, SEEDS = (2, 8, 32), tuple(range(1, 5))


def managed_scenario(flows: int, discipline: Discipline) -> Scenario:
    """Return the network of the runs, with a discipline at its bottleneck."""
    links = [Link("left", "right", RATE / BITS, DELAY, BUFFER, discipline)]
    links += [Link(f"s{n}", "left", 10 * RATE / BITS, ACCESS, 1e5) for n in range(flows)]
    sources = [
        Flow(f"{n}", (f"s{n}", "left", "right"), NewReno(), 1000.0, start=n / flows)
        for n in range(flows)
    ]
    return Scenario(f"{flows} flows", tuple(links), tuple(sources), duration=END)


def calls(run: Run) -> Calls:
    """Return the options of managed-queue.cc."""
    options = {
        "disc": DISCS[run["disc"]], "flows": run["flows"], "rate": RATE, "delay": DELAY,
        "access": ACCESS, "buffer": BUFFER, "begin": BEGIN, "end": END, "seed": run["seed"],
    }  # fmt: skip
    return [flags(options)]


def read(run: Run, folder: Path, printed: Sequence[str]) -> dict[str, Rows]:  # noqa: ARG001
    """Make the row of one run."""
    lines = [line.split() for line in printed[0].splitlines()]
    received = [int(words[1]) / 1458 for words in lines if words[0] == "flow"]
    (queue,) = (words[1:] for words in lines if words[0] == "queue")
    keys = {name: run[name] for name in ("disc", "flows", "seed")}
    row = {
        **keys,
        "goodput": round(sum(received) / (END - BEGIN), 6),
        "least": round(min(received) / (END - BEGIN), 6),
        "drops": int(queue[0]),
        "queue": float(queue[1]),
        "sojourn": float(queue[2]),
    }
    return {"runs": [row]}


def _case(disc: str, title: str, parameters: dict[str, tuple[float, str]], *notes: str) -> Case:
    """Return the case of a queue discipline with its defaults in ns-3."""
    return Case(
        name=f"packets/{disc}-ns3",
        title=f"2 to 32 NewReno flows over a queue with {title}, 4 seeds",
        claims=(),
        program=Ns3("managed-queue", NS3_TCP),
        parameters={
            "rate of the bottleneck": (RATE, "bit/s"),
            "delay of the bottleneck": (DELAY, "s"),
            "rate of the access links": (10 * RATE, "bit/s"),
            "delay of the access links, up to 1 % longer": (ACCESS, "s"),
            "buffer of the bottleneck": (BUFFER, "packets"),
            **parameters,
            "beginning of the measurement": (BEGIN, "s"),
            "end": (END, "s"),
        },
        tables={
            "runs": Table(
                {
                    "disc": Column("", f"queue discipline: {disc}"),
                    "flows": Column("1", "number of flows"),
                    "seed": Column("1", "of the start times below 1 s and of the access delays"),
                },
                {
                    "goodput": Column("packets/s", "of all flows together"),
                    "least": Column("packets/s", "goodput of the slowest flow"),
                    "drops": Column("packets", "dropped by the queue discipline"),
                    "queue": Column("packets", "mean over time"),
                    "sojourn": Column("s", "mean time in the queue of the packets that left it"),
                },
            )
        },
        runs=[{"disc": disc, "flows": flows, "seed": seed} for flows in FLOWS for seed in SEEDS],
        calls=calls,
        read=read,
        simulated_seconds=lambda _: END,
        notes=(
            "No SACK, no delayed ACKs, first window of one packet; ACKs are never lost.",
            *notes,
        ),
    )


CASES = (
    _case("codel", "CoDel", {"target of CoDel": (5e-3, "s"), "interval of CoDel": (0.1, "s")}),
    _case(
        "pie", "PIE", {"target of PIE": (15e-3, "s"), "time between updates of PIE": (15e-3, "s")},
        "ns-3 also limits how fast the probability of PIE rises (RFC 8033, 5.5).",
    ),
)  # fmt: skip
