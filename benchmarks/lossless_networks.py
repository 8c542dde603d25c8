"""``python -m benchmarks.lossless_networks [--count 200] [--seed 1] [--fluid]``: is nothing lost under PFC with its defaults?

Random networks (`validation.networks.lossless_networks`) with no option set, in packets or as fluids. It prints those that lose
packets, stand still or end otherwise, and fails where there are any. It writes ``results/lossless_networks.md`` (``lossless_networks_fluid.md``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated

import typer

from benchmarks.records import RESULTS
from hopflow.progress import progress_bar
from validation.networks.lossless_networks import (
    KINDS,
    Outcome,
    check_lossless,
    draw_lossless_network,
)


def table(found: Sequence[Outcome], seed: int) -> str:
    """Return the counts of networks by kind, and those that do not hold, as Markdown."""
    level = found[0].level
    holds = sum(each.holds for each in found)
    lines = [
        f"{holds} of {len(found)} networks (seed {seed}, {level}) lost nothing and completed.",
        "",
    ]
    lines += ["| kind | networks | hold | packets sent | pauses |", "|:--|--:|--:|--:|--:|"]
    counts = Counter(each.name.split()[0] for each in found)
    for kind in KINDS:
        own = [each for each in found if each.name.startswith(kind)]
        sent, pauses = sum(each.sent for each in own), sum(each.pauses for each in own)
        good = sum(each.holds for each in own)
        lines.append(f"| {kind} | {counts[kind]} | {good} | {sent:,.0f} | {pauses:,} |")
    wrong = [each for each in found if not each.holds]
    if wrong:
        lines += ["", "| network | status | lost | moves |", "|:--|:--|--:|:--|"]
        lines += [f"| {w.name} | {w.status} | {w.lost:g} | {w.moves} |" for w in wrong]
    return "\n".join(lines) + "\n"


def main(
    count: Annotated[int, typer.Option(help="Networks.")] = 200,
    seed: Annotated[int, typer.Option(help="Of the networks.")] = 1,
    fluid: Annotated[bool, typer.Option(help="As fluids, otherwise in packets.")] = False,
) -> None:
    """Run random networks with PFC and no option set."""
    networks = [draw_lossless_network(seed, n, fluid=fluid) for n in range(count)]
    shown = progress_bar(networks, desc="networks")
    found = [check_lossless(network, fluid=fluid) for network in shown]
    text = table(found, seed)
    print(text)
    name = "lossless_networks_fluid.md" if fluid else "lossless_networks.md"
    (RESULTS / name).write_text(text, encoding="utf-8")
    raise typer.Exit(int(not all(each.holds for each in found)))


if __name__ == "__main__":
    typer.run(main)
