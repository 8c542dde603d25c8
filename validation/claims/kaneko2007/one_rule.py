"""Flows of one rule: alone, with other round trips (K05, K08, K09)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TypeAlias

import pandas as pd

from responsefn import BIC
from validation.claims.effect_claims import by, effects
from validation.claims.effect_statements import EQUAL, Curve, Effects, Estimates, Statement, beyond
from validation.claims.kaneko2007 import runs
from validation.claims.kaneko2007.level import levelled
from validation.judgements.verdicts import Verdict
from validation.networks.further_seeds import CASE
from validation.statistics import LEVEL, PART, Estimate, combine, difference, of_runs, runs_to_decide

RTTS = {"ns-2": "kaneko2007/rtt-fairness-ns2", "ns-3": "kaneko2007/rtt-fairness-ns3"}
ALL_RTTS = {
    "ns-2": (
        RTTS["ns-2"], "kaneko2007/rtt-fairness-seeds-ns2", "kaneko2007/rtt-fairness-more-seeds-ns2",
    ),
    "ns-3": (RTTS["ns-3"], "kaneko2007/rtt-fairness-more-seeds-ns3"),
}  # fmt: skip
"""Those with further seeds."""
ADDED = ("kaneko2007/added-delay-ns3", "kaneko2007/added-delay-seeds-ns3")
ADDED_NS2 = "kaneko2007/added-delay-ns2"
SERIES = ("kaneko2007/windows-alone-ns3", "kaneko2007/windows-alone-more-seeds-ns3")
"""The cases in ns-3 that have windows over time; the second one has CTCP only."""
ALONE = (SERIES[0], "kaneko2007/windows-alone-seeds-ns3", SERIES[1])
ALONE_NS2 = "kaneko2007/windows-alone-ns2"
LONG_RTTS = (0.06, 0.12)
"""Round-trip times of the second flow that differ from the first's, s."""
RTT_SEEDS = 16
"""Runs of the model of two round trips: over 8 the order of the two least fair rules was open."""
LARGEST_DELAY, LARGEST_LOSS_OF_RATE = 0.16, 0.1
"""The largest delay added, s; the part of its throughput that a rule may lose and keep it."""
LINE_BYTES, LINE_DELAY, LINE_RATE = 375e3, 0.03, 100e6
"""The estimated buffer of the real line, the growth of its round-trip time, s, and its rate, bit/s."""
FAR_SEEDS = 8
"""Runs of either rule at packet level: over 3 of Reno the size of its fall was open."""
BDP = 100e6 * 0.08 / (8 * 1500)
"""Bandwidth-delay product of the window runs, packets."""
FRIENDLY = ("fusion", "areno", "compound")
Shares: TypeAlias = dict[str, dict[float, Estimate]]
"""Shares by rule and round-trip time of the second flow."""


