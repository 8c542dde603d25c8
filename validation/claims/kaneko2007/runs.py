"""Flows of the slides' rules: the bundled runs, and the same with the rules of `responsefn`."""

from __future__ import annotations

import functools
from typing import Any

import pandas as pd

from hopflow.units import mbps
from responsefn import ARENO, CTCP, Fusion, Reno, coexist
from validation import evidence
from validation.statistics import Estimate, of_runs

FRIENDLY = {"fusion": Fusion(), "areno": ARENO(), "compound": CTCP(), "reno": Reno()}
"""The rules that the slides call friendly, by their names in the data."""
GREEDY = ("highspeed", "bic", "cubic")
NAMES = {"fusion": "Fusion", "areno": "ARENO", "compound": "CTCP", "reno": "Reno",
         "highspeed": "HSTCP", "bic": "BIC", "cubic": "CUBIC", "fast": "FAST"}  # fmt: skip
"""The rules as the slides name them."""
SEEDS = 8
"""Runs of the model."""


def of_cases(*cases: str, name: str | None = None) -> pd.DataFrame:
    """Return a table of several cases together; a column ``case`` tells them apart."""
    return pd.concat([evidence.table(case, name).assign(case=case) for case in cases])


@functools.cache
def modelled(case: str, query: str = "") -> pd.DataFrame:
    """Return the rows of a case as `responsefn.coexist` has them, of the friendly rules.

    Rules, rates, buffers, losses, round-trip times, starts and durations are those of the bundled
    runs of the first seed; the columns are those that identify a row, ``flow_rule``,
    ``goodput_bits`` and ``mean_cwnd``. ``query`` chooses rows.
    """
    record = evidence.provenance(case)["files"]["flows.csv"]
    keys = [column for column in record["index"] if column not in ("seed", "flow")]
    flows, links = evidence.table(case), evidence.table(case, "links")
    if query:
        flows = flows.query(query)
    seed = flows["seed"].min()
    links = links[links["seed"] == seed].set_index(keys) if keys else links
    found = []
    one = flows[flows["seed"] == seed]
    for key, group in one.groupby(keys if len(keys) > 1 else keys[0]):
        if set(group["flow_rule"]) <= set(FRIENDLY):
            link = links.loc[key]
            found += [_run(group, link, n).assign(seed=n) for n in range(SEEDS)]
    return pd.concat(found)


def _run(group: pd.DataFrame, link: Any, seed: int) -> pd.DataFrame:
    begin, duration = float(group["begin"].iloc[0]), float(group["duration"].iloc[0])
    done = coexist(
        [FRIENDLY[rule] for rule in group["flow_rule"]],
        group["base_rtt"].to_numpy(),
        mbps(float(link["rate"]) / 1e6),
        round(float(link["buffer"])),
        p=float(link["loss"]),
        seconds=begin + duration,
        warm_up=begin,
        starts=group["start"].to_numpy(),
        rng=seed,
    )
    bits = float(link["rate"]) / done.bandwidth
    return group.assign(goodput_bits=done.goodput * bits, mean_cwnd=done.mean_window)


def seeds_of(frame: pd.DataFrame, column: str = "goodput_bits", **where: Any) -> pd.Series[float]:
    """Return the sum of a column over the chosen flows, by seed."""
    for name, entry in where.items():
        frame = frame[frame[name] == entry]
    return frame.groupby("seed")[column].sum()


def relative(one: pd.Series[float], other: pd.Series[float]) -> Estimate:
    """Return the relative difference of two quantities of the same runs."""
    return of_runs((one / other - 1.0).to_numpy())


def share(frame: pd.DataFrame, flow: int, **where: Any) -> Estimate:
    """Return the part that one of two flows has of both."""
    own, every = seeds_of(frame, **where, flow=flow), seeds_of(frame, **where)
    return of_runs((own / every).to_numpy())
