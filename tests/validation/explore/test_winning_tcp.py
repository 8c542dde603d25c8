"""The view of two congestion controls against its code."""

from __future__ import annotations

import numpy as np
import pytest

from tests.validation.explore.test_views import drawn
from validation.explore.winning_tcp import VIEW


@pytest.mark.slow
def test_the_code_gives_windows_and_shares() -> None:
    found, names = drawn(VIEW, first="HTCP", second="NewReno", rtt="80ms", buffer="0.5")
    for line, window in zip(found.charts[0].lines, names["run"].window, strict=True):
        np.testing.assert_array_equal(line.y, window)
    assert f"{names['run'].share.max():.0%}" in found.finding


@pytest.mark.slow
def test_two_flows_of_one_rule_have_names_of_their_own() -> None:
    found = VIEW.draw(**VIEW.values(first="NewReno", second="NewReno"))
    assert [line.label for line in found.charts[0].lines] == ["NewReno (1)", "NewReno (2)"]