@effects("K05", cases=(*ALL_RTTS["ns-3"], *ALL_RTTS["ns-2"], CASE), equal=runs.FAIR)
def other_round_trips() -> Effects:
    """Measure the share of the flow with the longer round trip, in each simulator."""
    frames = {tool: runs.of_cases(*cases) for tool, cases in ALL_RTTS.items()}
    shares: dict[str, Shares] = {tool: _by_rtt(frame) for tool, frame in frames.items()}
    model, level = _by_model_and_level(shares)
    chosen, linux = f"rule == 'bic' and long_rtt in {LONG_RTTS}", "bic of 2.6.15"
    of_linux = (
        runs.modelled(RTTS["ns-2"], chosen, rules=("bic",), seeds=RTT_SEEDS, version=linux),
        levelled(RTTS["ns-2"], chosen, rules=("bic",), seeds=RTT_SEEDS, version=linux),
    )
    linux_model, linux_level = (
        found | {"bic": {rtt: runs.share(table, 2, rule="bic", long_rtt=rtt) for rtt in LONG_RTTS}}
        for found, table in zip((model, level), of_linux, strict=True)
    )

    wild = runs.modelled(RTTS["ns-3"], f"rule in ('reno', 'fusion') and long_rtt in {LONG_RTTS}", overshoot=True)

    def each(quantities: Callable[[Shares], Estimates]) -> dict[str, Estimates]:
        found = {tool: quantities(seen) for tool, seen in shares.items()}
        return {tool: quantity for tool, quantity in found.items() if quantity}

    def least_fair(found: Shares, rtt: float) -> str:
        return runs.NAMES[min(found, key=lambda rule: found[rule][rtt].value)]

    def statements(model: Shares, level: Shares) -> dict[str, Statement]:
        return {
            "fairest": Statement(
                each(lambda found: _order(found, "cubic", "")), _order(model, "cubic", ""),
                level=_order(level, "cubic", ""),
            ),
            "least": Statement(
                each(lambda found: _order(found, "", "highspeed")), _order(model, "", "highspeed"),
                level=_order(level, "", "highspeed"),
            ),
            "same ratio": Statement(each(_same_ratio), _same_ratio(model), equal=True, level=_same_ratio(level)),
            "as_reno": Statement(each(_as_reno), _as_reno(model), equal=True, level=_as_reno(level)),
        }  # fmt: skip

    first, last = LONG_RTTS
    return Effects(
        statements(linux_model, linux_level),
        {
            f"{runs.NAMES[rule]}, {tool}": Curve(
                [1e3 * rtt for rtt in LONG_RTTS],
                list(found.values()),
                [e.value for e in linux_model[rule].values()] if tool == MODELLED[rule] else (),
                list(linux_level[rule].values()) if tool == MODELLED[rule] else (),
            )
            for tool in ("ns-3", "ns-2")
            for rule, found in shares[tool].items()
        },
        ("round-trip time of the second flow (ms)", "its share (1)"),
        values={
            "seen": [shares["ns-3"]["reno"][first], shares["ns-3"]["fusion"][last]],
            "limited": [model["reno"][first], model["fusion"][last]],
            "overshoot": [
                runs.share(wild, 2, rule=rule, long_rtt=rtt) for rule, rtt in (("reno", first), ("fusion", last))
            ],
            "at": {
                tool: {runs.NAMES[rule]: each[last] for rule, each in found.items()}
                for tool, found in shares.items()
            },
            "model": {runs.NAMES[rule]: each[last] for rule, each in linux_model.items()},
            "ratios": {
                tool: {runs.NAMES[rule]: ratio_of(found[rule][last]) for rule in ("reno", *FRIENDLY) if rule in found}
                for tool, found in {**shares, "model": model}.items()
            },
            "enough": max(runs_to_decide(e, LEVEL) for e in _order(shares["ns-3"], "cubic", "")),
            "seeds": int(shares["ns-3"]["cubic"][last].dof) + 1,
            "least": {rtt: least_fair(shares["ns-2"], rtt) for rtt in LONG_RTTS},
            "linux": [linux_model["bic"][rtt] for rtt in LONG_RTTS],
            "constants": [runs.LINUX_BIC.b, runs.LINUX_BIC.largest, BIC().largest],
            "article": [model["bic"][rtt] for rtt in LONG_RTTS],
            "highspeed": [model["highspeed"][rtt] for rtt in LONG_RTTS],
            "by_level": [found[rule][rtt] for found, rule in ((linux_level, "bic"), (level, "highspeed")) for rtt in LONG_RTTS],
        },
        readings={ARTICLE_BIC: statements(model, level)},
        level_readings=(ARTICLE_BIC,),
    )  # fmt: skip


other_round_trips.constants_of(runs)


ARTICLE_BIC = "BIC as in its article"
"""The reading whose BIC has the constants of its article in the model and at hopflow's packet level. By default they are those of Linux
2.6.15, which the slides name; ns-2 has a module of Linux in any case."""


