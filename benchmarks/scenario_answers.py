"""``python -m benchmarks.scenario_answers BASE [FAMILY ...]``: answers of 3,000 drawn scenarios, beside another commit's.

Each family draws networks by seed, with the functions that the tests of both levels use: trees, meshes, stars, fabrics; every
discipline, queue manager, program, source, host, recovery and way of spraying. Both versions are unpacked by ``git archive``, this one with its
changed files, and run in a process each. An answer is a digest of each recorded array, or the text of the refusal. Cases whose
answers differ to the bit are printed, with the arrays that differ; the exit status is 1 if there are more than ``--allowed``.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from benchmarks.whole_questions import both_versions
from dfcmodel import Fluid, Packets, Scenario, simulate
from hopflow.progress import progress_bar
from tests.dfcmodel.engine import test_reference as fluids
from tests.dfcmodel.network.queueing.test_backpressure import random_backpressure
from tests.dfcmodel.packets import conftest as packets
from tests.dfcmodel.packets import test_equal_programs as programs
from tests.dfcmodel.packets.random_fabrics import in_turns, random_fabric
from tests.dfcmodel.packets.test_equal_arrivals import random_network as random_arrivals
from tests.dfcmodel.packets.test_spraying import random_spray
from validation.networks.lossless_networks import draw_lossless_network
from validation.networks.pause_networks import draw_pause_network
from validation.networks.random_packet_networks import random_network as random_ns2_network

Method = Fluid | Packets
Answer = dict[str, str]
"""Digests by name of array, or the refusal as ``"refused"``."""


class Family(NamedTuple):
    """Scenarios that are drawn alike: their number, and the function from a seed to a scenario and a method."""

    count: int
    draw: Callable[[int], tuple[Scenario, Method]]


def by_packets(draw: Callable[[int], Scenario]) -> Callable[[int], tuple[Scenario, Method]]:
    """Return a function that draws a scenario of a seed and a recovery for it."""
    return lambda seed: (draw(seed), packets.random_method(seed))


def tree_of_discipline(seed: int) -> Scenario:
    """Return a tree for the packet level; disciplines and managers take turns."""
    names = [*packets.DISCIPLINES, *packets.MANAGED]
    return packets.random_scenario(names[seed % len(names)], seed)


def fluid_tree(seed: int) -> tuple[Scenario, Method]:
    """Return a tree for the fluid; disciplines take turns."""
    names = list(fluids.DISCIPLINES)
    return fluids.random_tree(names[seed % len(names)], seed), Fluid(2)


def star(seed: int) -> tuple[Scenario, Method]:
    """Return a star whose programs take turns."""
    return programs.random_star(seed, programs.PROGRAMS[seed % len(programs.PROGRAMS)]), Packets(seed=seed)


def fabric(seed: int) -> tuple[Scenario, Method]:
    """Return a fabric that pauses, with hosts of each kind in turn, and flows that wait for others in every third."""
    scenario = random_fabric(seed, (None, "nic", "direct")[seed % 3])
    return (in_turns(scenario, seed) if seed % 3 == 1 else scenario), Packets(seed=seed)


FAMILIES = {
    "fluid trees": Family(400, fluid_tree),
    "fluid meshes": Family(200, lambda seed: (fluids.random_network(seed), Fluid())),
    "fluid fabrics": Family(100, lambda seed: (fluids.random_fabric(seed), Fluid())),
    "lossless fluids": Family(60, lambda seed: (draw_lossless_network(91, seed, fluid=True), Fluid())),
    "trees": Family(600, by_packets(tree_of_discipline)),
    "classes": Family(240, by_packets(packets.random_classes)),
    "switches": Family(240, by_packets(packets.random_switches)),
    "diffusive trees": Family(180, by_packets(packets.random_diffusive)),
    "stars": Family(200, star),
    "arrivals": Family(200, lambda seed: (random_arrivals(seed), Packets(seed=seed))),
    "fabrics": Family(240, fabric),
    "sprayed": Family(120, random_spray),
    "backpressure": Family(80, random_backpressure),
    "ns-2 networks": Family(60, random_ns2_network),
    "lossless networks": Family(40, lambda seed: (draw_lossless_network(91, seed), Packets(seed=seed))),
    "pause networks": Family(40, lambda seed: (draw_pause_network(91, seed), Packets(seed=seed))),
}
"""What is drawn, by name."""


def answer(family: str, seed: int) -> Answer:
    """Return the digests of what a drawn scenario records, or its refusal."""
    try:
        scenario, method = FAMILIES[family].draw(seed)
        data = simulate(scenario, method).to_xarray()
    except (ValueError, NotImplementedError) as refusal:
        return {"refused": f"{type(refusal).__name__}: {refusal}"}
    digests = {}
    for name, array in sorted({**data.data_vars, **data.coords}.items(), key=lambda item: str(item[0])):
        values = array.to_numpy()
        content = repr(values.tolist()).encode() if values.dtype.hasobject else values.tobytes()
        head = f"{array.dims} {values.dtype} {values.shape}".encode()
        digests[str(name)] = hashlib.blake2b(head + content, digest_size=8).hexdigest()
    return digests


def answers_in(tree: Path, families: list[str]) -> Iterator[tuple[str, Answer]]:
    """Yield cases and their answers as the version of a folder computes them, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.scenario_answers", "HEAD", *families, "--answers"]
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    with subprocess.Popen(command, cwd=tree, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            yield tuple(json.loads(line))
    if process.returncode:
        raise RuntimeError(f"{tree.name}: ended with status {process.returncode}")


def main(
    base: Annotated[str, typer.Argument(help="Commit whose answers are compared.")] = "HEAD",
    names: Annotated[list[str] | None, typer.Argument(help="Families; all by default.")] = None,
    allowed: Annotated[int, typer.Option(help="Cases that may differ.", min=0)] = 0,
    print_answers: Annotated[bool, typer.Option("--answers", hidden=True)] = False,
) -> None:
    """Compare the answers of drawn scenarios with those of another commit, to the bit."""
    if unknown := set(names or ()) - set(FAMILIES):
        raise typer.BadParameter(f"{', '.join(sorted(unknown))}: must be of {', '.join(FAMILIES)}")
    families = names or list(FAMILIES)
    if print_answers:
        for family in families:
            for seed in range(FAMILIES[family].count):
                print(json.dumps([f"{family} {seed}", answer(family, seed)]), flush=True)
        return
    with both_versions(base, "benchmarks/scenario_answers.py", "benchmarks/whole_questions.py") as trees:
        pairs = zip(*(answers_in(tree, families) for tree in trees), strict=True)
        total = sum(FAMILIES[family].count for family in families)
        refusals, differing = Counter[str](), 0
        for (case, old), (_, new) in progress_bar(pairs, desc="scenarios", unit="scenario", total=total):
            refusals[case.rpartition(" ")[0]] += "refused" in new
            if old != new:
                differing += 1
                arrays = [name for name in {**old, **new} if old.get(name) != new.get(name)]
                typer.echo(f"{case}: " + "; ".join(itertools.islice(map(str, arrays), 6)))
    typer.echo(f"{total} scenarios, {differing} with another answer; refused: {refusals.total()} {dict(+refusals)}")
    raise typer.Exit(int(differing > allowed))


if __name__ == "__main__":
    typer.run(main)
