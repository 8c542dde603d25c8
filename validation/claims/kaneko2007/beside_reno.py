"""One flow beside a Reno flow: shares and windows (K06, K07, K12); K02 is in `under_loss`."""

from __future__ import annotations

import pandas as pd

from validation.claims.effect_claims import effects
from validation.claims.effect_statements import Curve, Effects, Estimates, Statement, beyond
from validation.claims.kaneko2007 import runs
from validation.claims.kaneko2007.level import levelled
from validation.judgements.verdicts import Verdict
from validation.networks.further_seeds import CASE
from validation.statistics import LEVEL, PART, Estimate, of_runs, runs_to_decide, weakest

SMALL_BDP = {
    "ns-2": ("kaneko2007/small-bdp-ns2", "kaneko2007/small-bdp-seeds-ns2"),
    "ns-3": (
        "kaneko2007/small-bdp-ns3",
        "kaneko2007/small-bdp-more-seeds-ns3",
        "kaneko2007/small-bdp-seeds-ns3",
    ),
}
SMALLER_BDP = {
    "ns-2": "kaneko2007/small-bdp-buffers-ns2", "ns-3": "kaneko2007/small-bdp-buffers-ns3"
}  # fmt: skip
SMALLER_SIZES = {0.5: "a buffer of half the BDP", 0.25: "a buffer of a quarter of the BDP"}
"""Readings of the short path: its buffer over the bandwidth-delay product, which alone the slide states."""
FAST_LINKS = ("kaneko2007/high-speed-ns3", "kaneko2007/high-speed-1000-ns3")
RENO_LINKS = "kaneko2007/high-speed-reno-ns3"
"""Reno beside Reno, and further seeds of Fusion."""
FAST_LINKS_NS2 = "kaneko2007/high-speed-ns2"
WINDOWS = {
    "ns-2": "kaneko2007/windows-with-reno-ns2", "ns-3": "kaneko2007/windows-with-reno-ns3"
}  # fmt: skip
MORE_WINDOWS = {
    "ns-2": ("kaneko2007/windows-with-reno-more-seeds-ns2",),
    "ns-3": (
        "kaneko2007/windows-with-reno-seeds-ns3",
        "kaneko2007/windows-with-reno-more-seeds-ns3",
        "kaneko2007/windows-with-reno-compound-ns3",
    ),
}
OTHERS = ("fusion", "areno", "compound")
MODEL_SEEDS = 32
"""Runs of the model of Fusion beside Reno and of Reno beside Reno: over 8 their difference was open, and 28 decide it."""
TIE = 0.01
"""Relative difference of utilisations below which neither counts as higher."""
VARIANTS = (*OTHERS, "highspeed", "bic", "cubic")
"""The rules of the slides but Reno."""
HALF = (0.5 * (1.0 - runs.FAIR), 0.5 * (1.0 + runs.FAIR))
"""Shares that are equal within the margin."""


def _shares(tools: dict[str, tuple[str, ...]], column: str = "goodput_bits") -> dict[str, dict[str, Estimate]]:
    """Return the share of each rule beside Reno, by rule and simulator."""
    each_rule = runs.apart(*((tool, runs.of_cases(*cases)) for tool, cases in tools.items()))
    return {
        rule: {tool: runs.share(frame, 1, column) for tool, frame in by_tool.items()}
        for rule, by_tool in each_rule.items()
        if rule in VARIANTS
    }


def _deviation(found: Estimate) -> Estimates:
    """Return the difference of two rates over their sum from the share of one: 0 of one half."""
    return (Estimate(2.0 * found.value - 1.0, 2.0 * found.error, found.dof),)


def _enough(share: Estimate) -> int:
    """Return how many runs would show on which side of the margin of fair shares a share lies."""
    (apart,) = _deviation(share)
    return runs_to_decide(beyond(abs(apart), runs.FAIR), LEVEL)


INCLUSIVE_SEEDS = 12
"""Runs of a setting at hopflow's packet level with `runs.INCLUSIVE`."""


def _inclusive(
    case: str, found: dict[str, dict[str, Estimate]], column: str = "goodput_bits"
) -> tuple[dict[str, dict[str, Estimate]], Estimate, Estimate]:
    """Return the shares of the simulators, which have no ARENO of `runs.INCLUSIVE`, and its share in the model and at hopflow's packet level."""
    model = runs.modelled(case, "rule == 'areno'", version=runs.INCLUSIVE)
    level = levelled(case, "rule == 'areno'", seeds=INCLUSIVE_SEEDS, version=runs.INCLUSIVE)
    own, packets = (runs.share(frame, 1, column) for frame in (model, level))
    return {**found, "areno": {}}, own, packets


