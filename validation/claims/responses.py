"""The window model against packets: every rule under independent loss, in ns-2 and in ns-3."""

from __future__ import annotations

import itertools
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from hopflow.results import COLOURS, figure
from responsefn import (
    ARENO,
    BIC,
    CTCP,
    CUBIC,
    FAST,
    HSTCP,
    HTCP,
    Fusion,
    Illinois,
    Independent,
    Reno,
    Scalable,
    Vegas,
    Westwood,
    WindowRule,
    simulate_rule,
)
from validation.claims.kaneko2007 import BUFFER, CAPACITY, NS2, NS3, RTT
from validation.evidence import table
from validation.verdicts import Finding, Number, Part, Picture, Verdict, claim

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["ratios"]

BY_LOSS: dict[str, WindowRule] = {
    "reno": Reno(),
    "compound": CTCP(),
    "highspeed": HSTCP(table=1),
    "bic": BIC(b=0.2, largest=16.0),
    "cubic": CUBIC(),
    "htcp": HTCP(),
    "scalable": Scalable(a=0.02),
}
"""Rules that see losses and the time, by their names in the data; BIC and Scalable with the
parameters of Linux's modules, which both simulators use (1/50 packet per ACK, a fifth lost, at most
16 packets per round trip), HSTCP with RFC 3649's table, as they do."""
BY_DELAY: dict[str, WindowRule] = {
    "westwood": Westwood(),
    "vegas": Vegas(),
    "illinois": Illinois(),
    "fusion": Fusion(),
    "areno": ARENO(),
    "fast": FAST(),
}
"""Rules that measure a rate or a queueing delay."""
LOSS_RATES = (1e-4, 3e-4, 1e-3, 3e-3)
FULL = 0.95
"""Above this share of the link model and packets agree because the link is full."""
ENOUGH = 100
"""Loss events over all seeds, without which a loss rate is left out."""
APART = 0.15
TOLERANCE = (
    "15 %: 5 % for what the window model leaves out (Reno in ns-2's Sack1 agent, claim S02) and 10 % "
    "between simulators (Reno, claim S03); ± two standard errors over the seeds"
)


@cache
def _rate(rule: WindowRule, p: float) -> float:
    """Rate of the window model in packets/s: the rule, a drop-tail queue, and nothing else of TCP."""
    return simulate_rule(
        rule,
        p,
        RTT,
        Independent(),
        events=1000,
        bandwidth=CAPACITY,
        buffer=BUFFER,
        method="blocks",
        rng=1,
    ).rate


def ratios() -> pd.DataFrame:
    """Goodput in packets over the model's rate, with twice its standard error, by rule and p."""
    import pandas as pd

    rules = BY_LOSS | BY_DELAY
    rows = []
    for tool, case in (("ns-2", NS2), ("ns-3", NS3[0])):
        flows = table(case)
        for (name, rule), p in itertools.product(rules.items(), LOSS_RATES):
            runs = flows[(flows["rule"] == name) & (flows["loss_rate"] == p)]
            if runs["loss_events"].sum() < ENOUGH:
                continue
            goodput = runs["goodput"].to_numpy()
            model, mean = _rate(rule, p), float(goodput.mean())
            if min(model, mean) > FULL * CAPACITY:
                continue
            error = 2.0 * float(goodput.std(ddof=1)) / len(goodput) ** 0.5
            rows.append(
                {"tool": tool, "rule": name, "p": p, "ratio": mean / model, "error": error / model}
            )
    return pd.DataFrame(rows)


def _agree(found: pd.DataFrame) -> Verdict:
    """Whether every ratio is 1 within the tolerance, or some one certainly is not."""
    off = abs(found["ratio"] - 1.0)
    near = (off + found["error"] < APART).all()
    far = (off - found["error"] > APART).any()
    return Verdict.of(bool(near), bool(far))


@claim("S06")
def window_model_and_packets() -> Finding:
    """Compare the rates of thirteen rules with packet simulations at the same independent loss."""
    found = ratios()
    parts = [
        Part(
            f"{name}, {tool}: packets and window model within 15 % for p = 1e-4 to 3e-3",
            Verdict.NOT_APPLICABLE,
            _agree(points),
        )
        for (name, tool), points in found.groupby(["rule", "tool"], sort=False)
    ]
    numbers = tuple(
        Number(
            f"{row['rule']}, {row['tool']}, p = {row['p']:g}: packets over window model",
            simulation=f"{row['ratio']:.3f} ± {row['error']:.3f}",
            tolerance=TOLERANCE,
        )
        for row in found.to_dict("records")
    )
    median = {
        kind: float(np.median(abs(found[found["rule"].isin(names)]["ratio"] - 1.0)))
        for kind, names in (("loss", BY_LOSS), ("delay", BY_DELAY))
    }
    return Finding(
        parts=tuple(parts),
        summary=(
            "The window model's rates differ from the packets' by a median of "
            f"{median['loss']:.0%} for rules that go by losses and {median['delay']:.0%} for rules "
            "that measure a delay or a rate."
        ),
        explanation=(
            "The model is the rule's own three functions under independent loss with a drop-tail "
            "queue: it repairs a loss at once and for free, and it knows rate and delay exactly. "
            "For rules that go by losses that is nearly all there is. CUBIC is a little below the "
            "model where its Reno-friendly region decides: RFC 9438 lets that window grow by one "
            "packet per round trip once it is above the window of the last loss, the simulators' "
            "modules do not. "
            "H-TCP's module scales its increase by the round-trip time and adapts its decrease, "
            "options that the rule here does not have. Rules that measure see noise where the model "
            "sees none: a queue of a few packets, the filter of a rate, the pause of a recovery. "
            "Illinois, which compares the delay with the largest one seen, is the plainest case. "
            "How much of each difference comes from what is not decided here."
        ),
        numbers=numbers,
        pictures=(
            Picture(
                lambda: _figure(found),
                "Goodput in ns-2 (open) and ns-3 (full) over the rate of the window model; the band "
                "is 15 %.",
                "Ratios against loss rates: rules that go by losses lie near one, rules that measure "
                "a delay or a rate mostly below",
            ),
        ),
        cases=(NS2, NS3[0]),
    )


def _figure(found: pd.DataFrame) -> Figure:
    fig, panels = figure(8.0, 3.8, ncols=2, sharey=True)
    for ax, (title, names) in zip(
        panels,
        (("rules that go by losses", BY_LOSS), ("rules that measure", BY_DELAY)),
        strict=True,
    ):
        for name, colour in zip(names, COLOURS, strict=False):
            for tool, fill in (("ns-2", "none"), ("ns-3", colour)):
                points = found[(found["rule"] == name) & (found["tool"] == tool)]
                if len(points):
                    ax.errorbar(
                        points["p"],
                        points["ratio"],
                        points["error"],
                        fmt="o-" if tool == "ns-2" else "s-",
                        ms=4,
                        lw=0.8,
                        color=colour,
                        markerfacecolor=fill,
                        capsize=2,
                        label=f"{name}, {tool}",
                    )
        ax.axhspan(1.0 - APART, 1.0 + APART, color="0.92", zorder=0)
        ax.set(xscale="log", xlabel="loss rate p", title=title)
        ax.legend(fontsize=6, ncols=2)
    panels[0].set_ylabel("packets over window model")
    return fig
