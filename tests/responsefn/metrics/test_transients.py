"""Responsiveness, aggressiveness and convergence by their definitions."""

from __future__ import annotations

import math

import pytest

from responsefn import (
    AIMD,
    BIC,
    CUBIC,
    PFTK,
    TFRC,
    Fusion,
    Reno,
    Scalable,
    aggressiveness,
    convergence_time,
    responsiveness,
)


def test_aimd_by_its_definition():
    for a, b in ((1.0, 0.5), (3 / 7, 0.25), (0.2, 0.125), (2.0, 0.9)):
        assert responsiveness(AIMD(a, b)) == math.ceil(math.log(0.5) / math.log(1 - b) - 1e-9)
        assert aggressiveness(AIMD(a, b)) == pytest.approx(a, rel=1e-6)


def test_other_rules():
    assert responsiveness(TFRC()) == 5
    assert 0.14 < aggressiveness(TFRC()) < 0.6
    assert aggressiveness(BIC()) == pytest.approx(32, rel=1e-6)
    assert responsiveness(CUBIC()) == 2
    with pytest.raises(TypeError, match="must be a window rule or TFRC"):
        responsiveness(PFTK())
    with pytest.raises(ArithmeticError, match="does not halve"):
        responsiveness(Fusion(), bandwidth=1000.0)


def test_convergence():
    slow, fast = (convergence_time(AIMD(*ab), 0.1, 1000.0) for ab in ((0.2, 0.125), (1.0, 0.5)))
    assert 0 < fast < slow < math.inf
    assert convergence_time(Scalable(legacy=1.0), 0.1, 10_000.0, rounds=5000) == math.inf
    assert convergence_time(Reno(), 0.1, 1000.0, share=0.52) == 0.0
