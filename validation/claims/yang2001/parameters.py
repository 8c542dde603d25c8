"""Small transfers, slots per turn, and ageing (Y10, Y14 to Y16)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from validation import evidence
from validation.claims.effect_claims import effects, where
from validation.claims.effect_statements import Curve, Effects, Statement, beyond
from validation.claims.yang2001 import tables
from validation.claims.yang2001.sharing import modelled, transfer_times, turns
from validation.judgements.verdicts import Verdict
from validation.statistics import PART, Estimate, of_runs

SMALL_CASES = tuple(f"yang2001/small-{d.lower()}" for d in tables.DISCIPLINES)
SMALL_SEEDS, LOST_SEEDS = "yang2001/small-seeds", "yang2001/slots-per-turn-acks-lost-seeds"
"""Further seeds: five runs that are equal decide nothing at one per cent."""
LONG_QUEUES, SIGNALS = "yang2001/small-drr-long-queues", "yang2001/small-signals"
TURNS, LOST = "yang2001/slots-per-turn", "yang2001/slots-per-turn-acks-lost"
TURNS_SEEDS = "yang2001/slots-per-turn-seeds"
"""Further seeds of the largest multiple."""
AGEING, ENDLESS = "yang2001/priority-ageing", "yang2001/priority-ageing-endless"
ENDLESS_SEEDS = "yang2001/priority-ageing-endless-seeds"
"""Further seeds without ageing."""
LARGEST_MULTIPLE, SMALLEST_MULTIPLE = 64.0, 1 / 64
"""Largest and smallest multiple of the slots per turn."""
END = 3000.0
"""The end of the runs in which acknowledgements are lost, s."""
SHORT, NONE = 10, 0
"""The shortest ageing time, s, and none."""
STARVED = 0.01
"""Share of the packets below which a class starves."""


@effects("Y10", cases=(*SMALL_CASES, SMALL_SEEDS, LONG_QUEUES), equal=True)
def total_time() -> Effects:
    """Measure the order of small transfers under ts, and their total time by the ratio of TCP to UDP."""
    curves = {}
    apart: dict[str, list[Estimate]] = {}
    exact: dict[str, list[Estimate]] = {}
    small = 8.0 * 10_000
    for environment in ("ts/ts", "ts/be"):
        apart[environment], exact[environment] = [], []
        for discipline in tables.DISCIPLINES:
            frame = _small(discipline, "sources", environment=environment)
            finish = frame.groupby(["tcp_flows", "seed"])["finish"].max()
            found = {int(str(n)): of_runs(v) for n, v in finish.groupby("tcp_flows")}
            by_seed = finish.unstack("tcp_flows")  # noqa: PD010
            apart[environment] += [of_runs((by_seed[n] / by_seed.mean(axis=1) - 1.0).to_numpy()) for n in found]
            ends = [max(transfer_times(environment, discipline, n, small).values()) for n in found]
            middle = sum(ends) / len(ends)
            exact[environment] += [Estimate(end / middle - 1.0, 0.0) for end in ends]
            if discipline == "FCFS":
                curves[environment] = Curve(list(found), list(found.values()), ends)
    (order, line), (order_beside, line_beside) = (
        zip(*(_in_turn(_small(d, environment=environment, mechanism="ts")) for d in tables.DISCIPLINES), strict=True)
        for environment in curves
    )
    longer_order, longer_line = _in_turn(where(LONG_QUEUES, environment="ts/be", mechanism="ts"))
    drr = tables.DISCIPLINES.index("DRR")

    def perfect(correlations: tuple[Estimate, ...]) -> Statement:
        return Statement(tuple(beyond(e, 1.0) for e in correlations), equal=True)

    def with_longer_queue(correlations: tuple[Estimate, ...], longer: Estimate) -> Statement:
        return perfect((*correlations[:drr], longer, *correlations[drr + 1 :]))

    statements = {
        "order": perfect(order),
        "order, ts/be": perfect(order_beside),
        "linear": perfect(line),
        "linear, ts/be": perfect(line_beside),
        "same": Statement(tuple(apart["ts/ts"]), tuple(exact["ts/ts"]), equal=True),
    }
    return Effects(
        statements,
        curves,
        ("TCP flows of a hundred", "total time of all transfers (s)"),
        values={
            "largest": _largest(apart["ts/be"]),
            "alone": _largest(apart["ts/ts"]),
            "order": min(e.value for e in order), "linear": min(e.value for e in line),
            "order_beside": list(order_beside), "linear_beside": min(e.value for e in line_beside),
            "disciplines": tables.DISCIPLINES, "again": _again("ts/be"), "again_alone": _again("ts/ts"),
            "usual": _total_times(SMALL_CASES[1]), "long": _total_times(LONG_QUEUES), "longer_order": longer_order,
        },
        readings={
            "a queue of four times the length under DRR, beside best effort": statements
            | {
                "order, ts/be": with_longer_queue(order_beside, longer_order),
                "linear, ts/be": with_longer_queue(line_beside, longer_line),
            }
        },
    )  # fmt: skip


def _largest(differences: list[Estimate]) -> Estimate:
    """Return the size of the largest difference."""
    largest = max(differences, key=lambda e: abs(e.value))
    return largest if largest.value >= 0.0 else -largest


def _small(discipline: str, name: str | None = None, **columns: object) -> pd.DataFrame:
    """Return rows of the runs of small transfers under a discipline, of all seeds."""
    cases = (f"yang2001/small-{discipline.lower()}", SMALL_SEEDS)
    return pd.concat([where(case, name, discipline=discipline, **columns) for case in cases])


def _in_turn(frame: pd.DataFrame) -> tuple[Estimate, Estimate]:
    """Return the rank correlation of the start of flows with their end, and R squared of the k-th end over k.

    Flows begin in the order of their numbers. Means over the runs, sources and ratios by seed.
    """
    ranks, squares = [], []
    for (_, seed, _), flows in frame.groupby(["tcp_flows", "seed", "source"]):
        ends = flows.sort_values("flow")["transfer_time"]
        ranks.append((seed, ends.reset_index(drop=True).corr(pd.Series(range(len(ends))), "spearman")))
        at = np.corrcoef(np.arange(len(ends)), np.sort(ends.to_numpy()))[0, 1]
        squares.append((seed, at**2))
    means = (pd.DataFrame(each).groupby(0)[1].mean().to_numpy() for each in (ranks, squares))
    order, line = (of_runs(each, PART) for each in means)
    return order, line


def _again(environment: str) -> float:
    """Return the part of the flows under ts that need a second turn, over all disciplines."""
    frames = (_small(discipline, environment=environment, mechanism="ts") for discipline in tables.DISCIPLINES)
    return float(pd.concat(frames)["stops"].gt(0).mean())


def _total_times(case: str) -> tuple[Estimate, Estimate]:
    """Return the total time under ts/be with the fewest and with the most TCP flows, s."""
    frame = where(case, "sources", environment="ts/be")
    finish = frame.groupby(["tcp_flows", "seed"])["finish"].max()
    found = [of_runs(values.to_numpy()) for _, values in finish.groupby("tcp_flows")]
    return found[0], found[-1]


def _of_value(cases: tuple[str, ...], environment: str, value: float) -> pd.DataFrame:
    mechanism = environment.partition("/")[0]
    frame = pd.concat([tables.classes(case) for case in cases]).reset_index()
    kept = (frame["value"] == value) & (frame["environment"] == environment)
    return tables.under(frame[kept].set_index("seed"), mechanism)


@effects("Y14", cases=(TURNS, TURNS_SEEDS, LOST, LOST_SEEDS), equal=True)
def slots_per_turn() -> Effects:
    """Measure the order in which flows end, and retransmissions, by the slots of a turn."""
    same = _deviations(LARGEST_MULTIPLE)

    def resent(value: float, *cases: str) -> pd.Series[float]:
        """Return the packets that a TCP flow sends again, mean by seed."""
        frame = pd.concat([where(case, value=value, protocol="TCP") for case in cases])
        return frame.groupby("seed")["resent"].mean()

    def time(value: float) -> pd.Series[float]:
        """Return TCP's mean transfer time by seed, at least: an unfinished one counts until the end of the run."""
        frame = pd.concat([where(case, value=value, protocol="TCP") for case in (LOST, LOST_SEEDS)])
        return frame["transfer_time"].fillna(END).groupby(frame["seed"]).mean()

    few, default = (resent(value, LOST, LOST_SEEDS) for value in (SMALLEST_MULTIPLE, 1.0))
    lost, more = of_runs(few.to_numpy()), of_runs((few / default - 1.0).to_numpy())
    longer = of_runs((time(SMALLEST_MULTIPLE) / time(1.0) - 1.0).to_numpy())
    values = sorted(evidence.frame(TURNS)["value"].unique())
    curves = {
        kind: Curve(values, [of_runs(_of_value((TURNS, TURNS_SEEDS), "ts/ts", v)[kind].to_numpy()) for v in values])
        for kind in tables.TCP
    }
    return Effects(
        {
            "order": Statement((_out_of_turn(LARGEST_MULTIPLE),), (_modelled_out_of_turn(LARGEST_MULTIPLE),), equal=True),
            "many": Statement(same, _after_turns(LARGEST_MULTIPLE), equal=True),
            "repeated": Statement((more,), Verdict.NOT_APPLICABLE),
            "few": Statement((beyond(lost, 1.0),), Verdict.NOT_APPLICABLE),
            "slower": Statement((longer,), Verdict.NOT_APPLICABLE),
        },
        curves,
        ("slots per turn over the default", "mean transfer time (s)"),
        "x",
        values={
            "resent": of_runs(resent(SMALLEST_MULTIPLE, TURNS).to_numpy()), "lost": lost, "longer": longer,
            "default": of_runs(default.to_numpy()),
            "starved": sum(
                int(where(case, value=SMALLEST_MULTIPLE, protocol="TCP")["transfer_time"].isna().sum())
                for case in (LOST, LOST_SEEDS)
            ),
            "out": {value: _out_of_turn(value) for value in (SMALLEST_MULTIPLE, 1.0, LARGEST_MULTIPLE)},
            "together": max((abs(e) for e in _deviations(SMALLEST_MULTIPLE)), key=lambda e: e.value),
        },
    )  # fmt: skip


