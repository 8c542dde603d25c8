"""The seeds of claims at hopflow's packet level (`validation.further_seeds`), and how many there are.

`PLAN` was written before any of these runs: its numbers follow from the means and deviations of the first seeds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from validation.further_seeds import CASE, named
from validation.generate.cases import Case, Run
from validation.generate.packets.seed_tables import RUNS, calls, read
from validation.generate.programs import Module

__all__ = ["CASES", "PLAN", "runs"]

NEEDED: Mapping[str, int] = {
    "Q02": 205, "Q04": 43, "Q05": 26, "E01": 48, "E03": 492, "E04": 13, "E07": 18, "H04": 5, "I01": 17,
    "I02": 66, "I03": 10, "I04": 13, "I05": 26, "G05": 34, "B01": 17, "B03": 11, "B04": 6,
}  # fmt: skip
"""Seeds that decide all open statements of a claim with a probability of 90 %, if means and deviations are those seen."""
FEWEST, MOST = 32, 500
"""Seeds of a claim: twice those of `NEEDED`, within these limits."""
SHORT, LONG = 4e-6, 85e-6
"""Round-trip times of zhu2016, s."""
IRN, ROCE, IRN_PFC = (False, True, True), (True, False, False), (True, True, True)
LOSSY_ROCE, UNBOUNDED = (False, False, False), (False, True, False)
"""Transports of mittal2018: pauses, selective repair, a bound on packets in flight."""
PLAN: Sequence[tuple[tuple[str, ...], str, Sequence[tuple[Any, ...]]]] = (
    (("Q02",), "zhu2015.sharing.lot_rates_of_dcqcn", [()]),
    (("Q04",), "zhu2015.sharing.victim_rates", [()]),
    (("Q04",), "zhu2015.sharing.victim_rates_of_dcqcn", [()]),
    (("Q05",), "zhu2015.incast.queues", [(n, g) for n in (2, 16) for g in (1 / 256, 1 / 16)]),
    (
        ("E01", "E03", "E04", "E07"),
        "zhu2016.dcqcn.seen",
        [(n, SHORT, "departure") for n in (2, 10)],
    ),
    (("E03",), "zhu2016.dcqcn.seen", [(n, SHORT, "departure") for n in (4, 8)]),
    (("E04",), "zhu2016.dcqcn.seen", [(n, LONG, "departure") for n in (2, 10, 64)]),
    (("E07",), "zhu2016.dcqcn.seen", [(10, SHORT, "arrival")]),
    (("H04",), "li2019.telemetry.shares", [()]),
    (("G05",), "guo2016.operation.incast_and_short", [(20.0,), (80.0,)]),
    (("I01", "I02", "I04"), "mittal2018.fat_tree.random_runs", [(IRN,)]),
    (("I02",), "mittal2018.fat_tree.random_runs", [(IRN_PFC,)]),
    (("I01", "I03"), "mittal2018.fat_tree.random_runs", [(ROCE,)]),
    (("I03", "I04"), "mittal2018.fat_tree.random_runs", [(LOSSY_ROCE,)]),
    (("I04",), "mittal2018.fat_tree.random_runs", [(UNBOUNDED,)]),
    (("I05",), "mittal2018.fat_tree.request_times", [(IRN,), (ROCE,)]),
    (("B03", "B04"), "goyal2022.beside.measured", [("BFC",), ("DCQCN and PFC",), ("HPCC",)]),
    (("B01",), "goyal2022.flows.active", [(0.5, 10.0), (0.7, 10.0), (0.7, 100.0)]),
)
"""Claims, the function that their runs are of, and its arguments."""


def runs() -> Iterator[Run]:
    """Yield a run for each function and arguments: all seeds, in one process."""
    for claims, function, settings in PLAN:
        seeds = max(min(max(2 * NEEDED[claim], FEWEST), MOST) for claim in claims)
        first = named(function).seeds[0]
        for arguments in settings:
            about = {"function": function, "arguments": repr(arguments)}
            yield {**about, "first": first, "last": first + seeds - 1}


def simulated_seconds(run: Run) -> float:  # noqa: ARG001
    """Return nothing: the functions know how long their runs are."""
    return 0.0


CASES = (
    Case(
        name=CASE,
        title="claims at hopflow's packet level: what functions of their modules measure, over seeds",
        claims=tuple(NEEDED),
        program=Module("validation.further_seeds"),
        parameters={
            "fewest seeds of a claim on fabrics": (FEWEST, "1"),
            "most": (MOST, "1"),
        },
        tables={"runs": RUNS},
        runs=list(runs()),
        calls=calls,
        read=read,
        simulated_seconds=simulated_seconds,
        notes=(
            (
                "The number of seeds was fixed before they were run: for claims on fabrics twice as many as decide all open "
                "statements with a probability of 90 % at the means and deviations of the seeds that were run until then."
            ),
            "The first seed of each function is run again when a claim is checked, and compared.",
        ),
    ),
)
