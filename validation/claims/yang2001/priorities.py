"""Transfers of 1 MB by priority, mechanism and discipline (Y03 to Y09, Y11, Y12, Y17)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pandas as pd

from validation import evidence
from validation.claims.effect_claims import (
    EQUAL,
    Curve,
    Effects,
    Estimates,
    Statement,
    beyond,
    deviation,
    effects,
)
from validation.claims.yang2001.sharing import RATIOS, modelled, transfer_times, turns
from validation.claims.yang2001.tables import (
    CLASSES,
    DISCIPLINES,
    SHORT,
    SMALL_WINDOWS,
    TCP,
    UDP,
    Times,
    against_table,
    apart,
    both,
    by_seed,
    case_of,
    cases,
    classes,
    everywhere_in,
    ordered,
    ordered_tcp,
    printed_ratio,
    regulated,
    relative,
    seen,
    short,
    small_windows,
    under,
    with_short_queues,
)
from validation.statistics import Estimate, Values, combine, of_runs
from validation.verdicts import Verdict

SLOTS = "yang2001/sensitivity-slots"
CONTROL = "yang2001/sensitivity-control"
TURNS = "yang2001/slots-per-turn"
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
        for each in dict.fromkeys(found.columns.get_level_values(0)):
            if mechanism in (None, each):
                values = [of_runs(found[each, kind].to_numpy()) for kind in CLASSES]
                model = modelled(environment, discipline)[each].iloc[0]
                curves[f"{environment} {discipline}, {each}"] = Curve(
                    CLASSES, values, [float(model[kind]) for kind in CLASSES]
                )
    return curves


AXES = "class of flows", "mean transfer time (s)"


def violated(statements: dict[str, Statement]) -> list[str]:
    """Return the statements that have an estimate below zero."""
    return [
        key
        for key, s in statements.items()
        if isinstance(s.packets, tuple) and any(e.value < 0 for e in s.packets)
    ]


@effects("Y03", cases=(*cases("cc/cc"), SHORT, CONTROL), equal=True)
def order_of_cc() -> Effects:
    """Measure the order of the transfer times under cc."""
    curves = shown("cc/cc")
    found = {d: ordered(by_seed(case_of("cc/cc", d)), "cc") for d in DISCIPLINES}

    def statements(times: Times) -> dict[str, Estimates]:
        return {"ordered": everywhere_in(("cc/cc",), ordered, times)}

    return Effects(
        both(statements) | {"cells": Statement(against_table(("cc/cc",)), equal=True)},
        curves, AXES,
        values={"udp": {d: each[-1] for d, each in found.items()}, "curves": curves},
        readings=_other_controls() | with_short_queues(statements),
    )  # fmt: skip


def _other_controls() -> dict[str, dict[str, Statement]]:
    """Return the order in runs with other values of the unpublished parameters of cc."""
    frame = classes(CONTROL).reset_index()
    settings = frame[["parameter", "value"]].droplevel(1, axis=1).drop_duplicates()
    readings = {}
    for parameter, value in settings.to_numpy().tolist():
        runs = frame[(frame["parameter"] == parameter) & (frame["value"] == value)]
        if parameter != "default":
            readings[f"{parameter} = {value}"] = {"ordered": Statement(ordered(runs, "cc"))}
    return readings


@effects("Y04", cases=(*cases("ts/ts"), SHORT, SMALL_WINDOWS, SLOTS), equal=True)
def order_of_ts() -> Effects:
    """Measure the order of the transfer times under ts, and the influence of the discipline."""

    def statements(times: Times) -> dict[str, Estimates]:
        deviations: list[Estimate] = []
        for kind in CLASSES:
            means = [of_runs(times("ts/ts", d)["ts", kind].to_numpy()) for d in DISCIPLINES]
            middle = sum(e.value for e in means) / len(means)
            deviations += [deviation(e, middle) for e in means]
        return {
            "ordered": everywhere_in(("ts/ts",), ordered, times),
            "independent": tuple(deviations),
        }

    def largest(times: Times) -> Estimate:
        return max(statements(times)["independent"], key=lambda e: abs(e.value))

    return Effects(
        both(statements, equal="independent")
        | {"cells": Statement(against_table(("ts/ts",)), equal=True)},
        shown("ts/ts"), AXES,
        values={
            "largest": largest(seen), "short": largest(short), "windows": largest(small_windows),
            "timeouts": {name: _timeouts(case) for name, case in
                         (("short", SHORT), ("windows", SMALL_WINDOWS))},
        },
        readings=with_short_queues(statements, equal="independent"),
    )  # fmt: skip


def _timeouts(case: str) -> Estimate:
    """Return the mean number of timeouts of a TCP flow under ts/ts."""
    frame = evidence.table(case)
    flows = frame[(frame["environment"] == "ts/ts") & (frame["protocol"] == "TCP")]
    return of_runs(flows.groupby("seed")["timeouts"].mean().to_numpy())


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
        readings=with_short_queues(statements, least={"fastest": FAR}),
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
        readings=with_short_queues(statements, equal="same", least={"udp": FAR}),
    )  # fmt: skip


def _alone(protocol: str, parameter: str, value: int) -> pd.Series[float]:
    """Return the mean time of a protocol under be/be with another queue by seed, s."""
    frame = evidence.table(QUEUES[0])
    kept = (frame["parameter"] == parameter) & (frame["value"] == str(value))
    flows = frame[kept & (frame["protocol"] == protocol)]
    return flows.groupby("seed")["transfer_time"].mean()


def _behind(parameter: str, value: int) -> Estimate:
    """Return TCP's mean time over UDP's under be/be with another queue."""
    tcp, udp = (_alone(protocol, parameter, value) for protocol in ("TCP", "UDP"))
    return of_runs((tcp / udp).to_numpy())


def _apart(
    one: str,
    other: str,
    mechanism: str,
    second: str,
    kinds: tuple[str, ...] = CLASSES,
    times: Times = seen,
) -> Iterator[Values]:
    """Yield the relative differences of classes of two environments, ``other`` less ``one``, by seed."""
    for d in DISCIPLINES:
        for kind in kinds:
            yield relative(times(other, d)[second, kind], times(one, d)[mechanism, kind])


def _between(
    one: str,
    other: str,
    mechanism: str,
    second: str,
    kinds: tuple[str, ...] = CLASSES,
    times: Times = seen,
) -> Estimates:
    """Return the estimates of `_apart`."""
    return tuple(map(of_runs, _apart(one, other, mechanism, second, kinds, times)))


def _typical(rows: Iterable[Values], statistic: Callable[..., float] = np.mean) -> Estimates:
    """Return the mean, or another statistic, of rows of a table, seed by seed."""
    return (of_runs(np.array([statistic(values) for values in np.array(list(rows)).T])),)


@effects("Y07", cases=cases("cc/cc", "ts/ts", "cc/be", "ts/be", "be/be"))
def cc_against_ts() -> Effects:
    """Measure by how much ts takes longer than cc, over all classes and disciplines, and for each."""
    compared = {"pure": ("cc/cc", "ts/ts", "cc", "ts"), "mixed": ("cc/be", "ts/be", "cc", "ts")}

    def means(times: Times) -> dict[str, Estimates]:
        return {key: _typical(_apart(*each, times=times)) for key, each in compared.items()}

    def each_class(times: Times) -> dict[str, Estimates]:
        return {key: _between(*each, times=times) for key, each in compared.items()}

    pure, mixed = each_class(seen).values()
    names = [f"{d} {k}" for d in DISCIPLINES for k in CLASSES]
    against = [n for n, e in zip(names, pure, strict=True) if e.value < 0]
    return Effects(
        both(means),
        {"ts/ts over cc/cc": Curve(names, pure), "ts/be over cc/be": Curve(names, mixed)},
        ("discipline and class", "relative difference of the times"),
        values={
            "against": against,
            "number": len(names),
            "means": {key: found[0] for key, found in means(seen).items()},
            "last": pure[names.index("FCFS TCP4")],
            "last_model": each_class(modelled)["pure"][names.index("FCFS TCP4")].value,
        },
        readings={"each class under each discipline": both(each_class)},
    )


@effects("Y08", cases=(*cases("cc/cc", "ts/ts", "cc/be", "ts/be", "be/be"), SLOTS))
def udp_against_tcp() -> Effects:
    """Measure by how much TCP takes longer than UDP of the same priority, in the median row and in each."""
    settings = list(itertools.product(ENVIRONMENTS, DISCIPLINES))

    def row(times: Times, setting: tuple[str, str], udp: str) -> Values:
        frame, mechanism = times(*setting), regulated(setting[0])
        return relative(frame[mechanism, f"TCP{udp[-1]}"], frame[mechanism, udp])

    def medians(times: Times) -> dict[str, Estimates]:
        return {
            key: _typical((row(times, setting, udp) for setting in settings), np.median)
            for key, udp in zip(("three", "four"), UDP, strict=True)
        }

    def each_row(times: Times) -> dict[str, Estimates]:
        return {
            key: tuple(of_runs(row(times, setting, udp)) for setting in settings)
            for key, udp in zip(("three", "four"), UDP, strict=True)
        }

    found = {
        f"{e} {d}, {udp}": each
        for udp, estimates in zip(UDP, each_row(seen).values(), strict=True)
        for (e, d), each in zip(settings, estimates, strict=True)
    }
    return Effects(
        both(medians),
        {"TCP over UDP": Curve(list(found), list(found.values()))},
        ("environment, discipline and class", "relative difference of the times"),
        values={
            "against": [name for name, e in found.items() if e.value < 0],
            "number": len(found),
            "medians": {key: each[0] for key, each in medians(seen).items()},
            "turns": found["ts/ts FCFS, UDP3"], "free": found["be/be FCFS, UDP3"],
            "rates": [_in_turns(value) for value in ("default", "1e+06")],
        },
        readings={"each row of Table 4": both(each_row)},
    )  # fmt: skip


def _in_turns(udp_rate: str) -> Estimate:
    """Return by how much TCP3 takes longer than UDP3 under ts/ts and FCFS by UDP's rate."""
    frame = classes(SLOTS).reset_index()
    return apart(frame[frame["value"] == udp_rate], ("ts", "TCP3"), ("ts", "UDP3"))


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
                order += ordered_tcp(runs, mechanism)
            means = under(frame.groupby("tcp_flows").mean(), mechanism)[list(TCP)]
            scatter[mechanism] += (means.std() / means.mean()).to_numpy().tolist()
    more = of_runs(np.subtract(scatter["cc"], scatter["ts"]))
    spread = {name: of_runs(values) for name, values in scatter.items()}
    return Effects(
        {
            "ordered": Statement(tuple(order), tuple(_modelled_order())),
            "fluctuates": Statement((more,), Verdict.NOT_APPLICABLE),
        },
        {"scatter": Curve(list(spread), list(spread.values()))},
        ("mechanism", "scatter of a class over the ratios, over its mean"),
        values={"spread": spread, "wrong": sum(e.value < 0 for e in order), "all": len(order)},
    )