def _deviations(scale: float) -> tuple[Estimate, ...]:
    """Return the relative deviations of the times of TCP's classes from their mean, with a multiple of the slots."""
    times = _of_value((TURNS, TURNS_SEEDS), "ts/ts", scale)[list(tables.TCP)]
    mean = times.mean(axis=1)
    return tuple(of_runs((times[kind] / mean - 1.0).to_numpy()) for kind in tables.TCP)


def _from_its_turn(ends: pd.Series[float]) -> float:
    """Return the mean distance of the end of the k-th of n flows over the last end from k / n.

    Zero if flows end one after the other in the order in which they begin, in equal steps; one half if all end together.
    """
    turn = np.arange(1, len(ends) + 1) / len(ends)
    return float(np.abs(ends.to_numpy() / ends.max() - turn).mean())


def _out_of_turn(scale: float) -> Estimate:
    """Return `_from_its_turn` in ns-2 with a multiple of the slots: the mean of both sources over the seeds."""
    flows = pd.concat([where(case, value=scale) for case in (TURNS, TURNS_SEEDS)]).sort_values("flow")
    distances = flows.groupby(["seed", "source"])["transfer_time"].apply(_from_its_turn)
    return of_runs(distances.groupby("seed").mean().to_numpy())


def _modelled_out_of_turn(scale: float) -> Estimate:
    """Return the same when flows take turns; exact."""
    return Estimate(_from_its_turn(turns(90, scale=scale)["time"]), 0.0)


