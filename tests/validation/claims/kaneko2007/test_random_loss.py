"""K01 notices a Fusion that is behind; a full link is full for every rule."""

from __future__ import annotations

import pytest

from validation.claims.kaneko2007 import random_loss
from validation.statistics import PART, Estimate, quantile
from validation.verdicts import Verdict

R, C, N = Verdict.HOLDS, Verdict.CONTRADICTED, Verdict.INCONCLUSIVE


def share(value: float, half: float) -> Estimate:
    """Return a share of the link with the half-width of its interval."""
    return Estimate(value, half / quantile(float("inf")), within=PART)


@pytest.mark.slow
def test_fusion_behind_is_noticed(doctor, judged) -> None:
    def slow(frame) -> None:
        frame.loc[frame["rule"] == "fusion", "goodput"] *= 0.2

    doctor(random_loss.NS3[0], slow)
    assert judged("K01")["moderate"].packets is C


@pytest.mark.parametrize(
    ("fusion", "other", "verdict"),
    [
        (share(0.9, 0.01), share(0.5, 0.01), R),
        (share(0.5, 0.01), share(0.9, 0.01), C),
        (share(0.9, 0.01), share(0.903, 0.01), R),  # a full link
        (share(0.9, 0.001), share(0.92, 0.05), N),
        (
            share(0.8, 0.05),
            share(0.9, 0.053),
            N,
        ),  # behind by less than both half-widths and the slack
        (share(0.5, 0.0), share(0.505, 0.0), R),  # the slack is a hundredth of the link
        (share(0.5, 0.0), share(0.515, 0.0), C),
        (share(0.8, 0.0), share(0.8035, 0.0), R),  # within the slack alone
        (share(1.0, 0.0), share(0.991, 0.035), R),  # nobody has more than the link
    ],
)
def test_first_is_who_has_more_than_every_other(fusion, other, verdict) -> None:
    assert random_loss.first({"fusion": fusion, "reno": other}, 0.005) is verdict
