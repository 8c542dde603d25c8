"""yang2001's rows of Table 4 without best effort at the settings of `unstated_parameters`, by ns-2."""

from __future__ import annotations

from dataclasses import replace

from validation.generate.yang2001 import unstated_parameters

ENVIRONMENTS = ("cc/cc", "ts/ts")
"""Those whose sources are both regulated: 96 of the 240 cells of Table 4."""
SETTINGS = 16
"""The first of the Sobol sequence, which fill the ranges as well: what they check is no input of the inference."""


(OTHERS,) = unstated_parameters.CASES
CASES = (
    replace(
        OTHERS,
        name="yang2001/regulated-sources",
        title=f"Table 4's rows without best effort at {SETTINGS} settings of what the paper leaves open, 90 + 10 flows of 1 MB per source",
        claims=("Y03", "Y04", "Y07", "Y12"),
        tables={"times": OTHERS.tables["times"]},
        runs=unstated_parameters.runs(ENVIRONMENTS, SETTINGS),
    ),
)
