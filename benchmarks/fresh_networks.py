"""``python -m benchmarks.fresh_networks [--networks NAMES]``: the fluid with whole packets beside the packet level.

The 30 networks `validation.random_networks.FRESH`, 16 seeds each, with eight steps in a packet's transmission time;
some four minutes of CPU time. It writes ``results/fresh_networks.md``, tables of the documentation, unless only some
networks run. Every number follows from the seeds.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from hopflow.progress import progress_bar
from validation.network_comparison import Differences, compare
from validation.network_runs import fluid_of_packets
from validation.random_networks import FRESH

RESULT = Path(__file__).parent / "results" / "fresh_networks.md"
MIXED = "mixed rules"


def differences(names: Collection[str] = tuple(FRESH)) -> Differences:
    """Return the differences on some of the fresh networks, or on all."""
    networks = progress_bar([FRESH[name] for name in names], desc="networks")
    return compare(networks, fluid_of_packets)


def summary(found: Differences) -> dict[str, str]:
    """Return what was found: the names of quantities and their values."""
    ratio, inside = found.networks["ratio"], found.inside
    return {
        "networks, goodput shares": f"{len(found.networks)}, {len(found.shares)}",
        "mean error of the shares": f"{found.mean_error:.4f}",
        "mean error that chance makes": f"{found.chance:.4f}",
        "largest error beyond two standard errors": f"{found.beyond:.3f}",
        "packets lost, over the packet level's": f"{ratio.min():.2f} to {ratio.max():.2f}",
        "first loss, earlier or later by at most": f"{100.0 * found.first:.1f} %",
        "standard deviation of runs over the packet level's, median": f"{found.spread:.2f}",
        "95 % intervals of the errors that cover zero": f"{inside.sum()} of {len(inside)}",
    }


def by_kind(found: Differences) -> pd.DataFrame:
    """Return errors of the shares by topology and by rule: columns by, kind, shares, mean, chance, largest, spread."""
    shares = found.shares
    mixed = shares["topology"] == MIXED
    kinds = {"topology": shares["topology"], "rule": shares["rules"].where(~mixed, MIXED)}
    rows = []
    for by, kind in kinds.items():
        for name, own in shares.groupby(kind):
            part = Differences(own, found.networks)
            largest = own["difference"].abs().max()
            values = (len(own), part.mean_error, part.chance, largest, part.spread)
            rows.append((by, name, *values))
    return pd.DataFrame(
        rows, columns=["by", "kind", "shares", "mean", "chance", "largest", "spread"]
    )


def markdown(found: Differences) -> str:
    """Return the tables of the documentation."""
    lines = ["| all networks | |", "|---|--:|"]
    lines += [f"| {name} | {value} |" for name, value in summary(found).items()]
    lines += ["", "| by | | shares | mean error | by chance | largest | spread, median |"]
    lines += ["|---|---|--:|--:|--:|--:|--:|"]
    for row in by_kind(found).itertuples():
        cells = (row.mean, row.chance, row.largest)
        errors = " | ".join(f"{value:.3f}" for value in cells)
        lines.append(f"| {row.by} | {row.kind} | {row.shares} | {errors} | {row.spread:.2f} |")
    return "\n".join(lines) + "\n"


def main(
    networks: Annotated[str, typer.Option(help=f"separated by commas, of {', '.join(FRESH)}")] = "",
) -> None:
    """Compare all fresh networks, or some."""
    names = [name.strip() for name in networks.split(",")] if networks else list(FRESH)
    unknown = [name for name in names if name not in FRESH]
    if unknown:
        raise typer.BadParameter(f"{unknown[0]!r}: must be one of {', '.join(FRESH)}")
    found = differences(names)
    for table in (found.shares, found.networks):
        print(table.round(4).to_string(index=False), end="\n\n")
    print(markdown(found))
    if set(names) == set(FRESH):
        RESULT.write_text(markdown(found), encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
