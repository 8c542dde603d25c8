"""``python -m benchmarks.ns2_agreement``: the packet level beside the bundled runs of ns-2.

It exits with 1 when a run differs. It writes ``results/ns2_agreement.md``, three tables of the documentation: runs that are equal packet for packet, random
networks that are, and dumbbells under RED, whose random drops leave distributions to compare. ns-2 itself is not needed; every number follows
from the seeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import typer
from tqdm import tqdm

from validation.claims.zheng2002.level import Dumbbell, runs
from validation.evidence import table
from validation.generate.packets.red_dumbbells import FLOWS, SEEDS
from validation.networks.random_packet_networks import TOPOLOGIES
from validation.networks.recomputing import CASES, RANDOM, Recomputed, Run, compare
from validation.networks.recomputing import runs as bundled_runs
from validation.statistics import Estimate, of_runs, ratio

RESULT = Path(__file__).parent / "results" / "ns2_agreement.md"
SENDERS = {"tahoe": "Tahoe", "reno": "Reno", "newreno": "NewReno", "sack": "SACK"}
SIZES = {"dumbbell": "flows", "parking lot": "long flows", "takano2006": "scenario"}
RED_CASE = "packets/red-dumbbells-ns2"
LIMITS = {"throughput": 0.03, "loss": 0.1}
"""Largest departures of the means from ns-2's, relative (the aim that was set)."""


def equal_runs(found: list[Recomputed]) -> list[str]:
    """Return the rows of runs that are equal, of how many, by network and sender."""
    rows = []
    for each in found:
        topology, delayed = CASES[each.run.case]
        size = f"{topology}, {SIZES[topology]} {each.run.size}" + (", delayed ACKs" if delayed else "")
        rows.append((size, each.run.recovery, not each.differences, each.packets))
    frame = pd.DataFrame(rows, columns=["network", "recovery", "equal", "packets"])
    lines = [
        f"| network | {' | '.join(SENDERS.values())} | packets |",
        f"|---|{'--:|' * (len(SENDERS) + 1)}",
    ]
    for network, group in frame.groupby("network", sort=False):
        by = group.groupby("recovery")["equal"]
        equal, count = by.sum().to_dict(), by.size().to_dict()
        cells = [f"{equal.get(name, 0)} of {count.get(name, 0)}" for name in SENDERS]
        lines.append(f"| {network} | {' | '.join(cells)} | {group['packets'].sum():,} |")
    return lines


def random_rows(found: list[Recomputed]) -> list[str]:
    """Return the rows of random networks that are equal, of how many, by topology."""
    lines = ["| random networks | equal | packets |", "|---|--:|--:|"]
    for k, topology in enumerate(TOPOLOGIES):
        of = [each for each in found if each.run.seed % len(TOPOLOGIES) == k]
        lines.append(f"| {topology} | {_equal(of)} | {sum(each.packets for each in of):,} |")
    lines.append(f"| all | {_equal(found)} | {sum(each.packets for each in found):,} |")
    return lines


def _equal(found: list[Recomputed]) -> str:
    return f"{sum(not each.differences for each in found)} of {len(found)}"


def red_rows() -> list[str]:
    """Return the rows of dumbbells under RED: utilisation and loss of both, ratios with 95 % intervals."""
    lines = [
        "| flows under RED | throughput | ns-2 | ratio | loss | ns-2 | ratio | aim |",
        "|--:|--:|--:|--:|--:|--:|--:|---|",
    ]
    bundled = table(RED_CASE, "link")
    for number in FLOWS:
        theirs = bundled[bundled["number"] == number]
        ours = runs(Dumbbell(("TCP(1,1/2)",) * number), len(SEEDS)).link
        cells, held = [], True
        for column, limit in (("utilisation", "throughput"), ("loss", "loss")):
            over = ratio(of_runs(ours[column].to_numpy()), of_runs(theirs[column].to_numpy()))
            held &= abs(over.value - 1.0) <= LIMITS[limit]
            cells += [f"{ours[column].mean():.4g}", f"{theirs[column].mean():.4g}", _shown(over)]
        lines.append(f"| {number} | {' | '.join(cells)} | {'holds' if held else 'missed'} |")
        tqdm.write(lines[-1])
    return lines


def _shown(ratio: Estimate) -> str:
    return f"{ratio.value:.3f} ± {ratio.half_width:.3f}"


def report(runs: Sequence[Run], red: Sequence[str], place: Path) -> bool:
    """Compute bundled runs again and write the tables; return whether all are equal.

    Parameters
    ----------
    runs
        Which; those that differ are printed.
    red
        Lines of the table of dumbbells under RED.
    place
        The file to write.
    """
    found = [compare(run) for run in tqdm(runs, desc="ns-2", unit="run")]
    drawn = [each for each in found if each.run.case == RANDOM]
    built = [each for each in found if each.run.case != RANDOM]
    said = (
        f"{_equal(built)} runs and {_equal(drawn)} random networks are equal in final acknowledgements, packets sent, "
        "timeouts, drops of every link, and windows and acknowledgements of all flows every 10 ms. Every link has one FIFO queue."
    )
    text = [*equal_runs(built), "", *random_rows(drawn), "", said, "", *red]
    place.write_text("\n".join(text) + "\n", encoding="utf-8")
    differing = [each for each in found if each.differences]
    for each in differing:
        print(each.run, each.differences)
    return not differing


def main() -> None:
    """Compute all bundled runs again, and write the tables; exit with 1 when one differs."""
    if not report(bundled_runs(), red_rows(), RESULT):
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
