"""RED against DropTail, and with marks instead of drops (Z15, Z16, Z18)."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from validation.claims.effect_claims import by, effects, where
from validation.claims.effect_statements import Curve, Effects, Statement, beyond
from validation.claims.zheng2002 import level
from validation.claims.zheng2002.level import BIN
from validation.claims.zheng2002.one_kind import VISIBLE
from validation.claims.zheng2002.pairs import (
    GENTLE,
    LENGTHS,
    MEASURES,
    QUARTER,
    TCP,
    TFRC,
    VARIANCE,
    in_bins,
)
from validation.claims.zheng2002.red import (
    LOW_THRESHOLDS,
    RATES,
    SLOW,
    Group,
    Link,
    fixed_point,
    variation,
)
from validation.networks.further_seeds import CASE as OWN_SEEDS
from validation.statistics import Estimate, difference, of_runs

CASE, ECN = "zheng2002/red-droptail", "zheng2002/ecn"
BINS = f"{CASE}-bins"
"""The default reading with 40 seeds, and its rates in longer bins."""
LOW, ECN_LOW = f"{CASE}-low-thresholds", f"{ECN}-low-thresholds"
"""With ns-2's own thresholds of RED, 5 and 15 packets."""
KINDS = tuple(RATES)
SHORT = 50
"""ns-2's own buffer, packets."""
FLOWS = 8
"""Of each kind."""
PHASE = 0.0005
"""Largest random time before a packet is sent, s, which keeps phase effects away."""
READINGS: dict[str, dict[str, Any]] = {
    "without a random time before packets": {"jitter": 0.0},
    "ns-2's decrease setting is b": {"reading": "b"},
    "RED thresholds of 5 and 15": {"buffer": SLOW.buffer},
    "RED thresholds of 5 and 15, buffers of 50 packets": {"buffer": SHORT},
}
"""Columns of the bundled runs; those with a ``buffer`` are of `LOW`."""


def _chosen(name: str | None = None, **reading: Any) -> pd.DataFrame:
    case, default = (LOW, {}) if "buffer" in reading else (CASE, {"jitter": PHASE})
    return where(case, name, **({"reading": "1-b"} | default | reading))


def _rates(**reading: Any) -> pd.DataFrame:
    """Return the flows of a reading; the default one and those with a ``bin`` in s have further seeds, of `BINS`."""
    if set(reading) <= {"bin"}:
        return in_bins(BINS, reading.get("bin", BIN))
    return _chosen(**reading)


def _compared(frame: pd.DataFrame, column: str, sign: float) -> dict[str, Estimate]:
    """Return RED's value less DropTail's, or the reverse, seed by seed, of every kind and pair."""
    keys = [key for key in ("pair", "kind") if key in frame]
    means = frame.groupby([*keys, "seed", "queue"])[column].mean().unstack()  # noqa: PD010
    apart = sign * (means["RED"] - means["DropTail"])
    return {
        ", ".join(map(str, key)) if isinstance(key, tuple) else str(key): of_runs(values.to_numpy())
        for key, values in apart.groupby(keys if len(keys) > 1 else keys[0])
    }


@functools.cache
def _both(name: str, seeds: int = level.SEEDS, **link: float) -> pd.DataFrame:
    """Return a table of the pairs of TCP with both queues at hopflow's packet level; ``seeds`` as of `level.runs`."""
    tables = []
    for one, queue in itertools.product((GENTLE, QUARTER), ("RED", "DropTail")):
        flows = level.pair(one, TCP, FLOWS, SLOW._replace(**link), queue)._replace(jitter=PHASE)
        table = getattr(level.runs(flows, seeds), name)
        tables.append(table.assign(pair=f"{one} with {TCP}", queue=queue))
    both: pd.DataFrame = pd.concat(tables)
    return both


CASES = {"tcp": f"{GENTLE} with {TCP}", "tfrc": f"{GENTLE} with {TFRC}"}
"""The pairs of kinds of Figs. 22 and 23, case 1, and of Figs. 24 and 25, case 2, by statement."""


def _of_pair(quantities: dict[str, Estimate], pair: str) -> dict[str, Estimate]:
    """Return those of the quantities of `_compared` that are of one pair."""
    return {name: value for name, value in quantities.items() if name.startswith(f"{pair}, ")}


