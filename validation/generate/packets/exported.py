"""Programs of `dfcmodel.to_ns2` with instruments of ours, and what they write: totals of flows, hashed samples, drops of links."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dfcmodel import Packets, Scenario, to_ns2
from validation.generate.cases import Calls, Rows, Run
from validation.generate.outputs import lines
from validation.generate.programs import HERE, ROOT
from validation.networks.packet_networks import SAMPLE, sample_hash, scenario_of

SENT_AGAIN = f"{HERE}/ns2/sent_again.tcl"
RUN = "$ns run\n"
"""The last line of a program."""


def program(scenario: Scenario, method: Packets, instruments: str = "") -> str:
    """Return the program of a scenario, with a file of Tcl of ours before it runs."""
    text = to_ns2(scenario, method=method, sample=SAMPLE)
    return text.removesuffix(RUN) + (ROOT / instruments).read_text() + RUN if instruments else text


def flows_of(scenario: Scenario, folder: Path) -> Rows:
    """Return the totals of the flows with a window, and the hash of the samples of each."""
    samples = np.loadtxt(folder / "samples.txt", ndmin=2)
    rows: Rows = []
    for column, words in enumerate(lines(folder, "flows.txt")):  # empty where all flows are CBR
        f, acknowledged, timeouts, sent = map(int, words)
        window, acked = samples[:, 1 + 2 * column], samples[:, 2 + 2 * column].astype(int)
        totals = {"acknowledged": acknowledged, "sent": sent, "timeouts": timeouts}
        hashed = sample_hash(window, acked, scenario.flows[f].size)
        rows.append({"flow": f, **totals, "samples": hashed})
    return rows


def drops_of(folder: Path) -> Rows:
    """Return the drops of the links that have any, by numbers of their nodes."""
    found = sorted(tuple(map(int, words)) for words in lines(folder, "links.txt"))
    return [{"from": a, "to": b, "drops": drops} for a, b, drops in found if drops > 0]


def calls(run: Run) -> Calls:
    """Return the program of a run of `validation.networks.packet_networks`."""
    method = Packets(run["seed"] or None, convention="ns2", recovery=run["recovery"])
    return [[program(scenario_of(run), method, SENT_AGAIN)]]


def read(run: Run, folder: Path, printed: Sequence[str]) -> dict[str, Rows]:  # noqa: ARG001
    """Make the rows of such a run."""
    keys = {name: run[name] for name in ("recovery", "size", "seed")}
    again = [int(number) for (number,) in lines(folder, "sent_again.txt")]
    flows = zip(flows_of(scenario_of(run), folder), again, strict=True)
    return {
        "flows": [{**keys, **flow, "sent_again": number} for flow, number in flows],
        "links": [{**keys, **link} for link in drops_of(folder)],
    }
