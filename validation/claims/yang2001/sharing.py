"""A fluid model of the transfers: which flows may send, and how they share a link.

All flows of a source with the same protocol and priority are alike, so that a class of flows has one
rate and one transfer time. The flows of a source that is regulated by cc send when no flow of their
source has a higher priority; those of one regulated by ts take turns of 2^(9-P) slots, which is a
weight of that size, and only one sends at a time. Best effort always sends.

The link serves UDP first under FCFS and RED, since TCP gives way to a source that does not, and each
flow alike under DRR and SFQ. UDP sends at most at its rate. Left out are windows, round trips and
losses: TCP sends whatever it is given.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

CAPACITY, UDP_RATE, SIZE = 1e6, 448e3, 8e6
"""Rates of the link and of a UDP source in bit/s, bits of a transfer."""
RATIOS = (81, 85, 90, 95, 99)
"""TCP flows among the hundred of a source."""
FLOWS, SLOT = 100, 0.01
"""Flows of a source; length of a slot in s."""
FAIR = ("DRR", "SFQ")


@dataclass(frozen=True)
class Kind:
    """Flows that are alike: their source (0, 1), mechanism, protocol, priority and number."""

    source: int
    mechanism: str
    protocol: str
    priority: int
    number: int

    @property
    def name(self) -> str:
        """The class as the tables call it."""
        return f"{self.protocol}{self.priority}"


def kinds(environment: str, tcp_flows: int) -> list[Kind]:
    """Return the classes of both sources: priorities go to TCP (1 to 4) and UDP (3, 4) in turn."""
    found = []
    for source, mechanism in enumerate(environment.split("/")):
        for protocol, number, priorities in (
            ("TCP", tcp_flows, (1, 2, 3, 4)),
            ("UDP", FLOWS - tcp_flows, (3, 4)),
        ):
            for n, priority in enumerate(priorities):
                share = len(range(n, number, len(priorities)))
                if share:
                    found.append(Kind(source, mechanism, protocol, priority, share))
    return found


def _sending(of: list[Kind], left: np.ndarray, ages: int) -> np.ndarray:
    """Return the number of sending flows of each class, among those with remaining data.

    ``ages`` is by how many levels the priority of a flow has risen with its age.
    """
    number = np.array([kind.number for kind in of], dtype=np.float64) * (left > 0.0)
    priority = np.array([max(1, kind.priority - ages) for kind in of])
    sends = number.copy()
    for source in (0, 1):
        own = np.array([kind.source == source for kind in of]) & (number > 0)
        if not own.any():
            continue
        mechanism = next(kind.mechanism for kind in of if kind.source == source)
        if mechanism == "cc":
            sends[own & (priority > priority[own].min())] = 0.0
        elif mechanism == "ts":
            weights = number * 2.0 ** (9 - priority)
            sends[own] = weights[own] / weights[own].sum()
    return sends


def _rates(of: list[Kind], sends: np.ndarray, discipline: str) -> np.ndarray:
    """Return the rate of each class in bit/s."""
    udp = np.array([kind.protocol == "UDP" for kind in of])
    if discipline in FAIR:
        fair = CAPACITY / sends.sum()
        if fair > UDP_RATE and (sends[~udp].sum() > 0):
            fair = (CAPACITY - UDP_RATE * sends[udp].sum()) / sends[~udp].sum()
        shared: np.ndarray = np.where(udp, np.minimum(fair, UDP_RATE), fair) * sends
        return shared
    wanted = UDP_RATE * sends * udp
    taken = wanted * min(1.0, CAPACITY / wanted.sum()) if wanted.any() else wanted
    tcp = sends * ~udp
    rest = (CAPACITY - taken.sum()) * tcp / tcp.sum() if tcp.any() else 0.0
    total: np.ndarray = taken + rest
    return total


def transfer_times(
    environment: str,
    discipline: str,
    tcp_flows: int,
    size: float = SIZE,
    ageing: float = math.inf,
) -> dict[Kind, float]:
    """Return the transfer times of all classes in s.

    Parameters
    ----------
    environment, discipline
        As in the paper's Table 4, such as "cc/be" and "FCFS".
    tcp_flows
        TCP flows of each source; the rest of its 100 are UDP.
    size
        Bits of a transfer.
    ageing
        Time in s after which the priority of a flow rises by a level.
    """
    of = kinds(environment, tcp_flows)
    left = np.array([kind.number * size for kind in of], dtype=np.float64)
    done = np.full(len(of), math.nan)
    now, ages = 0.0, 0
    while left.any():
        rates = _rates(of, _sending(of, left, ages), discipline)
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = np.where(rates > 0.0, left / rates, math.inf)
        step = min(float(ends.min()), (ages + 1) * ageing - now)
        left = np.where(ends <= step * (1 + 1e-12), 0.0, left - rates * step)
        now += step
        if now >= (ages + 1) * ageing:
            ages += 1
        done[np.isnan(done) & (left == 0.0)] = now
    return dict(zip(of, done.tolist(), strict=True))


@functools.cache
def modelled(environment: str, discipline: str, size: float = SIZE) -> pd.DataFrame:
    """Return the mean times by mechanism and class, both sources and all ratios together, in one row."""
    times = _by_class(environment, discipline, size).groupby(["mechanism", "kind"])["time"].mean()
    return pd.DataFrame([times])


def modelled_by_flow(environment: str, discipline: str) -> pd.DataFrame:
    """Return the times of `modelled` as means over the flows, so that each flow counts once."""
    table = _by_class(environment, discipline, SIZE)
    sums = table.assign(time=table["time"] * table["number"]).groupby(["mechanism", "kind"])
    totals = sums[["time", "number"]].sum()
    times = totals["time"] / totals["number"]
    return pd.DataFrame([times])


@functools.cache
def _by_class(environment: str, discipline: str, size: float) -> pd.DataFrame:
    """Return mechanism, kind, time (s) and number of flows of each class at each of `RATIOS`."""
    return pd.DataFrame(
        [
            {"mechanism": kind.mechanism, "kind": kind.name, "time": time, "number": kind.number}
            for tcp_flows in RATIOS
            for kind, time in transfer_times(environment, discipline, tcp_flows, size).items()
        ]
    )


def turns(tcp_flows: int, size: float = SIZE, scale: float = 1.0) -> pd.DataFrame:
    """Return the transfer times of one source under ts/ts, turn by turn, at half of the link.

    A turn ends early when its flow finishes; UDP fills no more of its slots than its rate.

    Returns
    -------
    pandas.DataFrame
        Columns kind and time (s), a row for each flow.
    """
    names = [f"TCP{1 + n % 4}" for n in range(tcp_flows)]
    names += [f"UDP{3 + n % 2}" for n in range(FLOWS - tcp_flows)]
    rate = np.array([CAPACITY / 2 if name[0] == "T" else min(CAPACITY / 2, UDP_RATE) for name in names])
    turn = np.array([2.0 ** (9 - int(name[3])) * SLOT * scale for name in names])
    need = size / rate
    time = np.zeros(len(names))
    now = 0.0
    while (need > 0.0).any():
        for n in np.flatnonzero(need > 0.0):
            used = min(turn[n], need[n])
            now += used
            need[n] = need[n] - used if used < need[n] else 0.0
            if need[n] == 0.0:
                time[n] = now
    return pd.DataFrame({"kind": names, "time": time})
