"""Small transfers, slots per turn, and ageing."""

from __future__ import annotations

import pytest

from validation.claims.yang2001.parameters import MOST, _after_turns, _aged


def test_turns_of_the_default_length_set_the_classes_apart() -> None:
    """The same quantity that is near zero with many slots."""
    assert max(abs(e.value) for e in _after_turns(MOST)) < 0.1
    assert max(abs(e.value) for e in _after_turns(1.0)) > 0.3


def test_deviations_of_the_classes_cancel() -> None:
    assert sum(e.value for e in _aged("cc/cc")) == pytest.approx(0.0, abs=1e-12)
