"""The statements of yang2001's claims on Table 4 as functions of the mean transfer times of many settings.

They are those that `validation.claims.yang2001.priorities` judges, without intervals: a test compares them on the
bundled runs.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from validation.claims.effect_claims import EQUAL
from validation.claims.yang2001.priorities import FAR
from validation.claims.yang2001.tables import TCP, UDP

__all__ = ["STATEMENTS", "Times"]

Values = NDArray[np.float64]
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

    def mean(
        self, environment: str, discipline: str, mechanism: str, kinds: Iterable[str]
    ) -> Values:
        """Return the mean over classes."""
        found: Values = np.mean(
            [self.of[environment, discipline, mechanism, kind] for kind in kinds], axis=0
        )
        return found


def _all(each: Iterable[Truth]) -> Truth:
    found: Truth = np.logical_and.reduce(list(each))
    return found


def _ordered(times: Times, *environments: str) -> Truth:
    """Return whether TCP's times, and UDP's, rise from each priority to the next."""
    pairs = [*itertools.pairwise(TCP), UDP]
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
        for udp in UDP
    )


def _same(times: Times) -> Truth:
    """Return whether the TCP classes of best effort are equal within the margin."""
    checks = []
    for d in times.disciplines:
        mean = times.mean("be/be", d, "be", TCP)
        checks += [abs(times.of["be/be", d, "be", kind] / mean - 1.0) <= EQUAL for kind in TCP]
    return _all(checks)


def _faster(times: Times) -> Truth:
    """Return whether TCP of best effort takes several times as long as UDP."""
    return _all(
        times.mean("be/be", d, "be", TCP) > FAR * times.mean("be/be", d, "be", UDP)
        for d in times.disciplines
    )


def _gains(kinds: tuple[str, ...], sign: float) -> Callable[[Times], Truth]:
    def statement(times: Times) -> Truth:
        return _all(
            sign * (times.of["be/be", d, "be", kind] - times.of["cc/be", d, "cc", kind]) > 0.0
            for d in times.disciplines for kind in kinds
        )  # fmt: skip

    return statement


STATEMENTS: dict[str, dict[str, Callable[[Times], Truth]]] = {
    "Y05": {"fastest": _fastest, "ordered": lambda times: _ordered(times, "cc/be", "ts/be")},
    "Y06": {"same": _same, "udp": _faster},
    "Y11": {"first": _gains(("TCP1",), 1.0), "others": _gains(TCP[1:], -1.0)},
}
"""Whether each setting keeps a statement, by claim."""
