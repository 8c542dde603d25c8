"""Which discipline is best and worst for which flows."""

from __future__ import annotations

import pandas as pd

from validation.claims.yang2001.queueing import _against
from validation.claims.yang2001.tables import DISCIPLINES


def test_the_best_discipline_is_ahead_of_each_other_and_not_behind() -> None:
    times = {d: [10.0 + n, 10.5 + n] for n, d in enumerate(DISCIPLINES)}
    frame = pd.DataFrame(times)
    first = DISCIPLINES[0]
    assert min(e.value for e in _against(frame, first, 1.0)) > 0.0
    assert max(e.value for e in _against(frame, first, -1.0)) < 0.0
    assert len(_against(frame, first, 1.0)) == len(DISCIPLINES) - 1
