"""The evidence against itself: simulators that do the same thing, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hopflow.results import COLOURS, figure
from responsefn import PFTK
from validation.evidence import cases, table
from validation.verdicts import Finding, Number, Part, Picture, Verdict, claim

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

LINUX, NS3 = "kaneko2007/loss-sweep-ns2", "kaneko2007/loss-sweep-ns3"
SACK = "zheng2002/independent-loss-tcp"
APART = 0.10


def windows() -> pd.DataFrame:
    """Goodput times round-trip time of Reno by simulator and loss rate, with standard errors."""
    import pandas as pd

    sack = table(SACK)
    sack = sack[sack["rule"] == "TCP(1,1/2)"].assign(
        source="ns-2 Sack1",
        window=lambda d: d["goodput"] * d["mean_rtt"],
        p=lambda d: d["p_nominal"],
    )
    parts = [sack[["source", "p", "window"]]]
    for case, source in ((LINUX, "ns-2 TCP/Linux"), (NS3, "ns-3")):
        flows = table(case, "flows")
        reno = flows[flows["rule"] == "reno"]
        events = reno.groupby("loss_rate")["loss_events"].transform("sum")
        reno = reno[events >= 100]  # over all seeds
        parts.append(
            pd.DataFrame(
                {
                    "source": source,
                    "p": reno["loss_rate"],
                    "window": reno["goodput"] * reno["base_rtt"],
                }
            )
        )
    grouped = pd.concat(parts).groupby(["source", "p"])["window"]
    return grouped.agg(["mean", "sem", "count"]).reset_index()


@claim("S03")
def reno_in_three_simulators() -> Finding:
    """Compare Reno's mean window at the loss rates that the simulators share."""
    frame = windows()
    wide = frame.pivot_table(index="p", columns="source", values=["mean", "sem"]).dropna()
    wide = wide[wide.index <= 0.02]  # above, timeouts: different timers, different answers
    reference = wide["mean"]["ns-2 Sack1"]
    verdicts, rows = [], []
    for source in ("ns-2 TCP/Linux", "ns-3"):
        ratio = wide["mean"][source] / reference
        error = 2.0 * np.hypot(
            wide["sem"][source] / wide["mean"][source], wide["sem"]["ns-2 Sack1"] / reference
        )
        near = abs(ratio - 1.0) + ratio * error < APART
        far = abs(ratio - 1.0) - ratio * error > APART
        verdicts.append(Verdict.of(bool(near.all()), bool(far.any())))
        rows += [
            Number(
                f"{source} over ns-2 Sack1 at p = {p:g}",
                simulation=f"{ratio[p]:.3f} ± {ratio[p] * error[p]:.3f}",
                tolerance=f"{APART:.0%}, about what PFTK is good for; ± two standard errors of the runs",
            )
            for p in wide.index
        ]

    def draw() -> Figure:
        fig, ax = figure()
        p = np.logspace(-4, -1.3, 60)
        ax.loglog(p, PFTK(rto=0.2).rate(p, 0.048) * 0.048, color="black", lw=1, label="PFTK")
        for (source, points), colour, mark in zip(
            frame.groupby("source"), COLOURS, "os^", strict=False
        ):
            ax.errorbar(
                points["p"], points["mean"], 2 * points["sem"], fmt=mark, ms=4, color=colour,
                capsize=2, label=source,
            )  # fmt: skip
        ax.set(xlabel="loss rate p", ylabel="goodput × RTT (packets)")
        ax.legend(fontsize=8)
        return fig

    return Finding(
        parts=tuple(
            Part(f"{source} agrees with ns-2's Sack1 agent within 10 %", Verdict.NOT_APPLICABLE, v)
            for source, v in zip(("ns-2's TCP/Linux", "ns-3"), verdicts, strict=True)
        ),
        summary=(
            "At the same independent loss Reno's window in ns-2's TCP/Linux is "
            f"{(wide['mean']['ns-2 TCP/Linux'] / reference).min():.2f} to "
            f"{(wide['mean']['ns-2 TCP/Linux'] / reference).max():.2f} of that in its Sack1 agent, "
            f"in ns-3 {(wide['mean']['ns-3'] / reference).min():.2f} to "
            f"{(wide['mean']['ns-3'] / reference).max():.2f}."
        ),
        explanation=(
            "The three repair a loss in different ways. ns-3 halves the data in flight when it sees "
            "the loss, Linux's module the window: made to halve the window, ns-3 has the same rate at "
            "p = 0.01 as ns-2's TCP/Linux (12.4 ± 0.6 against 12.4 packets). Why the Sack1 agent is "
            "below TCP/Linux, by more the larger p is, is unexplained."
        ),
        numbers=tuple(rows),
        pictures=(
            Picture(
                draw,
                "Reno under independent loss: goodput times base round-trip time.",
                "log-log plot of the window against the loss rate: three simulators near one line",
            ),
        ),
        cases=(SACK, LINUX, NS3),
    )