def _modelled_order() -> Iterator[Estimate]:
    """Yield by how much TCP of a class takes longer than the next higher one, at every ratio."""
    for environment, discipline in itertools.product(ENVIRONMENTS[:4], DISCIPLINES):
        for tcp_flows in RATIOS:
            times = transfer_times(environment, discipline, tcp_flows)
            own = {k.name: t for k, t in times.items() if k.source == 0}
            for high, low in itertools.pairwise(TCP):
                yield Estimate(own[low] / own[high] - 1.0, 0.0)


@effects("Y11", cases=(*cases("cc/be", "ts/be", "be/be"), SHORT))
def gain_over_best_effort() -> Effects:
    """Measure by how much regulated classes gain over best effort."""
    names = [f"{d} {k}" for d in DISCIPLINES for k in TCP]

    def gains(times: Times) -> dict[str, Estimate]:
        found = _between("cc/be", "be/be", "cc", "be", TCP, times)
        return dict(zip(names, found, strict=True))

    def statements(times: Times) -> dict[str, Estimates]:
        every = gains(times).items()
        return {
            "first": tuple(e for name, e in every if name.endswith("TCP1")),
            "others": tuple(-e for name, e in every if not name.endswith("TCP1")),
        }

    found = gains(seen)
    ts = _between("ts/be", "be/be", "ts", "be", TCP)
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
        readings=with_short_queues(statements),
    )


