"""TCP's own gains by its traffic: round-trip times, thresholds, idle times (M10 to M12, M14)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from validation import evidence
from validation.claims.effect_claims import Curve, Effects, Estimates, Statement, by, effects
from validation.claims.malhotra2005 import bundled, chain, level, protocol
from validation.claims.malhotra2005.chain import HEAVY, THREE, Setting, gain
from validation.statistics import Estimate, combine, difference, of_runs, slope
from validation.verdicts import Verdict

READINGS = "malhotra2005/tcp-readings"
STACKS = "malhotra2005/tcp-stacks"
FLOWS = "malhotra2005/tcp-flows"
SHORT, MIDDLE, LONG = 0.1, 1.0, 5.0
"""Round-trip times between which the gain grows, s; the middle one where the shortest was not run."""
IDLE = (1.0, 2.0, 5.0, 10.0, 20.0)
"""Round-trip times of the comparison with endless files, s: shorter ones are an exception of the paper's."""
HALF = 0.5
"""The shortest round-trip time of a reading of that comparison, s."""
FAR = 2.0
"""Factor from which a gain counts as the paper's "far greater", which has no number: a convention of ours."""
HIGH, BELOW, LAST, FULL = 15, 8, 19, 20
"""Thresholds: in the band of 70 to 80 % of the buffer, far below it, the last but one, no pausing."""
LOWS = (1, 5, 10, 15)
"""Low thresholds at packet level, packets."""
NO_GAIN = 0.1
"""Gain below which there is none, in per cent."""


def _growth(gains: Mapping[float, Estimate]) -> Estimate:
    return difference(gains[LONG], gains[SHORT])


def _mean(estimates: Iterable[Estimate]) -> Estimate:
    """Return the mean of estimates."""
    each = list(estimates)
    return combine(each, [1.0 / len(each)] * len(each))


LOSSES = (protocol.THINK, *protocol.LONG.values())


def _fewer_lost() -> Estimates:
    """Return the part of TCP's packets lost without pausing less that with it, by round-trip time."""
    frame = pd.concat([evidence.table(case) for case in LOSSES])
    frame = frame.assign(lost=(frame["dropped_1"] + frame["dropped_2"]) / frame["arrivals_1"])
    off, on = (by(frame[frame["pause"] == pause], "rtt", "lost") for pause in ("off", "on"))
    return tuple(difference(off[rtt], on[rtt]) for rtt in off)


def _own_growth(load: float, random: bool = False) -> Estimate:
    """Return the growth at hopflow's packet level, with constant or exponential idle times."""
    bridges = (level.Bridges(rtt, link_a=load) for rtt in (LONG, SHORT))
    return difference(*(level.idle_gain(each, random) for each in bridges))


def _growth_in_other_readings() -> dict[str, dict[str, Statement]]:
    """Return the growth of TCP's gain with other traffic, and with other senders."""
    others = {
        name: {
            "grows": Statement((_growth(protocol.gains(READINGS, query=f"reading == {name!r}")),))
        }
        for name in evidence.table(READINGS)["reading"].unique()
        if name not in ("default", "exponential think time")
    }
    stacks = {
        f"TCP of {name}": {
            "grows": Statement(
                (
                    _growth(
                        protocol.gains(STACKS, query=f"reading == {name!r} and traffic == 'think'")
                    ),
                )
            )
        }
        for name in evidence.table(STACKS)["reading"].unique()
    }
    traffic = {
        "a file per second by the clock": protocol.gains(
            protocol.CLOCK, query="file_size == 80000"
        ),
        "files of 80 kbit": protocol.gains(protocol.SMALL),
    }
    at = {name: {"grows": Statement((_growth(each),))} for name, each in traffic.items()}
    return at | others | stacks


@effects(
    "M10",
    cases=(
        bundled.LINK_A,
        bundled.RANDOM_THINK,
        READINGS,
        STACKS,
        protocol.CLOCK,
        protocol.SMALL,
        protocol.THINK,
        *protocol.LONG.values(),
    ),
)
def growth_by_load() -> Effects:
    """Measure the growth of TCP's gain with the round-trip time at every rate of link A."""
    gains = bundled.tcp_gains(bundled.LINK_A)
    loads = [load for load, rtt in gains if rtt == SHORT]
    found = {load: _growth({r: gains[load, r] for r in (SHORT, LONG)}) for load in loads}
    exact = {
        load: gain(Setting((load, 1.0), rtt=LONG)) - gain(Setting((load, 1.0), rtt=SHORT))
        for load in loads
    }
    random = bundled.tcp_gains(bundled.RANDOM_THINK)
    own = {load: _own_growth(load) for load in level.LOADS}
    rates = sorted({load for load, _ in random})
    scattered = tuple(difference(random[load, LONG], random[load, MIDDLE]) for load in rates)
    kept = protocol.over_rtt().default
    return Effects(
        {
            "grows": Statement((_mean(found.values()),), level=(_mean(own.values()),)),
            "losses": Statement(_fewer_lost()),
            "others": Statement((_growth(protocol.gains(protocol.SMALL)),)),
        },
        {
            "growth": Curve(loads, list(found.values()), list(exact.values())),
            "exponential think times": Curve(rates, scattered),
            "growth at hopflow's packet level": Curve(list(own), level=list(own.values())),
        },
        ("link A (packets/s)", f"gain at {LONG:g} s less that at {SHORT:g} s (%)"),
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
                        (_mean(difference(gains[load, last], gains[load, first]) for load in loads),)
                    )
                }
                for first, last in ((SHORT, MIDDLE), (MIDDLE, LONG))
            },
            "exponential think times": {"grows": Statement(scattered)},
        }
        | _growth_in_other_readings(),
    )  # fmt: skip


