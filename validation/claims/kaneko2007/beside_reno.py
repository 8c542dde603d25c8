"""One flow beside a Reno flow: shares and windows (K02, K06, K07, K12)."""

from __future__ import annotations

import pandas as pd

from responsefn import ARENO, BIC, CTCP, WindowRule
from validation.claims.effect_claims import (
    EQUAL,
    Curve,
    Effects,
    Estimates,
    Statement,
    beyond,
    effects,
)
from validation.claims.kaneko2007.level import levelled
from validation.claims.kaneko2007.runs import (
    NAMES,
    RULES,
    SEEDS,
    modelled,
    of_cases,
    relative,
    seeds_of,
    share,
)
from validation.statistics import PART, Estimate, difference, of_runs, weakest

LOSSES = "kaneko2007/loss-sweep-with-reno-ns3"
MORE_LOSSES = "kaneko2007/loss-sweep-with-reno-seeds-ns3"
LOSSES_NS2 = "kaneko2007/loss-sweep-with-reno-ns2"
SMALL = ("kaneko2007/small-bdp-ns3", "kaneko2007/small-bdp-ns2")
FAST_LINKS = ("kaneko2007/high-speed-ns3", "kaneko2007/high-speed-1000-ns3")
FAST_LINKS_NS2 = "kaneko2007/high-speed-ns2"
WINDOWS = ("kaneko2007/windows-with-reno-ns3", "kaneko2007/windows-with-reno-ns2")
MORE_WINDOWS = "kaneko2007/windows-with-reno-seeds-ns3"
FEW, MANY = (1e-6, 1e-5), (1e-3, 1e-2)
"""Small and larger loss rates."""
OTHERS = ("fusion", "areno", "compound")


@effects("K02", cases=(LOSSES, MORE_LOSSES, LOSSES_NS2), equal=True)
def shares_under_loss() -> Effects:
    """Measure the shares of a flow and of Reno beside it by the loss rate."""

    def statements(frame: pd.DataFrame, rule: str) -> dict[str, Estimates]:
        def rate(rule: str, flow: int, p: float) -> pd.Series[float]:
            return seeds_of(frame, rule=rule, flow=flow, loss_rate=p)

        return {
            "fair": tuple(relative(rate(rule, 1, p), rate(rule, 2, p)) for p in FEW),
            "leaves": tuple(relative(rate(rule, 2, p), rate("reno", 2, p)) for p in MANY),
            "more": tuple(relative(rate(rule, 1, p), rate(rule, 2, p)) for p in MANY),
        }

    packets, model = of_cases(LOSSES, MORE_LOSSES), modelled(LOSSES)
    own = levelled(LOSSES, "rule in ('fusion', 'reno')")
    fusion, derived, level = (statements(frame, "fusion") for frame in (packets, model, own))
    wild = modelled(LOSSES, f"rule == 'fusion' and loss_rate in {FEW}", overshoot=True)
    rates = sorted(packets["loss_rate"].unique())
    ns2 = statements(of_cases(LOSSES_NS2), "compound")
    return Effects(
        {
            key: Statement(
                fusion[key], derived[key], equal=key in ("fair", "leaves"), level=level[key]
            )
            for key in fusion
        },
        {
            NAMES[rule]: Curve(
                rates,
                [share(packets, 1, rule=rule, loss_rate=p) for p in rates],
                [share(model, 1, rule=rule, loss_rate=p).value for p in rates],
                [share(own, 1, rule=rule, loss_rate=p) for p in rates if rule == "fusion"],
            )
            for rule in OTHERS
        },
        ("random loss p (1)", "share of both flows (1)"),
        "x",
        values={
            "fair": fusion["fair"], "leaves": fusion["leaves"], "ns2": ns2["fair"],
            "areno": statements(packets, "areno")["fair"],
            "seen": [share(packets, 1, rule="fusion", loss_rate=p) for p in FEW],
            "limited": [share(model, 1, rule="fusion", loss_rate=p) for p in FEW],
            "overshoot": [share(wild, 1, rule="fusion", loss_rate=p) for p in FEW],
            "three": [share(of_cases(LOSSES), 1, rule="fusion", loss_rate=p) for p in FEW],
        },
    )  # fmt: skip


