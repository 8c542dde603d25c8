"""Whether the queue disciplines of Linux 6.12 do what their RFCs and papers say (S17 to S21), from runs of the kernel in virtual time.

Only the runs over drawn paths are judged (`queue_measures.PATHS`). They are deterministic: an estimate has no error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from validation.claims.effect_claims import effects
from validation.claims.effect_statements import Curve, Effects, Estimates, Statement
from validation.networks.queue_measures import (
    PACKET,
    PATHS,
    PREFIX,
    SINCE,
    QueueMeasures,
    measures_of_linux,
    path_of,
    rows_of,
    thresholds,
)
from validation.statistics import Estimate

if TYPE_CHECKING:
    import pandas as pd

DRAWN = tuple(path for path in PATHS if path.startswith("drawn"))
TARGET, PIE_TARGET, HIGH = 5.0, 15.0, 15.0
"""ms: CoDel's and PIE's targets, and RED's upper threshold."""
RED_WEIGHT = 2.0**-9
AXES = ("run", "ms")
WITH_PFIFO = (f"{PREFIX}codel", f"{PREFIX}pfifo")


def runs_of(discipline: str, *flows: str) -> dict[str, QueueMeasures]:
    """Return the measures of the runs of sets of flows on the drawn paths."""
    names = [f"{each}-{path}" for each in flows for path in DRAWN]
    return {name: measures_of_linux(discipline, name) for name in names}


def exact(values: Iterable[float]) -> Estimates:
    """Return values of deterministic runs as estimates."""
    return tuple(Estimate(float(value), 0.0) for value in values)


def curve(values: Mapping[str, float]) -> Curve:
    """Return values by run as a curve."""
    return Curve(tuple(values), list(exact(values.values())))


def transmission(run: str) -> float:
    """Return the time that a packet takes on the link of a run, ms."""
    rate, _ = path_of(run)
    return 8e3 * PACKET / rate


@effects(
    "S17",
    cases=WITH_PFIFO,
    also={"above": 0.2, "part": 1 / 3, "least_used": 0.95},
)
def codel_of_linux() -> Effects:
    """Judge CoDel against RFC 8289."""
    few, many = runs_of("codel", "one", "mixed"), runs_of("codel", "seven")
    full = runs_of("pfifo", "one", "mixed", "seven")
    both = few | many

    def standing(runs: Mapping[str, QueueMeasures]) -> Statement:
        return Statement(lambda given: exact((1.0 + given["above"]) * TARGET - run.standing for run in runs.values()))

    return Effects(
        {
            "few": standing(few),
            "many": standing(many),
            "less": Statement(
                lambda given: exact(given["part"] * full[name].delay - run.delay for name, run in both.items())
            ),
            "used": Statement(
                lambda given: exact(
                    run.used - given["least_used"] for name, run in both.items() if not name.startswith("one")
                )
            ),
        },
        {
            "standing queue": curve({name: run.standing for name, run in both.items()}),
            "mean delay": curve({name: run.delay for name, run in both.items()}),
            "mean delay with drop-tail": curve({name: full[name].delay for name in both}),
        },
        AXES,
        values={"used": {name: run.used for name, run in both.items()}},
    )


@effects(
    "S18",
    cases=(f"{PREFIX}fq-codel", f"{PREFIX}codel"),
    also={"least_even": 0.9, "uneven": 0.75, "transmissions": 3.0},
)
def fq_codel_of_linux() -> Effects:
    """Judge FQ-CoDel against RFC 8290."""
    runs = runs_of("fq-codel", "one", "mixed", "seven")
    several = {name: run for name, run in runs.items() if not name.startswith("one")}
    one_queue = runs_of("codel", "mixed")
    return Effects(
        {
            "even": Statement(lambda given: exact(run.evenness - given["least_even"] for run in several.values())),
            "contrast": Statement(
                lambda given: exact(given["uneven"] - run.rates[2] / run.rates[0] for run in one_queue.values())
            ),
            "sparse": Statement(exact(TARGET - run.sparse for run in runs.values())),
            "first": Statement(
                lambda given: exact(
                    given["transmissions"] * transmission(name) - run.sparse for name, run in runs.items()
                )
            ),
        },
        {
            "delay of 99 % of the sparse flow's packets": curve({name: run.sparse for name, run in runs.items()}),
            "transmission of a packet": curve({name: transmission(name) for name in runs}),
        },
        AXES,
        values={"evenness": {name: run.evenness for name, run in several.items()}},
    )


