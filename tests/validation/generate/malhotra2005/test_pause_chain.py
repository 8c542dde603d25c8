"""The pause tandem: options, and rows from the counts of ns-3's batches."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from validation.generate.malhotra2005 import pause_chain

OFF = next(case for case in pause_chain.CASES if case.name.endswith("pause-off"))


@pytest.mark.simulators
def test_ns3_repeats_the_bundled_rows(repeats) -> None:
    repeats("malhotra2005/pause-off", seed=1)


def test_a_call_for_every_parameter_set() -> None:
    calls = pause_chain.calls(OFF.runs[2])
    assert len(calls) == len(OFF.runs[2]["points"]) == 4
    assert all("--seed=3" in words and "--rates=25,1" in words for words in calls)
    assert {words[4] for words in calls} == {
        "--paused-rate=2",
        "--paused-rate=50",
        "--paused-rate=0.5",
    }


def test_rows_are_means_of_batches_with_students_half_width(tmp_path: Path) -> None:
    run = {"seed": 1, "points": OFF.runs[0]["points"][:1]}
    counts = np.random.default_rng(1).integers(100, 200, (pause_chain.BATCHES + 1, 14))
    printed = "\n".join(" ".join(map(str, line)) for line in counts)
    (row,) = pause_chain.read(run, tmp_path, [printed])["measures"]
    rates = counts[1:, 11] / (run["points"][0]["seconds"] / pause_chain.BATCHES)
    low, high = stats.t.interval(0.95, 9, rates.mean(), stats.sem(rates))
    assert row["throughput"] == pytest.approx(rates.mean())
    assert row["throughput_half_width"] == pytest.approx((high - low) / 2)
    assert row["delivered"] == counts[:, 11].sum()
    with pytest.raises(RuntimeError, match="table of shape"):
        pause_chain.read(run, tmp_path, ["1 2 3"])
