"""Pairs of BBR, NewReno and CUBIC over one drop-tail queue in ns-3: goodputs, mean queue, drops.

``packets/sharing-ns3`` has ns-3.44's proportional rate reduction, which counts packets twice, a least timeout of 0.2 s, which
ends recoveries where the queue is long, and a measurement of 100 s, fewer than two loss events of large windows. The others,
with loss recovery as in the RFCs, have none of the three, or one of them put back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from validation.generate.case_tables import About, Driver, columns, load
from validation.generate.cases import Calls, Case, Column, Rows, Run, Table
from validation.generate.programs import NS3_TCP, Ns3, flags

TYPES = {
    "bbr": "ns3::TcpBbr",
    "newreno": "ns3::TcpNewReno",
    "linuxreno": "ns3::TcpLinuxReno",
    "cubic": "ns3::TcpCubic",
}
RECOVERIES = {"rfc6937": "Rfc6937Recovery", "prr-ns3": "ns3::TcpPrrRecovery"}
PAIRS = (("bbr", "newreno"), ("bbr", "cubic"), ("cubic", "newreno"))
SEEDS = {10e6: (1, 2), 40e6: (1,)}
"""By the rate of the bottleneck in bit/s."""
TRIPS, BUFFERS = (0.02, 0.08), (0.5, 1.0, 2.0, 5.0)
BITS = 8 * 1500
BEGIN, END = 20.0, 120.0
TABLES = load(__file__)
MATCHED, DEPARTURES = TABLES["matched"], TABLES["departures"]
BESIDE_BBR = {"first": "bbr", "second": "cubic"}
ACCESS = {"access links over the bottleneck's rate": (10.0, "1")}


def paths() -> Iterator[Run]:
    """Yield rates, round trips, buffers (parts of the bandwidth-delay product) and seeds."""
    for rate, seeds in SEEDS.items():
        for rtt in TRIPS:
            for part in BUFFERS:
                buffer = max(4, round(part * rate * rtt / BITS))
                for seed in seeds:
                    yield {"rate": rate, "rtt": rtt, "buffer": buffer, "seed": seed}


def calls(run: Run) -> Calls:
    """Return the options of sharing.cc, or of sharing-recoveries.cc, which takes the least timeout first."""
    options = {
        "first": TYPES[run.get("first", "cubic")],
        "second": TYPES[run["second"]],
        **{name: run[name] for name in ("rate", "rtt", "buffer")},
        "begin": run.get("begin", BEGIN),
        "end": run.get("end", END),
        "seed": run["seed"],
    }
    if "recovery" in run:
        recovery = {"ns3::TcpL4Protocol::RecoveryType": RECOVERIES[run["recovery"]]}
        options = {"leastTimeout": run["least_timeout"], **recovery, **options}
    return [flags(options)]


def names(run: Run) -> tuple[str, str]:
    """Return the names of both flows in the columns."""
    if "recovery" not in run:
        return ("first", "second")
    return ("bbr", "cubic") if run.get("first") == "bbr" else ("cubic", "reno")


def read(run: Run, folder: Path, printed: Sequence[str]) -> dict[str, Rows]:  # noqa: ARG001
    """Make the row of one run."""
    lines = [line.split() for line in printed[0].splitlines()]
    received = [int(words[1]) / 1446 for words in lines if words[0] == "flow"]
    (queue,) = (words[1:] for words in lines if words[0] == "queue")
    seconds = run.get("end", END) - run.get("begin", BEGIN)
    goodputs = {
        f"goodput_{name}": round(packets / seconds, 6) for name, packets in zip(names(run), received, strict=True)
    }
    return {"runs": [{**run, **goodputs, "queue": float(queue[0]), "drops": int(queue[1])}]}


def seconds(run: Run) -> float:
    """Return the simulated time of a run in s."""
    return float(run.get("end", END))


SHARING = Driver(
    *("packets", Ns3("sharing", NS3_TCP), calls, read, seconds),
    {
        "parameters": {
            **ACCESS,
            "beginning of the measurement": (BEGIN, "s"),
            "end": (END, "s"),
        }
    },
    TABLES["texts"],
)
RECOVERED = replace(
    SHARING,
    program=Ns3("sharing-recoveries", NS3_TCP, headers=("sharing.cc",)),
    common={"parameters": ACCESS},
)


def a_case(driver: Driver, about: About, runs: Sequence[Run]) -> Case:
    """Return a case of ``sharing.toml``."""
    known = columns({**TABLES["columns"], **about.get("columns", {})})
    values = {f"goodput_{flow}": Column("packets/s", "of 1446 bytes of data") for flow in about["flows"]}
    index = {name: known[name] for name in about["index"]}
    return driver.case(about, runs, {"runs": Table(index, values | columns(TABLES["values"]))})


PATHS = list(paths())
SOME_PATHS = [path for path in PATHS if path["rate"] == 10e6 and path["seed"] == 1]
CASES = (
    a_case(
        SHARING,
        TABLES["sharing"],
        [{"first": one, "second": two, **path} for one, two in PAIRS for path in PATHS],
    ),
    a_case(RECOVERED, TABLES["rfc6937"], [{**MATCHED, **path} for path in PATHS]),
    a_case(
        RECOVERED,
        TABLES["departing"],
        [{**MATCHED, **departure, **path} for departure in DEPARTURES for path in SOME_PATHS],
    ),
    a_case(
        RECOVERED,
        TABLES["bbr"],
        [
            {**MATCHED, **BESIDE_BBR, **departure, **path}
            for departure in ({}, *DEPARTURES)
            if "second" not in departure
            for path in SOME_PATHS
        ],
    ),
)
