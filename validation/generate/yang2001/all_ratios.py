"""The ratios of TCP to UDP that the cases of Table 4 leave out, and seeds at all ratios, by class of flows (yang2001), by ns-2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from validation.generate.cases import Column, Rows, Run, Table
from validation.generate.yang2001 import priority

PAPER_RATIOS = tuple(range(81, 100))
"""TCP flows of a source among its 100, those of the paper."""
RATIOS = (82, 83, 84, 86, 87, 88, 89, 91, 92, 93, 94, 96, 97, 98)
"""Those that the cases of Table 4 leave out where a source is regulated."""
ENVIRONMENTS = ("cc/cc", "ts/ts", "cc/be", "ts/be")
RUN = ("environment", "discipline", "tcp_flows", "seed")
CLASS = ("source", "protocol", "priority")


def read(run: Run, folder: Path, printed: Sequence[str]) -> dict[str, Rows]:
    """Return the mean transfer time of each class of flows of each source."""
    groups: dict[tuple[Any, ...], list[float]] = {}
    for row in priority.read(run, folder, printed)["flows"]:
        key = tuple(row[name] for name in (*CLASS, "mechanism"))
        groups.setdefault(key, []).append(row["transfer_time"])
    rows: Rows = [
        {
            **{name: run[name] for name in RUN},
            **dict(zip((*CLASS, "mechanism"), key, strict=True)),
            "flows": len(times),
            "transfer_time": round(fmean(times), 4),
        }
        for key, times in groups.items()
    ]
    return {"classes": rows}


def _runs(seeds: Sequence[int], environments: Sequence[str], ratios: Sequence[int]) -> list[Run]:
    """Return a run for each seed, environment, discipline and ratio, in this order."""
    return [
        {
            "environment": environment, "discipline": discipline, "size": priority.MEGABYTE,
            "tcp_flows": ratio, "seed": seed,
        }
        for seed in seeds
        for environment in environments
        for discipline in priority.DISCIPLINES
        for ratio in ratios
    ]  # fmt: skip


TABLES = {
    "classes": Table(
        {name: (priority.INDEX | priority.WHO)[name] for name in (*RUN, *CLASS)},
        {
            "mechanism": priority.WHO["mechanism"],
            "flows": Column("flows", "flows of the class"),
            "transfer_time": Column("s", "mean over the flows of the class"),
        },
    )
}
DRIVER = replace(priority.DRIVER, read=read)
CASES = [
    DRIVER.case(
        {
            "name": "all-ratios",
            "title": "cc/cc, ts/ts, cc/be and ts/be, four disciplines: the 14 ratios that their cases leave out (Table 6)",
            "claims": ("Y13", "Y18"),
            "notes": (
                "With the five ratios of the cases cc-cc-fcfs to ts-be-sfq, seeds 1 and 2, these are the paper's 19.",
            ),
        },
        _runs((1, 2), ENVIRONMENTS, RATIOS),
        TABLES,
    ),
    DRIVER.case(
        {
            "name": "all-ratios-seeds",
            "title": "five environments, four disciplines: the 19 ratios, five more seeds (Table 6)",
            "claims": ("Y13", "Y18"),
            "notes": (
                "Seeds 3 to 7; seeds 1 and 2 are the case all-ratios.",
                "Seeds 3 to 5 have the 14 ratios of that case: the others, and be/be, are in the cases cc-cc-fcfs to be-be-sfq.",
                "The number of seeds was fixed before they were run: seeds that all agree decide at one per cent from seven on.",
                "Before that 20 bundled runs, one of each environment and discipline, were repeated: all digits came out the same.",
            ),
        },
        [
            *_runs((3, 4, 5), ENVIRONMENTS, RATIOS),
            *_runs((6, 7), (*ENVIRONMENTS, "be/be"), PAPER_RATIOS),
        ],
        TABLES,
    ),
]
