"""Statistics of efficiencies, and when they count as what the paper says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dfcmodel.ensembles import mean_interval
from validation.verdicts import Number, Part, Verdict

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    Values = NDArray[np.float64]

SETTLED = 0.2  # s: the background flow starts at 0.1 s and fills its window within another 0.1 s
NEAR = 0.01  # of efficiency: one packet on one of 29 links at 370 Mb/s is 0.011


def spread(runs: pd.DataFrame, since: float, flow: str = "target") -> pd.DataFrame:
    """Mean and standard deviation over time of a flow's efficiency, per run."""
    late = runs[(runs["time"] > since) & (runs["flow"] == flow)]
    return late.groupby("run")["efficiency"].agg(["mean", "std"])


def interval(values: Values) -> tuple[float, float]:
    """Return Student's 95 % interval of the mean of independent runs, shape (runs,)."""
    low, high = mean_interval(values)
    return float(low), float(high)


def settles(runs: pd.DataFrame) -> Verdict:
    """Whether every run stays near 0.5."""
    return Verdict.of(bool((abs(runs["mean"] - 0.5) < NEAR).all() and (runs["std"] < NEAR).all()))


def unstable(runs: pd.DataFrame) -> Verdict:
    """Whether every run swings by ten times what counts as stable; stable is the opposite."""
    return Verdict.of(bool(runs["std"].min() > 10 * NEAR), bool(runs["std"].max() < NEAR))


def low(bottom: float, top: float, level: float) -> Verdict:
    """Whether an interval lies below a level; above it is the opposite."""
    return Verdict.of(top < level, bottom > level)


def above(one: Values, other: Values, margin: float = 0.0) -> Verdict:
    """Whether the interval of one mean lies above that of the other; below is the opposite."""
    (bottom, top), (least, most) = interval(one), interval(other)
    return Verdict.of(bottom - margin > most + margin, top + margin < least - margin)


def text(values: Values) -> str:
    """Return a mean and its 95 % interval as text."""
    bottom, top = interval(values)
    return f"{values.mean():.3f} [{bottom:.3f}, {top:.3f}]"


def beside(fluid: Values, packets: Values) -> Number:
    """Show the target's means of runs whose flows start at varied times, shapes (runs,)."""
    return Number(
        "mean of the target without DFC, starts spread over 1 ms in both; all runs of ns-2",
        f"{text(fluid)}, {len(fluid)} runs",
        f"{text(packets)}: {', '.join(f'{value:.3f}' for value in sorted(packets))}",
        "",
        "Student's 95 % intervals; they meet unless the models differ",
    )


def low_and_unstable(
    with_dfc: tuple[pd.DataFrame, pd.DataFrame],
    without: tuple[pd.DataFrame, pd.DataFrame],
    share: tuple[float, float],
    bias: float,
) -> tuple[Part, Part, Part]:
    """Judge what the paper says of one speed: near 0.5 with DFC, unstable and low without.

    Parameters
    ----------
    with_dfc, without
        `spread` of the target in the fluid and in packets.
    share
        Its mean efficiency with DFC in both.
    bias
        Of the fluid without DFC, which widens its interval.
    """
    bottom, top = interval(without[0]["mean"].to_numpy())
    return (
        Part(
            "with DFC the efficiency settles near 0.5 and stays",
            settles(with_dfc[0]),
            settles(with_dfc[1]),
        ),
        Part("without DFC it is unstable", unstable(without[0]), unstable(without[1])),
        Part(
            "without DFC it is low: below the share with DFC",
            low(bottom - bias, top + bias, share[0]),
            low(*interval(without[1]["mean"].to_numpy()), share[1]),
        ),
    )
