"""The slides' runs at hopflow's packet level."""

from __future__ import annotations

import pytest

from responsefn import BIC
from validation.claims.kaneko2007 import level
from validation.claims.kaneko2007.beside_reno import SMALL_BDP
from validation.claims.kaneko2007.runs import RULES, share


def test_reno_shares_with_reno_and_bic_without_its_search_does_too() -> None:
    chosen = {"reno": {}, "bic": {"changed": (("bic", BIC(low_window=1e6)),)}}
    for rule, how in chosen.items():
        runs = level.levelled(SMALL_BDP["ns-3"][0], f"rule == {rule!r}", rules=tuple(RULES), **how)
        assert share(runs, 1).value == pytest.approx(0.5, abs=0.01)


def test_bic_takes_more_on_a_short_path() -> None:
    runs = level.levelled(SMALL_BDP["ns-3"][0], "rule == 'bic'", rules=tuple(RULES))
    assert share(runs, 1).value > 0.7
