"""Which discipline is best and worst for which transfers of 1 MB (Y12)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping

import pandas as pd

from validation.claims.effect_claims import effects
from validation.claims.effect_statements import EQUAL, Curve, Decided, Effects, Estimates, Statement
from validation.claims.yang2001 import tables
from validation.claims.yang2001.best_effort import QUEUES, times_alone
from validation.statistics import LEVEL, Estimate, of_runs

Y12_UDP = "UDP of best effort"


@effects(
    "Y12",
    cases=(*tables.cases("cc/cc", "ts/ts", "cc/be", "ts/be", "be/be"), tables.SHORT, QUEUES[0]),
)
def disciplines() -> Effects:
    """Measure which discipline is best and worst for which flows."""

    def in_every_class(times: tables.Times) -> dict[str, Decided]:
        return {"drr_cc": tuple(m for pair in CC_AND_TS for m in _faster_by_class(*pair, times))}

    def against_others(times: tables.Times) -> dict[str, Decided]:
        return {"drr_cc": tuple(_favoured_by_drr(*pair, times) for pair in CC_AND_TS)}

    def summed_up(of_classes: Callable[[pd.DataFrame], pd.Series]) -> dict[str, Decided]:
        return {"drr_cc": tuple(_faster_under_drr(*p, tables.seen, of_classes) for p in CC_AND_TS)}

    of_drr: dict[str, dict[str, Decided]] = {
        EVERY_CLASS: in_every_class(tables.seen),
        AGAINST_OTHERS: against_others(tables.seen),
        **{name: summed_up(of_classes) for name, of_classes in SUMMED_UP.items()},
    }
    printed = _statements(tables.printed) | {AGAINST_OTHERS: against_others(tables.printed)["drr_cc"]}
    found = _groups_of_flows(tables.seen)
    return Effects(
        _of_packets(_statements(tables.seen)),
        {
            name: Curve(tables.DISCIPLINES, [of_runs(frame[d].to_numpy()) for d in tables.DISCIPLINES])
            for name, frame in found.items()
        },
        ("discipline", "mean transfer time (s)"),
        values={
            "best": {n: f.mean().idxmin() for n, f in found.items()},
            "worst": {n: f.mean().idxmax() for n, f in found.items()},
            "usual": (_of_udp("DRR.drr_limit", 25000), _of_udp("SFQ.sfq_limit", 40)),
            "buckets": (_of_udp("DRR.drr_buckets", 250), _of_udp("SFQ.sfq_buckets", 256)),
            "lengths": (_of_udp("DRR.drr_limit", 2500), _of_udp("SFQ.sfq_limit", 10)),
            "fifo": (_times_of(tables.seen, "FCFS"), _times_of(tables.seen, "RED")),
            "short": (_times_of(tables.short, "FCFS"), _times_of(tables.short, "RED")),
            "printed": {key: Statement(each).judged(LEVEL, EQUAL).packets for key, each in printed.items()},
            "cells": [_mean_times_of_both(*pair, tables.printed) for pair in CC_AND_TS],
            "against": AGAINST_OTHERS, "relative": Statement(of_drr[AGAINST_OTHERS]["drr_cc"]).weakest,
        },
        readings={name: _of_packets(_statements(times)) for name, (times, _) in tables.READINGS.items()}
        | {name: _of_packets(judged) for name, judged in of_drr.items()},
    )  # fmt: skip


def _statements(times: tables.Times) -> dict[str, Decided]:
    """Return what decides each statement in times by class."""
    udp, cc, tcp, mixed_ts, ts, ts_udp = _groups_of_flows(times).values()
    beside_ts = _mean_times(times, ("ts/be",), "be", tables.TCP)
    beside_regulated = _mean_times(times, ("cc/be", "ts/be"), "be", tables.UDP)
    return {
        "fcfs": _ranked((udp, "FCFS", 1.0)),
        "drr": _ranked((cc, "DRR", -1.0), (tcp, "DRR", -1.0)),
        "red": _ranked((tcp, "RED", 1.0)),
        "sfq": _ranked((beside_regulated, "SFQ", -1.0)),
        "drr_ts": _ranked((mixed_ts, "DRR", 1.0)),
        "red_ts": _ranked((ts, "RED", -1.0), (ts_udp, "RED", 1.0)),
        "drr_be": _ranked((beside_ts, "DRR", -1.0)),
        "drr_cc": tuple(_faster_under_drr(*pair, times) for pair in CC_AND_TS),
    }


def _of_packets(judged: Mapping[str, Decided]) -> dict[str, Statement]:
    """Return statements that the fluid model does not judge.

    It gives FCFS and RED, and DRR and SFQ, equal times to the last digit, and it leaves no slot of ts unused, which is what ts loses
    against cc.
    """
    return {key: Statement(each) for key, each in judged.items()}


CC_AND_TS = (("cc/cc", "ts/ts"), ("cc/be", "ts/be"))
"""Environments of cc, and those of ts that they are compared with."""
EVERY_CLASS = "every class for itself"
"""A reading: ts is better where each class takes less time. Table 4 of the paper contradicts it: there TCP1, TCP2 and UDP3 of cc/cc and TCP1
of cc/be take less time with cc."""
AGAINST_OTHERS = "DRR against the other disciplines"
"""A reading of "favors": what ts takes over what cc takes is less under DRR than under the other disciplines on average."""
SUMMED_UP: dict[str, Callable[[pd.DataFrame], pd.Series]] = {
    "the classes of TCP alone": lambda frame: frame[list(tables.TCP)].mean(axis=1),
    "the median class": lambda frame: frame[list(tables.CLASSES)].median(axis=1),
    "the class that takes longest": lambda frame: frame[list(tables.CLASSES)].max(axis=1),
}
"""Further readings of "on average" under DRR: one time for the classes of a source, by run."""


def _mean_times(
    times: tables.Times, environments: tuple[str, ...], mechanism: str, kinds: tuple[str, ...]
) -> pd.DataFrame:
    """Return the mean time of some classes over some environments, s: a column for each discipline."""
    columns = {}
    for discipline in tables.DISCIPLINES:
        means = [_mean_over_classes(times, e, discipline, mechanism, kinds) for e in environments]
        columns[discipline] = sum(means) / len(means)
    return pd.DataFrame(columns)


@functools.lru_cache(maxsize=256)
def _times_under(times: tables.Times, environment: str, discipline: str, mechanism: str) -> pd.DataFrame:
    """Return the times of the classes of one mechanism, s: a row for each run, a column for each class."""
    return tables.under(times(environment, discipline), mechanism)


@functools.lru_cache(maxsize=256)
def _mean_over_classes(
    times: tables.Times, environment: str, discipline: str, mechanism: str, kinds: tuple[str, ...]
) -> pd.Series:
    """Return the mean time of some classes of one mechanism by run, s."""
    return _times_under(times, environment, discipline, mechanism)[list(kinds)].mean(axis=1)


def _groups_of_flows(times: tables.Times) -> dict[str, pd.DataFrame]:
    """Return the mean times of the groups of flows that the paper tells apart."""
    mixed = ("cc/be", "ts/be", "be/be")
    return {
        Y12_UDP: _mean_times(times, mixed, "be", tables.UDP),
        "TCP 2 to 4 of cc": _mean_times(times, ("cc/cc",), "cc", tables.TCP[1:]),
        "TCP of best effort": _mean_times(times, mixed, "be", tables.TCP),
        "TCP of ts beside best effort": _mean_times(times, ("ts/be",), "ts", tables.TCP),
        "TCP of ts": _mean_times(times, ("ts/ts",), "ts", tables.TCP),
        "UDP of ts": _mean_times(times, ("ts/ts",), "ts", tables.UDP),
    }


def _faster_under_drr(
    slower: str,
    faster: str,
    times: tables.Times,
    of_classes: Callable[[pd.DataFrame], pd.Series] = lambda frame: frame[list(tables.CLASSES)].mean(axis=1),
) -> Estimate:
    """Return by how much the time of the classes of cc, their mean or another one, exceeds that of ts under DRR."""
    cc, ts = _times_under(times, slower, "DRR", "cc"), _times_under(times, faster, "DRR", "ts")
    return tables.over_seeds(tables.relative(of_classes(cc), of_classes(ts)))


def _faster_by_class(slower: str, faster: str, times: tables.Times) -> Iterator[Estimate]:
    """Yield by how much each class of cc takes longer than that of ts under DRR."""
    cc, ts = times(slower, "DRR"), times(faster, "DRR")
    for kind in tables.CLASSES:
        yield tables.over_seeds(tables.relative(cc["cc", kind], ts["ts", kind]))


def _favoured_by_drr(slower: str, faster: str, times: tables.Times) -> Estimate:
    """Return by how much the time of ts over that of cc, of the means over the classes, is more under the other disciplines than under DRR."""
    over_cc = {}
    for discipline in tables.DISCIPLINES:
        cc, ts = (
            _mean_over_classes(times, environment, discipline, mechanism, tables.CLASSES)
            for environment, mechanism in ((slower, "cc"), (faster, "ts"))
        )
        over_cc[discipline] = ts / cc
    ratios = pd.DataFrame(over_cc)
    return tables.over_seeds(tables.relative(ratios.drop(columns="DRR").mean(axis=1), ratios["DRR"]))


def _mean_times_of_both(slower: str, faster: str, times: tables.Times) -> tuple[float, float]:
    """Return the mean times under DRR of the classes of cc and of ts, s."""
    return tuple(  # type: ignore[return-value]
        float(_mean_over_classes(times, environment, "DRR", mechanism, tables.CLASSES).mean())
        for environment, mechanism in ((slower, "cc"), (faster, "ts"))
    )


def _ranked(*comparisons: tuple[pd.DataFrame, str, float]) -> Decided:
    """Return the margins of `_against` of several comparisons."""
    return tuple(margin for comparison in comparisons for margin in _against(*comparison))


def _against(frame: pd.DataFrame, discipline: str, sign: float) -> Estimates:
    """Return by how much the time under each other discipline exceeds that under this one; ``sign`` -1: is below it."""
    others = [d for d in tables.DISCIPLINES if d != discipline]
    return tuple(tables.over_seeds((sign * (frame[d] / frame[discipline] - 1.0)).to_numpy()) for d in others)


def _of_udp(parameter: str, value: int) -> Estimate:
    """Return the mean time of best-effort UDP under be/be with another queue, s."""
    return of_runs(times_alone("UDP", parameter, value).to_numpy())


def _times_of(times: tables.Times, discipline: str) -> Estimate:
    """Return the mean time of TCP under be/be with a discipline, s."""
    frame = tables.under(times("be/be", discipline), "be")[list(tables.TCP)]
    return of_runs(frame.mean(axis=1).to_numpy())
