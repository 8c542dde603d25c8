"""Random networks with PFC and no option set: leaves and spines, and chains, at rates from 10 Gb/s to 3.2 Tb/s.

Nothing may be lost in them, as their routes go up and down only, or along a line: no buffers wait for each other in a
circle. `draw_lossless_network` draws one network, `check_lossless` runs it at both levels.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import dfcmodel as dfc
from dfcmodel.network.endpoints.sources import Source
from dfcmodel.results import Trajectory
from hopflow import Status
from responsefn import CUBIC, DCQCN, DCTCP, TIMELY, NewReno, PatchedTIMELY, Prague, Swift

KINDS = ("leaf-spine", "chain")
GIGABITS = (10.0, 25.0, 40.0, 50.0, 100.0, 200.0, 400.0, 24.0, 16.0, 64.0, 112.0, 333.0)
"""Rates of hosts, those of the standard and others, Gb/s."""
DELAYS = (0.3e-6, 20e-6)
PACKETS = (1000.0, 1024.0, 1500.0, 4096.0, 9000.0)
"""Bytes of packets."""
BUFFERS = (
    1e6,
    dfc.ByteBuffer("8 GB"),
    dfc.ByteBuffer("8 GB", cell=80),
    dfc.ByteBuffer("8 GB", cell=208),
)
"""More than all rooms of a network drawn here."""
SAMPLES = 100
"""Of a run."""
LAST_PART = 0.25
"""Part of a run in which something must move."""


def draw_lossless_network(seed: int, number: int, *, fluid: bool = False) -> dfc.Scenario:
    """Return network ``number`` of a seed: hosts at switches, PFC with its defaults, and flows of every kind of source.

    Odd numbers are chains. ACKs are in the control class, or, in every third network, in the class of their flow. With
    ``fluid`` all sources are those that the fluid has.

    Examples
    --------
    >>> drawn = draw_lossless_network(1, 0)
    >>> drawn.name, drawn.links[0].discipline.headroom
    ('leaf-spine 1/0', None)
    """
    rng = np.random.default_rng([43, seed, number])
    kind = KINDS[number % len(KINDS)]
    size = float(rng.choice(PACKETS))
    rate = float(rng.choice(GIGABITS)) * 1e9 / (8.0 * size)
    switches, lines = _leaf_spine(rng) if kind == "leaf-spine" else _chain(rng)
    per = int(rng.integers(2, 6))
    hosts = {f"h{n}": switches[n % len(switches)] for n in range(per * len(switches))}
    up = rate * float(rng.choice([1.0, 1.0, 2.0, 4.0, 8.0]))
    near, far = (float(np.exp(rng.uniform(*np.log(DELAYS)))) for _ in range(2))
    ends = [(host, at, rate, near) for host, at in hosts.items()]
    ends += [(*line, up, far) for line in lines]
    classes = [(0,), (3,), (0, 3)][rng.integers(3)]
    acks = "class" if number % 3 == 2 else "control"
    counts = ["output", "switch"][rng.integers(2)]
    manager = dfc.RampMarking() if rng.integers(2) and acks == "control" else None
    rule = dfc.PFC(classes, counts=counts, acks=acks, manager=manager)
    buffer = BUFFERS[rng.integers(len(BUFFERS))]
    links = [
        dfc.Link(*way, speed, delay * rng.uniform(0.8, 1.2), buffer, rule)
        for a, b, speed, delay in ends
        for way in ((a, b), (b, a))
    ]
    trip = 2.0 * (2.0 * near + len(switches) * far)
    flows = _flows(rng, _Topology(hosts, lines, rate, trip), classes, fluid)
    duration = 6.0 * trip + 4000.0 / rate
    name = f"{kind} {seed}/{number}"
    return dfc.Scenario(name, tuple(links), tuple(flows), duration=duration, packet_size=size)


@dataclass(frozen=True)
class Outcome:
    """How a network ended at one level.

    Attributes
    ----------
    name, level, status
        Of the network, ``"packets"`` or ``"fluid"``, and the label of the status.
    lost
        Packets and ACKs lost in lossless classes.
    sent
        Packets that entered the network.
    moves
        Whether something was delivered in the last quarter of the run, or nothing was left to be.
    pauses
        Number of pauses.
    """

    name: str
    level: str
    status: str
    lost: float
    sent: float
    moves: bool
    pauses: int

    @property
    def holds(self) -> bool:
        """Whether nothing was lost, and the run is completed and moved."""
        return self.lost == 0.0 and self.moves and self.status == Status.COMPLETED.label


def check_lossless(scenario: dfc.Scenario, *, fluid: bool = False) -> Outcome:
    """Run a network in packets, or as a fluid.

    Examples
    --------
    >>> check_lossless(draw_lossless_network(1, 1)).holds
    True
    """
    method = dfc.Fluid() if fluid else dfc.Packets(seed=1)
    run: Trajectory = dfc.simulate(scenario, method, sample=scenario.duration / SAMPLES)
    late = int(len(run.time) * (1.0 - LAST_PART))
    moved = run.delivered[:, -1].sum() > run.delivered[:, late].sum()
    done = run.inside is not None and run.inside.sum() == 0.0
    emitted = 0.0 if run.emitted is None else float(run.emitted.sum())
    lost = sum(loss.packets + loss.acks for loss in run.lossless_losses)
    lost = max(lost, float(run.lost.sum()))  # all classes are lossless
    return Outcome(
        run.scenario.name, "fluid" if fluid else "packets", run.status.label, lost, emitted,
        bool(moved or done), 0 if run.paused is None else len(run.paused),
    )  # fmt: skip


def _leaf_spine(rng: np.random.Generator) -> tuple[list[str], list[tuple[str, str]]]:
    """Return leaves, to which hosts are connected, and the lines between leaves and the spine."""
    leaves = [f"leaf{n}" for n in range(int(rng.integers(1, 4)))]
    return leaves, [(leaf, "spine") for leaf in leaves] if len(leaves) > 1 else []


def _chain(rng: np.random.Generator) -> tuple[list[str], list[tuple[str, str]]]:
    """Return switches in a line, and the lines between them."""
    switches = [f"s{n}" for n in range(int(rng.integers(2, 6)))]
    return switches, list(itertools.pairwise(switches))


def _between(a: str, b: str, lines: list[tuple[str, str]]) -> tuple[str, ...]:
    """Return the switches from one to another."""
    if a == b:
        return (a,)
    if ("leaf0", "spine") in lines:
        return (a, "spine", b)
    m, n = int(a[1:]), int(b[1:])
    step = 1 if n > m else -1
    return tuple(f"s{k}" for k in range(m, n + step, step))


class _Topology(NamedTuple):
    """Switches of hosts, lines between switches, the rate of hosts in packets/s, and the longest round-trip time in s."""

    hosts: dict[str, str]
    lines: list[tuple[str, str]]
    rate: float
    trip: float


def _flows(rng: np.random.Generator, topology: _Topology, classes: tuple[int, ...], fluid: bool) -> list[dfc.Flow]:
    """Return 4 to 24 flows in both directions, half of them to a common host."""
    hosts, lines, rate, trip = topology
    names, found = list(hosts), []
    target = str(rng.choice(names))
    for f in range(int(rng.integers(4, 25))):
        a, b = rng.choice(names, 2, replace=False).tolist()
        if rng.integers(2) and a != target:
            b = target
        found.append(
            dfc.Flow(
                f"{f}: {a} to {b}", (a, *_between(hosts[a], hosts[b], lines), b), _source(rng, rate, fluid),
                max_window=math.ceil(4.0 * rate * trip) + 100.0,
                start=float(rng.uniform(0.0, 0.5 * trip)),
                size=float(rng.integers(10, 1000)) if rng.integers(2) else np.inf,
                priority=int(rng.choice(classes)),
            )
        )  # fmt: skip
    return found


def _source(rng: np.random.Generator, line: float, fluid: bool) -> Source:
    """Return a source of any kind, at most at the rate of its line."""
    on, off = rng.uniform(100.0, 1000.0, 2) / line
    load = line * rng.uniform(0.2, 1.0)
    kinds: list[Any] = [
        dfc.CBR(load), dfc.OnOff(line, on, off, random=bool(rng.integers(2))), NewReno(), CUBIC(), DCTCP(), DCQCN(), TIMELY(),
        PatchedTIMELY(),
    ]  # fmt: skip
    if not fluid:
        kinds += [
            dfc.Poisson(load),
            dfc.HeavyTailed(load, mean_burst=20.0, tail=1.5),
            Swift(),
            Prague(),
        ]
    source: Source = kinds[rng.integers(len(kinds))]
    return source