RULES = ("highspeed", "cubic", "compound", "bic")
ALIKE = 0.25
SHARES = {
    "small-bdp": ("small-bdp", ["rule"]),
    "pairs": ("pairs-friendly", ["first", "second"]),
    "pairs with HSTCP, BIC and CUBIC": ("pairs", ["first", "second"]),
    "three flows": ("three-flows", ["rule"]),
    "RTT 20 ms against": ("rtt-fairness", ["rule", "long_rtt"]),
}
"""Cases with several flows that both simulators have, and what their runs differ in."""
ENOUGH = 100
"""Loss events over all seeds, without which a loss rate is left out."""


def ratios() -> pd.DataFrame:
    """ns-3's goodput over ns-2's by rule and loss rate, with twice its standard error."""
    import pandas as pd

    found = []
    for case, name in ((LINUX, "ns2"), (NS3, "ns3")):
        flows = table(case, "flows")
        grouped = flows[flows["rule"].isin((*RULES, "reno"))].groupby(["rule", "loss_rate"])
        measured = grouped["goodput"].agg(["mean", "sem"]).add_suffix(f"_{name}")
        found.append(measured[grouped["loss_events"].sum() >= ENOUGH])
    both = pd.concat(found, axis=1).dropna().reset_index()
    both["ratio"] = both["mean_ns3"] / both["mean_ns2"]
    both["error"] = (2.0 * both["ratio"]) * np.hypot(
        both["sem_ns2"] / both["mean_ns2"], both["sem_ns3"] / both["mean_ns3"]
    )
    return both


def shares() -> pd.DataFrame:
    """Share of flow 1 in what its run carries, in both simulators, with twice their standard errors."""
    import pandas as pd

    found = []
    for setting, (name, factors) in SHARES.items():
        linux = f"kaneko2007/{'pairs' if name.startswith('pairs') else name}-ns2"
        ns3 = f"kaneko2007/{name}-ns3"
        if not {linux, ns3} <= set(cases()):
            continue
        sides = []
        for case, side in ((linux, "_ns2"), (ns3, "_ns3")):
            flows = table(case, "flows").set_index([*factors, "seed", "flow"])["goodput"]
            one = flows.xs(1, level="flow") / flows.groupby(level=[*factors, "seed"]).sum()
            sides.append(one.groupby(level=factors).agg(["mean", "sem"]).add_suffix(side))
        both = pd.concat(sides, axis=1, join="inner").reset_index()
        both["what"] = setting + ": " + both[factors].astype(str).agg(", ".join, axis=1)
        rules = both[[c for c in factors if c != "long_rtt"]]
        both = both[rules.isin((*RULES, "reno")).all(axis=1)]
        found.append(both[["what", "mean_ns2", "sem_ns2", "mean_ns3", "sem_ns3"]])
    return pd.concat(found, ignore_index=True)


EXPLANATION = (
    "Four causes, each switched on and off in small runs, here at p = 0.01. (1) ns-2's tcp_bic has a "
    "smooth part of 20, ns-3's TcpBic of 5. (2) The Linux module divides by its estimate of packets "
    "per acknowledgement, which begins at 2 and, by integer arithmetic, never falls below 31/16 "
    "although every packet is acknowledged: a lone BIC flow grows by 31 packets per round trip in "
    "ns-2, not by its max_increment of 16. ns-3's BIC has 24.3 ± 1.7 packets, with (1) 15.7 ± 1.0, with "
    "(1) and (2) 21.6 ± 1.8, ns-2's 20.5 ± 0.7; at 1e-3 both leave 129 ± 14 against 100 ± 7, which is "
    "unexplained. CUBIC follows its curve whatever the divisor. (3) ns-3 halves what is in flight less "
    "the packets acknowledged selectively, Linux the window: with the window halved ns-3's Reno has "
    "12.4 ± 0.6 packets instead of 11.0 ± 0.6, ns-2's 12.4 ± 0.2. (4) ns-3's HSTCP grows by every packet "
    "that an acknowledgement covers, Linux's once: with (3) and one growth it has 13.1 ± 0.6 packets "
    "instead of 13.9 ± 0.7, ns-2's 13.0 ± 0.2; at 0.1 this takes 0.3 of the 0.9 packets by which ns-3 is "
    "ahead, the rest is unexplained. CUBIC keeps 0.7 of its window in ns-3 and 0.8 in ns-2, but from "
    "1e-3 up both are where CUBIC imitates Reno, which does not depend on it."
)


