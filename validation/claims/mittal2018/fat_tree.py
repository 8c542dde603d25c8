"""IRN and RoCE, with and without PFC, on the paper's fat tree (I01 to I05)."""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from dfcmodel import (
    FIFO,
    Cable,
    Fabric,
    Flows,
    FlowSizes,
    Packets,
    SelectiveRepair,
    TrafficOptions,
    incast,
    random_traffic,
    simulate,
    slowdowns,
)
from dfcmodel.lossless import fat_tree
from responsefn import FixedRate
from validation.claims import fabric_runs
from validation.claims.effect_statements import Curve, Effects, Statement
from validation.judgements.keeping import kept
from validation.networks.further_seeds import CASE, LATER, over_seeds
from validation.statistics import Estimate, of_runs

SIZES = FlowSizes("IRN", (32, 1000, 200e3, 3e6), (0.0, 0.5, 0.85, 1.0))
"""Half of the flows have a packet, 15 % of them 200 kB to 3 MB."""
LOAD = 0.7
TRAFFIC, END = 5e-4, 1.6e-2
"""How long flows arrive, and the end of the run, s."""
LONG_TRAFFIC, WITH_LONG_TRAFFIC = 2e-3, "2 ms of arrivals"
"""How long flows arrive in runs in which the fabric fills, s, and the name of this reading."""
BOUND = 120
"""Packets in flight: the product of bandwidth and delay of the longest path."""
REPAIR = SelectiveRepair(rto_low=100e-6, rto_high=320e-6)
MIN_RTO = 320e-6
DRAWN = (101, 102, 103)
"""Seeds of the traffic that are run; further ones are bundled."""
REQUEST = 15_000
"""Packets of the request of an incast."""
SENDERS = (10, 20, 30)
PAPER_REQUEST, PAPER_SENDERS, PAPER_END = 150_000, (10, 20, 30, 40, 50), 0.1
"""Packets and senders of the paper's incasts, and the end of such a run, s."""


class Transport(NamedTuple):
    """What hosts and switches do: PFC, selective repair, a bound on packets in flight."""

    pauses: bool
    selective: bool
    bounded: bool


IRN = Transport(pauses=False, selective=True, bounded=True)
ROCE = Transport(pauses=True, selective=False, bounded=False)
IRN_PFC = IRN._replace(pauses=True)
LOSSY_ROCE = ROCE._replace(pauses=False)
UNBOUNDED = IRN._replace(bounded=False)


@functools.cache
def fabric(pauses: bool) -> Fabric:
    """Return the fat tree, whose ports hold 240 kB, with PFC at 220 kB or without it."""
    cable = Cable("40Gbps", "400m")
    rule: Any = fabric_runs.pfc(220.0) if pauses else FIFO()
    buffer = "300 kB" if pauses else "240 kB"
    return Fabric(fat_tree(6), cable, cable, buffer=buffer, packet_size=fabric_runs.PACKET, discipline=rule)


def run(transport: Transport, flows: Flows, seed: int, end: float = END) -> Any:
    """Return a run of flows with a transport at packet level, until ``end`` s."""
    scenario = fabric(transport.pauses).scenario("IRN", flows, end, min_rto=MIN_RTO)
    recovery: Any = REPAIR if transport.selective else "go-back-n"
    return simulate(scenario, Packets(seed=seed, recovery=recovery), sample=end)


def _options(transport: Transport, **drawn: Any) -> dict[str, Any]:
    links = fabric(transport.pauses).links
    bound = {"max_window": BOUND} if transport.bounded else {}
    options = TrafficOptions(host="nic", **bound, **drawn)
    return {"source": FixedRate(), "links": links, "routes": "ecmp", "options": options}


@over_seeds(DRAWN)
def random_runs(seed: int, transport: tuple[bool, bool, bool]) -> tuple[float, float, float]:
    """Return mean slowdown, 99th percentile of completion times (s), and the part of flows that are complete."""
    chosen = Transport(*transport)
    hosts = fabric(chosen.pauses).hosts
    flows = random_traffic(hosts, SIZES, LOAD, TRAFFIC, **_options(chosen, seed=seed, packet_size=fabric_runs.PACKET))
    records = run(chosen, flows, seed)
    slow = slowdowns(records)
    times = records.finished - np.array([flow.start for flow in flows])
    times = np.where(np.isfinite(times), times, END)
    done = 1.0 - slow.unfinished / len(flows)
    return float(slow.values.mean()), float(np.quantile(times, 0.99)), done