def _by_model_and_level(shares: dict[str, Shares]) -> tuple[Shares, Shares]:
    """Return the shares of our model and of our packets, for the rules that a simulator has."""
    level: Shares = {}
    model: Shares = {}
    for tool in ("ns-3", "ns-2"):
        for rule in shares[tool]:
            if rule not in model:
                chosen = f"rule == {rule!r} and long_rtt in {LONG_RTTS}"
                own = runs.modelled(RTTS[tool], chosen, rules=tuple(runs.RULES), seeds=RTT_SEEDS)
                packets = levelled(RTTS[tool], chosen, rules=tuple(runs.RULES))
                for into, table in ((model, own), (level, packets)):
                    into[rule] = {rtt: runs.share(table, 2, rule=rule, long_rtt=rtt) for rtt in LONG_RTTS}
    return model, level


def _order(found: Shares, more: str, less: str) -> Estimates:
    """Return by how much one rule has more than each other, or each other more than one, at both round-trip times."""
    if (more or less) not in found:
        return ()
    others = [rule for rule in found if rule not in (more, less)]
    pairs = [(more, rule) if more else (rule, less) for rule in others]
    return tuple(difference(found[a][rtt], found[b][rtt]) for a, b in pairs for rtt in LONG_RTTS)


def ratio_of(share: Estimate) -> Estimate:
    """Return the rate of the flow with the shorter round trip over that of the other, from the share of the other."""
    return Estimate(1.0 / share.value - 1.0, share.error / share.value**2, share.dof)


def _same_ratio(shares: Shares) -> Estimates:
    """Return the difference of each friendly rule's ratio from Reno's over their sum, at both round-trip times."""
    return tuple(
        runs.uneven_means(*(ratio_of(shares[rule][rtt]) for rule in (friendly, "reno")))
        for friendly in FRIENDLY
        if friendly in shares
        for rtt in LONG_RTTS
    )


def _as_reno(found: Shares) -> Estimates:
    """Return by how much the share of each friendly rule's longer flow differs from Reno's, at both round-trip times."""
    return tuple(difference(found[r][rtt], found["reno"][rtt]) for r in FRIENDLY if r in found for rtt in LONG_RTTS)


MODELLED = {
    "reno": "ns-3", "fusion": "ns-3", "areno": "ns-3", "compound": "ns-3", "cubic": "ns-3",
    "highspeed": "ns-2", "bic": "ns-2",
}  # fmt: skip
"""The simulator whose settings the model and hopflow's packet level have, by rule."""


def _by_rtt(frame: pd.DataFrame) -> Shares:
    """Return the share of the second flow by rule and its round-trip time."""
    return {
        rule: {rtt: runs.share(frame, 2, rule=rule, long_rtt=rtt) for rtt in LONG_RTTS}
        for rule in frame["rule"].unique()
        if rule in runs.NAMES and rule != "fast"
    }


