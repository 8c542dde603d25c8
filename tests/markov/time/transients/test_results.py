"""Labels and rewards over time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from markov import explore, stationary, transient


def repairs(s: Any, q: Any) -> Any:
    if s.working > 0:
        yield s._replace(working=s.working - 1), q.failure * s.working
    if s.working < 3:
        yield s._replace(working=s.working + 1), q.repair


def test_labels_and_rewards_are_given_over_time() -> None:
    found = explore(
        repairs,
        start={"working": 3},
        params={"failure": 0.1, "repair": 1.0},
        labels=lambda s: {"up": s.working > 0},
        rewards=lambda s: {"machines": s.working},
    )
    answer = transient(found, np.linspace(0.0, 20.0, 5))
    assert answer.measures["machines"].dims == ("time",)
    assert answer["machines"][0] == 3.0
    assert answer.probability("up") == pytest.approx(answer["up"], abs=1e-15)
    mean = answer["machines"]
    # the integral by Gauss-Legendre quadrature of the instantaneous rewards
    nodes, weights = np.polynomial.legendre.leggauss(40)
    inner = transient(found, 10.0 * (nodes + 1.0))["machines"]
    assert answer.accumulated["machines"].values[-1] == pytest.approx(10.0 * weights @ inner, 1e-9)
    assert mean[-1] == pytest.approx(stationary(found)["machines"], abs=1e-6)
    assert answer.probabilities.sel(time=0.0).sum() == 1.0
    assert "error bound" in repr(answer)
    assert answer._repr_html_().startswith("<table>")
