"""The bundled runs of kaneko2007's slides at hopflow's packet level, with the rules of `responsefn`."""

from __future__ import annotations

import copy
import functools
import math
from typing import Any

import numpy as np
import pandas as pd

from dfcmodel import Flow, Link, Packets, Scenario, simulate
from hopflow.units import mbps
from responsefn import WindowRule
from validation.claims.kaneko2007.runs import (
    FRIENDLY,
    PACKET_BITS,
    RULES,
    settings_of,
    slow_start_of,
)
from validation.keeping import kept
from validation.statistics import Values

__all__ = ["SEEDS", "levelled", "two_flows"]

SEEDS = 3
"""Runs of a setting."""
WINDOW, LARGE, FAST = 7000.0, 1e6, 50.0
"""Largest window; buffer of the access links; their rate over that of the shared link."""


@functools.cache
def levelled(
    case: str,
    query: str = "",
    *,
    rules: tuple[str, ...] = tuple(FRIENDLY),
    seeds: int = SEEDS,
    longer: float = 1.0,
    changed: tuple[tuple[str, WindowRule], ...] = (),
) -> pd.DataFrame:
    """Return the rows of a case as `runs.modelled` does, of hopflow's packet level.

    ``longer`` multiplies the time measured, ``changed`` are other rules by name.
    """
    found = []
    for group, link in settings_of(case, query, rules):
        first = group.iloc[0]
        begin = float(first["begin"])
        goodput, window = two_flows(
            tuple(group["flow_rule"]),
            tuple(group["base_rtt"].tolist()),
            (float(link["rate"]), round(float(link["buffer"])), float(link["loss"])),
            (begin + longer * float(first["duration"]), begin, tuple(group["start"].tolist())),
            slow_start_of(group, link),
            seeds,
            changed,
        )
        found += [
            group.assign(goodput_bits=goodput[n], mean_cwnd=window[n], seed=n) for n in range(seeds)
        ]
    every: pd.DataFrame = pd.concat(found)
    return every


def _ending(rule: WindowRule, window: float) -> WindowRule:
    """Return a rule whose first slow start ends at a window."""
    one = copy.copy(rule)

    def start(rtt: float, bandwidth: float | None = None) -> Any:
        return rule.start(rtt, bandwidth)._replace(ssthresh=window)

    object.__setattr__(one, "start", start)
    return one


@kept
def two_flows(
    rules: tuple[str, ...],
    rtts: tuple[float, ...],
    link: tuple[float, int, float],
    times: tuple[float, float, tuple[float, ...]],
    slow_start: float,
    seeds: int,
    changed: tuple[tuple[str, WindowRule], ...],
) -> tuple[Values, Values]:
    """Return goodput in bit/s and mean window in packets of each run and flow, (seeds, F).

    ``link`` is its rate in bit/s, buffer in packets and loss rate, ``times`` are the end, the warm-up
    and the starts of the flows in s; ``changed`` are other rules by name. Each packet waits up to the
    time of one, so that no order of arrivals repeats.
    """
    (bits, buffer, loss), (end, begin, starts) = link, times
    rate, known = mbps(bits / 1e6), RULES | dict(changed)
    links, flows = [Link("left", "right", rate, min(rtts) / 4, buffer)], []
    for n, (name, rtt, start) in enumerate(zip(rules, rtts, starts, strict=True)):
        rest = (rtt / 2 - min(rtts) / 4) / 2
        links += [
            Link(*ends, FAST * rate, rest, LARGE)
            for ends in ((f"s{n}", "left"), ("right", f"d{n}"))
        ]
        path = (f"s{n}", "left", "right", f"d{n}")
        source = _ending(known[name], slow_start)
        flows.append(Flow(f"{n}", path, source, WINDOW * max(1.0, bits / 1e8), start))
    scenario = Scenario("one bottleneck", tuple(links), tuple(flows), duration=end)
    method = Packets(recovery="sack", loss={"left->right": loss} if loss else None)
    sample = math.gcd(round(1e3 * begin), round(1e3 * end)) / 1e3 / SAMPLES
    goodput, window = [], []
    for seed in range(1, seeds + 1):
        run = simulate(scenario, method, packet_jitter=1.0 / rate, seed=seed, sample=sample)
        first = round(begin / sample) - 1
        sent = run.delivered[:, -1] - run.delivered[:, first]
        goodput.append(PACKET_BITS * sent / (end - begin))
        window.append(run.window[:, first + 1 :].mean(axis=1))
    return np.array(goodput), np.array(window)


SAMPLES = 20
"""Samples in the greatest common divisor of the ends of the measurement."""
