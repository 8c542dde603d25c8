"""Flows of one rule: alone, with other round trips, in threes, over hops (K04, K05, K08 to K10)."""

from __future__ import annotations

import itertools
import math

from scipy.optimize import brentq

from responsefn import Reno
from validation.claims.effect_claims import (
    Curve,
    Effects,
    Estimates,
    Statement,
    beyond,
    by,
    effects,
)
from validation.claims.kaneko2007.runs import FRIENDLY as RULES
from validation.claims.kaneko2007.runs import (
    NAMES,
    alone,
    modelled,
    of_cases,
    relative,
    seeds_of,
    share,
)
from validation.records import rows
from validation.statistics import Estimate, combine, difference, of_runs, weakest
from validation.verdicts import Verdict

THREE = ("kaneko2007/three-flows-ns3", "kaneko2007/three-flows-ns2")
RTTS = ("kaneko2007/rtt-fairness-ns3", "kaneko2007/rtt-fairness-ns2")
ADDED = ("kaneko2007/added-delay-ns3", "kaneko2007/added-delay-seeds-ns3")
ADDED_NS2 = "kaneko2007/added-delay-ns2"
ALONE = ("kaneko2007/windows-alone-ns3", "kaneko2007/windows-alone-ns2")
LOT = ("kaneko2007/parking-lot-ns3", "kaneko2007/parking-lot-ns2")
LONG = (0.06, 0.12)
"""Round-trip times of the second flow that differ from the first's, s."""
FURTHEST, MOST = 0.16, 0.1
"""The largest delay added, s; the part of its throughput that a rule may lose and keep it."""
BDP = 100e6 * 0.08 / (8 * 1500)
"""Bandwidth-delay product of the window runs, packets."""
FRIENDLY = ("fusion", "areno", "compound")


@effects("K04", cases=THREE)
def three_flows() -> Effects:
    """Measure how three flows of a rule share a link."""
    curves = {}
    for case, name in zip(THREE, ("ns-3", "ns-2"), strict=True):
        frame = of_cases(case)
        for rule in frame["rule"].unique():
            if rule in NAMES:
                found = by(frame[frame["rule"] == rule], "flow", "goodput_bits")
                millions = [combine((e,), (1e-6,)) for e in found.values()]
                curves[f"{NAMES[rule]}, {name}"] = Curve(list(found), millions)
    open_yet = Verdict.UNDECIDABLE
    panels = {(row["slide"], row["panel"]) for row in rows("kaneko2007_three_flows.csv")}
    return Effects(
        {"splits": Statement(open_yet, open_yet)},
        curves,
        ("flow, in the order of the starts", "throughput (Mb/s)"),
        values={"panels": len(panels), "curves": curves},
    )


@effects("K05", cases=RTTS, equal=True)
def other_round_trips() -> Effects:
    """Measure the share of the flow with the longer round trip."""
    frames = [of_cases(case) for case in RTTS]
    shares: dict[str, dict[float, Estimate]] = {}
    for frame in frames:
        for rule in frame["rule"].unique():
            if rule in NAMES and rule not in shares:
                shares[rule] = {rtt: share(frame, 2, rule=rule, long_rtt=rtt) for rtt in LONG}
    model = {
        rule: {rtt: share(modelled(RTTS[0]), 2, rule=rule, long_rtt=rtt) for rtt in LONG}
        for rule in (*FRIENDLY, "reno")
    }

    wild = modelled(RTTS[0], f"rule in ('reno', 'fusion') and long_rtt in {LONG}", overshoot=True)

    def order(more: str, less: str) -> Estimates:
        others = [rule for rule in shares if rule not in (more, less)]
        pairs = [(more, rule) if more else (rule, less) for rule in others]
        return tuple(difference(shares[a][rtt], shares[b][rtt]) for a, b in pairs for rtt in LONG)

    def as_reno(found: dict[str, dict[float, Estimate]]) -> Estimates:
        return tuple(
            difference(found[r][rtt], found["reno"][rtt]) for r in FRIENDLY for rtt in LONG
        )

    return Effects(
        {
            "fairest": Statement(order("cubic", "")),
            "least": Statement(order("", "highspeed")),
            "as_reno": Statement(as_reno(shares), as_reno(model), equal=True),
        },
        {
            NAMES[rule]: Curve(
                [1e3 * rtt for rtt in LONG],
                list(found.values()),
                [e.value for e in model[rule].values()] if rule in model else (),
            )
            for rule, found in shares.items()
        },
        ("round-trip time of the second flow (ms)", "its share (1)"),
        values={"seen": [shares["reno"][LONG[0]], shares["fusion"][LONG[-1]]],
                "limited": [model["reno"][LONG[0]], model["fusion"][LONG[-1]]],
                "overshoot": [share(wild, 2, rule=rule, long_rtt=rtt)
                              for rule, rtt in (("reno", LONG[0]), ("fusion", LONG[-1]))],
                "at": {NAMES[rule]: found[LONG[-1]] for rule, found in shares.items()},
                "least": NAMES[min(shares, key=lambda r: shares[r][LONG[0]].value)]},
    )  # fmt: skip


