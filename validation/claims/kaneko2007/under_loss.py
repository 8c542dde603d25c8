"""One flow beside a Reno flow under random loss (K02)."""

from __future__ import annotations

import pandas as pd

from validation.claims.effect_claims import effects
from validation.claims.effect_statements import Curve, Effects, Estimates, Statement
from validation.claims.kaneko2007 import runs
from validation.claims.kaneko2007.beside_reno import HALF, OTHERS, VARIANTS
from validation.claims.kaneko2007.level import levelled
from validation.networks.further_seeds import CASE

LOSSES = "kaneko2007/loss-sweep-with-reno-ns3"
MORE_LOSSES = (
    "kaneko2007/loss-sweep-with-reno-seeds-ns3", "kaneko2007/loss-sweep-with-reno-more-seeds-ns3",
    "kaneko2007/loss-sweep-with-reno-others-ns3",
    "kaneko2007/loss-sweep-with-reno-compound-ns3",
)  # fmt: skip
LOSSES_NS2 = (
    "kaneko2007/loss-sweep-with-reno-ns2", "kaneko2007/loss-sweep-with-reno-more-seeds-ns2"
)  # fmt: skip
SMALL_LOSS_RATES, LARGE_LOSS_RATES = (1e-6, 1e-5), (1e-3, 1e-2)
"""Small and larger loss rates."""
FEW_SEEDS = 32
"""Runs of the model at small loss rates: over 8 it was open whether Fusion's share is fair."""


@effects("K02", cases=(LOSSES, *MORE_LOSSES, *LOSSES_NS2, CASE), equal=runs.FAIR)
def shares_under_loss() -> Effects:
    """Measure the shares of a flow and of Reno beside it by the loss rate, in each simulator."""
    frames = {"ns-2": runs.of_cases(*LOSSES_NS2), "ns-3": runs.of_cases(LOSSES, *MORE_LOSSES)}
    packets, model = frames["ns-3"], runs.modelled(LOSSES)
    own = levelled(LOSSES, "rule in ('fusion', 'reno')")
    derived = {rule: _under_loss(model, rule) for rule in OTHERS}
    few = runs.modelled(LOSSES, f"rule == 'fusion' and loss_rate in {SMALL_LOSS_RATES}", seeds=FEW_SEEDS)
    derived["fusion"] |= {"fair": _fair_at_few(few, "fusion")}
    level = _under_loss(own, "fusion")
    wild = runs.modelled(LOSSES, f"rule == 'fusion' and loss_rate in {SMALL_LOSS_RATES}", overshoot=True)
    seen = {
        rule: {tool: _under_loss(frame, rule) for tool, frame in frames.items() if rule in set(frame["rule"])}
        for rule in VARIANTS
    }

    def judged(rule: str, key: str) -> Statement:
        return Statement(
            {tool: found[key] for tool, found in seen[rule].items()},
            derived[rule][key] if rule in derived else None,
            equal=key != "more",
            level=level[key] if rule == "fusion" else None,
        )

    return Effects(
        {key: judged("fusion", key) for key in level}
        | {
            f"{key} {rule}": judged(rule, key) for rule in VARIANTS[1:] for key in ("fair", "leaves")
        },
        _curves_under_loss(frames, model, own),
        ("random loss p (1)", "share of both flows (1)"),
        "x",
        expected=HALF,
        values={
            "shares": {
                tool: {
                    runs.NAMES[rule]: [runs.share(frame, 1, rule=rule, loss_rate=p) for p in SMALL_LOSS_RATES]
                    for rule in VARIANTS
                    if tool in seen[rule]
                }
                for tool, frame in frames.items()
            },
            "leaves": seen["fusion"]["ns-3"]["leaves"],
            "seen": [runs.share(packets, 1, rule="fusion", loss_rate=p) for p in SMALL_LOSS_RATES],
            "limited": [runs.share(model, 1, rule="fusion", loss_rate=p) for p in SMALL_LOSS_RATES],
            "overshoot": [runs.share(wild, 1, rule="fusion", loss_rate=p) for p in SMALL_LOSS_RATES],
            "three": [runs.share(runs.of_cases(LOSSES), 1, rule="fusion", loss_rate=p) for p in SMALL_LOSS_RATES],
        },
    )  # fmt: skip


shares_under_loss.constants_of(runs)


def _curves_under_loss(frames: dict[str, pd.DataFrame], model: pd.DataFrame, own: pd.DataFrame) -> dict[str, Curve]:
    """Return the share of each rule by the loss rate, in ns-3 with the model and our packets, and in ns-2."""
    rates = sorted(frames["ns-3"]["loss_rate"].unique())
    ours = {
        runs.NAMES[rule]: Curve(
            rates,
            [runs.share(frames["ns-3"], 1, rule=rule, loss_rate=p) for p in rates],
            [runs.share(model, 1, rule=rule, loss_rate=p).value for p in rates],
            [runs.share(own, 1, rule=rule, loss_rate=p) for p in rates if rule == "fusion"],
        )
        for rule in OTHERS
    }
    theirs = {
        f"{runs.NAMES[rule]}, ns-2": Curve(
            rates, [runs.share(frames["ns-2"], 1, rule=rule, loss_rate=p) for p in rates]
        )
        for rule in VARIANTS
        if rule in set(frames["ns-2"]["rule"])
    }
    return ours | theirs


def _under_loss(frame: pd.DataFrame, rule: str) -> dict[str, Estimates]:
    """Return the quantities of the statements on a rule beside Reno under loss."""

    def rate(rule: str, flow: int, p: float) -> pd.Series[float]:
        return runs.seeds_of(frame, rule=rule, flow=flow, loss_rate=p)

    return {
        "fair": _fair_at_few(frame, rule),
        "leaves": tuple(runs.uneven(rate(rule, 2, p), rate("reno", 2, p)) for p in LARGE_LOSS_RATES),
        "more": tuple(runs.uneven(rate(rule, 1, p), rate(rule, 2, p)) for p in LARGE_LOSS_RATES),
    }


def _fair_at_few(frame: pd.DataFrame, rule: str) -> Estimates:
    """Return the difference of the rates of a rule and of Reno beside it over their sum, at each small loss rate."""
    return tuple(
        runs.uneven(*(runs.seeds_of(frame, rule=rule, flow=flow, loss_rate=p) for flow in (1, 2)))
        for p in SMALL_LOSS_RATES
    )
