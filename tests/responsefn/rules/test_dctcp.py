"""DCTCP: marks, not losses."""

from __future__ import annotations

import pytest

from responsefn import (
    DCTCP,
    Feedback,
    Reno,
    coexist,
)


def test_a_loss_halves_and_a_mark_cuts_by_half_of_alpha():
    """RFC 8257, 3.3 and 3.5: here a tenth of the packets were marked, and one of 40 is now."""
    rule = DCTCP()
    state = rule.State(cwnd=40.0, ssthresh=2.0, alpha=0.1, since=50.0)
    assert rule.on_drop(state, rule.params, Feedback(1.0, 0.1, 1.0, 0.0)).cwnd == 20.0
    alpha = 0.1 + 1 / 16 / 40
    marked = rule.on_mark(state, rule.params, Feedback(1.0, 0.1, 1.0, 1.0))
    assert marked.cwnd == pytest.approx(40.0 * (1 - alpha / 2))


def test_dctcp_is_refused_where_nothing_is_marked():
    with pytest.raises(ValueError, match=r"DCTCP\(\) answers congestion marks"):
        coexist([DCTCP(), Reno()], 0.04, 5000.0, 200, p=1e-4)
