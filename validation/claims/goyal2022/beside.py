"""BFC beside control between ends: tail latency of short flows (B03), buffer in use (B04)."""

from __future__ import annotations

import functools
from collections.abc import Collection, Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dfcmodel import (
    BFC,
    INT,
    Cable,
    Fabric,
    Flow,
    FlowOptions,
    Packets,
    TrafficOptions,
    flows_from,
    random_traffic,
    simulate,
)
from dfcmodel.lossless import leaf_spine
from responsefn import HPCC, FixedRate
from validation.claims import fabric_runs
from validation.claims.effect_statements import Curve, Effects, Statement
from validation.networks.further_seeds import CASE, LATER, over_seeds
from validation.statistics import of_runs

LOAD = 0.55
TRAFFIC, END = 5e-4, 4e-3
"""How long flows arrive, and the end of the run, s."""
SAMPLE = 5e-6
INCASTS, SENDERS, RESPONSE = 4, 12, 40
"""Incasts in the traffic, evenly spaced, the senders of each, and packets of each of these."""
PAPER_SENDERS, PAPER_RESPONSE, PAPER_BUFFER = 100, 200, 12.0
"""Flows and packets of each of the paper's incasts, 20 MB in all, and the buffer of its switches, MB."""
SHORT = 10
"""Packets of the longest flow that counts as short."""
BASE = 9e-6
"""Round trip of an empty fabric, s."""
SCHEMES = ("BFC", "DCQCN and PFC", "HPCC")
RULES: dict[str, Any] = {
    SCHEMES[0]: BFC(),
    SCHEMES[1]: fabric_runs.pfc(manager=fabric_runs.MARKS),
    SCHEMES[2]: INT(),
}
SOURCES = {SCHEMES[0]: FixedRate(), SCHEMES[1]: fabric_runs.ROCE, SCHEMES[2]: HPCC(base_rtt=BASE)}


@functools.cache
def fabric(scheme: str) -> Fabric:
    """Return a leaf-spine fabric of 16 hosts, with links of 100 Gb/s and 1 us and 2 MB at each port."""
    cable = Cable("100Gbps", "200m")
    return Fabric(
        leaf_spine(4, 4, hosts=4),
        cable,
        cable,
        buffer="2 MB",
        packet_size=fabric_runs.PACKET,
        discipline=RULES[scheme],
    )


def traffic(scheme: str, seed: int) -> list[Flow]:
    """Return flows of published sizes between random hosts, and incasts whose names begin with "incast"."""
    network = fabric(scheme)
    given: dict[str, Any] = {
        "source": SOURCES[scheme],
        "links": network.links,
        "routes": "ecmp",
    }
    options = TrafficOptions(seed=seed, packet_size=fabric_runs.PACKET, host="nic")
    flows = list(random_traffic(network.hosts, "hadoop", LOAD, TRAFFIC, **given, options=options))
    random = np.random.default_rng(seed)
    for n in range(INCASTS):
        target, *others = random.permutation(len(network.hosts)).tolist()
        flows += flows_from(
            [network.hosts[a] for a in others[:SENDERS]], [network.hosts[target]] * SENDERS, sizes=RESPONSE,
            starts=(n + 0.5) / INCASTS * TRAFFIC, **given,
            options=FlowOptions(host="nic", names=[f"incast {n}.{k}" for k in range(SENDERS)]),
        )  # fmt: skip
    return flows


def _waiting(run: Any, hosts: Collection[Hashable]) -> NDArray[np.float64]:
    """Return the packets that wait at each switch, at all of its ports together, shape (switches, samples)."""
    waiting: NDArray[np.float64] = run.queued[[n for n, node in enumerate(run.scenario.senders) if node not in hosts]]
    return waiting


@over_seeds(fabric_runs.SEEDS)
def measured(seed: int, scheme: str) -> tuple[float, float]:
    """Return the 99th percentile of slowdowns of short flows outside of incasts, and that of the packets that wait at a switch."""
    flows = traffic(scheme, seed)
    run = simulate(
        fabric(scheme).scenario("beside", flows, END, min_rto=1e-3),
        Packets(seed=seed),
        sample=SAMPLE,
    )
    short = np.array([flow.size <= SHORT and not flow.name.startswith("incast") for flow in flows])
    slow = run.completion_times()["slowdown"].to_numpy()[short]
    if not np.isfinite(slow).all():
        raise RuntimeError(f"{scheme}, seed {seed}: short flows are not complete after {END:g} s")
    inside = _waiting(run, fabric(scheme).hosts)[:, run.time <= TRAFFIC]
    return float(np.quantile(slow, 0.99)), float(np.quantile(inside, 0.99))


@over_seeds(fabric_runs.SEEDS)
def largest_in_incast(seed: int) -> float:
    """Return the most MB that wait at one switch while `PAPER_SENDERS` flows of `PAPER_RESPONSE` packets go to one host under BFC."""
    cable = Cable("100Gbps", "200m")
    network = Fabric(
        leaf_spine(4, 4, hosts=4),
        cable,
        cable,
        buffer="12 MB",
        packet_size=fabric_runs.PACKET,
        discipline=BFC(),
    )
    target, *others = np.random.default_rng(seed).permutation(len(network.hosts)).tolist()
    sources = [network.hosts[others[n % len(others)]] for n in range(PAPER_SENDERS)]
    flows = flows_from(
        sources,
        [network.hosts[target]] * PAPER_SENDERS,
        sizes=PAPER_RESPONSE,
        starts=fabric_runs.starts(PAPER_SENDERS, seed),
        source=FixedRate(),
        links=network.links,
        routes="ecmp",
        options=FlowOptions(host="nic"),
    )
    run = simulate(network.scenario("incast", flows, END, min_rto=1e-3), Packets(seed=seed), sample=SAMPLE)
    if not np.isfinite(run.finished).all():
        raise RuntimeError(f"seed {seed}: the incast is not complete after {END:g} s")
    return float(_waiting(run, network.hosts).max() * fabric_runs.PACKET / 1e6)


def _column(scheme: str, which: int) -> Any:
    return np.array(measured(scheme))[:, which]


def _curve(which: int) -> Curve:
    return Curve(SCHEMES, level=[of_runs(_column(scheme, which)) for scheme in SCHEMES])


@fabric_runs.on_fabrics("B03", cases=(CASE,), least=1.3)
def tail_latency() -> Effects:
    """Compare the tail of short flows under BFC with that under control between ends."""
    ratios = [fabric_runs.gain(_column(scheme, 0), _column(SCHEMES[0], 0)) for scheme in SCHEMES[1:]]
    return Effects(
        {"tail": Statement(level=fabric_runs.over(*ratios))},
        {"99th percentile of slowdowns": _curve(0)},
        ("scheme", "slowdown"),
    )


@fabric_runs.on_fabrics("B04", cases=(CASE, LATER), also={"buffer": PAPER_BUFFER})
def buffer_in_use() -> Effects:
    """Compare the buffer in use under BFC with that under control between ends."""
    ratios = [fabric_runs.gain(_column(scheme, 1), _column(SCHEMES[0], 1)) for scheme in SCHEMES[1:]]
    largest = of_runs(largest_in_incast())
    return Effects(
        {
            "buffer": Statement(level=tuple(ratios)),
            "incast": Statement(level=fabric_runs.under(largest, threshold="buffer")),
        },
        {"99th percentile of the packets at a switch": _curve(1)},
        ("scheme", "packets"),
        values={"largest": largest},
    )