def _after_turns(scale: float) -> tuple[Estimate, ...]:
    """Return the relative deviations of the times of TCP's classes when flows take turns."""
    times = turns(90, scale=scale).groupby("kind")["time"].mean()[list(tables.TCP)]
    return tuple(Estimate(float(time / times.mean() - 1.0), 0.0) for time in times)


def _aged(environment: str) -> tuple[Estimate, ...]:
    """Return the same with the shortest ageing time, by the fluid model."""
    found = transfer_times(environment, "FCFS", 90, ageing=SHORT)
    times = [time for kind, time in found.items() if kind.source == 0 and kind.protocol == "TCP"]
    mean = sum(times) / len(times)
    return tuple(Estimate(time / mean - 1.0, 0.0) for time in times)


@effects("Y15", cases=(AGEING, ENDLESS, ENDLESS_SEEDS), equal=True, least=STARVED)
def ageing() -> Effects:
    """Measure the order of the classes with short ageing, and the share of the lowest with none."""
    same: list[Estimate] = []
    for environment in ("cc/cc", "ts/ts"):
        short = _of_value((AGEING,), environment, SHORT)
        mean = short[list(tables.TCP)].mean(axis=1)
        same += [of_runs((short[kind] / mean - 1.0).to_numpy()) for kind in tables.TCP]

    def share(environment: str, value: float) -> Estimate:
        frame = pd.concat([where(case, environment=environment, value=value) for case in (ENDLESS, ENDLESS_SEEDS)])
        frame = frame[(frame["time"] == frame["time"].max()) & (frame["protocol"] == "TCP")]
        sent = frame.groupby(["seed", "priority"])["departed"].sum().unstack()  # noqa: PD010
        return of_runs((sent[4] / sent.sum(axis=1)).to_numpy(), PART)

    none = {e: share(e, NONE) for e in ("cc/cc", "ts/ts")}
    weights = [2.0 ** (9 - priority) for priority in (1, 2, 3, 4)]
    exact = {"cc/cc": 0.0, "ts/ts": weights[-1] / sum(weights)}
    times = sorted(evidence.frame(AGEING)["value"].unique())
    times = [time for time in times if time > 0]
    curves = {
        f"cc/cc {kind}": Curve(times, [of_runs(_of_value((AGEING,), "cc/cc", t)[kind].to_numpy()) for t in times])
        for kind in tables.TCP
    }
    return Effects(
        {
            "short": Statement(tuple(same), _aged("cc/cc") + _aged("ts/ts"), equal=True),
            "long": Statement(
                (beyond(-none["cc/cc"], -STARVED),),
                (Estimate(STARVED - exact["cc/cc"], 0.0),),
                least=-STARVED,
            ),
            "kept": Statement(
                (beyond(none["ts/ts"], STARVED),),
                (Estimate(exact["ts/ts"] - STARVED, 0.0),),
                least=STARVED,
            ),
        },
        curves,
        ("ageing time (s)", "mean transfer time (s)"),
        "x",
        values={"none": none, "exact": exact},
    )


