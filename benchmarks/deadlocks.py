"""``python -m benchmarks.deadlocks [--count 200] [--seed 1]``: do the fluid and the packet level agree on deadlocks?

Random rings and fabrics with pauses (`validation.networks.pause_networks`), each at both levels. Where they end differently both run
again with shifted starts: a network whose outcome depends on them is at its critical load, where single packets decide.
It writes ``results/deadlocks.md``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Annotated

import typer

from benchmarks.records import RESULTS
from hopflow.progress import progress_bar
from validation.networks.pause_networks import (
    PHASES,
    Verdicts,
    compare_verdicts,
    draw_pause_network,
)


def table(found: Sequence[Verdicts], seeds: Iterable[int]) -> str:
    """Return the counts of statuses, and the networks in which they differ, as Markdown."""
    alike = sum(each.agree for each in found)
    lines = [
        f"{alike} of {len(found)} networks (seeds {', '.join(map(str, seeds))}) ended alike.",
        "",
    ]
    lines += ["| fluid | packets | networks |", "|:--|:--|--:|"]
    counts = Counter((each.fluid, each.packets) for each in found)
    lines += [f"| {fluid} | {packets} | {count} |" for (fluid, packets), count in sorted(counts.items())]
    lines += ["", f"| network | fluid | packets | deadlocked of {PHASES} phases: fluid | packets |"]
    lines += ["|:--|:--|:--|--:|--:|"]
    for each in found:
        if each.phases is not None:
            fluid, packets = each.phases
            lines.append(f"| {each.name} | {each.fluid} | {each.packets} | {fluid} | {packets} |")
    return "\n".join(lines) + "\n"


def main(
    count: Annotated[int, typer.Option(help="Networks of each seed.")] = 200,
    seed: Annotated[list[int] | None, typer.Option(help="Of the networks.")] = None,
) -> None:
    """Compare the statuses of both levels on random networks with pauses."""
    seeds = seed or [1, 2]
    networks = [draw_pause_network(each, n) for each in seeds for n in range(count)]
    found = [compare_verdicts(network) for network in progress_bar(networks, desc="networks")]
    text = table(found, seeds)
    print(text)
    (RESULTS / "deadlocks.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