@effects(
    "S19",
    cases=(f"{PREFIX}pie",),
    also={"near": 0.2, "least_used": 0.95},
)
def pie_of_linux() -> Effects:
    """Judge PIE against RFC 8033."""
    one, several = runs_of("pie", "one"), runs_of("pie", "mixed", "seven")

    def near(runs: Mapping[str, QueueMeasures]) -> Statement:
        return Statement(
            lambda given: exact(given["near"] - abs(run.delay / PIE_TARGET - 1.0) for run in runs.values())
        )

    return Effects(
        {
            "several": near(several),
            "one": near(one),
            "used": Statement(lambda given: exact(run.used - given["least_used"] for run in several.values())),
        },
        {"mean delay": curve({name: run.delay for name, run in (one | several).items()})},
        AXES,
        values={"target": PIE_TARGET, "used": {name: run.used for name, run in several.items()}},
    )


def greatest_average(run: str) -> float:
    """Return the greatest average of the queue of a run with RED before `SINCE`, ms, from samples of its backlog."""
    samples = rows_of("red", "queues", run)
    early = samples[samples["time"] <= SINCE]
    rate, _ = path_of(run)
    average, greatest = 0.0, 0.0
    for backlog, left in zip(early["backlog"], early["left"], strict=True):
        average += (1.0 - (1.0 - RED_WEIGHT) ** left) * (backlog - average)
        greatest = max(greatest, average)
    return 8e3 * greatest / rate


SYN_DROPS = 1.0
"""Drops of a flow with ECN that are left out: that of its SYN, which cannot be marked."""


def with_ecn(run: str) -> pd.DataFrame:
    """Return the flows of a run with RED that have marks; the others send without ECN since their SYN was dropped."""
    flows = rows_of("red", "runs", run)
    return flows[flows["marks"] > 0]


@effects("S20", cases=(f"{PREFIX}red",))
def red_of_linux() -> Effects:
    """Judge RED with ECN against RFC 3168 and Floyd and Jacobson 1993."""
    runs = runs_of("red", "one", "mixed", "seven")
    averages = {name: greatest_average(name) for name in runs}
    above = [name for name, average in averages.items() if average > HIGH]
    early = {name: float(rows_of("red", "runs", name)["queue_drops"].sum()) for name in above}
    return Effects(
        {
            "ect": Statement(
                exact(SYN_DROPS + 0.5 - drops for name in runs for drops in with_ecn(name)["queue_drops"])
            ),
            "marks": Statement(exact(value for run in runs.values() for value in (0.5 - run.drops, run.marks - 0.5))),
            "low": Statement(exact(HIGH - run.delay for run in runs.values())),
            "upper": Statement(exact(drops - 0.5 for drops in early.values())),
        },
        {
            "mean delay": curve({name: run.delay for name, run in runs.items()}),
            "greatest average": curve(averages),
        },
        AXES,
        values={
            "above": above,
            "without": [7 - len(with_ecn(name)) for name in runs if name.startswith("seven")],
        },
    )


@effects("S21", cases=(f"{PREFIX}step",), also={"least_used": 0.99, "beyond": 0.1})
def dctcp_of_linux() -> Effects:
    """Judge DCTCP and a step of marks against RFC 8257 and Alizadeh et al. 2010."""
    runs = runs_of("step", "one", "four")
    most, wanted = dict[str, float](), dict[str, float]()
    for name in runs:
        flows = rows_of("step", "runs", name)
        most[name] = float(flows["percentile_99"].max()) / 1e6 / transmission(name)
        wanted[name] = float(thresholds(*path_of(name))["step"] + len(flows))
    return Effects(
        {
            "full": Statement(lambda given: exact(run.used - given["least_used"] for run in runs.values())),
            "peak": Statement(
                lambda given: exact((1.0 + given["beyond"]) * wanted[name] - most[name] for name in runs)
            ),
            "lossless": Statement(exact(0.5 - run.drops for run in runs.values())),
        },
        {"queue that 99 % of packets do not exceed": curve(most), "K + N": curve(wanted)},
        ("run", "packets"),
        values={"used": {name: run.used for name, run in runs.items()}},
    )
