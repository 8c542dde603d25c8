"""The statements of yang2001's claims on Table 4 as functions of the mean transfer times of many settings.

They are those that `validation.claims.yang2001` judge, without intervals: a test compares them on the
bundled runs.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from validation.claims.effect_statements import EQUAL
from validation.claims.yang2001 import tables
from validation.claims.yang2001.best_effort import FAR

Values = NDArray[np.float64]
Flows = tuple[tuple[str, ...], str, tuple[str, ...]]
"""Environments, mechanism and classes of flows whose times are averaged."""
Truth = NDArray[np.bool_]


@dataclass(frozen=True)
class Times:
    """Mean transfer times of settings.

    Attributes
    ----------
    of
        Times in s by environment, discipline, mechanism and class, each of shape (settings,).
    disciplines
        Which there are.
    """

    of: Mapping[tuple[str, str, str, str], Values]
    disciplines: tuple[str, ...]

    def mean(self, environment: str, discipline: str, mechanism: str, kinds: Iterable[str]) -> Values:
        """Return the mean over classes."""
        found: Values = np.mean([self.of[environment, discipline, mechanism, kind] for kind in kinds], axis=0)
        return found


def _all(each: Iterable[Truth]) -> Truth:
    found: Truth = np.logical_and.reduce(list(each))
    return found


def _ordered(times: Times, *environments: str) -> Truth:
    """Return whether TCP's times, and UDP's, rise from each priority to the next."""
    pairs = [*itertools.pairwise(tables.TCP), tables.UDP]
    return _all(
        times.of[e, d, m, low] > times.of[e, d, m, high]
        for e in environments for d in times.disciplines
        for m in [e.partition("/")[0]] for high, low in pairs
    )  # fmt: skip


def _fastest(times: Times) -> Truth:
    """Return whether every other class takes several times as long as best-effort UDP."""
    return _all(
        times.of[key] > FAR * times.of[key[0], key[1], "be", udp]
        for key in times.of
        if key[0] in ("cc/be", "ts/be") and (key[2], key[3][:3]) != ("be", "UDP")
        for udp in tables.UDP
    )


def _same(times: Times) -> Truth:
    """Return whether the TCP classes of best effort are equal within the margin."""
    checks = []
    for d in times.disciplines:
        mean = times.mean("be/be", d, "be", tables.TCP)
        checks += [abs(times.of["be/be", d, "be", kind] / mean - 1.0) <= EQUAL for kind in tables.TCP]
    return _all(checks)


def _faster(times: Times) -> Truth:
    """Return whether TCP of best effort takes several times as long as UDP."""
    return _all(
        times.mean("be/be", d, "be", tables.TCP) > FAR * times.mean("be/be", d, "be", tables.UDP)
        for d in times.disciplines
    )


def _gains(kinds: tuple[str, ...], sign: float) -> Callable[[Times], Truth]:
    def statement(times: Times) -> Truth:
        return _all(
            sign * (times.of["be/be", d, "be", kind] - times.of["cc/be", d, "cc", kind]) > 0.0
            for d in times.disciplines for kind in kinds
        )  # fmt: skip

    return statement


def _independent(times: Times) -> Truth:
    """Return whether the times of ts/ts under each discipline are near the mean of all disciplines."""
    checks = []
    for kind in (*tables.TCP, *tables.UDP):
        each = [times.of["ts/ts", d, "ts", kind] for d in times.disciplines]
        checks += [abs(time / np.mean(each, axis=0) - 1.0) <= EQUAL for time in each]
    return _all(checks)


def _longer(one: str, other: str) -> Callable[[Times], Truth]:
    """Return whether regulated flows take longer in the other environment, in the mean of classes and disciplines."""

    def statement(times: Times) -> Truth:
        first, second = one.partition("/")[0], other.partition("/")[0]
        ratios = [
            times.of[other, d, second, kind] / times.of[one, d, first, kind]
            for d in times.disciplines for kind in (*tables.TCP, *tables.UDP)
        ]  # fmt: skip
        return _all([np.mean(ratios, axis=0) > 1.0])

    return statement


def _extreme(discipline: str, sign: float, *flows: Flows) -> Callable[[Times], Truth]:
    """Return whether a discipline is best (1) or worst (-1) for all of some flows."""

    def mean(times: Times, of: str, group: Flows) -> Values:
        environments, mechanism, kinds = group
        found: Values = np.mean([times.mean(e, of, mechanism, kinds) for e in environments], axis=0)
        return found

    def statement(times: Times) -> Truth:
        others = [d for d in times.disciplines if d != discipline]
        return _all(
            sign * (mean(times, d, group) - mean(times, discipline, group)) > 0.0
            for d in others for group in flows
        )  # fmt: skip

    return statement


MIXED = ("cc/be", "ts/be", "be/be")
BEST_EFFORT_TCP: Flows = (MIXED, "be", tables.TCP)
BEST_EFFORT_UDP: Flows = (MIXED, "be", tables.UDP)


def _shorter_under_drr(*pairs: tuple[str, str]) -> Callable[[Times], Truth]:
    """Return whether the classes of the second environment take less time under DRR than those of the first, on average."""

    def statement(times: Times) -> Truth:
        means = [[times.mean(e, "DRR", e.partition("/")[0], tables.CLASSES) for e in pair] for pair in pairs]
        return _all(second < first for first, second in means)

    return statement


def _both(*statements: Callable[[Times], Truth]) -> Callable[[Times], Truth]:
    return lambda times: _all(each(times) for each in statements)


STATEMENTS: dict[str, dict[str, Callable[[Times], Truth]]] = {
    "Y03": {"ordered": lambda times: _ordered(times, "cc/cc")},
    "Y04": {"ordered": lambda times: _ordered(times, "ts/ts"), "independent": _independent},
    "Y07": {"pure": _longer("cc/cc", "ts/ts"), "mixed": _longer("cc/be", "ts/be")},
    "Y12": {
        "fcfs": _extreme("FCFS", 1.0, BEST_EFFORT_UDP),
        "drr": _extreme("DRR", -1.0, (("cc/cc",), "cc", tables.TCP[1:]), BEST_EFFORT_TCP),
        "red": _extreme("RED", 1.0, BEST_EFFORT_TCP),
        "drr_ts": _extreme("DRR", 1.0, (("ts/be",), "ts", tables.TCP)),
        "red_ts": _both(
            _extreme("RED", -1.0, (("ts/ts",), "ts", tables.TCP)),
            _extreme("RED", 1.0, (("ts/ts",), "ts", tables.UDP)),
        ),
        "sfq": _extreme("SFQ", -1.0, (("cc/be", "ts/be"), "be", tables.UDP)),
        "drr_be": _extreme("DRR", -1.0, (("ts/be",), "be", tables.TCP)),
        "drr_cc": _shorter_under_drr(("cc/cc", "ts/ts"), ("cc/be", "ts/be")),
    },
    "Y05": {"fastest": _fastest, "ordered": lambda times: _ordered(times, "cc/be", "ts/be")},
    "Y06": {"same": _same, "udp": _faster},
    "Y11": {"first": _gains(("TCP1",), 1.0), "others": _gains(tables.TCP[1:], -1.0)},
}
"""Whether each setting keeps a statement, by claim."""
