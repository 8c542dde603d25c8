"""The root-p law."""

from __future__ import annotations

import pytest

from validation.claims.malhotra2005.chain import Setting
from validation.claims.malhotra2005.endless_files import lost_part
from validation.claims.malhotra2005.laws import chain_law


def test_the_law_does_not_depend_on_pausing_that_never_happens() -> None:
    never = Setting(high=20)
    assert lost_part(never) == pytest.approx(lost_part(never.off))
    assert chain_law(1.0, pause=False) > 0.0
