"""``python -m benchmarks.level_shares [--save]``: which level should answer by default, on networks not used before.

60 random networks of seed 4 (`validation.networks.random_networks`), which nothing else looks at. The truth of a network are the mean
shares of its groups in 16 packet runs with random times of up to one packet before each packet and of up to 20 ms before
each start: such runs equal ns-2's. Single runs of the two levels are compared with it: the fluid, packets without random
times, and what ``level="auto"`` chooses, with the CPU seconds of each, whose predictions are beside them.
``--save`` writes ``results/level_shares.md``, a table of the documentation.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from dfcmodel import Fluid, Packets, choose_level, simulate
from hopflow.progress import progress_bar
from validation.networks.random_networks import draw_networks
from validation.networks.unseen_networks import Network

RESULT = Path(__file__).parent / "results" / "level_shares.md"
KINDS = ("chain", "round-trips", "parking-lot", "dumbbell", "mixed-rules")
SEED, EACH, RUNS, LATER = 4, 12, 16, 0.02
SECONDS = 4.0
"""Predicted CPU seconds of packets in long runs: of every fourth network."""


@dataclass(frozen=True)
class Found:
    """What was measured on a network.

    Attributes
    ----------
    topology
        Of the network.
    errors
        Largest distance of a group's share from its mean: of the fluid, of packets, and of the choice.
    deviation
        Standard deviation of that share between the packet runs with random times; the largest of all groups.
    seconds, predicted
        CPU seconds of the fluid and of the choice.
    """

    topology: str
    errors: tuple[float, float, float]
    deviation: float
    seconds: tuple[float, float]
    predicted: tuple[float, float]


def measure(network: Network) -> Found:
    """Run a network at both levels."""
    scenario, wait = network.scenario, 1.0 / network.rate
    names = np.array(network.groups)

    def run(**given: Any) -> tuple[np.ndarray, float]:
        began = time.process_time()
        found = simulate(scenario, sample=0.1, **given)
        seconds = time.process_time() - began
        since = np.searchsorted(found.time, network.since)
        sent = found.delivered[:, -1] - found.delivered[:, since]
        parts = [sent[names == name].sum() / sent.sum() for name in dict.fromkeys(names)]
        return np.array(parts), seconds

    asked = {"recovery": network.recovery} if network.recovery else {}
    truth = np.array([
        run(method=Packets(seed=seed, **asked), packet_jitter=wait, jitter=LATER)[0]
        for seed in range(1, RUNS + 1)
    ])  # fmt: skip
    chosen = choose_level(scenario, fluid=Fluid(**asked))
    method = chosen.method
    if isinstance(method, Packets):
        method = Packets(seed=RUNS + 1, **asked)
    fluid, of_fluid = run(method=Fluid(**asked))
    plain, _ = run(method=Packets(seed=1, **asked))
    auto, of_auto = run(method=method, packet_jitter=chosen.packet_jitter)
    mean = truth.mean(axis=0)
    errors = [float(abs(one - mean).max()) for one in (fluid, plain, auto)]
    is_fluid = isinstance(method, Fluid)
    predicted = chosen.fluid_seconds, chosen.fluid_seconds if is_fluid else chosen.packet_seconds
    return Found(
        network.topology, (errors[0], errors[1], errors[2]), float(truth.std(axis=0, ddof=1).max()),
        (of_fluid, of_auto), predicted,
    )  # fmt: skip


def long_run(network: Network) -> tuple[str, float]:
    """Return which level is chosen where packets take some seconds, and its CPU time over that of the fluid."""
    scenario = network.scenario
    longer = SECONDS / choose_level(scenario).packet_seconds
    scenario = replace(scenario, duration=longer * scenario.duration)
    chosen = choose_level(scenario).method
    seconds = []
    for method in (Fluid(), chosen):
        began = time.process_time()
        simulate(scenario, method, sample=0.1 * longer)
        seconds.append(time.process_time() - began)
    return type(chosen).__name__, seconds[1] / seconds[0]


def about_long(found: list[tuple[str, float]]) -> str:
    """Return what the choice costs in runs of some seconds."""
    packets = [ratio for name, ratio in found if name == "Packets"]
    return (
        f"In {len(found)} runs whose packets are predicted to take {SECONDS:g} s the choice is packets {len(packets)} times, at "
        f"{min(packets):.2f} to {max(packets):.2f} times the CPU time of the fluid.\n"
    )


def table(found: list[Found]) -> str:
    """Return the table of the documentation, and what follows from it."""
    lines = [
        "| networks | number | fluid | packets without random times | `level=\"auto\"` | between packet runs |",
        "|---|--:|--:|--:|--:|--:|",
    ]  # fmt: skip
    groups = {kind: [each for each in found if each.topology == kind] for kind in _kinds(found)}
    for name, some in {**groups, "all": found}.items():
        errors = np.array([each.errors for each in some])
        spread = np.array([each.deviation for each in some])
        rms = [f"{value:.3f}" for value in np.sqrt((errors**2).mean(axis=0))]
        lines.append(f"| {name} | {len(some)} | {' | '.join(rms)} | {np.sqrt((spread**2).mean()):.3f} |")
    errors = np.array([each.errors for each in found])
    ratios = np.array([each.seconds[1] / each.seconds[0] for each in found])
    off = np.array([
        np.array(each.predicted) / np.array(each.seconds) for each in found
    ])  # fmt: skip
    plain, auto = (int((errors[:, k] > errors[:, 0]).sum()) for k in (1, 2))
    said = (
        f"Packets without random times are farther from the mean than the fluid on {plain} of {len(found)} networks, "
        f'by up to {(errors[:, 1] - errors[:, 0]).max():.2f}; the choice of `level="auto"` on {auto}, by up to '
        f"{(errors[:, 2] - errors[:, 0]).max():.2f}. The median of the errors without random times is "
        f"{np.median(errors[:, 1]):.2f} (chains and round trips: "
        f"{np.median([each.errors[1] for each in found if each.topology in _apart(found)]):.2f}), the largest {errors[:, 1].max():.2f}. "
        f"The choice costs {ratios.min():.2f} to {ratios.max():.2f} times the CPU time of the fluid, {np.median(ratios):.2f} in the "
        f"median; predictions are {off[:, 0].min():.1f} to {off[:, 0].max():.1f} times the time of the fluid and "
        f"{off[:, 1].min():.1f} to {off[:, 1].max():.1f} times that of the choice."
    )
    return "\n".join([*lines, "", said]) + "\n"


def _kinds(found: list[Found]) -> list[str]:
    """Return the topologies in the order in which they were drawn."""
    return list(dict.fromkeys(each.topology for each in found))


def _apart(found: list[Found]) -> list[str]:
    """Return the topologies whose flows have different round-trip times by construction."""
    return _kinds(found)[:2]


def main(
    keep: Annotated[bool, typer.Option("--save", help="Write results/level_shares.md.")] = False,
) -> None:
    """Measure all networks and print the table."""
    networks = list(draw_networks(SEED, dict.fromkeys(KINDS, EACH)).values())
    measure(networks[0])  # compiles
    text = table([measure(each) for each in progress_bar(networks, desc="networks")])
    text += about_long([long_run(each) for each in progress_bar(networks[::4], desc="long runs")])
    print(text)
    if keep:
        RESULT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
