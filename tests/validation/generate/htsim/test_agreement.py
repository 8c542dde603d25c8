"""The packet level beside htsim: rows of the written table made again."""

from __future__ import annotations

import pytest

from benchmarks.htsim_agreement import RESULTS, TOLERANCE, row_of, text_of, within
from validation.generate.htsim.cases import CASES

(ROCE,) = CASES
NOT_WITHIN = {
    "all-to-all of 32, four packets each",
    "60 random flows",
    "200 random flows",
    "16 to 16, four packets each",
}
"""Whose mean is not as expected: the documentation says why."""
QUICK = ("incast of 16 through the spine", "60 random flows", "60 random flows, receivers send nothing")  # fmt: skip


@pytest.mark.parametrize(
    "run",
    [
        each["run"] if each["run"] in QUICK else pytest.param(each["run"], marks=pytest.mark.slow)
        for each in ROCE.runs
    ],
)
def test_a_run_beside_htsim(run: str) -> None:
    row = row_of(run)
    assert within(row, "last")
    assert within(row, "mean") == (run not in NOT_WITHIN)
    assert text_of([row]).splitlines()[-1] in RESULTS.read_text(encoding="utf-8").splitlines()


def test_the_tolerance_is_a_part_of_htsims_time() -> None:
    row = {"last": 1.0 + 1.01 * TOLERANCE, "last in htsim": 1.0}
    assert not within(row, "last")
    assert within({**row, "last": 1.0 + 0.99 * TOLERANCE}, "last")
