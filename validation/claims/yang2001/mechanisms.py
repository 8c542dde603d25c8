"""Transfers of 1 MB under congestion control against time slots, and TCP against UDP (Y07, Y08)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from validation.claims.effect_claims import effects
from validation.claims.effect_statements import Curve, Effects, Estimates
from validation.claims.yang2001 import tables
from validation.claims.yang2001.priorities import ENVIRONMENTS, SLOTS
from validation.claims.yang2001.sharing import modelled
from validation.statistics import Estimate, Values


def differences_of_classes(
    one: str,
    other: str,
    mechanism: str,
    second: str,
    kinds: tuple[str, ...] = tables.CLASSES,
    times: tables.Times = tables.seen,
) -> Iterator[Values]:
    """Yield the relative differences of classes of two environments, ``other`` less ``one``, by seed."""
    for d in tables.DISCIPLINES:
        for kind in kinds:
            yield tables.relative(times(other, d)[second, kind], times(one, d)[mechanism, kind])


def between(*given: Any, **options: Any) -> Estimates:
    """Return the estimates of `differences_of_classes`, whose arguments it has."""
    return tuple(map(tables.over_seeds, differences_of_classes(*given, **options)))


def typical(rows: Iterable[Values], statistic: Callable[..., float] = np.mean) -> Estimates:
    """Return the mean, or another statistic, of rows of a table, seed by seed."""
    return (tables.over_seeds(np.array([statistic(values) for values in np.array(list(rows)).T])),)


@effects("Y07", cases=tables.cases("cc/cc", "ts/ts", "cc/be", "ts/be", "be/be"))
def cc_against_ts() -> Effects:
    """Measure by how much ts takes longer than cc, over all classes and disciplines, and for each."""
    compared = {"pure": ("cc/cc", "ts/ts", "cc", "ts"), "mixed": ("cc/be", "ts/be", "cc", "ts")}

    def means(times: tables.Times) -> dict[str, Estimates]:
        return {key: typical(differences_of_classes(*each, times=times)) for key, each in compared.items()}

    def each_class(times: tables.Times) -> dict[str, Estimates]:
        return {key: between(*each, times=times) for key, each in compared.items()}

    pure, mixed = each_class(tables.seen).values()
    names = [f"{d} {k}" for d in tables.DISCIPLINES for k in tables.CLASSES]
    against = [n for n, e in zip(names, pure, strict=True) if e.value < 0]
    return Effects(
        tables.both(means),
        {"ts/ts over cc/cc": Curve(names, pure), "ts/be over cc/be": Curve(names, mixed)},
        ("discipline and class", "relative difference of the times"),
        values={
            "against": against,
            "number": len(names),
            "means": {key: found[0] for key, found in means(tables.seen).items()},
            "last": pure[names.index("FCFS TCP4")],
            "last_model": each_class(modelled)["pure"][names.index("FCFS TCP4")].value,
        },
        readings={"each class under each discipline": tables.both(each_class)},
    )


@effects("Y08", cases=(*tables.cases("cc/cc", "ts/ts", "cc/be", "ts/be", "be/be"), SLOTS))
def udp_against_tcp() -> Effects:
    """Measure by how much TCP takes longer than UDP of the same priority, in the median row and in each."""
    settings = list(itertools.product(ENVIRONMENTS, tables.DISCIPLINES))

    def row(times: tables.Times, setting: tuple[str, str], udp: str) -> Values:
        frame, mechanism = times(*setting), tables.regulated(setting[0])
        return tables.relative(frame[mechanism, f"TCP{udp[-1]}"], frame[mechanism, udp])

    def medians(times: tables.Times) -> dict[str, Estimates]:
        return {
            key: typical((row(times, setting, udp) for setting in settings), np.median)
            for key, udp in zip(("three", "four"), tables.UDP, strict=True)
        }

    def each_row(times: tables.Times) -> dict[str, Estimates]:
        return {
            key: tuple(tables.over_seeds(row(times, setting, udp)) for setting in settings)
            for key, udp in zip(("three", "four"), tables.UDP, strict=True)
        }

    found = {
        f"{e} {d}, {udp}": each
        for udp, estimates in zip(tables.UDP, each_row(tables.seen).values(), strict=True)
        for (e, d), each in zip(settings, estimates, strict=True)
    }
    return Effects(
        tables.both(medians),
        {"TCP over UDP": Curve(list(found), list(found.values()))},
        ("environment, discipline and class", "relative difference of the times"),
        values={
            "against": [name for name, e in found.items() if e.value < 0],
            "number": len(found),
            "medians": {key: each[0] for key, each in medians(tables.seen).items()},
            "turns": found["ts/ts FCFS, UDP3"], "free": found["be/be FCFS, UDP3"],
            "rates": [_in_turns(value) for value in ("default", "1e+06")],
        },
        readings={"each row of Table 4": tables.both(each_row)},
    )  # fmt: skip


def _in_turns(udp_rate: str) -> Estimate:
    """Return by how much TCP3 takes longer than UDP3 under ts/ts and FCFS by UDP's rate."""
    frame = tables.classes(SLOTS).reset_index()
    return tables.apart(frame[frame["value"] == udp_rate], ("ts", "TCP3"), ("ts", "UDP3"))
