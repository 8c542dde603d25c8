"""NewReno flows over a bottleneck with CoDel or PIE in ns-3: drops, queue, goodputs.

`managed_scenario` is the same network as a scenario.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dfcmodel import Flow, Link, Scenario
from dfcmodel.network.queueing.disciplines import Discipline
from responsefn import NewReno
from validation.generate.case_tables import About, Driver, load, tables_of
from validation.generate.cases import Calls, Case, Rows, Run
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
    sources = [Flow(f"{n}", (f"s{n}", "left", "right"), NewReno(), 1000.0, start=n / flows) for n in range(flows)]
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


TABLES = load(__file__)
PARAMETERS = {
    "rate of the bottleneck": (RATE, "bit/s"),
    "delay of the bottleneck": (DELAY, "s"),
    "rate of the access links": (10 * RATE, "bit/s"),
    "delay of the access links, up to 1 % longer": (ACCESS, "s"),
    "buffer of the bottleneck": (BUFFER, "packets"),
    "beginning of the measurement": (BEGIN, "s"),
    "end": (END, "s"),
}
DRIVER = Driver(
    *("packets", Ns3("managed-queue", NS3_TCP), calls, read, lambda _: END),
    {"parameters": PARAMETERS, "notes": TABLES["notes"]},
)


def a_case(about: About) -> Case:
    """Return the case of a queue discipline with its defaults in ns-3."""
    disc = about["name"].removesuffix("-ns3")
    runs = [{"disc": disc, "flows": flows, "seed": seed} for flows in FLOWS for seed in SEEDS]
    return DRIVER.case(about, runs, tables_of(TABLES["tables"], {}, disc=disc))


CASES = tuple(a_case(about) for about in TABLES["cases"])
