"""DCTCP: marks, not losses."""

from __future__ import annotations

import pytest

from responsefn import (
    DCTCP,
    Reno,
    coexist,
)


def test_dctcp_is_refused_where_nothing_is_marked():
    with pytest.raises(ValueError, match=r"DCTCP\(\) answers congestion marks"):
        coexist([DCTCP(), Reno()], 0.04, 5000.0, 200, p=1e-4)