@claim("S05")
def linux_rules_in_two_simulators() -> Finding:
    """Compare the rules that ns-2's TCP/Linux and ns-3 share: alone under loss, and in company."""
    alone, company = ratios(), shares()
    lossy = alone[alone["loss_rate"] <= 0.01]

    def verdict(rule: str) -> Verdict:
        of = lossy[lossy["rule"] == rule]
        return Verdict.of(
            bool((abs(of["ratio"] - 1.0) + of["error"] < ALIKE).all()),
            bool((abs(of["ratio"] - 1.0) - of["error"] > ALIKE).any()),
        )

    bic = lossy[lossy["rule"] == "bic"]
    apart = Verdict.of(
        bool((bic["ratio"] - bic["error"] > 1.0).any()),
        bool((bic["ratio"] + bic["error"] < 1.0 + APART).all()),
    )
    numbers = [
        Number(
            f"{row.rule}, p = {row.loss_rate:g}: ns-3 over ns-2",
            simulation=f"{row.ratio:.3f} ± {row.error:.3f}",
            tolerance=f"{ALIKE:.0%}; ± two standard errors over the seeds",
        )
        for row in alone.itertuples()
    ]
    numbers += [
        Number(
            f"{what}: share of flow 1",
            simulation=(
                f"ns-2 {two:.3f} ± {2.0 * two_error:.3f}, ns-3 {three:.3f} ± {2.0 * three_error:.3f}"
            ),
        )
        for what, two, two_error, three, three_error in company.to_numpy()
    ]
    gap = (company["mean_ns3"] - company["mean_ns2"]).abs()
    known = lossy[lossy["rule"].isin(RULES[:3])]["ratio"]

    def draw() -> Figure:
        fig, ax = figure()
        for (rule, of), colour, mark in zip(alone.groupby("rule"), COLOURS, "osv^D", strict=False):
            ax.errorbar(
                of["loss_rate"], of["ratio"], of["error"], fmt=f"{mark}-", ms=4, color=colour,
                capsize=2, label=rule,
            )  # fmt: skip
        ax.axhspan(1.0 - ALIKE, 1.0 + ALIKE, color="0.9")
        ax.set(xlabel="loss rate p", ylabel="ns-3's goodput / ns-2's", xscale="log")
        ax.legend(fontsize=8)
        return fig

    return Finding(
        parts=(
            *(
                Part(f"{rule}: the same window within 25 %", Verdict.NOT_APPLICABLE, verdict(rule))
                for rule in RULES[:3]
            ),
            Part("BIC: a larger window in ns-3", Verdict.NOT_APPLICABLE, apart),
        ),
        summary=(
            f"Up to p = 0.01 ns-3's windows of HSTCP, CUBIC and CTCP are {known.min():.2f} to "
            f"{known.max():.2f} of ns-2's, those of BIC {bic['ratio'].min():.2f} to "
            f"{bic['ratio'].max():.2f}. In {int((gap < APART).sum())} of {len(gap)} settings with "
            f"several flows the first one's share differs by less than {APART:g}; the largest "
            f"difference is {gap.max():.2f} ({company['what'].to_numpy()[gap.to_numpy().argmax()]})."
        ),
        explanation=EXPLANATION,
        numbers=tuple(numbers),
        pictures=(
            Picture(
                draw,
                "One flow under independent loss, 100 Mb/s, 40 ms: ns-3's goodput over ns-2's.",
                "ratios against the loss rate, one line per rule; all near 1 but BIC's above",
            ),
        ),
        cases=(LINUX, NS3),
    )
