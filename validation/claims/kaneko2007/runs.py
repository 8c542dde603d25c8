"""Flows of the slides' rules: the bundled runs, and the same with the rules of `responsefn`."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from dfcmodel import PathOptions, SenderOptions, coexist
from dfcmodel.results import Coexistence
from hopflow.units import mbps
from responsefn import ARENO, BIC, CTCP, CUBIC, HSTCP, Fusion, Reno, WindowRule
from validation import evidence
from validation.claims.effect_statements import Statement
from validation.judgements.verdicts import Verdict
from validation.networks.further_seeds import over_seeds
from validation.statistics import PART, Estimate, of_runs

FRIENDLY = {"fusion": Fusion(), "areno": ARENO(), "compound": CTCP(), "reno": Reno()}
"""The rules that the slides call friendly, by their names in the data."""
GREEDY = ("highspeed", "bic", "cubic")
RULES: dict[str, WindowRule] = {**FRIENDLY, "highspeed": HSTCP(), "bic": BIC(), "cubic": CUBIC()}
"""Those and the greedy ones."""
NAMES = {"fusion": "Fusion", "areno": "ARENO", "compound": "CTCP", "reno": "Reno",
         "highspeed": "HSTCP", "bic": "BIC", "cubic": "CUBIC", "fast": "FAST"}  # fmt: skip
"""The rules as the slides name them."""
KERNEL = "Linux 2.6.15"
"""The kernel that the slides name."""
LINUX_BIC = BIC(b=0.2, largest=16.0)
"""BIC with its constants."""
VERSIONS: dict[str, tuple[str, WindowRule]] = {
    "inclusive areno": ("areno", ARENO(inclusive=1)),
    "bic of 2.6.15": ("bic", LINUX_BIC),
    "bic like Reno": ("bic", BIC(low_window=1e6)),
    "compound like Reno": ("compound", CTCP(gamma=1.0)),
}
"""Other versions of rules, by names of their own: ARENO whose probe grows by one packet per round trip in all, Reno's included; BIC
with the constants of the kernel that the slides name, Linux 2.6.15 (net/ipv4/tcp_bic.c: ``beta`` 819/1024, ``max_increment`` 16); and two
without what they have beyond Reno: BIC's search, and CTCP's window by the delay, which gives way as soon as a packet of its own waits."""
WITH_VERSIONS = RULES | {name: rule for name, (_, rule) in VERSIONS.items()}
INCLUSIVE = "inclusive areno"
INCLUSIVE_NAME = "ARENO's packet per round trip includes Reno's"
EXCLUSIVE_NAME = "ARENO's packet per round trip is beside Reno's"
"""The readings of ARENO's rule with one packet in all, and with one beside Reno's, which `RULES` and ns-3 have. Secondary sources
leave open which of them is ARENO, so that neither is a default: a statement on ARENO is what both of them say (`unsettled`)."""
SEEDS, PACKET_BITS = 8, 12000
"""Runs of the model; bits of a packet."""


def of_cases(*cases: str, name: str | None = None) -> pd.DataFrame:
    """Return a table of several cases together; a column ``case`` tells them apart."""
    return pd.concat([evidence.frame(case, name).assign(case=case) for case in cases])


@functools.cache
def modelled(
    case: str,
    query: str = "",
    *,
    overshoot: bool = False,
    rules: tuple[str, ...] = tuple(FRIENDLY),
    seeds: int = SEEDS,
    version: str = "",
) -> pd.DataFrame:
    """Return the rows of a case as `dfcmodel.coexist` has them, of runs with these rules only.

    Rules, rates, buffers, losses, round-trip times, starts, durations and the end of the first slow
    start are those of the bundled runs of the first seed; the columns are those that identify a row,
    ``flow_rule``, ``goodput_bits`` and ``mean_cwnd``. ``query`` chooses rows. With ``overshoot`` the
    first slow start ends at the first loss; ``version`` takes one of `VERSIONS` for its rule.
    """
    found = []
    for group, setting in settings(case, query, rules, overshoot=overshoot, version=version):
        runs = two_in_model(*setting, base=range(seeds))[:seeds]
        for seed, (goodput, window) in enumerate(runs):
            found.append(group.assign(goodput_bits=goodput, mean_cwnd=window, seed=seed))
    return pd.concat(found)


Setting = tuple[
    tuple[str, ...],
    tuple[float, ...],
    tuple[float, int, float],
    tuple[float, float, tuple[float, ...]],
    float | None,
]
"""Rules, by their names in `WITH_VERSIONS`, and round-trip times in s of the flows; rate in bit/s, buffer in packets and loss rate of the
link; the end, the warm-up and the starts of the flows in s; where the first slow start ends, in packets, None: at the first loss."""


def settings(
    case: str,
    query: str,
    rules: Collection[str],
    *,
    longer: float = 1.0,
    overshoot: bool = False,
    version: str = "",
) -> Iterator[tuple[pd.DataFrame, Setting]]:
    """Yield the flows of each setting of a case with these rules only, of its first seed, and the setting.

    ``longer`` multiplies the time measured; the others are those of `modelled`.
    """
    record = evidence.provenance(case)["files"]["flows.csv"]
    keys = [column for column in record["index"] if column not in ("seed", "flow")]
    flows, links = evidence.frame(case), evidence.frame(case, "links")
    if query:
        flows = flows.query(query)
    seed = flows["seed"].min()
    flows, links = flows[flows["seed"] == seed], links[links["seed"] == seed].set_index(keys)
    replaced = VERSIONS[version][0] if version else ""
    for key, group in flows.groupby(keys if len(keys) > 1 else keys[0]):
        if not set(group["flow_rule"]) <= set(rules):
            continue
        link: Any = links.loc[key]
        begin, duration = float(group["begin"].iloc[0]), float(group["duration"].iloc[0])
        yield (
            group,
            (
                tuple(version if name == replaced else name for name in group["flow_rule"]),
                tuple(group["base_rtt"].tolist()),
                (float(link["rate"]), round(float(link["buffer"])), float(link["loss"])),
                (begin + longer * duration, begin, tuple(group["start"].tolist())),
                None if overshoot else slow_start_of(group, link),
            ),
        )


def slow_start_of(group: pd.DataFrame, link: Any) -> float:
    """Return where the first slow start of the bundled runs ends: the flow's part of the BDP."""
    product = round(float(link["rate"]) * float(group["base_rtt"].min()) / PACKET_BITS)
    return max(product // len(group), 10)


@over_seeds(range(SEEDS))
def two_in_model(
    seed: int,
    rules: tuple[str, ...],
    rtts: tuple[float, ...],
    link: tuple[float, int, float],
    times: tuple[float, float, tuple[float, ...]],
    ssthresh: float | None,
) -> tuple[list[float], list[float]]:
    """Return goodput in bit/s and mean window in packets of each flow of a `Setting` by `dfcmodel.coexist`."""
    (rate, buffer, loss), (seconds, warm_up, starts) = link, times
    run = coexist(
        [WITH_VERSIONS[rule] for rule in rules], np.array(rtts), mbps(rate / 1e6), buffer, runs=1,
        options=PathOptions(loss=loss, duration=seconds, warm_up=warm_up, seed=seed),
        senders=SenderOptions(starts=np.array(starts), ssthresh=ssthresh),
    )  # fmt: skip
    return (rate / run.bandwidth * run.goodput).tolist(), run.mean_window.tolist()


FAIR = 0.17
"""Largest difference of two rates over their sum that counts as fair: the slide that calls the friendly rules
almost equal has 0.166 between Reno and CTCP. Every comparison of two rates in these claims has this scale."""
SCALE = "difference of two rates, or windows, over their sum"
"""The scale in words."""
FAIR_MARGIN = f"largest {SCALE} that counts as fair"
"""The threshold in words."""


def uneven(one: pd.Series[float], other: pd.Series[float]) -> Estimate:
    """Return the difference of two rates over their sum, 0 of equal ones, of the seeds that both have."""
    one, other = one.align(other, join="inner")
    return of_runs(((one - other) / (one + other)).to_numpy())


def uneven_means(one: Estimate, other: Estimate) -> Estimate:
    """Return the difference of two independent means over their sum (delta method).

    Examples
    --------
    >>> print(uneven_means(Estimate(6.0, 0.3, 9), Estimate(4.0, 0.2, 4)))
    0.200 ± 0.094
    """
    total = one.value + other.value
    error = 2.0 * math.hypot(other.value * one.error, one.value * other.error) / total**2
    return Estimate((one.value - other.value) / total, error, min(one.dof, other.dof))


def unsettled(*versions: tuple[Estimate, ...]) -> Callable[[Mapping[str, float]], Verdict]:
    """Return the verdict on a statement of equality that all versions of a rule agree in, and INCONCLUSIVE otherwise.

    Examples
    --------
    >>> near, far = (Estimate(0.1, 0.01),), (Estimate(0.4, 0.01),)
    >>> thresholds = {"level": 0.01, "margin": 0.17}
    >>> print(unsettled(near, near)(thresholds), unsettled(near, far)(thresholds), unsettled(far, far)(thresholds), sep=", ")
    holds, inconclusive, contradicted
    """

    def judged(thresholds: Mapping[str, float]) -> Verdict:
        level, margin = thresholds["level"], thresholds["margin"]
        verdicts = {Statement(deviations, equal=True).judged(level, margin).packets for deviations in versions}
        return verdicts.pop() if len(verdicts) == 1 else Verdict.INCONCLUSIVE

    return judged


def seeds_of(frame: pd.DataFrame, column: str = "goodput_bits", **where: Any) -> pd.Series[float]:
    """Return the sum of a column over the chosen flows, by seed."""
    chosen = np.ones(len(frame), dtype=bool)
    for name, entry in where.items():
        chosen &= (frame[name] == entry).to_numpy()
    return frame.loc[chosen, ["seed", column]].groupby("seed")[column].sum()


def relative(one: pd.Series[float], other: pd.Series[float]) -> Estimate:
    """Return the relative difference of two quantities of the same runs, of the seeds that both have."""
    one, other = one.align(other, join="inner")
    return of_runs((one / other - 1.0).to_numpy())


def share(frame: pd.DataFrame, flow: int, column: str = "goodput_bits", **where: Any) -> Estimate:
    """Return the part that one of two flows has of both."""
    own, every = seeds_of(frame, column, **where, flow=flow), seeds_of(frame, column, **where)
    return of_runs((own / every).to_numpy(), PART)


def alone(
    rule: WindowRule, p: float, rtt: float, buffer: int, slow_start: float, senders: SenderOptions | None = None
) -> Coexistence:
    """Return one flow over 100 Mb/s by `dfcmodel.coexist`: 40 s, after 10 s of warm-up."""
    return coexist(
        rule,
        rtt,
        mbps(100.0),
        buffer,
        runs=1,
        options=PathOptions(loss=p, duration=50.0, warm_up=10.0, seed=1),
        senders=replace(SenderOptions() if senders is None else senders, ssthresh=slow_start),
    )


def apart(*tools: tuple[str, pd.DataFrame]) -> dict[str, dict[str, pd.DataFrame]]:
    """Return the runs of each rule by simulator.

    Parameters
    ----------
    tools
        The name of each simulator with the table of its runs.
    """
    found: dict[str, dict[str, pd.DataFrame]] = {}
    for tool, frame in tools:
        for rule, runs in frame.groupby("rule", sort=False):
            found.setdefault(str(rule), {})[tool] = runs
    return found