@over_seeds(fabric_runs.SEEDS)
def long_runs(seed: int, transport: tuple[bool, bool, bool]) -> list[float]:
    """Return mean slowdown, mean and 99th percentile of completion times (s), and the part of flows that are complete.

    Of `LONG_TRAFFIC`. A flow that is not complete at the end counts as complete then in times, and not at all in slowdowns.
    """
    chosen = Transport(*transport)
    hosts = fabric(chosen.pauses).hosts
    flows = random_traffic(
        hosts, SIZES, LOAD, LONG_TRAFFIC, **_options(chosen, seed=seed, packet_size=fabric_runs.PACKET)
    )
    records = run(chosen, flows, seed)
    slow = slowdowns(records)
    begins = np.array([flow.start for flow in flows])
    times = np.where(np.isfinite(records.finished), records.finished, END) - begins
    done = 1.0 - slow.unfinished / len(flows)
    return [float(slow.values.mean()), float(times.mean()), float(np.quantile(times, 0.99)), done]


NAMES = {
    IRN: "IRN",
    ROCE: "RoCE and PFC",
    IRN_PFC: "IRN and PFC",
    LOSSY_ROCE: "RoCE",
    UNBOUNDED: "IRN without bound",
}


def _curves(*transports: Transport) -> dict[str, Curve]:
    found = {NAMES[each]: np.array(random_runs(each)) for each in transports}
    return {"mean slowdown": Curve(list(found), level=[of_runs(each[:, 0]) for each in found.values()])}


def _worse(one: Transport, other: Transport, what: int = 0) -> Estimate:
    """Return how much larger mean slowdowns, or 99th percentiles, are with one transport than with another."""
    larger, smaller = (np.array(random_runs(each))[:, what] for each in (one, other))
    both = min(len(larger), len(smaller))
    return fabric_runs.gain(larger[:both], smaller[:both])


def _worse_for_long(one: Transport, other: Transport, what: int = 0) -> Estimate:
    """Return how much larger a measure of `long_runs` is with one transport than with another."""
    larger, smaller = (np.array(long_runs(each))[:, what] for each in (one, other))
    return fabric_runs.gain(larger, smaller)


AXES = ("transport", "slowdown")


@fabric_runs.on_fabrics("I01", cases=(CASE, LATER))
def irn_and_roce() -> Effects:
    """Compare IRN without PFC with RoCE with it."""
    better, tail = _worse(ROCE, IRN), _worse(ROCE, IRN, 1)
    return Effects(
        {"better": Statement(level=(better,)), "tail": Statement(level=(tail,))},
        _curves(IRN, ROCE),
        AXES,
        values={
            "better": better,
            "tail": tail,
            "draws": min(map(len, map(random_runs, (ROCE, IRN)))),
            "long": [_worse_for_long(ROCE, IRN, what) for what in range(3)],
        },
        readings={
            WITH_LONG_TRAFFIC: {
                "better": Statement(level=(_worse_for_long(ROCE, IRN),)),
                "tail": Statement(level=(_worse_for_long(ROCE, IRN, 2),)),
            }
        },
    )


@fabric_runs.on_fabrics("I02", cases=(CASE, LATER))
def irn_with_pfc() -> Effects:
    """Compare IRN with PFC and without."""
    worse, long = _worse(IRN_PFC, IRN), _worse_for_long(IRN_PFC, IRN)
    return Effects(
        {"worse": Statement(level=(worse,))},
        _curves(IRN, IRN_PFC),
        AXES,
        values={"worse": worse, "long": long},
        readings={WITH_LONG_TRAFFIC: {"worse": Statement(level=(long,))}},
    )


@fabric_runs.on_fabrics("I03", cases=(CASE, LATER))
def roce_without_pfc() -> Effects:
    """Compare RoCE without PFC and with it."""
    metrics = dict(zip(("slowdown", "completion", "tail"), range(3), strict=True))
    long = {key: _worse_for_long(LOSSY_ROCE, ROCE, what) for key, what in metrics.items()}
    runs = {NAMES[each]: np.array(long_runs(each)) for each in (LOSSY_ROCE, ROCE)}
    return Effects(
        {"needs": Statement(level=(_worse(LOSSY_ROCE, ROCE),))}
        | {key: Statement(level=(each,)) for key, each in long.items()},
        {
            "mean slowdown": Curve(list(runs), level=[of_runs(each[:, 0]) for each in runs.values()]),
            "mean completion (ms)": Curve(list(runs), level=[of_runs(1e3 * each[:, 1]) for each in runs.values()]),
            "99th percentile of completion (ms)": Curve(
                list(runs), level=[of_runs(1e3 * each[:, 2]) for each in runs.values()]
            ),
        },
        ("transport", "slowdown or ms"),
        values={"long": long, "complete": {name: float(each[:, 3].min()) for name, each in runs.items()}},
    )


