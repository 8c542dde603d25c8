"""D12 to D15 could have come out otherwise."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from validation.claims.takano2006 import variants
from validation.verdicts import Sides, Verdict

R, C, N = Verdict.REPRODUCED, Verdict.CONTRADICTED, Verdict.NOT_REPRODUCED


@pytest.mark.parametrize(
    ("name", "mean", "verdict"),
    [
        ("4S", 0.9, R),
        ("4S", 0.0, C),
        ("4L", 0.0, R),
        ("4L", 0.9, C),
        ("4R", 0.9, R),
        ("4N", 0.0, C),
    ],
)
def test_the_order_of_the_means_decides(name: str, mean: float, verdict: Verdict) -> None:
    found = variants.measure(name)
    runs = np.full((8, 2), mean) + np.linspace(0, 1e-3, 8)[:, None]
    plain = np.full((8, 2), 0.4) + np.linspace(0, 1e-3, 8)[:, None]
    changed = dataclasses.replace(found, alone=Sides(runs, runs), plain=Sides(plain, plain))
    assert variants.judge(changed)["compared"] == (verdict, verdict)


def test_only_other_tcps_are_compared_with_dfc() -> None:
    assert "below" in variants.judge(variants.measure("4R"))
    assert "below" not in variants.judge(variants.measure("4S"))


def test_d13_would_be_worse_if_packets_said_so(doctor, judged) -> None:
    less = lambda d: d.assign(efficiency=1e-3 * d["efficiency"])
    doctor("takano2006/scenario-4l-without-dfc", less)
    assert judged("D13")["compared"].packets is not C
