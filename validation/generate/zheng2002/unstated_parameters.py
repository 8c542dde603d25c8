"""zheng2002's figures with quoted numbers, at every combination of what the paper leaves open, by ns-2."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from validation.generate.cases import Case, Column, Rows, Run, Table
from validation.generate.settings import setting_columns, setting_parameters
from validation.generate.zheng2002 import dumbbell
from validation.generate.zheng2002.dumbbell import COLUMNS, EXCHANGED, TABLES
from validation.generate.zheng2002.dumbbell_cases import EACH
from validation.inference.designs import ZHENG2002
from validation.inference.parameters import Choice, Value

WINDOWS = (60, 90, 120, 150)
"""Of the single flow of Fig. 3, packets."""
NUMBERS = (10, 20, 30, 50, 70)
"""Flows of Fig. 4."""
TCP = "TCP(1,1/2)"
PAIRS = (
    *("TCP(1/5,1/8) with TCP(1,1/2)", "TCP(3/7,1/4) with TCP(1,1/2)", "TCP(1/5,1/8) with TFRC"),
    *("TCP(3/7,1/4) with TFRC", "TFRC with TCP(1,1/2)"),
)
INDEX = {
    "experiment": Column("", "one flow (Fig. 3), TCP flows (Fig. 4), or a pair of kinds, 8 flows of each"),
    "number": Column("1", "flows of each kind"),
    **setting_columns(ZHENG2002),
    "seed": COLUMNS["seed"],
}  # fmt: skip
ALTERNATIVES = {each.name: each.alternatives for each in ZHENG2002 if isinstance(each, Choice)}


def a_run(experiment: str, number: int, setting: dict[str, Value], window: Value) -> Run:
    """Return a run; RED's upper threshold is three times, its buffer six times the lower one."""
    kinds = experiment.split(" with ") if " with " in experiment else [TCP]
    low = int(setting["low"])
    changed = {name: setting[name] for name in ("size", "low", "rto")}
    return dumbbell.make(
        {"experiment": experiment, "number": number, **setting, "window": window},
        [(kind, number) for kind in kinds],
        seed=1,
        reading={"exchanged": EXCHANGED}.get(str(setting["decrease"]), str(setting["decrease"])),
        options={**changed, "window": window, "high": 3 * low, "buffer": 6 * low},
    )


def runs() -> Iterator[Run]:
    """Yield the runs; what a setting of an experiment does not depend on has its first alternative."""
    first: Value = ALTERNATIVES["decrease"][0]
    for size, low, rto in itertools.product(*(ALTERNATIVES[n] for n in ("size", "low", "rto"))):
        link: dict[str, Value] = {"decrease": first, "size": size, "low": low, "rto": rto}
        for largest in WINDOWS:
            yield a_run("one flow", 1, link, largest)
        for window in ALTERNATIVES["window"]:
            for number in NUMBERS:
                yield a_run("TCP flows", number, link, window)
            for pair in PAIRS:
                free = (first,) if pair.startswith("TFRC") else ALTERNATIVES["decrease"]
                for decrease in free:
                    yield a_run(pair, EACH, link | {"decrease": decrease}, window)


def read(run: Run, folder: Path, printed: Sequence[str]) -> dict[str, Rows]:
    """Return the link and the means of the kinds of flows of one run."""
    found = dumbbell.read(run, folder, printed)
    key = {**run["factors"], "seed": run["seed"]}
    flows: Rows = []
    for kind, group in pd.DataFrame(found["flows"]).groupby("kind", sort=False):
        apart = float(group["rate"].std(ddof=1) / group["rate"].mean()) if len(group) > 1 else None
        rates = {name: round(float(group[name].mean()), 6) for name in ("rate", "rate_cov")}
        flows.append(key | {"kind": kind} | rates | {"apart": apart})
    (link,) = found["link"]
    return {"kinds": flows, "link": [key | {n: link[n] for n in ("utilisation", "loss")}]}


CASES = (
    Case(
        name="zheng2002/unstated-parameters",
        title="the figures with quoted numbers, at each of 162 settings of what the paper leaves open",
        claims=("Z03", "Z04", "Z06", "Z07", "Z08", "Z09", "Z10"),
        program=dumbbell.PROGRAM,
        parameters={name: (value, unit) for name, (value, unit) in TABLES["parameters"].items()}
        | setting_parameters(ZHENG2002),
        tables={
            "kinds": Table(
                {**INDEX, "kind": COLUMNS["kind"]},
                {
                    "rate": Column("packets/s", "mean of the flows' departures / length of the measurement"),
                    "rate_cov": Column("1", f"mean over the flows: {TABLES['flows']['rate_cov'][1]}"),
                    "apart": Column("1", "standard deviation of the flows' rates over their mean; empty for one flow"),
                },
            ),
            "link": Table(INDEX, {n: Column(*TABLES["link"][n]) for n in ("utilisation", "loss")}),
        },
        runs=list(runs()),
        calls=dumbbell.calls,
        read=read,
        simulated_seconds=dumbbell.simulated,
        notes=(
            "The design is the full product of the alternatives.",
            "Runs that do not depend on a parameter are made once, with its first alternative.",
            *TABLES["notes"][3:],
        ),
    ),
)  # fmt: skip
