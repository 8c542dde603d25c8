"""takano2006's Fig. 3 in whole packets, by ns-3: how the packets of one loaded node spread.

``ns3/loaded-node.cc`` closes the nodes of ``ns3/dfc-chain.h`` to a ring, so that nothing flows out.
Other traffic is half of the link rate, or none. With other traffic every run is repeated
without the load, same seed: the difference is due to the load.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from validation.generate.case_tables import Driver, load, tables_of
from validation.generate.cases import Calls, Rows, Run
from validation.generate.programs import Ns3, flags

PROGRAM = Ns3("loaded-node", ("core", "network", "point-to-point"), ("dfc-chain.h",))
SEEDS = (1, 2, 3, 4, 5)
FURTHER_SEEDS, FURTHER_RATE = tuple(range(6, 16)), 37000e6
"""Seeds of the rate that is judged alone, bit/s."""
NODES, PERIODS, EVERY, DELAY = 121, 300, 50, 1e-4
# link rate in bit/s: packets in the loaded node more than in the others, packets in these
LOADS = {12300e6: (400, 60), 37000e6: (1500, 200)}
MODES: dict[str, dict[str, Any]] = {
    "alone": {"feedback": 1, "load": 0.0},
    "fed back": {"feedback": 1, "load": 0.5},
    "prescribed": {"feedback": 0, "load": 0.5},
}


def runs(rates: Iterable[float], seeds: Sequence[int]) -> list[Run]:
    """Return the runs of all modes at link rates in bit/s, with the load and, beside other traffic, without."""
    return [
        {"mode": mode, "link_rate": rate, "hot": hot, "seed": seed}
        for mode in MODES
        for rate in rates
        for hot in ((LOADS[rate][0],) if mode == "alone" else (LOADS[rate][0], 0))
        for seed in seeds
    ]


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


TABLES = load(__file__)
DRIVER = Driver("takano2006", PROGRAM, calls, read, simulated_seconds, {})
COLUMNS = tables_of(TABLES["tables"], {})
FURTHER = {**TABLES, **TABLES["further"], "notes": [*TABLES["notes"], TABLES["further"]["note"]]}
CASES = (
    DRIVER.case(TABLES, runs(LOADS, SEEDS), COLUMNS),
    DRIVER.case(FURTHER, runs((FURTHER_RATE,), FURTHER_SEEDS), COLUMNS),
)
