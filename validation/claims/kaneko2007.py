"""kaneko2007's TCP-Fusion: alone under random loss (K01), and the decrease it takes from Westwood (K11)."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from hopflow.results import COLOURS, figure
from hopflow.units import mbps
from responsefn import (
    ARENO,
    BIC,
    CTCP,
    CUBIC,
    HSTCP,
    Fusion,
    Independent,
    Reno,
    WindowRule,
    simulate_rule,
)
from validation import evidence
from validation.verdicts import Finding, Number, Part, Picture, Verdict, claim

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["decrease_at", "share_ratio", "sweep"]

NS2 = "kaneko2007/loss-sweep-ns2"
NS3 = ("kaneko2007/loss-sweep-ns3", "kaneko2007/loss-sweep-rare-ns3")
CAPACITY, RTT, BUFFER = mbps(100.0), 0.04, 333.0
NAMES: dict[str, WindowRule] = {
    "fusion": Fusion(),
    "areno": ARENO(),
    "compound": CTCP(),
    "highspeed": HSTCP(),
    "bic": BIC(),
    "cubic": CUBIC(),
    "reno": Reno(),
}
"""The rules of the slide, by their names in the data."""
LOSS_RATES = (1e-6, 1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
"""Up to 0.01: the window model has no timeouts."""
SAME = 0.005
"""Rates within this part of each other are equal: a full link is full for every rule."""
BUFFERS = "kaneko2007/buffers-ns2"
EQUAL = 0.05
TOLERANCE = "0.5 %: a full link is full for all; beyond it 95 % intervals decide"


@cache
def sweep() -> dict[str, tuple[tuple[float, float], ...]]:
    """Return the model's rates and half-widths in packets/s by rule, one per `LOSS_RATES`."""
    return {
        name: tuple(
            (run.rate, run.half_width)
            for run in (
                simulate_rule(
                    rule,
                    p,
                    RTT,
                    Independent(),
                    events=150 if p < 1e-4 else 1000,
                    bandwidth=CAPACITY,
                    buffer=BUFFER,
                    method="blocks",
                    rng=1,
                )
                for p in LOSS_RATES
            )
        )
        for name, rule in NAMES.items()
    }


def _packets(*names: str) -> dict[float, dict[str, tuple[float, float]]]:
    """Return goodput over the seeds by loss rate and rule: mean, 95 % half-width, in packets/s."""
    import pandas as pd
    from scipy.stats import t as student

    found: dict[float, dict[str, tuple[float, float]]] = {}
    frame = pd.concat([evidence.table(name) for name in names])
    for p in sorted({float(value) for value in frame["loss_rate"]}):
        rows = frame[frame["loss_rate"] == p]
        found[p] = {}
        for name in NAMES:
            rates = rows.loc[rows["rule"] == name, "goodput"].to_numpy()
            if len(rates) > 1:
                quantile = float(student.ppf(0.975, len(rates) - 1))
                half = quantile * float(np.std(rates, ddof=1)) / len(rates) ** 0.5
                found[p][name] = float(np.mean(rates)), half
    return found


def _first(rates: dict[str, tuple[float, float]]) -> Verdict:
    """Decide whether Fusion's rate is the largest, or equal to the largest on a full link."""
    own, own_half = rates["fusion"]
    others = [value for name, value in rates.items() if name != "fusion"]
    slack = SAME * own
    ahead = all(own + slack >= rate + half - own_half for rate, half in others)
    behind = any(own + own_half + slack < rate - half for rate, half in others)
    return Verdict.of(ahead and not behind, behind)


