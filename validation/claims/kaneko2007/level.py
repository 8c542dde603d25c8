"""The bundled runs of kaneko2007's slides at hopflow's packet level, with the rules of `responsefn`."""

from __future__ import annotations

import functools
import math

import numpy as np
import pandas as pd

from dfcmodel import Flow, Link, Packets, Scenario, simulate
from hopflow.units import mbps
from validation.claims.kaneko2007.runs import FRIENDLY, PACKET_BITS, WITH_VERSIONS, settings
from validation.networks.further_seeds import over_seeds

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
    version: str = "",
) -> pd.DataFrame:
    """Return the rows of a case as `runs.modelled` does, of hopflow's packet level.

    ``longer`` multiplies the time measured, ``version`` takes one of `runs.VERSIONS` for its rule.
    """
    found = []
    for group, setting in settings(case, query, rules, longer=longer, version=version):
        runs = two_flows(*setting, base=range(1, seeds + 1))
        rates, windows = (np.ravel([run[n] for run in runs]) for n in (0, 1))
        every = pd.concat([group] * len(runs), ignore_index=True)
        numbers = np.repeat(np.arange(len(runs)), len(group))
        found.append(every.assign(goodput_bits=rates, mean_cwnd=windows, seed=numbers))
    return pd.concat(found)


@over_seeds(range(1, SEEDS + 1))
def two_flows(
    seed: int,
    rules: tuple[str, ...],
    rtts: tuple[float, ...],
    link: tuple[float, int, float],
    times: tuple[float, float, tuple[float, ...]],
    slow_start: float | None,
) -> tuple[list[float], list[float]]:
    """Return goodput in bit/s and mean window in packets of each flow of a `runs.Setting`.

    Each packet waits up to the time of one, so that no order of arrivals repeats.
    """
    (bits, buffer, loss), (end, begin, starts) = link, times
    rate = mbps(bits / 1e6)
    links, flows = [Link("left", "right", rate, min(rtts) / 4, buffer)], []
    for n, (name, rtt, start) in enumerate(zip(rules, rtts, starts, strict=True)):
        rest = (rtt / 2 - min(rtts) / 4) / 2
        links += [Link(*ends, FAST * rate, rest, LARGE) for ends in ((f"s{n}", "left"), ("right", f"d{n}"))]
        path = (f"s{n}", "left", "right", f"d{n}")
        largest = WINDOW * max(1.0, bits / 1e8)
        flows.append(Flow(f"{n}", path, WITH_VERSIONS[name], largest, start, ssthresh=slow_start))
    scenario = Scenario("one bottleneck", tuple(links), tuple(flows), duration=end)
    method = Packets(recovery="sack", loss={"left->right": loss} if loss else None)
    sample = math.gcd(round(1e3 * begin), round(1e3 * end)) / 1e3 / SAMPLES
    run = simulate(scenario, method, packet_jitter=1.0 / rate, seed=seed, sample=sample)
    first = round(begin / sample) - 1
    sent = run.delivered[:, -1] - run.delivered[:, first]
    goodput = PACKET_BITS * sent / (end - begin)
    return goodput.tolist(), run.window[:, first + 1 :].mean(axis=1).tolist()


SAMPLES = 20
"""Samples in the greatest common divisor of the ends of the measurement."""
