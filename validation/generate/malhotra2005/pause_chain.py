"""malhotra2005, Sect. III, in ns-3: the pause tandem with Poisson arrivals, packets counted.

``ns3/pause-chain.cc`` is the tandem on ns-3's event queue and random numbers: exponential or fixed
packet sizes, both readings of rules 6 and 13, and a pause that slows queue 1 down at once, as the
chain has it, or that needs time and lets a packet finish. A run is one seed of a case; every
parameter set has its own random streams, cut into equal batches after a warm-up; the half-widths
are those of Student's t on the batch means of one seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hopflow.intervals import half_width
from validation.generate.case_tables import About, Driver, columns, crossed, load
from validation.generate.cases import Calls, Case, Column, Rows, Run, Table
from validation.generate.programs import Ns3

PROGRAM = Ns3("pause-chain", ("core",))
SEEDS = 10
"""Of a case, unless it has others."""
BATCHES = 10
"""Of one seed."""
TABLES = load(__file__)
DEFAULTS: Mapping[str, Any] = {
    "paused_rate": 2.0,
    "signal_delay": 0.0,
    "service": "exponential",
    "recovery": "always",
    "pause_at_threshold": "exclusive",
}


def table() -> Table:
    """Return the table of all cases: measures with their half-widths, counts."""
    values = columns(TABLES["settings"])
    for name, (_, unit, meaning) in TABLES["measures"].items():
        interval = f"half width of the 95 % interval of {name}, batch means of the seed"
        values |= {name: Column(unit, meaning), f"{name}_half_width": Column(unit, interval)}
    whole = "whole run, warm-up included, from an empty network"
    for name, (_, meaning) in TABLES["counts"].items():
        values[name] = Column("packets", f"{meaning}; {whole}")
    for queue in (1, 2):
        values[f"left_{queue}"] = Column("packets", f"packets in queue {queue} at the end")
    return Table(columns(TABLES["index"]), values)


def _warmup(point: Mapping[str, Any]) -> float:
    return 500.0 + 20.0 * float(point["rtt"])


def calls(run: Run) -> Calls:
    """Return the options of ``pause-chain.cc`` for every parameter set."""
    return [_words(point, run["seed"]) for point in run["points"]]


def _words(point: Mapping[str, Any], seed: int) -> list[str]:
    paused = float(point["paused_rate"])
    return [
        f"--rates={','.join(f'{rate:g}' for rate in point['rates'])}",
        f"--rtt={point['rtt']:g}",
        f"--high={point['high']}",
        f"--low={point['low']}",
        f"--paused-rate={paused:g}" if paused > 0 else "--pause=stop",
        f"--signal-delay={point['signal_delay']:g}",
        f"--service={point['service']}",
        f"--recovery={point['recovery']}",
        f"--at-threshold={point['pause_at_threshold']}",
        f"--warmup={_warmup(point):g}",
        f"--batch={point['seconds'] / BATCHES:g}",
        f"--batches={BATCHES}",
        f"--family={point['family']}",
        f"--seed={seed}",
    ]


def simulated_seconds(run: Run) -> float:
    """Add up warm-ups and measured times of the calls of one seed."""
    return sum(float(point["seconds"]) + _warmup(point) for point in run["points"])


def read(run: Run, folder: Path, printed: Sequence[str]) -> dict[str, Rows]:  # noqa: ARG001
    """Return a row for each parameter set of a seed."""
    points = zip(run["points"], printed, strict=True)
    return {"measures": [_row(point, run["seed"], text) for point, text in points]}


def _row(point: Mapping[str, Any], seed: int, printed: str) -> dict[str, Any]:
    lines = np.array([line.split() for line in printed.splitlines()], dtype=np.float64)
    if lines.shape != (BATCHES + 1, 14):
        msg = f"pause-chain printed a table of shape {lines.shape}"
        raise RuntimeError(msg)
    row: dict[str, Any] = {
        "arrival_rates": " ".join(f"{rate:g}" for rate in point["rates"]),
        "high_threshold": point["high"],
        "low_threshold": point["low"],
        "seed": seed,
        "levels": len(point["rates"]),
        "measured_time": point["seconds"],
    }
    row |= {key: point[key] for key in ("paused_rate", "signal_delay", "rtt")}
    row |= {key: point[key] for key in ("service", "recovery", "pause_at_threshold")}
    for name, (column, _, _) in TABLES["measures"].items():
        means = lines[1:, column] / (point["seconds"] / BATCHES)
        row[name] = float(means.mean())
        row[f"{name}_half_width"] = float(half_width(means))
    total = lines.sum(axis=0)
    row |= {name: int(total[column]) for name, (column, _) in TABLES["counts"].items()}
    row["left_1"], row["left_2"] = int(lines[-1, 12]), int(lines[-1, 13])
    return row


DRIVER = Driver("malhotra2005", PROGRAM, calls, read, simulated_seconds, TABLES)


def a_case(about: About) -> Case:
    """Return a case of ``pause_chain.toml``: its parameter sets are numbered, so that each has its own random streams."""
    spans = {float(rtt): span / SEEDS for rtt, span in TABLES["seconds"][about["seconds"]].items()}
    points = [
        {**DEFAULTS, "low": chosen["high"], **chosen, "seconds": spans[chosen["rtt"]]}
        for chosen in crossed(about["runs"])
    ]
    points = [{**point, "family": 1000 * about["family"] + k} for k, point in enumerate(points)]
    times = {point["rtt"]: point["seconds"] for point in points}
    measured = ", ".join(f"{span:g} per seed at RTT {rtt:g} s" for rtt, span in times.items())
    parameters = {"measured_time": (measured, "s")}
    first, last = about.get("seeds", (1, SEEDS))
    return DRIVER.case(
        {**about, "parameters": parameters},
        [{"seed": seed, "points": points} for seed in range(first, last + 1)],
        {"measures": table()},
    )


CASES = tuple(a_case(about) for about in TABLES["cases"])