@claim("K01")
def random_loss() -> Finding:
    """Check that Fusion is the most efficient alone under random loss."""
    model, ns2, ns3 = sweep(), _packets(NS2), _packets(*NS3)
    at = {p: {name: model[name][n] for name in NAMES} for n, p in enumerate(LOSS_RATES)}
    packets = ns3
    parts = [
        Part(
            "p = 1e-6 to 0.01: no rule of the slide has more than Fusion",
            Verdict.all_of(_first(rates) for rates in at.values()),
            Verdict.all_of(_first(rates) for p, rates in packets.items() if p <= 0.01),
        ),
        Part(
            "p = 0.1: no rule of the slide has more than Fusion",
            Verdict.NOT_APPLICABLE,
            Verdict.all_of(_first(rates) for p, rates in packets.items() if p > 0.01),
        ),
    ]
    numbers = []
    for p in LOSS_RATES:
        for name in NAMES:
            rate, half = at[p][name]
            seen = []
            for tool, table in (("ns-2", ns2), ("ns-3", ns3)):
                if name in table.get(p, {}):
                    mean, spread = table[p][name]
                    seen.append(f"{tool} {mean / CAPACITY:.3f} ± {spread / CAPACITY:.3f}")
            numbers.append(
                Number(
                    f"{name}, p = {p:g}: share of the link",
                    f"{rate / CAPACITY:.3f} ± {half / CAPACITY:.3f}",
                    ", ".join(seen),
                    tolerance=TOLERANCE,
                )
            )
    last = packets[max(packets)]
    numbers += [
        Number(
            f"{name}, p = {max(packets):g}: share of the link",
            simulation=f"ns-3 {mean / CAPACITY:.4f} ± {half / CAPACITY:.4f}",
            tolerance=TOLERANCE,
        )
        for name, (mean, half) in last.items()
    ]
    best = max(last, key=lambda name: last[name][0])
    third = packets[1e-3]
    runner = max((name for name in third if name != "fusion"), key=lambda name: third[name][0])
    return Finding(
        parts=tuple(parts),
        summary=(
            "Up to p = 0.01 no rule of the slide has more of the link than Fusion, in the window "
            f"model and in ns-3: at p = 1e-3 ns-3's Fusion holds {third['fusion'][0] / CAPACITY:.2f} "
            f"of it, {runner}, the next, {third[runner][0] / CAPACITY:.2f}. At p = 0.1 the first is "
            f"{best} with {last[best][0] / CAPACITY:.4f} against Fusion's "
            f"{last['fusion'][0] / CAPACITY:.4f}."
        ),
        explanation=(
            "The window model has the rules themselves under independent loss with the queue of a "
            "drop-tail buffer of one BDP, and nothing else of TCP: no timeouts, no recovery, and ACKs "
            "that tell the round-trip time exactly. That is enough for the loss-based rules (see the "
            "numbers) but flatters those that do not reduce their window while the queue is empty, "
            "Fusion and ARENO: in ns-3 recovery and timeouts cost them more than half at 0.01, where "
            "the model has a full link. ns-2 has neither of the two; its modules show the other rules "
            "of the slide. At p = 0.1 most time goes into timeouts, after which ARENO's window comes "
            "back faster than Fusion's; the slide's ordinate cannot be read there."
        ),
        numbers=tuple(numbers),
        pictures=(
            Picture(
                lambda: _sweep_figure(model, ns2, ns3),
                "One flow over 100 Mb/s, 40 ms, a buffer of one BDP, under random loss. Lines: the "
                "rules under independent loss without timeouts; open symbols: ns-2, full: ns-3.",
                "Shares of the link over loss rates from 1e-6 to 0.1. All are 1 at the left; Reno and "
                "CUBIC fall first, from 1e-5 on, then CTCP and HSTCP, BIC; Fusion stays at 1 to 0.01 in "
                "the model and to 1e-3 in ns-3, where it falls to a fifth at 0.01.",
            ),
        ),
        cases=(NS2, *NS3),
    )


def _sweep_figure(
    model: dict[str, tuple[tuple[float, float], ...]],
    ns2: dict[float, dict[str, tuple[float, float]]],
    ns3: dict[float, dict[str, tuple[float, float]]],
) -> Figure:
    new, axes = figure(6.4, 4.2)
    for name, colour in zip(NAMES, COLOURS, strict=True):
        shares = [rate / CAPACITY for rate, _ in model[name]]
        axes.loglog(LOSS_RATES, shares, color=colour, label=name)
        for table, filled in ((ns2, "none"), (ns3, colour)):
            seen = [(p, *rates[name]) for p, rates in table.items() if name in rates]
            if not seen:
                continue
            p, mean, half = np.array(seen).T
            axes.errorbar(
                p,
                mean / CAPACITY,
                yerr=half / CAPACITY,
                fmt="o",
                color=colour,
                markerfacecolor=filled,
                markersize=4,
                capsize=2,
                linestyle="none",
            )
    axes.set_xlabel("packet loss rate (1)")
    axes.set_ylabel("share of the link (1)")
    axes.legend(fontsize=8)
    return new


def decrease_at(buffer_over_bdp: float) -> float:
    """Return the part b of the window that RTT_min/RTT gives up when the buffer is full."""
    return buffer_over_bdp / (1 + buffer_over_bdp)


def share_ratio(buffer_over_bdp: float) -> float:
    """Return the mean window of such a flow over Reno's when both see every loss together.

    Between two losses both grow by the same g packets; a flow that gives up b of its peak W has
    b W = g and the mean (2 - b) W/2, hence the ratio (2 - b)/(3 b) to Reno's b = 1/2.
    """
    b = decrease_at(buffer_over_bdp)
    return (2 - b) / (3 * b)


