"""zheng2002's figures with quoted numbers, at every combination of what the paper leaves open, by ns-2."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from validation.generate.cases import Case, Column, Rows, Run, Table
from validation.generate.zheng2002 import dumbbell
from validation.generate.zheng2002.dumbbell import AB, FLOW_VALUES, LINK_VALUES, PARAMETERS, SEED
from validation.generate.zheng2002.dumbbell_cases import PAIRS, TCP, TFRC, together
from validation.inference.designs import ZHENG2002
from validation.inference.parameters import Choice, Value

WINDOWS = (60, 90, 120, 150)
"""Of the single flow of Fig. 3, packets."""
NUMBERS = (10, 20, 30, 50, 70)
"""Flows of Fig. 4."""
EACH = 8
FACTORS = {
    "experiment": Column("", "one flow (Fig. 3), TCP flows (Fig. 4), or a pair of kinds, 8 flows of each"),
    "number": Column("1", "flows of each kind"),
    **{each.name: Column(each.unit, each.meaning) for each in ZHENG2002},
}  # fmt: skip
ALTERNATIVES = {each.name: each.alternatives for each in ZHENG2002 if isinstance(each, Choice)}


def spec(kind: str, number: int, decrease: str) -> str:
    """Return the flows of one kind in the notation of ``dumbbell.tcl``."""
    if kind == TFRC:
        return dumbbell.spec(kind, number, "1-b")
    a, b = AB[kind]
    if decrease == "exchanged" and kind != TCP:
        a, b = b, a
    return f"sack/{a!r}/{(b if decrease == 'b' else 1 - b)!r}/{number}"


def run_of(
    experiment: str, kinds: Sequence[str], number: int, setting: dict[str, Value], window: Value
) -> Run:
    """Return a run; RED's upper threshold is three times, its buffer six times the lower one."""
    low = int(setting["low"])
    changed = {name: setting[name] for name in ("size", "low", "rto")}
    options = {**dumbbell.DEFAULTS, **changed, "window": window, "high": 3 * low, "buffer": 6 * low}
    options["kinds"] = ",".join(spec(kind, number, str(setting["decrease"])) for kind in kinds)
    return {
        "factors": {"experiment": experiment, "number": number} | setting | {"window": window},
        "labels": list(kinds), "options": options | {"seed": 1}, "seed": 1, "series": False,
    }  # fmt: skip


def runs() -> Iterator[Run]:
    """Yield the runs; what a setting of an experiment does not depend on has its first alternative."""
    first: Value = ALTERNATIVES["decrease"][0]
    for size, low, rto in itertools.product(*(ALTERNATIVES[n] for n in ("size", "low", "rto"))):
        link: dict[str, Value] = {"decrease": first, "size": size, "low": low, "rto": rto}
        for largest in WINDOWS:
            yield run_of("one flow", (TCP,), 1, link, largest)
        for window in ALTERNATIVES["window"]:
            for number in NUMBERS:
                yield run_of("TCP flows", (TCP,), number, link, window)
            for pair in PAIRS:
                free = ALTERNATIVES["decrease"] if pair[0] in AB else (first,)
                for decrease in free:
                    setting = link | {"decrease": decrease}
                    yield run_of(together(pair), pair, EACH, setting, window)


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
        parameters=PARAMETERS
        | {each.name: (each.span, f"{each.unit} ({each.meaning})".strip()) for each in ZHENG2002},
        tables={
            "kinds": Table(
                {**FACTORS, **SEED, "kind": dumbbell.KIND},
                {
                    "rate": Column("packets/s", "mean of the flows' departures / length of the measurement"),
                    "rate_cov": Column("1", f"mean over the flows: {FLOW_VALUES['rate_cov'].meaning}"),
                    "apart": Column("1", "standard deviation of the flows' rates over their mean; empty for one flow"),
                },
            ),
            "link": Table({**FACTORS, **SEED}, {n: LINK_VALUES[n] for n in ("utilisation", "loss")}),
        },
        runs=list(runs()),
        calls=dumbbell.calls,
        read=read,
        simulated_seconds=dumbbell.simulated,
        notes=(
            "The design is the full product of the alternatives.",
            "Runs that do not depend on a parameter are made once, with its first alternative.",
            *dumbbell.NOTES[3:],
        ),
    ),
)  # fmt: skip
