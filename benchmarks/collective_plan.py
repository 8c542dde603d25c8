"""The public test plan for collectives on SONiC switches as a table, predicted before anybody has measured it.

The plan (sonic-net/sonic-mgmt, pull request 27315 of August 2026) names two topologies, a single leaf with 8 ports and 2 leaves and a spine with
16 ports, 11 cases and a matrix of 36 combinations: MTU, message size, queue pairs per pair of ranks, ECMP or packet spraying. Its summary
names the kinds of cases, not the values: those of `MTUS`, `MESSAGES`, `PAIRS` and `CASES` are chosen here.

``python -m benchmarks.collective_plan --save`` runs all cells and writes ``results/collective_plan.csv`` and ``.md``; ``--case NAME`` runs the cells of one.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import networkx as nx
import numpy as np
import typer
from tqdm import tqdm

from benchmarks.machines import this_machine
from dfcmodel import (
    PFC,
    Cable,
    Fabric,
    FlowOptions,
    Flows,
    Packets,
    Scenario,
    SelectiveRepair,
    completion_bounds,
    flows_from,
    job_completion,
    simulate,
)
from dfcmodel.lossless import leaf_spine
from dfcmodel.network.demands.exchanges import (
    NONE,
    Messages,
    halving_doubling,
    pairwise,
    ring_all_reduce,
)
from hopflow.text_files import write_rows
from responsefn import FixedRate

RESULTS = Path(__file__).parent / "results"
MTUS = (1024, 4096)
"""Bytes of data of a packet (IB MTU)."""
OVERHEAD = 82
"""Bytes on the wire beside these: preamble and gap 20, Ethernet 18, IPv4 20, UDP 8, base transport header 12, ICRC 4."""
MESSAGES = (2**18, 2**20, 2**22)
"""Bytes of the array of each rank; of an all-to-all what a rank sends to each other one is this over the number of ranks."""
PAIRS = (1, 2, 4)
"""Queue pairs per pair of ranks: a message is divided among them, and ECMP hashes each."""
BALANCES = ("ECMP", "spray")
SPEED = "400Gbps"
XOFF, XON = 200e3, 180e3
"""Thresholds of PFC per ingress, bytes."""
END = 0.05
LONGEST = 4.0
"""Duration of a run over its lower bound; what is not complete then has no time."""
BACKGROUND = 0.3
"""Of the rate of each host, between random hosts, beside the case with background traffic."""


class Combination(NamedTuple):
    """A row of the matrix."""

    mtu: int
    message: int
    pairs: int
    balance: str


MATRIX = tuple(Combination(*each) for each in itertools.product(MTUS, MESSAGES, PAIRS, BALANCES))
Part = tuple[Sequence[int], Messages, int]
"""Hosts that take part, the messages among them by their ranks, and after which part they begin, -1: at once."""


@dataclass(frozen=True)
class Case:
    """A case of the plan.

    Attributes
    ----------
    name
        In words.
    leaves
        1 or 2, with 8 hosts each.
    parts
        A function of the packets of a message that returns the collectives.
    factor
        Bus bandwidth over message size and time: 2 (N - 1) / N of an all-reduce, (N - 1) / N of an all-to-all; of several
        collectives that of the bytes that a rank sends.
    background
        Whether there is other traffic.
    """

    name: str
    leaves: int
    parts: Callable[[int], list[Part]]
    factor: float
    background: bool = False

    @property
    def hosts(self) -> int:
        """Ports."""
        return 8 * self.leaves


def many_to_some(sources: int, targets: int, packets: int) -> Messages:
    """Return the messages of an all-to-all from the first hosts to the others, all at once."""
    source, target = (each.reshape(-1) for each in np.indices((sources, targets)))
    none = np.full((len(source), 1), NONE)
    return Messages(source, sources + target, np.full(len(source), packets), none, 0 * source)


def _one(kind: Callable[[int, int], Messages], hosts: int, share: int = 1) -> Callable[[int], list[Part]]:
    return lambda packets: [(range(hosts), kind(hosts, max(1, packets // share)), -1)]


def _jobs(packets: int) -> list[Part]:
    """A ring on the even hosts and an all-to-all on the odd ones."""
    ring, exchange = ring_all_reduce(8, packets), pairwise(8, max(1, packets // 8))
    return [(range(0, 16, 2), ring, -1), (range(1, 16, 2), exchange, -1)]


def _phases(packets: int) -> list[Part]:
    """Twice a ring all-reduce and then an all-to-all of all hosts."""
    ring, exchange = ring_all_reduce(16, packets), pairwise(16, max(1, packets // 16))
    return [(range(16), each, n - 1) for n, each in enumerate((ring, exchange, ring, exchange))]


def _all_to_some(sources: int, targets: int) -> Callable[[int], list[Part]]:
    hosts = range(sources + targets)
    return lambda packets: [(hosts, many_to_some(sources, targets, max(1, packets // targets)), -1)]


CASES = (
    Case("leaf, ring all-reduce", 1, _one(ring_all_reduce, 8), 2 * 7 / 8),
    Case("leaf, halving-doubling all-reduce", 1, _one(halving_doubling, 8), 2 * 7 / 8),
    Case("leaf, all-to-all", 1, _one(pairwise, 8, 8), 7 / 8),
    Case("leaf, 7 to 1", 1, _all_to_some(7, 1), 1.0),
    Case("two leaves, ring all-reduce", 2, _one(ring_all_reduce, 16), 2 * 15 / 16),
    Case("two leaves, halving-doubling all-reduce", 2, _one(halving_doubling, 16), 2 * 15 / 16),
    Case("two leaves, all-to-all", 2, _one(pairwise, 16, 16), 15 / 16),
    Case("two leaves, 12 to 4", 2, _all_to_some(12, 4), 1.0),
    Case("two leaves, two jobs", 2, _jobs, 2 * 7 / 8),
    Case(
        "two leaves, ring with background",
        2,
        _one(ring_all_reduce, 16),
        2 * 15 / 16,
        background=True,
    ),
    Case("two leaves, four phases", 2, _phases, 2 * (2 * 15 / 16 + 15 / 16)),
)


class Cell(NamedTuple):
    """A case and a combination."""

    case: Case
    combination: Combination


@dataclass(frozen=True)
class Found:
    """What a cell came to: times in s, bandwidth in B/s, numbers of packets and pauses; nan: no bound, or not complete."""

    case: str
    mtu: int
    message: int
    pairs: int
    balance: str
    time: float
    lower: float
    upper: float
    bus_bandwidth: float
    pauses: int
    lost: int
    sent_again: int
    largest_queue: float


def fabric_of(case: Case, mtu: int) -> Fabric:
    """Return the topology: the spine of the second one stands as its 8 pairs of ports to the leaves, one switch each."""
    size = mtu + OVERHEAD
    graph: nx.Graph = leaf_spine(case.leaves, 8 if case.leaves > 1 else 1, hosts=8)
    rule = PFC(xoff=XOFF / size, xon=XON / size, counts="switch")
    return Fabric(graph, Cable(SPEED, "3m"), Cable(SPEED, "30m"), "4 MB", size, rule)


def _columns(parts: list[Part], pairs: int) -> tuple[Any, ...]:
    """Return source, target, packets, what each flow waits for, and a number that ECMP hashes, with a flow for each queue pair of each message."""
    rows: list[tuple[Any, ...]] = []
    first, ends, count = 0, [], 0
    for hosts, messages, before in parts:
        ranks, M = np.asarray(hosts), len(messages.source)
        after = np.where(messages.after == NONE, -1, messages.after)
        waits = np.where(
            after[..., np.newaxis] < 0,
            -1,
            first + after[..., np.newaxis] * pairs + np.arange(pairs),
        ).reshape(M, -1)
        if before >= 0:  # a part begins as all messages of the part before are complete
            waits = _joined(waits, messages, ends[before])
        sizes = messages.size[:, np.newaxis] // pairs + (np.arange(pairs) < messages.size[:, np.newaxis] % pairs)
        key = ranks[messages.source] * 64 + ranks[messages.target]
        rows.append((
            np.repeat(ranks[messages.source], pairs), np.repeat(ranks[messages.target], pairs), sizes.reshape(-1),
            np.repeat(waits, pairs, axis=0), np.repeat(key * 8, pairs) + np.tile(np.arange(pairs), M),
        ))  # fmt: skip
        last = messages.step == messages.step.max()
        ends.append((first + np.flatnonzero(last)[:, np.newaxis] * pairs + np.arange(pairs)).reshape(-1))
        first += M * pairs
        count = max(count, rows[-1][3].shape[1])
    waits = np.concatenate([np.pad(row[3], ((0, 0), (0, count - row[3].shape[1])), constant_values=-1) for row in rows])
    source, target, size, key = (np.concatenate([row[n] for row in rows]) for n in (0, 1, 2, 4))
    return source, target, size, waits, key


def _joined(waits: Any, messages: Messages, ends: Any) -> Any:
    """Return what messages wait for where those of the first step wait for the last flows of another part."""
    width = max(waits.shape[1], len(ends))
    found = np.full((len(waits), width), -1)
    found[:, : waits.shape[1]] = waits
    found[messages.step == 0, : len(ends)] = ends
    return found


def scenario_of(cell: Cell) -> Scenario:
    """Return the scenario of a cell: transfers at line rate from network interfaces under PFC."""
    case, given = cell
    fabric = fabric_of(case, given.mtu)
    source, target, size, waits, key = _columns(case.parts(given.message // given.mtu), given.pairs)
    hosts = fabric.hosts
    options: dict[str, Any] = {
        "source": FixedRate(), "links": fabric.links,
        "routes": "ecmp" if given.balance == "ECMP" else "spray",
    }  # fmt: skip
    flows = flows_from(
        [hosts[n] for n in source],
        [hosts[n] for n in target],
        sizes=size,
        **options,
        options=FlowOptions(host="nic", after=waits, entropy=key),
    )
    every: Any = [*flows, *_background(fabric, options)] if case.background else flows
    return fabric.scenario(case.name, every, END, min_rto=1e-3)


def _background(fabric: Fabric, options: dict[str, Any]) -> Flows:
    """Return a permutation that sends all the time, at a part of the rate of the hosts."""
    order = np.random.default_rng(1).permutation(len(fabric.hosts))
    ends = [fabric.hosts[n] for n in order], [fabric.hosts[n] for n in np.roll(order, 1)]
    rate = BACKGROUND * fabric.links[0].rate
    names = [f"background {n}" for n in range(len(order))]
    own = {**options, "source": FixedRate(sending_rate=rate), "options": FlowOptions(host="nic", names=names)}
    return flows_from(*ends, sizes=np.inf, **own)


def run_cell(cell: Cell) -> Found:
    """Run a cell."""
    case, given = cell
    scenario = scenario_of(cell)
    lower = completion_bounds(scenario).job
    end = LONGEST * lower + 1e-4
    scenario = replace(scenario, duration=end)
    recovery: Any = "go-back-n" if given.balance == "ECMP" else SelectiveRepair(reordering=256)
    run = simulate(scenario, Packets(seed=1, recovery=recovery, max_cpu_time=120.0), sample=end)
    table = scenario.table
    finite = np.isfinite(table.numbers("size"))
    done = float(run.finished[finite].max()) if np.isfinite(run.finished[finite]).all() else np.nan
    packets = float(table.numbers("size")[finite].sum())
    again = int(run.emitted[finite].sum() - packets)
    lost, pauses = int(run.lost.sum()), int(run.pauses().sizes["pause"])
    data = given.message // given.mtu * given.mtu
    return Found(
        case.name, *given, done, lower, job_completion(run).upper,
        case.factor * data / done, pauses, lost, again, float(run.peak_queue.max()),
    )  # fmt: skip


def cells(name: str | None = None) -> list[Cell]:
    """Return the cells of a case, or all."""
    return [Cell(case, each) for case in CASES if name in (None, case.name) for each in MATRIX]


def main(
    case: Annotated[str | None, typer.Option(help="Only the cells of this case.")] = None,
    keep: Annotated[bool, typer.Option("--save", help="Write results/collective_plan.csv and .md.")] = False,
) -> None:
    """Run the plan and print its table."""
    began = time.process_time()
    found = [run_cell(cell) for cell in tqdm(cells(case), desc="plan")]
    seconds = time.process_time() - began
    if keep:
        names = [field.name for field in fields(Found)]
        lines = ([_text(getattr(row, name)) for name in names] for row in found)
        write_rows(RESULTS / "collective_plan.csv", names, lines)
    text = page(found, seconds)
    print(text)
    if keep:
        (RESULTS / "collective_plan.md").write_text(text)


def _text(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def page(found: Sequence[Found], seconds: float) -> str:
    """Return the table by case: the least and the largest of the 18 combinations with ECMP and with spraying."""
    rows = [
        "| Case | Routes | Time (us) | Time over lower bound | Upper bound over time | Bus bandwidth (GB/s) | Pauses | Sent again | Largest queue (packets) |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for case, balance in itertools.product(CASES, BALANCES):
        own = [row for row in found if (row.case, row.balance) == (case.name, balance)]
        if not own:
            continue
        upper = [row.upper / row.time for row in own if np.isfinite(row.upper)]
        rows.append(" | ".join((
            f"| {case.name} | {balance}", _range([1e6 * row.time for row in own]), _range([row.time / row.lower for row in own]),
            _range(upper) if upper else "-", _range([1e-9 * row.bus_bandwidth for row in own]), _range([row.pauses for row in own]),
            _range([row.sent_again for row in own]), _range([row.largest_queue for row in own]) + " |",
        )))  # fmt: skip
    note = f"{len(found)} cells in {seconds:.0f} s of CPU time on {this_machine().processor}."
    rows += ["", note]
    return "\n".join(rows) + "\n"


def _range(values: Sequence[float]) -> str:
    low, high = (f"{each:.4g}" for each in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


if __name__ == "__main__":
    typer.run(main)
