"""Instructions that runs of the fluid take, counted by Valgrind, with a hash of their records.

As `benchmarks.chain_instructions`: ``python -m benchmarks.fluid_instructions [CASE ...]`` in two states of the code compares
both, the cost and the answers. A run is counted whole, with the preparation of its arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any

import typer

import dfcmodel as dfc
from benchmarks.chain_instructions import run_counted, show
from dfcmodel.network.queueing.disciplines import Discipline
from responsefn import NewReno
from validation.networks.packet_networks import dumbbell_scenario

NUMBERS = ("queued", "lost", "in_transit", "delivered", "window", "round_trip", "backlog")
"""Attributes of a run that are hashed."""


def run(scenario: dfc.Scenario, duration: float, **options: Any) -> Any:
    """Simulate a scenario as a fluid for some seconds."""
    return dfc.simulate(scenario, dfc.Fluid(**options), duration=duration, seed=1)


def dumbbell(discipline: Discipline, pairs: int = 8, **changed: Any) -> dfc.Scenario:
    """Return a dumbbell whose links have a discipline."""
    scenario = dumbbell_scenario("newreno", pairs, 1)
    links = [replace(link, discipline=discipline, **changed) for link in scenario.links]
    flows = [replace(flow, priority=f % 3) for f, flow in enumerate(scenario.flows)]
    return replace(scenario, links=links, flows=flows)


def crossing(discipline: Discipline) -> dfc.Scenario:
    """Return three flows over a chain of five nodes: all of it, its end, and its middle."""
    paths, sources = (
        ((1, 2, 3, 4, 5), (3, 4, 5), (2, 3, 4)),
        (NewReno(), dfc.CBR(1200.0), dfc.CBR(700.0)),
    )
    flows = [
        dfc.Flow(f"{f}", path, source, 60.0, host="unshaped", priority=f)
        for f, (path, source) in enumerate(zip(paths, sources, strict=True))
    ]
    links = dfc.chain(5, rate=2000.0, delay=2e-3, buffer=12.0, discipline=discipline)
    return dfc.Scenario("crossing", links, flows, 4.0)


CASES: dict[str, Callable[[], Any]] = {
    "takano 1, DFC": lambda: run(dfc.takano2006("1"), 0.6),
    "takano 4": lambda: run(dfc.takano2006("4", dfc=False), 0.6),
    "DFC per input": lambda: run(dumbbell(dfc.DFC(per="input"), 8), 0.6),
    "dumbbell of 32": lambda: run(dumbbell_scenario("newreno", 32, 1), 0.6),
    "dumbbell of 2": lambda: run(dumbbell_scenario("sack", 2, 1), 0.6),
    "losses in parts": lambda: run(dumbbell(dfc.FIFO()), 0.6, whole_losses=False),
    "RED": lambda: run(dumbbell(dfc.RED(5.0, 15.0)), 0.6),
    "marks": lambda: run(dumbbell(dfc.RampMarking(5.0, 15.0, 0.1, at="departure")), 0.6),
    "fair queues": lambda: run(dumbbell(dfc.Fair(manager=dfc.CoDel())), 0.6),
    "priorities": lambda: run(dumbbell(dfc.Priority()), 0.6),
    "pauses": lambda: run(dumbbell(dfc.Pause(high=40.0, low=20.0)), 0.6),
    "PFC": lambda: run(crossing(dfc.PFC(classes=(0, 1), xoff=2.5, xon=1.3, headroom=1.0)), 4.0),
}
"""What is run, by name."""


def main(
    cases: Annotated[list[str] | None, typer.Argument(help=" or ".join(CASES))] = None,
    one: Annotated[str, typer.Option(help="Run this case in this process, uncounted.")] = "",
) -> None:
    """Count the instructions that runs of the fluid take."""
    if one:
        print(run_counted(CASES[one], NUMBERS))
        return
    show(cases or list(CASES), "benchmarks.fluid_instructions")


if __name__ == "__main__":
    typer.run(main)
