"""TCP's own gains by the round-trip time and by the thresholds (M10, M11)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import pandas as pd

from validation import evidence
from validation.claims.effect_claims import by, effects
from validation.claims.effect_statements import Curve, Decided, Effects, Estimates, Statement
from validation.claims.malhotra2005 import bundled, chain, level, protocol, threshold
from validation.claims.malhotra2005.chain import Setting, gain
from validation.claims.malhotra2005.threshold import BAND, judge_optimum
from validation.judgements.verdicts import Verdict
from validation.networks.further_seeds import CASE
from validation.statistics import Estimate, average, difference, of_runs, slope

READINGS = "malhotra2005/tcp-readings"
STACKS = "malhotra2005/tcp-stacks"
SHORT_RTT, MIDDLE_RTT, LONG_RTT = 0.1, 1.0, 5.0
"""Round-trip times between which the gain grows, s; the middle one where the shortest was not run."""
HIGH, BELOW, LAST = 15, 8, 19
"""Thresholds: in the band of 70 to 80 % of the buffer, far below it, the last that pauses."""
LOWS = (1, 5, 10, 15)
"""Low thresholds at packet level, packets."""


def _growth(gains: Mapping[float, Estimate]) -> Estimate:
    return difference(gains[LONG_RTT], gains[SHORT_RTT])


LOSSES = (protocol.THINK, *protocol.LONG_RTTS.values())


def _fewer_lost() -> Estimates:
    """Return the part of TCP's packets lost without pausing less that with it, by round-trip time."""
    frame = pd.concat([evidence.frame(case) for case in LOSSES])
    frame = frame.assign(lost=(frame["dropped_1"] + frame["dropped_2"]) / frame["arrivals_1"])
    off, on = (by(frame[frame["pause"] == pause], "rtt", "lost") for pause in ("off", "on"))
    return tuple(difference(off[rtt], on[rtt]) for rtt in off)


def _own_growth(load: float, random: bool = False) -> Estimate:
    """Return the growth at hopflow's packet level, with constant or exponential idle times."""
    bridges = (level.Bridges(rtt, link_a=load) for rtt in (LONG_RTT, SHORT_RTT))
    return difference(*(level.idle_gain(each, random) for each in bridges))


def _growth_in_other_readings() -> dict[str, dict[str, Statement]]:
    """Return the growth of TCP's gain with other traffic, and with other senders."""
    others = {
        name: {"grows": Statement((_growth(protocol.gains(READINGS, query=f"reading == {name!r}")),))}
        for name in evidence.frame(READINGS)["reading"].unique()
        if name not in ("default", "exponential think time")
    }
    stacks = {
        f"TCP of {name}": {
            "grows": Statement((_growth(protocol.gains(STACKS, query=f"reading == {name!r} and traffic == 'think'")),))
        }
        for name in evidence.frame(STACKS)["reading"].unique()
    }
    traffic = {
        "a file per second at fixed times": protocol.gains(protocol.CLOCK, query="file_size == 80000"),
        "files of 80 kbit": protocol.gains(protocol.SMALL_FILES),
    }
    at = {name: {"grows": Statement((_growth(each),))} for name, each in traffic.items()}
    return at | others | stacks


@effects(
    "M10",
    cases=(
        CASE,
        bundled.LINK_A,
        bundled.RANDOM_THINK,
        READINGS,
        STACKS,
        protocol.CLOCK,
        protocol.SMALL_FILES,
        protocol.THINK,
        *protocol.LONG_RTTS.values(),
    ),
)
def growth_by_load() -> Effects:
    """Measure the growth of TCP's gain with the round-trip time at every rate of link A."""
    gains = bundled.tcp_gains(bundled.LINK_A)
    loads = [load for load, rtt in gains if rtt == SHORT_RTT]
    found = {load: _growth({r: gains[load, r] for r in (SHORT_RTT, LONG_RTT)}) for load in loads}
    exact = {
        load: gain(Setting((load, 1.0), rtt=LONG_RTT)) - gain(Setting((load, 1.0), rtt=SHORT_RTT)) for load in loads
    }
    random = bundled.tcp_gains(bundled.RANDOM_THINK)
    own = {load: _own_growth(load) for load in level.LOADS}
    rates = sorted({load for load, _ in random})
    scattered = tuple(difference(random[load, LONG_RTT], random[load, MIDDLE_RTT]) for load in rates)
    kept = protocol.over_rtt().default
    return Effects(
        {
            "grows": Statement((average(found.values()),), level=(average(own.values()),)),
            "losses": Statement(_fewer_lost()),
            "others": Statement((_growth(protocol.gains(protocol.SMALL_FILES)),)),
        },
        {
            "growth": Curve(loads, list(found.values()), list(exact.values())),
            "exponential think times": Curve(rates, scattered),
            "growth at hopflow's packet level": Curve(list(own), level=list(own.values())),
        },
        ("link A (packets/s)", f"gain at {LONG_RTT:g} s less that at {SHORT_RTT:g} s (%)"),
        values={
            "against": [load for load, e in found.items() if e.value < 0],
            "found": found, "own": own, "apart": _own_growth(35.0, random=True), "scattered": dict(zip(rates, scattered, strict=True)),
            "most": kept[20.0], "chain": gain(Setting(rtt=20.0)),
        },
        readings={
            "every rate of link A": {"grows": Statement(tuple(found.values()))},
            **{
                f"RTT from {first:g} to {last:g} s": {
                    "grows": Statement(
                        (average(difference(gains[load, last], gains[load, first]) for load in loads),)
                    )
                }
                for first, last in ((SHORT_RTT, MIDDLE_RTT), (MIDDLE_RTT, LONG_RTT))
            },
            "exponential think times": {"grows": Statement(scattered)},
        }
        | _growth_in_other_readings(),
    )  # fmt: skip