def _fair(
    rule: str,
    packets: dict[str, dict[str, Estimate]],
    model: dict[str, Estimate],
    level: dict[str, Estimate],
) -> Statement:
    """Return the statement that a rule shares fairly with Reno, of each simulator that has it."""
    return Statement(
        {tool: _deviation(found) for tool, found in packets[rule].items()},
        _deviation(model[rule]) if rule in model else None,
        equal=True,
        level=_deviation(level[rule]) if rule in level else None,
    )


def _areno(
    packets: dict[str, dict[str, Estimate]],
    model: dict[str, Estimate],
    level: dict[str, Estimate],
    inclusive: list[Estimate],
) -> Statement:
    """Return the statement that ARENO shares fairly with Reno, by what both versions of its rule say.

    The simulators have the exclusive one only and decide nothing. ``inclusive`` has the share by the other one in the model
    and, where it ran, at hopflow's packet level.
    """
    both = [
        runs.unsettled(_deviation(each["areno"]), _deviation(other))
        for each, other in zip((model, level), inclusive, strict=False)
    ]
    apart = dict.fromkeys(packets["areno"], Verdict.INCONCLUSIVE)
    return Statement(apart, both[0], equal=True, level=both[1] if len(both) > 1 else None)


@effects(
    "K06",
    cases=(*SMALL_BDP["ns-2"], *SMALL_BDP["ns-3"], *SMALLER_BDP.values(), CASE),
    equal=runs.FAIR,
)
def small_buffers() -> Effects:
    """Measure the shares beside Reno on a short path, in each simulator."""
    found = _shares(SMALL_BDP)
    case = SMALL_BDP["ns-3"][0]
    model = {rule: runs.share(runs.modelled(case), 1, rule=rule) for rule in OTHERS}
    own = levelled(case, f"rule in {VARIANTS}", rules=tuple(runs.RULES))
    level = {rule: runs.share(own, 1, rule=rule) for rule in VARIANTS}
    others, *areno = _inclusive(case, found)
    names = {tool: [rule for rule in VARIANTS if tool in found[rule]] for tool in SMALL_BDP}
    return Effects(
        {rule: _fair(rule, found, model, level) for rule in VARIANTS} | {"areno": _areno(found, model, level, areno)},
        {
            tool: Curve([runs.NAMES[rule] for rule in rules], [found[rule][tool] for rule in rules])
            for tool, rules in names.items()
        }
        | {
            "Fusion, ARENO and CTCP": Curve(
                [runs.NAMES[r] for r in OTHERS], (), [e.value for e in model.values()]
            ),
            "at hopflow's packet level": Curve([runs.NAMES[r] for r in VARIANTS], level=list(level.values())),
        },
        ("rule", "share beside a Reno flow (1)"),
        expected=HALF,
        values={
            "shares": {
                tool: {runs.NAMES[rule]: found[rule][tool] for rule in rules}
                for tool, rules in names.items()
            },
            "leaves_reno": HSTCP_LEAVES_RENO,
            "peak": [round(PRODUCT * (1 + size) / 2) for size in (1, *SMALLER_SIZES)][:2],
            "found": found, "level": level, "smaller": {size: _with_buffer(size) for size in SMALLER_SIZES},
            "inclusive": areno, "exclusive": [model["areno"], level["areno"]],
            "changed": {
                name: runs.share(levelled(case, f"rule == {name!r}", rules=tuple(runs.RULES),
                                     version=f"{name} like Reno"), 1)
                for name in ("bic", "compound")
            }
            | {"areno": areno[1]},
        },
        readings={name: _statements_with_buffer(size) for size, name in SMALLER_SIZES.items()}
        | _in_versions(VARIANTS, found, (others, areno), model, level),
        level_readings=(runs.EXCLUSIVE_NAME, runs.INCLUSIVE_NAME),
    )  # fmt: skip


small_buffers.constants_of(runs)


def _in_versions(
    rules: tuple[str, ...],
    packets: dict[str, dict[str, Estimate]],
    inclusive: tuple[dict[str, dict[str, Estimate]], list[Estimate]],
    model: dict[str, Estimate],
    level: dict[str, Estimate],
) -> dict[str, dict[str, Statement]]:
    """Return the statements with each version of ARENO's rule, by the reading; ``inclusive`` is what `_inclusive` returns."""
    others, areno = inclusive
    return {
        runs.EXCLUSIVE_NAME: {rule: _fair(rule, packets, model, level) for rule in rules},
        runs.INCLUSIVE_NAME: _with_areno(rules, others, model, level, areno),
    }


