"""The ratios of TCP to UDP that the cases of Table 4 leave out, by class of flows (yang2001), by ns-2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from validation.generate.cases import Column, Rows, Run, Table
from validation.generate.yang2001 import priority

RATIOS = (82, 83, 84, 86, 87, 88, 89, 91, 92, 93, 94, 96, 97, 98)
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


CASES = [
    replace(priority.DRIVER, read=read).case(
        {
            "name": "all-ratios",
            "title": "cc/cc, ts/ts, cc/be and ts/be, four disciplines: the 14 ratios that their cases leave out (Table 6)",
            "claims": ("Y13", "Y18"),
            "notes": (
                "With the five ratios of the cases cc-cc-fcfs to ts-be-sfq, seeds 1 and 2, these are the paper's 19.",
            ),
        },
        [
            {
                "environment": environment, "discipline": discipline, "size": priority.MEGABYTE,
                "tcp_flows": ratio, "seed": seed,
            }
            for seed in (1, 2)
            for environment in ENVIRONMENTS
            for discipline in priority.DISCIPLINES
            for ratio in RATIOS
        ],
        {
            "classes": Table(
                {name: (priority.INDEX | priority.WHO)[name] for name in (*RUN, *CLASS)},
                {
                    "mechanism": priority.WHO["mechanism"],
                    "flows": Column("flows", "flows of the class"),
                    "transfer_time": Column("s", "mean over the flows of the class"),
                },
            )
        },
    )
]  # fmt: skip
