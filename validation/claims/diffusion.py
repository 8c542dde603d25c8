"""Claims of takano2006 on diffusion-type flow control itself: D01, D03, D18, D20."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dfcmodel import DFC, Trajectory, simulate, takano2006
from dfcmodel.equations import drift_coefficients
from dfcmodel.law import bare_law, rates
from hopflow.results import COLOURS, figure
from validation.evidence import table
from validation.verdicts import Finding, Number, Part, Picture, Verdict, claim

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

UNEQUAL = "takano2006/dfc-unequal-delays"
UNSHAPED = "takano2006/scenario-1-with-dfc-unshaped"
NEAR = 0.01  # of efficiency: one packet on one of 29 links at 370 Mb/s is 0.011
BLUE, RED, GREEN = COLOURS[:3]

# --------------------------------------------------------------------------- D01

RTT, UTILISATION, DISTANCE = 0.1, 0.5, 10e3  # s, 1, m: as stated with Fig. 2
LIGHT_IN_FIBRE = 2e8  # m/s
FEW_HUNDRED, SEVERAL_MILLION = (200.0, 900.0), (2e6, 9e6)  # what the words allow


def _touched(bits: float, size: float) -> float:
    """Return the packets of ``size`` bytes that are sent in one RTT at ``bits`` bit/s."""
    return bits * RTT * UTILISATION / (8 * size)


@claim("D01")
def packets_touched_by_control_delay() -> Finding:
    """Arithmetic: which packet size makes Fig. 2's counts true, and 100 ms over one hop's delay."""
    one_byte = _touched(10e6, 1.0), _touched(100e9, 1.0)
    smallest = max(one_byte[0] / FEW_HUNDRED[1], one_byte[1] / SEVERAL_MILLION[1])
    largest = min(one_byte[0] / FEW_HUNDRED[0], one_byte[1] / SEVERAL_MILLION[0])
    hop = DISTANCE / LIGHT_IN_FIBRE
    ratio = RTT / hop

    def draw() -> Figure:
        fig, ax = figure()
        speed = np.geomspace(10e6, 100e9, 41)
        ends = _touched(1.0, smallest) * speed, _touched(1.0, largest) * speed
        ax.fill_between(
            speed, *ends, color=BLUE, alpha=0.3, lw=0,
            label=f"{smallest:.0f} to {largest:.0f} bytes",
        )  # fmt: skip
        ax.loglog(speed, _touched(1.0, 1500.0) * speed, color=RED, label="1500 bytes")
        ax.loglog(speed, _touched(1.0, 1500.0) * speed / ratio, "--", color=RED, label="one hop")
        ax.plot([10e6, 10e6], FEW_HUNDRED, color="black", lw=3, label="the text")
        ax.plot([100e9, 100e9], SEVERAL_MILLION, color="black", lw=3)
        ax.set(xlabel="link speed (bit/s)", ylabel="packets sent within the control delay")
        ax.legend(fontsize=8)
        return fig

    return Finding(
        parts=(
            Part(
                "some packet size gives a few hundred at 10 Mb/s and several million at 100 Gb/s",
                Verdict.of(smallest < largest),
                Verdict.NOT_APPLICABLE,
            ),
            Part(
                "control between neighbours at 10 km cuts a delay of 100 ms about 2000 times",
                Verdict.of(abs(ratio / 2000 - 1) < 0.1),
                Verdict.NOT_APPLICABLE,
            ),
        ),
        summary=(
            f"Both counts hold for packets of {smallest:.0f} to {largest:.0f} bytes; with the 1500 "
            f"bytes of the paper's simulations they are {_touched(10e6, 1500.0):.0f} and "
            f"{_touched(100e9, 1500.0):.2g}. 10 km of fibre take {1e6 * hop:.0f} microseconds, "
            f"{ratio:.0f} times less than 100 ms."
        ),
        explanation=(
            "The factor compares one hop with an RTT of 100 ms. The path of Fig. 2, 5 hops of 10 km, "
            f"has an RTT of {1e3 * 10 * hop:g} ms by propagation; against that the gain is 10."
        ),
        numbers=(
            Number(
                "packet size that makes both counts true, bytes",
                f"{smallest:.1f} to {largest:.1f}",
                paper="not stated",
                tolerance="a few hundred: 200 to 900; several million: 2 to 9 million",
            ),
            Number(
                "control delay of end hosts over that of neighbours",
                f"{ratio:.0f}",
                paper="typically 2000",
                tolerance="10 %: light in fibre, 2e8 m/s",
            ),
        ),
        pictures=(
            Picture(
                draw,
                "Packets within 100 ms at a utilisation of one half.",
                "lines of slope one over link speed: small packets pass through both of the text's "
                "ranges, packets of 1500 bytes stay below",
            ),
        ),
    )


# --------------------------------------------------------------------------- D03

HOT_PERIODS = 1200
D = 0.1


@functools.cache
def _spread(fed_back: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the distances from the loaded node, and the packets there after every period.

    With r fed back on an idle chain; or prescribed, zero, on a ring that is long enough.
    """
    nodes = 401
    hot = np.zeros(nodes)
    hot[nodes // 2] = 1000.0
    history = bare_law(hot, D, HOT_PERIODS, rate=None if fed_back else np.zeros(nodes), before=0.0)
    return np.arange(float(nodes)) - nodes // 2, history


def _moments(fed_back: bool) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return mean and variance over the periods, and the largest distance to the normal law."""
    from scipy.stats import norm

    x, history = _spread(fed_back)
    part = history / history.sum(axis=1, keepdims=True)
    mean = part @ x
    variance = part @ x**2 - mean**2
    normal = norm.cdf(x + 0.5, mean[-1], np.sqrt(variance[-1]))
    return mean, variance, float(np.abs(part[-1].cumsum() - normal).max())


@claim("D03")
def one_loaded_node_spreads() -> Finding:
    """Follow the packets of one loaded node under the bare law, r prescribed and fed back."""
    limit = drift_coefficients(D)
    found = {fed: _moments(fed) for fed in (False, True)}
    expected = {False: (0.0, 2 * D), True: (limit.speed, 2 * limit.spread)}
    half = HOT_PERIODS // 2

    def slopes(fed: bool) -> tuple[float, float, float]:
        mean, variance, _ = found[fed]
        first = float(variance[half] - variance[half // 2]) / (half - half // 2)
        last = float(variance[-1] - variance[half]) / half
        return float(mean[-1] - mean[half]) / half, last, abs(first / last - 1)

    def spreads(fed: bool) -> Verdict:
        return Verdict.of(found[fed][2] < 0.01 and slopes(fed)[2] < 0.01)

    def draw() -> Figure:
        fig, axes = figure(width=8.0, ncols=2)
        for ax, fed, title in zip(
            axes, (False, True), ("r prescribed: eq. (7)", "r fed back: eq. (5)"), strict=True
        ):
            x, history = _spread(fed)
            for k, colour in zip((75, 300, HOT_PERIODS), (BLUE, RED, GREEN), strict=True):
                mean, variance, _ = found[fed]
                total = history[k].sum()
                normal = np.exp(-((x - mean[k]) ** 2) / (2 * variance[k]))
                normal *= total / np.sqrt(2 * np.pi * variance[k])
                ax.plot(x, history[k], ".", ms=3, color=colour, label=f"{k} periods")
                ax.plot(x, normal, color=colour, lw=0.8)
            ax.set(xlim=(-50, 150), xlabel="nodes from the loaded one", title=title)
        axes[0].set_ylabel("packets of 1000")
        axes[0].legend(fontsize=8)
        return fig

    undecided = Verdict.UNDECIDABLE
    return Finding(
        parts=(
            Part(
                "with a given r the packets become normally distributed, variance linear in time",
                spreads(False),
                undecided,
            ),
            Part("so they do with r fed back by eq. (5)", spreads(True), undecided),
        ),
        summary=(
            "Normal and with a variance that grows linearly, as in the heated bar; but with the "
            f"rates fed back the packets move: {slopes(True)[0]:.4f} links per period downstream, "
            f"and their variance grows by {slopes(True)[1]:.4f} per period, not by 2 D = {2 * D}."
        ),
        explanation=(
            "Heat spreads both ways. Packets only go downstream: on an idle chain every node sends "
            "the fraction D of what it holds, whatever the next one holds, because the next one "
            "tells the rate that its own packets give it. Mean and variance of such a walk grow by "
            "D/(1+D) and D(1-D)/(1+D)^3. Where nothing flows out the packets pile up before the end "
            "and do not become uniform. A packet simulation that starts with one loaded node would "
            "decide the other column; those bundled start empty."
        ),
        numbers=(
            *(
                Number(
                    f"{name}, {'r fed back' if fed else 'r prescribed'}",
                    f"{value:.5f}",
                    paper=paper,
                    tolerance=f"theory {theory:.5f}",
                )
                for fed in (False, True)
                for name, value, theory, paper in (
                    ("drift, links per period", slopes(fed)[0], expected[fed][0], "none"),
                    ("growth of the variance", slopes(fed)[1], expected[fed][1], "linear"),
                )
            ),
            Number(
                f"largest distance to the normal distribution after {HOT_PERIODS} periods",
                f"{found[False][2]:.4f} prescribed, {found[True][2]:.4f} fed back",
                paper="normal distribution",
                tolerance="0.01: the skewness falls as 1/sqrt(periods)",
            ),
        ),
        pictures=(
            Picture(
                draw,
                "1000 packets in one node, D = 0.1; lines: normal distributions of the same mean and "
                "variance.",
                "with r prescribed the packets spread to both sides of the loaded node; with r fed "
                "back the same bell moves downstream and is narrower",
            ),
        ),
    )


# --------------------------------------------------------------------------- D18


@functools.cache
def _unequal(spread: float, seed: int = 1) -> Trajectory:
    """Return scenario 1 over links of s^u times a mean of 0.1 ms, u uniform in (-1, 1).

    In eighths of 0.1 ms, so that every delay is a whole number of steps.
    """
    plain = takano2006("1")
    draw = spread ** np.random.default_rng(seed).uniform(-1.0, 1.0, len(plain.links))
    eighths = np.maximum(1, np.round(8 * draw / draw.mean()))
    links = [
        replace(link, delay=link.delay * float(part) / 8)
        for link, part in zip(plain.links, eighths, strict=True)
    ]
    steps = round(min(eighths))
    return simulate(replace(plain, links=tuple(links)), duration=0.6, steps_per_delay=steps)


def _packets(diffusion: float) -> pd.DataFrame:
    flows = table(UNEQUAL, "flows")
    return flows[(flows["host"] == "shaped") & (flows["diffusion"] == diffusion)]


@claim("D18")
def unequal_delays() -> Finding:
    """Links of unequal delays with D_i = D / d_i and periods of one delay: losses and efficiency."""
    spreads = (1, 3, 10)
    runs = {s: _unequal(float(s)) for s in spreads}
    model = {s: float(run.mean_efficiency(0.3)[0]) for s, run in runs.items()}
    packets = {D: _packets(D) for D in (0.1, 0.01)}
    target = {
        D: flows[flows["flow"] == "target"].groupby("spread")["mean_efficiency"]
        for D, flows in packets.items()
    }
    mean = {D: groups.mean() for D, groups in target.items()}
    dropped = int(packets[0.1]["dropped"].sum())
    worst = {D: groups.min() for D, groups in target.items()}
    best = target[0.1].max()

    def draw() -> Figure:
        fig, axes = figure(width=8.0, ncols=2, sharey=True)
        data = table(UNEQUAL)
        data = data[
            (data["host"] == "shaped") & (data["diffusion"] == 0.1) & (data["flow"] == "target")
        ]
        for s, colour in zip(spreads, (BLUE, RED, GREEN), strict=True):
            run = runs[s].efficiency.sel(flow="target")
            axes[0].plot(run.time, run, color=colour, lw=0.8, label=f"spread {s}")
            line = data[data["spread"] == s].groupby("time")["efficiency"].mean()
            axes[1].plot(line.index, line, color=colour, lw=0.9, label=f"spread {s}")
        for ax, title in zip(axes, ("fluid", "ns-3, mean of 5 runs"), strict=True):
            ax.set(xlim=(0, 0.6), ylim=(0, 1.05), xlabel="time (s)", title=title)
        axes[0].set_ylabel("efficiency of the target")
        axes[0].legend(fontsize=8)
        return fig

    even_model = max(abs(model[s] - model[1]) for s in spreads) < NEAR
    even_packets = bool((abs(mean[0.1] - mean[0.1].loc[1]) < NEAR).all())
    lower = bool((best.loc[[3, 10]] < worst[0.1].loc[1] - NEAR).all())
    return Finding(
        parts=(
            Part(
                "no losses",
                Verdict.of(all(run.lost.sum() == 0 for run in runs.values())),
                Verdict.of(dropped == 0),
            ),
            Part(
                "the efficiency is that of equal delays",
                Verdict.of(even_model),
                Verdict.of(even_packets, lower),
            ),
        ),
        summary=(
            "Nothing is lost. The fluid keeps its efficiency; packets lose some: "
            f"{mean[0.1].loc[1]:.3f} with equal delays, {mean[0.1].loc[3]:.3f} and "
            f"{mean[0.1].loc[10]:.3f} when they spread by 3 and 10 either way. With D = 0.01 they keep "
            f"{mean[0.01].loc[3]:.3f} and {mean[0.01].loc[10]:.3f}."
        ),
        explanation=(
            "D_i = D / d_i gives a short link a large gain in 1/s. One whole packet more in a node "
            "takes D / d packets/s from the rate before it: 3 % of 370 Mb/s at 0.1 ms, a third at "
            "10 microseconds. A fluid has no whole packets. A tenth of D cures it, and so do faster "
            "links."
        ),
        numbers=(
            Number(
                "packets lost", f"{sum(run.lost.sum() for run in runs.values()):.0f}", f"{dropped}"
            ),
            *(
                Number(
                    f"mean efficiency of the target, spread {s}",
                    f"{model[s]:.4f}",
                    f"{mean[0.1].loc[s]:.4f} (D = 0.01: {mean[0.01].loc[s]:.4f})",
                    "the same",
                    f"{NEAR}: one packet on one of 29 links is 0.011",
                )
                for s in spreads
            ),
        ),
        pictures=(
            Picture(
                draw,
                "Scenario 1 with DFC, D = 0.1, delays spread by factors up to 1, 3 and 10 either way.",
                "efficiency of the target over time: in the fluid one curve for all spreads, in "
                "packets lower ones for spreads 3 and 10",
            ),
        ),
        cases=(UNEQUAL,),
    )


# --------------------------------------------------------------------------- D20


def _shares(congested: float = 100.0) -> pd.DataFrame:
    """Return queues at node 15 and the background's part of what passes, where both flows wait.

    ns-3 at the instants of its records: node 15, unshaped hosts, more than ``congested`` packets of
    each flow. Columns seed, time, target, background, measured, predicted (eq. 13),
    kept (the target's efficiency over its highest alone).
    """
    import pandas as pd

    keys = ["target_source", "phases", "buffers", "diffusion", "seed"]
    queues = table(UNSHAPED, "occupancy")
    queues = queues[
        (queues["node"] == 15)
        & (queues["diffusion"] == 0.1)
        & (queues["queued_target"] > congested)
        & (queues["queued_background"] > congested)
    ]
    passed = table(UNSHAPED).pivot_table(index=[*keys, "time"], columns="flow", values="efficiency")
    share = (passed["background"] / passed.sum(axis=1)).rename("measured").reset_index()
    share["now"] = passed["target"].to_numpy()
    alone = passed.loc[passed.index.get_level_values("time") <= 0.1, "target"].groupby(keys).max()
    share["time"] = share["time"].round(6)
    near = queues.assign(time=(queues["time"] + 0.01).round(6)).merge(share, on=[*keys, "time"])
    near = near.merge(alone.rename("alone").reset_index(), on=keys)
    link = takano2006("1").links[0]
    gain = DFC().diffusion / link.delay
    wants = link.rate + gain * near[["queued_target", "queued_background"]]
    return pd.DataFrame(
        {
            "seed": near["seed"],
            "time": near["time"] - 0.01,
            "target": near["queued_target"],
            "background": near["queued_background"],
            "measured": near["measured"],
            "kept": near["now"] / near["alone"],
            "predicted": wants["queued_background"] / wants.sum(axis=1),
        }
    )


@claim("D20")
def larger_ideal_rate_gets_more() -> Finding:
    """Eq. (13) over random ideal rates; shares of node 15 against its queues in packets."""
    rng = np.random.default_rng(0)
    capacity, flows = 1.0, 2
    ideal = rng.uniform(0.0, 1.5, (flows, 20_000))
    zero = np.zeros_like(ideal)
    J = rates(ideal, zero, zero, np.full(ideal.shape, True), 1.0, 0.0, capacity)
    over = ideal.sum(axis=0) > capacity
    ordered = bool(((J[0] - J[1]) * (ideal[0] - ideal[1]) >= 0).all())
    regulated = bool((J[:, over] <= ideal[:, over]).all())
    full = float(np.abs(J[:, over].sum(axis=0) - capacity).max())
    proportional = float(np.abs(J[0] * ideal[1] - J[1] * ideal[0])[over].max())

    shares = _shares()
    agree = (shares["background"] > shares["target"]) == (shares["measured"] > 0.5)
    apart = float((shares["measured"] - shares["predicted"]).abs().max())

    def draw() -> Figure:
        fig, ax = figure(width=4.8, height=4.0)
        for time, colour in zip(sorted(shares["time"].round(3).unique()), COLOURS, strict=False):
            one = shares[shares["time"].round(3) == time]
            ax.plot(one["predicted"], one["measured"], ".", color=colour, label=f"{time:g} s")
        ax.plot([0, 1], [0, 1], color="gray", lw=0.7)
        ax.axhline(0.5, color="gray", lw=0.5, ls=":")
        ax.axvline(0.5, color="gray", lw=0.5, ls=":")
        ax.set(
            xlabel="share of the background by eq. (13) from the queues",
            ylabel="share of what passed, within 10 ms",
        )
        ax.legend(fontsize=8)
        return fig

    return Finding(
        parts=(
            Part(
                "the flow with the larger ideal rate gets the larger share",
                Verdict.of(ordered),
                Verdict.of(bool(agree.all()), bool((~agree).all())),
            ),
            Part(
                "the others are regulated down",
                Verdict.of(regulated and full < 1e-12),
                Verdict.of(bool((shares["kept"] < 1.0).all())),
            ),
        ),
        summary=(
            f"It does, in proportion, in {ideal.shape[1]} random cases of eq. (13) and at all "
            f"{len(shares)} instants at which both flows wait at node 15 in ns-3: the flow with more "
            "packets waiting wants more and gets more."
        ),
        explanation=(
            "The ideal rate of a flow is what it was told plus D/d for each packet waiting, so that "
            "behind unshaped hosts the longer queue takes the link. The measured share lags, being "
            "a mean over 10 ms and over all links of each path."
        ),
        numbers=(
            Number(
                "largest deviation of J_1 / J_2 from the ratio of ideal rates, cross-multiplied",
                f"{proportional:.1e}",
                tolerance="rounding",
            ),
            Number("sum of J over the link rate, less one", f"{full:.1e}", tolerance="rounding"),
            Number(
                "instants with both queues above 100 packets, and with the larger share as predicted",
                "",
                f"{len(shares)}, {int(agree.sum())}",
            ),
            Number(
                "efficiency of the target over its highest before the background came",
                "",
                f"{shares['kept'].min():.2f} to {shares['kept'].max():.2f}",
                "regulated down",
            ),
            Number(
                "largest difference of the share from eq. (13)",
                "",
                f"{apart:.2f}",
                tolerance="none",
            ),
        ),
        pictures=(
            Picture(
                draw,
                "Unshaped hosts, scenario 1: instants at which both flows wait at node 15.",
                "share of the background flow measured against predicted: all points in the upper "
                "right quadrant, somewhat below the diagonal",
            ),
        ),
        cases=(UNSHAPED,),
    )
