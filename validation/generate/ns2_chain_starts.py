"""takano2006's scenarios 1 to 6 without DFC in ns-2, the starts of the flows spread over a millisecond.

The scenarios' own cases let agents wait up to 20 microseconds before a packet and start every run at
the same instants. Whether packets that are sent again meet the other flow's overshoot is a matter of
less than a round trip: that phase is what varies here. Everything else is as there.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from validation.generate import ns2_chain
from validation.generate.cases import Case, Rows, Run

SPREAD = 1e-3
RUNS = {"1": 16, "2": 16, "3": 16, "4": 8, "5": 8, "6": 8}
KEPT = ("efficiency", "nodes", "flows")


def execute(run: Run, folder: Path) -> dict[str, Rows]:
    """Simulate one run and sum up some of its counters."""
    found = ns2_chain.execute(run, folder)
    return {name: found[name] for name in KEPT}


def _case(name: str, runs: int) -> Case:
    base = next(c for c in ns2_chain.CASES if c.name == f"takano2006/scenario-{name}-without-dfc")
    start = (SPREAD, "s (starts are later by a uniform time below this)")
    return replace(
        base,
        name=f"takano2006/scenario-{name}-starts-without-dfc",
        title=f"{ns2_chain.SCENARIOS[name].title}, without DFC, starts spread over 1 ms, {runs} runs",
        parameters={**base.parameters, "jitter": start},
        tables={name: base.tables[name] for name in KEPT},
        runs=[{**base.runs[0], "jitter": SPREAD, "seed": seed} for seed in range(1, runs + 1)],
        execute=execute,
        sources=(*base.sources, "validation/generate/ns2_chain_starts.py"),
        notes=(*ns2_chain.NOTES, "The spread comes from the starts and from overhead_ together."),
    )


CASES = tuple(_case(name, runs) for name, runs in RUNS.items())
