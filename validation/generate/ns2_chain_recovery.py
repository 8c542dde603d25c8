"""takano2006's scenarios without DFC in ns-2, with Reno and NewReno in the place of Tahoe.

At 12.3 Gb/s these are the paper's 4R and 4N; here the other speeds. Starts are spread over a
millisecond, as in the cases of `ns2_chain_starts`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from validation.generate import ns2_chain, ns2_chain_starts
from validation.generate.cases import Case, Rows, Run

RUNS = {"1": 8, "2": 8, "3": 8, "5": 3, "6": 4}
AGENTS = ("reno", "newreno")


def execute(run: Run, folder: Path) -> dict[str, Rows]:
    """Simulate one run; the agent is in every row."""
    label = {"agent": run["agent"]}
    found = ns2_chain_starts.execute(run, folder)
    return {name: [label | row for row in rows] for name, rows in found.items()}


def _case(name: str, runs: int) -> Case:
    base = next(
        c for c in ns2_chain_starts.CASES if c.name.startswith(f"takano2006/scenario-{name}-")
    )
    title = ns2_chain.SCENARIOS[name].title.removesuffix(", Tahoe")
    agent = {"agent": ns2_chain.FACTORS["agent"]}
    return replace(
        base,
        name=f"takano2006/scenario-{name}-recovery-without-dfc",
        title=f"{title}, Reno and NewReno, without DFC, starts spread over 1 ms, {runs} runs each",
        parameters={what: value for what, value in base.parameters.items() if what != "agent"},
        tables={
            name: replace(table, index={**agent, **table.index})
            for name, table in base.tables.items()
        },
        runs=[
            {**base.runs[0], "agent": agent, "seed": seed}
            for agent in AGENTS
            for seed in range(1, runs + 1)
        ],
        execute=execute,
        sources=(*base.sources, "validation/generate/ns2_chain_recovery.py"),
    )


CASES = tuple(_case(name, runs) for name, runs in RUNS.items())