def _statements_with_buffer(size: float) -> dict[str, Statement]:
    """Return the statements on the short path with a smaller buffer."""
    packets, model = _with_buffer(size), _modelled_with_buffer(size)
    chosen = f"buffer_bdp == {size} and rule == 'areno'"
    inclusive = runs.share(runs.modelled(SMALLER_BDP["ns-3"], chosen, version=runs.INCLUSIVE), 1)
    fair = {rule: _fair(rule, packets, model, {}) for rule in VARIANTS}
    return fair | {"areno": _areno(packets, model, {}, [inclusive])}


def _with_areno(
    rules: tuple[str, ...],
    packets: dict[str, dict[str, Estimate]],
    model: dict[str, Estimate],
    level: dict[str, Estimate],
    areno: list[Estimate],
) -> dict[str, Statement]:
    """Return the statements with the shares that another ARENO has in the model and at hopflow's packet level."""
    own, seen = ({**each, "areno": share} for each, share in zip((model, level), areno, strict=True))
    return {rule: _fair(rule, packets, own, seen) for rule in rules}


def _with_buffer(size: float) -> dict[str, dict[str, Estimate]]:
    """Return the share of each rule beside Reno on the short path with a smaller buffer, by rule and simulator."""
    frames = {tool: runs.of_cases(case) for tool, case in SMALLER_BDP.items()}
    each_rule = runs.apart(*((tool, frame[frame["buffer_bdp"] == size]) for tool, frame in frames.items()))
    return {
        rule: {tool: runs.share(frame, 1) for tool, frame in by_tool.items()} for rule, by_tool in each_rule.items()
    }


def _modelled_with_buffer(size: float) -> dict[str, Estimate]:
    """Return the same of the model, for the rules that it has in ns-3."""
    frame = runs.modelled(SMALLER_BDP["ns-3"], f"buffer_bdp == {size}")
    return {rule: runs.share(frame, 1, rule=rule) for rule in OTHERS}


PRODUCT, HSTCP_LEAVES_RENO = 50, 38
"""The bandwidth-delay product of the short path, and RFC 3649's Low_Window, from which HSTCP grows faster than Reno; packets."""


@effects(
    "K12",
    cases=(*WINDOWS.values(), *MORE_WINDOWS["ns-2"], *MORE_WINDOWS["ns-3"], CASE),
    equal=runs.FAIR,
)
def windows_beside_reno() -> Effects:
    """Measure the mean windows of Fusion, ARENO and CTCP, and of Reno beside them, in each simulator."""
    window = "mean_cwnd"
    found = _shares({tool: (case, *MORE_WINDOWS[tool]) for tool, case in WINDOWS.items()}, window)
    case = WINDOWS["ns-3"]
    own, frame, wild = levelled(case), runs.modelled(case), runs.modelled(case, overshoot=True)
    level = {rule: runs.share(own, 1, window, rule=rule) for rule in OTHERS}
    model = {rule: runs.share(frame, 1, window, rule=rule) for rule in OTHERS}
    few = _shares({"ns-3": (case,)}, window)
    others, *areno = _inclusive(case, found, window)
    return Effects(
        {rule: _fair(rule, found, model, level) for rule in OTHERS} | {"areno": _areno(found, model, level, areno)},
        {
            "windows, ns-3": Curve(
                [runs.NAMES[rule] for rule in OTHERS],
                [found[rule]["ns-3"] for rule in OTHERS],
                [model[rule].value for rule in OTHERS],
                [level[rule] for rule in OTHERS],
            ),
            "windows, ns-2": Curve([runs.NAMES["compound"]], [found["compound"]["ns-2"]]),
        },
        ("rule", "share of both windows (1)"),
        expected=HALF,
        values={runs.NAMES[rule].lower(): found[rule]["ns-3"] for rule in OTHERS}
        | {"limited": list(model.values()), "ns2": found["compound"]["ns-2"],
           "overshoot": [runs.share(wild, 1, window, rule=rule) for rule in OTHERS],
           "seen": [found[rule]["ns-3"] for rule in OTHERS],
           "three": [few[rule]["ns-3"] for rule in OTHERS],
           "inclusive": areno, "exclusive": [model["areno"], level["areno"]],
           "seeds": int(found["fusion"]["ns-3"].dof) + 1, "runs": [int(found[r]["ns-3"].dof) + 1 for r in OTHERS],
           "enough": [_enough(each) for each in (found["fusion"]["ns-3"], level["fusion"], level["compound"])]},
        readings=_in_versions(OTHERS, found, (others, areno), model, level),
        level_readings=(runs.EXCLUSIVE_NAME, runs.INCLUSIVE_NAME),
    )  # fmt: skip


