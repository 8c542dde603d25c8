"""The 240 cells of yang2001's Table 4: as printed, with the noise of Table 6, and as simulated.

Settings are inferred from the 144 cells with best effort; the other 96 check them.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from validation import evidence
from validation.claims.yang2001 import tables
from validation.inference.designs import PARAMETERS
from validation.inference.parameters import Open, Value
from validation.records import rows

PAPER = "yang2001"
RATIOS = 19
"""Ratios of TCP to UDP that the paper takes the means of."""
TCP_FLOWS = 90
"""Of the 100 flows of each source that was run."""
ENVIRONMENTS = ("be/be", "cc/be", "ts/be")
"""With best effort in one or both sources."""
REGULATED = ("cc/cc", "ts/ts")
"""Without best effort."""
CASES = {ENVIRONMENTS: "yang2001/unstated-parameters", REGULATED: "yang2001/regulated-sources"}
"""The runs; the settings are in the first case."""
COMMON = (
    "window",
    "min_rto",
    "delay",
    "udp_rate",
    "udp_packet",
    "jitter",
    "random",
    "agent",
    "access",
)
OF_DISCIPLINE = {
    "FCFS": ("buffer",), "RED": ("buffer", "red_min"), "SFQ": ("sfq_limit", "sfq_buckets"),
    "DRR": ("drr_limit", "drr_buckets", "drr_quantum"),
}  # fmt: skip
OF_MECHANISM = {"cc": ("check", "hold", "stop", "acks"), "ts": ("slot", "acks"), "be": ()}
"""Parameters that a row of the table depends on."""
DEFAULT: dict[str, Value] = {
    "buffer": 50, "window": 20, "min_rto": 0.2, "delay": 0.02, "udp_rate": 448e3, "udp_packet": 210,
    "jitter": 0.01, "random": 1, "agent": "Agent/TCP", "access": 10e6, "red_min": 5.0, "sfq_limit": 40,
    "sfq_buckets": 16, "drr_limit": 25000, "drr_buckets": 10, "drr_quantum": 250, "check": 0.2, "hold": 1.0,
    "stop": "top", "acks": "taken", "slot": 0.01,
}  # fmt: skip
"""The setting of the runs that claims are judged by."""
SHORT_QUEUES: dict[str, Value] = {
    "buffer": 10, "sfq_limit": 10, "drr_limit": 2500, "drr_buckets": 250,
}  # fmt: skip
"""What differs in the runs of the claims' reading with short queues."""
KEYS = ["environment", "discipline", "source", "mechanism", "kind"]
Values = NDArray[np.float64]


@dataclass(frozen=True)
class Cells:
    """Cells of Table 4.

    Attributes
    ----------
    names
        Environment, discipline, source, mechanism and class of each.
    times
        Logarithm of the mean transfer time in s, shape (cells,).
    noise
        Standard deviation of that: Table 6 over the mean and the square root of the number of ratios.
    """

    names: tuple[tuple[str, str, int, str, str], ...]
    times: Values
    noise: Values

    @property
    def groups(self) -> list[str]:
        """Row, mechanism and protocol of each: cells whose errors have causes in common."""
        return [f"{e} {d} {m} {k[:3]}" for e, d, _, m, k in self.names]


@functools.cache
def printed(environments: tuple[str, ...] = ENVIRONMENTS) -> Cells:
    """Return the cells of Table 4 of some environments, with the noise that Table 6 gives.

    The deviations of Table 6 include what depends on the ratio, so that they are upper bounds of the noise.
    """
    means, spreads = (pd.DataFrame(rows(f"yang2001_table{n}.csv")) for n in (4, 6))
    place = ["environment", "discipline", "traffic_source", "mechanism", "flow_class"]
    both = means.merge(spreads[[*place, "standard_deviation_s"]], on=place, validate="1:1")
    both = both[both["environment"].isin(environments)]
    mean = both["mean_transfer_time_s"].astype(float).to_numpy()
    spread = both["standard_deviation_s"].astype(float).to_numpy()
    names = tuple((str(e), str(d), int(s), str(m), str(k)) for e, d, s, m, k in both[place].to_numpy())
    return Cells(names, np.log(mean), spread / mean / np.sqrt(RATIOS))


@functools.cache
def shortened(environments: tuple[str, ...] = ENVIRONMENTS) -> Values:
    """Return how far one ratio of TCP to UDP, 90:10, is from the mean of all 19, of each cell.

    Absolute logarithm of the quotient of both in the bundled runs of the default setting, whose five seeds have
    all ratios; shape (cells,).
    """
    off: dict[tuple[object, ...], float] = {}
    for row in dict.fromkeys(name[:2] for name in printed(environments).names):
        means = tables.classes(tables.case_of(*row)).groupby("tcp_flows").mean()
        gaps = np.abs(np.log((means.loc[TCP_FLOWS] / means.mean()).to_numpy()))
        off |= {(*row, *c): float(gap) for c, gap in zip(means.columns, gaps, strict=True)}
    names = printed(environments).names
    return np.array([off[name[0], name[1], name[3], name[4]] for name in names])


def free(environment: str, discipline: str) -> tuple[Open, ...]:
    """Return the parameters that a row of Table 4 depends on."""
    names = {*COMMON, *OF_DISCIPLINE[discipline]}
    for mechanism in environment.split("/"):
        names |= set(OF_MECHANISM[mechanism])
    return tuple(each for each in PARAMETERS[PAPER] if each.name in names)


@functools.cache
def simulated(
    environments: tuple[str, ...] = ENVIRONMENTS,
) -> tuple[tuple[Mapping[str, Value], ...], Values]:
    """Return the settings that were run, and the logarithms of the cells of `printed`; (settings, cells).

    First those of the case, then the claims' default setting and that with short queues, whose times are means of
    five seeds.
    """
    wide = evidence.frame(CASES[environments], "times").pivot_table("time", "setting", KEYS)
    known = evidence.frame(CASES[ENVIRONMENTS], "settings").set_index("setting")
    chosen = known.loc[wide.index].to_dict("records")
    of = [{str(name): value for name, value in each.items()} for each in chosen]
    names = list(printed(environments).names)
    every = {tables.case_of(*name[:2]) for name in names}
    bundled = [_bundled(pd.concat([evidence.frame(case) for case in cases])) for cases in (every, {tables.SHORT})]
    times = np.vstack([wide[names].to_numpy(), *(table[names].to_numpy() for table in bundled)])
    return (*of, DEFAULT, {**DEFAULT, **SHORT_QUEUES}), np.log(times)


def _bundled(flows: pd.DataFrame) -> pd.Series[float]:
    """Return the mean times of the bundled runs with the ratio that the other settings have."""
    own = flows[flows["tcp_flows"] == TCP_FLOWS]
    found: pd.Series[float] = tables.by_kind(own).groupby(KEYS)["transfer_time"].mean()
    return found
