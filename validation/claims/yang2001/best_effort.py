"""Transfers of 1 MB of best effort, among regulated flows and alone (Y05, Y06, Y11)."""

from __future__ import annotations

from collections.abc import Collection

import pandas as pd

from validation import evidence
from validation.claims.effect_claims import effects
from validation.claims.effect_statements import Curve, Effects, Estimates, Statement, beyond
from validation.claims.yang2001 import tables
from validation.claims.yang2001.mechanisms import between
from validation.claims.yang2001.sharing import modelled
from validation.statistics import LEVEL, Estimate

QUEUES = ("yang2001/sensitivity-queues", "yang2001/sensitivity-best-effort")
AS_THE_SENTENCE = ("FCFS", "RED", "SFQ")
"""Disciplines under which the paper's Table 4 has what Sect. 5.4 says of TCP; under DRR TCP2 gains in it."""
FAR = 2.0
"""Factor of the times from which one is called several times, or far, longer."""


@effects("Y05", cases=(*tables.cases("cc/be", "ts/be"), tables.SHORT), equal=True, least=FAR)
def best_effort_among_regulated() -> Effects:
    """Measure best-effort flows beside regulated ones."""

    def fastest(frame: pd.DataFrame, _: str) -> Estimates:
        others = [(c[0], c[1]) for c in frame.columns.to_list() if (c[0], c[1][:3]) != ("be", "UDP")]
        return tuple(
            beyond(tables.apart(frame, other, ("be", udp)), FAR - 1.0) for other in others for udp in tables.UDP
        )

    environments = ("cc/be", "ts/be")

    def statements(times: tables.Times) -> dict[str, Estimates]:
        return {
            "fastest": tables.everywhere_in(environments, fastest, times),
            "ordered": tables.everywhere_in(environments, tables.ordered, times),
        }

    udp = {
        f"{e} {d}": tables.over_seeds(
            tables.under(tables.by_seed(tables.case_of(e, d)), "be")[list(tables.UDP)].mean(axis=1).to_numpy()
        )
        for e in environments
        for d in tables.DISCIPLINES
    }
    return Effects(
        tables.both(statements, least={"fastest": FAR})
        | {"cells": Statement(tables.against_table(environments), equal=True)},
        {
            "best-effort UDP": Curve(
                list(udp),
                list(udp.values()),
                [
                    float(tables.under(modelled(e, d), "be")[list(tables.UDP)].mean(axis=1).iloc[0])
                    for e in environments
                    for d in tables.DISCIPLINES
                ],
            )
        },
        ("environment and discipline", "mean transfer time (s)"),
        values={"udp": udp},
        readings=tables.in_readings(statements, least={"fastest": FAR}),
    )


@effects("Y06", cases=(*tables.cases("be/be"), tables.SHORT, *QUEUES), equal=True, least=FAR)
def best_effort_alone() -> Effects:
    """Measure best-effort flows alone."""

    def ratios(times: tables.Times) -> dict[str, Estimate]:
        found = {}
        for discipline in tables.DISCIPLINES:
            frame = tables.under(times("be/be", discipline), "be")
            tcp, other = (frame[list(kinds)].mean(axis=1) for kinds in (tables.TCP, tables.UDP))
            found[discipline] = tables.over_seeds((tcp / other).to_numpy())
        return found

    def statements(times: tables.Times) -> dict[str, Estimates]:
        same: list[Estimate] = []
        for discipline in tables.DISCIPLINES:
            frame = tables.under(times("be/be", discipline), "be")
            mean = frame[list(tables.TCP)].mean(axis=1)
            same += [tables.over_seeds((frame[kind] / mean - 1.0).to_numpy()) for kind in tables.TCP]
        return {
            "same": tuple(same),
            "udp": tuple(beyond(e, FAR) for e in ratios(times).values()),
        }

    found = ratios(tables.seen)
    return Effects(
        tables.both(statements, equal="same", least={"udp": FAR})
        | {"cells": Statement(tables.against_table(("be/be",)), equal=True)},
        {
            "TCP over UDP": Curve(
                list(found), list(found.values()), [e.value for e in ratios(modelled).values()]
            )
        },
        ("discipline", "ratio of the mean transfer times"),
        values={
            "ratios": found, "short": ratios(tables.short)["FCFS"], "short_sfq": ratios(tables.short)["SFQ"],
            "runs": len(tables.seen("be/be", "SFQ")), "printed": tables.printed_ratio("be/be", "SFQ"),
            "usual": (_behind("DRR.drr_limit", 25000), _behind("SFQ.sfq_limit", 40)),
            "buckets": (_behind("DRR.drr_buckets", 250), _behind("SFQ.sfq_buckets", 256)),
        },
        readings=tables.in_readings(statements, equal="same", least={"udp": FAR}),
    )  # fmt: skip


def times_alone(protocol: str, parameter: str, value: int) -> pd.Series[float]:
    """Return the mean time of a protocol under be/be with another queue by seed, s."""
    frame = evidence.frame(QUEUES[0])
    kept = (frame["parameter"] == parameter) & (frame["value"] == str(value))
    flows = frame[kept & (frame["protocol"] == protocol)]
    return flows.groupby("seed")["transfer_time"].mean()


def _behind(parameter: str, value: int) -> Estimate:
    """Return TCP's mean time over UDP's under be/be with another queue."""
    tcp, udp = (times_alone(protocol, parameter, value) for protocol in ("TCP", "UDP"))
    return tables.over_seeds((tcp / udp).to_numpy())


@effects("Y11", cases=(*tables.cases("cc/be", "ts/be", "be/be"), tables.SHORT))
def gain_over_best_effort() -> Effects:
    """Measure by how much regulated classes gain over best effort."""
    names = [f"{d} {k}" for d in tables.DISCIPLINES for k in tables.TCP]

    def gains(times: tables.Times) -> dict[str, Estimate]:
        found = between("cc/be", "be/be", "cc", "be", tables.TCP, times)
        return dict(zip(names, found, strict=True))

    def statements(times: tables.Times, disciplines: Collection[str] = tables.DISCIPLINES) -> dict[str, Estimates]:
        every = [(name, e) for name, e in gains(times).items() if name.split()[0] in disciplines]
        return {
            "first": tuple(e for name, e in every if name.endswith("TCP1")),
            "others": tuple(-e for name, e in every if not name.endswith("TCP1")),
        }

    short, exact = statements(tables.short, AS_THE_SENTENCE), statements(modelled, AS_THE_SENTENCE)

    found = gains(tables.seen)
    ts = between("ts/be", "be/be", "ts", "be", tables.TCP)
    return Effects(
        tables.both(statements),
        {
            "cc": Curve(names, list(found.values()), [e.value for e in gains(modelled).values()]),
            "ts": Curve(names, ts),
        },
        ("discipline and class", "gain over best effort, relative"),
        values={
            "gaining": [n for n, e in found.items() if e.p_positive() < LEVEL],
            "open": [n for n, e in found.items() if min(e.p_positive(), (-e).p_positive()) >= LEVEL],
            "drr": gains(tables.short)["DRR TCP2"],
            "printed": {d: tables.printed_gain(d, "TCP2") for d in tables.DISCIPLINES},
            "second": [gains(times)["FCFS TCP2"] for times in (tables.seen, tables.short, modelled)],
        },
        readings=tables.in_readings(statements)
        | {
            f"short queues under {', '.join(AS_THE_SENTENCE)}": {
                key: Statement(short[key], exact[key]) for key in short
            }
        },
    )