windows_beside_reno.constants_of(runs)


FAST = "fast"
"""The rule of the slide that ns-3 alone has."""


@effects("K07", cases=(*FAST_LINKS, RENO_LINKS, FAST_LINKS_NS2, CASE), equal=runs.FAIR, least=TIE)
def fast_links() -> Effects:
    """Measure the utilisation by a flow and a Reno flow on fast links."""

    def used(frame: pd.DataFrame, rule: str, rate: float) -> pd.Series[float]:
        return runs.seeds_of(frame, rule=rule, link_rate=rate) / rate

    packets = runs.of_cases(*FAST_LINKS, RENO_LINKS)
    model = pd.concat([runs.modelled(case) for case in FAST_LINKS])
    rates = [float(rate) for rate in sorted(packets["link_rate"].unique())]

    def highest(frame: pd.DataFrame, others: tuple[str, ...] = OTHERS[1:]) -> Estimates:
        known = [rate for rate in rates if (frame["link_rate"] == rate).any()]
        pairs = [(used(frame, "fusion", r), used(frame, o, r)) for r in known for o in others]
        return tuple(beyond(runs.relative(a, b), -TIE) for a, b in pairs)

    more = levelled(FAST_LINKS[0], "rule == 'fusion'", seeds=3)
    level = pd.concat([more, levelled(FAST_LINKS[0], "rule in ('areno', 'compound')", seeds=3)])
    beside = levelled(FAST_LINKS_NS2, "rule == 'reno' and link_rate < 1e9", seeds=3)
    seen = tuple(
        runs.uneven(*(runs.seeds_of(packets, rule=rule, flow=2, link_rate=r) for rule in ("fusion", "reno")))
        for r in rates[:2]
    )
    friendly = tuple(
        runs.uneven(*(runs.seeds_of(f, rule=rule, flow=2, link_rate=r)
                   for f, rule in ((more, "fusion"), (beside, "reno"))))
        for r in rates[:2]
    )  # fmt: skip
    both = runs.modelled(FAST_LINKS[0], "rule == 'fusion'", seeds=MODEL_SEEDS)
    alone = runs.modelled(FAST_LINKS_NS2, "rule == 'reno' and link_rate < 1e9", seeds=MODEL_SEEDS)
    own = tuple(
        runs.uneven(*(runs.seeds_of(f, rule=rule, flow=2, link_rate=r)
                   for f, rule in ((both, "fusion"), (alone, "reno"))))
        for r in rates[:2]
    )  # fmt: skip
    curves = {
        runs.NAMES[rule]: Curve(
            [rate / 1e6 for rate in rates],
            [of_runs(used(packets, rule, rate).to_numpy(), PART) for rate in rates],
            [float(used(model, rule, rate).mean()) for rate in rates],
        )
        for rule in OTHERS
    }
    curves[runs.NAMES[FAST]] = Curve(
        [rate / 1e6 for rate in rates],
        [of_runs(used(packets, FAST, rate).to_numpy(), PART) for rate in rates],
    )
    return Effects(
        {"highest": Statement({"ns-3": highest(packets, (*OTHERS[1:], FAST))}, highest(model), level=highest(level), least=-TIE),
         "friendly": Statement({"ns-3": seen}, own, equal=True, level=friendly)},
        curves,
        ("link (Mb/s)", "utilisation by both flows (1)"),
        "x",
        values={"ends": {name: curve.packets[-1] for name, curve in curves.items()},
                "own": friendly, "reno": own, "seen": seen, "slower": [rate / 1e6 for rate in rates[:2]],
                "enough": {
                    "order": max(runs_to_decide(e, LEVEL) for e in highest(packets, (*OTHERS[1:], FAST))),
                    "friendly": max(runs_to_decide(beyond(-abs(e), -runs.FAIR), LEVEL) for e in seen),
                },
                "seeds": [weakest(highest(model[model["seed"] < n])) for n in (3, runs.SEEDS)]},
    )  # fmt: skip


fast_links.constants_of(runs)