@effects("Y12", cases=(*cases("cc/cc", "ts/ts", "cc/be", "ts/be", "be/be"), SHORT, QUEUES[0]))
def disciplines() -> Effects:
    """Measure which discipline is best and worst for which flows."""

    def statements(times: Times) -> dict[str, Estimates]:
        udp, cc, tcp, cc_udp, mixed_ts, ts, ts_udp = _groups_of_flows(times).values()
        beside_ts = _mean_times(times, ("ts/be",), "be", TCP)
        udp_alone = _mean_times(times, ("be/be",), "be", UDP)
        return {
            "fcfs": _against(udp, "FCFS", 1.0),
            "drr": _against(cc, "DRR", -1.0) + _against(tcp, "DRR", -1.0),
            "red": _against(tcp, "RED", 1.0),
            "sfq": _against(udp, "SFQ", -1.0) + _against(cc_udp, "SFQ", -1.0),
            "drr_ts": _against(mixed_ts, "DRR", 1.0),
            "red_ts": _against(ts, "RED", -1.0) + _against(ts_udp, "RED", 1.0),
            "drr_be": _against(beside_ts, "DRR", -1.0) + _against(udp_alone, "DRR", -1.0),
            "drr_cc": (
                *_faster_under_drr("cc/cc", "ts/ts", times),
                *_faster_under_drr("cc/be", "ts/be", times),
            ),
        }

    found = _groups_of_flows(seen)
    return Effects(
        both(statements),
        {
            name: Curve(DISCIPLINES, [of_runs(frame[d].to_numpy()) for d in DISCIPLINES])
            for name, frame in found.items()
        },
        ("discipline", "mean transfer time (s)"),
        values={
            "best": {n: f.mean().idxmin() for n, f in found.items()},
            "worst": {n: f.mean().idxmax() for n, f in found.items()},
            "usual": (_of_udp("DRR.drr_limit", 25000), _of_udp("SFQ.sfq_limit", 40)),
            "buckets": (_of_udp("DRR.drr_buckets", 250), _of_udp("SFQ.sfq_buckets", 256)),
            "lengths": (_of_udp("DRR.drr_limit", 2500), _of_udp("SFQ.sfq_limit", 10)),
            "fifo": (_times_of(seen, "FCFS"), _times_of(seen, "RED")),
            "short": (_times_of(short, "FCFS"), _times_of(short, "RED")),
        },
        readings=with_short_queues(statements),
    )  # fmt: skip


