"""Shares of two kinds by derivation."""

from __future__ import annotations

import pytest

from validation.claims.zheng2002.pairs import GENTLE, QUARTER, TFRC, derived


def test_a_of_b_gives_the_response_of_tcp() -> None:
    """a = 3b/(2 - b), zheng2002, Sect. 3.2."""
    assert [derived(kind) for kind in (GENTLE, QUARTER, TFRC)] == pytest.approx([1, 1, 1])


def test_a_window_that_keeps_b_gets_about_half() -> None:
    assert derived(QUARTER, kept=True) == pytest.approx(0.488, abs=1e-3)
