"""TCP's gains with idle times and with endless files (M12, M14)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from validation import evidence
from validation.claims.effect_claims import effects
from validation.claims.effect_statements import Curve, Effects, Estimates, Statement
from validation.claims.malhotra2005 import chain, level, protocol
from validation.claims.malhotra2005.chain import HEAVY, THREE, Setting, gain
from validation.claims.malhotra2005.traffic import LONG_RTT, MIDDLE_RTT, SHORT_RTT, STACKS
from validation.judgements.verdicts import Verdict
from validation.networks.further_seeds import CASE
from validation.statistics import Estimate, average, combine, difference, of_runs, slope

FLOWS = "malhotra2005/tcp-flows"
IDLE = (1.0, 2.0, 5.0, 10.0, 20.0)
"""Round-trip times of the comparison with endless files, s: shorter ones are an exception of the paper's."""
HALF = 0.5
"""The shortest round-trip time of a reading of that comparison, s."""
FAR = 2.0
"""Factor from which a gain counts as the paper's "far greater", which has no number: a convention of ours."""
NO_GAIN = 0.1
"""Gain below which there is none, in per cent."""


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
        return (average(each),)

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
        CASE,
        protocol.THINK,
        *protocol.LONG_RTTS.values(),
        protocol.ENDLESS,
        protocol.CLOCK,
        protocol.SMALL_FILES,
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
    bursty, granular = ({rtt: gain(Setting(rates, rtt=rtt)) for rtt in IDLE} for rates in (HEAVY, THREE))
    long = {rtt: e for rtt, e in think.items() if rtt >= LONG_RTT}
    stack = "ns-3 NewReno with SACK"
    sets = [
        protocol.gains(STACKS, query=f"reading == {stack!r} and traffic == {traffic!r}")
        for traffic in ("think", "endless")
    ]
    flows = {
        traffic: protocol.gains(FLOWS, column="flows", query=f"traffic == {traffic!r}")
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
            f"RTT from {LONG_RTT:g} s": _both(long, endless),
            f"RTT from {HALF:g} s": _both(think, endless, (HALF, *IDLE)),
            "a file per second at fixed times": _both(
                protocol.gains(protocol.CLOCK, query="file_size == 80000"), endless
            ),
            "files of 80 kbit": _both(protocol.gains(protocol.SMALL_FILES), endless),
            f"TCP of {stack}": _both(sets[0], sets[1]),
        },
    )  # fmt: skip


TWO_PACKETS = "a window of at least two packets after a loss"
"""The reading of hopflow's packet level whose senders do as RFC 5681 has it, as ns-3's; by default they are ns-2's Reno."""


def lost_part(setting: Setting) -> float:
    """Return the part of the packets offered that the chain loses at either queue."""
    answer = chain.solve(setting)
    return sum(answer.loss_rate) / (answer.effective_rate[0] + answer.loss_rate[0])


@effects("M14", cases=(protocol.ENDLESS, STACKS, CASE), also={"nothing": NO_GAIN})
def short_round_trips() -> Effects:
    """Measure gain, losses and losses per reduction of endless TCP at a short round-trip time."""
    gains = protocol.gains(protocol.ENDLESS)
    frame = evidence.frame(protocol.ENDLESS)
    frame = frame.assign(
        lost=(frame["dropped_1"] + frame["dropped_2"]) / frame["arrivals_1"],
        bursts=(frame["dropped_1"] + frame["dropped_2"]) / (frame["fast_recoveries"] + frame["timeouts"]),
    )
    alone = frame[frame["pause"] == "off"].groupby("rtt")
    lost, bursts = (
        {float(str(rtt)): of_runs(seeds.to_numpy()) for rtt, seeds in alone[column]} for column in ("lost", "bursts")
    )
    exact = {rtt: gain(Setting(THREE, rtt=rtt)) for rtt in gains}
    stack = "ns-3 NewReno with SACK"
    other = protocol.gains(STACKS, query=f"reading == {stack!r} and traffic == 'endless'")
    none = Verdict.NOT_APPLICABLE
    part = [lost_part(Setting(THREE, rtt=rtt).off) for rtt in (SHORT_RTT, MIDDLE_RTT)]
    own = [level.endless(rtt, False) for rtt in (SHORT_RTT, MIDDLE_RTT)]
    loss = [of_runs(each.lost) for each in own]
    two = [of_runs(level.endless(rtt, False, "two").lost) for rtt in (SHORT_RTT, MIDDLE_RTT)]
    frame = frame.assign(timeout_rate=frame["timeouts"] / frame["measured_time"])
    alike = [level.endless(SHORT_RTT, False, sender) for sender in level.SENDERS]
    return Effects(
        {
            "gain": Statement((gains[SHORT_RTT],), none, level=(level.gain(SHORT_RTT),)),
            "chain": Statement(None, lambda given: Verdict.of(exact[SHORT_RTT] < given["nothing"])),
            "losses": Statement(
                (difference(lost[SHORT_RTT], lost[MIDDLE_RTT]),),
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
            "gains": gains, "lost": lost, "bursts": bursts, "exact": exact, "other": other[SHORT_RTT],
            "timeouts": [_at(frame, SHORT_RTT, pause, "timeout_rate") for pause in ("off", "on")],
            "goodput": [_at(frame, SHORT_RTT, pause, "goodput") for pause in ("off", "on")],
            "own_timeouts": [of_runs(each.timeouts) for each in alike],
            "own_goodput": [of_runs(each.goodput) for each in alike],
            "own_gains": [level.gain(SHORT_RTT, sender) for sender in ("reno", "two")],
        },
        readings={
            f"TCP of {stack}": {"gain": Statement((other[SHORT_RTT],))},
            TWO_PACKETS: {
                "gain": Statement(None, level=(level.gain(SHORT_RTT, "two"),)),
                "losses": Statement(None, level=(difference(*two),)),
            },
        },
        level_readings=(TWO_PACKETS,),
    )  # fmt: skip


def _at(frame: pd.DataFrame, rtt: float, pause: str, column: str) -> Estimate:
    """Return a column of the runs of one round-trip time, with pausing ``on`` or ``off``."""
    return of_runs(frame[(frame["rtt"] == rtt) & (frame["pause"] == pause)][column].to_numpy())
