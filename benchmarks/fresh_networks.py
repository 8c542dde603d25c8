"""``python -m benchmarks.fresh_networks [--networks NAMES] [--conventions]``: fluids and packet level beside ns-2.

The 30 networks `validation.networks.random_networks.FRESH`, 16 seeds each, beside the bundled runs of ns-2: the fluid
and the packet level. Criteria and errors of the models are those of `validation.networks.network_comparison`. It writes
``results/fresh_networks.md``, tables of the documentation, unless only some networks run. ``--conventions`` runs all with
two conventions of ns-2 (`equal_terms`) and writes ``results/fresh_networks_conventions.md``. Every number follows from the
seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer

from dfcmodel import Fluid, Packets
from dfcmodel.levels.accuracies import measured_accuracies
from hopflow.progress import progress_bar
from responsefn import AIMD, CUBIC
from responsefn.linux import LinuxCUBIC
from validation.claims.simulators.unseen_networks import halving, with_rule
from validation.networks import network_comparison as limits
from validation.networks.network_comparison import Differences, compare, criteria
from validation.networks.network_runs import LEVELS, as_in_ns2, packet_level
from validation.networks.random_networks import FRESH
from validation.networks.unseen_networks import Network

RESULT = Path(__file__).parent / "results" / "fresh_networks.md"
CONVENTIONS = RESULT.with_name("fresh_networks_conventions.md")
MIXED = "mixed rules"
LONG, WITH_AIMD, WITH_CUBIC = "chain-2-2", "mixed-rules-2-2", "mixed-rules-2-1"
"""A chain of 76 nodes, on which a full packet takes long; networks with agents that are other rules in ns-2."""
MODULE = 819 / 1024
"""Part of its window that CUBIC keeps at a loss in ns-2's TCP/Linux; RFC 9438: 0.7."""
FIRST_PACKET = 40 / 1500
"""Size of the first packet of a connection in ns-2 over that of the others."""


def differences(
    names: Collection[str] = tuple(FRESH),
    levels: Collection[str] = tuple(LEVELS),
    *,
    conventions: bool = False,
) -> dict[str, Differences]:
    """Return the differences of each level on some of the fresh networks, or on all; with ns-2's ``conventions``, or not."""
    found = {}
    for level in levels:
        networks = [FRESH[name] for name in names]
        if conventions:
            networks = [equal_terms(network, level) for network in networks]
        each = compare(progress_bar(networks, desc=level), LEVELS[level])
        found[level] = since_small_packets(each, level) if conventions else each
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


def times_saved(network: Network) -> list[float]:
    """Return for each flow by how much ns-2's first packets, of 40 bytes, cross its path sooner than full ones, s."""
    scenario = network.scenario
    return [sum((1.0 - FIRST_PACKET) / link.rate for link in scenario.path(flow)) for flow in scenario.flows]


def later(network: Network) -> Network:
    """Return a network whose flows begin as much apart as with ns-2's first packets.

    What they save is most on the longest path, whose flow begins when it did.
    """
    scenario, saved = network.scenario, times_saved(network)
    flows = tuple(
        replace(flow, start=flow.start + max(saved) - own) for flow, own in zip(scenario.flows, saved, strict=True)
    )
    return replace(network, scenario=replace(scenario, flows=flows))


def begins_small(network: Network, level: str) -> bool:
    """Return whether a level has first packets of 40 bytes itself: the packet level, where ns-2 has all of the rules."""
    return level == "packet level" and as_in_ns2(network)


def equal_terms(network: Network, level: str) -> Network:
    """Return a network with ns-2's two conventions: AIMD halves at the first loss, and flows begin as with small packets."""
    if any(isinstance(flow.source, AIMD) for flow in network.scenario.flows):
        network = halving(network)
    return network if begins_small(network, level) else later(network)