@effects("K08", cases=(*ADDED, ADDED_NS2))
def added_delay() -> Effects:
    """Measure the throughput of one flow by the delay added to its path."""
    packets, model = of_cases(*ADDED), modelled(ADDED[0])

    def kept(frame: object, rule: str) -> Estimate:
        """Return the relative fall of the throughput from no delay to the largest."""
        near, far = (seeds_of(frame, rule=rule, added_rtt=d) for d in (0.0, FURTHEST))  # type: ignore[arg-type]
        return relative(far, near)

    falls = {rule: kept(packets, rule) for rule in (*FRIENDLY, "reno")}
    derived = {rule: kept(model, rule) for rule in falls}
    ns2 = kept(of_cases(ADDED_NS2), "reno")
    curves = {}
    for rule in falls:
        found = by(packets[packets["rule"] == rule], "added_rtt", "goodput_bits")
        also = by(model[model["rule"] == rule], "added_rtt", "goodput_bits")
        curves[NAMES[rule]] = Curve(
            [1e3 * delay for delay in found],
            [combine((e,), (1e-6,)) for e in found.values()],
            [1e-6 * e.value for e in also.values()],
        )
    return Effects(
        {
            "fusion": Statement(
                (beyond(falls["fusion"], -MOST),), (beyond(derived["fusion"], -MOST),)
            ),
            "reno": Statement((beyond(-falls["reno"], MOST), beyond(-ns2, MOST)),
                              (beyond(-derived["reno"], MOST),)),
        },
        curves,
        ("added round-trip time (ms)", "throughput (Mb/s)"),
        values={"falls": {NAMES[rule]: e for rule, e in falls.items()}, "ns2": ns2,
                "derived": {NAMES[rule]: e for rule, e in derived.items()}},
    )  # fmt: skip


@effects("K09", cases=ALONE, equal=True)
def windows_alone() -> Effects:
    """Measure the mean windows of one flow."""
    found: dict[str, Estimate] = {}
    model: dict[str, Estimate] = {}
    for into, frame in ((found, of_cases(ALONE[0])), (model, modelled(ALONE[0]))):
        for rule in FRIENDLY:
            windows = seeds_of(frame, "mean_cwnd", rule=rule)
            into[rule] = relative(windows, 0.0 * windows + BDP)
    others = by(of_cases(ALONE[1]), "rule", "mean_cwnd")
    return Effects(
        {"near": Statement(tuple(found.values()), tuple(model.values()), equal=True)},
        {
            "mean window": Curve(
                [NAMES[rule] for rule in found],
                list(found.values()),
                [e.value for e in model.values()],
            )
        },
        ("rule", "mean window over the BDP, less one"),
        values={
            "found": {NAMES[rule]: e for rule, e in found.items()},
            "buffers": {each: [_above(rule, each) for rule in FRIENDLY] for each in SMALLER},
            "others": {NAMES[str(r)]: float(e.value / BDP - 1) for r, e in others.items() if r in NAMES},
        },
    )  # fmt: skip


SMALLER = (0.5, 0.1)
"""Buffers over the BDP: that of the runs, and one with little room above the BDP."""


def _above(rule: str, size: float) -> float:
    """Return by how much the mean window of a rule alone is above the BDP, relative to it."""
    run = alone(RULES[rule], 1e-6, 0.08, round(size * BDP), BDP)
    return float(run.mean_window[0]) / BDP - 1.0


def by_hops() -> dict[int, float]:
    """Return the throughput of Reno by the number of bottlenecks, by its response, in Mb/s.

    Over h links a flow has h times the loss rate and round-trip time of one; the loss rate is that
    at which two flows of each length fill a link.
    """

    def rates(p: float) -> dict[int, float]:
        packet = 8 * 1500 / 1e6
        return {h: packet * float(Reno().rate(p=h * p, rtt=h * HOP_RTT)) for h in HOPS}

    def excess(log_p: float) -> float:
        return 2.0 * sum(rates(math.exp(log_p)).values()) - LOT_LINK

    return rates(math.exp(float(brentq(excess, math.log(1e-8), math.log(0.1)))))


HOPS, HOP_RTT, LOT_LINK = (1, 2, 3), 0.02, 100.0
"""Bottlenecks passed, round-trip time of each in s, rate of a link in Mb/s."""


@effects("K10", cases=LOT)
def parking_lot() -> Effects:
    """Measure the throughput by the number of bottlenecks, with and without reverse traffic."""
    curves = {}
    falls: list[Estimate] = []
    certain: list[Estimate] = []
    for case, name in zip(LOT, ("ns-3", "ns-2"), strict=True):
        frame = of_cases(case)
        frame = frame[frame["direction"] == "forward"]
        for (rule, reversed_), group in frame.groupby(["rule", "reverse"]):
            if rule not in NAMES:
                continue
            found = by(group[group["flow_rule"] == rule], "hops", "goodput_bits")
            steps = [difference(found[a], found[b]) for a, b in itertools.pairwise(found)]
            falls += steps
            if case == LOT[1]:
                certain += steps
            label = (
                f"{NAMES[rule]}, {name}, {'with' if int(str(reversed_)) else 'no'} reverse traffic"
            )
            curves[label] = Curve(list(found), [combine((e,), (1e-6,)) for e in found.values()])
    law = by_hops()
    curves["Reno's law"] = Curve(list(law), (), list(law.values()))
    down = tuple(Estimate(law[a] - law[b], 0.0) for a, b in itertools.pairwise(law))
    return Effects(
        {"hops": Statement(tuple(falls), down)},
        curves,
        ("bottlenecks", "throughput of a flow (Mb/s)"),
        values={
            "down": sum(e.value > 0.0 for e in falls),
            "far": {rule: _kept_over_hops(case, rule) for rule, case in
                    (("reno", LOT[1]), ("fusion", LOT[0]))},
            "certain": weakest(certain),
        },
    )  # fmt: skip


def _kept_over_hops(case: str, rule: str) -> Estimate:
    """Return the throughput over all bottlenecks over that over one, without reverse traffic."""
    frame = of_cases(case)
    flows = frame[(frame["direction"] == "forward") & (frame["reverse"] == 0)]
    flows = flows[(flows["rule"] == rule) & (flows["flow_rule"] == rule)]
    near, far = (seeds_of(flows, hops=h) for h in (1, max(HOPS)))
    return of_runs((far / near).to_numpy())