@effects("K08", least=LARGEST_LOSS_OF_RATE, cases=(*ADDED, ADDED_NS2, CASE))
def added_delay() -> Effects:
    """Measure the throughput of one flow by the delay added to its path."""
    packets, model = runs.of_cases(*ADDED), runs.modelled(ADDED[0])

    def kept(frame: object, rule: str) -> Estimate:
        """Return the relative fall of the throughput from no delay to the largest."""
        near, far = (runs.seeds_of(frame, rule=rule, added_rtt=d) for d in (0.0, LARGEST_DELAY))  # type: ignore[arg-type]
        return runs.relative(far, near)

    ends = f"rule in ('fusion', 'reno') and added_rtt in {(0.0, LARGEST_DELAY)}"
    levels = levelled(ADDED[0], ends, seeds=FAR_SEEDS)
    own = {rule: kept(levels, rule) for rule in ("fusion", "reno")}
    falls = {rule: kept(packets, rule) for rule in (*FRIENDLY, "reno")}
    derived = {rule: kept(model, rule) for rule in falls}
    ns2 = kept(runs.of_cases(ADDED_NS2), "reno")
    curves = {}
    for rule in falls:
        found = by(packets[packets["rule"] == rule], "added_rtt", "goodput_bits")
        also = by(model[model["rule"] == rule], "added_rtt", "goodput_bits")
        curves[runs.NAMES[rule]] = Curve(
            [1e3 * delay for delay in found],
            [combine((e,), (1e-6,)) for e in found.values()],
            [1e-6 * e.value for e in also.values()],
        )
    for rule in own:
        ran = by(levels[levels["rule"] == rule], "added_rtt", "goodput_bits")
        curves[f"{runs.NAMES[rule]} at hopflow's packet level"] = Curve(
            [1e3 * delay for delay in ran], level=[combine((e,), (1e-6,)) for e in ran.values()]
        )
    return Effects(
        {
            "fusion": Statement(
                {"ns-3": (beyond(falls["fusion"], -LARGEST_LOSS_OF_RATE),)}, (beyond(derived["fusion"], -LARGEST_LOSS_OF_RATE),),
                level=(beyond(own["fusion"], -LARGEST_LOSS_OF_RATE),), least=-LARGEST_LOSS_OF_RATE,
            ),
            "reno": Statement({"ns-2": (beyond(-ns2, LARGEST_LOSS_OF_RATE),), "ns-3": (beyond(-falls["reno"], LARGEST_LOSS_OF_RATE),)},
                              (beyond(-derived["reno"], LARGEST_LOSS_OF_RATE),),
                              level=(beyond(-own["reno"], LARGEST_LOSS_OF_RATE),), least=LARGEST_LOSS_OF_RATE),
            "buffer": Statement(None, Verdict.of(math.isclose(8.0 * LINE_BYTES / LINE_RATE, LINE_DELAY))),
        },
        curves,
        ("added round-trip time (ms)", "throughput (Mb/s)"),
        values={"falls": {runs.NAMES[rule]: e for rule, e in falls.items()}, "ns2": ns2,
                "own": {runs.NAMES[rule]: e for rule, e in own.items()},
                "derived": {runs.NAMES[rule]: e for rule, e in derived.items()}},
    )  # fmt: skip


@effects("K09", cases=(*ALONE, ALONE_NS2, CASE), equal=True)
def windows_alone() -> Effects:
    """Measure the mean windows of one flow."""
    found: dict[str, Estimate] = {}
    model: dict[str, Estimate] = {}
    level: dict[str, Estimate] = {}
    frames = runs.of_cases(*ALONE), runs.modelled(ALONE[0]), levelled(ALONE[0], seeds=4)
    for into, frame in zip((found, model, level), frames, strict=True):
        into.update({rule: _beyond_product(frame, rule) for rule in FRIENDLY})
    inclusive = [
        {"areno": _beyond_product(frame, "areno")}
        for chosen in [{"query": "rule == 'areno'", "version": runs.INCLUSIVE}]
        for frame in (runs.modelled(ALONE[0], **chosen), levelled(ALONE[0], seeds=4, **chosen))
    ]
    in_ns2 = _beyond_product(runs.of_cases(ALONE_NS2), "compound")
    others = by(runs.of_cases(ALONE_NS2), "rule", "mean_cwnd")
    return Effects(
        {
            "below": Statement(_fewer_below()),
            "near": Statement(
                {"ns-2": (in_ns2,), "ns-3": runs.unsettled(_without_areno(found))},
                runs.unsettled(tuple(model.values()), tuple({**model, **inclusive[0]}.values())),
                equal=True,
                level=runs.unsettled(tuple(level.values()), tuple({**level, **inclusive[1]}.values())),
            ),
        },
        {
            "mean window": Curve(
                [runs.NAMES[rule] for rule in found],
                list(found.values()),
                [e.value for e in model.values()],
                list(level.values()),
            )
        },
        ("rule", "mean window over the BDP, less one"),
        expected=(-EQUAL, EQUAL),
        values={
            "found": {runs.NAMES[rule]: e for rule, e in found.items()},
            "ns2": in_ns2, "inclusive": [each["areno"] for each in inclusive],
            "below": {tool: {runs.NAMES[r]: e for r, e in each.items()} for tool, each in _below().items()},
            "buffers": {each: [_above(rule, each) for rule in FRIENDLY] for each in SMALLER},
            "others": {runs.NAMES[str(r)]: float(e.value / BDP - 1) for r, e in others.items() if r in runs.NAMES},
        },
        readings={
            runs.EXCLUSIVE_NAME: {
                "near": Statement(
                    {"ns-2": (in_ns2,), "ns-3": tuple(found.values())}, tuple(model.values()), equal=True,
                    level=tuple(level.values()),
                )
            },
            runs.INCLUSIVE_NAME: {
                "near": Statement(
                    {"ns-2": (in_ns2,)}, tuple({**model, **inclusive[0]}.values()), equal=True,
                    level=tuple({**level, **inclusive[1]}.values()),
                )
            },
        },
        level_readings=(runs.EXCLUSIVE_NAME, runs.INCLUSIVE_NAME),
    )  # fmt: skip