def since_small_packets(found: Differences, level: str) -> Differences:
    """Return differences of networks begun by `later`, without the time by which all of each began later than in ns-2."""
    table = found.networks
    shifts = [
        0.0 if begins_small(equal_terms(FRESH[name], level), level) else max(times_saved(FRESH[name]))
        for name in table["network"]
    ]
    networks = table.assign(later=table["later"] - np.array(shifts) / table["first"])
    return replace(found, networks=networks)


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
    ]  # fmt: skip
    rows += [
        (f"largest difference on {WITH_AIMD}, {level}", "AIMD at every loss",
         largest(gentle, LEVELS[level]), "the first loss halves, as in ns-2",
         largest(halving(gentle), LEVELS[level]))
        for level in found
    ]  # fmt: skip
    for level, each in found.items():
        shares, networks = (
            table[~table["network"].isin((WITH_AIMD, WITH_CUBIC))] for table in (each.shares, each.networks)
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
    lines.append(f"| seeds | | {' | '.join(str(each.seeds) for each in found.values())} |")
    for n, name in enumerate(columns[0]):
        limit = CRITERIA[n] if n < len(CRITERIA) else ""
        lines.append(f"| {name} | {limit} | {' | '.join(each[name] for each in columns)} |")
    met = [criteria(each, model[level]) for level, each in found.items()]
    missed = [", ".join(name for name, holds in each.items() if not holds) or "none" for each in met]
    lines += [f"| criteria missed | | {' | '.join(missed)} |", ""]
    lines += [f"| by | | shares | {' | '.join(found)} |", "|---|---|--:|" + "--:|" * len(found)]
    for (by, kind, count), own in by_kind(found).groupby(["by", "kind", "shares"], sort=False):
        cells = (f"{row.mean:.3f} ({row.chance:.3f}), {row.largest:.3f}" for row in own.itertuples())
        lines.append(f"| {by} | {kind} | {count} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def outside(found: Mapping[str, Differences]) -> str:
    """Return a table of what misses a criterion of a single network at some level, in bold where it does."""
    shares, networks = (
        {level: table.set_index(keys) for level, table in tables.items()}
        for keys, tables in (
            (["network", "group"], {level: each.shares for level, each in found.items()}),
            (["network"], {level: each.networks for level, each in found.items()}),
        )
    )
    rows: dict[tuple[str, str], list[tuple[bool, str]]] = {}
    of_ns2: dict[tuple[str, str], str] = {}
    for own in shares.values():
        for (network, group), row in own.iterrows():
            worse = abs(row.difference) - limits.JOINT * row.error > limits.WORST
            value = f"{row.fluid:.3f} ± {limits.JOINT * row.error:.3f}"
            key = network, f"share of {group}"
            of_ns2.setdefault(key, f"{row.packets:.3f}")
            rows.setdefault(key, []).append((worse, value))
    for own in networks.values():
        for network, row in own.iterrows():
            lost, first = (network, "packets lost over ns-2's"), (network, "first loss, later by")
            ratio, later = f"{row.ratio:.2f}", f"{100.0 * row.later:+.1f} %"
            rows.setdefault(lost, []).append((abs(row.ratio - 1.0) > limits.LOSSES, ratio))
            rows.setdefault(first, []).append((abs(row.later) > limits.FIRST, later))
    lines = [f"| network | | ns-2 | {' | '.join(found)} |", "|---|---|--:|" + "--:|" * len(found)]
    for key, values in rows.items():
        if any(worse for worse, _ in values):
            cells = (f"**{value}**" if worse else value for worse, value in values)
            lines.append(f"| {' | '.join(key)} | {of_ns2.get(key, '')} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


class PartialCUBIC(CUBIC):
    """CUBIC that repairs one loss per round trip, as NewReno does, not by SACK as it is by default and in ns-2's TCP/Linux."""

    recovery = "newreno"


class ReducingCUBIC(CUBIC):
    """CUBIC with proportional rate reduction: what is known to be lost is not in flight, as in TCP/Linux."""

    recovery = "prr"


def cubics() -> str:
    """Return a table of the network with CUBIC at packet level, by which CUBIC runs there, and how it repairs losses."""
    network = equal_terms(FRESH[WITH_CUBIC], "packet level")
    rules = {
        "RFC 9438": CUBIC(),
        "RFC 9438, the cut of Linux 2.6.22": CUBIC(beta=MODULE),
        "tcp_cubic.c of Linux 2.6.22": LinuxCUBIC(kernel="2.6.22"),
        "RFC 9438, losses repaired as by NewReno": PartialCUBIC(),
        "RFC 9438, with SACK and PRR (RFC 6937)": ReducingCUBIC(),
    }
    lines = []
    for name, rule in rules.items():
        each = compare([with_rule(network, CUBIC, rule)], packet_level)
        if not lines:
            groups = [f"{row.group}, {row.packets:.3f} in ns-2" for row in each.shares.itertuples()]
            lines = [f"| {WITH_CUBIC}: CUBIC is that of | {' | '.join(groups)} | packets lost |"]
            lines.append("|---|" + "--:|" * (len(groups) + 1))
        values = [f"{row.fluid:.3f} ± {2.0 * row.error:.3f}" for row in each.shares.itertuples()]
        lines.append(f"| {name} | {' | '.join(values)} | {each.networks['ratio'].iloc[0]:.2f} |")
    return "\n".join(lines) + "\n"


def main(
    networks: Annotated[str, typer.Option(help=f"separated by commas, of {', '.join(FRESH)}")] = "",
    conventions: Annotated[bool, typer.Option("--conventions", help="with two of ns-2's")] = False,
) -> None:
    """Compare all fresh networks, or some."""
    names = [name.strip() for name in networks.split(",")] if networks else list(FRESH)
    unknown = [name for name in names if name not in FRESH]
    if unknown:
        raise typer.BadParameter(f"{unknown[0]!r}: must be one of {', '.join(FRESH)}")
    found = differences(names, conventions=conventions)
    for level, each in found.items():
        for table in (each.shares, each.networks):
            print(level, table.round(4).to_string(index=False), sep="\n", end="\n\n")
    print(markdown(found))
    if set(names) == set(FRESH):
        others = f"{outside(found)}\n{cubics()}" if conventions else causes(found)
        print(others)
        text = f"{markdown(found)}\n{others}"
        (CONVENTIONS if conventions else RESULT).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