def _only_at_one() -> bool:
    """Return whether SymPy finds the ratio equal to 1 at buffer = BDP and only there."""
    import sympy as sp

    x = sp.Symbol("x", positive=True)
    b = x / (1 + x)
    roots = sp.solve(sp.Eq((2 - b) / (3 * b), 1), x)
    slope = sp.simplify(sp.diff((2 - b) / (3 * b), x))
    return bool(roots == [1] and slope.is_negative)


@claim("K11")
def westwood_decrease() -> Finding:
    """Check that the decrease RTT_min/RTT shares fairly with Reno only if the buffer is the BDP."""
    ratios = {x: share_ratio(x) for x in (0.25, 0.5, 1.0, 2.0, 4.0)}
    measured = _westwood_over_reno()
    equal = {x: abs(ratio - 1.0) < EQUAL for x, ratio in measured.items()}
    only_at_one = all(equal[x] == (x == 1.0) for x in measured)
    return Finding(
        parts=(
            Part(
                "beside Reno, with every loss seen by both, the share is equal if and only if the "
                "buffer is the bandwidth-delay product",
                Verdict.of(_only_at_one()),
                Verdict.of(only_at_one),
            ),
        ),
        summary=(
            "With x the buffer over the BDP the decrease is b = x/(1+x); synchronized losses give "
            "the ratio (2-b)/(3b) = (2+x)/(3x) to Reno's mean window, which is 1 at x = 1 only: "
            f"{ratios[0.5]:.2f} at half the BDP, {ratios[2.0]:.2f} at twice. In ns-2 "
            f"Westwood+ gets {measured[0.5]:.2f} times Reno's rate at half the BDP, "
            f"{measured[1.0]:.3f} at the BDP and {measured[2.0]:.3f} at twice."
        ),
        explanation=(
            "Below the BDP the flow gives up less than half and takes more than Reno, above it more "
            "than half and takes less: friendly to Reno, in the sense of not harming it, is every "
            "buffer from the BDP up, equal shares only the BDP. That is why Fusion bounds the decrease "
            "by one half: above the BDP it then shares equally too. So does Westwood+ of ns-2's "
            "TCP/Linux, whose window after a loss is its rate estimate times RTT_min: beside a Reno "
            "flow that estimate is a share of the link, and the ratio stays at 1 above the BDP."
        ),
        numbers=tuple(
            Number(
                f"mean window over Reno's, buffer {x:g} BDP",
                f"{ratio:.4f} (b = {decrease_at(x):.3f})",
                f"{measured[x]:.3f} (Westwood+, goodput)",
                paper="1" if x == 1.0 else "not 1",
                tolerance=f"model 0: exact, by SymPy; packets {EQUAL:g}: five runs spread by 0.04",
            )
            for x, ratio in ratios.items()
        ),
        pictures=(
            Picture(
                _decrease_figure,
                "Mean window of a flow that keeps RTT_min/RTT over Reno's, and with the bound of one "
                "half (Fusion), by the size of the buffer.",
                "A curve that falls from 3 at a quarter of the BDP through 1 at the BDP to 0.5 at four; "
                "with the bound it stays at 1 from the BDP on.",
            ),
        ),
        cases=(BUFFERS,),
    )


def _westwood_over_reno() -> dict[float, float]:
    """Goodput of Westwood+ over that of the Reno flow beside it, by the buffer in BDP, in ns-2."""
    flows = evidence.table(BUFFERS)
    both = flows[flows["rule"] == "westwood"].pivot_table(
        index=["buffer_bdp", "seed"], columns="flow_rule", values="goodput"
    )
    ratio = (both["westwood"] / both["reno"]).groupby("buffer_bdp").mean()
    return dict(zip(ratio.index.astype(float).tolist(), ratio.tolist(), strict=True))


def _decrease_figure() -> Figure:
    new, axes = figure(6.4, 3.2)
    x = np.geomspace(0.25, 4, 100)
    packets = _westwood_over_reno()
    axes.plot(list(packets), list(packets.values()), "o", color="black", label="ns-2, Westwood+")
    ratio = np.array([share_ratio(value) for value in x])
    axes.semilogx(x, ratio, label="keeps RTT_min/RTT")
    axes.semilogx(x, np.maximum(ratio, 1.0), "--", label="keeps max(RTT_min/RTT, 1/2)")
    axes.axhline(1, color="0.4", linewidth=0.8)
    axes.set_xlabel("buffer over bandwidth-delay product (1)")
    axes.set_ylabel("mean window / Reno's (1)")
    axes.legend(fontsize=8)
    return new
