"""The bundled runs of kaneko2007's slides at hopflow's packet level, with the rules of `responsefn`."""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Iterator, Mapping

import numpy as np
import pandas as pd

from dfcmodel import Flow, Link, Packets, Scenario, simulate
from hopflow.units import mbps
from responsefn import WindowRule
from validation.claims.kaneko2007.runs import (
    FRIENDLY,
    PACKET_BITS,
    RULES,
    Changed,
    settings_of,
    slow_start_of,
)
from validation.judgements.keeping import kept
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
    changed: Changed = (),
) -> pd.DataFrame:
    """Return the rows of a case as `runs.modelled` does, of hopflow's packet level.

    ``longer`` multiplies the time measured, ``changed`` are other rules by name.
    """
    found = []
    for group, setting in settings(case, query, rules, longer):
        base = range(1, seeds + 1)
        if changed:
            runs = [with_other_rules(seed, setting, changed) for seed in base]
        else:
            runs = two_flows(*setting, base=base)
        rates, windows = (np.ravel([run[n] for run in runs]) for n in (0, 1))
        every = pd.concat([group] * len(runs), ignore_index=True)
        numbers = np.repeat(np.arange(len(runs)), len(group))
        found.append(every.assign(goodput_bits=rates, mean_cwnd=windows, seed=numbers))
    return pd.concat(found)


Setting = tuple[
    tuple[str, ...],
    tuple[float, ...],
    tuple[float, int, float],
    tuple[float, float, tuple[float, ...]],
    float,
]
"""Rules and round-trip times in s of the flows; rate in bit/s, buffer in packets and loss rate of the link; the end, the
warm-up and the starts of the flows in s; the end of the first slow start in packets."""


def settings(
    case: str, query: str, rules: Collection[str], longer: float = 1.0
) -> Iterator[tuple[pd.DataFrame, Setting]]:
    """Yield the flows of each setting of a case (`runs.settings_of`), and the setting."""
    for group, link in settings_of(case, query, rules):
        first = group.iloc[0]
        begin = float(first["begin"])
        yield (
            group,
            (
                tuple(group["flow_rule"]),
                tuple(group["base_rtt"].tolist()),
                (float(link["rate"]), round(float(link["buffer"])), float(link["loss"])),
                (begin + longer * float(first["duration"]), begin, tuple(group["start"].tolist())),
                slow_start_of(group, link),
            ),
        )


@over_seeds(range(1, SEEDS + 1))
def two_flows(
    seed: int,
    rules: tuple[str, ...],
    rtts: tuple[float, ...],
    link: tuple[float, int, float],
    times: tuple[float, float, tuple[float, ...]],
    slow_start: float,
) -> tuple[list[float], list[float]]:
    """Return goodput in bit/s and mean window in packets of each flow of a `Setting`."""
    return run_of(seed, (rules, rtts, link, times, slow_start), RULES)


@kept
def with_other_rules(
    seed: int, setting: Setting, changed: Changed
) -> tuple[list[float], list[float]]:
    """Return the same of a run with other rules by name."""
    return run_of(seed, setting, RULES | dict(changed))


def run_of(
    seed: int, setting: Setting, known: Mapping[str, WindowRule]
) -> tuple[list[float], list[float]]:
    """Return the same with other rules by name; each packet waits up to the time of one, so that no order of arrivals repeats."""
    rules, rtts, (bits, buffer, loss), (end, begin, starts), slow_start = setting
    rate = mbps(bits / 1e6)
    links, flows = [Link("left", "right", rate, min(rtts) / 4, buffer)], []
    for n, (name, rtt, start) in enumerate(zip(rules, rtts, starts, strict=True)):
        rest = (rtt / 2 - min(rtts) / 4) / 2
        links += [
            Link(*ends, FAST * rate, rest, LARGE)
            for ends in ((f"s{n}", "left"), ("right", f"d{n}"))
        ]
        path = (f"s{n}", "left", "right", f"d{n}")
        largest = WINDOW * max(1.0, bits / 1e8)
        flows.append(Flow(f"{n}", path, known[name], largest, start, ssthresh=slow_start))
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
