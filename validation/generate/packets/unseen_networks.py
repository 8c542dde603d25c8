"""The networks that the fluid is judged by (`validation.networks.unseen_networks`, `validation.networks.random_networks`) in ns-2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from dfcmodel import Flow
from responsefn import AIMD
from validation.generate.case_tables import About, Driver, load, tables_of
from validation.generate.cases import Calls, Case, Rows, Run
from validation.generate.outputs import lines
from validation.generate.programs import Ns2, pairs
from validation.networks.random_networks import FRESH
from validation.networks.unseen_networks import (
    LATER,
    LONGER,
    NETWORKS,
    SEEDS,
    SET_ASIDE,
    Network,
    instance,
)

TABLES = load(__file__)
ALL: Mapping[str, Network] = {**NETWORKS, **FRESH}
BITS = 8 * 1500
BACK = 1_000_000
"""Packets: the buffers of the way back, where ACKs queue and are never dropped."""
AGENTS = {
    "Tahoe": "Tahoe", "Reno": "Reno", "NewReno": "Newreno", "AIMD": "Newreno", "CUBIC": "Linux/cubic",
}  # fmt: skip
FIELDS = ("acknowledged_since", "acknowledged", "sent", "sent_again", "timeouts")
"""Columns of flows.txt behind the flow's number."""


def agent_of(network: Network, flow: Flow) -> str:
    """Return the sender of a flow in ns-2 with its settings, as words of generic_network.tcl."""
    kind, settings = AGENTS[type(flow.source).__name__], {}
    if network.recovery == "sack" and kind == "Newreno":
        kind = "Sack1"
    if isinstance(flow.source, AIMD):
        a, b = flow.source.params.a, flow.source.params.b
        settings = {"increase_num_": a, "decrease_num_": 1.0 - b}
    return f"{kind} {{{' '.join(pairs(settings))}}}"


def calls(run: Run) -> Calls:
    """Return the options of generic_network.tcl: every link with its mirror, the flows."""
    network = ALL[run["network"]]
    scenario = instance(network, run["seed"])
    nodes = {node: n for n, node in enumerate(scenario.nodes)}
    links, flows = [], []
    for link in scenario.links:
        a, b = nodes[link.source], nodes[link.target]
        about = f"{round(link.rate * BITS)} {link.delay:.17g}"
        links += [f"{a} {b} {about} {link.buffer:.0f}", f"{b} {a} {about} {BACK}"]
    for flow in scenario.flows:
        first, last = nodes[flow.path[0]], nodes[flow.path[-1]]
        about = f"{first} {last} {flow.start:.17g} {flow.max_window:.0f}"
        flows.append(f"{{{about} {agent_of(network, flow)}}}")
    options = {
        "nodes": len(nodes), "links": " ".join(links), "flows": " ".join(flows),
        "since": network.since, "duration": scenario.duration,
        "overhead": f"{1.0 / network.rate:.17g}", "seed": run["seed"],
    }  # fmt: skip
    return [pairs(options)]


def read(run: Run, folder: Path, printed: Sequence[str]) -> dict[str, Rows]:  # noqa: ARG001
    """Make the rows of one run: the flows with their drops."""
    drops: dict[int, list[float]] = {}
    for words in lines(folder, "drops.txt"):  # d time from to type size flags flow ...
        if words[4] == "ack":
            raise ValueError(f"{dict(run)}: an ACK was dropped: {' '.join(words)}")
        drops.setdefault(int(words[7]), []).append(float(words[1]))
    rows: Rows = []
    for flow, *values in lines(folder, "flows.txt"):
        times = drops.get(int(flow), [])
        rows.append(
            {
                "network": run["network"], "seed": run["seed"], "flow": int(flow),
                **{name: int(value) for name, value in zip(FIELDS, values, strict=True)},
                "drops": len(times), "first_drop": min(times, default=float("nan")),
            }
        )  # fmt: skip
    return {"flows": rows}


def simulated_seconds(run: Run) -> float:
    """Return for how long a run is simulated, s."""
    return ALL[run["network"]].scenario.duration


DRIVER = Driver("packets", Ns2("generic_network.tcl"), calls, read, simulated_seconds, {})
OF_ALL = {
    "largest relative addition to each delay": (LONGER, "1"),
    "latest addition to each start": (LATER, "s"),
    "longest random time before a packet": (1.0, "packet time of the bottleneck"),
    "buffers of the way back": (BACK, "packets"),
}


def a_case(about: About) -> Case:
    """Return a case of ``unseen_networks.toml``: its networks, each with all seeds."""
    networks = FRESH if about["networks"] == "random_networks" else NETWORKS
    parameters = {"networks": (", ".join(networks), f"validation.networks.{about['networks']}")}
    if networks is NETWORKS:
        aside = ", ".join(sorted(SET_ASIDE))
        parameters["networks set aside"] = (aside, "by the hash of their names")
    runs = [{"network": name, "seed": seed} for name in networks for seed in SEEDS]
    found = {**about, "parameters": {**parameters, **OF_ALL}}
    return DRIVER.case(found, runs, tables_of(TABLES["tables"], {}))


CASES = tuple(a_case(about) for about in TABLES["cases"])