def _own_trends() -> tuple[dict[int, Estimate], dict[str, Estimates]]:
    """Return the goodput by T1 = T2 at hopflow's packet level, packets/s, and what the statements are about."""
    low, high = (
        {p: of_runs(level.goodput(bridges)) for p, bridges in each.items()}
        for each in (
            {p: level.Bridges(MIDDLE, HIGH, p) for p in LOWS},
            {p: level.Bridges(MIDDLE, p, p) for p in (BELOW, HIGH, LAST - 1, LAST)},
        )
    )
    return high, {
        "low": (slope(list(low.values()), list(low)),),
        "band": tuple(difference(high[HIGH], high[p]) for p in (BELOW, LAST)),
        "collapse": (difference(high[LAST - 1], high[LAST]),),
    }


@effects("M11", cases=(protocol.THRESHOLDS, protocol.LOW_THRESHOLD))
def threshold_trends() -> Effects:
    """Measure TCP's goodput by both thresholds at a round-trip time of 1 s, and at 5 s."""

    def statements(rtt: float) -> dict[str, Statement]:
        low, high = protocol.by_low_threshold(rtt), protocol.by_threshold("think", rtt)
        places = [place for place in low if place <= HIGH]
        pairs = ((HIGH, BELOW), (HIGH, LAST))
        return {
            "low": Statement((slope([low[p] for p in places], places),)),
            "band": Statement(tuple(difference(high[a], high[b]) for a, b in pairs)),
            "collapse": Statement((difference(high[LAST - 1], high[LAST]),)),
        }

    found = {rtt: protocol.by_threshold("think", rtt) for rtt in (1.0, 5.0)}
    own, levels = _own_trends()
    return Effects(
        {key: replace(each, level=levels[key]) for key, each in statements(MIDDLE).items()},
        {
            "at hopflow's packet level": Curve(list(own), level=list(own.values())),
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
            "endless": difference(*(protocol.by_threshold("endless", 1.0)[p] for p in (LAST - 1, LAST))),
        },
        readings={"RTT 5 s": statements(5.0)},
    )  # fmt: skip


def _greater(
    think: Mapping[float, Estimate], endless: Mapping[float, Estimate], rtts: Sequence[float] = IDLE
) -> Estimates:
    """Return by how much gains with idle times exceed those with endless files, by round-trip time."""
    both = [rtt for rtt in rtts if rtt in think and rtt in endless]
    return tuple(difference(think[rtt], endless[rtt]) for rtt in both)


def _far(
    think: Mapping[float, Estimate], endless: Mapping[float, Estimate], rtts: Sequence[float] = IDLE
) -> Callable[[Mapping[str, float]], Estimates]:
    """Return by how much their mean over the round-trip times exceeds a multiple of that with endless files."""
    both = [rtt for rtt in rtts if rtt in think and rtt in endless]

    def beyond_far(given: Mapping[str, float]) -> Estimates:
        each = (combine((think[r], endless[r]), (1.0, -given["far"])) for r in both)
        return (combine(list(each), [1.0 / len(both)] * len(both)),)

    return beyond_far


def _both(
    think: Mapping[float, Estimate], endless: Mapping[float, Estimate], rtts: Sequence[float] = IDLE
) -> dict[str, Statement]:
    return {
        "greater": Statement(_greater(think, endless, rtts)),
        "far": Statement(_far(think, endless, rtts)),
    }


