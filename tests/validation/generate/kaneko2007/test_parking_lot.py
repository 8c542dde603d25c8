"""Three bottlenecks in a row: who goes where."""

from __future__ import annotations

import pytest

from validation.generate.kaneko2007 import parking_lot


@pytest.mark.simulators
def test_ns2_repeats_the_bundled_rows(repeats) -> None:
    repeats("kaneko2007/parking-lot-ns2", seed=1)


def test_flows_end_together_and_reverse_flows_cross_one_link() -> None:
    run = parking_lot.CASES[0].runs[-1]
    first, last = run["path"]["from"], run["path"]["to"]
    assert last[:6] == [parking_lot.HOPS] * 6
    assert sorted(b - a for a, b in zip(first[:6], last[:6], strict=True)) == [1, 1, 2, 2, 3, 3]
    assert {b - a for a, b in zip(first[6:], last[6:], strict=True)} == {-1}
    assert len(run["rules"]) == 6 + 3 * parking_lot.REVERSE