@effects("Y16", cases=(*SMALL_CASES, SMALL_SEEDS, SIGNALS))
def small_transfers() -> Effects:
    """Measure the order of the classes of small transfers under cc."""
    environments = ("cc/cc", "cc/be")
    lower = {(e, d): _lower_is_slower(e, d, "TCP1", "TCP4") for e in environments for d in tables.DISCIPLINES}
    lower_of_udp = {(e, d): _lower_is_slower(e, d, *tables.UDP) for e in environments for d in tables.DISCIPLINES}
    wrong = {
        f"{e} {d}": _against(_small_classes(e, d)).groupby("seed").mean()
        for e in environments
        for d in tables.DISCIPLINES
    }
    every = of_runs(pd.DataFrame(wrong).mean(axis=1).to_numpy(), PART)

    def over_queues(parts: dict[tuple[str, str], pd.Series[float]], environment: str) -> Estimate:
        """Return the mean over the disciplines."""
        chosen = pd.DataFrame({d: part for (e, d), part in parts.items() if e == environment})
        return of_runs(chosen.mean(axis=1).to_numpy(), PART)

    def some(quantities: Iterable[Estimate], model: tuple[Estimate, ...]) -> Statement:
        return Statement(tuple(beyond(e, 0.5) for e in quantities), model)

    exact, exact_udp = _modelled_gap("TCP1", "TCP4"), _modelled_gap(*tables.UDP)
    longer, longer_udp = ({e: over_queues(parts, e) for e in environments} for parts in (lower, lower_of_udp))
    cases = Statement((every,), Verdict.of(min(e.value for e in exact) <= 0.0))
    by_queue = {f"{e} {d}": of_runs(part.to_numpy(), PART) for (e, d), part in lower.items()}
    return Effects(
        {"some": some(longer.values(), exact), "cases": cases},
        {
            "runs against the priorities": Curve(
                list(wrong), [of_runs(part.to_numpy(), PART) for part in wrong.values()]
            )
        },
        ("environment and discipline", "part of the runs"),
        values={
            "longer": longer, "wrong": every, "default": _violated(None),
            "check": _violated("check"), "hold": _violated("hold"),
            "udp": longer_udp, "drr": by_queue["cc/be DRR"], "red": by_queue["cc/be RED"],
        },
        readings={
            "each queue by itself": {"some": some(by_queue.values(), exact), "cases": cases},
            "UDP's classes as well": {
                "some": some([*longer.values(), *longer_udp.values()], exact + exact_udp), "cases": cases
            },
        },
    )  # fmt: skip