def _shares(cases: tuple[str, ...], column: str = "goodput_bits") -> dict[str, Estimate]:
    """Return the share of each rule beside Reno; of ns-3 where both simulators have it."""
    found = {}
    for case in cases:
        frame = of_cases(case)
        for rule in frame["rule"].unique():
            if rule in NAMES and rule != "reno" and rule not in found:
                own, reno = (seeds_of(frame, column, rule=rule, flow=flow) for flow in (1, 2))
                found[str(rule)] = of_runs((own / (own + reno)).to_numpy(), PART)
    return found


def _equal(found: dict[str, Estimate], rules: tuple[str, ...]) -> Estimates:
    """Return the relative deviations of shares from one half."""
    return tuple(
        Estimate(2.0 * found[r].value - 1.0, 2.0 * found[r].error, found[r].dof) for r in rules
    )


@effects("K06", cases=SMALL, equal=True)
def small_buffers() -> Effects:
    """Measure the shares beside Reno on a short path."""
    found = _shares(SMALL)
    model = {rule: share(modelled(SMALL[0]), 1, rule=rule) for rule in OTHERS}
    own = levelled(SMALL[0], f"rule in {SMALL_RULES}", rules=tuple(RULES))
    level = {rule: share(own, 1, rule=rule) for rule in SMALL_RULES}
    rules = tuple(found)
    return Effects(
        {
            "fair": Statement(
                _equal(found, rules), _equal(model, OTHERS), equal=True,
                level=_equal(level, SMALL_RULES),
            )
        },
        {
            "packets": Curve([NAMES[rule] for rule in rules], list(found.values())),
            "Fusion, ARENO and CTCP": Curve(
                [NAMES[r] for r in OTHERS], (), [e.value for e in model.values()]
            ),
            "at hopflow's packet level": Curve([NAMES[r] for r in SMALL_RULES], level=list(level.values())),
        },
        ("rule", "share beside a Reno flow (1)"),
        values={
            "fair": [NAMES[r] for r in rules if abs(2 * found[r].value - 1) < EQUAL],
            "most": NAMES[max(found, key=lambda r: found[r].value)],
            "share": max(found.values(), key=lambda e: e.value), "rules": len(rules),
            "found": found, "level": level,
            "changed": {
                name: share(levelled(SMALL[0], f"rule == {name!r}", rules=tuple(RULES),
                                     changed=((name, rule),)), 1)
                for name, rule in LIKE_RENO.items()
            },
        },
    )  # fmt: skip


SMALL_RULES = ("fusion", "areno", "compound", "highspeed", "bic", "cubic")
LIKE_RENO: dict[str, WindowRule] = {
    "bic": BIC(low_window=1e6), "areno": ARENO(inclusive=1), "compound": CTCP(gamma=1.0),
}  # fmt: skip
"""The rules without what they have beyond Reno: BIC's search, the packet per round trip by which ARENO's probe grows, and CTCP's window
by the delay, which gives way as soon as a packet of its own waits."""