@effects(
    "M12",
    cases=(
        protocol.THINK,
        *protocol.LONG.values(),
        protocol.ENDLESS,
        protocol.CLOCK,
        protocol.SMALL,
        STACKS,
        FLOWS,
    ),
    also={"far": FAR},
)
def idle_times() -> Effects:
    """Measure the gains with idle times and with endless files."""
    think, endless = protocol.over_rtt().default, protocol.gains(protocol.ENDLESS)
    own = {rtt: level.idle_gain(level.Bridges(rtt)) for rtt in level.RTTS}
    also = {rtt: level.gain(rtt) for rtt in level.RTTS}
    bursty, granular = (
        {rtt: gain(Setting(rates, rtt=rtt)) for rtt in IDLE} for rates in (HEAVY, THREE)
    )
    long = {rtt: e for rtt, e in think.items() if rtt >= LONG}
    stack = "ns-3 NewReno with SACK"
    sets = [
        protocol.gains(STACKS, query=f"reading == {stack!r} and traffic == {traffic!r}")
        for traffic in ("think", "endless")
    ]
    flows = {
        traffic: protocol.gains(FLOWS, "flows", f"traffic == {traffic!r}")
        for traffic in ("think", "endless")
    }
    streams = flows["endless"]
    return Effects(
        {
            "greater": Statement(_greater(think, endless), level=_greater(own, also)),
            "far": Statement(_far(think, endless), level=_far(own, also)),
            "streams": Statement((-slope(list(streams.values()), np.log2(list(streams))),)),
        },
        {
            "idle times": Curve(IDLE, [think[rtt] for rtt in IDLE], list(bursty.values())),
            "endless": Curve(IDLE, [endless[rtt] for rtt in IDLE], list(granular.values())),
            "endless at hopflow's packet level": Curve(level.RTTS, level=list(also.values())),
            "idle times at hopflow's packet level": Curve(level.RTTS, level=list(own.values())),
        },
        ("RTT (s)", "gain over TCP alone (%)"),
        "x",
        values={"think": think, "endless": endless, "flows": flows, "own": own, "also": also},
        readings={
            f"RTT from {LONG:g} s": _both(long, endless),
            f"RTT from {HALF:g} s": _both(think, endless, (HALF, *IDLE)),
            "a file per second by the clock": _both(
                protocol.gains(protocol.CLOCK, query="file_size == 80000"), endless
            ),
            "files of 80 kbit": _both(protocol.gains(protocol.SMALL), endless),
            f"TCP of {stack}": _both(sets[0], sets[1]),
        },
    )  # fmt: skip


def lost_part(setting: Setting) -> float:
    """Return the part of the packets offered that the chain loses at either queue."""
    answer = chain.solve(setting)
    return sum(answer.loss_rate) / (answer.effective_rate[0] + answer.loss_rate[0])


@effects("M14", cases=(protocol.ENDLESS, STACKS), also={"nothing": NO_GAIN})
def short_round_trips() -> Effects:
    """Measure gain, losses and losses per reduction of endless TCP at a short round-trip time."""
    gains = protocol.gains(protocol.ENDLESS)
    frame = evidence.table(protocol.ENDLESS)
    frame = frame.assign(
        lost=(frame["dropped_1"] + frame["dropped_2"]) / frame["arrivals_1"],
        bursts=(frame["dropped_1"] + frame["dropped_2"])
        / (frame["fast_recoveries"] + frame["timeouts"]),
    )
    alone = frame[frame["pause"] == "off"].groupby("rtt")
    lost, bursts = (
        {float(str(rtt)): of_runs(seeds.to_numpy()) for rtt, seeds in alone[column]}
        for column in ("lost", "bursts")
    )
    exact = {rtt: gain(Setting(THREE, rtt=rtt)) for rtt in gains}
    stack = "ns-3 NewReno with SACK"
    other = protocol.gains(STACKS, query=f"reading == {stack!r} and traffic == 'endless'")
    none = Verdict.NOT_APPLICABLE
    part = [lost_part(Setting(THREE, rtt=rtt).off) for rtt in (SHORT, MIDDLE)]
    own = [level.endless(rtt, False) for rtt in (SHORT, MIDDLE)]
    loss = [of_runs(each.lost) for each in own]
    frame = frame.assign(timeout_rate=frame["timeouts"] / frame["measured_time"])
    alike = [level.endless(SHORT, False, sender) for sender in level.SENDERS]
    return Effects(
        {
            "gain": Statement((gains[SHORT],), none, level=(level.gain(SHORT),)),
            "chain": Statement(None, lambda given: Verdict.of(exact[SHORT] < given["nothing"])),
            "losses": Statement(
                (difference(lost[SHORT], lost[MIDDLE]),),
                (Estimate(part[0] - part[1], 0.0),),
                level=(difference(*loss),),
            ),
        },
        {
            "endless files": Curve(list(gains), list(gains.values()), list(exact.values())),
            "at hopflow's packet level": Curve(level.RTTS, level=[level.gain(r) for r in level.RTTS]),
        },
        ("RTT (s)", "gain over TCP alone (%)"),
        "x",
        values={
            "gains": gains, "lost": lost, "bursts": bursts, "exact": exact, "other": other[SHORT],
            "timeouts": [_at(frame, SHORT, pause, "timeout_rate") for pause in ("off", "on")],
            "goodput": [_at(frame, SHORT, pause, "goodput") for pause in ("off", "on")],
            "own_timeouts": [of_runs(each.timeouts) for each in alike],
            "own_goodput": [of_runs(each.goodput) for each in alike],
            "own_gains": [level.gain(SHORT, sender) for sender in ("reno", "two")],
        },
        readings={f"TCP of {stack}": {"gain": Statement((other[SHORT],))}},
    )  # fmt: skip


def _at(frame: pd.DataFrame, rtt: float, pause: str, column: str) -> Estimate:
    """Return a column of the runs of one round-trip time, with pausing ``on`` or ``off``."""
    return of_runs(frame[(frame["rtt"] == rtt) & (frame["pause"] == pause)][column].to_numpy())
