"""The packet level beside htsim and ns-3's RDMA model: rows of the written tables made again."""

from __future__ import annotations

import pytest

from benchmarks.fabric_agreement import (
    HTSIM,
    NS3,
    TOLERANCE,
    Simulator,
    results_of,
    row_of,
    text_of,
    within,
)
from validation.generate.htsim.cases import CASES

(ROCE,) = CASES
NOT_WITHIN = {
    "htsim": {
        "all-to-all of 32, four packets each",
        "60 random flows",
        "200 random flows",
        "16 to 16, four packets each",
    },
    "ns-3": set[str](),
}
"""Runs whose mean is not as expected: the documentation says why."""
QUICK = ("incast of 16 through the spine", "60 random flows", "60 random flows, receivers send nothing")  # fmt: skip


@pytest.mark.parametrize("simulator", [HTSIM, NS3], ids=lambda each: each.name)
@pytest.mark.parametrize(
    "run",
    [
        each["run"] if each["run"] in QUICK else pytest.param(each["run"], marks=pytest.mark.slow)
        for each in ROCE.runs
    ],
)
def test_a_run_beside_a_simulator(run: str, simulator: Simulator) -> None:
    row = row_of(run, simulator)
    assert within(row, "last")
    assert within(row, "mean") == (run not in NOT_WITHIN[simulator.name])
    written = results_of(simulator).read_text(encoding="utf-8").splitlines()
    assert text_of([row], simulator.name).splitlines()[-1] in written


def test_the_tolerance_is_a_part_of_the_simulators_time() -> None:
    assert not within({"last": (1.0 + 1.01 * TOLERANCE, 1.0)}, "last")
    assert within({"last": (1.0 + 0.99 * TOLERANCE, 1.0)}, "last")
