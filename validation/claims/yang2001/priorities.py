"""Order of the classes of transfers of 1 MB under each mechanism, and what slots lose (Y03, Y04, Y09, Y17)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from validation import evidence
from validation.claims.effect_claims import effects
from validation.claims.effect_statements import EQUAL, Curve, Effects, Estimates, Statement, beyond
from validation.claims.yang2001 import tables
from validation.claims.yang2001.sharing import RATIOS, modelled, transfer_times, turns
from validation.judgements.verdicts import Verdict
from validation.statistics import LEVEL, Estimate, average, of_runs

CONTROL = "yang2001/sensitivity-control"
TURNS = "yang2001/slots-per-turn"
LINK, SIZE, FLOWS = 1e6, 8e6, 200
"""Rate of the bottleneck in bit/s, bits of a transfer, number of transfers."""
SLOTS = "yang2001/sensitivity-slots"


def shown(*environments: str, mechanism: str | None = None) -> dict[str, Curve]:
    """Return the mean times by class, one curve for each environment and discipline."""
    curves = {}
    for environment, discipline in itertools.product(environments, tables.DISCIPLINES):
        found = tables.by_seed(tables.case_of(environment, discipline))
        for each in dict.fromkeys(found.columns.get_level_values(0)):
            if mechanism in (None, each):
                values = [of_runs(found[each, kind].to_numpy()) for kind in tables.CLASSES]
                model = modelled(environment, discipline)[each].iloc[0]
                curves[f"{environment} {discipline}, {each}"] = Curve(
                    tables.CLASSES, values, [float(model[kind]) for kind in tables.CLASSES]
                )
    return curves


AXES = "class of flows", "mean transfer time (s)"


@effects("Y03", cases=(*tables.cases("cc/cc"), tables.SHORT, CONTROL), equal=True)
def order_of_cc() -> Effects:
    """Measure the order of the transfer times under cc."""
    curves = shown("cc/cc")
    found = {d: tables.ordered(tables.by_seed(tables.case_of("cc/cc", d)), "cc") for d in tables.DISCIPLINES}

    others = _orders_in_settings(CONTROL, "cc")
    controls = {name: each[-1] for name, each in others.items()}

    def statements(times: tables.Times) -> dict[str, Estimates]:
        return {"ordered": tables.everywhere_in(("cc/cc",), tables.ordered, times)}

    return Effects(
        tables.both(statements) | {"cells": Statement(tables.against_table(("cc/cc",)), equal=True)},
        curves, AXES,
        values={
            "udp": {d: each[-1] for d, each in found.items()}, "curves": curves,
            "equal": {name: e for name, e in controls.items() if abs(e.value) + e.half_width < EQUAL},
            "open": {
                name: e for name, e in controls.items()
                if abs(e.value) + e.half_width >= EQUAL and e.p_positive() >= LEVEL
            },
            "tcp": all(e.p_positive() < LEVEL for each in others.values() for e in each[:-1]),
        },
        readings={
            name: {"ordered": Statement(each)} for name, each in others.items()
        } | tables.in_readings(statements),
    )  # fmt: skip


def _orders_in_settings(case: str, mechanism: str) -> dict[str, Estimates]:
    """Return the order in runs with other values of the unpublished parameters of a mechanism."""
    frame = tables.classes(case).reset_index()
    settings = frame[["parameter", "value"]].droplevel(1, axis=1).drop_duplicates()
    readings = {}
    for parameter, value in settings.to_numpy().tolist():
        runs = frame[(frame["parameter"] == parameter) & (frame["value"] == value)]
        if parameter != DEFAULT:
            readings[f"{parameter} = {value}"] = tables.ordered(runs, mechanism)
    return readings


@effects("Y04", cases=(*tables.cases("ts/ts"), tables.SHORT, tables.SMALL_WINDOWS, SLOTS), equal=True)
def order_of_ts() -> Effects:
    """Measure the order of the transfer times under ts, and the influence of the discipline.

    The fluid model gives all disciplines equal times, which is no evidence that they do not matter: it has no queues.
    """

    def statements(times: tables.Times) -> dict[str, Estimates]:
        deviations: list[Estimate] = []
        for kind in tables.CLASSES:
            by_seed = pd.DataFrame({d: times("ts/ts", d)["ts", kind] for d in tables.DISCIPLINES})
            deviations += [
                tables.over_seeds(tables.relative(by_seed[d], by_seed.mean(axis=1))) for d in tables.DISCIPLINES
            ]
        return {
            "ordered": tables.everywhere_in(("ts/ts",), tables.ordered, times),
            "independent": tuple(deviations),
        }

    def largest(times: tables.Times) -> Estimate:
        return max(statements(times)["independent"], key=lambda e: abs(e.value))

    orders = _orders_in_settings(SLOTS, "ts")
    printed = statements(tables.printed)["independent"]
    return Effects(
        _without_fluid(tables.both(statements, equal="independent"))
        | {"cells": Statement(tables.against_table(("ts/ts",)), equal=True)},
        shown("ts/ts"), AXES,
        values={
            "printed": max(abs(e.value) for e in printed), "settings": len(orders),
            "open": [name for name, each in orders.items() if any(e.p_positive() >= LEVEL for e in each)],
            "largest": largest(tables.seen), "short": largest(tables.short), "windows": largest(tables.small_windows),
            "timeouts": {name: _timeouts(case) for name, case in
                         (("short", tables.SHORT), ("windows", tables.SMALL_WINDOWS))},
        },
        readings={
            name: _without_fluid(each) for name, each in tables.in_readings(statements, equal="independent").items()
        }
        | {
            "short queues and small windows": {
                key: Statement(each, equal=key == "independent")
                for key, each in statements(tables.small_windows).items()
            }
        }
        | {name: {"ordered": Statement(each)} for name, each in orders.items()},
    )  # fmt: skip


def _without_fluid(statements: Mapping[str, Statement]) -> dict[str, Statement]:
    """Return statements of which the fluid does not judge the one on the discipline."""
    return dict(statements) | {"independent": replace(statements["independent"], model=None)}


def _timeouts(case: str) -> Estimate:
    """Return the mean number of timeouts of a TCP flow under ts/ts."""
    frame = evidence.frame(case)
    flows = frame[(frame["environment"] == "ts/ts") & (frame["protocol"] == "TCP")]
    return of_runs(flows.groupby("seed")["timeouts"].mean().to_numpy())


ENVIRONMENTS = ("cc/cc", "ts/ts", "cc/be", "ts/be", "be/be")


@effects("Y09", cases=tables.cases("cc/cc", "ts/ts", "cc/be", "ts/be"))
def ratio_of_tcp() -> Effects:
    """Measure the order of the classes for every ratio of TCP to UDP, and the scatter over it."""
    order: list[Estimate] = []
    scatter: dict[str, list[pd.Series[float]]] = {"cc": [], "ts": []}
    for environment in ("cc/cc", "ts/ts", "cc/be", "ts/be"):
        mechanism = environment.partition("/")[0]
        for discipline in tables.DISCIPLINES:
            frame = tables.classes(tables.case_of(environment, discipline))
            for _, runs in frame.groupby("tcp_flows"):
                order += tables.ordered_tcp(runs, mechanism)
            scatter[mechanism].append(_scatter_over_ratios(frame, mechanism))
    by_seed = pd.DataFrame({name: sum(rows) / len(rows) for name, rows in scatter.items()})
    more = of_runs((by_seed["cc"] - by_seed["ts"]).to_numpy())
    spread = {name: of_runs(by_seed[name].to_numpy()) for name in scatter}
    return Effects(
        {
            "ordered": Statement(tuple(order), tuple(_modelled_order())),
            "fluctuates": Statement((more,), Verdict.NOT_APPLICABLE),
        },
        {"scatter": Curve(list(spread), list(spread.values()))},
        ("mechanism", "scatter of a class over the ratios, over its mean"),
        values={"spread": spread, "wrong": sum(e.value < 0 for e in order), "all": len(order)},
    )


def _scatter_over_ratios(frame: pd.DataFrame, mechanism: str) -> pd.Series[float]:
    """Return the deviation of the times of TCP over the ratios, over their mean, by seed: the mean of the classes, which are not independent."""
    times = tables.under(frame, mechanism)[list(tables.TCP)].groupby("seed")
    return (times.std() / times.mean()).mean(axis=1)


def _modelled_order() -> Iterator[Estimate]:
    """Yield by how much TCP of a class takes longer than the next higher one, at every ratio."""
    for environment, discipline in itertools.product(ENVIRONMENTS[:4], tables.DISCIPLINES):
        for tcp_flows in RATIOS:
            times = transfer_times(environment, discipline, tcp_flows)
            own = {k.name: t for k, t in times.items() if k.source == 0}
            for high, low in itertools.pairwise(tables.TCP):
                yield Estimate(own[low] / own[high] - 1.0, 0.0)


@effects("Y17", least=EQUAL, cases=(*tables.cases("ts/ts"), SLOTS, TURNS))
def unused_slots() -> Effects:
    """Measure how long ts takes beyond the time that the load needs on the link.

    The fluid model is not judged: it assumes that TCP fills each of its slots.
    """
    extra = {}
    for environment in ("ts/ts", "be/be"):
        for discipline in tables.DISCIPLINES:
            last = _last_ends(evidence.frame(tables.case_of(environment, discipline), "sources"))
            extra[f"{environment} {discipline}"] = of_runs(last / (SIZE * FLOWS / LINK) - 1.0)
    ts = [e for name, e in extra.items() if name.startswith("ts")]
    ends = [float(turns(n)["time"].max()) for n in RATIOS]
    model = float(np.mean(ends)) / (SIZE * FLOWS / LINK) - 1.0
    others = {**_in_other_settings(SLOTS), **_in_other_settings(TURNS)}
    return Effects(
        {"loses": Statement(tuple(beyond(e, EQUAL) for e in ts), least=EQUAL)},
        {
            "total time": Curve(list(extra), list(extra.values())),
            "ts/ts FCFS in other settings": Curve(list(others), list(others.values())),
        },
        ("environment and discipline, or setting", "total time over load / capacity, less one"),
        values={"extra": extra, "model": model, "ts": average(ts), "others": others},
        readings={name: {"loses": Statement((beyond(e, EQUAL),), least=EQUAL)} for name, e in others.items()},
    )


def _last_ends(sources: pd.DataFrame) -> pd.Series[float]:
    """Return when the last transfer ends by seed, the mean over the ratios of TCP, s."""
    return sources.groupby(["tcp_flows", "seed"])["finish"].max().groupby("seed").mean()


def _in_other_settings(case: str) -> dict[str, Estimate]:
    """Return the time beyond what the load needs, relative to it, in the settings of a sweep that are not the default one."""
    found = {}
    frame = evidence.frame(case, "sources")
    for (parameter, value), runs in frame.groupby(["parameter", "value"]):
        if (parameter, value) not in ((DEFAULT, DEFAULT), ("scale", 1.0)):
            ends = _last_ends(runs)
            found[_name(str(parameter), value)] = of_runs((ends / (SIZE * FLOWS / LINK) - 1.0).to_numpy())
    return found


DEFAULT = "default"


def _name(parameter: str, value: object) -> str:
    """Return the name of a setting, such as ``delay = 0.005``."""
    return f"{parameter} = {value:g}" if isinstance(value, float) else f"{parameter} = {value}"
