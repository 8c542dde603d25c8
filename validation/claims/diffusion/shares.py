"""D20: how eq. (13) shares a link between two flows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from dfcmodel.law import rates

from dfcmodel import DFC, takano2006
from hopflow.results import COLOURS, figure
from validation.evidence import table
from validation.verdicts import Finding, Number, Part, Picture, Verdict, claim

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

UNSHAPED = "takano2006/scenario-1-with-dfc-unshaped"


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
