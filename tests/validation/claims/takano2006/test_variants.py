"""D12 to D15 could have come out otherwise."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from validation.claims.takano2006 import variants
from validation.statistics import Swing
from validation.verdicts import Sides, Verdict

R, C, N = Verdict.HOLDS, Verdict.CONTRADICTED, Verdict.INCONCLUSIVE


@pytest.mark.parametrize(
    ("name", "mean", "verdict"),
    [
        ("4S", 0.9, R),
        ("4S", 0.0, C),
        pytest.param("4L", 0.0, R, marks=pytest.mark.slow),
        pytest.param("4L", 0.9, C, marks=pytest.mark.slow),
        pytest.param("4R", 0.9, R, marks=pytest.mark.slow),
        pytest.param("4N", 0.0, C, marks=pytest.mark.slow),
    ],
)
def test_the_order_of_the_runs_decides(name: str, mean: float, verdict: Verdict) -> None:
    found = variants.measure(name)

    def at(matrix, level: float):
        runs = Swing(level + np.linspace(0, 1e-3, 8), np.zeros(8))
        return dataclasses.replace(
            matrix, direct=Sides(*(cell._replace(target=runs) for cell in matrix.direct))
        )

    changed = dataclasses.replace(found, matrix=at(found.matrix, mean), plain=at(found.plain, 0.4))
    assert variants.judge(changed)["compared"] == (verdict, verdict)


def test_only_other_tcps_are_compared_with_dfc() -> None:
    assert "below" in variants.judge(variants.measure("4R"))
    assert "below" not in variants.judge(variants.measure("4S"))


def test_d13_is_no_contradiction_for_the_network() -> None:
    from validation.claims import find

    finding = find("D13").check()
    assert finding.default == (C, C)
    (network,) = (each for each in finding.readings if "network" in each.name)
    assert C not in {part.simulation for part in network.parts}
    assert finding.simulation is C  # nor does the network uphold it