windows_alone.constants_of(runs)


def _beyond_product(frame: pd.DataFrame, rule: str) -> Estimate:
    """Return the mean window of a rule alone over the bandwidth-delay product, less one."""
    windows = runs.seeds_of(frame, "mean_cwnd", rule=rule)
    return of_runs(windows.to_numpy() / BDP - 1.0)


def _without_areno(windows: Mapping[str, Estimate]) -> Estimates:
    """Return the windows of rules whose version is settled."""
    return tuple(window for rule, window in windows.items() if rule != "areno")


WARM_UP = 20.0
"""Seconds of the windows' series that are left out."""
RENO_BELOW = 2.0 / 7.0
"""Part of the time that Reno's saw tooth is below the BDP with a buffer of half of it, without random losses.

The window grows by one packet in each round trip, from 0.75 to 1.5 BDP. A round trip takes the base round-trip time below
the BDP and window / BDP times that above it, as the queue adds its delay. In units of BDP and base round-trip time, the time
below is 1 - 0.75 = 1/4 and the time above is the integral of w from 1 to 1.5, 5/8: the part is (1/4) / (7/8) = 2/7.
Random losses halve the window earlier and lengthen the time below, so this is the minimum of Reno's part.
"""


def _below() -> dict[str, dict[str, Estimate]]:
    """Return the part of the time that the window of a flow alone is below the BDP, by simulator and rule."""
    found = {}
    for tool, cases, rules in (
        ("ns-2", (ALONE_NS2,), ("reno", "compound")), ("ns-3", SERIES, FRIENDLY)
    ):  # fmt: skip
        series = runs.of_cases(*cases, name="series")
        series = series[series["time"] > WARM_UP]
        part = series.assign(low=series["cwnd"] < BDP).groupby(["rule", "seed"])["low"].mean()
        found[tool] = {rule: of_runs(part.xs(rule).to_numpy(), PART) for rule in rules}
    return found


def _fewer_below() -> dict[str, Estimates]:
    """Return how much less of the time a rule is below the BDP than Reno: ns-2's, and a saw tooth in ns-3, which has none."""
    ns2, ns3 = _below().values()
    return {
        "ns-2": (difference(ns2["reno"], ns2["compound"]),),
        "ns-3": tuple(difference(Estimate(RENO_BELOW, 0.0), ns3[rule]) for rule in FRIENDLY),
    }


SMALLER = (0.5, 0.1)
"""Buffers over the BDP: that of the runs, and one with little room above the BDP."""


def _above(rule: str, size: float) -> float:
    """Return by how much the mean window of a rule alone is above the BDP, relative to it."""
    run = runs.alone(runs.RULES[rule], 1e-6, 0.08, round(size * BDP), BDP)
    return float(run.mean_window[0]) / BDP - 1.0