@effects("Z15", cases=(CASE, BINS, LOW, OWN_SEEDS))
def smoother_with_red() -> Effects:
    """Measure the variation of the rates over time with both queues."""

    def statements(column: str = "rate_cov", **reading: Any) -> dict[str, Statement]:
        measured = _compared(_rates(**reading), column, -1.0)
        return {key: Statement(tuple(_of_pair(measured, pair).values())) for key, pair in CASES.items()}

    def own_packets(column: str) -> dict[str, Estimate]:
        return _of_pair(_compared(_both("flows"), column, -1.0), CASES["tcp"])

    def with_level(judged: dict[str, Statement], column: str) -> dict[str, Statement]:
        level = tuple(own_packets(column).values())
        return judged | {"tcp": replace(judged["tcp"], level=level)}

    by_variance = MEASURES[VARIANCE]
    own, every = own_packets("rate_cov"), _compared(_rates(), "rate_cov", -1.0)
    shown = {name: fall for pair in CASES.values() for name, fall in _of_pair(every, pair).items()}
    return Effects(
        with_level(statements(), "rate_cov"),
        {
            "ns-2": Curve(list(shown), list(shown.values())),
            "hopflow's packet level": Curve(list(own), level=list(own.values())),
        },
        ("pair of kinds, and the kind", "fall of the variation with RED"),
        values={
            "shown": shown,
            "own": own,
            "other": {name: fall for name, fall in every.items() if name not in shown},
            "longer": {
                length: {
                    name: fall
                    for name, fall in _compared(_rates(bin=length), "rate_cov", -1.0).items()
                    if name in shown
                }
                for length in LENGTHS.values()
            },
            "model": {kind: (variation(kind), variation(kind, periodic=True)) for kind in KINDS},
        },
        readings={name: statements(**reading) for name, reading in READINGS.items()}
        | {name: statements(bin=length) for name, length in LENGTHS.items()}
        | {by_variance: with_level(statements("rate_variance"), "rate_variance")},
        level_readings=(by_variance,),
    )


smoother_with_red.constants_of(level)


@effects("Z18", cases=(CASE, BINS, LOW, OWN_SEEDS), least=VISIBLE)
def throughput_with_red() -> Effects:
    """Measure the utilisation with both queues, and in readings how smooth rates are with them."""

    def statement(**reading: Any) -> Statement:
        found = _compared(_chosen("link", **reading), "utilisation", 1.0).values()
        own = _compared(_both("link"), "utilisation", 1.0).values()
        return Statement(
            tuple(beyond(e, VISIBLE) for e in found),
            level=tuple(beyond(e, VISIBLE) for e in own), least=VISIBLE,
        )  # fmt: skip

    def smoother(**reading: Any) -> Statement:
        falls = _compared(_rates(**reading), "rate_cov", -1.0)
        return Statement(tuple(fall for pair in CASES.values() for fall in _of_pair(falls, pair).values()))

    utilisation = {name: {"better": statement(**reading)} for name, reading in READINGS.items()}
    smooth = {SMOOTH: {"better": smoother()}} | {
        f"{name}, {SMOOTH}": {"better": smoother(bin=length)} for name, length in LENGTHS.items()
    }
    frame = _chosen("link")
    curves = {
        str(queue): by(frame[frame["queue"] == queue], "pair", "utilisation") for queue in frame["queue"].unique()
    }
    return Effects(
        {"better": statement()},
        {name: Curve(list(found), list(found.values())) for name, found in curves.items()},
        ("pair of kinds", "utilisation (1)"),
        values={
            "used": curves, "full": _gain({}), "empty": _gain(SMALL_QUEUE, SMALL_QUEUE_SEEDS),
            "low": _compared(_chosen("link", reading="1-b", buffer=SLOW.buffer), "utilisation", 1.0),
            "smooth": SMOOTH,
        },
        readings=utilisation | smooth,
    )  # fmt: skip


SMOOTH = "smoothness instead of utilisation"
"""What Sect. 3.9, which Sect. 4 sums up, shows of throughput: it is smoother with RED (Z15)."""
SMALL_QUEUE: dict[str, float] = {
    "low": LOW_THRESHOLDS.low,
    "high": LOW_THRESHOLDS.high,
    "buffer": 30.0,
}
"""Thresholds and buffer of a sixth."""
SMALL_QUEUE_SEEDS = 8
"""Runs at hopflow's packet level with `SMALL_QUEUE`."""


def _gain(link: dict[str, float], seeds: int = level.SEEDS) -> Estimate:
    """Return RED's utilisation less DropTail's at hopflow's packet level, of TCP(1/5,1/8) with TCP."""
    return _compared(_both("link", seeds, **link), "utilisation", 1.0)[f"{GENTLE} with {TCP}"]


