"""takano2006's Fig. 3 in whole packets, by ns-3: how the packets of one loaded node spread.

``ns3/loaded-node.cc`` closes the nodes of ``ns3/dfc-chain.h`` to a ring, so that nothing flows out.
Other traffic is half of the link rate, or none. With other traffic every run is repeated
without the load, same seed: the difference is due to the load.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from validation.generate.cases import Calls, Case, Column, Rows, Run, Table
from validation.generate.programs import Ns3, flags

PROGRAM = Ns3("loaded-node", ("core", "network", "point-to-point"), ("dfc-chain.h",))
SEEDS = (1, 2, 3, 4, 5)
NODES, PERIODS, EVERY, DELAY = 121, 300, 50, 1e-4
# link rate in bit/s: packets in the loaded node more than in the others, packets in these
LOADS = {12300e6: (400, 60), 37000e6: (1500, 200)}
MODES: dict[str, dict[str, Any]] = {
    "alone": {"feedback": 1, "load": 0.0},
    "fed back": {"feedback": 1, "load": 0.5},
    "prescribed": {"feedback": 0, "load": 0.5},
}

RUNS = [
    {"mode": mode, "link_rate": rate, "hot": hot, "seed": seed}
    for mode in MODES
    for rate, (most, _) in LOADS.items()
    for hot in ((most,) if mode == "alone" else (most, 0))
    for seed in SEEDS
]

TABLES = {
    "nodes": Table(
        {
            "mode": Column(
                "",
                "alone: no other traffic, r fed back by eq. (5); fed back: other traffic of half the "
                "link rate; prescribed: the same, and every node is told r = half the link rate",
            ),
            "link_rate": Column("bit/s", "rate of every link"),
            "hot": Column("packets", "packets of the loaded node beyond those of the others"),
            "seed": Column("1", "run number of ns-3's random streams: phases, packets on the way"),
            "time": Column("s", "simulated time"),
            "distance": Column("1", "nodes downstream of the loaded one, negative: upstream"),
        },
        {
            "waiting": Column("packets", "packets that wait in the node"),
            "on_link": Column("packets", "packets in propagation on the link after it"),
        },
    )
}


def calls(run: Run) -> Calls:
    """Return the options of ``loaded-node.cc``."""
    mode = MODES[run["mode"]]
    level = LOADS[run["link_rate"]][1] if mode["load"] else 0
    options = {
        "nodes": NODES,
        "megabits": f"{run['link_rate'] / 1e6:g}",
        "load": mode["load"],
        "level": level,
        "hot": run["hot"],
        "feedback": mode["feedback"],
        "periods": PERIODS,
        "every": EVERY,
        "seed": run["seed"],
    }
    return [flags(options)]


def read(run: Run, folder: Path, printed: Sequence[str]) -> dict[str, Rows]:  # noqa: ARG001
    """Return the rows of one run; the program checks that no packet is lost."""
    labels = {name: run[name] for name in ("mode", "link_rate", "hot", "seed")}
    rows: Rows = []
    for line in printed[0].splitlines():
        _, time, distance, waiting, _, on_link = line.split()
        measured = {"waiting": int(waiting), "on_link": int(on_link)}
        rows.append({**labels, "time": float(time), "distance": int(distance), **measured})
    return {"nodes": rows}


def simulated_seconds(_: Run) -> float:
    """Give the simulated time of a run, in s."""
    return PERIODS * DELAY


CASES = (
    Case(
        name="takano2006/loaded-node",
        title="one loaded node on a ring of nodes with DFC: where its packets go",
        claims=("D03",),
        program=PROGRAM,
        parameters={
            "nodes": (NODES, "1"),
            "link delay": (DELAY, "s"),
            "diffusion": (0.1, "1"),
            "packet": (1500, "bytes"),
            "feedback clocks": ("random", ""),
            "packets in a node that is not loaded": (
                "0 alone; 60 at 12.3 Gb/s, 200 at 37 Gb/s",
                "packets",
            ),
        },
        tables=TABLES,
        runs=RUNS,
        calls=calls,
        read=read,
        simulated_seconds=simulated_seconds,
        notes=(
            (
                "A ring has no outflow. The loaded node is far enough from itself: its packets do not "
                "come round within the run."
            ),
            (
                "Rates cannot be negative. The other traffic, half of the link rate, is more than the "
                "load takes from the rate of the node before it, so that eqs. (1) and (2) agree."
            ),
            (
                "At the start every node was told half of the link rate, or 0, and that the next one is "
                "not loaded; the links carry that rate, their packets at random instants."
            ),
            (
                "The runs with hot = 0 differ in nothing else: what a run with the load has more in a "
                "node is the load's, without the rhythm of whole packets."
            ),
        ),
    ),
)
