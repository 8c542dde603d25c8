"""Transfers of 1 MB by priority, mechanism and discipline (Y03 to Y09, Y11 to Y13, Y17, Y18)."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd

from validation import evidence
from validation.claims.effects import (
    EQUAL,
    Curve,
    Effects,
    Estimates,
    Statement,
    beyond,
    deviation,
    effects,
)
from validation.claims.yang2001.tables import (
    CLASSES,
    DISCIPLINES,
    TCP,
    UDP,
    apart,
    by_seed,
    case_of,
    cases,
    classes,
    everywhere_in,
    ordered,
)
from validation.statistics import Estimate, combine, of_runs

SHORT = "yang2001/short-queues"
SLOTS = "yang2001/sensitivity-slots"
QUEUES = ("yang2001/sensitivity-queues", "yang2001/sensitivity-best-effort")
LINK, SIZE, FLOWS = 1e6, 8e6, 200
"""Rate of the bottleneck in bit/s, bits of a transfer, number of transfers."""
FAR = 2.0
"""Factor of the times from which one is called several times, or far, longer."""
Y12_UDP = "UDP of best effort"


def shown(*environments: str, mechanism: str | None = None) -> dict[str, Curve]:
    """Return the mean times by class, one curve for each environment and discipline."""
    curves = {}
    for environment, discipline in itertools.product(environments, DISCIPLINES):
        found = by_seed(case_of(environment, discipline))
        for each in dict.fromkeys(name for name, _ in found.columns):
            if mechanism in (None, each):
                values = [of_runs(found[each, kind].to_numpy()) for kind in CLASSES]
                curves[f"{environment} {discipline}, {each}"] = Curve(CLASSES, values)
    return curves


AXES = "class of flows", "mean transfer time (s)"


def violated(statements: dict[str, Statement]) -> list[str]:
    """Return the statements that have an estimate below zero."""
    return [
        key
        for key, s in statements.items()
        if isinstance(s.packets, tuple) and any(e.value < 0 for e in s.packets)
    ]


@effects("Y03", cases=(*cases("cc/cc"), SHORT))
def order_of_cc() -> Effects:
    """Measure the order of the transfer times under cc."""
    curves = shown("cc/cc")
    found = {d: ordered(by_seed(case_of("cc/cc", d)), "cc") for d in DISCIPLINES}
    return Effects(
        {"ordered": Statement(tuple(e for each in found.values() for e in each))},
        curves, AXES,
        values={"udp": {d: each[-1] for d, each in found.items()}, "curves": curves},
    )  # fmt: skip


@effects("Y04", cases=(*cases("ts/ts"), SHORT, SLOTS), equal=True)
def order_of_ts() -> Effects:
    """Measure the order of the transfer times under ts, and the influence of the discipline."""
    frames = {d: by_seed(case_of("ts/ts", d)) for d in DISCIPLINES}
    deviations = []
    for kind in CLASSES:
        means = {d: of_runs(frame["ts", kind].to_numpy()) for d, frame in frames.items()}
        middle = sum(e.value for e in means.values()) / len(means)
        deviations += [deviation(e, middle) for e in means.values()]
    return Effects(
        {
            "ordered": Statement(everywhere_in(("ts/ts",), ordered)),
            "independent": Statement(tuple(deviations), equal=True),
        },
        shown("ts/ts"), AXES,
        values={"largest": max(deviations, key=lambda e: abs(e.value))},
    )  # fmt: skip


@effects("Y05", cases=(*cases("cc/be", "ts/be"), SHORT))
def best_effort_among_regulated() -> Effects:
    """Measure best-effort flows beside regulated ones."""

    def fastest(frame: pd.DataFrame, mechanism: str) -> Estimates:
        others = [(m, k) for m, k in frame.columns if (m, k[:3]) != ("be", "UDP")]
        return (
            tuple(apart(frame, other, ("be", udp), FAR) for other in others for udp in UDP)
            + ordered(frame, mechanism)[:0]
        )

    environments = ("cc/be", "ts/be")
    udp = {
        f"{e} {d}": of_runs(by_seed(case_of(e, d))["be"][list(UDP)].mean(axis=1).to_numpy())
        for e in environments
        for d in DISCIPLINES
    }
    return Effects(
        {
            "fastest": Statement(everywhere_in(environments, fastest)),
            "ordered": Statement(everywhere_in(environments, ordered)),
        },
        {"best-effort UDP": Curve(list(udp), list(udp.values()))},
        ("environment and discipline", "mean transfer time (s)"),
        values={"udp": udp},
    )


@effects("Y06", cases=(*cases("be/be"), SHORT, *QUEUES), equal=True)
def best_effort_alone() -> Effects:
    """Measure best-effort flows alone."""
    same, udp = [], []
    ratios = {}
    for discipline in DISCIPLINES:
        frame = by_seed(case_of("be/be", discipline))["be"]
        tcp, other = (frame[list(kinds)].mean(axis=1) for kinds in (TCP, UDP))
        same += [of_runs((frame[kind] / tcp - 1.0).to_numpy()) for kind in TCP]
        ratios[discipline] = of_runs((tcp / other).to_numpy())
        udp.append(beyond(ratios[discipline], FAR))
    return Effects(
        {"same": Statement(tuple(same), equal=True), "udp": Statement(tuple(udp))},
        {"TCP over UDP": Curve(list(ratios), list(ratios.values()))},
        ("discipline", "ratio of the mean transfer times"),
        values={"ratios": ratios},
    )


def _between(
    one: str, other: str, mechanism: str, second: str, kinds: tuple[str, ...] = CLASSES
) -> Estimates:
    """Return the relative differences of classes of two environments, ``other`` less ``one``."""
    return tuple(
        of_runs((by_seed(case_of(other, d))[second, k] / by_seed(case_of(one, d))[mechanism, k] - 1.0)
                .to_numpy())
        for d in DISCIPLINES for k in kinds
    )  # fmt: skip


@effects("Y07", cases=cases("cc/cc", "ts/ts", "cc/be", "ts/be", "be/be"))
def cc_against_ts() -> Effects:
    """Measure by how much ts takes longer than cc, class by class."""
    pure, mixed = (_between(*e, "cc", "ts") for e in (("cc/cc", "ts/ts"), ("cc/be", "ts/be")))
    names = [f"{d} {k}" for d in DISCIPLINES for k in CLASSES]
    against = [n for n, e in zip(names, pure, strict=True) if e.value < 0]
    return Effects(
        {"pure": Statement(pure), "mixed": Statement(mixed)},
        {"ts/ts over cc/cc": Curve(names, pure), "ts/be over cc/be": Curve(names, mixed)},
        ("discipline and class", "relative difference of the times"),
        values={"against": against, "number": len(names)},
    )


@effects("Y08", cases=cases("cc/cc", "ts/ts", "cc/be", "ts/be", "be/be"))
def udp_against_tcp() -> Effects:
    """Measure by how much TCP takes longer than UDP of the same priority."""

    def differences(frame: pd.DataFrame, mechanism: str) -> Estimates:
        return tuple(apart(frame, (mechanism, f"TCP{udp[-1]}"), (mechanism, udp)) for udp in UDP)

    found = {
        f"{e} {d}, {u}": each
        for e in ENVIRONMENTS
        for d in DISCIPLINES
        for u, each in zip(
            UDP, differences(by_seed(case_of(e, d)), e.partition("/")[0]), strict=True
        )
    }
    return Effects(
        {"faster": Statement(tuple(found.values()))},
        {"TCP over UDP": Curve(list(found), list(found.values()))},
        ("environment, discipline and class", "relative difference of the times"),
        values={"against": [name for name, e in found.items() if e.value < 0]},
    )


ENVIRONMENTS = ("cc/cc", "ts/ts", "cc/be", "ts/be", "be/be")


@effects("Y09", cases=cases("cc/cc", "ts/ts", "cc/be", "ts/be"))
def ratio_of_tcp() -> Effects:
    """Measure the order of the classes for every ratio of TCP to UDP, and the scatter over it."""
    order: list[Estimate] = []
    scatter: dict[str, list[float]] = {"cc": [], "ts": []}
    for environment in ("cc/cc", "ts/ts", "cc/be", "ts/be"):
        mechanism = environment.partition("/")[0]
        for discipline in DISCIPLINES:
            frame = classes(case_of(environment, discipline))
            for _, runs in frame.groupby("tcp_flows"):
                order += ordered(runs, mechanism)[:3]
            means = frame.groupby("tcp_flows").mean()[mechanism][list(TCP)]
            scatter[mechanism] += (means.std() / means.mean()).tolist()
    more = of_runs(np.subtract(scatter["cc"], scatter["ts"]))
    spread = {name: of_runs(values) for name, values in scatter.items()}
    return Effects(
        {"ordered": Statement(tuple(order)), "fluctuates": Statement((more,))},
        {"scatter": Curve(list(spread), list(spread.values()))},
        ("mechanism", "scatter of a class over the ratios, over its mean"),
        values={"spread": spread, "wrong": sum(e.value < 0 for e in order), "all": len(order)},
    )


@effects("Y11", cases=cases("cc/be", "ts/be", "be/be"))
def gain_over_best_effort() -> Effects:
    """Measure by how much regulated classes gain over best effort."""
    gains = _between("cc/be", "be/be", "cc", "be", TCP)
    names = [f"{d} {k}" for d in DISCIPLINES for k in TCP]
    found = dict(zip(names, gains, strict=True))
    first = tuple(e for name, e in found.items() if name.endswith("TCP1"))
    rest = tuple(-e for name, e in found.items() if not name.endswith("TCP1"))
    ts = _between("ts/be", "be/be", "ts", "be", TCP)
    return Effects(
        {"first": Statement(first), "others": Statement(rest)},
        {"cc": Curve(names, gains), "ts": Curve(names, ts)},
        ("discipline and class", "gain over best effort, relative"),
        values={"gaining": [n for n, e in found.items() if e.value > 0]},
    )


@effects("Y12", cases=(*cases("cc/cc", "ts/ts", "cc/be", "ts/be", "be/be"), SHORT, QUEUES[0]))
def disciplines() -> Effects:
    """Measure which discipline is best and worst for which flows."""

    def mean(environments: tuple[str, ...], mechanism: str, kinds: tuple[str, ...]) -> pd.DataFrame:
        columns = {}
        for discipline in DISCIPLINES:
            tables = [by_seed(case_of(e, discipline))[mechanism][list(kinds)] for e in environments]
            columns[discipline] = sum(t.mean(axis=1) for t in tables) / len(tables)
        return pd.DataFrame(columns)

    def against(frame: pd.DataFrame, discipline: str, sign: float) -> Estimates:
        others = [d for d in DISCIPLINES if d != discipline]
        return tuple(
            of_runs((sign * (frame[d] / frame[discipline] - 1.0)).to_numpy()) for d in others
        )

    mixed = ("cc/be", "ts/be", "be/be")
    groups = {
        Y12_UDP: mean(mixed, "be", UDP),
        "TCP 2 to 4 of cc": mean(("cc/cc",), "cc", TCP[1:]),
        "TCP of best effort": mean(mixed, "be", TCP),
        "UDP of cc": mean(("cc/cc",), "cc", UDP),
    }
    udp, cc, tcp, cc_udp = groups.values()
    return Effects(
        {
            "fcfs": Statement(against(udp, "FCFS", 1.0)),
            "drr": Statement(against(cc, "DRR", -1.0) + against(tcp, "DRR", -1.0)),
            "sfq": Statement(against(udp, "SFQ", -1.0) + against(cc_udp, "SFQ", -1.0)),
        },
        {
            name: Curve(DISCIPLINES, [of_runs(frame[d].to_numpy()) for d in DISCIPLINES])
            for name, frame in groups.items()
        },
        ("discipline", "mean transfer time (s)"),
        values={"best": {n: f.mean().idxmin() for n, f in groups.items()},
                "worst": {n: f.mean().idxmax() for n, f in groups.items()}},
    )  # fmt: skip


def _spreads(environment: str, discipline: str) -> pd.DataFrame:
    return by_seed(case_of(environment, discipline), "std")[environment.partition("/")[0]]


@effects("Y13", cases=cases("cc/cc", "ts/ts", "cc/be", "ts/be"))
def spread_of_times() -> Effects:
    """Measure the standard deviation of the times within a class."""
    pairs = [(("cc/cc", "ts/ts"), d) for d in DISCIPLINES]
    pairs += [(("cc/be", "ts/be"), d) for d in DISCIPLINES]
    share = []
    for (one, other), d in pairs:
        cc, ts = _spreads(one, d), _spreads(other, d)
        share.append((ts[list(CLASSES)] < cc[list(CLASSES)]).to_numpy().mean())
    steps = tuple(
        of_runs((_spreads("cc/cc", d)[low] / _spreads("cc/cc", d)[high] - 1.0).to_numpy())
        for d in DISCIPLINES
        for high, low in itertools.pairwise(TCP)
    )
    curves = {
        f"{e} {d}": Curve(TCP, [of_runs(_spreads(e, d)[k].to_numpy()) for k in TCP])
        for e in ("cc/cc", "ts/ts")
        for d in DISCIPLINES
    }
    most = of_runs(share)
    return Effects(
        {"below": Statement((beyond(most, 0.5),)), "priority": Statement(steps)},
        curves,
        ("class of flows", "standard deviation of the transfer time (s)"),
        values={"share": most},
    )


@effects("Y18", cases=cases("cc/cc", "ts/ts", "cc/be", "ts/be", "be/be"))
def spread_by_discipline() -> Effects:
    """Measure the spread of the classes by priority and discipline."""
    total = {d: _spreads("cc/cc", d)[list(CLASSES)].mean(axis=1) for d in DISCIPLINES}
    stable = tuple(
        of_runs((total[worse] / total[better] - 1.0).to_numpy())
        for better in ("FCFS", "RED")
        for worse in ("DRR", "SFQ")
    )
    ts = tuple(
        of_runs((_spreads("ts/ts", d)[low] / _spreads("ts/ts", d)[high] - 1.0).to_numpy())
        for d in DISCIPLINES
        for high, low in itertools.pairwise(TCP)
    )
    return Effects(
        {"priority": Statement(ts), "stable": Statement(stable)},
        {"cc/cc": Curve(DISCIPLINES, [of_runs(total[d].to_numpy()) for d in DISCIPLINES])},
        ("discipline", "standard deviation, mean of the classes (s)"),
        values={"total": {d: of_runs(values.to_numpy()) for d, values in total.items()},
                "against": sum(e.value < 0 for e in ts), "steps": len(ts)},
    )  # fmt: skip


@effects("Y17", cases=(*cases("ts/ts"), SLOTS, "yang2001/slots-per-turn"))
def unused_slots() -> Effects:
    """Measure how long ts takes beyond the time that the load needs on the link."""
    extra = {}
    for environment in ("ts/ts", "be/be"):
        for discipline in DISCIPLINES:
            frame = evidence.table(case_of(environment, discipline), "sources")
            finish = frame.groupby(["tcp_flows", "seed"])["finish"].max().groupby("seed").mean()
            extra[f"{environment} {discipline}"] = of_runs(finish / (SIZE * FLOWS / LINK) - 1.0)
    ts = [e for name, e in extra.items() if name.startswith("ts")]
    return Effects(
        {"loses": Statement(tuple(beyond(e, EQUAL) for e in ts))},
        {"total time": Curve(list(extra), list(extra.values()))},
        ("environment and discipline", "total time over load / capacity, less one"),
        values={"extra": extra, "ts": combine(ts, [1.0 / len(ts)] * len(ts))},
    )
