"""Transfers of 1 MB of best effort, among regulated flows and alone (Y05, Y06, Y11)."""

from __future__ import annotations

import pandas as pd

from validation import evidence
from validation.claims.effect_claims import (
    Curve,
    Effects,
    Estimates,
    Statement,
    beyond,
    effects,
)
from validation.claims.yang2001.mechanisms import between
from validation.claims.yang2001.sharing import modelled
from validation.claims.yang2001.tables import (
    DISCIPLINES,
    SHORT,
    TCP,
    UDP,
    Times,
    against_table,
    apart,
    both,
    by_seed,
    case_of,
    cases,
    everywhere_in,
    in_readings,
    ordered,
    printed_ratio,
    seen,
    short,
    under,
)
from validation.statistics import Estimate, of_runs

QUEUES = ("yang2001/sensitivity-queues", "yang2001/sensitivity-best-effort")
FAR = 2.0
"""Factor of the times from which one is called several times, or far, longer."""


@effects("Y05", cases=(*cases("cc/be", "ts/be"), SHORT), equal=True, least=FAR)
def best_effort_among_regulated() -> Effects:
    """Measure best-effort flows beside regulated ones."""

    def fastest(frame: pd.DataFrame, _: str) -> Estimates:
        others = [
            (c[0], c[1]) for c in frame.columns.to_list() if (c[0], c[1][:3]) != ("be", "UDP")
        ]
        return tuple(
            beyond(apart(frame, other, ("be", udp)), FAR - 1.0) for other in others for udp in UDP
        )

    environments = ("cc/be", "ts/be")

    def statements(times: Times) -> dict[str, Estimates]:
        return {
            "fastest": everywhere_in(environments, fastest, times),
            "ordered": everywhere_in(environments, ordered, times),
        }

    udp = {
        f"{e} {d}": of_runs(under(by_seed(case_of(e, d)), "be")[list(UDP)].mean(axis=1).to_numpy())
        for e in environments
        for d in DISCIPLINES
    }
    return Effects(
        both(statements, least={"fastest": FAR})
        | {"cells": Statement(against_table(environments), equal=True)},
        {
            "best-effort UDP": Curve(
                list(udp),
                list(udp.values()),
                [
                    float(under(modelled(e, d), "be")[list(UDP)].mean(axis=1).iloc[0])
                    for e in environments
                    for d in DISCIPLINES
                ],
            )
        },
        ("environment and discipline", "mean transfer time (s)"),
        values={"udp": udp},
        readings=in_readings(statements, least={"fastest": FAR}),
    )


@effects("Y06", cases=(*cases("be/be"), SHORT, *QUEUES), equal=True, least=FAR)
def best_effort_alone() -> Effects:
    """Measure best-effort flows alone."""

    def ratios(times: Times) -> dict[str, Estimate]:
        found = {}
        for discipline in DISCIPLINES:
            frame = under(times("be/be", discipline), "be")
            tcp, other = (frame[list(kinds)].mean(axis=1) for kinds in (TCP, UDP))
            found[discipline] = of_runs((tcp / other).to_numpy())
        return found

    def statements(times: Times) -> dict[str, Estimates]:
        same: list[Estimate] = []
        for discipline in DISCIPLINES:
            frame = under(times("be/be", discipline), "be")
            mean = frame[list(TCP)].mean(axis=1)
            same += [of_runs((frame[kind] / mean - 1.0).to_numpy()) for kind in TCP]
        return {
            "same": tuple(same),
            "udp": tuple(beyond(e, FAR) for e in ratios(times).values()),
        }

    found = ratios(seen)
    return Effects(
        both(statements, equal="same", least={"udp": FAR})
        | {"cells": Statement(against_table(("be/be",)), equal=True)},
        {
            "TCP over UDP": Curve(
                list(found), list(found.values()), [e.value for e in ratios(modelled).values()]
            )
        },
        ("discipline", "ratio of the mean transfer times"),
        values={
            "ratios": found, "short": ratios(short)["FCFS"], "short_sfq": ratios(short)["SFQ"],
            "runs": len(seen("be/be", "SFQ")), "printed": printed_ratio("be/be", "SFQ"),
            "usual": (_behind("DRR.drr_limit", 25000), _behind("SFQ.sfq_limit", 40)),
            "buckets": (_behind("DRR.drr_buckets", 250), _behind("SFQ.sfq_buckets", 256)),
        },
        readings=in_readings(statements, equal="same", least={"udp": FAR}),
    )  # fmt: skip


def times_alone(protocol: str, parameter: str, value: int) -> pd.Series[float]:
    """Return the mean time of a protocol under be/be with another queue by seed, s."""
    frame = evidence.table(QUEUES[0])
    kept = (frame["parameter"] == parameter) & (frame["value"] == str(value))
    flows = frame[kept & (frame["protocol"] == protocol)]
    return flows.groupby("seed")["transfer_time"].mean()


def _behind(parameter: str, value: int) -> Estimate:
    """Return TCP's mean time over UDP's under be/be with another queue."""
    tcp, udp = (times_alone(protocol, parameter, value) for protocol in ("TCP", "UDP"))
    return of_runs((tcp / udp).to_numpy())


@effects("Y11", cases=(*cases("cc/be", "ts/be", "be/be"), SHORT))
def gain_over_best_effort() -> Effects:
    """Measure by how much regulated classes gain over best effort."""
    names = [f"{d} {k}" for d in DISCIPLINES for k in TCP]

    def gains(times: Times) -> dict[str, Estimate]:
        found = between("cc/be", "be/be", "cc", "be", TCP, times)
        return dict(zip(names, found, strict=True))

    def statements(times: Times) -> dict[str, Estimates]:
        every = gains(times).items()
        return {
            "first": tuple(e for name, e in every if name.endswith("TCP1")),
            "others": tuple(-e for name, e in every if not name.endswith("TCP1")),
        }

    found = gains(seen)
    ts = between("ts/be", "be/be", "ts", "be", TCP)
    return Effects(
        both(statements),
        {
            "cc": Curve(names, list(found.values()), [e.value for e in gains(modelled).values()]),
            "ts": Curve(names, ts),
        },
        ("discipline and class", "gain over best effort, relative"),
        values={
            "gaining": [n for n, e in found.items() if e.value > 0],
            "second": [gains(times)["FCFS TCP2"] for times in (seen, short, modelled)],
        },
        readings=in_readings(statements),
    )
