"""``python -m benchmarks.fresh_networks [--networks NAMES]``: fluids and packet level beside ns-2.

The 30 networks `validation.random_networks.FRESH`, 16 seeds each, beside the bundled runs of ns-2: the fluid with whole
packets (eight steps in a packet's transmission time), the default fluid and the packet level; some five minutes of
CPU time. Criteria and errors of the models are those of `validation.network_comparison`. It writes
``results/fresh_networks.md``, tables of the documentation, unless only some networks run. Every number follows from
the seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from dfcmodel import Fluid, Packets
from dfcmodel.levels.accuracies import measured_accuracies
from hopflow.progress import progress_bar
from validation import network_comparison as limits
from validation.claims.simulators.unseen_networks import halving
from validation.network_comparison import Differences, compare, criteria
from validation.network_runs import LEVELS, fluid_of_packets, packet_level
from validation.random_networks import FRESH
from validation.unseen_networks import Network

RESULT = Path(__file__).parent / "results" / "fresh_networks.md"
MIXED = "mixed rules"
WHOLE = "fluid with whole packets"
LONG, WITH_AIMD, WITH_CUBIC = "chain-2-2", "mixed-rules-2-2", "mixed-rules-2-1"
"""A chain of 76 nodes, on which a full packet takes long; networks with agents that are other rules in ns-2."""
FIRST_PACKET = 40 / 1500
"""Size of the first packet of a connection in ns-2 over that of the others."""


def differences(
    names: Collection[str] = tuple(FRESH), levels: Collection[str] = tuple(LEVELS)
) -> dict[str, Differences]:
    """Return the differences of each level on some of the fresh networks, or on all."""
    found = {}
    for level in levels:
        networks = progress_bar([FRESH[name] for name in names], desc=level)
        found[level] = compare(networks, LEVELS[level])
    return found


def summary(found: Differences, model: float) -> dict[str, str]:
    """Return what was found, with the error of the model: the names of quantities and their values."""
    ratio, inside, wider = found.networks["ratio"], found.inside, found.covered(model)
    return {
        "mean error of the shares": f"{found.mean_error:.4f}",
        "mean error that chance makes": f"{found.chance:.4f}",
        "largest error beyond two standard errors": f"{found.beyond:.3f}",
        "packets lost, over ns-2's": f"{ratio.min():.2f} to {ratio.max():.2f}",
        "first loss, earlier or later by at most": f"{100.0 * found.first:.1f} %",
        "standard deviation of runs over ns-2's, median": f"{found.spread:.2f}",
        "95 % intervals that cover zero, by chance alone": f"{inside.sum()} of {len(inside)}",
        "the same with the error of the model": f"{wider.sum()} of {len(wider)} (± {model:.3f})",
    }


CRITERIA = (
    f"{limits.SHARES:g}", "", f"{limits.WORST:g}", f"{1.0 - limits.LOSSES:g} to {1.0 + limits.LOSSES:g}",
    f"{100.0 * limits.FIRST:g} %", f"{1.0 / limits.SPREAD:.2f} to {limits.SPREAD:g}",
)  # fmt: skip
"""Of the first rows of the summary; of intervals: as many as the binomial distribution allows."""


def by_kind(found: Mapping[str, Differences]) -> pd.DataFrame:
    """Return errors of the shares by topology and by rule: columns by, kind, shares, chance, and a mean and a largest
    error for each level."""
    rows = []
    for level, differences in found.items():
        shares = differences.shares
        mixed = shares["topology"] == MIXED
        kinds = {"topology": shares["topology"], "rule": shares["rules"].where(~mixed, MIXED)}
        for by, kind in kinds.items():
            for name, own in shares.groupby(kind):
                part = Differences(own, differences.networks)
                largest = own["difference"].abs().max()
                rows.append((by, name, len(own), level, part.mean_error, part.chance, largest))
    columns = ["by", "kind", "shares", "level", "mean", "chance", "largest"]
    return pd.DataFrame(rows, columns=columns)


def later(network: Network) -> Network:
    """Return a network whose flows begin as much apart as with ns-2's first packets, of 40 bytes.

    Such a packet takes less time on each link than a full one, most on the longest path, whose flow begins
    when it did.
    """
    scenario = network.scenario
    saved = [
        sum((1.0 - FIRST_PACKET) / link.rate for link in scenario.path(flow))
        for flow in scenario.flows
    ]
    flows = tuple(
        replace(flow, start=flow.start + max(saved) - own)
        for flow, own in zip(scenario.flows, saved, strict=True)
    )
    return replace(network, scenario=replace(scenario, flows=flows))


def causes(found: Mapping[str, Differences]) -> str:
    """Return a table of what is another thing in ns-2, each with the runs that show it."""
    long, gentle = FRESH[LONG], FRESH[WITH_AIMD]

    def full(network: Network) -> Packets:
        return replace(packet_level(network), convention="standard")

    def lost(network: Network, method: Callable[[Network], Fluid | Packets]) -> str:
        return f"{compare([network], method).networks['ratio'].iloc[0]:.2f}"

    def largest(network: Network, method: Callable[[Network], Fluid | Packets]) -> str:
        return f"{compare([network], method).shares['difference'].abs().max():.3f}"

    rows = [
        (f"packets lost on {LONG} over ns-2's, packet level", "a first packet of full size",
         lost(long, full), "of 40 bytes, as in ns-2", lost(long, packet_level)),
        (f"packets lost on {LONG} over ns-2's, {WHOLE}", "a first packet of full size", lost(long, fluid_of_packets),
         "starts as with 40 bytes", lost(later(long), fluid_of_packets)),
    ]  # fmt: skip
    rows += [
        (f"largest difference on {WITH_AIMD}, {level}", "AIMD at every loss",
         largest(gentle, LEVELS[level]), "the first loss halves, as in ns-2",
         largest(halving(gentle), LEVELS[level]))
        for level in found
    ]  # fmt: skip
    for level, each in found.items():
        shares, networks = (
            table[~table["network"].isin((WITH_AIMD, WITH_CUBIC))]
            for table in (each.shares, each.networks)
        )
        rest = Differences(shares, networks)
        rows.append(
            (f"mean error, and largest beyond two standard errors, {level}", "all networks",
             f"{each.mean_error:.4f}, {each.beyond:.3f}", f"without {WITH_CUBIC} and {WITH_AIMD}",
             f"{rest.mean_error:.4f}, {rest.beyond:.3f}")
        )  # fmt: skip
    lines = ["| | one way | | another way | |", "|---|---|--:|---|--:|"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines) + "\n"


def markdown(found: Mapping[str, Differences]) -> str:
    """Return the tables of the documentation."""
    model = {level: measured_accuracies()[level].half_width for level in found}
    first = next(iter(found.values()))
    counts = f"{len(first.networks)} networks, {len(first.shares)} shares"
    columns = [summary(each, model[level]) for level, each in found.items()]
    lines = [f"| {counts} | criterion | {' | '.join(found)} |", "|---|--:|" + "--:|" * len(found)]
    for n, name in enumerate(columns[0]):
        limit = CRITERIA[n] if n < len(CRITERIA) else ""
        lines.append(f"| {name} | {limit} | {' | '.join(each[name] for each in columns)} |")
    met = [criteria(each, model[level]) for level, each in found.items()]
    missed = [
        ", ".join(name for name, holds in each.items() if not holds) or "none" for each in met
    ]
    lines += [f"| criteria missed | | {' | '.join(missed)} |", ""]
    lines += [f"| by | | shares | {' | '.join(found)} |", "|---|---|--:|" + "--:|" * len(found)]
    for (by, kind, count), own in by_kind(found).groupby(["by", "kind", "shares"], sort=False):
        cells = (
            f"{row.mean:.3f} ({row.chance:.3f}), {row.largest:.3f}" for row in own.itertuples()
        )
        lines.append(f"| {by} | {kind} | {count} | {' | '.join(cells)} |")
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
    for level, each in found.items():
        for table in (each.shares, each.networks):
            print(level, table.round(4).to_string(index=False), sep="\n", end="\n\n")
    print(markdown(found))
    if set(names) == set(FRESH):
        others = causes(found)
        print(others)
        text = f"{markdown(found)}\n{others}"
        RESULT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
