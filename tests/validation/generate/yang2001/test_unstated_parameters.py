"""Settings as options of the two scripts; rows as the table's."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from validation import table
from validation.generate.yang2001.unstated_parameters import CASES

(CASE,) = CASES


def test_thresholds_of_red_are_three_apart() -> None:
    words = CASE.calls(CASE.runs[0])[0]
    options = dict(zip(words[::2], words[1::2], strict=True))
    assert float(options["red_max"]) == pytest.approx(3 * float(options["red_min"]))
    assert (options["s1"], options["tcp1"], options["udp1"]) == ("be", "90", "10")


@pytest.mark.slow  # a run of ns-2 takes two seconds
@pytest.mark.skipif(shutil.which("ns") is None, reason="ns-2 is not installed: apt-get install ns2")
def test_ns2_repeats_the_bundled_rows(tmp_path: Path) -> None:
    run = CASE.runs[0]
    rows = CASE.execute(run, tmp_path)["times"]
    bundled = table(CASE.name, "times")
    for name in ("setting", "environment", "discipline"):
        bundled = bundled[bundled[name] == run[name]]
    assert [row["time"] for row in rows] == bundled["time"].tolist()