@fabric_runs.on_fabrics("I04", cases=(CASE, LATER))
def parts_of_irn() -> Effects:
    """Compare selective repair with go-back-N, and with a bound on packets in flight and without."""
    seen = {"selective": _worse(LOSSY_ROCE, UNBOUNDED), "bound": _worse(UNBOUNDED, IRN)}
    long = {"selective": _worse_for_long(LOSSY_ROCE, UNBOUNDED), "bound": _worse_for_long(UNBOUNDED, IRN)}
    return Effects(
        {name: Statement(level=(each,)) for name, each in seen.items()},
        _curves(IRN, UNBOUNDED, LOSSY_ROCE),
        AXES,
        values=seen,
        readings={WITH_LONG_TRAFFIC: {name: Statement(level=(each,)) for name, each in long.items()}},
    )


def requested(transport: Transport, size: int, count: int, seed: int, end: float) -> float:
    """Return when the last flow of a request of ``size`` packets from ``count`` drawn senders is complete, s."""
    hosts = fabric(transport.pauses).hosts
    receiver, *senders = (hosts[n] for n in np.random.default_rng(seed).permutation(len(hosts))[: count + 1].tolist())
    flows = incast(senders, receiver, sizes=math.ceil(size / count), **_options(transport))
    return float(run(transport, flows, seed, end).finished.max())


@over_seeds(fabric_runs.SEEDS)
def request_times(seed: int, transport: tuple[bool, bool, bool]) -> list[float]:
    """Return when the last flow of a tenth of the paper's request is complete, s, by the number of senders."""
    return [requested(Transport(*transport), REQUEST, count, seed, END) for count in SENDERS]


@over_seeds(fabric_runs.SEEDS)
def excesses(seed: int) -> list[float]:
    """Return the relative excess of IRN's completion of the paper's request over the link's time, by the number of senders."""
    rate = fabric_runs.line(40)
    needed = [count * math.ceil(PAPER_REQUEST / count) / rate for count in PAPER_SENDERS]
    times = (requested(IRN, PAPER_REQUEST, count, seed, PAPER_END) for count in PAPER_SENDERS)
    return [time / least - 1.0 for time, least in zip(times, needed, strict=True)]


@kept
def roce_of_paper_size() -> list[float]:
    """Return RoCE's completion of the paper's request over the link's time, less one, of one run for each number of senders."""
    rate = fabric_runs.line(40)
    return [
        requested(ROCE, PAPER_REQUEST, count, fabric_runs.SEEDS[0], PAPER_END) * rate / PAPER_REQUEST - 1.0
        for count in PAPER_SENDERS
    ]


@fabric_runs.on_fabrics("I05", cases=(CASE, LATER), equal=0.05)
def incasts() -> Effects:
    """Compare the completion of a request with IRN with the time of the link, and with RoCE with PFC."""
    own, roce = np.array(request_times(IRN)), np.array(request_times(ROCE))
    gains = tuple(fabric_runs.gain(a, b) for a, b in zip(own.T, roce.T, strict=True))
    paper_size = tuple(of_runs(each) for each in np.array(excesses()).T)
    return Effects(
        {
            "link": Statement(level=fabric_runs.under(*paper_size, threshold="margin")),
            "same": Statement(level=gains, equal=True),
        },
        {
            name: Curve(SENDERS, level=[of_runs(1e3 * each) for each in times.T])
            for name, times in (("IRN", own), ("RoCE and PFC", roce))
        },
        ("senders", "completion (ms)"),
        values={
            "gains": dict(zip(SENDERS, gains, strict=True)),
            "excesses": dict(zip(PAPER_SENDERS, paper_size, strict=True)),
            "roce": dict(zip(PAPER_SENDERS, roce_of_paper_size(), strict=True)),
        },
    )