def _mean_times(
    times: Times, environments: tuple[str, ...], mechanism: str, kinds: tuple[str, ...]
) -> pd.DataFrame:
    """Return the mean time of some classes over some environments, s: a column for each discipline."""
    columns = {}
    for discipline in DISCIPLINES:
        tables = [under(times(e, discipline), mechanism)[list(kinds)] for e in environments]
        columns[discipline] = sum(t.mean(axis=1) for t in tables) / len(tables)
    return pd.DataFrame(columns)


def _groups_of_flows(times: Times) -> dict[str, pd.DataFrame]:
    """Return the mean times of the groups of flows that the paper tells apart."""
    mixed = ("cc/be", "ts/be", "be/be")
    return {
        Y12_UDP: _mean_times(times, mixed, "be", UDP),
        "TCP 2 to 4 of cc": _mean_times(times, ("cc/cc",), "cc", TCP[1:]),
        "TCP of best effort": _mean_times(times, mixed, "be", TCP),
        "UDP of cc": _mean_times(times, ("cc/cc",), "cc", UDP),
        "TCP of ts beside best effort": _mean_times(times, ("ts/be",), "ts", TCP),
        "TCP of ts": _mean_times(times, ("ts/ts",), "ts", TCP),
        "UDP of ts": _mean_times(times, ("ts/ts",), "ts", UDP),
    }


def _faster_under_drr(slower: str, faster: str, times: Times) -> Iterator[Estimate]:
    """Yield by how much each class of cc takes longer than that of ts under DRR."""
    cc, ts = times(slower, "DRR"), times(faster, "DRR")
    for kind in CLASSES:
        yield of_runs(relative(cc["cc", kind], ts["ts", kind]))


def _against(frame: pd.DataFrame, discipline: str, sign: float) -> Estimates:
    """Return by how much the time under each other discipline exceeds that under this one; ``sign`` -1: is below it."""
    others = [d for d in DISCIPLINES if d != discipline]
    return tuple(of_runs((sign * (frame[d] / frame[discipline] - 1.0)).to_numpy()) for d in others)


def _of_udp(parameter: str, value: int) -> Estimate:
    """Return the mean time of best-effort UDP under be/be with another queue, s."""
    return of_runs(_alone("UDP", parameter, value).to_numpy())


def _times_of(times: Times, discipline: str) -> Estimate:
    """Return the mean time of TCP under be/be with a discipline, s."""
    frame = under(times("be/be", discipline), "be")[list(TCP)]
    return of_runs(frame.mean(axis=1).to_numpy())


@effects("Y17", least=EQUAL, cases=(*cases("ts/ts"), SLOTS, TURNS))
def unused_slots() -> Effects:
    """Measure how long ts takes beyond the time that the load needs on the link."""
    extra = {}
    for environment in ("ts/ts", "be/be"):
        for discipline in DISCIPLINES:
            frame = evidence.table(case_of(environment, discipline), "sources")
            finish = frame.groupby(["tcp_flows", "seed"])["finish"].max().groupby("seed").mean()
            extra[f"{environment} {discipline}"] = of_runs(finish / (SIZE * FLOWS / LINK) - 1.0)
    ts = [e for name, e in extra.items() if name.startswith("ts")]
    ends = [float(turns(n)["time"].max()) for n in RATIOS]
    model = Estimate(float(np.mean(ends)) / (SIZE * FLOWS / LINK) - 1.0, 0.0)
    return Effects(
        {
            "loses": Statement(
                tuple(beyond(e, EQUAL) for e in ts), (beyond(model, EQUAL),), least=EQUAL
            )
        },
        {"total time": Curve(list(extra), list(extra.values()))},
        ("environment and discipline", "total time over load / capacity, less one"),
        values={"extra": extra, "model": model.value, "ts": combine(ts, [1.0 / len(ts)] * len(ts))},
    )