@effects("K12", cases=(*WINDOWS, MORE_WINDOWS), equal=True)
def windows_beside_reno() -> Effects:
    """Measure the mean windows of Fusion, ARENO and CTCP, and of Reno beside them."""
    seen = of_cases(WINDOWS[0], MORE_WINDOWS)
    found = {rule: share(seen, 1, "mean_cwnd", rule=rule) for rule in OTHERS}
    own = levelled(WINDOWS[0])
    level = {rule: share(own, 1, "mean_cwnd", rule=rule) for rule in OTHERS}
    model = {}
    frame = modelled(WINDOWS[0])
    for rule in OTHERS:
        model[rule] = share(frame, 1, "mean_cwnd", rule=rule)
    wild = modelled(WINDOWS[0], overshoot=True)
    return Effects(
        {
            "share": Statement(
                _equal(found, OTHERS), _equal(model, OTHERS), equal=True, level=_equal(level, OTHERS)
            )
        },
        {
            "windows": Curve(
                [NAMES[rule] for rule in OTHERS],
                [found[rule] for rule in OTHERS],
                [model[rule].value for rule in OTHERS],
                [level[rule] for rule in OTHERS],
            )
        },
        ("rule", "share of both windows (1)"),
        values={NAMES[rule].lower(): found[rule] for rule in OTHERS}
        | {"limited": list(model.values()),
           "overshoot": [share(wild, 1, "mean_cwnd", rule=rule) for rule in OTHERS],
           "seen": list(found.values()),
           "three": [_shares(WINDOWS[:1], "mean_cwnd")[rule] for rule in OTHERS]},
    )  # fmt: skip


@effects("K07", cases=(*FAST_LINKS, FAST_LINKS_NS2), equal=True)
def fast_links() -> Effects:
    """Measure the utilisation by a flow and a Reno flow on fast links."""

    def used(frame: pd.DataFrame, rule: str, rate: float) -> pd.Series[float]:
        return seeds_of(frame, rule=rule, link_rate=rate) / rate

    packets = of_cases(*FAST_LINKS)
    model = pd.concat([modelled(case) for case in FAST_LINKS])
    reno = of_cases(FAST_LINKS_NS2)
    rates = [float(rate) for rate in sorted(packets["link_rate"].unique())]

    def highest(frame: pd.DataFrame) -> Estimates:
        known = [rate for rate in rates if (frame["link_rate"] == rate).any()]
        pairs = [(used(frame, "fusion", r), used(frame, o, r)) for r in known for o in OTHERS[1:]]
        return tuple(beyond(relative(a, b), -TIE) for a, b in pairs)

    kept = tuple(
        difference(
            relative(
                seeds_of(packets, rule="fusion", flow=2, link_rate=r),
                0.0 * seeds_of(packets, rule="fusion", flow=2, link_rate=r)
                + float(seeds_of(reno, rule="reno", flow=2, link_rate=r).mean()),
            ),
            Estimate(0.0, 0.0),
        )
        for r in rates[:2]
    )
    more = levelled(FAST_LINKS[0], "rule == 'fusion'", seeds=3)
    level = pd.concat([more, levelled(FAST_LINKS[0], "rule in ('areno', 'compound')", seeds=3)])
    beside = levelled(FAST_LINKS_NS2, "rule == 'reno' and link_rate < 1e9", seeds=3)
    friendly = tuple(
        relative(*(seeds_of(f, rule=rule, flow=2, link_rate=r)
                   for f, rule in ((more, "fusion"), (beside, "reno"))))
        for r in rates[:2]
    )  # fmt: skip
    alone = modelled(FAST_LINKS_NS2, "rule == 'reno' and link_rate < 1e9")
    own = tuple(
        relative(*(seeds_of(f, rule=rule, flow=2, link_rate=r)
                   for f, rule in ((model, "fusion"), (alone, "reno"))))
        for r in rates[:2]
    )  # fmt: skip
    curves = {
        NAMES[rule]: Curve(
            [rate / 1e6 for rate in rates],
            [of_runs(used(packets, rule, rate).to_numpy(), PART) for rate in rates],
            [float(used(model, rule, rate).mean()) for rate in rates],
        )
        for rule in OTHERS
    }
    return Effects(
        {"highest": Statement(highest(packets), highest(model), level=highest(level)),
         "friendly": Statement(kept, own, equal=True, level=friendly)},
        curves,
        ("link (Mb/s)", "utilisation by both flows (1)"),
        "x",
        values={"ends": {name: curve.packets[-1] for name, curve in curves.items()}, "kept": kept,
                "own": friendly, "reno": own,
                "seeds": [weakest(highest(model[model["seed"] < n])) for n in (3, SEEDS)]},
    )  # fmt: skip


TIE = 0.01
"""Relative difference of utilisations below which neither counts as higher."""
