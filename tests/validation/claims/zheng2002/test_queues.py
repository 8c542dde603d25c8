"""RED against DropTail, and marks instead of drops."""

from __future__ import annotations

from validation.claims.zheng2002.queues import KINDS, _marked
from validation.claims.zheng2002.red import variation


def test_independent_losses_make_every_kind_rougher_than_periodic_ones() -> None:
    assert all(variation(kind) > variation(kind, periodic=True) for kind in KINDS)


def test_marks_end_where_the_probability_passes_their_limit() -> None:
    assert _marked("TCP(1,1/2)", "TFRC", 5) > 0.0
    assert _marked("TCP(1,1/2)", "TFRC", 100) == 0.0
