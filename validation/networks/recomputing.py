"""Bundled runs of ns-2, computed again by hopflow's packet level and compared packet for packet.

The runs are divided into `PARTS` whose sizes differ by at most one, in the order of their hashes; a day has the
part of its date, so that all are computed again within as many days.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dfcmodel import Packets
from hopflow.checks import integer
from validation import evidence
from validation.judgements.keeping import hash_of, kept
from validation.manifest import MANIFEST_SHA256
from validation.networks import packet_networks, random_packet_networks
from validation.networks.packet_networks import SAMPLE, sample_hash, scenario_of
from validation.networks.random_packet_networks import random_network

if TYPE_CHECKING:
    import pandas as pd

    from dfcmodel import Scenario

CASES = {
    "packets/dumbbells-ns2": ("dumbbell", False),
    "packets/parking-lots-ns2": ("parking lot", False),
    "packets/delayed-acks-ns2": ("dumbbell", True),
    "packets/takano2006-ns2": ("takano2006", False),
}
"""The cases, their topologies, and whether receivers delay ACKs."""
RANDOM = "packets/random-networks-ns2"
"""The case of random networks, whose flows have recoveries and receivers of their own."""
PARTS = 24
"""Into which the runs are divided."""


@dataclass(frozen=True)
class Run:
    """A run of a bundled case.

    Attributes
    ----------
    case
        Its name, ``paper/case``.
    recovery
        ``"tahoe"``, ``"reno"``, ``"newreno"`` or ``"sack"``; ``"mixed"`` in random networks.
    size
        Pairs of a dumbbell, long flows of a parking lot, number of a scenario of takano2006, flows of a random network.
    seed
        Of ns-2's default generator and of the starts; 0: neither is drawn. Of a random network: which it is.
    """

    case: str
    recovery: str
    size: int
    seed: int

    def rows(self, name: str) -> pd.DataFrame:
        """Return its rows of a table of the case."""
        table = evidence.frame(self.case, name)
        for column in ("seed",) if self.case == RANDOM else ("recovery", "size", "seed"):
            table = table[table[column] == getattr(self, column)]
        return table

    def network(self) -> tuple[Scenario, Packets]:
        """Return its scenario and the method of the packet level."""
        if self.case == RANDOM:
            return random_network(self.seed)
        topology, delayed = CASES[self.case]
        scenario = scenario_of({**vars(self), "topology": topology, "delayed": delayed})
        return scenario, Packets(convention="ns2", recovery=self.recovery, seed=self.seed or None)


@dataclass(frozen=True)
class Recomputed:
    """A bundled run beside the same by hopflow's packet level.

    Attributes
    ----------
    run
        Which.
    packets
        Packets acknowledged in ns-2.
    differences
        What is not equal: of final acknowledgements, packets sent, timeouts, drops of links, windows and
        acknowledgements of all samples, and the acknowledgements at ten times that random networks have; empty: nothing.
    """

    run: Run
    packets: int
    differences: tuple[str, ...]


def runs() -> tuple[Run, ...]:
    """Return the bundled runs that the packet level can repeat exactly.

    Examples
    --------
    >>> from validation.networks.recomputing import runs
    >>> len(runs())
    412
    """
    found = []
    for case in CASES:
        rows = evidence.frame(case, "flows")[["recovery", "size", "seed"]].drop_duplicates()
        found += [
            Run(case, str(recovery), int(size), int(seed))
            for recovery, size, seed in rows.itertuples(index=False, name=None)
        ]
    flows = evidence.frame(RANDOM, "networks")[["seed", "flows"]]
    found += [Run(RANDOM, "mixed", int(size), int(seed)) for seed, size in flows.itertuples(index=False, name=None)]
    return tuple(found)


def part_of(day: dt.date) -> int:
    """Return the part of a day.

    Examples
    --------
    >>> import datetime
    >>> from validation.networks.recomputing import PARTS, part_of
    >>> day = datetime.date(2026, 3, 1)
    >>> (part_of(day + datetime.timedelta(1)) - part_of(day)) % PARTS
    1
    """
    return day.toordinal() % PARTS


def parts_of(text: str) -> range:
    """Return the parts that ``"all"``, ``"none"``, ``"today"`` or a number stands for.

    Raises
    ------
    ValueError
        For any other text.

    Examples
    --------
    >>> from validation.networks.recomputing import parts_of
    >>> parts_of("3"), parts_of("none")
    (range(3, 4), range(0, 0))
    """
    if text in ("all", "none"):
        return range(PARTS if text == "all" else 0)
    part = part_of(dt.datetime.now(dt.UTC).date()) if text == "today" else text
    if str(part).isdecimal() and int(part) < PARTS:
        return range(int(part), int(part) + 1)
    raise ValueError(f"recompute = {text!r}: must be today, all, none or a part, 0 to {PARTS - 1}")


def recompute(parts: Iterable[int]) -> Iterator[Recomputed]:
    """Compute the runs of some parts again and yield how they compare.

    Parameters
    ----------
    parts
        Which, 0 to `PARTS` - 1.

    Raises
    ------
    ValueError
        When there is no such part.

    Examples
    --------
    >>> from validation.networks.recomputing import recompute
    >>> list(recompute([24]))
    Traceback (most recent call last):
    ...
    ValueError: part = 24: must be a whole number in 0..23
    """
    wanted = [integer("part", part, 0, PARTS - 1) for part in parts]
    sources = [__file__, str(packet_networks.__file__), str(random_packet_networks.__file__)]
    made_from = f"{MANIFEST_SHA256} {hash_of([Path(source) for source in sources])}"
    ordered = sorted(runs(), key=_hash)
    return (_compared(run, made_from) for part in wanted for run in ordered[part::PARTS])


def _hash(run: Run) -> str:
    return hashlib.sha256(repr(run).encode()).hexdigest()


@kept
def _compared(run: Run, made_from: str) -> Recomputed:  # noqa: ARG001
    """Compare a run; kept as long as the models and ``made_from``, data and this module, stay."""
    return compare(run)


def compare(run: Run) -> Recomputed:
    """Compute a run by the packet level under ns-2's conventions, and compare it with ns-2."""
    from dfcmodel.packets.engine import run_engine
    from dfcmodel.packets.simulation import plan_scenario

    scenario, method = run.network()
    plan = plan_scenario(scenario, method, duration=scenario.duration, sample=SAMPLE)
    found = run_engine(plan)
    flows = run.rows("flows").sort_values("flow")
    numbers = list(flows["flow"])  # CBR flows have no row
    nodes = {node: n for n, node in enumerate(scenario.nodes)}
    links = run.rows("links")
    drops = dict(zip(zip(links["from"], links["to"], strict=True), links["drops"], strict=True))
    own = {
        (nodes[port.source], nodes[port.target]): n for port, n in zip(plan.ports, found.drops, strict=True) if n > 0
    }
    samples = [sample_hash(found.window[:, f], found.acked[:, f], scenario.flows[f].size) for f in numbers]
    equal = {
        "final acknowledgements": list(found.acked[-1, numbers]) == list(flows["acknowledged"]),
        "packets sent": list(found.emitted[numbers]) == list(flows["sent"]),
        "timeouts": list(found.timeouts[numbers]) == list(flows["timeouts"]),
        "drops": own == drops,
        "windows and acknowledgements over time": samples == list(flows["samples"]),
    }
    if run.case == RANDOM:
        acks = run.rows("acks")
        at = (acks["time"] / SAMPLE).round().astype(int) - 1
        equal["acknowledgements at ten times"] = list(found.acked[at, acks["flow"]]) == list(acks["acknowledged"])
    differences = tuple(name for name, same in equal.items() if not same)
    return Recomputed(run, int(flows["acknowledged"].sum()), differences)


def about(found: Iterable[Recomputed], parts: Iterable[int]) -> dict[str, Any]:
    """Return what was computed again, as in ``recomputed.json`` of a report."""
    found = list(found)
    return {
        "parts": list(parts),
        "of_parts": PARTS,
        "runs": [vars(each.run) | {"differences": list(each.differences)} for each in found],
        "of_runs": len(runs()),
        "packets": sum(each.packets for each in found),
    }