def _small_classes(environment: str, discipline: str) -> pd.DataFrame:
    """Return the times of the classes of small transfers, a row for each run, by seed."""
    frame = pd.concat([tables.classes(case).reset_index() for case in (*SMALL_CASES, SMALL_SEEDS)])
    chosen = (frame["environment"] == environment) & (frame["discipline"] == discipline)
    return frame[chosen].set_index("seed")


def _lower_is_slower(environment: str, discipline: str, higher: str, lower: str) -> pd.Series[float]:
    """Return the part of the runs with flows of two classes under cc in which the lower one takes longer, by seed."""
    times = tables.under(_small_classes(environment, discipline), "cc")[[higher, lower]].dropna()
    return (times[lower] > times[higher]).astype(float).groupby("seed").mean()


def _modelled_gap(higher: str, lower: str) -> tuple[Estimate, ...]:
    """Return by how much the lower of two classes takes longer in the model, relative, by environment and discipline."""
    times = [modelled(e, d, 8.0 * 10_000)["cc"].iloc[0] for e in ("cc/cc", "cc/be") for d in tables.DISCIPLINES]
    return tuple(Estimate(float(each[lower] / each[higher]) - 1.0, 0.0) for each in times)


def _against(runs: pd.DataFrame) -> pd.Series[bool]:
    """Return whether a TCP class under cc is faster than one of higher priority, run by run."""
    return (tables.under(runs, "cc")[list(tables.TCP)].diff(axis=1).iloc[:, 1:] < 0).any(axis=1)


def _violated(parameter: str | None) -> Estimate:
    """Return the part of the runs against the priorities when one parameter of cc is another.

    With 90 TCP flows and the seeds of the runs in which the parameter is another.
    """
    changed = tables.classes(SIGNALS).reset_index()
    frame = changed[changed["parameter"] == parameter]
    if parameter is None:
        frame = pd.concat([tables.classes(case).reset_index() for case in SMALL_CASES])
        kept = frame["environment"].isin(("cc/cc", "cc/be")) & (frame["tcp_flows"] == 90)
        frame = frame[kept & frame["seed"].isin(changed["seed"].unique())]
    frame = frame.set_index("seed")
    return of_runs(_against(frame).groupby("seed").mean().to_numpy(), PART)