def _marked(one: str, other: str, number: int, link: Link = SLOW) -> float:
    """Return the part of the packets that is marked instead of lost: all, up to ns-2's limit."""
    loss = fixed_point(Group(one, number), Group(other, number), link=link).loss
    return loss if loss < SLOW.most else 0.0  # mark_p_, with any thresholds


@effects("Z16", cases=(ECN, ECN_LOW), least=VISIBLE)
def marks_instead_of_drops() -> Effects:
    """Measure utilisation and loss with and without marks."""

    def statements(reading: str, case: str = ECN, link: Link = SLOW) -> dict[str, Statement]:
        used, fewer, more = [], [], []
        raised_more: list[Estimate] = []
        spared_more: list[Estimate] = []
        spared: list[list[float]] = []
        for name, frame in where(case, "link").groupby("pair"):
            pair = str(name)
            chosen = frame[frame["reading"] == ("1-b" if pair.startswith("TFRC") else reading)]
            off, on = (chosen[chosen["ecn"] == n] for n in (0, 1))
            u, v = (by(each, "number", "utilisation") for each in (off, on))
            raised = [difference(v[n], u[n]) for n in u]
            used += [beyond(rise, VISIBLE) for rise in raised]
            x, y = (by(each, "number", "loss") for each in (off, on))
            gains = [difference(x[n], y[n]) for n in x]
            fewer += gains
            more.append(difference(gains[-1], gains[0]))
            raised_more += _steps(raised)
            spared_more += _steps(gains)
            one, other = pair.split(" with ")
            spared.append([_marked(one, other, n, link) for n in x])
        return {
            "utilisation": Statement(
                tuple(used),
                level=tuple(beyond(_ecn(n, "utilisation"), VISIBLE) for n in OWN),
                least=VISIBLE,
            ),
            "loss": Statement(
                tuple(fewer), tuple(Estimate(p, 0.0) for e in spared for p in e),
                level=tuple(-_ecn(n, "loss") for n in OWN),
            ),
            "raises_more": Statement(
                tuple(raised_more), level=tuple(_steps([_ecn(n, "utilisation") for n in OWN]))
            ),
            "spares_more": Statement(
                tuple(spared_more),
                tuple(Estimate(b - a, 0.0) for by_number in spared for a, b in itertools.pairwise(by_number)),
                level=tuple(_steps([-_ecn(n, "loss") for n in OWN])),
            ),
            "more": Statement(
                tuple(more), tuple(Estimate(e[-1] - e[0], 0.0) for e in spared),
                level=(difference(_ecn(OWN[0], "loss"), _ecn(OWN[-1], "loss")),),
            ),
        }  # fmt: skip

    frame = where(ECN, "link", reading="1-b", pair="TFRC with TCP(1,1/2)")
    curves = {name: by(frame[frame["ecn"] == n], "number", "loss")
              for n, name in enumerate(("RED", "RED with ECN"))}  # fmt: skip
    return Effects(
        statements("1-b"),
        {name: Curve(list(found), list(found.values())) for name, found in curves.items()},
        ("flows of each kind", "loss (1)"),
        values={"lost": curves, 
                "full": _ecn(OWN[0], "utilisation"), "empty": _ecn(OWN[0], "utilisation", LOW_THRESHOLDS), "queue": _marked_loss(), "threshold": SLOW.high},
        readings={
            "ns-2's decrease setting is b": statements("b"),
            "RED thresholds of 5 and 15": statements("1-b", ECN_LOW, LOW_THRESHOLDS),
        },
    )  # fmt: skip


def _steps(by_number: Sequence[Estimate]) -> list[Estimate]:
    """Return by how much a quantity grows from each number of flows to the next."""
    return [difference(more, fewer) for fewer, more in itertools.pairwise(by_number)]


OWN = (5, 20, 45)
"""Flows of each kind at hopflow's packet level."""


def _ecn(number: int, column: str, link: Link = SLOW) -> Estimate:
    """Return utilisation or loss with marks less that with drops, of TCP(1/5,1/8) with TCP."""
    drops, marks = (level.of_link(level.pair(GENTLE, TCP, number, link, queue), column) for queue in ("RED", "ECN"))
    return difference(marks, drops)


def _marked_loss() -> list[tuple[Estimate, Estimate]]:
    """Return loss and mean queue in ns-2 with marks, TFRC with TCP, with the most and the fewest flows."""
    frame = where(ECN, "link", reading="1-b", pair="TFRC with TCP(1,1/2)", ecn=1)
    lost, queue = (by(frame, "number", column) for column in ("loss", "mean_queue"))
    return [(lost[n], queue[n]) for n in (max(lost), min(lost))]
