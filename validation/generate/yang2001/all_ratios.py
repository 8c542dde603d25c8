"""The ratios of TCP to UDP that the cases of Table 4 leave out, by class of flows (yang2001), by ns-2."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from validation.generate.cases import Case, Column, Rows, Run, Table
from validation.generate.yang2001 import priority

SEEDS = (1, 2)
RATIOS = tuple(ratio for ratio in priority.ALL_RATIOS if ratio not in priority.RATIOS)
INDEX = (
    priority.ENVIRONMENT
    | priority.DISCIPLINE
    | priority.TCP_FLOWS
    | priority.SEED
    | {
        "source": priority.WHO["source"],
        "protocol": priority.WHO["protocol"],
        "priority": priority.WHO["priority"],
    }
)
VALUES = {
    "mechanism": priority.WHO["mechanism"],
    "flows": Column("flows", "flows of the class"),
    "transfer_time": Column("s", "mean over the flows of the class"),
}


def read(run: Run, folder: Path, printed: Sequence[str]) -> dict[str, Rows]:
    """Return the mean transfer time of each class of flows of each source."""
    index = {name: run[name] for name in ("environment", "discipline", "tcp_flows", "seed")}
    groups: dict[tuple[Any, ...], list[float]] = {}
    for row in priority.read(run, folder, printed)["flows"]:
        key = tuple(row[name] for name in ("source", "protocol", "priority", "mechanism"))
        groups.setdefault(key, []).append(row["transfer_time"])
    return {
        "classes": [
            index
            | {
                "source": source,
                "protocol": protocol,
                "priority": level,
                "mechanism": mechanism,
                "flows": len(times),
                "transfer_time": round(fmean(times), 4),
            }
            for (source, protocol, level, mechanism), times in groups.items()
        ]
    }


CASES = [
    Case(
        name="yang2001/all-ratios",
        title="cc/cc, ts/ts, cc/be and ts/be, four disciplines: the 14 ratios that their cases leave out (Table 6)",
        claims=("Y13", "Y18"),
        program=priority.PROGRAM,
        parameters=priority.DEFAULTS,
        tables={"classes": Table(INDEX, VALUES)},
        runs=[
            {
                "environment": environment,
                "discipline": discipline,
                "size": priority.MEGABYTE,
                "tcp_flows": ratio,
                "seed": seed,
            }
            for seed in SEEDS
            for environment in ("cc/cc", "ts/ts", "cc/be", "ts/be")
            for discipline in priority.DISCIPLINES
            for ratio in RATIOS
        ],
        calls=priority.calls,
        read=read,
        simulated_seconds=priority.duration,
        notes=(
            "With the five ratios of the cases cc-cc-fcfs to ts-be-sfq, seeds 1 and 2, these are the paper's 19.",
            *priority.NOTES,
        ),
    )
]
