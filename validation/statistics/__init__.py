"""The statistics that all claims share: estimates, intervals, tests, and when they decide.

`estimates` has means with their errors and what follows for sums, ratios and slopes; `intervals`
the intervals of means of independent runs; `significance` the hypothesis tests; `decisions` turns
them into verdicts.
"""

from __future__ import annotations

from validation.statistics.decisions import (
    absent,
    below,
    covers,
    everywhere,
    monotone,
    mostly,
    ranked,
    settles,
    swings,
    within,
)
from validation.statistics.estimates import (
    CONFIDENCE,
    PART,
    UNBOUNDED,
    Estimate,
    Values,
    average,
    combine,
    difference,
    of_runs,
    ratio,
    ratio_gain,
    relative_difference,
    runs_to_decide,
    slope,
    weakest,
)
from validation.statistics.intervals import (
    Swing,
    bounds,
    interval,
    swing,
)
from validation.statistics.significance import (
    LEVEL,
    Normality,
    Outcome,
    chi2_test,
    normality,
    rank_test,
    variance_test,
    welch_test,
)

__all__ = [
    "CONFIDENCE",
    "LEVEL",
    "PART",
    "UNBOUNDED",
    "Estimate",
    "Normality",
    "Outcome",
    "Swing",
    "Values",
    "absent",
    "average",
    "below",
    "bounds",
    "chi2_test",
    "combine",
    "covers",
    "difference",
    "everywhere",
    "interval",
    "monotone",
    "mostly",
    "normality",
    "of_runs",
    "rank_test",
    "ranked",
    "ratio",
    "ratio_gain",
    "relative_difference",
    "runs_to_decide",
    "settles",
    "slope",
    "swing",
    "swings",
    "variance_test",
    "weakest",
    "welch_test",
    "within",
]
