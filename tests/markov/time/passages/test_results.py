"""Labels as targets, and rewards until them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from markov import explore, passage


def test_labels_name_the_set_and_rewards_are_earned_until_it() -> None:
    def rules(s: Any, q: Any) -> Any:
        if s.up > 0:
            yield s._replace(up=s.up - 1), 0.1 * s.up
        if s.up < 2:
            yield s._replace(up=s.up + 1), 1.0

    model = explore(
        rules,
        start={"up": 2},
        labels=lambda s: {"down": s.up == 0},
        rewards=lambda s: {"machines": s.up},
    )
    found = passage(model, to="down")
    assert found.mean == pytest.approx(65.0, abs=found.mean_error)
    # 1 machine up for 10 mean passages of 1 / 1.1 each, two otherwise
    in_one = passage(model, to="down").reward((np.asarray(model.states.up) == 1).astype(float))
    assert found.reward("machines").value == pytest.approx(
        2.0 * (65.0 - in_one.value) + in_one.value, abs=1e-10
    )
    assert "probability" in repr(found)
    assert found._repr_html_().startswith("<table>")
