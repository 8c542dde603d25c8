"""Inner products of long vectors."""

from __future__ import annotations

import numpy as np
import pytest

from markov.computing.vectors import inner, norm


def test_inner_products():
    x, y = np.random.default_rng(1).standard_normal((2, 20_000))
    assert inner(x, y) == pytest.approx(float(np.sum(x * y)), abs=1e-10)
    assert norm(x) == pytest.approx(float(np.linalg.norm(x)), rel=1e-13)