def _optimum(by_threshold: Mapping[int, Estimate]) -> Callable[[Mapping[str, float]], Verdict]:
    """Return the verdict on whether the best threshold is in the band, without that of no pausing."""
    pausing = {high: goodput for high, goodput in by_threshold.items() if high < chain.B2}
    return lambda thresholds: judge_optimum(pausing, thresholds["level"])


def _own_trends(rtt: float) -> tuple[dict[int, Estimate], dict[str, Decided]]:
    """Return the goodput by T1 = T2 at hopflow's packet level, packets/s, and what the statements are about."""
    low, high = (
        {p: of_runs(level.goodput(bridges)) for p, bridges in each.items()}
        for each in (
            {p: level.Bridges(rtt, HIGH, p) for p in LOWS},
            {p: level.Bridges(rtt, p, p) for p in (BELOW, *BAND, LAST - 1, LAST)},
        )
    )
    return high, {
        "low": (slope(list(low.values()), list(low)),),
        "optimum": _optimum(high),
        "band": tuple(difference(high[HIGH], high[p]) for p in (BELOW, LAST)),
        "collapse": (difference(high[LAST - 1], high[LAST]),),
    }


@effects("M11", cases=(protocol.THRESHOLDS, protocol.LOW_THRESHOLD, CASE))
def threshold_trends() -> Effects:
    """Measure TCP's goodput by both thresholds at a round-trip time of 1 s, and at 5 s."""

    def statements(rtt: float) -> dict[str, Statement]:
        low, high = protocol.by_low_threshold(rtt), protocol.by_threshold("think", rtt)
        places = [place for place in low if place <= HIGH]
        pairs = ((HIGH, BELOW), (HIGH, LAST))
        return {
            "low": Statement((slope([low[p] for p in places], places),)),
            "optimum": Statement(_optimum(high)),
            "band": Statement(tuple(difference(high[a], high[b]) for a, b in pairs)),
            "collapse": Statement((difference(high[LAST - 1], high[LAST]),)),
        }

    def with_level(rtt: float) -> dict[str, Statement]:
        return {key: replace(each, level=own[rtt][1][key]) for key, each in statements(rtt).items()}

    found = {rtt: protocol.by_threshold("think", rtt) for rtt in (MIDDLE_RTT, LONG_RTT)}
    own = {rtt: _own_trends(rtt) for rtt in found}
    longer = f"RTT {LONG_RTT:g} s"
    return Effects(
        with_level(MIDDLE_RTT),
        {
            f"RTT {rtt:g} s, at hopflow's packet level": Curve(list(goodput), level=list(goodput.values()))
            for rtt, (goodput, _) in own.items()
        }
        | {
            f"RTT {rtt:g} s": Curve(
                list(each), list(each.values()),
                [chain.solve(Setting(high=p, rtt=rtt)).throughput for p in each],
            )
            for rtt, each in found.items()
        },
        ("T1 = T2 (packets)", "goodput (packets/s)"),
        values={
            "best": {rtt: max(each, key=lambda p: each[p].value) for rtt, each in found.items()},
            "drop": {rtt: difference(each[LAST - 1], each[LAST]) for rtt, each in found.items()},
            "above": {rtt: difference(each[LAST - 1], each[HIGH]) for rtt, each in found.items()},
            "endless": difference(*(protocol.by_threshold("endless", 1.0)[p] for p in (LAST - 1, LAST))),
        },
        readings={longer: with_level(LONG_RTT)},
        level_readings=(longer,),
    )  # fmt: skip


threshold_trends.constants_of(threshold)
