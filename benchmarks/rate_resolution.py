"""``python -m benchmarks.rate_resolution``: why the interval of a rate alone has a smallest half width.

One flow alone on a path ends in few states: a flow that leaves slow start a packet earlier gets a little more, in one of
ten runs. Four runs then often agree, and their interval misses the mean. On the paths of ``python -m benchmarks coverage``
with equal flows, unequal round trips and different rules, 200 runs are drawn from with replacement, four at a time as a
call of `compare` takes them. The table has the part of their intervals that contain the mean of all runs, over the paths
of a kind, and on the worst path, for several smallest half widths over the bandwidth. It is written to
``results/rate_resolution.md``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from benchmarks.coverage import KINDS, compare_truth, draw
from dfcmodel.sharing.bottlenecks import bottleneck_of
from dfcmodel.sharing.comparisons import RATE_RESOLUTION, STOPPING_LEVEL
from dfcmodel.sharing.convergence import MIN_SEEDS
from hopflow.intervals import t_quantile
from hopflow.progress import progress_bar

RESULTS = Path(__file__).parent / "results"
SMALLEST = (0.0, 1e-4, 2e-4, 5e-4, RATE_RESOLUTION)
CALLS = 4000


def main(
    paths: Annotated[int, typer.Option(help="Drawn paths, of all kinds.", min=1)] = 60,
    seed: Annotated[int, typer.Option(help="Of the drawn paths.", min=0)] = 88,
    truth: Annotated[int, typer.Option(help="Runs per path.", min=8)] = 200,
) -> None:
    """Measure the coverage of intervals of a rate alone, for several smallest half widths."""
    covered: dict[str, list[list[float]]] = {kind: [] for kind in KINDS[:3]}
    rng = np.random.default_rng([seed, 3])
    settings = [setting for n in range(paths) if (setting := draw(seed, "compare", n)).kind in covered]
    for setting in progress_bar(settings, desc="rates alone", unit="path"):
        path = bottleneck_of(**setting.path())
        runs = compare_truth(setting, "rate", path.duration, truth, seed + 1) / setting.bandwidth
        calls = rng.choice(runs, (CALLS, MIN_SEEDS))
        half = t_quantile(MIN_SEEDS - 1, STOPPING_LEVEL) * calls.std(axis=1, ddof=1) / MIN_SEEDS**0.5
        half = np.maximum(half, 0.5 / (setting.bandwidth * (path.duration - path.warm_up)))  # half a packet
        errors = np.abs(calls.mean(axis=1) - runs.mean())
        covered[setting.kind].append([float(np.mean(errors <= np.maximum(half, least))) for least in SMALLEST])
    text = "\n".join(
        [
            "# Intervals of a rate alone, by their smallest half width",
            "",
            f"`python -m benchmarks.rate_resolution`: {len(settings)} paths, {truth} runs of each.",
            "",
            f"| smallest half width over the bandwidth | {' | '.join(f'{kind} (worst path)' for kind in covered)} |",
            "|---" * (1 + len(covered)) + "|",
            *(
                f"| {least:g} | "
                + " | ".join(
                    f"{np.mean([row[n] for row in rows]):.1%} ({min(row[n] for row in rows):.0%})"
                    for rows in covered.values()
                )
                + " |"
                for n, least in enumerate(SMALLEST)
            ),
            "",
        ]
    )
    (RESULTS / "rate_resolution.md").write_text(text, encoding="utf-8")
    typer.echo(text)


if __name__ == "__main__":
    typer.run(main)
